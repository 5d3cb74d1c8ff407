//! One thread of a program, run as far as its results are known.
//!
//! A [`ThreadState`] has the events of a thread so far and the program that remains. The states of a thread form a tree,
//! its *unfolding*: an edge is a result of the call at the frontier. Each state is made once, however often a search
//! reaches it, so states can be compared by their numbers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use itertools::Itertools;
use rustc_hash::FxHashSet;
use typed_arena::Arena;

use crate::event::{self, Call, Cell, Event, Reads, Shape, Sub, Writes};
use crate::ids::{Name, Tid};
use crate::library::Libraries;
use crate::search::denote::{ReplacedCall, Trace, after_last, unrolled};
use crate::search::fault::{CallFault, breaks_out, does_nothing, makes, not_below};
use crate::search::runs::{Run, Skeleton, with_room};
use crate::search::thin_air::SeenStamps;
use crate::term::code::{CodeIteration, CodePlace, CodePoint, CodeState};
use crate::term::implementation::Implementations;
use crate::term::script::Script;
use crate::value::Val;
use crate::world::World;

/// The frontier of a thread: the reason why it cannot run on without a choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frontier {
    /// At a call whose result does not depend on memory: the results, each with the number of its shape.
    Free(Box<Call>, Vec<(Val, usize)>),
    /// At a call whose result depends on memory.
    Reads(Box<Call>),
    /// At its end.
    Ended,
    /// In an iteration of a loop that has only read and does not break. Such an iteration is left out, so no execution has
    /// the values that it has read.
    Nowhere,
    /// At a break out of the whole program. Executions with such a thread do not count.
    Discarded,
    /// At a call that never returns, whatever others do.
    Never(Box<Call>),
    /// At the end of an iteration whose results do not depend on memory, that does nothing and does not break. It began at this
    /// event.
    Spins(usize),
    /// At the end of an iteration that has effects, and whose results do not depend on memory. The thread may repeat it for ever.
    Repeats {
        /// The first event of the iteration.
        start: usize,
        /// True if later results depend on the iteration.
        remembered: bool,
    },
    /// At the end of an iteration that does not break and began at this event; see [`Threads::rounds`].
    Round(usize),
    /// At the bound on iterations.
    Bound {
        /// The thread, the loop and its last event, in words.
        place: String,
        /// The first event of the last iteration.
        start: usize,
        /// True if later results depend on the iterations.
        remembered: bool,
    },
    /// The thread comes to a call that nobody may make, or its body is not well defined (LOCO Def. 3.9).
    IllDefined(Box<CallFault>),
}

/// A node of a thread's unfolding: its events so far, its frontier, and the program that remains.
pub struct ThreadState<'n> {
    /// The number, which no other state of any thread has.
    pub id: usize,
    /// The events so far, with their shapes, as a skeleton of one run.
    pub skeleton: Skeleton,
    /// For each event the number of earlier events of the thread that are alike.
    pub alike: Vec<usize>,
    /// The reason why the thread needs a choice here.
    pub frontier: Frontier,
    code: CodeState,
    next: RefCell<BTreeMap<(Val, usize), &'n ThreadState<'n>>>,
    rounds: RefCell<BTreeMap<Val, Iterations<'n>>>,
}

/// A number that no shape has. It marks the step of a thread beyond the bound on iterations.
const BEYOND: usize = usize::MAX;

