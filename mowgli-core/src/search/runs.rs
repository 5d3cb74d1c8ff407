//! The runs of each thread: plain executions with the shapes of their events, for every value that can be justified.
//!
//! The values that a call can return depend on the values that can be written, and the other way round. So the two are
//! computed together as a least fixed point over all threads. Justification only grows: a value stays, and its rank
//! only falls.
//! Every value of a real execution is justified by a chain of distinct events that starts at a constant. So the fixed
//! point has every value that occurs in an execution.
//! If reads are ordered before the uses of their results in the same thread, ranks count every link of a chain, so
//! chains end. Otherwise the computation may be cut off, and then it reports that.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use serde::{Deserialize, Serialize};

use crate::event::{Cell, Event, Reads, Shape, Sub, Writes};
use crate::ids::{Name, Tid};
use crate::library::Libraries;
use crate::search::denote::{Trace, Unfolder, Unfolding};
use crate::search::fault::CallFault;
use crate::stamp::Stamp;
use crate::term::script::Script;
use crate::value::Val;
use crate::world::World;

/// One plain execution of a thread with a shape for each event.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Run {
    /// Events and output.
    pub trace: Trace,
    /// The shape of each event.
    pub shapes: Vec<Shape>,
}

impl Run {
    /// Counts the subevents.
    pub(crate) fn subevents(&self) -> usize {
        self.shapes.iter().map(|shape| shape.len()).sum()
    }

    /// Returns a copy with room for a few more events. A copy without room would be moved by the next event, to a place
    /// twice as large.
    pub(crate) fn with_room(&self) -> Self {
        let Trace { events, groups, calls, rounds, output } = &self.trace;
        let trace = Trace {
            events: with_room(events),
            groups: with_room(groups),
            calls: with_room(calls),
            rounds: rounds.clone(),
            output: *output,
        };
        Self { trace, shapes: with_room(&self.shapes) }
    }

    /// Iterates over the events of iterations that ended without a break, with their shapes.
    pub(crate) fn iterations(&self) -> impl Iterator<Item = (&Event, &Shape)> {
        let of_round =
            |&(first, end): &(usize, usize)| self.trace.events.iter().zip(&self.shapes).take(end).skip(first);
        self.trace.rounds.iter().flat_map(of_round)
    }

    /// Returns the first `length` events, as a run that does not end.
    pub(crate) fn beginning(&self, length: usize) -> Self {
        let Trace { events, groups, calls, rounds, .. } = &self.trace;
        let within = |round: &&(usize, usize)| round.1 <= length;
        let trace = Trace {
            events: events[..length].to_vec(),
            groups: groups[..length].to_vec(),
            calls: calls.clone(),
            rounds: rounds.iter().filter(within).copied().collect(),
            output: Val::Unit,
        };
        Self { trace, shapes: self.shapes[..length].to_vec() }
    }
}

/// Returns every value that these events can write, and the initial values of the cells that they touch.
pub(crate) fn values_written(libraries: &Libraries, world: &World, events: &[(&Event, &Shape)]) -> BTreeSet<Val> {
    let subs = || events.iter().flat_map(|(event, shape)| shape.iter().map(move |sub| (*event, sub)));
    let mut values: BTreeSet<Val> = BTreeSet::new();
    for (event, sub) in subs() {
        values.extend(sub.cell.map(|cell| libraries.of(&event.call).init(world, cell)));
        values.extend(sub.reads.and_then(|r| if let Reads::Is(v) = r { Some(v) } else { None }));
        values.extend(sub.writes.and_then(|w| if let Writes::Is(v) = w { Some(v) } else { None }));
    }
    // As many passes as subevents suffice, because each update of a chain is another subevent.
    for _ in subs() {
        let steps = subs().filter(|(_, sub)| matches!(sub.writes, Some(Writes::Step(_))));
        let made =
            |event: &Event| values.iter().filter_map(|&v| libraries.of(&event.call).step(event, v)).collect::<Vec<_>>();
        let new: Vec<Val> = steps.flat_map(|(event, _)| made(event)).collect();
        let before = values.len();
        values.extend(new);
        if values.len() == before {
            break;
        }
    }
    values
}

/// The number of events for which a copy of a run has room, so that the next events of the thread need no allocation.
const ROOM: usize = 4;

/// Returns a copy of a list with room for a few more items.
pub(crate) fn with_room<T: Clone>(list: &[T]) -> Vec<T> {
    let mut copy = Vec::with_capacity(list.len() + ROOM);
    copy.extend_from_slice(list);
    copy
}

