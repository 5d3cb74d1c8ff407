//! Local soundness (LOCO Def. 3.13) of the executions of one client.
//!
//! As soon as the results of all calls are known, a concretisation g and the choices of the specification are searched
//! for. What is known of hb then holds in every execution that is left, so a g that works for that works for all of them
//! and nothing more need be decided. Where none does, reads-from and then the orders are decided one by one, down to
//! executions in which everything is decided. Only there a failure is final. For a library whose
//! specification does not mention hb it is enough to look at `hb = (ppo u so)+`, and at the largest hb' (Def. 3.13, 3).
//! For one that does, every larger strict partial order is looked at too: pairs that `(ppo u so)+` leaves open are put
//! into hb or kept out of it, one by one, where no g works for all of them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use itertools::Itertools;
use typed_arena::Arena;

use crate::algebra::Spec;
use crate::denote::Trace;
use crate::event::{Event, Shape};
use crate::execution::Execution;
use crate::flow::Runs;
use crate::graph::Graph;
use crate::ids::Name;
use crate::library::Libraries;
use crate::outcome::{Explored, Problem};
use crate::relation::Matrix;
use crate::runs::{Run, Skeleton, Stop};
use crate::search::network::Id;
use crate::search::solver::{Cut, Flow, Solver};
use crate::stamp::Stamp;
use crate::value::Val;
use crate::world::World;

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
                write!(f, "no event of {call} gives the ordering that stamp {stamp} promises (condition 1)")
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
    /// The pairs of subevents that hb relates beside `(ppo u so)+`.
    pub beyond: Vec<(usize, usize)>,
    /// Why.
    pub reason: Reason,
}

/// What is known of hb in all executions that are left.
struct Known {
    /// Pairs that are in hb.
    least: Matrix,
    /// Pairs that may be in hb; for a specification that mentions it.
    most: Option<Matrix>,
}

/// What a concretisation and so' rest on.
struct Proof {
    /// Pairs that must be in hb.
    needs: Matrix,
    /// Pairs that may be in hb; any pair if the specification does not mention it.
    most: Option<Matrix>,
}

impl Proof {
    fn holds(&self, hb: &Known) -> bool {
        let within = |most: &Matrix| hb.most.as_ref().is_some_and(|m| m.is_subset(most));
        self.needs.is_subset(&hb.least) && self.most.as_ref().is_none_or(within)
    }
}

/// For each method and stamp of the specification the subevents that stand for it, in words.
pub type Concretisation = BTreeMap<(Name, String), BTreeSet<String>>;

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

/// One subevent `<e', a'>` of the specification.
struct Promise<S> {
    call: usize,
    stamp: S,
}

/// One choice of stmp', with the search for so'.
struct Way<'a, S: Stamp> {
    promises: Vec<Promise<S>>,
    solver: Solver<'a, S>,
}

/// For each promise of a way the subevent that stands for it, and the edges of hb that condition 1 rests on.
#[derive(Clone)]
struct Image {
    way: usize,
    g: Vec<usize>,
    needs: Matrix,
}

/// The calls of the specification in one run of every thread, and what was found out about them.
struct Abstraction<'a, S: Stamp> {
    calls: Vec<AbstractCall>,
    /// A call that the specification does not have at all.
    impossible: Option<usize>,
    ways: Vec<Way<'a, S>>,
    /// The g that worked last.
    last: Option<Image>,
    /// What the latest proofs rest on: each proves every execution of the same runs that has it.
    proofs: VecDeque<Proof>,
}

/// How many proofs are kept for reuse.
const KEPT: usize = 8;

/// One run in every thread, by identity: what the results of all calls depend on.
type RunsById = Vec<(usize, usize)>;

fn runs<S: Stamp>(solver: &Solver<'_, S>) -> RunsById {
    let of_thread = |(t, s): (usize, &&Skeleton<S>)| (std::ptr::from_ref(*s).addr(), solver.first_alive(t));
    solver.graph.skeletons.iter().enumerate().map(of_thread).collect()
}

