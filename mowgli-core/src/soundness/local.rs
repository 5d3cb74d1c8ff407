//! Local soundness (LOCO Def. 3.13) of the executions of one client.
//!
//! As soon as the results of all calls are known, a concretisation g and the choices of the specification are searched
//! for. What is known of hb then holds in every execution that is left, so a g that works for that works for all of them
//! and nothing more need be decided. Where none does, reads-from and then the orders are decided one by one, down to
//! executions in which everything is decided. Only there a failure is final. For a library whose
//! specification does not mention hb it is enough to look at `hb = (ppo u so)+`, and at the largest hb' (Def. 3.13, 3).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use itertools::Itertools;

use crate::denote::Trace;
use crate::event::Event;
use crate::execution::Execution;
use crate::graph::Graph;
use crate::ids::Name;
use crate::library::Libraries;
use crate::outcome::{Explored, Problem};
use crate::relation::Matrix;
use crate::runs::{Run, Skeleton};
use crate::search::solver::{Cut, Flow, Solver};
use crate::stamp::Stamp;
use crate::value::Val;

/// Why there is no concretisation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The specification has no such call at all.
    NoStamps(String),
    /// No subevent of the call can stand for one of its stamps (condition 1).
    NoCandidate {
        /// The call.
        call: String,
        /// The stamp that nothing can stand for.
        stamp: String,
    },
    /// Every choice of g and of so' breaks condition 2 or 3.
    NoChoice,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStamps(call) => write!(f, "the specification does not allow {call} to happen at all"),
            Self::NoCandidate { call, stamp } => {
                write!(f, "nothing in {call} is ordered as a subevent with stamp {stamp} must be (condition 1)")
            }
            Self::NoChoice => f.write_str("no g and so' keep the promised order inside hb (conditions 2 and 3)"),
        }
    }
}

/// An execution for which no stmp', so' and g exist.
#[derive(Clone, Debug)]
pub struct Violation<S> {
    /// The execution of the implementation.
    pub execution: Execution<S>,
    /// Why.
    pub reason: Reason,
}

/// For each method and stamp of the specification the subevents that stand for it, in words, with how often.
pub type Concretisation = BTreeMap<(Name, String), BTreeMap<String, u64>>;

/// What the check of one client found.
#[derive(Clone, Debug)]
pub struct Local<S> {
    /// What was searched.
    pub explored: Explored,
    /// The concretisations found.
    pub concretisation: Concretisation,
    /// The first execution without one.
    pub violation: Option<Violation<S>>,
}

/// A call of the specification in one class: its event, and the subevents of the implementation that are its own.
struct AbstractCall {
    event: Event,
    own: Vec<usize>,
}

/// One subevent `<e', a'>` with the subevents that can stand for it.
struct Promise<S> {
    call: usize,
    stamp: S,
    candidates: Vec<usize>,
}

/// A found g: for each promise the subevent that stands for it.
type Found<S> = (Vec<Promise<S>>, Vec<usize>);

/// Checks every class of executions of a client whose calls of `library` are implemented.
///
/// `specification` has just that library.
pub fn check<S: Stamp>(problem: &Problem<'_, S>, specification: &Libraries<S>, library: Name) -> Local<S> {
    let words = RefCell::new(Concretisation::new());
    let mut violation = None;
    let mut settled = |solver: &mut Solver<'_, S>| {
        let calls = abstract_calls(solver, library);
        let found = concretise(solver, specification, &calls, FEW);
        // What the specification does not read, as the dummy words of a fence, seldom matters.
        let reads = |c: &AbstractCall| {
            let shapes = specification.of(&c.event.call).shapes(solver.graph.world, &c.event);
            shapes.iter().flatten().any(|s| s.reads.is_some())
        };
        let silent: BTreeSet<usize> = calls.iter().filter(|c| !reads(c)).flat_map(|c| c.own.iter().copied()).collect();
        let silent = solver.graph.mask(|s| silent.contains(&s));
        solver.decide_last_of_all(silent);
        match found {
            Ok(found) => {
                describe(solver, &calls, found, &mut words.borrow_mut());
                Cut::Class
            }
            Err(_) => Cut::Open,
        }
    };
    let explored = problem.explore_until(&mut settled, &mut |solver| {
        let snapshot = solver.snapshot();
        let result = class(solver, specification, library, &mut words.borrow_mut());
        solver.restore(snapshot);
        match result {
            Ok(()) => Flow::Continue,
            Err(found) => {
                violation = Some(*found);
                Flow::Stop
            }
        }
    });
    Local { explored, concretisation: words.into_inner(), violation }
}

