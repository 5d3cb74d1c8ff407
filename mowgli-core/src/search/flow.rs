//! The runs that a program can have. A read returns only values that some write of the present state can write.
//!
//! **Computes** the runs of each thread, as skeletons, and the combinations of one run for each thread that nothing rules
//! out. A combination may still have no execution: [`crate::search`] decides that, with the sources of reads and the orders
//! of writes. On request this module also computes the states in which no thread continues.
//!
//! **State.** The search is depth first and keeps one path. A path is a list of steps, and each step moves one thread from a
//! [`ThreadState`] to the next one. The time of a step is its number, from 1; the events before the first step have time 0.
//! One `Prefix` holds what is known about the events of the path. It adds and undoes events as the path changes.
//!
//! **Step.** First each thread runs up to a call with several possible results, for example a read of memory. Calls with
//! one result cost no step. The search then takes a thread with the fewest results, the first one if there are several.
//! It branches on each result that the call can have with the present writes. It has one more branch, *later*, in which no
//! thread moves and the thread is *suspended* at the present time. A suspended thread continues only with a write that is
//! newer. One step may stand for several values of a read, if the thread goes on in one way with all of them (`read_class`).
//! A path ends when all threads have ended, or when the rest are suspended. The search ends when no branch is left.
//!
//! **Invariant.** A step that reads memory with one result has a `Window`: the source's time is at most `until`, the time before the
//! step. If the thread was suspended and the call has one read, it is more than `after`, the time of the suspension. In each state:
//!  - each value that a call has returned is the initial value of its cell, or a write of the state can write it;
//!  - `Prefix` does not rule out that an execution begins with the events of the path;
//!  - each execution that begins with them, and agrees with the windows, agrees with at least one branch.
//!
//! Combinations that several paths reach count once.
//!
//! **Example.** Store buffering: P1 is `x := 1; a := y`, and P2 is `y := 1; b := x`. Both words are 0. The two writes happen
//! before the first step, at time 0.
//!
//! | step 1 | step 2 | the path ends with |
//! |---|---|---|
//! | P1: a = 0, `until` 0 | P2: b = 0, `until` 1 | (0, 0), if `Prefix::may_end` |
//! | P1: a = 0 | P2: b = 1 | (0, 1) |
//! | P1: a = 1 | P2: b = 0, or b = 1 | (1, 0), (1, 1) |
//! | P1 later | | nothing: `reachability` finds no write of y that is still to come |
//!
//! After step 1 *later* of P2 ends in the same way. `Prefix::may_end` asks whether an execution has no further events. It rules out (0, 0) if
//! the specification keeps each write before the read of its thread. Before the end it cannot: a write of 0 might come.
//!
//! *Later* succeeds in load buffering, where P1 is `a := y; x := 1`, and P2 is `b := x; y := 1`. P1 is suspended at time 0. P2 makes
//! step 1 with b = 0, and its write of y has time 1. P1 makes step 2 with a = 1, `after` 0 and `until` 1.
//!
//! **Correct because** the search misses an execution only if all threads that have not ended are suspended although the
//! execution continues. Each of them then waits for a write that comes after the read of another one. That is a cycle of
//! program order, reads-from and copies, by which puts and gets pass values on. It cannot exist if one acyclic relation
//! contains the three, which [`excludes_thin_air`] checks. Otherwise the answer is `None`, and the caller guesses values
//! (docs/search.md, "No execution is missed"). `tests/tests/flow.rs` compares with a search that tries every value.
//!
//! **Cost.** One state for each sequence of results, in the worst case exponential in the number of reads. A step costs
//! as much as the pairs that its events add. `reachability` prunes a state in which a thread waits for a write that no
//! thread makes.

mod ended;
mod iterations;
mod mirrored;
mod rounds;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use itertools::Itertools;
use smallvec::SmallVec;
use typed_arena::Arena;

use crate::event::{Call, Cell, Event};
use crate::ids::{Name, Tid};
use crate::search::automorphism::Automorphism;
use crate::search::coherence::Coherence;
use crate::search::fault::CallFault;
use crate::search::numbers::NumberSet;
use crate::search::prefix::{Advance, Available, Prefix, StatePath, TooManyValues, Ways, Window, reads_of};
use crate::search::problem::{Found, Problem};
use crate::search::reachability::{LeftOut, Reachability, ReachabilityCache, Reachable};
use crate::search::read_class::{ReadClass, ReadClasses};
use crate::search::runs::{Faulty, Run, Skeleton, Stop, group};
use crate::search::solver::Flow;
use crate::search::thin_air::excludes_thin_air;
use crate::search::thread::{Frontier, LastIteration, ThreadState, Threads};
use crate::value::Val;

use ended::EndedIterations;

/// The runs that a program can have.
pub struct Runs {
    /// The skeletons of each thread.
    pub threads: Vec<Vec<Skeleton>>,
    /// The combinations that may belong to one execution: the position of a skeleton for each thread, in order.
    pub together: Vec<Vec<usize>>,
    /// The limit that cut the search off, if any.
    pub stop: Option<Stop>,
    /// The bound on iterations, if the search reached it and nothing reads an iteration. It then matters only if an
    /// iteration has the last write of an observed cell.
    pub bound: Option<String>,
    /// The number of explored states.
    pub states: u64,
    /// The runs in which no thread continues and some thread waits; see [`waiting`]. `None` if they are unknown.
    pub idle: Option<Vec<Vec<Idle>>>,
}