/// The check of one client.
struct Prover<'a, S: Stamp> {
    world: &'a World,
    specification: &'a Libraries<S>,
    library: Name,
    /// Whether the specification mentions hb.
    sees_hb: bool,
    arena: &'a Arena<Vec<Skeleton<S>>>,
    known: BTreeMap<RunsById, Abstraction<'a, S>>,
    words: Concretisation,
    expired: &'a dyn Fn() -> bool,
    /// What kept it from looking at some choice of stamps: then that no g was found means nothing.
    stop: Option<Stop>,
}

/// Checks every class of executions of a client, of these `runs`, whose calls of `library` are implemented.
///
/// `specification` has just that library.
///
/// # Panics
/// If it is over another stamp order than the problem.
pub fn check<S: Stamp>(
    problem: &Problem<'_, S>,
    runs: &Runs<S>,
    specification: &Libraries<S>,
    library: Name,
) -> Local<S> {
    let arena = Arena::new();
    assert_eq!(specification.differs_at(problem.libraries), None, "both are of one memory model");
    let prover = Prover {
        world: problem.world,
        specification,
        library,
        sees_hb: specification.spec(library).is_some_and(Spec::mentions_hb),
        arena: &arena,
        known: BTreeMap::new(),
        words: Concretisation::new(),
        expired: problem.limits.expired,
        stop: None,
    };
    let prover = RefCell::new(prover);
    let mut violation = None;
    let mut settled = |solver: &mut Solver<'_, S>| {
        let mut prover = prover.borrow_mut();
        if prover.prove(solver, None, FEW).is_ok() {
            return Cut::Class;
        }
        prover.defer_silent_reads(solver);
        Cut::Open
    };
    let mut explored = problem.explore_runs(runs, &mut settled, &mut |solver| {
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
    let Prover { words, stop, .. } = prover.into_inner();
    // That there is no g is known only where every one was looked at.
    let late = (problem.limits.expired)().then_some(Stop::Time);
    if let Some(stop) = stop.or(late.filter(|_| violation.is_some())) {
        explored.stop.get_or_insert(stop);
        violation = None;
    }
    Local { explored, concretisation: words, violation }
}

impl<'a, S: Stamp> Prover<'a, S> {
    /// Finds a g for what is known of hb, after at most `tries`; one that an earlier execution had, if it does. `never`
    /// are pairs that are kept out of hb.
    fn prove(&mut self, solver: &Solver<'_, S>, never: Option<&Matrix>, tries: usize) -> Result<(), Reason> {
        let runs = runs(solver);
        if !self.known.contains_key(&runs) {
            let abstraction = self.abstraction(solver);
            self.known.insert(runs.clone(), abstraction);
        }
        let known = self.known.get_mut(&runs).expect("just inserted");
        let least = solver.hb();
        let open = |a: usize, b: usize| a != b && !least.has(b, a) && never.is_none_or(|n| !n.has(a, b));
        let most = self.sees_hb.then(|| Matrix::from_fn(least.len(), open));
        let hb = Known { least, most };
        if known.proofs.iter().any(|proof| proof.holds(&hb)) || known.works_again(&hb) {
            return Ok(());
        }
        if known.last.is_some() && tries <= FEW {
            return Err(Reason::NoChoice);
        }
        let image = known.concretise(solver, &hb, tries, (self.specification, self.expired))?;
        describe(solver, known, &image, &mut self.words);
        known.last = Some(image);
        Ok(())
    }

    fn abstraction(&mut self, solver: &Solver<'_, S>) -> Abstraction<'a, S> {
        let calls = abstract_calls(solver, self.library);
        let shapes = calls.iter().map(|c| self.specification.of(&c.event.call).shapes(self.world, &c.event));
        let shapes: Vec<_> = shapes.collect();
        let impossible = shapes.iter().position(Vec::is_empty);
        let choices = shapes.iter().map(|s| s.iter()).multi_cartesian_product();
        let ways = choices.filter_map(|choice| self.way(&calls, &choice)).collect();
        Abstraction { calls, impossible, ways, last: None, proofs: VecDeque::new() }
    }

    fn way(&mut self, calls: &[AbstractCall], choice: &[&Shape<S>]) -> Option<Way<'a, S>> {
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
            Ok(solver) => Some(Way { promises, solver }),
            Err(stop) => {
                self.stop = Some(stop);
                None
            }
        }
    }

    /// What the specification does not read, as the dummy words of a fence, seldom matters: it is decided last.
    fn defer_silent_reads(&self, solver: &mut Solver<'_, S>) {
        let reads = |c: &AbstractCall| {
            let shapes = self.specification.of(&c.event.call).shapes(solver.graph.world, &c.event);
            shapes.iter().flatten().any(|s| s.reads.is_some())
        };
        let calls = abstract_calls(solver, self.library);
        let silent: BTreeSet<usize> = calls.iter().filter(|c| !reads(c)).flat_map(|c| c.own.iter().copied()).collect();
        let silent = solver.graph.mask(|s| silent.contains(&s));
        solver.decide_last_of_all(silent);
    }

    /// The pair of an order to decide next: one between subevents that stand for others, as so' is about those.
    fn next_pair(&self, solver: &Solver<'_, S>) -> Option<(Id, usize, usize)> {
        let open = solver.open_pairs();
        let known = self.known.get(&runs(solver));
        let g = known.and_then(|k| k.last.as_ref()).map_or(&[][..], |image| &image.g);
        let of_images = open.iter().find(|(_, a, b)| g.contains(a) && g.contains(b));
        of_images.or(open.first()).copied()
    }

    /// All executions that are left once every read has its source: decides orders one by one where that is needed. When
    /// the time is up what is left is not looked at; [`check`] asks the clock.
    fn class(&mut self, solver: &mut Solver<'_, S>) -> Result<(), Box<Violation<S>>> {
        let open = self.next_pair(solver);
        let Some((raw, a, b)) = open else {
            let (least, never) = (solver.hb(), Matrix::empty(solver.graph.len()));
            return self.larger(solver, &least, never);
        };
        if self.prove(solver, None, FEW).is_ok() || (self.expired)() {
            return Ok(());
        }
        for (a, b) in [(a, b), (b, a)] {
            let snapshot = solver.snapshot();
            solver.order(raw, a, b);
            let result = if solver.propagate() { self.class(solver) } else { Ok(()) };
            solver.restore(snapshot);
            result?;
        }
        Ok(())
    }

    /// One execution, everything but hb decided: hb is what holds so far, or for a specification that mentions it any
    /// larger strict partial order without a pair of `never`. `least` is `(ppo u so)+`.
    fn larger(
        &mut self,
        solver: &mut Solver<'_, S>,
        least: &Matrix,
        mut never: Matrix,
    ) -> Result<(), Box<Violation<S>>> {
        let Err(reason) = self.prove(solver, Some(&never), usize::MAX) else { return Ok(()) };
        if (self.expired)() {
            return Ok(());
        }
        let Some((a, b)) = self.next_in_hb(solver, &never).filter(|_| self.sees_hb) else {
            let execution = solver.execution().expect("everything is decided");
            let beyond = solver.hb().minus(least).pairs().collect();
            return Err(Box::new(Violation { execution, beyond, reason }));
        };
        let snapshot = solver.snapshot();
        solver.demand(a, b);
        let possible = solver.propagate() && solver.hb().and(&never).is_empty();
        let result = if possible { self.larger(solver, least, never.clone()) } else { Ok(()) };
        solver.restore(snapshot);
        result?;
        never.set(a, b);
        self.larger(solver, least, never)
    }

    /// A pair that hb neither contains nor excludes: between subevents that stand for others, if there is one.
    fn next_in_hb(&self, solver: &Solver<'_, S>, never: &Matrix) -> Option<(usize, usize)> {
        let hb = solver.hb();
        let known = self.known.get(&runs(solver));
        let g = known.and_then(|k| k.last.as_ref()).map_or(&[][..], |image| &image.g);
        let is_open = |&(a, b): &(usize, usize)| a != b && !hb.has(a, b) && !hb.has(b, a) && !never.has(a, b);
        let of_images = g.iter().copied().cartesian_product(g.iter().copied()).find(is_open);
        of_images.or_else(|| (0..hb.len()).cartesian_product(0..hb.len()).find(is_open))
    }
}