impl<'n> ThreadState<'n> {
    /// The events so far.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.skeleton.runs[0]
    }

    /// The innermost replaced call that the thread is in.
    #[must_use]
    pub fn within(&self) -> Option<usize> {
        self.code.within()
    }

    /// The number of loops and replaced calls around the thread; at the end of an iteration, around its loop.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.code.depth()
    }

    /// Compares this state with another one of the thread. If a subevent has read another value, and nothing else is different, it
    /// returns the event and the subevent. The thread then goes on in one way.
    #[must_use]
    pub fn differs_only_in_read(&self, other: &Self) -> Option<(usize, usize)> {
        let (a, b) = (self.run(), other.run());
        let is_same = self.frontier == other.frontier
            && self.code == other.code
            && a.shapes.len() == b.shapes.len()
            && a.trace.groups == b.trace.groups
            && a.trace.calls == b.trace.calls
            && a.trace.rounds == b.trace.rounds
            && a.trace.output == b.trace.output;
        if !is_same {
            return None;
        }
        let event = (0..a.shapes.len()).filter(|&i| a.shapes[i] != b.shapes[i]).exactly_one().ok()?;
        let (one, two) = (&a.shapes[event], &b.shapes[event]);
        let differing = one.iter().zip(two.iter()).positions(|(a, b)| a != b);
        let sub = differing.exactly_one().ok().filter(|_| one.len() == two.len())?;
        let is_read = Sub { reads: two[sub].reads, ..one[sub] } == two[sub]
            && matches!((one[sub].reads, two[sub].reads), (Some(Reads::Is(_)), Some(Reads::Is(_))));
        let mut events = a.trace.events.iter().zip(&b.trace.events).enumerate();
        let are_alike = events.all(|(i, (a, b))| a.call == b.call && (i == event || a.ret == b.ret));
        (is_read && are_alike).then_some((event, sub))
    }
}

/// The state of a thread at the end of an iteration, and the first event of that iteration.
pub type LastIteration<'n> = (&'n ThreadState<'n>, usize);

/// The next events of a thread in its loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextEvents {
    /// The events with their shapes, up to the last one that is chosen.
    pub events: Vec<(Event, Shape)>,
    /// True if they lead out of the loop, or to an iteration that begins with other values.
    pub leave: bool,
    /// True if they lead out of all loops.
    pub leave_all: bool,
}

/// The ways in which a thread can end an iteration.
pub type Iterations<'n> = Rc<[LastIteration<'n>]>;

/// The reason why a thread stops before it needs a choice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopsAt {
    /// It does not.
    Choices,
    /// It stops at the end of each iteration.
    Iterations,
    /// It stops before the next call, in place of making it.
    Calls,
}

/// The states of all threads.
pub struct Threads<'a, 'n> {
    /// The libraries of the calls that are not replaced.
    pub libraries: &'a Libraries,
    /// The implementations that replace the other calls.
    pub implementations: &'a Implementations,
    /// The surroundings.
    pub world: &'a World,
    /// The number of iterations of a loop with effects that may end without a break.
    pub rounds: usize,
    /// The storage of the states.
    pub points: &'n Arena<ThreadState<'n>>,
    /// The stamps of the calls that threads have made, for the check for thin air.
    pub seen: RefCell<BTreeMap<Name, SeenStamps>>,
    /// True if a thread stops at each call that may wait for others, even if the call has one result only.
    pub waits: bool,
}