/// The kind of runs that a search collects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wanted {
    /// Runs that end.
    Ended,
    /// Also runs in which no thread continues. These are unknown in the end if no run ends, because the search then stops
    /// early.
    Both,
    /// Runs in which no thread continues, whether any run ends or not.
    Stuck,
}

impl Wanted {
    /// True if it collects runs that end.
    fn has_ended(self) -> bool {
        matches!(self, Self::Ended | Self::Both)
    }

    /// True if it collects runs in which no thread continues.
    fn has_waits(self) -> bool {
        matches!(self, Self::Both | Self::Stuck)
    }
}

/// The number of a thread, and the iterations that it can repeat.
type OfThread<'n> = (usize, Vec<LastIteration<'n>>);

/// The loop or call in which a thread waits for ever.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EndlessWait {
    /// The loop or the call.
    pub at: WaitsAt,
    /// The innermost replaced call that it is in.
    pub within: Option<usize>,
    /// The number of loops, replaced calls and sequences around the loop or the call.
    pub depth: usize,
}

/// A loop or a call in which a thread waits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WaitsAt {
    /// In a loop: it repeats its events from this one on, the last iteration.
    Loop(usize),
    /// In a call that it has begun and that does not return.
    Call(Call),
}

/// A run of a thread, and what it does after that; `None` if it has ended.
pub type Idle = (Run, Option<EndlessWait>);

/// The last state of a thread that continues no more, and its wait; `None` if it has ended.
type Last<'n> = (&'n ThreadState<'n>, Option<EndlessWait>);

/// The position of a thread in a state of the search.
#[derive(Clone, Copy)]
struct Position<'n> {
    point: &'n ThreadState<'n>,
    /// The time of suspension: each write up to then is the source of another branch. `None` if the thread is not suspended.
    postponed: Option<u32>,
    /// True if it waits in its call for ever.
    stays: bool,
    /// If it is suspended: the results of classes whose branches cover all times, by their numbers.
    covered: NumberSet,
    /// The number of runs for which the point stands.
    runs: usize,
    /// The number of events up to the last one that may have read several values.
    merged: usize,
    /// The number of events before the first one that may have.
    certain: usize,
}

impl<'n> Position<'n> {
    fn at(point: &'n ThreadState<'n>) -> Self {
        Self { point, postponed: None, stays: false, covered: NumberSet::NONE, runs: 1, merged: 0, certain: usize::MAX }
    }

    /// Returns the step with the results of a class.
    fn in_class(&self, class: &ReadClass<'n>) -> Successor<'n> {
        let to = Self {
            runs: self.runs * class.ways.all.len(),
            merged: self.point.run().shapes.len() + 1,
            certain: self.certain.min(self.point.run().shapes.len()),
            ..Self::at(class.point)
        };
        Successor { to, ways: class.ways.clone(), window: None }
    }

    fn reads_memory(&self) -> bool {
        matches!(self.point.frontier, Frontier::Reads(_))
    }

    fn has_ended(&self) -> bool {
        self.point.frontier == Frontier::Ended
    }

    /// Returns the reason why the thread makes no further step; `None` if it may make one.
    fn rest(&self) -> Option<Rest<'n>> {
        match &self.point.frontier {
            _ if self.stays => Some(Rest::Waits),
            Frontier::IllDefined(fault) if self.point.within().is_none() => Some(Rest::Fault(fault)),
            Frontier::Bound { .. } | Frontier::IllDefined(_) => Some(Rest::CutOff),
            Frontier::Ended => Some(Rest::Ended),
            Frontier::Never(_) | Frontier::Spins(_) => Some(Rest::Waits),
            _ => None,
        }
    }

    /// Returns the fault of the call of the program that the thread would make next.
    fn fault(&self) -> Option<&'n CallFault> {
        if let Some(Rest::Fault(fault)) = self.rest() { Some(fault) } else { None }
    }
}

/// The reason why a thread makes no further step.
enum Rest<'n> {
    Ended,
    /// It waits for ever.
    Waits,
    /// It is at a call of the program that no program may make.
    Fault(&'n CallFault),
    /// The search ends here, because of a limit or of a body that is not well defined.
    CutOff,
}

/// One way in which a thread can continue.
struct Successor<'n> {
    to: Position<'n>,
    ways: Ways,
    window: Option<Window>,
}

/// The successors of a state.
enum Successors<'n> {
    /// This thread continues, in these ways.
    Goes(usize, Vec<Successor<'n>>),
    /// No thread can continue with the present writes.
    Waits,
    /// No wanted execution begins with the state.
    Nothing,
}

/// The positions of all threads.
type Positions<'n> = Vec<Position<'n>>;

/// The ways of each thread in a state, as far as they are known.
type KnownWays<'n> = SmallVec<[Option<Vec<Successor<'n>>>; 4]>;

/// The number of runs for which one position may stand.
const RUNS: usize = 256;

/// The number of subevents up to which states are explored for runs that end. Of larger programs these runs are guessed, because most
/// of them are straight, and their states cost more than their runs.
const LARGE: usize = 128;