fn abstract_calls<S: Stamp>(solver: &Solver<'_, S>, library: Name) -> Vec<AbstractCall> {
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

/// How many g are tried where a failure is not final.
const FEW: usize = 4;

impl<S: Stamp> Abstraction<'_, S> {
    /// Whether the g that worked last works for what is known of hb.
    fn works_again(&mut self, hb: &Known) -> bool {
        let last = self.last.as_ref().filter(|i| i.needs.is_subset(&hb.least));
        let Some(Image { way, g, needs }) = last else { return false };
        let Some(so) = self.ways[*way].so_within(g, hb) else { return false };
        let needs = so.or(needs);
        self.keep(needs, hb);
        true
    }

    fn keep(&mut self, needs: Matrix, hb: &Known) {
        self.proofs.truncate(KEPT - 1);
        self.proofs.push_front(Proof { needs, most: hb.most.clone() });
    }

    /// g and so' for what is known of hb; gives up after `tries` g for each choice of stamps.
    fn concretise(
        &mut self,
        solver: &Solver<'_, S>,
        hb: &Known,
        tries: usize,
        (libraries, expired): (&Libraries<S>, &dyn Fn() -> bool),
    ) -> Result<Image, Reason> {
        if let Some(call) = self.impossible {
            return Err(Reason::NoStamps(self.calls[call].event.to_string()));
        }
        let mut reason = Reason::NoChoice;
        for (position, way) in self.ways.iter_mut().enumerate() {
            let of = |p: &Promise<S>| candidates(solver, libraries, &self.calls[p.call], p.stamp, &hb.least);
            let all: Vec<Vec<usize>> = way.promises.iter().map(of).collect();
            if let Some((p, _)) = way.promises.iter().zip(&all).find(|(_, c)| c.is_empty()) {
                let (call, stamp) = (self.calls[p.call].event.to_string(), p.stamp.to_string());
                reason = Reason::NoCandidate { call, stamp };
                continue;
            }
            for g in all.iter().map(|c| c.iter().copied()).multi_cartesian_product().take(tries) {
                if expired() {
                    return Err(Reason::NoChoice);
                }
                let Some(so) = way.so_within(&g, hb) else { continue };
                let mut needs = Matrix::empty(hb.least.len());
                for (promise, &s) in way.promises.iter().zip(&g) {
                    let order = keeps_order(solver, libraries, &self.calls[promise.call], promise.stamp, s, &hb.least);
                    order.expect("a candidate").into_iter().for_each(|(a, b)| needs.set(a, b));
                }
                self.keep(so.or(&needs), hb);
                return Ok(Image { way: position, g, needs });
            }
        }
        Err(reason)
    }
}