/// A thread at a call that no program may make, beside runs of the other threads.
pub(crate) struct Faulty {
    /// A run of each thread.
    pub runs: Vec<Run>,
    /// The thread at the call.
    pub thread: usize,
    /// The fault of the call.
    pub fault: CallFault,
    /// True if no thread makes another call.
    pub is_over: bool,
}

/// Runs of one thread that differ in data only: same calls up to data, same subevents on the same cells.
/// They share one search.
#[derive(Clone, Debug)]
pub struct Skeleton {
    /// The runs, at least one.
    pub runs: Vec<Run>,
}

impl Skeleton {
    /// Returns the runs with this output.
    #[must_use]
    pub fn with_output(&self, output: Val) -> Self {
        Self { runs: self.runs.iter().filter(|r| r.trace.output == output).cloned().collect() }
    }
}

/// The reason why a search stopped before it was complete.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Stop {
    /// A program or an implementation is not well defined (LOCO Def. 3.9).
    IllDefined(Box<CallFault>),
    /// A loop with effects reached the bound on rounds; the text says which.
    Loop(String),
    /// The same for a loop whose rounds affect later results.
    Rounds(String),
    /// Rounds that never end write several values in turn, and this thread may go on with one of them.
    InTurn(Tid),
    /// A thread has more plain executions than the limit.
    Traces(Tid),
    /// More different values than one search can distinguish.
    Values,
    /// More ways to make the choices of an execution than this limit.
    Choices(usize),
    /// More clients within a bound than this limit.
    Clients(usize),
    /// Values that threads could return kept growing, each justified by others.
    Growth,
    /// More states of a machine than this limit.
    States(usize),
    /// The budget of steps or time was used up.
    Time,
    /// The user interrupted the search.
    Interrupted,
    /// No client has an execution that ends, so nothing was checked.
    Vacuous,
    /// The libraries allow values out of thin air, so the values that a thread can still read are not known.
    OutOfNowhere,
    /// A library below specifies nothing for calls that still need a partner, for example the acquisition of a lock.
    Unfinished,
    /// The check ended before it reached this question.
    NotAsked,
}

impl Stop {
    /// Returns the stop at a fault.
    #[must_use]
    pub fn at(fault: CallFault) -> Self {
        Self::IllDefined(Box::new(fault))
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::IllDefined(why) => write!(f, "not well defined (LOCO Def. 3.9): {why}"),
            Self::Loop(place) | Self::Rounds(place) => {
                write!(f, "a loop with effects reached the bound on rounds ({place}); more loops let it go on")
            }
            Self::InTurn(t) => {
                write!(f, "loops that never end write several values in turn, and {t} may go on with one of them")
            }
            Self::Traces(t) => write!(f, "thread {t} has more plain executions than the limit"),
            Self::Values => f.write_str("updates that can make more than 4096 values, or in more than 4096 orders"),
            Self::Choices(limit) => write!(f, "more than {limit} ways to make the choices of an execution"),
            Self::Clients(limit) => {
                write!(
                    f,
                    "more than {limit} clients within the bound: fewer objects, values or calls in all have fewer"
                )
            }
            Self::Growth => f.write_str("the values that threads could return kept growing"),
            Self::States(limit) => write!(f, "more than {limit} states"),
            Self::Vacuous => f.write_str("no client within the bound has an execution that ends"),
            Self::Unfinished => f.write_str(
                "a library below says nothing of calls that others are still to follow, as one that holds a lock",
            ),
            Self::OutOfNowhere => f.write_str("values may come out of nowhere, so what can still be read is not known"),
            Self::NotAsked => f.write_str("the check ended before it was asked"),
            Self::Time => f.write_str("the limit of steps or time was reached"),
            Self::Interrupted => f.write_str("it was interrupted"),
        }
    }
}

/// The runs of each thread.
type ThreadRuns = Vec<Vec<Run>>;

/// For each cell the number of writes that a value needs: a lower bound over all chains of events that justify it.
type Rank = BTreeMap<Cell, u8>;

/// The values that one thread can write to a cell, each with its rank.
type Ranked = BTreeMap<Val, Rank>;

/// For each cell the values that each thread can write to it.
type WrittenValues = BTreeMap<Cell, Vec<Ranked>>;

fn highest(into: &mut Rank, with: &Rank) {
    for (&cell, &n) in with {
        let all = into.entry(cell).or_default();
        *all = n.max(*all);
    }
}

