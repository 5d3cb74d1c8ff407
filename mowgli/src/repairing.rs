//! Repairs of libraries and of litmus tests, printed.

use std::path::Path;

use mowgli_core::rewrite::repair::Limit;
use mowgli_core::search::problem::Limits;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::Variant;
use mowgli_prove::prove::{EXECUTIONS, ProofOptions};
use mowgli_prove::smt::solve::{SolverLimit, SolverProgram};

use crate::catalogue::Catalogue;
use crate::check::CheckOptions;
use crate::error::{Code, InputError};
use crate::interrupt::{Deadline, Failure, SECOND};
use crate::out::{json, parsed, save};
use crate::repair::bodies::{BodyRepairRequest, repair as repair_bodies};
use crate::repair::{Costs, RepairRequest, repair};
use crate::terminal::{bar, moving};

/// The questions about a test without a repair, each of them milliseconds, after which any repair is looked for.
const PATIENCE: usize = 100;

/// A request for repairs.
pub(crate) struct RepairSettings<'a> {
    pub(crate) costs: Costs,
    /// The variant of a library.
    pub(crate) variant: Option<&'a str>,
    /// True if the request is for what is more than needed.
    pub(crate) weaken: bool,
    /// True if a repaired test is written beside the test.
    pub(crate) fix: bool,
    /// The most insertions.
    pub(crate) most: usize,
    /// The most repairs of a library.
    pub(crate) first: usize,
    /// True if the request is for insertions in every place.
    pub(crate) everywhere: bool,
    /// Returns the bounds for a variant.
    pub(crate) bounds: &'a dyn Fn(&Variant) -> Vec<Bound>,
    pub(crate) is_json: bool,
    /// Steps of each search.
    pub(crate) steps: Option<u64>,
    /// Seconds for each search.
    pub(crate) timeout: Option<u64>,
}

impl RepairSettings<'_> {
    /// Repairs a library, or prints what its implementation has too much. Returns the exit code.
    pub(crate) fn print_library(&self, name: &str, catalogue: &Catalogue) -> Result<u8, Failure> {
        if !catalogue.names().contains(&name) {
            return Err(catalogue.no_library(name).into());
        }
        if self.fix {
            let error = InputError::new(Code::Argument, format!("{name}: --fix writes litmus tests"));
            return Err(error.help("the bodies of a library are its author's to write").into());
        }
        let entry = named(catalogue.entries(), name)?;
        let variant = entry.variant(self.variant.unwrap_or("published"))?;
        let deadline = Deadline::after(self.timeout).within(self.steps.unwrap_or(600 * SECOND));
        let bar = bar(format!("{name} {}", variant.name), "clients");
        let progress = moving(&bar);
        let options =
            CheckOptions { deadline, progress: &progress, entries: catalogue.entries(), ..CheckOptions::default() };
        let solvers: Vec<SolverProgram> =
            [SolverProgram::Z3].into_iter().filter(|p| self.weaken && p.is_there()).collect();
        let limit = SolverLimit::of(10 * SolverLimit::SECOND);
        let prove = ProofOptions { solvers, limit, executions: EXECUTIONS, confirms: true, keep: false };
        let ask = BodyRepairRequest {
            costs: &self.costs,
            weaken: self.weaken,
            limit: Limit { insertions: self.most, repairs: self.first, ..Limit::default() },
            bounds: (self.bounds)(variant),
            is_everywhere: self.everywhere,
            is_brief: self.steps.is_none(),
            options: &options,
            prove: Some(&prove).filter(|p| !p.solvers.is_empty()),
        };
        let found = repair_bodies(entry, variant, &ask)?;
        bar.finish_and_clear();
        println!("{}", if self.is_json { json(&found) } else { found.text() });
        Ok(found.code())
    }

    /// Repairs a test in a file with this text, or prints what it has too much. Returns the exit code.
    pub(crate) fn print_test(&self, path: &Path, text: &str, catalogue: &Catalogue) -> Result<u8, InputError> {
        let test = parsed(catalogue, path, text)?;
        let deadline = Deadline::after(self.timeout).within(self.steps.unwrap_or(60 * SECOND));
        let expired = || deadline.expired();
        let ask = RepairRequest {
            catalogue,
            costs: &self.costs,
            weaken: self.weaken,
            limit: Limit { insertions: self.most, patience: PATIENCE, ..Limit::default() },
            limits: Limits { expired: &expired, ..Limits::default() },
        };
        let found = repair(&test, text, &ask).map_err(|e| e.within(&path.display()))?;
        println!("{}", if self.is_json { json(&found) } else { found.text() });
        if let (true, Some(cheapest)) = (self.fix, found.repairs.first()) {
            let to = path.with_extension("fixed.litmus");
            save(&to, &cheapest.fixed)?;
            if !self.is_json {
                println!("  written to {}", to.display());
            }
        }
        Ok(found.code())
    }
}