/// The number of pruned states that the search keeps.
const PRUNED: usize = 1 << 16;

/// The last states of each thread: one, or several that differ in what they have read.
type Final<'n> = Vec<Vec<&'n ThreadState<'n>>>;

/// The prefixes, by the libraries whose specifications apply.
type Prefixes<'p, 'n> = BTreeMap<Vec<Name>, Prefix<'p, 'n>>;

struct Explorer<'p, 'a, 'n> {
    problem: &'p Problem<'a>,
    threads: Threads<'p, 'n>,
    /// The steps that lead to the present state.
    path: StatePath<'n>,
    /// The specifications of a library apply if its calls so far are well-formed.
    prefixes: RefCell<Prefixes<'p, 'n>>,
    /// True if some state has more than [`LARGE`] subevents.
    is_too_large: bool,
    wanted: Wanted,
    found: BTreeMap<Vec<usize>, Final<'n>>,
    /// The states in which a thread is at a call that no program may make. Specifications may forbid what it has read.
    faults: BTreeMap<Vec<usize>, Final<'n>>,
    stop: Option<Stop>,
    bound: Option<String>,
    /// True if something may read a write of an iteration that ended without a break.
    reads_rounds: bool,
    /// The writes of all iterations that ended without a break. An execution that the search follows may have more of them than
    /// the state, so a thread may wait for them.
    left_out: LeftOut<'n>,
    /// The iterations that ended without a break, unless the search explores them.
    ended: EndedIterations<'n>,
    /// True if a state was pruned before the last of these writes was known.
    is_pruned_early: bool,
    /// The states that were pruned because some thread waits for ever, or earlier ones, each with its path and its time.
    pruned: Vec<(StatePath<'n>, Positions<'n>, u32)>,
    states: u64,
    /// The cache of the writes that threads may still make.
    reachability: RefCell<ReachabilityCache<'n>>,
    /// The cache of the values that a thread's own writes hide.
    coherence: RefCell<Coherence<'p, 'n>>,
    /// True if reachability showed in the first state that some thread cannot end.
    cannot_end: bool,
    idle: BTreeSet<Vec<Idle>>,
    /// True if some stuck run stands for several, which may differ in whether they are stuck.
    is_idle_unknown: bool,
    classes: ReadClasses<'n>,
    /// Automorphisms of the program. The search prunes a state if one of them makes each of its executions smaller.
    automorphisms: &'p [Automorphism],
    /// The first state of each thread.
    starts: Vec<&'n ThreadState<'n>>,
    /// True if some image under an automorphism is not known.
    lacks_images: bool,
}

/// Returns the runs that a program can have. With `idle` it also collects runs in which no thread continues and some thread
/// waits, provided that some run ends.
///
/// `None` if the program's libraries allow values out of thin air, because runs could be missed then.
pub fn runs(problem: &Problem<'_>, idle: bool) -> Option<Runs> {
    runs_by_symmetry(problem, idle, &[])
}

/// Returns the same for a program with these automorphisms. The search explores only the smallest of images of each other.
/// If it meets a limit or a stuck state, it explores all, so that the first of them is the same.
pub fn runs_by_symmetry(problem: &Problem<'_>, idle: bool, automorphisms: &[Automorphism]) -> Option<Runs> {
    let wanted = if idle { Wanted::Both } else { Wanted::Ended };
    let is_enough = |runs: &Runs| runs.stop.is_none() && runs.idle.as_ref().is_none_or(Vec::is_empty);
    let reduced = if automorphisms.is_empty() { None } else { explored(problem, wanted, automorphisms) };
    reduced.filter(is_enough).or_else(|| explored(problem, wanted, &[]))
}

/// Returns the runs in which no thread continues and some thread waits, in a loop or in a call, for [`crate::search::stuck`];
/// `None` as for [`runs`].
pub fn waiting(problem: &Problem<'_>) -> Option<Found<Vec<Vec<Idle>>>> {
    let runs = explored(problem, Wanted::Stuck, &[])?;
    Some(Found::new(runs.idle.unwrap_or_default(), runs.stop))
}