/// Adds a value, or lowers its rank. Returns whether that changed anything.
fn add(all: &mut Ranked, v: Val, rank: Rank) -> bool {
    match all.entry(v) {
        Entry::Vacant(place) => {
            place.insert(rank);
            true
        }
        Entry::Occupied(mut place) => {
            let known = place.get();
            let lower = known.iter().filter_map(|(&c, &n)| Some((c, n.min(*rank.get(&c)?)))).collect();
            let changed = *known != lower;
            place.insert(lower);
            changed
        }
    }
}

/// Computes the skeletons of every thread of `programs`.
pub fn skeletons(unfolder: &Unfolder<'_>, programs: &[Script]) -> Skeletons {
    let Guessed { ended, begun, faulty, waits, stop } = guessed(unfolder, programs);
    let goes_round = waits || ended.iter().flatten().any(|run| !run.trace.rounds.is_empty());
    Skeletons { threads: ended.into_iter().map(group).collect(), begun, faulty, stop, goes_round }
}

/// The skeletons of every thread of a program.
pub struct Skeletons {
    /// The skeletons of each thread.
    pub threads: Vec<Vec<Skeleton>>,
    /// For each thread the beginnings of runs that do not end.
    pub begun: Vec<Vec<Run>>,
    /// For each thread the runs up to a call that no program may make, with the fault.
    pub faulty: Vec<Vec<(Run, CallFault)>>,
    /// The reason why the computation was cut off, if it was.
    pub stop: Option<Stop>,
    /// Whether some thread can wait, or end a round of a loop without a break.
    pub goes_round: bool,
}

impl Skeletons {
    /// Returns each fault beside each run of the other threads.
    pub(crate) fn faults(&self) -> impl Iterator<Item = Faulty> + '_ {
        let all =
            self.faulty.iter().enumerate().flat_map(|(thread, own)| own.iter().map(move |faulty| (thread, faulty)));
        all.flat_map(|(thread, (faulty, fault))| {
            let ended = |t: usize| self.threads[t].iter().flat_map(|s| &s.runs).map(|run| (run, true));
            let of_other = |t: usize| ended(t).chain(self.begun[t].iter().map(|run| (run, false))).collect_vec();
            let options = (0..self.threads.len()).map(|t| if t == thread { vec![(faulty, true)] } else { of_other(t) });
            options.multi_cartesian_product().map(move |choice| Faulty {
                is_over: choice.iter().all(|(_, has_ended)| *has_ended),
                runs: choice.into_iter().map(|(run, _)| run.clone()).collect(),
                thread,
                fault: fault.clone(),
            })
        })
    }
}

/// The runs that the justified values permit.
struct Guessed {
    /// For each thread the runs that end.
    ended: ThreadRuns,
    /// For each thread the beginnings of runs that do not end, up to the first unjustified read. Their writes count,
    /// because other threads may read them.
    begun: ThreadRuns,
    /// For each thread the runs up to a call that no program may make, with the fault.
    faulty: Vec<Vec<(Run, CallFault)>>,
    /// Whether some thread waits for a value that is missing, or has reached the bound on rounds.
    waits: bool,
    stop: Option<Stop>,
}

fn guessed(unfolder: &Unfolder<'_>, programs: &[Script]) -> Guessed {
    let mut written = WrittenValues::new();
    let mut of_threads = vec![Rank::new(); programs.len()];
    let mut round = 0;
    loop {
        let Guessed { ended, begun, faulty, waits, stop } = all_runs(unfolder, programs, &written, &of_threads);
        let before = of_threads.clone();
        for (of_thread, own) in of_threads.iter_mut().zip(ended.iter().zip(&begun)) {
            own.0.iter().chain(own.1).for_each(|run| highest(of_thread, &writes_of(run)));
        }
        let mut changed = of_threads != before;
        let most = most_writes(&of_threads);
        let seen = written.clone();
        for runs in [&ended, &begun] {
            changed |= collect_writes(unfolder, runs, &seen, &most, &mut written);
        }
        let events = |runs: &[Run]| runs.iter().map(|r| r.shapes.len()).max().unwrap_or(0);
        let links = ended.iter().zip(&begun).map(|(a, b)| events(a).max(events(b))).sum::<usize>();
        let stop = match stop {
            _ if (unfolder.expired)() => Some(Stop::Time),
            // A link of a chain takes a round for the value and one for the run that reads it. Longer chains do not
            // exist.
            None | Some(Stop::Loop(_)) if changed && round > 4 * (links + 1) => Some(Stop::Growth),
            stop => stop,
        };
        let given_up = match stop {
            Some(Stop::IllDefined(_)) => round > 2,
            Some(Stop::Traces(_) | Stop::Time | Stop::Growth) => true,
            _ => round > 4 * (links + 1),
        };
        if !changed || given_up {
            return Guessed { ended, begun, faulty, waits, stop };
        }
        round += 1;
    }
}

