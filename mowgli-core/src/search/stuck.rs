//! Stuck executions: every thread has ended or waits for ever, in a loop or in a call, and nothing will change that.
//!
//! All operations have completed, because an execution has every subevent of its events, and each order is complete. A
//! thread repeats a loop for ever if three conditions hold.
//!  - Its last round reads the values that every further round will read. Each is the last value of a cell, or an
//!    earlier write of the round itself.
//!  - The cells that the round writes are written last by a round that is repeated, because a further round writes them
//!    again.
//!  - The execution has a continuation with one more round of each such loop. It has none in which other results of the calls
//!    lead out of a loop.
//!
//! A *continuation* is a consistent execution that has the first one as its beginning. It makes the same choices, and no later
//! event comes before an earlier one in hb. So a later read of memory finds the last value. A receive finds the next message
//! that its thread has not taken.
//!
//! The last condition is the usual fairness assumption of spin loops. A thread reads a newer value eventually, and a
//! call that may fail or succeed on the same memory does not fail for ever.
//!
//! A thread waits in a call for ever in two cases. Either the call never returns, for example a poll without an
//! operation. Or it may wait for calls of others ([`crate::library::Hints::may_wait`]). Then the calls in which
//! threads wait cannot return together: no consistent execution has them after those that have returned.
//! Some specifications cover only threads that meet their obligations, for example those that release their locks. For
//! these, each thread makes the calls that it still owes at the end ([`crate::library::Hints::unfinished`]). Nothing comes
//! after those in hb.

use std::cell::RefCell;
use std::collections::BTreeMap;

use itertools::Itertools;
use typed_arena::Arena;

use crate::event::{Call, Cell, Event, Shape, Writes};
use crate::execution::Execution;
use crate::ids::Tid;
use crate::judge::{judge, repeats};
use crate::library::Hints;
use crate::search::denote::Trace;
use crate::search::flow::{self, EndlessWait, Idle, Runs, WaitsAt};
use crate::search::graph::Graph;
use crate::search::problem::{Found, Problem};
use crate::search::relation::Matrix;
use crate::search::runs::{Run, Skeleton, Stop, values_written};
use crate::search::solver::{Flow, SearchEnd, Solver, Source};
use crate::search::thread::{NextEvents, ThreadState, Threads};
use crate::search::witness::each_completion;
use crate::term::script::Script;
use crate::value::Val;
use crate::world::World;

/// A stuck execution.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// The execution, with one round of each loop that goes on for ever, and without the calls that do not return.
    pub execution: Execution,
    /// For each thread the call or loop in which it waits; `None` for a thread that has ended.
    pub waits: Vec<Option<EndlessWait>>,
    pending: Vec<Option<Call>>,
}

impl Stuck {
    fn new(execution: Execution, idle: &[Idle]) -> Self {
        let waits = idle.iter().map(|(_, wait)| wait.clone()).collect();
        Self { execution, waits, pending: idle.iter().map(pending).collect() }
    }

    /// Returns the call of the program that a thread has begun and that does not return. Returns `None` if the thread
    /// has ended, or repeats a loop of the program.
    #[must_use]
    pub fn pending(&self, thread: Tid) -> Option<&Call> {
        self.pending[thread.index()].as_ref()
    }

    /// Returns the events that a thread repeats; empty if it has ended or waits in a call.
    #[must_use]
    pub fn repeated(&self, thread: Tid) -> Vec<usize> {
        let Some(WaitsAt::Loop(start)) = self.waits[thread.index()].as_ref().map(|wait| &wait.at) else {
            return Vec::new();
        };
        self.execution.of_thread(thread).skip(*start).collect()
    }
}

/// Returns the call of the program that a thread has begun and that does not return.
fn pending((run, wait): &Idle) -> Option<Call> {
    let EndlessWait { at, within, .. } = wait.as_ref()?;
    match (within, at) {
        (Some(call), _) => Some(run.trace.calls[outermost(&run.trace, *call)].event.call.clone()),
        (None, WaitsAt::Call(call)) => Some(call.clone()),
        (None, WaitsAt::Loop(_)) => None,
    }
}

/// Returns the call of the program in which a replaced call is made.
fn outermost(trace: &Trace, mut call: usize) -> usize {
    while let Some(parent) = trace.calls[call].parent {
        call = parent;
    }
    call
}

