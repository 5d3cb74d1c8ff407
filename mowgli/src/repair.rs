//! Repairs of libraries and of litmus tests, printed.

use std::path::{Path, PathBuf};

use clap::Args;
use mowgli_core::rewrite::repair::Limit;
use mowgli_core::search::problem::Limits;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_prove::prove::{EXECUTIONS, ProofOptions};
use mowgli_prove::smt::solve::{SolverLimit, SolverProgram};

pub use mowgli_check::repair::*;

use self::bodies::{BodyRepairRequest, repair as repair_bodies};
use crate::args::bounds::{Within, for_libraries};
use crate::args::network::On;
use crate::args::size::at_least_one;
use crate::catalogue::Catalogue;
use crate::check::CheckOptions;
use crate::error::{Code, InputError};
use crate::interrupt::{Deadline, Failure, SECOND};
use crate::out::{json, parsed, save};
use crate::prove::for_every_client;
use crate::terminal::{bar, moving};

/// The questions about a test without a repair, each of them milliseconds, after which any repair is looked for.
const PATIENCE: usize = 100;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli repair mp.litmus\n  mowgli repair --cost mfence=20,wait=2 --fix mp.litmus\n  mowgli repair --weaken locked.litmus\n  mowgli repair rbl --threads 2 --nodes 2 --calls 1\n  mowgli repair bal --variant no-fence\n  mowgli repair bal --weaken\n\nExit codes: 0 nothing is to be done, 1 something is, or nothing can be, 2 bad input, 3 undecided, or no execution ends."
)]
pub(crate) struct RepairArgs {
    /// Files ending in .litmus, directories with such files, or libraries, as rbl.
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// A variant of the implementation, as no-fence.
    #[arg(long, conflicts_with = "fix")]
    pub(crate) variant: Option<String>,
    /// The cost of each insertion, move, swap or atomic of a kind, in place of the default: mfence=1,wait=5,move=1.
    #[arg(long, value_delimiter = ',', value_name = "KIND=COST")]
    pub(crate) cost: Vec<String>,
    /// Find what is more than needed: waits and fences that can be left out, or be cheaper ones.
    #[arg(long)]
    weaken: bool,
    /// Write the test with its cheapest repair beside it, to NAME.fixed.litmus.
    #[arg(long)]
    fix: bool,
    /// At most this many insertions.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = at_least_one)]
    most: u64,
    /// The most repairs of a library, each of which takes a check of all clients.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    first: u64,
    /// For a library: ask about the same insertions in every place, not only in the first that is enough.
    #[arg(long)]
    everywhere: bool,
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    pub(crate) on: On,
    /// One JSON object a line and test or library.
    #[arg(long)]
    pub(crate) json: bool,
    /// Steps of the search for one test, 6000000 if not given, or for one library. If not given that is 60000000, and no more than ten
    /// times what the check of the first repair takes.
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Seconds after which the search is cancelled.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
}

impl RepairArgs {
    fn limit(&self) -> Limit {
        Limit { insertions: self.most as usize, patience: PATIENCE, ..Limit::default() }
    }

    /// Checks that no option is for libraries.
    pub(crate) fn is_for_tests(&self) -> Result<(), InputError> {
        for_libraries(self.within.is_given() || self.everywhere, "bounds as --threads, and --everywhere,")
    }

    /// Repairs a library, or prints what its implementation has too much. Returns the exit code.
    pub(crate) fn print_library(&self, name: &str, costs: &Costs, catalogue: &Catalogue) -> Result<u8, Failure> {
        if !catalogue.names().contains(&name) {
            return Err(catalogue.neither(name).into());
        }
        if self.fix {
            let error = InputError::new(Code::Argument, format!("{name}: --fix writes litmus tests"));
            return Err(error.help("the bodies of a library are its author's to write").into());
        }
        let entry = named(catalogue.entries(), name)?;
        let variant = entry.variant(self.variant.as_deref().unwrap_or("published"))?;
        let deadline = Deadline::after(self.timeout).within(self.steps.unwrap_or(600 * SECOND));
        let bar = bar(format!("{name} {}", variant.name), "clients");
        let progress = moving(&bar);
        let options =
            CheckOptions { deadline, progress: &progress, entries: catalogue.entries(), ..CheckOptions::default() };
        let prove = |entry: &Entry, variant: &Variant| Ok(for_every_client(entry, variant, &proof())?.0.text());
        let bounds = self.within.limited(variant.bounds.clone());
        let ask = BodyRepairRequest {
            weaken: self.weaken,
            limit: Limit { repairs: self.first as usize, patience: usize::MAX, ..self.limit() },
            is_everywhere: self.everywhere,
            is_brief: self.steps.is_none(),
            prove: if SolverProgram::Z3.is_there() { Some(&prove) } else { None },
            ..BodyRepairRequest::new(costs, &options, bounds)
        };
        let found = repair_bodies(entry, variant, &ask)?;
        bar.finish_and_clear();
        println!("{}", if self.json { json(&found) } else { found.text() });
        Ok(found.code())
    }