/// Counts the writes of a run to each cell.
fn writes_of(run: &Run) -> Rank {
    let cells = run.shapes.iter().flatten().filter(|s| s.writes.is_some()).filter_map(|s| s.cell);
    cells.counts_by(|c| c).into_iter().map(|(c, n)| (c, n.min(255) as u8)).collect()
}

/// Returns an upper bound on the writes to each cell in one execution, from such bounds for each thread. A chain cannot
/// have more.
fn most_writes(of_threads: &[Rank]) -> Rank {
    let mut most = Rank::new();
    for (&cell, &n) in of_threads.iter().flatten() {
        let all: &mut u8 = most.entry(cell).or_default();
        *all = all.saturating_add(n);
    }
    most
}

fn all_runs(unfolder: &Unfolder<'_>, programs: &[Script], written: &WrittenValues, of_threads: &[Rank]) -> Guessed {
    let (mut stop, mut waits) = (None, false);
    let (mut all_begun, mut all_faulty) = (Vec::new(), Vec::new());
    let cells = |cell: Cell| {
        let by_others = written.get(&cell).into_iter().flatten().flat_map(Ranked::keys).copied();
        std::iter::once(initial(unfolder, cell)).chain(by_others).sorted().dedup().collect::<Vec<_>>()
    };
    let threads = unfolder.world.tids().zip(programs).map(|(thread, program)| {
        let Unfolding { traces, waiting, discarded, faults, hit, hit_remembered, too_many, ill_defined } =
            unfolder.unfold(thread, program, &cells);
        if let Some(fault) = ill_defined {
            stop = Some(Stop::at(fault));
        } else if too_many {
            stop.get_or_insert(if (unfolder.expired)() { Stop::Time } else { Stop::Traces(thread) });
        } else if let (Some(place), None | Some(Stop::Loop(_))) = (hit_remembered, &stop) {
            stop = Some(Stop::Rounds(place));
        } else if let (Some(place), None) = (hit, &stop) {
            stop = Some(Stop::Loop(place));
        }
        let runs = |traces: Vec<Trace>| {
            // When the deadline has passed, skip the rest: the caller checks the deadline again and reports it.
            let in_time = traces.into_iter().take_while(|_| !(unfolder.expired)());
            in_time.flat_map(|t| with_shapes(unfolder, t))
        };
        let justified = |run: &Run| first_unjustified(unfolder, thread, run, written, of_threads);
        let (mut ended, mut begun) = (Vec::new(), BTreeSet::new());
        for run in runs(traces) {
            match justified(&run) {
                Some(length) => _ = begun.insert(run.beginning(length)),
                None => ended.push(run),
            }
        }
        let of_fault = |(trace, fault): (&Trace, &CallFault)| {
            runs(vec![trace.clone()]).map(|run| (run, fault.clone())).collect_vec()
        };
        let faulty = faults.iter().flat_map(of_fault).filter(|(run, _)| justified(run).is_none()).collect();
        let mut begin = |traces: BTreeSet<Trace>| {
            let mut is_justified = false;
            for run in runs(traces.into_iter().collect()) {
                let length = justified(&run);
                is_justified |= length.is_none();
                begun.insert(length.map_or(run.clone(), |length| run.beginning(length)));
            }
            is_justified
        };
        waits |= begin(waiting);
        begin(discarded);
        begin(faults.into_keys().collect());
        all_begun.push(begun.into_iter().collect());
        all_faulty.push(faulty);
        ended
    });
    let ended = threads.collect();
    Guessed { ended, begun: all_begun, faulty: all_faulty, waits, stop }
}

fn initial(unfolder: &Unfolder<'_>, cell: Cell) -> Val {
    initial_value(unfolder.libraries, unfolder.world, cell)
}

/// Returns the initial value of a cell, given by the library of its object, or of the object that it is a part of. For a cell without
/// an object, only one library uses such cells, for example for the messages of a node. That library gives the value, and the others
/// return 0.
pub(crate) fn initial_value(libraries: &Libraries, world: &World, cell: Cell) -> Val {
    let of_whole = || world.objects.get(&cell.loc.whole()?);
    if let Some(object) = world.objects.get(&cell.loc).or_else(of_whole) {
        return libraries.get(object.library).map_or(Val::Int(0), |library| library.init(world, cell));
    }
    let mut values = libraries.names().filter_map(|name| Some(libraries.get(name)?.init(world, cell)));
    values.find(|v| *v != Val::Int(0)).unwrap_or(Val::Int(0))
}

