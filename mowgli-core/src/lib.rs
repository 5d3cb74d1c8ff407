//! Mowgli's framework: library verification over very weak memory (LOCO §3).
//!
//! A [`Library`](library::Library) has methods, shapes for their calls, and a consistency predicate written in the
//! relational [`algebra`]. An [`Implementation`](implementation::Implementation) is a [`program`] over other
//! libraries for each call. [`outcome`] finds all outcomes of a program, [`soundness`] checks an implementation against
//! a specification for all clients up to a bound, and the [`judge`] checks every execution that either shows.
//!
//! The framework knows no memory model: stamps (see [`stamp`]) and a stamp order are a parameter. Here is one with a single stamp
//! that keeps program order, a word of memory, and store buffering, which has no weak outcome then:
//!
//! ```
//! use mowgli_core::algebra::Spec;
//! use mowgli_core::event::{Cell, Event, Reads, Shape, Sub, Writes};
//! use mowgli_core::ids::{Loc, Name, Node};
//! use mowgli_core::implementation::Implementations;
//! use mowgli_core::library::{Libraries, Library};
//! use mowgli_core::method::{self, methods};
//! use mowgli_core::problem::{Limits, Problem};
//! use mowgli_core::program::prog;
//! use mowgli_core::stamp::Kind;
//! use mowgli_core::value::Val;
//! use mowgli_core::world::{Object, World};
//!
//! #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
//! struct Sc;
//! impl Kind for Sc {
//!     fn all(_: u8) -> Vec<Self> { vec![Sc] }
//! }
//! mowgli_core::compile_search!(Sc);
//! impl std::fmt::Display for Sc {
//!     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("sc") }
//! }
//!
//! methods! {
//!     /// What can be done with a word of memory.
//!     enum Method of MEMORY = "memory" {
//!         /// Reads the word.
//!         fn read = Read(x: Object) -> Value;
//!         /// Writes the word.
//!         fn write = Write(x: Object, v: Value);
//!     }
//! }
//!
//! struct Memory;
//! impl Library<Sc> for Memory {
//!     fn name(&self) -> Name { MEMORY }
//!     fn methods(&self) -> &'static [method::Method] { Method::TABLE }
//!     fn shapes(&self, _: &World, event: &Event) -> Vec<Shape<Sc>> {
//!         let cell = |loc| Cell { loc, node: Node(1) };
//!         let sub = match Method::of(&event.call) {
//!             Method::Read { x } => Sub::read(Sc, cell(x), Reads::Is(event.ret)),
//!             Method::Write { x, v } => Sub::write(Sc, cell(x), Writes::Is(v)),
//!         };
//!         vec![Shape::from([sub])]
//!     }
//!     fn spec(&self) -> Spec<Sc> {
//!         let mut c = Spec::default();
//!         let [rf, mo, rb] = c.coherence();
//!         c.so([&rf, &mo, &rb]);
//!         c
//!     }
//! }
//!
//! let [x, y] = ["x", "y"].map(Loc::new);
//! let thread = |mine: Loc, other: Loc| prog! { write(mine, 1); read(other) };
//! let mut world = World::new(1, &[Node(1), Node(1)]);
//! world.objects.extend([x, y].map(|x| (x, Object::new(MEMORY))));
//! let problem = Problem {
//!     libraries: &Libraries::over(|_, _: Sc| true).with(Memory),
//!     implementations: &Implementations::new(),
//!     world: &world,
//!     programs: &[thread(x, y), thread(y, x)],
//!     observed: &[],
//!     limits: Limits::default(),
//! };
//! let outputs: Vec<_> = problem.outcomes().all().unwrap().into_keys().map(|o| o.outputs).collect();
//! let [zero, one] = [Val::Int(0), Val::Int(1)];
//! assert_eq!(outputs, [[zero, one], [one, zero], [one, one]]);
//! ```
pub mod abstraction;
mod ahead;
pub mod cat;
pub mod causal;
pub mod denote;
pub mod edit;
pub mod enumerate;
pub mod flow;
pub mod graph;
pub mod implementation;
pub mod lemma;
#[cfg(test)]
mod memory;
pub mod method;
pub mod outcome;
pub mod problem;
pub mod program;
pub mod relation;
pub mod repair;
pub mod runs;
pub mod search;
pub mod simple;
pub mod soundness;
mod stale;
pub mod stuck;
pub mod thread;

pub use mowgli_judge::{algebra, event, execution, few, ids, judge, library, value, world};

pub mod stamp {
    //! Stamps for which the search is compiled (LOCO §3.2).
    //!
    //! The search is generic in its stamps, and most of the time of a build is compiling it. So each type of stamps names, by
    //! [`compile_search!`](crate::compile_search), the crate in which that happens, and every other crate calls what was compiled there.

    use mowgli_judge::execution::Execution;
    use mowgli_judge::value::Val;

    use crate::flow::{Note, Runs};
    use crate::outcome::{Explored, Outcome};
    use crate::problem::{Found, Problem};
    use crate::runs::Stop;
    use crate::search::refute::Refutation;
    use crate::search::solver::{Cut, Flow, Solver};
    use crate::search::witness;
    use crate::soundness::client::Bound;
    use crate::soundness::estimate::{Plan, Work};
    use crate::soundness::properties::{self, Properties, Specified};
    use crate::soundness::verdict::{self, Question, Report};
    use crate::stuck::{self, Stuck};

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
        fn each_stuck(
            &self,
            problem: &Problem<'_, S>,
            wanted: stuck::Asked<'_, S>,
            visit: stuck::Visit<'_, S>,
        ) -> Option<Stop>;
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
        fn each_stuck(
            &self,
            problem: &Problem<'_, S>,
            wanted: stuck::Asked<'_, S>,
            visit: stuck::Visit<'_, S>,
        ) -> Option<Stop> {
            problem.each_stuck_inner(wanted, visit)
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
}
