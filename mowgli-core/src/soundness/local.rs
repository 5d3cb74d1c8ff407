//! Local soundness (LOCO Def. 3.13) of the executions of one client.
//!
//! **Computes** whether each consistent execution of the client with the implementation has stamps stmp', an order so'
//! and a concretisation g. The result contains every g that was used, in words, and the first execution without one.
//!
//! **Invariant.** The search keeps a lower bound `least` of hb, and an upper bound `most` if the specification mentions
//! hb. A g found in a partial state depends only on these bounds, so it works for every execution that is left. Then
//! the search decides nothing more. A `Proof` has the edges on which a g rests. It also proves each later execution of
//! the same runs that has them.
//!
//! **Example.** Let the body of a method be one call with the promised stamp. Then g maps the promise to the subevent
//! of that call. Condition 1 needs no edge of hb, because the stamps are equal. Conditions 2 and 3 ask for an so'
//! within hb between such subevents.
//!
//! **Correct because** local soundness implies soundness (LOCO Thm. 3.14), and a failure counts only when everything is
//! decided. Before that the search decides reads-from and the orders one by one, first those of the subevents in the
//! image of g. Without hb in the specification, hb is `(ppo u so)+`. hb' is the largest possible one (Def. 3.13, 3), because
//! specifications are monotone (Def. 3.5): commands refuse others.
//! Otherwise hb may be any larger strict partial order. So the search puts each open pair into hb or keeps it out, until
//! some g works (docs/search.md, "Implementations"). The test is `only_another_g_than_the_obvious_one_proves_it`.
//!
//! **Cost.** In a partial state the search tries at most `FEW` concretisations for each choice of stamps. In a complete
//! one it tries all: the product of the candidates of all promises. So the order counts (`StampChoice::first_that_works`).

mod concretise;
mod orders;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use itertools::Itertools;
use typed_arena::Arena;

use concretise::{AbstractCall, Abstraction, FEW, HbBounds, Promise, StampChoice, StampChoices, describe};
pub use concretise::{ConcretisationText, LocalWitness, Reason};

use crate::algebra::Spec;
use crate::event::{Cell, Event, Reads, Shape, Sub, Writes};
use crate::execution::Execution;
use crate::ids::{Name, Tid};
use crate::library::Libraries;
use crate::search::denote::Trace;
use crate::search::fault::breaks_assumption;
use crate::search::flow::Runs;
use crate::search::graph::Graph;
use crate::search::outcome::{Explored, Outcome};
use crate::search::problem::Problem;
use crate::search::relation::Matrix;
use crate::search::runs::{Run, Skeleton, Stop, values_written};
use crate::search::solver::{Decision, Flow, Solver};
use crate::term::method;
use crate::value::Val;
use crate::world::World;

/// An execution for which no stmp', so' and g exist.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The execution of the implementation.
    pub execution: Execution,
    /// The pairs of subevents in hb, except those in `(ppo u so)+`.
    pub beyond: Vec<(usize, usize)>,
    /// The reason why there is no g.
    pub reason: Reason,
}

/// The result of the check of one client.
#[derive(Clone, Debug)]
pub struct LocalResult {
    /// The statistics of the search, and the reason why it stopped.
    pub explored: Explored,
    /// The number of ways for all calls to return.
    pub outcomes: u64,
    /// These ways, unless another process has found them.
    pub ends: BTreeSet<Outcome>,
    /// The concretisations found.
    pub concretisation: ConcretisationText,
    /// The first execution without one.
    pub violation: Option<Violation>,
}

/// One run in every thread, by identity. It determines the results of all calls.
type RunsById = Vec<(usize, usize)>;

fn runs(solver: &Solver<'_>) -> RunsById {
    let of_thread = |(t, s): (usize, &&Skeleton)| (std::ptr::from_ref(*s).addr(), solver.first_alive(t));
    solver.graph.skeletons.iter().enumerate().map(of_thread).collect()
}