fn with_shapes(unfolder: &Unfolder<'_>, trace: Trace) -> Vec<Run> {
    let shapes = trace.events.iter().map(|e| unfolder.libraries.of(&e.call).shapes(unfolder.world, e));
    let mut partial: Vec<Vec<Shape>> = vec![Vec::new()];
    for choices in shapes {
        partial = partial
            .iter()
            .flat_map(|done| choices.iter().map(|s| [done.as_slice(), std::slice::from_ref(s)].concat()))
            .collect();
    }
    partial.into_iter().map(|shapes| Run { trace: trace.clone(), shapes }).collect()
}

/// The values that a cell may hold in the view of this run: the initial value, writes of other threads, and its own
/// writes.
struct Holds<'a> {
    unfolder: &'a Unfolder<'a>,
    thread: Tid,
    written: &'a WrittenValues,
    most: &'a Rank,
    own: BTreeMap<Cell, Ranked>,
}

impl<'a> Holds<'a> {
    fn of(unfolder: &'a Unfolder<'a>, thread: Tid, run: &Run, written: &'a WrittenValues, most: &'a Rank) -> Self {
        let mut holds = Self { unfolder, thread, written, most, own: BTreeMap::new() };
        // As many passes as subevents suffice, because a chain of copies and additions passes each subevent once.
        for _ in 0..=run.shapes.iter().map(|s| s.len()).sum::<usize>() {
            if !holds.add_round(run) {
                break;
            }
        }
        holds
    }

    fn add_round(&mut self, run: &Run) -> bool {
        let mut changed = false;
        // `known` is the rank of the results of the calls so far, on which every later call depends. `unknown` has the
        // stamps of unjustified reads: a subevent ordered after one of them cannot justify it.
        let mut known = Rank::new();
        let mut unknown: Vec<Stamp> = Vec::new();
        for (event, shape) in run.trace.events.iter().zip(&run.shapes) {
            let before = unknown.len();
            let mut of_event = Rank::new();
            for sub in shape {
                if let (Some(cell), Some(Reads::Is(v))) = (sub.cell, sub.reads) {
                    match self.rank(cell, v) {
                        Some(rank) => {
                            highest(&mut of_event, &rank);
                            // Later calls cannot depend on a value that the call does not return.
                            if v == event.ret {
                                highest(&mut known, &rank);
                            }
                        }
                        None => unknown.push(sub.stamp),
                    }
                }
            }
            if unknown.len() > before {
                continue;
            }
            highest(&mut of_event, &known);
            for sub in shape {
                let (Some(cell), Some(writes)) = (sub.cell, sub.writes) else { continue };
                if unknown.iter().any(|&a| self.unfolder.libraries.to(a, sub.stamp)) {
                    continue;
                }
                for (v, mut rank) in self.possible(event, shape, writes) {
                    highest(&mut rank, &of_event);
                    let here = rank.entry(cell).or_default();
                    *here = here.saturating_add(1);
                    if *here <= self.most.get(&cell).copied().unwrap_or(0) {
                        changed |= add(self.own.entry(cell).or_default(), v, rank);
                    }
                }
            }
        }
        changed
    }

    /// Iterates over the values of a cell. A value may occur several times.
    fn values(&self, cell: Cell) -> impl Iterator<Item = (Val, Rank)> + '_ {
        let others = self.written.get(&cell).into_iter().flat_map(|by| by.iter().enumerate());
        let others = others.filter(|(t, _)| *t != self.thread.index()).flat_map(|(_, vs)| vs);
        let own = self.own.get(&cell).into_iter().flatten();
        let initial = std::iter::once((initial(self.unfolder, cell), Rank::new()));
        initial.chain(others.chain(own).map(|(&v, rank)| (v, rank.clone())))
    }

    /// Returns the lowest rank of a value in a cell; `None` if the value cannot be there.
    fn rank(&self, cell: Cell, v: Val) -> Option<Rank> {
        let mut all = Ranked::new();
        for (w, rank) in self.values(cell).filter(|(w, _)| *w == v) {
            add(&mut all, w, rank);
        }
        all.remove(&v)
    }

    fn possible(&self, event: &Event, shape: &Shape, writes: Writes) -> Vec<(Val, Rank)> {
        match writes {
            Writes::Is(v) => vec![(v, Rank::new())],
            Writes::Copy(from) => self.read(shape, from),
            Writes::Step(from) => {
                let library = self.unfolder.libraries.of(&event.call);
                let read = self.read(shape, from).into_iter();
                read.filter_map(|(v, rank)| Some((library.step(event, v)?, rank))).collect()
            }
        }
    }

    fn read(&self, shape: &Shape, from: usize) -> Vec<(Val, Rank)> {
        let sub = &shape[from];
        let cell = sub.cell.expect("a subevent that reads touches a cell");
        self.values(cell).filter(|(v, _)| sub.reads.is_some_and(|r| r.allows(*v))).collect()
    }
}

