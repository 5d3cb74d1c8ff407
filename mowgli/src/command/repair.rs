//! The `repair` command.

use std::path::{Path, PathBuf};

use clap::Args;
use mowgli_core::rewrite::repair::Limit;
use mowgli_core::search::problem::Limits;
use mowgli_libraries::catalogue::named;
use mowgli_prove::solve::SolverProgram;

use super::bounds::{Within, at_least_one};
use super::network::On;
use super::out::{all_files, bar, json, moving, parsed, reported_in, save, worst};
use crate::catalogue::Catalogue;
use crate::check::CheckOptions;
use crate::error::{Code, InputError};
use crate::interrupt::{self, Deadline, Failure, SECOND};
use crate::repair::{Costs, RepairRequest, bodies, repair};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli repair mp.litmus\n  mowgli repair --cost mfence=20,wait=2 --fix mp.litmus\n  mowgli repair --weaken locked.litmus\n  mowgli repair rbl --threads 2 --nodes 2 --calls 1\n  mowgli repair bal --variant no-fence\n  mowgli repair bal --weaken\n\nExit codes: 0 nothing is to be done, 1 something is, or nothing can be, 2 bad input, 3 undecided, or no execution ends."
)]
pub(super) struct RepairArgs {
    /// Files ending in .litmus, directories with such files, or libraries, as rbl.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// A variant of the implementation, as no-fence.
    #[arg(long, conflicts_with = "fix")]
    variant: Option<String>,
    /// The cost of each insertion, move, swap or atomic of a kind, in place of the default: mfence=1,wait=5,move=1.
    #[arg(long, value_delimiter = ',', value_name = "KIND=COST")]
    cost: Vec<String>,
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
    on: On,
    /// One JSON object a line and test or library.
    #[arg(long)]
    json: bool,
    /// Steps of the search for one test, 6000000 if not given, or for one library. If not given that is 60000000, and no more than ten
    /// times what the check of the first repair takes.
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Seconds after which the search is cancelled.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
}

pub(super) fn repaired(args: &RepairArgs, catalogue: Catalogue) -> u8 {
    let catalogue = match args.on.of(catalogue) {
        Ok(catalogue) => catalogue,
        Err(error) => return reported_in(args.json, Err(error)),
    };
    let costs = match Costs::read(&args.cost) {
        Ok(costs) => costs,
        Err(error) => return reported_in(args.json, Err(error)),
    };
    let (names, paths): (Vec<&PathBuf>, Vec<&PathBuf>) =
        args.paths.iter().partition(|p| args.variant.is_some() || is_library(p, &catalogue));
    let paths: Vec<PathBuf> = paths.into_iter().cloned().collect();
    let mut code = 0;
    for name in names {
        let own = reported_in(args.json, library(&name.to_string_lossy(), args, &costs, &catalogue));
        code = worst(code, own);
    }
    for file in all_files(&paths, &mut code) {
        let own = if interrupt::requested() {
            eprintln!("interrupted: {} was not looked at", file.display());
            3
        } else {
            reported_in(args.json, one(&file, args, &costs))
        };
        code = worst(code, own);
    }
    code
}

/// The questions about a test without a repair, each of them milliseconds, after which any repair is looked for.
const PATIENCE: usize = 100;

fn is_library(path: &Path, catalogue: &Catalogue) -> bool {
    !path.exists() && catalogue.names().iter().any(|name| Path::new(name) == path)
}

fn library(name: &str, args: &RepairArgs, costs: &Costs, catalogue: &Catalogue) -> Result<u8, Failure> {
    if !catalogue.names().contains(&name) {
        return Err(catalogue.no_library(name).into());
    }
    if args.fix {
        let error = InputError::new(Code::Argument, format!("{name}: --fix writes litmus tests"));
        return Err(error.help("the bodies of a library are its author's to write").into());
    }
    let entry = named(catalogue.entries(), name)?;
    let variant = entry.variant(args.variant.as_deref().unwrap_or("published"))?;
    let deadline = Deadline::after(args.timeout).within(args.steps.unwrap_or(600 * SECOND));
    let bar = bar(format!("{name} {}", variant.name), "clients");
    let progress = moving(&bar);
    let options =
        CheckOptions { deadline, progress: &progress, entries: catalogue.entries(), ..CheckOptions::default() };
    let solvers: Vec<SolverProgram> = [SolverProgram::Z3].into_iter().filter(|p| args.weaken && p.is_there()).collect();
    let limit = mowgli_prove::solve::SolverLimit::of(10 * mowgli_prove::solve::SolverLimit::SECOND);
    let executions = mowgli_prove::prove::EXECUTIONS;
    let prove = mowgli_prove::prove::ProofOptions { solvers, limit, executions, confirms: true, keep: false };
    let ask = bodies::BodyRepairRequest {
        costs,
        weaken: args.weaken,
        limit: Limit { insertions: args.most as usize, repairs: args.first as usize, ..Limit::default() },
        bounds: args.within.limited(variant.bounds.clone()),
        is_everywhere: args.everywhere,
        is_brief: args.steps.is_none(),
        options: &options,
        prove: Some(&prove).filter(|p| !p.solvers.is_empty()),
    };
    let found = bodies::repair(entry, variant, &ask)?;
    bar.finish_and_clear();
    println!("{}", if args.json { json(&found) } else { found.text() });
    Ok(found.code())
}

fn one(path: &Path, args: &RepairArgs, costs: &Costs) -> Result<u8, InputError> {
    let text = args.on.text_of(path)?;
    let test = parsed(Catalogue::builtin(), path, &text)?;
    let deadline = Deadline::after(args.timeout).within(args.steps.unwrap_or(60 * SECOND));
    let expired = || deadline.expired();
    let ask = RepairRequest {
        costs,
        weaken: args.weaken,
        limit: Limit { insertions: args.most as usize, patience: PATIENCE, ..Limit::default() },
        limits: Limits { expired: &expired, ..Limits::default() },
    };
    let found = repair(&test, &text, &ask).map_err(|e| e.within(&path.display()))?;
    println!("{}", if args.json { json(&found) } else { found.text() });
    if let (true, Some(cheapest)) = (args.fix, found.repairs.first()) {
        let to = path.with_extension("fixed.litmus");
        save(&to, &cheapest.fixed)?;
        if !args.json {
            println!("  written to {}", to.display());
        }
    }
    Ok(found.code())
}
