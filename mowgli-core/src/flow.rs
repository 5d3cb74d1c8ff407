//! The runs that a program can have, found by letting values flow.
//!
//! A thread goes on only when the result of its call is known, and a result is known only when some write that is there
//! can have written it. See `docs/search.md` for why no execution is lost.

mod rounds;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;
use typed_arena::Arena;

use crate::ahead::{Reachability, ReachabilityCache, Reachable};
use crate::causal::is_causal;
use crate::event::{Call, Cell, Event};
use crate::ids::{Name, Tid};
use crate::problem::{Found, Problem};
use crate::runs::{Run, Skeleton, Stop, group};
use crate::search::prefix::{Advance, Available, Prefix, TooMany, Window, reads_of};
use crate::search::solver::Flow;
use crate::stale::{Coherence, WellFormedAt};
use crate::thread::{Frontier, LastIteration, ThreadState, Threads};
use crate::value::Val;

/// The runs that a program can have.
pub struct Runs {
    /// For each thread its skeletons.
    pub threads: Vec<Vec<Skeleton>>,
    /// Which of them occur together: their positions, in order.
    pub together: Vec<Vec<usize>>,
    /// What was cut off.
    pub stop: Option<Stop>,
    /// The bound on rounds that was reached, if one was and nothing read a round: then it matters only if some round is
    /// observed at the end.
    pub bound: Option<String>,
    /// States that were looked at.
    pub states: u64,
    /// Runs in which some thread goes round in a loop while no other goes on, if it is known which there are; see [`idle`].
    pub idle: Option<Vec<Vec<Idle>>>,
}

/// Which runs are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wanted {
    /// Those that end.
    Ended,
    /// Those in which no thread goes on, too. Those are not known in the end if no run ends.
    Both,
    /// All in which no thread goes on, whether any run ends or not.
    Idle,
    /// The same as `Idle`, and all in which threads wait in calls that may wait for others.
    Stuck,
}

/// The number of a thread, and the rounds that it can repeat.
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
    /// In a loop: it repeats its events from this one on, the last round.
    Loop(usize),
    /// In a call that it has begun and that does not return.
    Call(Call),
}

/// A run of a thread, and what it does after that; `None` if it has ended.
pub type Idle = (Run, Option<EndlessWait>);

/// The last point of a thread in an idle state, and its wait; `None` if it has ended.
type Last<'n> = (&'n ThreadState<'n>, Option<EndlessWait>);

/// What a search asked, and was told.
pub struct Transcript<'t, 'p, 'n> {
    /// The threads, with all points to which they came.
    pub threads: &'t Threads<'p, 'n>,
    /// Where each thread stands before any result that has to be chosen.
    pub starts: Vec<&'n ThreadState<'n>>,
    /// The numbers of the points at which threads stood together.
    pub states: &'t BTreeSet<Vec<usize>>,
    /// The libraries and points for which the search asked whether calls are well-formed, besides the states.
    pub heard: Vec<WellFormedAt>,
}

/// Who is given a [`Transcript`].
pub type Note<'a> = &'a mut dyn FnMut(&Transcript<'_, '_, '_>);

/// How far a thread is.
#[derive(Clone, Copy)]
struct Position<'n> {
    point: &'n ThreadState<'n>,
    /// Until when nothing came that the call returns.
    postponed: Option<u32>,
    /// Whether it waits in its call for ever.
    stays: bool,
}

impl<'n> Position<'n> {
    fn at(point: &'n ThreadState<'n>) -> Self {
        Self { point, postponed: None, stays: false }
    }

    fn looks(&self) -> bool {
        matches!(self.point.stand, Frontier::Looks(_))
    }

    /// Whether it does nothing any more.
    fn rests(&self) -> bool {
        self.stays || matches!(self.point.stand, Frontier::Ended | Frontier::Never(_) | Frontier::Spins(_))
    }
}

/// A way in which a thread can go on.
struct Successor<'n> {
    to: Position<'n>,
    window: Option<Window>,
}

/// What comes after a state.
enum Successors<'n> {
    /// This thread goes on, in these ways.
    Goes(usize, Vec<Successor<'n>>),
    /// No thread goes on with what is there.
    Waits,
    /// No execution begins so.
    Nothing,
}

/// How far all threads are.
type Positions<'n> = Vec<Position<'n>>;

/// One point of each thread, at its end.
type Final<'n> = Vec<&'n ThreadState<'n>>;