fn class<S: Stamp>(
    solver: &mut Solver<'_, S>,
    specification: &Libraries<S>,
    library: Name,
    words: &mut Concretisation,
) -> Result<(), Box<Violation<S>>> {
    let calls = abstract_calls(solver, library);
    let open = solver.open_pairs().first().copied();
    let tries = if open.is_some() { FEW } else { usize::MAX };
    let reason = match concretise(solver, specification, &calls, tries) {
        Ok(found) => {
            describe(solver, &calls, found, words);
            return Ok(());
        }
        Err(reason) => reason,
    };
    let Some((raw, a, b)) = open else {
        let execution = Execution::of_solver(solver).expect("everything is decided");
        return Err(Box::new(Violation { execution, reason }));
    };
    for (a, b) in [(a, b), (b, a)] {
        let snapshot = solver.snapshot();
        solver.order(raw, a, b);
        let result = if solver.propagate() { class(solver, specification, library, words) } else { Ok(()) };
        solver.restore(snapshot);
        result?;
    }
    Ok(())
}

fn abstract_calls<S: Stamp>(solver: &Solver<'_, S>, library: Name) -> Vec<AbstractCall> {
    let mut calls = Vec::new();
    let mut first_event = 0;
    for (thread, skeleton) in solver.graph.skeletons.iter().enumerate() {
        let trace = &skeleton.runs[*solver.alive(thread).first().expect("a class has a run")].trace;
        let here = calls.len();
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
        debug_assert!(calls[here..].iter().all(|c| !c.own.is_empty()), "Def. 3.9, 3: every run has an event");
        first_event += trace.events.len();
    }
    calls
}

/// How many g are tried where a failure is not final.
const FEW: usize = 4;

/// g and so' for what is known of hb; gives up after `tries` g for each choice of stamps.
fn concretise<S: Stamp>(
    solver: &Solver<'_, S>,
    specification: &Libraries<S>,
    calls: &[AbstractCall],
    tries: usize,
) -> Result<Found<S>, Reason> {
    let hb = &solver.hb();
    let world = solver.graph.world;
    let shapes = calls.iter().map(|c| specification.of(&c.event.call).shapes(world, &c.event));
    let shapes: Vec<_> = shapes.collect();
    if let Some(position) = shapes.iter().position(Vec::is_empty) {
        return Err(Reason::NoStamps(calls[position].event.to_string()));
    }
    let mut reason = Reason::NoChoice;
    for choice in shapes.iter().map(|s| s.iter()).multi_cartesian_product() {
        let mut promises = Vec::new();
        for (index, (call, shape)) in calls.iter().zip(&choice).enumerate() {
            for sub in *shape {
                let candidates = candidates(solver, call, sub.stamp, hb);
                promises.push(Promise { call: index, stamp: sub.stamp, candidates });
            }
        }
        if let Some(p) = promises.iter().find(|p| p.candidates.is_empty()) {
            let (call, stamp) = (calls[p.call].event.to_string(), p.stamp.to_string());
            reason = Reason::NoCandidate { call, stamp };
            continue;
        }
        let skeletons = abstract_skeletons(world.threads.len(), calls, &choice);
        let all = promises.iter().map(|p| p.candidates.iter().copied()).multi_cartesian_product();
        for g in all.take(tries) {
            if has_choices(world, specification, &skeletons, &g, hb) {
                return Ok((promises, g));
            }
        }
    }
    Err(reason)
}