impl<'n> Threads<'_, 'n> {
    /// Returns the state of a thread before the first result that has to be chosen.
    #[must_use]
    pub fn start(&self, thread: Tid, script: &Script) -> &'n ThreadState<'n> {
        let nothing =
            Trace { events: Vec::new(), groups: Vec::new(), calls: Vec::new(), rounds: Vec::new(), output: Val::Unit };
        self.go_on(thread, Run { trace: nothing, shapes: Vec::new() }, CodeState::start(script), None)
    }

    /// Returns the state of a thread after its call has returned `ret` in the shape of this number.
    #[must_use]
    pub fn after(&self, point: &'n ThreadState<'n>, thread: Tid, ret: Val, shape: usize) -> &'n ThreadState<'n> {
        if let Some(next) = point.next.borrow().get(&(ret, shape)) {
            return next;
        }
        let (Frontier::Free(call, _) | Frontier::Reads(call)) = &point.frontier else {
            unreachable!("it stands at a call")
        };
        let event = Event { thread, call: (**call).clone(), ret };
        let shapes = self.libraries.of(call).shapes(self.world, &event);
        let (mut run, mut code) = (point.run().with_room(), point.code.clone());
        returned(&mut run, &mut code, event, shapes[shape].clone());
        let next = self.go_on(thread, run, code, Some(point));
        point.next.borrow_mut().insert((ret, shape), next);
        next
    }

    /// Returns the state of a thread that repeats an iteration, or is at the bound on iterations, after one more iteration.
    #[must_use]
    pub fn beyond(&self, point: &'n ThreadState<'n>, thread: Tid) -> &'n ThreadState<'n> {
        let key = (Val::Unit, BEYOND);
        if let Some(next) = point.next.borrow().get(&key) {
            return next;
        }
        let (mut run, mut code) = (point.run().with_room(), point.code.clone());
        let counts = matches!(point.frontier, Frontier::Repeats { .. });
        if let Frontier::Repeats { start, remembered: false } = point.frontier {
            run.trace.rounds.push((start, run.trace.events.len()));
        }
        code.go_on(counts);
        let next = self.go_on(thread, run, code, Some(point));
        point.next.borrow_mut().insert(key, next);
        next
    }

    /// Returns the iterations that a thread can end after the call at its frontier has returned `ret`, without a break and
    /// without a further read of memory.
    #[must_use]
    pub fn rounds(&self, point: &'n ThreadState<'n>, thread: Tid, ret: Val) -> Iterations<'n> {
        if let Some(rounds) = point.rounds.borrow().get(&ret) {
            return Rc::clone(rounds);
        }
        let Frontier::Reads(call) = &point.frontier else { unreachable!("it stands at a call") };
        let mut found = Vec::new();
        self.add_rounds(thread, (point.run(), &point.code), (call, ret), &mut found);
        let rounds: Iterations<'n> = found.into();
        point.rounds.borrow_mut().insert(ret, Rc::clone(&rounds));
        rounds
    }

    fn add_rounds(
        &self,
        thread: Tid,
        (run, code): (&Run, &CodeState),
        (call, ret): (&Call, Val),
        found: &mut Vec<LastIteration<'n>>,
    ) {
        for shape in self.shapes(thread, call, ret) {
            let (mut run, mut code) = (run.with_room(), code.clone());
            returned(&mut run, &mut code, Event { thread, call: call.clone(), ret }, shape);
            match self.advance(thread, &mut run, &mut code, StopsAt::Iterations) {
                frontier @ Frontier::Round(start) => found.push((self.point(run, frontier, code, None), start)),
                Frontier::Free(call, ways) => {
                    let results = ways.iter().map(|(ret, _)| *ret).dedup();
                    results.for_each(|ret| self.add_rounds(thread, (&run, &code), (&call, ret), found));
                }
                _ => {}
            }
        }
    }

    /// Returns the ways in which a thread can go on with a loop, at this depth, while cells hold these values. `start` is the first
    /// event of its last iteration.
    #[must_use]
    pub fn ways_on(
        &self,
        thread: Tid,
        script: &Script,
        (run, start, depth): (&Run, usize, usize),
        cells: &dyn Fn(Cell) -> Vec<Val>,
    ) -> Vec<NextEvents> {
        let mut found = Vec::new();
        let point = self.replayed(thread, script, run, start);
        if matches!(point.frontier, Frontier::Reads(_) | Frontier::Free(..)) && point.code.is_iteration(depth, start) {
            self.add_ways_on(
                thread,
                (point.run(), &point.code),
                &point.frontier,
                (depth, start, start),
                cells,
                &mut found,
            );
        }
        found
    }

    /// Returns the state in which a thread has made at least so many events of a run, or needs no choice.
    fn replayed(&self, thread: Tid, script: &Script, run: &Run, events: usize) -> &'n ThreadState<'n> {
        let mut point = self.start(thread, script);
        loop {
            let position = point.run().trace.events.len();
            let (Frontier::Reads(call) | Frontier::Free(call, _)) = &point.frontier else { return point };
            if position >= events {
                return point;
            }
            let ret = run.trace.events[position].ret;
            let shape = self.shapes(thread, call, ret).iter().position(|shape| *shape == run.shapes[position]);
            point = self.after(point, thread, ret, shape.expect("one of the call's"));
        }
    }

    /// True if a thread may leave a loop, at this depth, or do more than look, while cells hold these values. It may make any number
    /// of iterations. `start` is the first event of its last one.
    #[must_use]
    pub fn may_leave(
        &self,
        thread: Tid,
        script: &Script,
        (run, start, depth): (&Run, usize, usize),
        cells: &dyn Fn(Cell) -> Vec<Val>,
    ) -> bool {
        let (mut todo, mut seen) = (vec![self.replayed(thread, script, run, start)], FxHashSet::default());
        while let Some(point) = todo.pop() {
            let events = &point.run().trace.events;
            let looks = events.iter().skip(start).all(|e| self.libraries.of(&e.call).only_looks(e));
            let results = match &point.frontier {
                // It begins the next iteration as it began this one.
                Frontier::Nowhere | Frontier::Spins(_) if looks => continue,
                Frontier::Discarded => continue,
                Frontier::Free(_, ways) if looks => ways.iter().map(|(ret, _)| *ret).dedup().collect(),
                Frontier::Reads(_) if looks => self.returns(thread, point, cells),
                _ => return true,
            };
            if !point.code.stays_in(depth, start) {
                return true;
            }
            if !seen.insert(point.code.uncounted()) {
                continue;
            }
            let (Frontier::Free(call, _) | Frontier::Reads(call)) = &point.frontier else {
                unreachable!("it has results")
            };
            for ret in results {
                let shapes = 0..self.shapes(thread, call, ret).len();
                todo.extend(shapes.map(|shape| self.after(point, thread, ret, shape)));
            }
        }
        false
    }

    /// Adds the ways to go on in the iteration that begins with event `start`, of the loop at this depth of the stack. The last
    /// call with a choice was the one before event `chosen`.
    fn add_ways_on(
        &self,
        thread: Tid,
        (run, code): (&Run, &CodeState),
        frontier: &Frontier,
        (depth, start, chosen): (usize, usize, usize),
        cells: &dyn Fn(Cell) -> Vec<Val>,
        found: &mut Vec<NextEvents>,
    ) {
        let next = |to: usize, leave: bool| {
            let all = run.trace.events[start..to].iter().cloned().zip(run.shapes[start..to].iter().cloned());
            NextEvents { events: all.collect(), leave, leave_all: leave && code.loops() == 0 }
        };
        // The loop whose iteration has ended may be around the one that is left.
        let stays = match frontier {
            Frontier::Round(_) => code.depth() >= depth,
            _ => code.is_iteration(depth, start),
        };
        if !stays {
            return found.push(next(chosen, true));
        }
        let (call, results): (&Call, Vec<Val>) = match frontier {
            Frontier::Round(_) if code.depth() == depth => {
                return found.push(next(run.trace.events.len(), false));
            }
            Frontier::Round(_) | Frontier::Nowhere | Frontier::Discarded | Frontier::Never(_) | Frontier::Spins(_) => {
                return;
            }
            Frontier::Free(call, ways) => (call, ways.iter().map(|(ret, _)| *ret).dedup().collect()),
            Frontier::Reads(call) => {
                let own = |cell: Cell| {
                    let written = run.shapes[start..].iter().flatten().filter(move |sub| sub.cell == Some(cell));
                    written.filter_map(|sub| if let Some(Writes::Is(v)) = sub.writes { Some(v) } else { None })
                };
                let cells = |cell: Cell| cells(cell).into_iter().chain(own(cell)).unique().collect();
                (call, self.libraries.of(call).returns(self.world, &run.trace.events, thread, call, &cells))
            }
            _ => return found.push(next(chosen, true)),
        };
        for ret in results {
            let event = Event { thread, call: call.clone(), ret };
            if self.libraries.of(call).is_optional(&event) {
                continue;
            }
            for shape in self.shapes(thread, call, ret) {
                let (mut run, mut code) = (run.with_room(), code.clone());
                returned(&mut run, &mut code, event.clone(), shape);
                let chosen = run.trace.events.len();
                let frontier = self.advance(thread, &mut run, &mut code, StopsAt::Iterations);
                self.add_ways_on(thread, (&run, &code), &frontier, (depth, start, chosen), cells, found);
            }
        }
    }

    /// Returns the results of the call at the frontier, while cells can hold these values.
    #[must_use]
    pub fn returns(&self, thread: Tid, point: &ThreadState<'n>, cells: &dyn Fn(Cell) -> Vec<Val>) -> Vec<Val> {
        let Frontier::Reads(call) = &point.frontier else { return Vec::new() };
        self.libraries.of(call).returns(self.world, &point.run().trace.events, thread, call, cells)
    }

    /// True if the call at the frontier can return `ret` in a shape of this number.
    #[must_use]
    pub fn is_way(&self, thread: Tid, point: &ThreadState<'n>, ret: Val, shape: usize) -> bool {
        match &point.frontier {
            Frontier::Free(call, _) | Frontier::Reads(call) => shape < self.shapes(thread, call, ret).len(),
            _ => false,
        }
    }

    /// Returns the ways in which a call can return `ret`.
    #[must_use]
    pub fn shapes(&self, thread: Tid, call: &Call, ret: Val) -> Vec<Shape> {
        self.libraries.of(call).shapes(self.world, &Event { thread, call: call.clone(), ret })
    }

    fn go_on(
        &self,
        thread: Tid,
        mut run: Run,
        mut code: CodeState,
        before: Option<&'n ThreadState<'n>>,
    ) -> &'n ThreadState<'n> {
        let frontier = self.advance(thread, &mut run, &mut code, StopsAt::Choices);
        self.note(&run, before);
        self.point(run, frontier, code, before)
    }

    fn point(
        &self,
        run: Run,
        frontier: Frontier,
        code: CodeState,
        before: Option<&ThreadState<'n>>,
    ) -> &'n ThreadState<'n> {
        let events = &run.trace.events;
        let mut alike = before.map_or_else(Vec::new, |p| with_room(&p.alike));
        alike
            .extend((alike.len()..events.len()).map(|i| event::alike(&events[..i], events[i].thread, &events[i].call)));
        let skeleton = Skeleton { runs: vec![run] };
        let (next, rounds) = Default::default();
        self.points.alloc(ThreadState { id: self.points.len(), skeleton, alike, frontier, code, next, rounds })
    }

    /// Records the stamps of the calls that a thread has made since the state `before`.
    fn note(&self, run: &Run, before: Option<&'n ThreadState<'n>>) {
        let known = before.map_or(0, |p| p.run().shapes.len());
        let looks = before.is_some_and(|p| matches!(p.frontier, Frontier::Reads(_)));
        let calls = run.trace.events.iter().zip(&run.shapes).enumerate().skip(known);
        for (position, (event, shape)) in calls.filter(|(_, (_, shape))| shape.iter().any(|s| s.reads.is_some())) {
            let mut seen = self.seen.borrow_mut();
            seen.entry(event.call.library).or_default().add(event, shape, looks && position == known);
        }
    }

    /// Runs the thread until a result has to be chosen, or the program ends.
    fn advance(&self, thread: Tid, run: &mut Run, code: &mut CodeState, stops: StopsAt) -> Frontier {
        let place = CodePlace { world: self.world, thread };
        loop {
            let next = match code.next(place) {
                CodePoint::Call(call) if stops == StopsAt::Calls => Err(Frontier::Never(Box::new(call))),
                CodePoint::Call(call) => self.call(thread, call, run, code),
                CodePoint::Loop => {
                    code.begin();
                    Ok(())
                }
                CodePoint::Iteration(iteration) => {
                    self.iteration(thread, iteration, run, stops).map(|()| code.go_on(true))
                }
                CodePoint::Returned(v, start) => left(v, start, run, code),
                CodePoint::Ended(v) => {
                    run.trace.output = v;
                    Err(Frontier::Ended)
                }
                CodePoint::Escaped => Err(match code.within() {
                    None => Frontier::Discarded,
                    Some(call) => Frontier::IllDefined(Box::new(breaks_out(thread, &run.trace.calls[call].event.call))),
                }),
                CodePoint::Late(place) => {
                    Err(Frontier::Bound { place, start: run.trace.events.len(), remembered: true })
                }
            };
            if let Err(frontier) = next {
                return frontier;
            }
        }
    }

    /// Returns the results of a call after these events of its thread, while cells hold their initial values. Also returns whether
    /// they depend on memory.
    fn first_results(&self, thread: Tid, earlier: &[Event], call: &Call) -> (Vec<Val>, bool) {
        let library = self.libraries.of(call);
        let looked = RefCell::new(false);
        let cells = |cell: Cell| {
            *looked.borrow_mut() = true;
            vec![library.init(self.world, cell)]
        };
        let results = library.returns(self.world, earlier, thread, call, &cells);
        (results, looked.into_inner())
    }

    /// True if a result of the iteration that begins with event `start` depends on memory. So the thread has been at
    /// [`Frontier::Reads`] in it, where the search asks whether it repeats the iteration for ever.
    fn depends_on_memory(&self, thread: Tid, events: &[Event], start: usize) -> bool {
        (start..events.len()).any(|at| self.first_results(thread, &events[..at], &events[at].call).1)
    }

    fn call(&self, thread: Tid, call: Call, run: &mut Run, code: &mut CodeState) -> Result<(), Frontier> {
        if let Some(implementation) = self.implementations.get(&call.library) {
            let body = implementation.script(self.world, thread, &call);
            let parent = code.within();
            code.enter(&body, &call.args);
            let event = Event { thread, call, ret: Val::Unit };
            run.trace.calls.push(ReplacedCall { event, parent });
            return Ok(());
        }
        let within = code.within();
        let within_call = within.map(|g| &run.trace.calls[g].event.call);
        let Some(library) = self.libraries.get(call.library) else {
            return Err(Frontier::IllDefined(Box::new(not_below(thread, within_call, &call))));
        };
        if let Some(what) = library.fault(self.world, thread, &call) {
            let makes = makes(thread, within_call, &call);
            return Err(Frontier::IllDefined(Box::new(CallFault { thread, call: Some(call), makes, what })));
        }
        let (results, is_read) = self.first_results(thread, &run.trace.events, &call);
        if is_read {
            return Err(Frontier::Reads(Box::new(call)));
        }
        let shapes = |ret: Val| self.shapes(thread, &call, ret).into_iter().enumerate().map(move |of| (ret, of));
        let mut ways: Vec<(Val, (usize, Shape))> = results.into_iter().flat_map(shapes).collect();
        if ways.len() == 1 && !(self.waits && self.libraries.may_wait(self.world, &call)) {
            let (ret, (_, shape)) = ways.remove(0);
            returned(run, code, Event { thread, call, ret }, shape);
            return Ok(());
        }
        if library.is_interchangeable(&call) {
            self.keep_one_order(thread, &call, (run, code), &mut ways);
        }
        let ways: Vec<(Val, usize)> = ways.into_iter().map(|(ret, (number, _))| (ret, number)).collect();
        Err(if ways.is_empty() { Frontier::Never(Box::new(call)) } else { Frontier::Free(Box::new(call), ways) })
    }

    /// Keeps the results of an interchangeable call with which it and the equal calls around it return in ascending order. Only
    /// interchangeable calls are between these. Enough larger results must be left for the calls that follow.
    fn keep_one_order(
        &self,
        thread: Tid,
        call: &Call,
        (run, code): (&Run, &CodeState),
        ways: &mut Vec<(Val, (usize, Shape))>,
    ) {
        let before = run.trace.events.iter().rev().take_while(|e| self.is_interchangeable(&e.call));
        let last = before.into_iter().find(|e| e.call == *call).map(|e| e.ret);
        let mut open: Vec<Val> =
            ways.iter().map(|(ret, _)| *ret).filter(|ret| last.is_none_or(|last| last < *ret)).collect();
        open.sort();
        open.dedup();
        let Some(most) = open.len().checked_sub(1) else { return };
        let more = self.equal_calls_behind(thread, call, (run, code), &ways[0]).min(most);
        open.truncate(open.len() - more);
        ways.retain(|(ret, _)| open.contains(ret));
    }

    fn is_interchangeable(&self, call: &Call) -> bool {
        self.libraries.of(call).is_interchangeable(call)
    }

    /// Counts the calls equal to this one among the interchangeable ones that follow in its thread. The results do not matter.
    fn equal_calls_behind(
        &self,
        thread: Tid,
        call: &Call,
        (run, code): (&Run, &CodeState),
        (ret, (_, shape)): &(Val, (usize, Shape)),
    ) -> usize {
        let (mut run, mut code) = (run.with_room(), code.clone());
        let (mut last, mut count) = (call.clone(), 0);
        loop {
            returned(&mut run, &mut code, Event { thread, call: last, ret: *ret }, shape.clone());
            match self.advance(thread, &mut run, &mut code, StopsAt::Calls) {
                Frontier::Never(next) if self.is_interchangeable(&next) => {
                    count += usize::from(*next == *call);
                    last = *next;
                }
                _ => return count,
            }
        }
    }

    /// True if the thread goes on behind an iteration without a break.
    fn iteration(
        &self,
        thread: Tid,
        CodeIteration { start, done, others, is_other }: CodeIteration,
        run: &mut Run,
        stops: StopsAt,
    ) -> Result<(), Frontier> {
        let (events, end) = (&run.trace.events, run.trace.events.len());
        if is_other {
            let place = || unrolled(thread, events);
            let is_over = others >= self.rounds;
            return if is_over {
                Err(Frontier::Bound { place: place(), start: end, remembered: true })
            } else {
                Ok(())
            };
        }
        if stops == StopsAt::Iterations {
            return Err(Frontier::Round(start));
        }
        let own = &events[start..];
        if own.iter().all(|e| self.libraries.of(&e.call).only_looks(e)) {
            let depends = self.depends_on_memory(thread, events, start);
            return Err(if depends { Frontier::Nowhere } else { Frontier::Spins(start) });
        }
        let remembered = self.libraries.remember(self.world, &events[..start], own);
        if done >= self.rounds {
            let place = format!("{thread}: a loop of {}{}", done + 1, after_last(events));
            return Err(Frontier::Bound { place, start, remembered });
        }
        // Else the search asks where the thread reads memory whether it repeats the iteration for ever.
        if self.waits && !self.depends_on_memory(thread, events, start) {
            return Err(Frontier::Repeats { start, remembered });
        }
        if !remembered {
            run.trace.rounds.push((start, end));
        }
        Ok(())
    }
}

/// Notes that the call at which a thread is has returned.
fn returned(run: &mut Run, code: &mut CodeState, event: Event, shape: Shape) {
    run.trace.groups.push(code.within());
    code.returned(event.ret);
    run.trace.events.push(event);
    run.shapes.push(shape);
}

/// Ends the body of a replaced call.
fn left(v: Val, start: usize, run: &mut Run, code: &mut CodeState) -> Result<(), Frontier> {
    let call = code.within().expect("it is in a body");
    let replaced = &mut run.trace.calls[call].event;
    if run.trace.events.len() == start {
        return Err(Frontier::IllDefined(Box::new(does_nothing(replaced.thread, &replaced.call))));
    }
    replaced.ret = v;
    code.leave(v);
    Ok(())
}