struct Explorer<'p, 'a, 'n> {
    problem: &'p Problem<'a>,
    threads: Threads<'p, 'n>,
    /// How the threads have come to the present state.
    path: Vec<Advance<'n>>,
    /// What is known of present states, by the libraries whose specifications say something of them.
    prefixes: RefCell<BTreeMap<Vec<Name>, Prefix<'p, 'n>>>,
    /// Whether some state has more subevents than there is place for.
    is_too_large: bool,
    wanted: Wanted,
    found: BTreeMap<Vec<usize>, Final<'n>>,
    stop: Option<Stop>,
    bound: Option<String>,
    /// Whether something reads what a round of a loop writes that has ended without a break.
    reads_rounds: bool,
    states: u64,
    /// What is known of what may come.
    ahead: RefCell<ReachabilityCache<'n>>,
    /// What is known of what a thread's own writes hide.
    stale: RefCell<Coherence<'p, 'n>>,
    /// Whether that showed, at the beginning, that some thread cannot end.
    cannot_end: bool,
    idle: BTreeSet<Vec<Idle>>,
    /// The points at which threads stood together, where that is to be known.
    together: BTreeSet<Vec<usize>>,
    /// After how many states it is enough.
    most: u64,
}

/// The runs that a program can have; if `idle`, those in which some thread goes round in a loop while no other goes on, too, if
/// some run ends. If nothing was cut off, `note` is given what was asked. `None` if the program's libraries let values come
/// out of nowhere: then some could be missed.
pub fn runs(problem: &Problem<'_>, idle: bool, note: Option<Note<'_>>) -> Option<Runs> {
    explored(problem, if idle { Wanted::Both } else { Wanted::Ended }, u64::MAX, note)
}

/// Runs in which some thread goes round in a loop while no other goes on, for [`crate::stuck`]; `None` as for [`runs`].
pub fn idle(problem: &Problem<'_>) -> Option<Found<Vec<Vec<Idle>>>> {
    without_motion(problem, Wanted::Idle)
}

/// Runs in which no thread goes on and some thread waits, in a loop or in a call, for [`crate::stuck`]; `None` as for [`runs`].
pub fn waiting(problem: &Problem<'_>) -> Option<Found<Vec<Vec<Idle>>>> {
    without_motion(problem, Wanted::Stuck)
}

fn without_motion(problem: &Problem<'_>, wanted: Wanted) -> Option<Found<Vec<Vec<Idle>>>> {
    let runs = explored(problem, wanted, u64::MAX, None)?;
    Some(Found::new(runs.idle.unwrap_or_default(), runs.stop))
}

/// Gives `note` what is asked in the first so many states of the search for runs; nothing where values may come out of nowhere.
pub fn glance(problem: &Problem<'_>, states: u64, note: Note<'_>) {
    let _ = explored(problem, Wanted::Ended, states, Some(note));
}

fn explored(problem: &Problem<'_>, wanted: Wanted, most: u64, note: Option<Note<'_>>) -> Option<Runs> {
    let points = Arena::new();
    let (libraries, implementations, world) = (problem.libraries, problem.implementations, problem.world);
    let (seen, rounds) = (RefCell::default(), problem.limits.rounds);
    let (notes, waits) = (note.is_some(), wanted == Wanted::Stuck);
    let mut explorer = Explorer {
        problem,
        threads: Threads { libraries, implementations, world, rounds, points: &points, seen, notes, waits },
        path: Vec::new(),
        prefixes: RefCell::default(),
        is_too_large: false,
        wanted,
        found: BTreeMap::new(),
        stop: None,
        bound: None,
        reads_rounds: rounds == 0,
        states: 0,
        ahead: RefCell::default(),
        stale: RefCell::default(),
        cannot_end: false,
        idle: BTreeSet::new(),
        together: BTreeSet::new(),
        most,
    };
    let starts = world.tids().zip(problem.programs).map(|(t, program)| explorer.threads.start(t, program));
    let starts: Positions<'_> = starts.map(Position::at).collect();
    if starts.iter().all(|p| explorer.may_come_to(p.point)) {
        let all = starts.iter().enumerate();
        explorer.path.extend(all.map(|(thread, p)| Advance { thread, point: p.point, now: 0, window: None }));
        explorer.state(starts.clone(), 0);
    }
    if explorer.is_too_large || !is_causal(libraries, world, &explorer.threads.seen.borrow()) {
        return None;
    }
    if let (Some(note), None) = (note, &explorer.stop) {
        let starts = starts.iter().map(|p| p.point).collect();
        let heard = explorer.stale.borrow().heard().cloned().collect();
        note(&Transcript { threads: &explorer.threads, starts, states: &explorer.together, heard });
    }
    let Explorer { found, mut stop, mut bound, reads_rounds, states, idle, cannot_end, .. } = explorer;
    if reads_rounds {
        stop = stop.or(bound.take().map(Stop::Loop));
    }
    let (threads, together) = skeletons(world.threads.len(), &found);
    let idle = (wanted != Wanted::Ended && !cannot_end).then(|| idle.into_iter().collect());
    Some(Runs { threads, together, stop, bound, states, idle })
}