impl<S: Stamp> Way<'_, S> {
    /// Conditions 2 and 3: some so' within `g^-1(hb)` that makes the execution consistent, with the largest hb' that is
    /// possible; returns g of it. None is found either when the time is up.
    fn so_within(&mut self, g: &[usize], hb: &Known) -> Option<Matrix> {
        let before = self.solver.snapshot();
        let image = |of: &Matrix| Matrix::from_fn(g.len(), |a, b| of.has(g[a], g[b]));
        self.solver.confine(&image(&hb.least));
        if let Some(most) = &hb.most {
            self.solver.give_hb(&image(most));
        }
        let mut found = None;
        let _ = self.solver.explore(&mut |solver| {
            let snapshot = solver.snapshot();
            assert!(solver.complete(), "a class has a completion");
            let mut image = Matrix::empty(hb.least.len());
            solver.so().for_each(|(_, _, so)| so.pairs().for_each(|(a, b)| image.set(g[a], g[b])));
            solver.restore(snapshot);
            found = Some(image);
            Flow::Stop
        });
        self.solver.restore(before);
        found
    }
}

/// Condition 1: the subevents of a call that keep `to` both ways for every stamp of the model; the latest first.
fn candidates<S: Stamp>(
    solver: &Solver<'_, S>,
    libraries: &Libraries<S>,
    call: &AbstractCall,
    stamp: S,
    hb: &Matrix,
) -> Vec<usize> {
    let stands = |s: &&usize| keeps_order(solver, libraries, call, stamp, **s, hb).is_some();
    let mut found: Vec<usize> = call.own.iter().rev().filter(stands).copied().collect();
    // The same stamp is the obvious choice: try it first.
    found.sort_by_key(|&s| solver.graph.subs[s].sub.stamp != stamp);
    found
}