/// Returns the results of the calls of the program in a run, in order, as far as they have returned.
#[must_use]
pub fn results((run, wait): &Idle) -> Vec<Val> {
    let trace = &run.trace;
    let pending = wait.as_ref().and_then(|wait| wait.within).map(|call| outermost(trace, call));
    let of_program = trace.groups.iter().enumerate().map(|(e, group)| match group {
        None => (None, trace.events[e].ret),
        Some(call) => {
            let call = outermost(trace, *call);
            (Some(call), trace.calls[call].event.ret)
        }
    });
    // Remove repetitions, because each event of a replaced call represents the call.
    let returned = of_program.filter(|(call, _)| call.is_none() || *call != pending);
    returned.dedup_by(|(a, _), (b, _)| a.is_some() && a == b).map(|(_, ret)| ret).collect()
}

/// A function of the runs of a stuck execution, and of the last values of the observed cells.
pub type StuckKey<'k, K> = &'k dyn Fn(&[Idle], &[Val]) -> K;
/// The function that decides whether a stuck execution with these runs and last values is wanted.
pub type IsWanted<'v> = &'v mut dyn FnMut(&[Idle], &[Val]) -> bool;
/// The function that visits each wanted stuck execution.
pub type VisitStuck<'v> = &'v mut dyn FnMut(&[Idle], &[Val], Stuck);

/// The iterations with other values of registers that a thread is followed through. If it needs more, it may leave its loop.
const ITERATIONS: usize = 64;

/// The part of a continued execution. A later part never comes before an earlier one in hb.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum StuckPart {
    /// An event of the stuck execution.
    Happened,
    /// A call that waits, if it returned.
    Returns,
    /// A call that the thread must still make.
    Owed,
}

/// A run of each thread, with the part of each event.
#[derive(Clone)]
struct Continued {
    skeletons: Vec<Skeleton>,
    parts: Vec<Vec<StuckPart>>,
}

impl Continued {
    fn new<'r>(runs: impl Iterator<Item = &'r Run>) -> Self {
        let skeletons: Vec<_> = runs.map(|run| Skeleton { runs: vec![run.clone()] }).collect();
        let parts = skeletons.iter().map(|s| vec![StuckPart::Happened; s.runs[0].shapes.len()]).collect();
        Self { skeletons, parts }
    }

    fn run(&self, thread: usize) -> &Run {
        &self.skeletons[thread].runs[0]
    }

    fn events(&self) -> Vec<&Event> {
        self.skeletons.iter().flat_map(|s| &s.runs[0].trace.events).collect()
    }

    /// Appends an event to the run of its thread.
    fn with(mut self, event: Event, shape: Shape, part: StuckPart) -> Self {
        let thread = event.thread.index();
        let run = &mut self.skeletons[thread].runs[0];
        run.trace.events.push(event);
        run.trace.groups.push(None);
        run.shapes.push(shape);
        self.parts[thread].push(part);
        self
    }

    /// Returns the part of each subevent.
    fn parts(&self) -> Vec<StuckPart> {
        let of_thread = |(s, parts): (&Skeleton, &Vec<StuckPart>)| {
            let shapes = s.runs[0].shapes.clone().into_iter().zip(parts.clone());
            shapes.flat_map(|(shape, part)| vec![part; shape.len()]).collect::<Vec<_>>()
        };
        self.skeletons.iter().zip(&self.parts).flat_map(of_thread).collect()
    }
}

/// The result of a search for an execution of runs and of the calls that threads then owe.
pub(super) struct Continuation {
    /// True if specifications cover these calls, in some way in which the last ones return.
    pub is_covered: bool,
    /// The execution that was found, without the calls that threads owe.
    pub execution: Option<Execution>,
}

/// Returns the pairs of a subevent of a later part and one of an earlier part.
fn early(parts: &[StuckPart]) -> Matrix {
    Matrix::from_fn(parts.len(), |a, b| parts[a] > parts[b])
}