/// The skeletons of runs that were found, and which of them occur together.
fn skeletons(threads: usize, found: &BTreeMap<Vec<usize>, Final<'_>>) -> (Vec<Vec<Skeleton>>, Vec<Vec<usize>>) {
    let of_thread = |t: usize| {
        let runs: BTreeSet<&Run> = found.values().map(|ends| ends[t].run()).collect();
        group(runs.into_iter().cloned().collect())
    };
    let skeletons: Vec<Vec<Skeleton>> = (0..threads).map(of_thread).collect();
    let numbers = |skeletons: &[Skeleton], t: usize| -> BTreeMap<usize, usize> {
        let all = skeletons.iter().enumerate();
        let of_run: BTreeMap<&Run, usize> =
            all.flat_map(|(number, s)| s.runs.iter().map(move |run| (run, number))).collect();
        found.values().map(|ends| (ends[t].id, of_run[ends[t].run()])).collect()
    };
    let numbers: Vec<_> = skeletons.iter().enumerate().map(|(t, s)| numbers(s, t)).collect();
    let together = found.keys().map(|ends| ends.iter().zip(&numbers).map(|(id, of)| of[id]).collect());
    let together: BTreeSet<Vec<usize>> = together.collect();
    (skeletons, together.into_iter().collect())
}

impl<'n> Explorer<'_, '_, 'n> {
    /// Looks at a state and at all that come after it.
    fn state(&mut self, mut state: Positions<'n>, now: u32) -> Flow {
        if self.states >= self.most {
            return Flow::Stop;
        }
        self.states += 1;
        if self.threads.notes {
            self.together.insert(state.iter().map(|p| p.point.id).collect());
        }
        if (self.problem.limits.expired)() {
            self.stop = Some(Stop::Time);
            return Flow::Stop;
        }
        let names = self.heard(&state);
        let available = match self.arrive(&names, now, &state) {
            Ok(Some(available)) => available,
            Ok(None) => return Flow::Continue,
            Err(flow) => return flow,
        };
        loop {
            let (t, ways) = match self.next(&mut state, &names, &available, now) {
                Successors::Goes(t, ways) => (t, ways),
                Successors::Waits => break,
                Successors::Nothing => return Flow::Continue,
            };
            for way in ways {
                let mut after = state.clone();
                after[t] = way.to;
                self.path.push(Advance { thread: t, point: way.to.point, now: now + 1, window: way.window });
                let flow = self.state(after, now + 1);
                self.path.pop();
                if flow == Flow::Stop {
                    return Flow::Stop;
                }
            }
            if !state[t].looks() {
                return Flow::Continue;
            }
            state[t].postponed = Some(now);
        }
        if self.wanted != Wanted::Ended {
            self.idle(&state, &names, &available, now + 1);
        }
        Flow::Continue
    }

    /// Returns how far threads may get, or `None` if that takes too much work. Threads that wait go on with something new only,
    /// the others with what is there. `is_first`: this is the first state of the search.
    fn ahead(
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
        let is_gone = |t: usize, point: &'n ThreadState<'n>, cell: Cell, v: Val| {
            let mut others = state.iter().enumerate().filter(|(u, _)| *u != t).map(|(_, p)| p.point);
            let point = (Tid::from_index(t), point);
            self.stale.borrow_mut().is_gone(&self.threads, point, &mut others, (cell, v))
        };
        let (threads, known) = (&self.threads, &self.ahead);
        let ahead =
            Reachability { threads, known, now: &now, by_others: &by_others, is_gone: &is_gone, standing: &standing };
        ahead.reach(&prefix.open_copies(), is_first)
    }

    /// The libraries whose specifications say something of a state: those whose calls so far are well-formed.
    fn heard(&self, state: &Positions<'n>) -> Vec<Name> {
        let events: Vec<&Event> = state.iter().flat_map(|p| &p.point.run().trace.events).collect();
        let is_heard = |name: &Name| {
            let own: Vec<&Event> = events.iter().filter(|e| e.call.library == *name).copied().collect();
            let library = self.problem.libraries.get(*name).expect("a name of the set");
            !own.is_empty() && library.is_well_formed(self.problem.world, &own)
        };
        self.problem.libraries.names().filter(is_heard).collect()
    }