/// Condition 1 for one subevent: the edges of hb, as far as it needs any, by which `s` can stand for `stamp`.
fn keeps_order<S: Stamp>(
    solver: &Solver<'_, S>,
    libraries: &Libraries<S>,
    call: &AbstractCall,
    stamp: S,
    s: usize,
    hb: &Matrix,
) -> Option<Vec<(usize, usize)>> {
    let of = |s: usize| solver.graph.subs[s].sub.stamp;
    let mut edges = Vec::new();
    // The subevent itself needs no edge; it is asked first.
    let own = || std::iter::once(s).chain(call.own.iter().copied().filter(|&e| e != s));
    for a0 in S::all(solver.graph.world.nodes) {
        if libraries.to(a0, stamp) {
            edges.push((own().find(|&e1| libraries.to(a0, of(e1)) && (e1 == s || hb.has(e1, s)))?, s));
        }
        if libraries.to(stamp, a0) {
            edges.push((s, own().find(|&e2| libraries.to(of(e2), a0) && (e2 == s || hb.has(s, e2)))?));
        }
    }
    edges.retain(|(a, b)| a != b);
    Some(edges)
}

fn abstract_skeletons<S: Stamp>(threads: usize, calls: &[AbstractCall], choice: &[&Shape<S>]) -> Vec<Skeleton<S>> {
    let of_thread = |t: usize| {
        let own = calls.iter().zip(choice).filter(|(c, _)| c.event.thread.index() == t);
        let (events, shapes): (Vec<_>, Vec<_>) = own.map(|(c, s)| (c.event.clone(), (*s).clone())).unzip();
        let groups = vec![None; events.len()];
        let trace = Trace { events, groups, calls: Vec::new(), rounds: Vec::new(), output: Val::Unit };
        Skeleton { runs: vec![Run { trace, shapes }] }
    };
    (0..threads).map(of_thread).collect()
}

/// In words: "the last aCR of Read".
fn describe<S: Stamp>(solver: &Solver<'_, S>, known: &Abstraction<'_, S>, image: &Image, words: &mut Concretisation) {
    for (promise, &s) in known.ways[image.way].promises.iter().zip(&image.g) {
        let call = &known.calls[promise.call];
        let place = &solver.graph.subs[s];
        let event = solver.graph.events[place.event];
        let alike = |o: usize| {
            let other = &solver.graph.subs[o];
            other.sub.stamp == place.sub.stamp && solver.graph.events[other.event].call.method == event.call.method
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
        words.entry(key).or_default().insert(text);
    }
}