/// Returns nothing if values may come out of thin air, or if some image under an automorphism is not known.
fn explored(problem: &Problem<'_>, wanted: Wanted, automorphisms: &[Automorphism]) -> Option<Runs> {
    let points = Arena::new();
    let (libraries, implementations, world) = (problem.libraries, problem.implementations, problem.world);
    let (seen, rounds) = (RefCell::default(), problem.limits.rounds);
    let waits = wanted.has_waits();
    let mut explorer = Explorer {
        problem,
        threads: Threads { libraries, implementations, world, rounds, points: &points, seen, waits },
        path: Vec::new(),
        prefixes: RefCell::default(),
        is_too_large: false,
        wanted,
        found: BTreeMap::new(),
        faults: BTreeMap::new(),
        stop: None,
        bound: None,
        reads_rounds: rounds == 0,
        left_out: LeftOut::default(),
        ended: EndedIterations::new(rounds > 0 && problem.observed.is_empty()),
        is_pruned_early: false,
        pruned: Vec::new(),
        states: 0,
        reachability: RefCell::default(),
        coherence: RefCell::default(),
        cannot_end: false,
        idle: BTreeSet::new(),
        is_idle_unknown: false,
        classes: ReadClasses::new(libraries),
        automorphisms,
        starts: Vec::new(),
        lacks_images: false,
    };
    let starts = world.tids().zip(problem.programs).map(|(t, program)| explorer.threads.start(t, program));
    explorer.starts = starts.collect();
    let starts: Positions<'_> = explorer.starts.iter().copied().map(Position::at).collect();
    if starts.iter().all(|p| explorer.may_come_to(p.point)) {
        let all = starts.iter().enumerate();
        let path: StatePath<'_> = all.map(|(thread, p)| Rc::new(Advance::first(thread, p.point))).collect();
        while explorer.states_from(&path, &starts) == Flow::Stop && explorer.classes.restart()
            || explorer.begins_to_explore_iterations()
        {
            (explorer.stop, explorer.bound, explorer.is_idle_unknown) = (None, None, false);
            (explorer.pruned, explorer.is_pruned_early) = (Vec::new(), false);
            explorer.found.clear();
            explorer.faults.clear();
            explorer.idle.clear();
            explorer.ended.clear();
        }
    }
    if explorer.lacks_images || !explorer.add_images() {
        return None;
    }
    if explorer.is_too_large || !excludes_thin_air(libraries, world, &explorer.threads.seen.borrow()) {
        return None;
    }
    match problem.first_fault(explorer.faults.values().flat_map(faulty)) {
        Ok(fault) => explorer.stop = fault.map(Stop::at).or(explorer.stop),
        Err(stop) => _ = explorer.stop.get_or_insert(stop),
    }
    let Explorer { found, mut stop, mut bound, reads_rounds, states, idle, cannot_end, is_idle_unknown, .. } = explorer;
    if reads_rounds {
        stop = stop.or(bound.take().map(Stop::Loop));
    }
    let (threads, together) = skeletons(world.threads.len(), &found);
    let idle = (wanted.has_waits() && !cannot_end && !is_idle_unknown).then(|| idle.into_iter().collect());
    Some(Runs { threads, together, stop, bound, states, idle })
}

/// Returns each fault in states for which the last positions of threads stand.
fn faulty(ends: &Final<'_>) -> impl Iterator<Item = Faulty> {
    ends.iter().map(|of| of.iter()).multi_cartesian_product().flat_map(|points| {
        let places = points.into_iter().map(|point| Position::at(point)).collect_vec();
        let runs = places.iter().map(|place| place.point.run().clone()).collect_vec();
        let is_over = places.iter().all(|place| place.has_ended() || place.fault().is_some());
        let faults =
            places.into_iter().enumerate().filter_map(|(thread, place)| Some((thread, place.fault()?.clone())));
        faults.map(move |(thread, fault)| Faulty { runs: runs.clone(), thread, fault, is_over }).collect_vec()
    })
}

/// Returns the skeletons of the runs that were found, and the combinations of them.
fn skeletons(threads: usize, found: &BTreeMap<Vec<usize>, Final<'_>>) -> (Vec<Vec<Skeleton>>, Vec<Vec<usize>>) {
    let of_thread = |t: usize| {
        let runs: BTreeSet<&Run> = found.values().flat_map(|ends| ends[t].iter().map(|p| p.run())).collect();
        group(runs.into_iter().cloned().collect())
    };
    let skeletons: Vec<Vec<Skeleton>> = (0..threads).map(of_thread).collect();
    let numbers = |skeletons: &[Skeleton], t: usize| -> BTreeMap<usize, usize> {
        let all = skeletons.iter().enumerate();
        let of_run: BTreeMap<&Run, usize> =
            all.flat_map(|(number, s)| s.runs.iter().map(move |run| (run, number))).collect();
        found.values().map(|ends| (ends[t][0].id, of_run[ends[t][0].run()])).collect()
    };
    let numbers: Vec<_> = skeletons.iter().enumerate().map(|(t, s)| numbers(s, t)).collect();
    let together = found.keys().map(|ends| ends.iter().zip(&numbers).map(|(id, of)| of[id]).collect());
    let together: BTreeSet<Vec<usize>> = together.collect();
    (skeletons, together.into_iter().collect())
}