/// Condition 1: the subevents of a call that keep `to` both ways for every stamp of the model; the latest first.
fn candidates<S: Stamp>(solver: &Solver<'_, S>, call: &AbstractCall, stamp: S, hb: &Matrix) -> Vec<usize> {
    let of = |s: usize| solver.graph.subs[s].sub.stamp;
    let all = S::all(solver.graph.world.nodes);
    let stands = |s: &&usize| {
        let before = |a0: S| call.own.iter().any(|&e1| a0.to(of(e1)) && (e1 == **s || hb.has(e1, **s)));
        let after = |a0: S| call.own.iter().any(|&e2| of(e2).to(a0) && (e2 == **s || hb.has(**s, e2)));
        all.iter().all(|&a0| (!a0.to(stamp) || before(a0)) && (!stamp.to(a0) || after(a0)))
    };
    let mut found: Vec<usize> = call.own.iter().filter(stands).copied().collect();
    found.reverse();
    // The same stamp is the obvious choice: try it first.
    found.sort_by_key(|&s| of(s) != stamp);
    found
}

fn abstract_skeletons<S: Stamp>(
    threads: usize,
    calls: &[AbstractCall],
    choice: &[&crate::event::Shape<S>],
) -> Vec<Skeleton<S>> {
    let of_thread = |t: usize| {
        let own = calls.iter().zip(choice).filter(|(c, _)| c.event.thread.index() == t);
        let (events, shapes): (Vec<_>, Vec<_>) = own.map(|(c, s)| (c.event.clone(), (*s).clone())).unzip();
        let groups = vec![None; events.len()];
        let trace = Trace { events, groups, calls: Vec::new(), output: Val::Unit };
        Skeleton { runs: vec![Run { trace, shapes }] }
    };
    (0..threads).map(of_thread).collect()
}

/// Conditions 2 and 3: some so' within `g^-1(hb)` makes the execution consistent.
fn has_choices<S: Stamp>(
    world: &crate::world::World,
    specification: &Libraries<S>,
    skeletons: &[Skeleton<S>],
    g: &[usize],
    hb: &Matrix,
) -> bool {
    let events: Vec<&Event> = skeletons.iter().flat_map(|s| &s.runs[0].trace.events).collect();
    if !specification.names().all(|n| specification.get(n).is_some_and(|l| l.admits(world, &events))) {
        return false;
    }
    let graph = Graph::new(world, skeletons.iter().collect());
    let within = Matrix::from_fn(g.len(), |a, b| hb.has(g[a], g[b]));
    let Ok(mut solver) = Solver::within(graph, specification, &[], &|| false, Some(&within)) else { return false };
    let mut found = false;
    solver.explore(&mut |_| {
        found = true;
        Flow::Stop
    });
    found
}

/// In words: "the last aCR of Read".
fn describe<S: Stamp>(
    solver: &Solver<'_, S>,
    calls: &[AbstractCall],
    (promises, g): Found<S>,
    words: &mut Concretisation,
) {
    for (promise, &s) in promises.iter().zip(&g) {
        let call = &calls[promise.call];
        let place = &solver.graph.subs[s];
        let event = solver.graph.events[place.event];
        let alike = |o: usize| {
            let place = &solver.graph.subs[o];
            solver.graph.events[place.event].call.method == event.call.method
        };
        let alike: BTreeSet<usize> =
            call.own.iter().filter(|&&o| alike(o)).map(|&o| solver.graph.subs[o].event).collect();
        let which = match alike.iter().position(|&e| e == place.event) {
            _ if alike.len() == 1 => "the",
            Some(p) if p + 1 == alike.len() => "the last",
            Some(0) => "the first",
            _ => "an inner",
        };
        let stamp = |s: S| s.to_string().split('_').next().unwrap_or_default().to_owned();
        let key = (call.event.call.method, stamp(promise.stamp));
        let text = format!("{} of {which} {}", stamp(place.sub.stamp), event.call.method);
        *words.entry(key).or_default().entry(text).or_default() += 1;
    }
}