/// The check of one client.
struct Prover<'a> {
    world: &'a World,
    specification: &'a Libraries,
    library: Name,
    /// Whether the specification mentions hb.
    sees_hb: bool,
    arena: &'a Arena<Vec<Skeleton>>,
    known: BTreeMap<RunsById, Abstraction<'a>>,
    /// The choices of stamps by the calls of the specification with their results. Runs with the same results share them.
    choices: BTreeMap<Vec<Event>, StampChoices<'a>>,
    words: ConcretisationText,
    expired: &'a dyn Fn() -> bool,
    /// The reason why the check left out some choice of stamps. If there is one, a failure to find g means nothing.
    stop: Option<Stop>,
}

/// Checks every class of executions among these `runs` of a client, whose calls of `library` are implemented.
///
/// `specification` has only that library.
///
/// # Panics
/// If its stamp order differs from the one of the problem.
pub fn check(problem: &Problem<'_>, runs: &Runs, specification: &Libraries, library: Name) -> LocalResult {
    let arena = Arena::new();
    let prover = RefCell::new(Prover::new(problem, specification, library, &arena));
    let mut violation = None;
    let outcomes = RefCell::new(BTreeSet::new());
    let mut settled = |solver: &mut Solver<'_>| {
        let mut prover = prover.borrow_mut();
        if prover.prove(solver, None, FEW).is_ok() {
            let is_consistent = solver.is_consistent();
            if is_consistent {
                outcomes.borrow_mut().insert(problem.outcome_of(solver));
            }
            return Decision::Leaf(is_consistent);
        }
        prover.decide_next(solver)
    };
    let mut explored = problem.explore_runs(runs, &mut settled, &mut |solver| {
        outcomes.borrow_mut().insert(problem.outcome_of(solver));
        let snapshot = solver.snapshot();
        let result = prover.borrow_mut().class(solver);
        solver.restore(snapshot);
        match result {
            Ok(()) => Flow::Continue,
            Err(found) => {
                violation = Some(*found);
                Flow::Stop
            }
        }
    });
    // A thread that crashes cannot make the calls that it must still make.
    let broken = explored.uncovered.first().filter(|_| problem.world.crashes.is_empty());
    if let Some(library) = broken.and_then(|name| problem.libraries.get(*name)).filter(|_| violation.is_none()) {
        explored.stop.get_or_insert(Stop::at(breaks_assumption(library, Tid(1))));
    }
    let Prover { words, stop, .. } = prover.into_inner();
    // The absence of a g is certain only if the search has tried every one.
    let late = (problem.limits.expired)().then_some(Stop::Time);
    if let Some(stop) = stop.or(late.filter(|_| violation.is_some())) {
        explored.stop.get_or_insert(stop);
        violation = None;
    }
    let ends = outcomes.into_inner();
    LocalResult { explored, outcomes: ends.len() as u64, ends, concretisation: words, violation }
}

/// Returns an execution of the client with an outcome that is `wanted`, and its witness of local soundness: f, g and so'. Returns `None`
/// if there is no such execution, or if it has no witness.
///
/// # Panics
/// If the stamp order of `specification` differs from the one of the problem.
pub fn witness(
    problem: &Problem<'_>,
    (specification, library): (&Libraries, Name),
    wanted: &dyn Fn(&Outcome) -> bool,
) -> Option<(Execution, LocalWitness)> {
    let arena = Arena::new();
    let mut prover = Prover::new(problem, specification, library, &arena);
    let mut found = None;
    let explored = problem.explore(&mut |solver| {
        if !wanted(&problem.outcome_of(solver)) {
            return Flow::Continue;
        }
        assert!(solver.complete(), "a class has a completion");
        let is_proved = prover.class(solver).is_ok();
        let abstraction = prover.known.get(&runs(solver)).filter(|_| is_proved);
        let witness = abstraction.and_then(|known| known.witness(&prover.bounds(solver, None)));
        found = solver.execution().zip(witness);
        Flow::Stop
    });
    found.filter(|_| explored.stop.is_none())
}