impl<'p, 'n> Explorer<'p, '_, 'n> {
    /// Explores the first state and all states after it. If iterations are left out, it comes back to the states that it
    /// might not have pruned with all iterations in view (docs/search.md, "Loops").
    fn states_from(&mut self, path: &StatePath<'n>, starts: &Positions<'n>) -> Flow {
        self.path.clone_from(path);
        let mut flow = self.state(starts.clone(), 0);
        while flow == Flow::Continue && self.prunes_too_much() {
            self.is_pruned_early = false;
            let mut pruned = std::mem::take(&mut self.pruned).into_iter();
            while let Some((path, state, now)) = pruned.next().filter(|_| flow == Flow::Continue) {
                self.path = path;
                flow = self.state(state, now);
            }
        }
        flow
    }

    /// Keeps a state that was pruned. The first state stands for many, because it comes before all of them.
    fn keep_pruned(&mut self, state: &Positions<'n>, now: u32) {
        if self.pruned.len() < PRUNED {
            self.pruned.push((self.path.clone(), state.clone(), now));
        } else {
            let first = self.starts.iter().copied().map(Position::at).collect();
            self.pruned = vec![(self.path[..self.starts.len()].to_vec(), first, 0)];
        }
    }

    fn prunes_too_much(&self) -> bool {
        let leaves_out = self.bound.is_some() || !self.ended.is_empty();
        leaves_out && self.stop.is_none() && !self.reads_rounds && self.is_pruned_early
    }

    /// Explores a state and all states after it.
    fn state(&mut self, mut state: Positions<'n>, now: u32) -> Flow {
        if self.classes.have_grown() || self.lacks_images || self.must_explore_iterations() {
            return Flow::Stop;
        }
        self.note_reads();
        if self.has_smaller_image(&state) {
            return Flow::Continue;
        }
        self.states += 1;
        if state.iter().any(|place| place.fault().is_some()) {
            let ends = state.iter().enumerate().map(|(t, place)| self.ends(t, place)).collect();
            self.faults.insert(state.iter().map(|place| place.point.id).collect(), ends);
        }
        if (self.problem.limits.expired)() {
            self.stop = Some(Stop::Time);
            return Flow::Stop;
        }
        let size = || state.iter().map(|place| place.point.run().subevents()).sum::<usize>();
        if self.wanted != Wanted::Stuck && size() > LARGE {
            self.is_too_large = true;
            return Flow::Stop;
        }
        let names = self.well_formed(state.iter().map(|place| place.point));
        let Some(available) = self.arrive(&names, now, &state) else { return Flow::Continue };
        if self.leaves_out(&state) {
            return Flow::Continue;
        }
        let mut known = state.iter().map(|_| None).collect();
        loop {
            let (t, ways) = match self.next(&mut state, &mut known, &names, &available, now) {
                Successors::Goes(t, ways) => (t, ways),
                Successors::Waits => break,
                Successors::Nothing => return Flow::Continue,
            };
            let covered = ways.iter().map(|way| way.ways.class).collect();
            for way in ways {
                let mut after = state.clone();
                after[t] = way.to;
                let Successor { to, ways, window } = way;
                self.path.push(Rc::new(Advance { thread: t, point: to.point, ways, now: now + 1, window }));
                let flow = self.state(after, now + 1);
                self.path.pop();
                if flow == Flow::Stop {
                    return Flow::Stop;
                }
            }
            if !state[t].reads_memory() {
                return Flow::Continue;
            }
            state[t].postponed = Some(now);
            state[t].covered |= covered;
        }
        if self.wanted.has_waits() && state.iter().all(|place| place.fault().is_none()) {
            self.idle(&state, &names, &available, now + 1);
        }
        Flow::Continue
    }

    /// Returns what threads may still do, or `None` if that takes too much work. A thread that waits continues only after a
    /// new write, each other thread with the present ones. `is_first`: this is the first state of the search.
    fn reachability(
        &self,
        state: &Positions<'n>,
        waits: &[bool],
        is_first: bool,
        prefix: &Prefix<'_, 'n>,
        any: &Available,
    ) -> Option<Reachable> {
        let standing: Vec<_> = state.iter().map(|p| p.point).zip(waits.iter().copied()).collect();
        let now = |cell: Cell| self.values(prefix, any, cell);
        let by_others = |cell: Cell, t: usize| prefix.values_of_others(any, cell, t);
        let is_hidden = |t: usize, point: &'n ThreadState<'n>, cell: Cell, v: Val| {
            let mut others = state.iter().enumerate().filter(|(u, _)| *u != t).map(|(_, p)| p.point);
            let point = (Tid::from_index(t), point);
            self.coherence.borrow_mut().is_hidden(&self.threads, point, &mut others, (cell, v))
        };
        let (threads, known) = (&self.threads, &self.reachability);
        let reachability = Reachability {
            threads,
            known,
            now: &now,
            by_others: &by_others,
            is_hidden: &is_hidden,
            left_out: &self.left_out,
            standing: &standing,
        };
        reachability.reach(&prefix.open_copies(), is_first)
    }

    /// Returns the libraries whose specifications apply to a state: those whose calls so far are well-formed.
    fn well_formed(&self, points: impl Iterator<Item = &'n ThreadState<'n>>) -> Vec<Name> {
        let events: Vec<&Event> = points.flat_map(|point| &point.run().trace.events).collect();
        let is_well_formed_now = |name: &Name| {
            let own: Vec<&Event> = events.iter().filter(|e| e.call.library == *name).copied().collect();
            let library = self.problem.libraries.get(*name).expect("a name of the set");
            !own.is_empty() && library.is_well_formed(self.problem.world, &own)
        };
        self.problem.libraries.names().filter(is_well_formed_now).collect()
    }

    /// Returns the prefix of executions to which the specifications of these libraries apply.
    fn prefix<'r>(&self, prefixes: &'r mut Prefixes<'p, 'n>, names: &[Name]) -> &'r mut Prefix<'p, 'n> {
        let new = || Prefix::new(self.problem.libraries, self.problem.world, names);
        prefixes.entry(names.to_vec()).or_insert_with(new)
    }

    /// Enters a new state. Returns the values that its writes can have, or `None` if nothing continues from here. Then all
    /// threads have ended, a limit is reached, or no execution begins with the state.
    fn arrive(&mut self, names: &[Name], now: u32, state: &Positions<'n>) -> Option<Available> {
        let mut prefixes = self.prefixes.borrow_mut();
        let prefix = self.prefix(&mut prefixes, names);
        match prefix.go_to(&self.path) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(TooManyValues) => {
                self.stop.get_or_insert(Stop::Values);
                return None;
            }
        }
        let mut rounds = state
            .iter()
            .enumerate()
            .flat_map(|(t, p)| p.point.run().trace.rounds.iter().map(move |&r| (t, r)))
            .peekable();
        let has_rounds = rounds.peek().is_some();
        if !self.reads_rounds {
            self.reads_rounds = rounds.any(|(t, round)| prefix.is_read(t, round));
            if self.left_out.add(state.iter().flat_map(|p| p.point.run().iterations())) {
                self.is_pruned_early |= !self.pruned.is_empty();
                match self.images_of_iterations(state) {
                    Some(images) => images.iter().for_each(|image| _ = self.left_out.add(image.run().iterations())),
                    None => self.lacks_images = true,
                }
            }
        }
        if state.iter().all(Position::has_ended) {
            // Nothing reads an iteration of this state, and nothing more will. So each iteration is idle unless its last write is
            // observed, and the execution without it is found on another path.
            let is_idle = has_rounds && !self.reads_rounds && self.problem.observed.is_empty();
            let may_end = !is_idle && prefix.may_end(now);
            drop(prefixes);
            if may_end {
                self.end(state);
            }
            return None;
        }
        if let Some(place) = state.iter().find(|place| matches!(place.rest(), Some(Rest::CutOff))) {
            drop(prefixes);
            self.cut_off(&place.point.frontier);
            return None;
        }
        Some(prefix.available(None))
    }

    /// Returns the thread that continues in a state, with its ways: a thread with the fewest, since fewer branches follow.
    /// `known` keeps the ways of the others, because they stay when a thread is suspended.
    fn next(
        &mut self,
        state: &mut Positions<'n>,
        known: &mut KnownWays<'n>,
        names: &[Name],
        available: &Available,
        now: u32,
    ) -> Successors<'n> {
        let mut prefixes = self.prefixes.take();
        let prefix = prefixes.get_mut(names).expect("it was looked at");
        // The prefix may be at a later state, of a branch that was explored from here.
        prefix.go_to(&self.path).expect("it has been here");
        let next = self.next_in(state, known, prefix, available, now);
        self.prefixes.replace(prefixes);
        next
    }

    fn next_in(
        &mut self,
        state: &mut Positions<'n>,
        known: &mut KnownWays<'n>,
        prefix: &mut Prefix<'_, 'n>,
        available: &Available,
        now: u32,
    ) -> Successors<'n> {
        let mut best: Option<(usize, usize)> = None;
        let mut waits: SmallVec<[bool; 8]> = SmallVec::from_elem(false, state.len());
        for (t, place) in state.iter_mut().enumerate() {
            if let Some(rest) = place.rest() {
                waits[t] = matches!(rest, Rest::Waits);
                continue;
            }
            if self.is_repetition(t, place.point, prefix) {
                return Successors::Nothing;
            }
            let ways = known[t].get_or_insert_with(|| match self.matters(t, place.point, prefix) {
                true => self.ways(Tid::from_index(t), *place, prefix, available, now),
                false => Vec::new(),
            });
            if ways.is_empty() {
                match place.point.frontier {
                    Frontier::Free(..) => return Successors::Nothing,
                    Frontier::Reads(_) => {
                        waits[t] = true;
                        place.postponed.get_or_insert(now);
                    }
                    Frontier::Repeats { .. } => waits[t] = true,
                    _ => {}
                }
                continue;
            }
            let count = ways.len() + usize::from(place.reads_memory());
            if best.is_none_or(|(least, _)| count < least) {
                best = Some((count, t));
            }
        }
        if self.is_blocked(state, &waits, prefix, available, now) {
            self.keep_pruned(state, now);
            return Successors::Nothing;
        }
        if let Some((_, t)) = best {
            return Successors::Goes(t, known[t].take().unwrap_or_default());
        }
        // Another result of an iteration that nobody has read may let others go on, and they may read it then.
        let waits_for_others =
            |t: usize| matches!(state[t].point.frontier, Frontier::Repeats { .. }) && !state[t].stays;
        let may_read = |t: usize| state.iter().enumerate().any(|(u, place)| u != t && place.rest().is_none());
        match (0..state.len()).find(|&t| waits_for_others(t) && may_read(t)) {
            Some(t) => Successors::Goes(t, self.repeats(Tid::from_index(t), state[t])),
            None => Successors::Waits,
        }
    }

    /// True if no wanted execution begins with a state in which these threads wait, because some thread is blocked.
    fn is_blocked(
        &mut self,
        state: &Positions<'n>,
        waits: &[bool],
        prefix: &Prefix<'_, 'n>,
        any: &Available,
        now: u32,
    ) -> bool {
        let is_first = now == 0 && !waits.contains(&true);
        // If no thread waits, a state is pruned only because some thread cannot end.
        let asks_ends = is_first && self.wanted.has_ended();
        if !(asks_ends || waits.contains(&true)) {
            return false;
        }
        // If no thread continues, the next question is whether they repeat their loops for ever.
        if state.iter().zip(waits).all(|(place, waits)| *waits || place.has_ended()) {
            return false;
        }
        let Some(reached) = self.reachability(state, waits, is_first, prefix, any) else { return false };
        // Only the first state is a beginning of all executions. From another state other branches may end, and a thread that
        // waits may still repeat its loop for ever.
        if reached.ends.contains(&false) && (self.wanted == Wanted::Ended || is_first && self.wanted == Wanted::Both) {
            self.cannot_end |= is_first;
            return true;
        }
        // Threads that wait do not end. They are not blocked if they may repeat a loop for ever, since the execution is stuck then.
        let (waits, is_open) = (|t: usize| !reached.goes_on[t], |cell: Cell| reached.writes(cell));
        let is_blocked = |(t, rounds): &OfThread<'n>| rounds.is_empty() && self.waits_in(&state[*t]).is_none();
        self.going(state, &waits, &is_open, prefix, any).iter().any(is_blocked)
    }

    /// True if a wanted execution may contain a thread in this state.
    fn may_come_to(&self, point: &ThreadState<'n>) -> bool {
        match point.frontier {
            Frontier::Nowhere | Frontier::Discarded => false,
            Frontier::Never(_) | Frontier::Spins(_) => self.wanted.has_waits(),
            _ => true,
        }
    }

    /// Returns the call, or the loop that reads nothing, in which a thread may wait for ever at its place.
    fn waits_in(&self, place: &Position<'n>) -> Option<EndlessWait> {
        let at = match &place.point.frontier {
            _ if !self.wanted.has_waits() => return None,
            Frontier::Spins(start) => WaitsAt::Loop(*start),
            Frontier::Repeats { start, .. } => WaitsAt::Loop(*start),
            Frontier::Never(call) => WaitsAt::Call((**call).clone()),
            Frontier::Free(call, _) | Frontier::Reads(call) if self.may_wait(call) => WaitsAt::Call((**call).clone()),
            _ => return None,
        };
        Some(EndlessWait { at, within: place.point.within(), depth: place.point.depth() })
    }

    fn may_wait(&self, call: &Call) -> bool {
        self.wanted.has_waits() && self.problem.libraries.may_wait(self.problem.world, call)
    }

    /// Returns the values that a cell can hold with the present writes.
    fn values(&self, prefix: &Prefix<'_, 'n>, any: &Available, cell: Cell) -> Vec<Val> {
        let mut values = prefix.values_of(any, cell);
        values.push(self.problem.initial(cell));
        values.sort_unstable();
        values.dedup();
        self.classes.see(&self.threads, cell, &values);
        values
    }

    fn end(&mut self, state: &Positions<'n>) {
        let events: Vec<&Event> = state.iter().flat_map(|p| &p.point.run().trace.events).collect();
        // Other runs for which the positions stand may be admitted. The search for sources asks for each of them.
        if state.iter().any(|place| place.runs > 1) || self.problem.admits(&events) {
            let ends = state.iter().enumerate().map(|(t, place)| self.ends(t, place)).collect();
            self.found.insert(state.iter().map(|p| p.point.id).collect(), ends);
        }
    }

    /// Returns the states for which the last position of a thread stands. The first one is its point.
    fn ends(&self, thread: usize, place: &Position<'n>) -> Vec<&'n ThreadState<'n>> {
        if place.runs == 1 {
            return vec![place.point];
        }
        let mut steps = self.path.iter().filter(|advance| advance.thread == thread);
        let start = steps.next().expect("each thread has a first state").point;
        steps.fold(vec![start], |points, advance| {
            let after = |p| {
                advance.ways.all.iter().map(move |&(ret, n)| self.threads.after(p, Tid::from_index(thread), ret, n))
            };
            points.into_iter().flat_map(after).collect()
        })
    }

    fn cut_off(&mut self, frontier: &Frontier) {
        match frontier {
            Frontier::Bound { place, remembered: true, .. } => _ = self.stop.get_or_insert(Stop::Rounds(place.clone())),
            Frontier::Bound { place, .. } => _ = self.bound.get_or_insert(place.clone()),
            Frontier::IllDefined(fault) => self.stop = Some(Stop::IllDefined(fault.clone())),
            _ => {}
        }
    }

    /// Returns the ways of a thread that repeats an iteration with effects: once more, or for ever.
    fn repeats(&self, thread: Tid, place: Position<'n>) -> Vec<Successor<'n>> {
        let again = Position { point: self.threads.beyond(place.point, thread), ..place };
        let to = [again, Position { stays: true, ..place }];
        to.map(|to| Successor { to, ways: Ways::default(), window: None }).into()
    }

    /// True if one more iteration makes a difference whatever it returns: somebody reads the last one, it may read itself, or
    /// later results depend on it.
    fn matters(&self, thread: usize, point: &ThreadState<'n>, prefix: &mut Prefix<'_, 'n>) -> bool {
        let Frontier::Repeats { start, remembered } = point.frontier else { return true };
        let shapes = &point.run().shapes;
        let reads = shapes[start..].iter().flatten().any(|sub| sub.reads.is_some());
        remembered || reads || prefix.is_read(thread, (start, shapes.len()))
    }

    /// True if a thread has made the same iteration twice, and the first one makes no difference. Then the execution without one of
    /// them is found on another path.
    fn is_repetition(&self, thread: usize, point: &ThreadState<'n>, prefix: &mut Prefix<'_, 'n>) -> bool {
        let (Frontier::Repeats { start, .. }, run) = (&point.frontier, point.run()) else { return false };
        let Some(&(first, end)) = run.trace.rounds.last().filter(|(_, end)| end == start) else { return false };
        let is_same =
            || run.trace.events[first..end] == run.trace.events[end..] && run.shapes[first..end] == run.shapes[end..];
        is_same() && !prefix.is_read(thread, (first, end)) && !self.matters(thread, point, prefix)
    }

    /// Returns the ways in which a thread can continue with the present writes.
    fn ways(
        &self,
        t: Tid,
        place: Position<'n>,
        prefix: &Prefix<'_, 'n>,
        any: &Available,
        now: u32,
    ) -> Vec<Successor<'n>> {
        let after = |ret: Val, shape: usize, window: Option<Window>| {
            let point = self.threads.after(place.point, t, ret, shape);
            let ways = Ways::one((ret, shape));
            let to = Position { point, postponed: None, covered: NumberSet::NONE, ..place };
            self.may_come_to(point).then_some(Successor { to, ways, window })
        };
        match &place.point.frontier {
            Frontier::Free(call, results) => {
                let stays = Successor { to: Position { stays: true, ..place }, ways: Ways::default(), window: None };
                let ways = results.iter().filter_map(|&(ret, shape)| after(ret, shape, None));
                ways.chain(Some(stays).filter(|_| self.may_wait(call))).collect()
            }
            Frontier::Repeats { .. } => self.repeats(t, place),
            // No write of the state is newer than the suspension.
            Frontier::Reads(_) if place.postponed == Some(now) => Vec::new(),
            Frontier::Reads(call) => {
                let (results, cells) = self.results(t, place, prefix, any);
                let classes = self.classes(t, &place, &cells);
                let mut ways: Vec<Successor<'n>> = Vec::new();
                for ret in results {
                    for (number, shape) in self.threads.shapes(t, call, ret).iter().enumerate() {
                        if let Some(class) = classes.iter().find(|class| class.ways.all.contains(&(ret, number))) {
                            let is_covered = place.covered & class.ways.class == class.ways.class;
                            if !is_covered && ways.iter().all(|way| way.ways != class.ways) {
                                ways.push(place.in_class(class));
                            }
                            continue;
                        }
                        let reads = reads_of(shape, &cells);
                        // Skip it, because a shape that reads none of these cells was explored before the suspension.
                        if reads == 0 && place.postponed.is_some() {
                            continue;
                        }
                        let after_then = place.postponed.filter(|_| reads == 1 && cells.len() == 1);
                        let window = Window { cells: cells.clone(), until: now, after: after_then };
                        ways.extend(after(ret, number, (reads > 0).then_some(window)));
                    }
                }
                ways
            }
            _ => Vec::new(),
        }
    }

    /// Returns the classes of results of the read at which a thread stands. Stuck runs are looked for without classes.
    fn classes(&self, thread: Tid, place: &Position<'n>, cells: &[Cell]) -> Rc<[ReadClass<'n>]> {
        let is_wanted = self.wanted.has_ended() && place.point.within().is_some();
        let &[cell] = cells else { return Rc::new([]) };
        if !is_wanted {
            return Rc::new([]);
        }
        let classes = self.classes.at(&self.threads, thread, place.point, cell);
        let is_too_large = |class: &ReadClass<'n>| place.runs * class.ways.all.len() > RUNS;
        if classes.iter().any(is_too_large) { Rc::new([]) } else { classes }
    }

    /// Returns the results that a call can have with the present writes, and the cells that it reads. If the thread is
    /// suspended, a source must be newer than the suspension, because older ones belong to other branches.
    fn results(
        &self,
        t: Tid,
        place: Position<'n>,
        prefix: &Prefix<'_, 'n>,
        any: &Available,
    ) -> (Vec<Val>, SmallVec<[Cell; 1]>) {
        let all = |cell: Cell| self.values(prefix, any, cell);
        let (results, cells) = self.ask(t, place, &all);
        self.ended.note_cells(place.point, &cells);
        let Some(since) = place.postponed else { return (results, cells) };
        let fresh = prefix.available(Some(since));
        let of = |cell: Cell| prefix.values_of(&fresh, cell).into_iter().sorted_unstable().collect();
        match cells[..] {
            [_] => (self.ask(t, place, &of).0, cells),
            _ if cells.iter().all(|&c| prefix.values_of(&fresh, c).is_empty()) => (Vec::new(), cells),
            _ => (results, cells),
        }
    }

    fn ask(&self, t: Tid, place: Position<'n>, cells: &dyn Fn(Cell) -> Vec<Val>) -> (Vec<Val>, SmallVec<[Cell; 1]>) {
        let asked = RefCell::new(SmallVec::new());
        let noted = |cell: Cell| {
            if !asked.borrow().contains(&cell) {
                asked.borrow_mut().push(cell);
            }
            cells(cell)
        };
        let results = self.threads.returns(t, place.point, &noted);
        (results, asked.into_inner())
    }
}