    /// Looks at a new state: what can be written in it if something can come after it.
    fn arrive(&mut self, names: &[Name], now: u32, state: &Positions<'n>) -> Result<Option<Available>, Flow> {
        let mut prefixes = self.prefixes.borrow_mut();
        let (libraries, world) = (self.problem.libraries, self.problem.world);
        let new = || Prefix::new(libraries, world, names.to_vec());
        let prefix = prefixes.entry(names.to_vec()).or_insert_with(new);
        match prefix.go_to(&self.path) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(TooMany::Values) => {
                self.stop.get_or_insert(Stop::Values);
                return Ok(None);
            }
            Err(TooMany::Subevents) => {
                self.is_too_large = true;
                return Err(Flow::Stop);
            }
        }
        if !self.reads_rounds {
            let mut rounds =
                state.iter().enumerate().flat_map(|(t, p)| p.point.run().trace.rounds.iter().map(move |&r| (t, r)));
            self.reads_rounds = rounds.any(|(t, round)| prefix.is_read(t, round));
        }
        if state.iter().all(|p| p.point.stand == Frontier::Ended) {
            let may_end = prefix.may_end(now);
            drop(prefixes);
            if may_end {
                self.end(state);
            }
            return Ok(None);
        }
        let is_cut_off = |p: &&Position<'n>| matches!(p.point.stand, Frontier::Bound { .. } | Frontier::IllDefined(_));
        if let Some(place) = state.iter().find(is_cut_off) {
            drop(prefixes);
            self.cut_off(&place.point.stand);
            return Ok(None);
        }
        Ok(Some(prefix.available(None)))
    }

    /// The thread that goes on in a state, and in which ways: one with the fewest.
    fn next(&mut self, state: &mut Positions<'n>, names: &[Name], available: &Available, now: u32) -> Successors<'n> {
        let mut prefixes = self.prefixes.take();
        let prefix = prefixes.get_mut(names).expect("it was looked at");
        // It has been where the threads went on from here.
        prefix.go_to(&self.path).expect("it has been here");
        let next = self.next_in(state, prefix, available, now);
        self.prefixes.replace(prefixes);
        next
    }

    fn next_in(
        &mut self,
        state: &mut Positions<'n>,
        prefix: &Prefix<'_, 'n>,
        available: &Available,
        now: u32,
    ) -> Successors<'n> {
        let mut best: Option<(usize, usize, Vec<Successor<'n>>)> = None;
        let mut waits: SmallVec<[bool; 8]> = SmallVec::from_elem(false, state.len());
        for (t, place) in state.iter_mut().enumerate() {
            if place.rests() {
                waits[t] = place.point.stand != Frontier::Ended;
                continue;
            }
            let ways = self.ways(Tid::from_index(t), *place, prefix, available, now);
            if ways.is_empty() {
                match place.point.stand {
                    Frontier::Free(..) => return Successors::Nothing,
                    Frontier::Looks(_) => {
                        waits[t] = true;
                        place.postponed.get_or_insert(now);
                    }
                    _ => {}
                }
                continue;
            }
            let count = ways.len() + usize::from(place.looks());
            if best.as_ref().is_none_or(|(least, ..)| count < *least) {
                best = Some((count, t, ways));
            }
        }
        if self.is_in_vain(state, &waits, prefix, available, now) {
            return Successors::Nothing;
        }
        best.map_or(Successors::Waits, |(_, t, ways)| Successors::Goes(t, ways))
    }

    /// Whether nothing that is wanted begins with a state in which these threads wait.
    fn is_in_vain(
        &mut self,
        state: &Positions<'n>,
        waits: &[bool],
        prefix: &Prefix<'_, 'n>,
        any: &Available,
        now: u32,
    ) -> bool {
        let is_first = now == 0 && !waits.contains(&true);
        // If no thread waits, a state is in vain only because some thread cannot end.
        let asks_ends = is_first && matches!(self.wanted, Wanted::Ended | Wanted::Both);
        if !(asks_ends || waits.contains(&true)) {
            return false;
        }
        // Where no thread goes on is asked next whether they go round for ever.
        if state.iter().zip(waits).all(|(place, waits)| *waits || place.point.stand == Frontier::Ended) {
            return false;
        }
        let Some(reached) = self.ahead(state, waits, is_first, prefix, any) else { return false };
        // Only the first state speaks of all executions. In a later one other branches may end, and a thread that waits may
        // still repeat its loop for ever.
        if reached.ends.contains(&false) && (self.wanted == Wanted::Ended || is_first && self.wanted == Wanted::Both) {
            self.cannot_end |= is_first;
            return true;
        }
        // Those that wait do not end, but may go round for ever.
        let (waits, is_open) = (|t: usize| !reached.goes_on[t], |cell: Cell| reached.writes(cell));
        let is_in_vain = |(t, rounds): &OfThread<'n>| rounds.is_empty() && self.waits_in(&state[*t]).is_none();
        self.going(state, &waits, &is_open, prefix, any).iter().any(is_in_vain)
    }

    /// Whether an execution that is wanted may have a thread that comes here.
    fn may_come_to(&self, point: &ThreadState<'n>) -> bool {
        match point.stand {
            Frontier::Nowhere | Frontier::Discarded => false,
            Frontier::Never(_) | Frontier::Spins(_) => self.wanted == Wanted::Stuck,
            _ => true,
        }
    }

    /// Returns the call, or the loop that reads nothing, in which a thread may wait for ever at its place.
    fn waits_in(&self, place: &Position<'n>) -> Option<EndlessWait> {
        let at = match &place.point.stand {
            _ if self.wanted != Wanted::Stuck => return None,
            Frontier::Spins(start) => WaitsAt::Loop(*start),
            Frontier::Never(call) => WaitsAt::Call((**call).clone()),
            Frontier::Free(call, _) | Frontier::Looks(call) if self.may_wait(call) => WaitsAt::Call((**call).clone()),
            _ => return None,
        };
        Some(EndlessWait { at, within: place.point.within(), depth: place.point.depth() })
    }

    fn may_wait(&self, call: &Call) -> bool {
        self.wanted == Wanted::Stuck && self.problem.libraries.of(call).may_wait(call)
    }

    /// What a cell can hold with what is there.
    fn values(&self, prefix: &Prefix<'_, 'n>, any: &Available, cell: Cell) -> Vec<Val> {
        let initial = self.problem.initial(cell);
        let values: BTreeSet<Val> = prefix.values_of(any, cell).into_iter().chain([initial]).collect();
        values.into_iter().collect()
    }

    fn end(&mut self, state: &Positions<'n>) {
        let ends: Final<'n> = state.iter().map(|p| p.point).collect();
        let events: Vec<&Event> = ends.iter().flat_map(|p| &p.run().trace.events).collect();
        if self.problem.admits(&events) {
            self.found.insert(ends.iter().map(|p| p.id).collect(), ends);
        }
    }

    fn cut_off(&mut self, stand: &Frontier) {
        match stand {
            Frontier::Bound { place, remembered: true, .. } => _ = self.stop.get_or_insert(Stop::Rounds(place.clone())),
            Frontier::Bound { place, .. } => _ = self.bound.get_or_insert(place.clone()),
            Frontier::IllDefined(why) => self.stop = Some(Stop::IllDefined(why.clone())),
            _ => {}
        }
    }

    /// The ways in which a thread can go on with what is there.
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
            self.may_come_to(point).then(|| Successor { to: Position::at(point), window })
        };
        match &place.point.stand {
            Frontier::Free(call, results) => {
                let stays = Successor { to: Position { stays: true, ..place }, window: None };
                let ways = results.iter().filter_map(|&(ret, shape)| after(ret, shape, None));
                ways.chain(Some(stays).filter(|_| self.may_wait(call))).collect()
            }
            Frontier::Looks(call) => {
                let (results, cells) = self.results(t, place, prefix, any);
                let mut ways = Vec::new();
                for ret in results {
                    for (number, shape) in self.threads.shapes(t, call, ret).iter().enumerate() {
                        let reads = reads_of(shape, &cells);
                        // What reads nothing of it was tried before.
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

    /// What a call can return with what is there, if it is not too old, and the cells that it looks at.
    fn results(
        &self,
        t: Tid,
        place: Position<'n>,
        prefix: &Prefix<'_, 'n>,
        any: &Available,
    ) -> (Vec<Val>, SmallVec<[Cell; 1]>) {
        let all = |cell: Cell| self.values(prefix, any, cell);
        let (results, cells) = self.ask(t, place, &all);
        let Some(since) = place.postponed else { return (results, cells) };
        let fresh = prefix.available(Some(since));
        let of =
            |cell: Cell| prefix.values_of(&fresh, cell).into_iter().collect::<BTreeSet<Val>>().into_iter().collect();
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