/// Returns the position of the first event with an unjustified read; `None` if every read is justified.
fn first_unjustified(
    unfolder: &Unfolder<'_>,
    thread: Tid,
    run: &Run,
    written: &WrittenValues,
    of_threads: &[Rank],
) -> Option<usize> {
    // The writes of this run do not count in `of_threads` yet, because its bounds come from the runs that pass this
    // test.
    let mut of_threads = of_threads.to_vec();
    highest(&mut of_threads[thread.index()], &writes_of(run));
    let most = most_writes(&of_threads);
    let holds = Holds::of(unfolder, thread, run, written, &most);
    let is_justified = |sub: &Sub| match (sub.cell, sub.reads) {
        (Some(cell), Some(reads)) => holds.values(cell).any(|(v, _)| reads.allows(v)),
        _ => true,
    };
    run.shapes.iter().position(|shape| !shape.iter().all(is_justified))
}

/// Adds the values that these runs can write to `into`, as far as `written` justifies them. Returns whether that
/// changed anything.
fn collect_writes(
    unfolder: &Unfolder<'_>,
    runs: &[Vec<Run>],
    written: &WrittenValues,
    most: &Rank,
    into: &mut WrittenValues,
) -> bool {
    let mut changed = false;
    for (index, of_thread) in runs.iter().enumerate() {
        for run in of_thread {
            let holds = Holds::of(unfolder, Tid::from_index(index), run, written, most);
            for (cell, values) in holds.own {
                let all = &mut into.entry(cell).or_insert_with(|| vec![Ranked::new(); runs.len()])[index];
                for (v, rank) in values {
                    changed |= add(all, v, rank);
                }
            }
        }
    }
    changed
}

/// One event up to data: library, method, the non-data arguments, the result unless a subevent reads it, and the
/// subevents with their cells and kinds. For example, a poll returns the completion that it took, which no subevent
/// reads.
type EventKey = (Name, Name, Vec<Option<Val>>, Option<Val>, Vec<(Stamp, Option<Cell>, u8, u8)>);

fn event_keys(run: &Run) -> Vec<EventKey> {
    let erase = |v: &Val| (!v.is_data()).then_some(*v);
    let events = run.trace.events.iter().zip(&run.shapes);
    events
        .map(|(e, shape)| {
            let subs = shape.iter().map(|s| (s.stamp, s.cell, u8::from(s.reads.is_some()), kind(s.writes)));
            let reported = shape.iter().all(|s| s.reads.is_none()).then_some(e.ret);
            (e.call.library, e.call.method, e.call.args.iter().map(erase).collect(), reported, subs.collect())
        })
        .collect()
}

fn kind(writes: Option<Writes>) -> u8 {
    match writes {
        None => 0,
        Some(Writes::Is(_)) => 1,
        Some(Writes::Copy(_)) => 2,
        Some(Writes::Step(_)) => 3,
    }
}

/// The common part of the runs of a skeleton.
type SkeletonKey = (Vec<EventKey>, Vec<Option<usize>>, Vec<(Name, Option<usize>)>, Vec<(usize, usize)>);

fn key(run: &Run) -> SkeletonKey {
    let calls: Vec<_> = run.trace.calls.iter().map(|g| (g.event.call.method, g.parent)).collect();
    (event_keys(run), run.trace.groups.clone(), calls, run.trace.rounds.clone())
}

/// Groups runs that differ in data only.
pub(crate) fn group(runs: Vec<Run>) -> Vec<Skeleton> {
    let mut by_key = BTreeMap::new();
    for run in runs {
        by_key.entry(key(&run)).or_insert_with(Vec::new).push(run);
    }
    by_key.into_values().map(|runs| Skeleton { runs }).collect()
}