impl Problem<'_> {
    /// Returns the first stuck execution of these runs of the program that `matters`, given the results of the returned
    /// calls of each thread.
    pub fn stuck(&self, runs: &Runs, matters: &mut dyn FnMut(&[Vec<Val>]) -> bool) -> Found<Option<Stuck>> {
        let known = runs.idle.as_ref().map(|idle| Found::new(idle.clone(), runs.stop.clone()));
        let Some(waiting) = known.or_else(|| flow::waiting(self)) else {
            return Found::new(None, Some(Stop::OutOfNowhere));
        };
        let (waiting, mut stop) = waiting.into_parts();
        let mut found = None;
        for idle in &waiting {
            if !matters(&idle.iter().map(returned).collect::<Vec<_>>()) {
                continue;
            }
            // A library that does not cover these calls cannot forbid the execution, although it might forbid a
            // continuation.
            let mut is_uncovered = false;
            let end =
                self.stuck_of(idle, &mut |_| true, &mut |continued, stuck| match self.says_something(continued) {
                    true => {
                        found = Some(stuck);
                        Flow::Stop
                    }
                    false => {
                        is_uncovered = true;
                        Flow::Continue
                    }
                });
            if found.is_some() {
                return Found::new(found, None);
            }
            match end {
                Ok(SearchEnd::Late) => return Found::new(None, Some(Stop::Time)),
                Ok(_) if is_uncovered => _ = stop.get_or_insert(Stop::Unfinished),
                Ok(_) => {}
                Err(too_many) => _ = stop.get_or_insert(too_many),
            }
        }
        Found::new(None, stop)
    }

    /// True if the specifications cover these calls with those that threads still owe. For example, they do not if the holder of a
    /// lock does not release it.
    fn says_something(&self, continued: &Continued) -> bool {
        let is_said = |library: &dyn Hints, own: &[&Event]| {
            library.admits(self.world, own) && library.is_well_formed(self.world, own)
        };
        self.all_say(&continued.events(), is_said)
    }

    /// True if some continuation leads out of a loop, or lets the calls return in which threads wait. It may have `left` other
    /// iterations of loops before.
    fn comes_out(
        &self,
        execution: &Execution,
        continued: &Continued,
        idle: &[Idle],
        left: usize,
    ) -> Result<bool, Stop> {
        let last = |_, cell: Cell| self.last_values(execution, cell);
        for (_, NextEvents { events, leave, .. }) in self.other_ways(idle, &last) {
            if !leave && left == 0 {
                continue;
            }
            let next = returning(continued, events);
            let Some(execution) = self.first_consistent(Some(execution), &next)? else { continue };
            if leave || self.can_return(idle, &next, Some(&execution))? {
                return Ok(true);
            }
            if self.comes_out(&execution, &next, idle, left - 1)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the ways in which threads can go on with their loops, while cells hold these values for a thread. An iteration that
    /// only looks is no way, and neither is the one that is repeated.
    fn other_ways(&self, idle: &[Idle], cells: &dyn Fn(Tid, Cell) -> Vec<Val>) -> Vec<(Tid, NextEvents)> {
        let points = Arena::new();
        // A thread that repeats a loop without a choice does so for ever, so as many iterations as its run has calls
        // are enough.
        let rounds = idle.iter().map(|(run, _)| run.trace.events.len()).max().unwrap_or(0);
        let threads = self.threads(rounds, &points);
        let of_thread = |((thread, program), (run, wait)): ((Tid, &Script), &Idle)| {
            let Some(EndlessWait { at: WaitsAt::Loop(start), depth, .. }) = wait else { return Vec::new() };
            let is_other = |way: &NextEvents| {
                let looks = |(event, _): &(Event, Shape)| self.libraries.of(&event.call).only_looks(event);
                let is_repeated = || way.events.iter().map(|(event, _)| event).eq(&run.trace.events[*start..]);
                way.leave || !way.events.iter().all(looks) && !is_repeated()
            };
            let ways = threads.ways_on(thread, program, (run, *start, *depth), &|cell| cells(thread, cell));
            ways.into_iter().filter(is_other).map(|way| (thread, way)).collect()
        };
        self.world.tids().zip(self.programs).zip(idle).flat_map(of_thread).collect()
    }

    /// Returns the states of threads with so many iterations of a loop.
    fn threads<'n>(&self, rounds: usize, points: &'n Arena<ThreadState<'n>>) -> Threads<'_, 'n> {
        let (libraries, implementations, world) = (self.libraries, self.implementations, self.world);
        Threads { libraries, implementations, world, rounds, points, seen: RefCell::default(), waits: false }
    }

    /// True if a thread that repeats a round only looks, however often it goes on with such values, and never leaves its loop.
    fn only_looks(&self, thread: Tid, idle: &[Idle], cells: &dyn Fn(Cell) -> Vec<Val>) -> bool {
        let points = Arena::new();
        let (run, wait) = &idle[thread.index()];
        let Some(EndlessWait { at: WaitsAt::Loop(start), depth, .. }) = wait else { return true };
        let threads = self.threads(ITERATIONS, &points);
        !threads.may_leave(thread, &self.programs[thread.index()], (run, *start, *depth), cells)
    }

    /// Returns the values that the last writes of a cell may have.
    fn last_values(&self, execution: &Execution, cell: Cell) -> Vec<Val> {
        let last = execution.last_writes(self.libraries, cell).into_iter().filter_map(|w| execution.subs[w].wrote);
        let last: Vec<Val> = last.unique().collect();
        if last.is_empty() { vec![self.initial(cell)] } else { last }
    }

    /// True if a thread leaves all its loops by a value that rounds of others write in turn. `again` is the execution with one more
    /// round of each loop, and has these runs.
    ///
    /// # Errors
    /// The answer is open if a thread does something else by such a value, for example in an outer loop.
    fn leaves_in_turn(
        &self,
        execution: &Execution,
        (continued, again): (&Continued, &Execution),
        idle: &[Idle],
    ) -> Result<bool, Stop> {
        let written = written_in_rounds(again, idle);
        let last = |_, cell: Cell| self.last_values(execution, cell);
        if written.iter().all(|(_, cell, v)| last(Tid(1), *cell).contains(v)) {
            return Ok(false);
        }
        let with_turns = |thread: Tid, cell: Cell| {
            // What the thread writes itself is hidden by its own later writes, unless others write the cell, too.
            let of_cell = || written.iter().filter(|(_, of, _)| *of == cell);
            let is_shared = of_cell().any(|(by, ..)| *by != Some(thread));
            let turns = of_cell().filter(|_| is_shared).map(|(.., v)| *v);
            last(thread, cell).into_iter().chain(turns).unique().collect()
        };
        let known = self.other_ways(idle, &last);
        let mut open = None;
        for (thread, way) in self.other_ways(idle, &with_turns) {
            if known.iter().any(|(t, of_last)| *t == thread && *of_last == way) {
                continue;
            }
            if self.only_looks(thread, idle, &|cell| with_turns(thread, cell)) {
                continue;
            }
            let leaves =
                way.leave_all && self.first_consistent(Some(execution), &returning(continued, way.events))?.is_some();
            if leaves {
                return Ok(true);
            }
            open.get_or_insert(thread);
        }
        open.map_or(Ok(false), |thread| Err(Stop::InTurn(thread)))
    }

    /// True if an execution stays as it is, by four conditions on its continuations.
    ///  - One repeats one more iteration of each loop that never ends. For example, none does if the iteration polls or receives,
    ///    because no other operation or message is left.
    ///  - None leads out of a loop.
    ///  - None does by a value that such iterations write in turn.
    ///  - After such an iteration, no call returns in which a thread waits. For example, the iteration may send one more message.
    fn stays(&self, execution: &Execution, continued: &Continued, idle: &[Idle]) -> Result<bool, Stop> {
        let rounds = self.with_rounds(continued, idle);
        let found = |next| self.first_consistent(Some(execution), next).map(|found| Some((next, found?))).transpose();
        let mut repeated = rounds.iter().filter_map(found);
        let Some(first) = repeated.next().transpose()? else { return Ok(false) };
        if self.comes_out(execution, continued, idle, self.world.threads.len())?
            || self.leaves_in_turn(execution, (first.0, &first.1), idle)?
        {
            return Ok(false);
        }
        if self.waiting_calls(idle).next().is_none() {
            return Ok(true);
        }
        for again in std::iter::once(Ok(first)).chain(repeated) {
            let (next, execution) = again?;
            if self.can_return(idle, next, Some(&execution))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Appends one more iteration of each loop that never ends, in every way in which its calls can return.
    fn with_rounds(&self, continued: &Continued, idle: &[Idle]) -> Vec<Continued> {
        let mut all = vec![continued.clone()];
        for (thread, (run, wait)) in self.world.tids().zip(idle) {
            let Some(EndlessWait { at: WaitsAt::Loop(start), .. }) = wait else { continue };
            for (event, shape) in run.trace.events.iter().zip(&run.shapes).skip(*start) {
                let again = |c: &Continued| {
                    let ways = self.ways(thread, &event.call, c);
                    let same = ways.iter().filter(|(e, s)| e.ret == event.ret && s == shape);
                    // The identifiers of operations are new ones.
                    let is_alike = |e: &Event| std::mem::discriminant(&e.ret) == std::mem::discriminant(&event.ret);
                    let alike = ways.iter().filter(|(e, s)| is_alike(e) && s.len() == shape.len());
                    let ways =
                        if ways.iter().any(|(e, _)| e.ret == event.ret) { same.collect_vec() } else { alike.collect() };
                    let with = |(e, s): &(Event, Shape)| c.clone().with(e.clone(), s.clone(), StuckPart::Returns);
                    ways.into_iter().map(with).collect::<Vec<_>>()
                };
                all = all.iter().flat_map(again).collect();
            }
        }
        all
    }

    /// Visits stuck executions of these runs, continued with the calls that threads owe. There is one for each class
    /// and `wanted` last values of the observed cells.
    fn stuck_with(
        &self,
        idle: &[Idle],
        continued: &Continued,
        wanted: &mut dyn FnMut(&[Val]) -> bool,
        visit: &mut dyn FnMut(Stuck) -> Flow,
    ) -> Result<SearchEnd, Stop> {
        if !self.arrives(idle) {
            return Ok(SearchEnd::Searched);
        }
        let so_far = Continued::new(idle.iter().map(|(run, _)| run));
        let mut failed = None;
        let graph = Graph::new(self.world, continued.skeletons.iter().collect());
        let reads = repeated_reads(&graph, idle);
        let rounds = idle.iter().map(|(run, wait)| match wait {
            Some(EndlessWait { at: WaitsAt::Loop(start), .. }) => &run.shapes[*start..],
            _ => &[],
        });
        let of_rounds = rounds.flatten().flatten().filter_map(|sub| sub.cell);
        let cells: Vec<Cell> = of_rounds.chain(self.observed.iter().copied()).sorted().dedup().collect();
        let mut solver = Solver::new(graph, self.libraries, &cells, self.limits.expired)?;
        let early = early(&continued.parts());
        solver.exclude(&early);
        let end = solver.explore(&mut |solver| {
            let last = solver.last_values();
            let last = |cell: Cell| {
                let position = cells.binary_search(&cell).expect("it is observed");
                last[position].unwrap_or_else(|| self.initial(cell))
            };
            let is_repeated = |&(read, round, cell): &(usize, (usize, usize), Cell)| {
                let inside = matches!(solver.source(read), Source::Write(w) if (round.0..round.1).contains(&w));
                let position = cells.binary_search(&cell).expect("it is observed");
                inside || !solver.has_last(position) || solver.value_read(read) == Some(last(cell))
            };
            let finals: Vec<Val> = self.observed.iter().map(|&cell| last(cell)).collect();
            if !reads.iter().all(is_repeated) || !wanted(&finals) {
                return Flow::Continue;
            }
            let Some(execution) = first_completion(solver, &early) else { return Flow::Continue };
            if let Err(complaint) = judge(self.libraries, &execution) {
                panic!("judge and search disagree: {complaint}");
            }
            let execution = happened(execution, &continued.parts.concat());
            let stuck = Stuck::new(execution, idle);
            let repeated: Vec<Vec<usize>> = self.world.tids().map(|t| stuck.repeated(t)).collect();
            if !repeats(self.libraries, &stuck.execution, &repeated) {
                return Flow::Continue;
            }
            match self.stays(&stuck.execution, &so_far, idle) {
                Ok(true) => visit(stuck),
                Ok(false) => Flow::Continue,
                Err(stop) => {
                    let flow = if matches!(stop, Stop::InTurn(_)) { Flow::Continue } else { Flow::Stop };
                    failed = Some(stop);
                    flow
                }
            }
        });
        failed.map_or(Ok(end), Err)
    }

    /// True if only threads and nodes have crashed that may have. A thread that waits has not crashed, and neither has its node, with
    /// the other threads on it. What has not crashed does not stop early, and its operations to such nodes happen completely.
    fn arrives(&self, idle: &[Idle]) -> bool {
        if self.world.crashes.is_empty() {
            return true;
        }
        let mut crashes = self.world.crashes.clone();
        for (t, _) in self.world.tids().zip(idle).filter(|(_, (_, wait))| wait.is_some()) {
            crashes.threads.remove(&t);
            crashes.nodes = crashes.nodes.without(self.world.node_of(t));
        }
        let world = World { crashes, ..self.world.clone() };
        let is_whole = |(event, shape): (&Event, &Shape)| {
            let library = self.libraries.of(&event.call);
            library.shapes(&world, event).contains(shape)
                && (world.may_stop(event.thread) || !library.is_optional(event))
        };
        idle.iter().flat_map(|(run, _)| run.trace.events.iter().zip(&run.shapes)).all(is_whole)
    }

    /// Returns the stuck executions of the program. There is one for each `key` of the runs and the last values of the
    /// observed cells, with the fewest events.
    pub fn all_stuck<K: Ord>(&self, key: StuckKey<'_, K>) -> Found<BTreeMap<K, Stuck>> {
        let mut all: BTreeMap<K, Stuck> = BTreeMap::new();
        let all = RefCell::new(&mut all);
        let stop = self.each_stuck(
            &mut |idle, finals| !all.borrow().contains_key(&key(idle, finals)),
            &mut |idle, finals, stuck| _ = all.borrow_mut().insert(key(idle, finals), stuck),
        );
        Found::new(std::mem::take(all.into_inner()), stop)
    }

    fn each_stuck(&self, wanted: IsWanted<'_>, visit: VisitStuck<'_>) -> Option<Stop> {
        if self.never_waits() {
            return None;
        }
        let guessed = || self.guessed_waiting().map(|waiting| Found::new(waiting, None));
        let Some(waiting) = flow::waiting(self).or_else(guessed) else { return Some(Stop::OutOfNowhere) };
        let (mut waiting, mut stop) = waiting.into_parts();
        waiting.sort_by_key(|idle| idle.iter().map(|(run, _)| run.shapes.len()).sum::<usize>());
        for idle in &waiting {
            let last = RefCell::new(Vec::new());
            let mut is_wanted = |finals: &[Val]| {
                *last.borrow_mut() = finals.to_vec();
                wanted(idle, finals)
            };
            let end = self.stuck_of(idle, &mut is_wanted, &mut |_, stuck| {
                visit(idle, &last.borrow(), stuck);
                Flow::Continue
            });
            match end {
                Ok(SearchEnd::Late) => return Some(Stop::Time),
                Ok(_) => {}
                Err(too_many) => _ = stop.get_or_insert(too_many),
            }
        }
        stop
    }

    /// Visits stuck executions of these runs as [`Self::stuck_with`] does, in each way in which the calls that threads owe can return.
    /// There are none if some call in which a thread waits can return.
    fn stuck_of(
        &self,
        idle: &[Idle],
        wanted: &mut dyn FnMut(&[Val]) -> bool,
        visit: &mut dyn FnMut(&Continued, Stuck) -> Flow,
    ) -> Result<SearchEnd, Stop> {
        if (self.limits.expired)() {
            return Ok(SearchEnd::Late);
        }
        let so_far = Continued::new(idle.iter().map(|(run, _)| run));
        let mut all = self.with_unfinished(so_far.clone());
        all.retain(|continued| self.admits(&continued.events()));
        if all.is_empty() || self.can_return(idle, &so_far, None)? {
            return Ok(SearchEnd::Searched);
        }
        let mut stop = None;
        for continued in &all {
            match self.stuck_with(idle, continued, wanted, &mut |stuck| visit(continued, stuck)) {
                Ok(SearchEnd::Searched) => {}
                Ok(end) => return Ok(end),
                Err(too_many) => _ = stop.get_or_insert(too_many),
            }
        }
        stop.map_or(Ok(SearchEnd::Searched), Err)
    }

    /// Appends to each run the calls that its thread must still make, in every way in which they can return.
    fn with_unfinished(&self, continued: Continued) -> Vec<Continued> {
        let mut all = vec![continued];
        for thread in self.world.tids() {
            let events: Vec<&Event> = all[0].run(thread.index()).trace.events.iter().collect();
            for call in self.libraries.unfinished(&events) {
                let ways = |c: Continued| self.with_ways(thread, &call, c, StuckPart::Owed);
                all = all.into_iter().flat_map(ways).collect();
            }
        }
        all
    }

    /// Appends a call, in every way in which it can return.
    fn with_ways(&self, thread: Tid, call: &Call, continued: Continued, part: StuckPart) -> Vec<Continued> {
        let ways = self.ways(thread, call, &continued).into_iter();
        ways.map(|(event, shape)| continued.clone().with(event, shape, part)).collect()
    }

    /// True if some of the calls in which threads wait can return together after these runs, or in a continuation of an execution
    /// of them.
    ///
    /// # Errors
    /// The limit that cut the search short.
    fn can_return(&self, idle: &[Idle], continued: &Continued, of: Option<&Execution>) -> Result<bool, Stop> {
        for returning in self.waiting_calls(idle).powerset().filter(|r| !r.is_empty()) {
            let mut all = vec![continued.clone()];
            for (thread, call) in returning {
                let ways = |c: Continued| self.with_ways(thread, call, c, StuckPart::Returns);
                all = all.into_iter().flat_map(ways).collect();
            }
            for continued in all {
                if self.first_consistent(of, &continued)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns the calls in which threads wait for others.
    fn waiting_calls<'i>(&self, idle: &'i [Idle]) -> impl Iterator<Item = (Tid, &'i Call)> {
        idle.iter().enumerate().filter_map(|(t, (_, wait))| match wait {
            Some(EndlessWait { at: WaitsAt::Call(call), .. }) if self.libraries.may_wait(self.world, call) => {
                Some((Tid::from_index(t), call))
            }
            _ => None,
        })
    }

    /// Returns the ways in which a call can return to a thread after these runs.
    fn ways(&self, thread: Tid, call: &Call, continued: &Continued) -> Vec<(Event, Shape)> {
        let library = self.libraries.of(call);
        let runs = (0..continued.skeletons.len()).map(|t| continued.run(t));
        let events = runs.flat_map(|run| run.trace.events.iter().zip(&run.shapes));
        let values = values_written(self.libraries, self.world, &events.collect::<Vec<_>>());
        let cells = |cell: Cell| values.iter().copied().chain([self.initial(cell)]).sorted().dedup().collect();
        let earlier = &continued.run(thread.index()).trace.events;
        let results = library.returns(self.world, earlier, thread, call, &cells).into_iter();
        let events = results.map(|ret| Event { thread, call: call.clone(), ret });
        let shapes = |event: Event| library.shapes(self.world, &event).into_iter().map(move |s| (event.clone(), s));
        events.flat_map(shapes).collect()
    }

    /// Returns a consistent execution of these runs and of the calls that threads then owe, without the latter. No later part comes
    /// before an earlier one, every specification covers them, and the execution continues another one, if one is given.
    fn first_consistent(&self, of: Option<&Execution>, continued: &Continued) -> Result<Option<Execution>, Stop> {
        // A specification that does not cover the beginning covers no continuation.
        let was_covered = |library: &dyn Hints| {
            of.is_none_or(|of| {
                let own: Vec<&Event> = of.events.iter().filter(|e| e.call.library == library.name()).collect();
                library.is_well_formed(self.world, &own)
            })
        };
        Ok(self.continuation(of, continued, &was_covered)?.execution)
    }

    /// Searches an execution of these runs. If it need not be covered, it may be one that no specification covers.
    pub(super) fn execution_of(&self, runs: &[Run], is_covered: bool) -> Result<Continuation, Stop> {
        self.continuation(None, &Continued::new(runs.iter()), &|_| is_covered)
    }

    /// Searches a consistent execution as [`Self::first_consistent`] does, which the libraries that `must_cover` them cover.
    fn continuation(
        &self,
        of: Option<&Execution>,
        continued: &Continued,
        must_cover: &dyn Fn(&dyn Hints) -> bool,
    ) -> Result<Continuation, Stop> {
        let covers = |library: &dyn Hints, own: &[&Event]| library.is_well_formed(self.world, own);
        let mut searched = Continuation { is_covered: false, execution: None };
        for mut continued in self.with_unfinished(continued.clone()) {
            // The search leaves out iterations from which nothing reads, and these are the given ones.
            continued.skeletons.iter_mut().for_each(|skeleton| skeleton.runs[0].trace.rounds.clear());
            let events = continued.events();
            searched.is_covered |= self.all_say(&events, covers);
            let is_said = |library: &dyn Hints, own: &[&Event]| {
                library.admits(self.world, own) && (!must_cover(library) || covers(library, own))
            };
            if !self.all_say(&events, is_said) {
                continue;
            }
            let graph = Graph::new(self.world, continued.skeletons.iter().collect());
            let starts = graph.starts.clone();
            let mut solver = Solver::new(graph, self.libraries, &[], self.limits.expired)?;
            if let Some(execution) = of {
                let lengths = self
                    .world
                    .tids()
                    .map(|t| execution.subs.iter().filter(|sub| execution.events[sub.event].thread == t).count());
                let places = starts.iter().zip(lengths).flat_map(|(&start, length)| start..start + length);
                solver.begin_as(execution, &places.collect::<Vec<_>>());
            }
            let early = early(&continued.parts());
            solver.exclude(&early);
            let mut found = None;
            let end = solver.explore(&mut |solver| {
                found = first_completion(solver, &early);
                if found.is_some() { Flow::Stop } else { Flow::Continue }
            });
            match end {
                SearchEnd::Late => return Err(Stop::Time),
                _ if found.is_some() => {
                    searched.execution = found.map(|all| happened(all, &continued.parts.concat()));
                    return Ok(searched);
                }
                _ => {}
            }
        }
        Ok(searched)
    }
}

/// Appends events of one thread that return after those that have happened.
fn returning(continued: &Continued, events: Vec<(Event, Shape)>) -> Continued {
    events.into_iter().fold(continued.clone(), |c, (event, shape)| c.with(event, shape, StuckPart::Returns))
}

/// Returns the values that repeated rounds of an execution write, each with its cell. A value of a call has its thread, which does
/// not find it in turn: the own later writes hide it. A copy has none.
fn written_in_rounds(execution: &Execution, idle: &[Idle]) -> Vec<(Option<Tid>, Cell, Val)> {
    let of_thread = |(t, (_, wait)): (usize, &Idle)| {
        let Some(EndlessWait { at: WaitsAt::Loop(start), .. }) = wait else { return Vec::new() };
        execution.of_thread(Tid::from_index(t)).skip(*start).collect()
    };
    let repeated: Vec<usize> = idle.iter().enumerate().flat_map(of_thread).collect();
    let subs = execution.subs.iter().filter(|sub| repeated.contains(&sub.event));
    let written = subs.filter_map(|sub| {
        let is_copy = matches!(sub.sub.writes, Some(Writes::Copy(_)));
        Some(((!is_copy).then_some(execution.events[sub.event].thread), sub.sub.cell?, sub.wrote?))
    });
    written.unique().collect()
}

/// Removes the calls that were appended from an execution.
fn happened(execution: Execution, parts: &[StuckPart]) -> Execution {
    if !parts.contains(&StuckPart::Owed) {
        return execution;
    }
    let has_happened = |e: usize| parts[e] != StuckPart::Owed;
    let (kept, _) = execution.restricted(has_happened);
    let groups = execution.groups.iter().enumerate().filter(|(e, _)| has_happened(*e)).map(|(_, g)| *g);
    Execution { groups: groups.collect(), outputs: execution.outputs, calls: execution.calls, ..kept }
}

/// Returns the first completion of a class in which none of these pairs is in hb.
fn first_completion(solver: &mut Solver<'_>, early: &Matrix) -> Option<Execution> {
    let snapshot = solver.snapshot();
    let mut found = None;
    each_completion(solver, &mut |solver| {
        if solver.hb().and(early).is_empty() {
            found = solver.execution();
        }
        if found.is_some() { Flow::Stop } else { Flow::Continue }
    });
    solver.restore(snapshot);
    found
}

/// Returns the results of the replaced calls of the program in a run, except the one in which its thread waits.
fn returned((run, wait): &Idle) -> Vec<Val> {
    let trace = &run.trace;
    let pending = wait.as_ref().and_then(|wait| wait.within).map(|call| outermost(trace, call));
    let calls = trace.calls.iter().enumerate();
    calls.filter(|(c, call)| call.parent.is_none() && Some(*c) != pending).map(|(_, call)| call.event.ret).collect()
}

/// Returns the reads of the repeated iterations, each with the subevents of its iteration (first, one past the last)
/// and its cell.
fn repeated_reads(graph: &Graph<'_>, idle: &[Idle]) -> Vec<(usize, (usize, usize), Cell)> {
    let mut reads = Vec::new();
    for (ends, (run, wait)) in graph.starts.windows(2).zip(idle) {
        let Some(EndlessWait { at: WaitsAt::Loop(start), .. }) = wait else { continue };
        let first = ends[0] + run.shapes[..*start].iter().map(|shape| shape.len()).sum::<usize>();
        let own = (first..ends[1]).filter(|&s| graph.subs[s].sub.reads.is_some());
        reads.extend(own.filter_map(|s| Some((s, (first, ends[1]), graph.subs[s].sub.cell?))));
    }
    reads
}

impl Stuck {
    /// Returns the cells that the repeated rounds of a thread read, once each, with the values.
    #[must_use]
    pub fn reads(&self, thread: Tid) -> Vec<(Cell, Val)> {
        let repeated = self.repeated(thread);
        let own = self.execution.subs.iter().filter(|s| repeated.contains(&s.event));
        let mut reads: Vec<(Cell, Val)> = own.filter_map(|s| Some((s.sub.cell?, s.read?))).collect();
        reads.sort();
        reads.dedup();
        reads
    }
}
