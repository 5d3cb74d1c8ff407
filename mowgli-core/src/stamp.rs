//! Stamps for which the search is compiled (LOCO §3.2).
//!
//! The search is generic in its stamps, and most of the time of a build is compiling it. So each type of stamps names, by
//! [`compile_search!`](crate::compile_search), the crate in which that happens, and every other crate calls what was compiled there.

use mowgli_judge::execution::Execution;
use mowgli_judge::value::Val;

use crate::flow::{Note, Runs};
use crate::outcome::{Explored, Outcome};
use crate::problem::{Found, Problem};
use crate::search::refute::Refutation;
use crate::search::solver::{Cut, Flow, Solver};
use crate::search::witness;
use crate::soundness::client::Bound;
use crate::soundness::estimate::{Plan, Work};
use crate::soundness::properties::{self, Properties, Specified};
use crate::soundness::verdict::{self, Question, Report};
use crate::stuck::Stuck;

pub use mowgli_judge::stamp::Stamp as Kind;

/// A [`Kind`] of stamps with the crate in which the search over them is compiled; see [`compile_search!`](crate::compile_search).
pub trait Stamp: Kind {
    /// The search over these stamps.
    #[doc(hidden)]
    fn search() -> &'static dyn Search<Self>;
}

/// Compiles the search over a type of stamps here, and so makes the type a [`Stamp`](trait@crate::stamp::Stamp).
///
/// A crate calls it once, beside the type. The crates above then call the search that is compiled in this one.
#[macro_export]
macro_rules! compile_search {
    ($stamp:ty) => {
        impl $crate::stamp::Stamp for $stamp {
            // If it were inlined, the crate that calls it would compile the search again.
            #[inline(never)]
            fn search() -> &'static dyn $crate::stamp::Search<Self> {
                &$crate::stamp::Compiled
            }
        }
    };
}

/// The functions of the search that other crates call, each as in the module that declares it.
#[doc(hidden)]
pub trait Search<S: Stamp>: Sync {
    fn runs(&self, problem: &Problem<'_, S>, idle: bool, note: Option<Note<'_, S>>) -> Runs<S>;
    fn explore_runs(
        &self,
        problem: &Problem<'_, S>,
        runs: &Runs<S>,
        settled: &mut dyn FnMut(&mut Solver<'_, S>) -> Cut,
        visit: &mut dyn FnMut(&mut Solver<'_, S>) -> Flow,
    ) -> Explored;
    fn refutations(
        &self,
        problem: &Problem<'_, S>,
        wanted: &dyn Fn(&Outcome) -> bool,
        most: usize,
    ) -> Found<Vec<Refutation>>;
    fn stuck(
        &self,
        problem: &Problem<'_, S>,
        runs: &Runs<S>,
        matters: &mut dyn FnMut(&[Vec<Val>]) -> bool,
    ) -> Found<Option<Stuck<S>>>;
    fn has_run(&self, problem: &Problem<'_, S>, execution: &Execution<S>) -> bool;
    fn complete(&self, solver: &mut Solver<'_, S>) -> bool;
    fn is_consistent(&self, solver: &mut Solver<'_, S>) -> bool;
    fn execution(&self, solver: &Solver<'_, S>) -> Option<Execution<S>>;
    fn completions(&self, solver: &mut Solver<'_, S>, visit: &mut dyn FnMut(Execution<S>) -> Flow) -> Flow;
    fn check_outcomes(&self, question: &Question<'_, S>) -> Report<S>;
    fn check(&self, question: &Question<'_, S>) -> Report<S>;
    fn check_locally(&self, question: &Question<'_, S>) -> Report<S>;
    fn properties(&self, specified: &Specified<'_, S>, bounds: &[Bound]) -> Properties<S>;
    fn plan<'q, 'a>(&self, question: &'q Question<'a, S>) -> Found<Plan<'q, 'a, S>>;
    fn plan_of_outcomes<'q, 'a>(&self, question: &'q Question<'a, S>) -> Found<Plan<'q, 'a, S>>;
    fn look(&self, plan: &Plan<'_, '_, S>, first: usize) -> Work;
}

/// The one implementation of [`Search`].
#[doc(hidden)]
pub struct Compiled;

impl<S: Stamp> Search<S> for Compiled {
    fn runs(&self, problem: &Problem<'_, S>, idle: bool, note: Option<Note<'_, S>>) -> Runs<S> {
        problem.runs_inner(idle, note)
    }
    fn explore_runs(
        &self,
        problem: &Problem<'_, S>,
        runs: &Runs<S>,
        settled: &mut dyn FnMut(&mut Solver<'_, S>) -> Cut,
        visit: &mut dyn FnMut(&mut Solver<'_, S>) -> Flow,
    ) -> Explored {
        problem.explore_runs_inner(runs, settled, visit)
    }
    fn refutations(
        &self,
        problem: &Problem<'_, S>,
        wanted: &dyn Fn(&Outcome) -> bool,
        most: usize,
    ) -> Found<Vec<Refutation>> {
        problem.refutations_inner(wanted, most)
    }
    fn stuck(
        &self,
        problem: &Problem<'_, S>,
        runs: &Runs<S>,
        matters: &mut dyn FnMut(&[Vec<Val>]) -> bool,
    ) -> Found<Option<Stuck<S>>> {
        problem.stuck_inner(runs, matters)
    }
    fn has_run(&self, problem: &Problem<'_, S>, execution: &Execution<S>) -> bool {
        problem.has_run_inner(execution)
    }
    fn complete(&self, solver: &mut Solver<'_, S>) -> bool {
        solver.complete_inner()
    }
    fn is_consistent(&self, solver: &mut Solver<'_, S>) -> bool {
        solver.is_consistent_inner()
    }
    fn execution(&self, solver: &Solver<'_, S>) -> Option<Execution<S>> {
        solver.execution_inner()
    }
    fn completions(&self, solver: &mut Solver<'_, S>, visit: &mut dyn FnMut(Execution<S>) -> Flow) -> Flow {
        witness::completions_inner(solver, visit)
    }
    fn check_outcomes(&self, question: &Question<'_, S>) -> Report<S> {
        verdict::outcomes_inner(question)
    }
    fn check(&self, question: &Question<'_, S>) -> Report<S> {
        verdict::run_inner(question)
    }
    fn check_locally(&self, question: &Question<'_, S>) -> Report<S> {
        verdict::local_inner(question)
    }
    fn properties(&self, specified: &Specified<'_, S>, bounds: &[Bound]) -> Properties<S> {
        properties::properties_inner(specified, bounds)
    }
    fn plan<'q, 'a>(&self, question: &'q Question<'a, S>) -> Found<Plan<'q, 'a, S>> {
        Plan::of_inner(question)
    }
    fn plan_of_outcomes<'q, 'a>(&self, question: &'q Question<'a, S>) -> Found<Plan<'q, 'a, S>> {
        Plan::of_outcomes_inner(question)
    }
    fn look(&self, plan: &Plan<'_, '_, S>, first: usize) -> Work {
        plan.look_inner(first)
    }
}