    /// Repairs a test in a file with this text, or prints what it has too much. Returns the exit code.
    pub(crate) fn print_test(&self, path: &Path, costs: &Costs, catalogue: &Catalogue) -> Result<u8, InputError> {
        let text = &self.on.text_of(path)?;
        let test = parsed(catalogue, path, text)?;
        let deadline = Deadline::after(self.timeout).within(self.steps.unwrap_or(60 * SECOND));
        let expired = || deadline.expired();
        let ask = RepairRequest {
            catalogue,
            costs,
            weaken: self.weaken,
            limit: self.limit(),
            limits: Limits { expired: &expired, ..Limits::default() },
        };
        let found = repair(&test, text, &ask).map_err(|e| e.within(&path.display()))?;
        println!("{}", if self.json { json(&found) } else { found.text() });
        if let (true, Some(cheapest)) = (self.fix, found.repairs.first()) {
            let to = path.with_extension("fixed.litmus");
            save(&to, &cheapest.fixed)?;
            if !self.json {
                println!("  written to {}", to.display());
            }
        }
        Ok(found.code())
    }
}

/// The options of a proof of what a weakening leaves.
fn proof() -> ProofOptions {
    let limit = SolverLimit::of(10 * SolverLimit::SECOND);
    ProofOptions {
        solvers: vec![SolverProgram::Z3],
        limit,
        executions: EXECUTIONS,
        confirms: true,
        keep: false,
        diagnoses: true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mowgli_core::expr::all_nodes;
    use mowgli_core::rewrite::edit::{Edits as _, calls};
    use mowgli_libraries::catalogue::catalogue;
    use mowgli_libraries::entry::bound;
    use mowgli_libraries::lock::Method as Lock;
    use mowgli_libraries::sv::Method as Sv;

    use super::*;

    /// A lock that fences in its `Acq` too: this fence can be left out, and the rest is proved if there is a solver.
    #[test]
    fn what_is_weaker_is_proved_for_every_client() {
        let all = catalogue();
        let entry = named(&all, "slock").unwrap();
        let published = entry.variant("published").unwrap();
        let fence = calls!(|acq| Lock::Acq { .. } => acq.then(Sv::gf(all_nodes())));
        let careful = published.implementation.clone().replace(fence);
        let variant = Variant { implementation: Arc::new(careful), ..published.clone() };
        let prove = |entry: &Entry, variant: &Variant| Ok(for_every_client(entry, variant, &proof())?.0.text());
        let (costs, options) = (Costs::default(), CheckOptions::default());
        let ask = BodyRepairRequest {
            weaken: true,
            is_brief: false,
            prove: if SolverProgram::Z3.is_there() { Some(&prove) } else { None },
            ..BodyRepairRequest::new(&costs, &options, vec![bound(2, 2, 2)])
        };
        let found = repair_bodies(entry, &variant, &ask).unwrap();
        let [cheaper] = &found.repairs[..] else { panic!("{}", found.text()) };
        assert!(cheaper.leave_out.iter().all(|what| what.starts_with("Acq: GF")), "{}", found.text());
        assert!(cheaper.insert.iter().all(|what| what.starts_with("Rel: GF")), "{}", found.text());
        assert_eq!(cheaper.proved, ask.prove.map(|_| "proved"), "{}", found.text());
        assert!(found.text().contains("more than needed"), "{}", found.text());
    }
}