impl<'a> Prover<'a> {
    fn new(
        problem: &Problem<'a>,
        specification: &'a Libraries,
        library: Name,
        arena: &'a Arena<Vec<Skeleton>>,
    ) -> Self {
        assert_eq!(specification.differs_at(problem.libraries), None, "both are of one memory model");
        Self {
            world: problem.world,
            specification,
            library,
            sees_hb: specification.spec(library).is_some_and(Spec::mentions_hb),
            arena,
            known: BTreeMap::new(),
            choices: BTreeMap::new(),
            words: ConcretisationText::new(),
            expired: problem.limits.expired,
            stop: None,
        }
    }

    /// Returns the present bounds of hb. `never` are the pairs that the search keeps out of it.
    fn bounds(&self, solver: &Solver<'_>, never: Option<&Matrix>) -> HbBounds {
        let least = solver.hb();
        let open = |a: usize, b: usize| a != b && !least.has(b, a) && never.is_none_or(|n| !n.has(a, b));
        let most = self.sees_hb.then(|| Matrix::from_fn(least.len(), open));
        HbBounds { least, most }
    }

    /// Finds a g for the present bounds of hb with at most `tries` attempts for each choice of stamps. It tries the g
    /// of earlier executions first. `never` are the pairs that the search keeps out of hb.
    fn prove(&mut self, solver: &Solver<'_>, never: Option<&Matrix>, tries: usize) -> Result<(), Reason> {
        let runs = runs(solver);
        if !self.known.contains_key(&runs) {
            let abstraction = self.abstraction(solver);
            self.known.insert(runs.clone(), abstraction);
        }
        let hb = self.bounds(solver, never);
        let known = self.known.get_mut(&runs).expect("just inserted");
        if known.proofs.iter().any(|proof| proof.holds(&hb)) || known.works_again(&hb) {
            return Ok(());
        }
        if known.last.is_some() && tries <= FEW {
            return Err(Reason::NoChoice { example: None });
        }
        let image = known.concretise(solver, &hb, tries, (self.specification, self.expired))?;
        describe(solver, known, &image, &mut self.words);
        known.last = Some(image);
        Ok(())
    }

    fn abstraction(&mut self, solver: &Solver<'_>) -> Abstraction<'a> {
        let calls = abstract_calls(solver, self.library);
        let shapes = calls.iter().map(|c| self.specification.of(&c.event.call).shapes(self.world, &c.event));
        let shapes: Vec<_> = shapes.collect();
        let impossible =
            (0..calls.len()).find(|&call| shapes[call].is_empty() || !self.may_return(&calls, &shapes, call));
        let reads = |of: &Vec<Shape>| of.iter().flatten().any(|s| s.reads.is_some());
        let silent = calls.iter().zip(&shapes).filter(|(_, of)| !reads(of)).flat_map(|(c, _)| c.own.clone()).collect();
        let events: Vec<Event> = calls.iter().map(|c| c.event.clone()).collect();
        let choices = self.choices.get(&events).cloned().unwrap_or_else(|| {
            let all = shapes.iter().map(|s| s.iter()).multi_cartesian_product();
            let all = all.filter_map(|choice| self.choice(&calls, &choice)).collect();
            let choices = StampChoices::new(RefCell::new(all));
            self.choices.insert(events, StampChoices::clone(&choices));
            choices
        });
        Abstraction { calls, impossible, choices, silent, first: Vec::new(), last: None, proofs: VecDeque::new() }
    }

    /// True if the specification lists the result of a call among those that it may return. A shape of another result may fit,
    /// although no call of the specification has that one. Results that no program uses are not compared.
    fn may_return(&self, calls: &[AbstractCall], shapes: &[Vec<Shape>], call: usize) -> bool {
        let Event { thread, call: of, ret } = &calls[call].event;
        let library = self.specification.of(of);
        if !method::find(library.methods(), of).is_some_and(|method| method.returns.is_result()) {
            return true;
        }
        // The search decides whether an execution can have what is read.
        let is_read = |sub: &Sub| sub.reads == Some(Reads::Is(*ret)) || matches!(sub.writes, Some(Writes::Step(_)));
        if shapes[call].iter().all(|shape| shape.iter().any(is_read)) {
            return true;
        }
        let events = calls.iter().zip(shapes).flat_map(|(c, of)| of.iter().map(move |shape| (&c.event, shape)));
        let values = values_written(self.specification, self.world, &events.collect::<Vec<_>>());
        let cells = |cell: Cell| values.iter().copied().chain([library.init(self.world, cell)]).collect();
        let earlier: Vec<Event> =
            calls[..call].iter().map(|c| c.event.clone()).filter(|e| e.thread == *thread).collect();
        library.returns(self.world, &earlier, *thread, of, &cells).contains(ret)
    }

    fn choice(&mut self, calls: &[AbstractCall], choice: &[&Shape]) -> Option<StampChoice<'a>> {
        let promises =
            choice.iter().enumerate().flat_map(|(call, shape)| shape.iter().map(move |sub| (call, sub.stamp)));
        let promises = promises.map(|(call, stamp)| Promise { call, stamp }).collect();
        let skeletons = self.arena.alloc(abstract_skeletons(self.world.threads.len(), calls, choice));
        let events: Vec<&Event> = skeletons.iter().flat_map(|s| &s.runs[0].trace.events).collect();
        if !self.specification.names().all(|n| self.specification.get(n).is_some_and(|l| l.admits(self.world, &events)))
        {
            return None;
        }
        let graph = Graph::new(self.world, skeletons.iter().collect());
        match Solver::new(graph, self.specification, &[], self.expired) {
            Ok(solver) => Some(StampChoice::new(promises, solver)),
            Err(stop) => {
                self.stop = Some(stop);
                None
            }
        }
    }

    /// Chooses the next decision: the sources and the order of the subevents in the image of g, because so' must be
    /// inside hb between those. The subevents of calls that read nothing in the specification, for example the dummy
    /// words of a fence, seldom matter, so they come last.
    fn decide_next(&self, solver: &mut Solver<'_>) -> Decision {
        let mut rank = vec![1; solver.graph.len()];
        if let Some(known) = self.known.get(&runs(solver)) {
            known.images().iter().for_each(|&s| rank[s] = 0);
            known.silent.iter().for_each(|&s| rank[s] = 2);
        }
        solver.decide_by_rank(rank);
        match self.pair_of_images(solver) {
            Some((raw, a, b)) if !solver.has_open_read_of_rank(0) => Decision::Branch(raw, a, b),
            _ => Decision::Continue,
        }
    }

    /// Returns the image of the current g: see [`Abstraction::images`].
    fn images(&self, solver: &Solver<'_>) -> &[usize] {
        self.known.get(&runs(solver)).map_or(&[][..], Abstraction::images)
    }
}

fn abstract_calls(solver: &Solver<'_>, library: Name) -> Vec<AbstractCall> {
    let mut calls = Vec::new();
    let mut first_event = 0;
    for (thread, skeleton) in solver.graph.skeletons.iter().enumerate() {
        let trace = &skeleton.runs[*solver.alive(thread).first().expect("a class has a run")].trace;
        let mut index = vec![None; trace.calls.len()];
        for (g, group) in trace.calls.iter().enumerate().filter(|(_, g)| g.event.call.library == library) {
            index[g] = Some(calls.len());
            calls.push(AbstractCall { event: group.event.clone(), own: Vec::new() });
        }
        for s in solver.graph.starts[thread]..solver.graph.starts[thread + 1] {
            let mut group = trace.groups[solver.graph.subs[s].event - first_event];
            while let Some(g) = group {
                if let Some(call) = index[g] {
                    calls[call].own.push(s);
                }
                group = trace.calls[g].parent;
            }
        }
        first_event += trace.events.len();
    }
    calls
}

fn abstract_skeletons(threads: usize, calls: &[AbstractCall], choice: &[&Shape]) -> Vec<Skeleton> {
    let of_thread = |t: usize| {
        let own = calls.iter().zip(choice).filter(|(c, _)| c.event.thread.index() == t);
        let (events, shapes): (Vec<_>, Vec<_>) = own.map(|(c, s)| (c.event.clone(), (*s).clone())).unzip();
        let groups = vec![None; events.len()];
        let trace = Trace { events, groups, calls: Vec::new(), rounds: Vec::new(), output: Val::Unit };
        Skeleton { runs: vec![Run { trace, shapes }] }
    };
    (0..threads).map(of_thread).collect()
}
