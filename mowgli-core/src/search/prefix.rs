//! The common beginning of many executions, and the facts that hold in all of them. It grows when a thread continues, and
//! shrinks when the search returns to an earlier state.
//!
//! **Computes** facts about the events on a path, which is a list of [`Advance`]s. It may rule out that an execution
//! begins with them, or that one ends with them. It has the values of each write. Nothing proves that an execution exists.
//!
//! **Time.** `now` numbers the steps of the search, and never falls along a path. A subevent is born at the time of the
//! step that added it.
//!
//! **Invariant.** Call an execution *an extension* if it begins with these events and agrees with their windows. After
//! [`Prefix::go_to`] has returned true, each extension satisfies the facts in `store`: see [`super::store`]. After `false` no
//! extension exists, and after an error nothing is known.
//!
//! `push` adds events and their values, and propagates. `restore` goes back. The common beginning of two paths stays. `may_end` and
//! `is_read` add facts, propagate and restore.
//!
//! **Example.** Store buffering: events `W(x, 1); R(y) = 0` of P1 and `W(y, 1); R(x) = 0` of P2. Both reads may still read
//! from a write of 0 that does not exist yet, so `until = MAX` and the prefix is possible. [`Prefix::may_end`] lowers `until`
//! to the present time. One source is left for each read, the initial write. So `R(y)` is before `W(y)`, and `R(x)` before
//! `W(x)`. If ppo has each write before the read of its thread, this is a cycle, and no execution ends here.
//!
//! **Correct because** an event adds only pairs that it and the events of the path determine, and the store derives what follows.
//! So a derived pair is in every extension, and a broken demand is broken in each (docs/search.md, "Letting values flow"). If a
//! value or a source is excluded wrongly, the tests in `tests/tests/flow.rs` miss a run and fail.
//!
//! **Cost.** An event costs its new pairs and what propagation derives from them. A path with more subevents than the store has
//! room for is made again with twice as much room.

use std::ops::Range;
use std::rc::Rc;

use smallvec::SmallVec;

use super::numbers::{NumberSet, Numbering};
use super::schema::SchemaChoice;
use super::store::{ConstraintStore, NewSub, PossibleSources, Snapshot};
use super::values::{Domains, Source, ValueStep, intersect, narrow_copies, values_of_sub};
use crate::algebra::SubView;
use crate::event::{Cell, Event, Shape, Sub, Writes};
use crate::ids::Name;
use crate::library::Libraries;
use crate::search::graph::GraphSub;
use crate::search::reachability::Copied;
use crate::search::thread::ThreadState;
use crate::value::Val;
use crate::world::World;

/// The number of subevents for which a prefix has room at first: one word of a row.
const ROOM: usize = 64;

/// The number of values of one state, beyond which updates make no further ones, because few updates can make very many values.
const MOST: usize = 4096;

/// The times at which the sources of a call's reads came to exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    /// The cells that the call read.
    pub cells: SmallVec<[Cell; 1]>,
    /// The latest time of a source, and of the sources of copies that lead to it.
    pub until: u32,
    /// The source is newer than this time, if the thread was suspended. Such a call has one read of these cells.
    pub after: Option<u32>,
}

/// The results with which a thread goes on in one way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ways {
    /// The results of its call, each with the number of its shape; none for the step to the first state.
    pub all: SmallVec<[(Val, usize); 1]>,
    /// The values that they read, if they differ in what one subevent of the call reads: its position, and the values.
    pub read: Option<(usize, SmallVec<[Val; 4]>)>,
    /// The results of a class by their numbers; nothing if there is one result.
    pub class: NumberSet,
}

impl Ways {
    /// One result.
    #[must_use]
    pub fn one(way: (Val, usize)) -> Self {
        Self { all: SmallVec::from_buf([way]), ..Self::default() }
    }
}

/// A step of a thread.
pub struct Advance<'n> {
    /// The number of the thread.
    pub thread: usize,
    /// The state that it reaches, with one of the results.
    pub point: &'n ThreadState<'n>,
    /// The results.
    pub ways: Ways,
    /// The time of its new events.
    pub now: u32,
    /// The window of the first of these events.
    pub window: Option<Window>,
}

impl<'n> Advance<'n> {
    /// The step to the first state of a thread.
    #[must_use]
    pub fn first(thread: usize, point: &'n ThreadState<'n>) -> Self {
        Self { thread, point, ways: Ways::default(), now: 0, window: None }
    }

    /// The same step to another state.
    #[must_use]
    pub fn with(&self, point: &'n ThreadState<'n>) -> Self {
        Self { point, ways: self.ways.clone(), window: self.window.clone(), ..*self }
    }
}

/// Updates make more than [`MOST`] values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyValues;

/// The values that the writes of a prefix can have, from sources in the prefix.
pub struct Available {
    /// The values that each subevent can write.
    any: Vec<NumberSet>,
}

/// An event of a thread, without those around it.
pub struct LoneEvent<'n> {
    /// The event.
    pub event: &'n Event,
    /// The number of earlier events of its thread that are alike.
    pub nth: usize,
    /// The way in which it happens.
    pub shape: &'n Shape,
}

/// The values of the events, and how written ones depend on read ones.
#[derive(Default)]
struct PrefixValues {
    numbering: Numbering<Val>,
    /// For each value the least known number of [`ValueStep`]s that make it.
    depths: Vec<u8>,
    /// Each step, with the position of its event. A value that takes too many steps is not computed, and counts as one without
    /// a number.
    steps: Vec<(usize, ValueStep)>,
    /// Pairs of a subevent that reads and one that writes the same value.
    copies: Vec<(usize, usize)>,
}

/// A state to go back to.
struct Saved {
    store: Snapshot,
    events: usize,
    values: SavedValues,
}

struct SavedValues {
    steps: usize,
    copies: usize,
    depths: Vec<u8>,
}

/// The steps that lead to a state. Each step is made for one path, so two paths that have it agree up to it.
pub type StatePath<'n> = Vec<Rc<Advance<'n>>>;

struct Level<'n> {
    advance: Rc<Advance<'n>>,
    /// The number of events that the thread had before.
    done: usize,
    before: Saved,
    is_possible: bool,
}

/// A prefix: see the module's documentation.
pub struct Prefix<'p, 'n> {
    libraries: &'p Libraries,
    world: &'p World,
    /// The facts, by the relations of the libraries whose specifications apply.
    store: ConstraintStore,
    levels: Vec<Level<'n>>,
    /// The events, each with the number of earlier events of its thread that are alike.
    events: Vec<(&'n Event, usize)>,
    /// The number of events of each thread.
    done: Vec<usize>,
    values: PrefixValues,
}

/// Returns how many subevents read one of these cells.
pub fn reads_of(shape: &Shape, cells: &[Cell]) -> usize {
    shape.iter().filter(|sub| reads_one_of(sub, cells)).count()
}

fn reads_one_of(sub: &Sub, cells: &[Cell]) -> bool {
    sub.reads.is_some() && sub.cell.is_some_and(|c| cells.contains(&c))
}

impl PrefixValues {
    fn number(&mut self, v: Val) -> NumberSet {
        let number = self.numbering.number(v);
        self.depths.resize(self.numbering.len(), 0);
        self.depths[number] = 0;
        NumberSet::one(number)
    }

    fn save(&self) -> SavedValues {
        SavedValues { steps: self.steps.len(), copies: self.copies.len(), depths: self.depths.clone() }
    }

    /// Forgets what came since a state.
    fn restore(&mut self, saved: SavedValues) {
        self.steps.truncate(saved.steps);
        self.copies.truncate(saved.copies);
        let numbers = saved.depths.len();
        self.depths = saved.depths;
        self.numbering.truncate(numbers);
        for (_, step) in &mut self.steps {
            step.table.truncate(numbers);
            step.table.iter_mut().filter(|made| made.reaches(numbers)).for_each(|made| *made = ValueStep::UNKNOWN);
        }
    }

    fn narrow(&self, domains: &mut Domains, changed: &mut bool) -> bool {
        // Values that have no number yet may get one of these.
        let unnumbered = NumberSet::from(self.numbering.len());
        narrow_copies(&self.copies, domains, changed)
            && self.steps.iter().all(|(_, step)| {
                let (read, written) = step.allowed(domains, NumberSet::ALL, unnumbered);
                intersect(&mut domains.reads[step.from], read, changed);
                intersect(&mut domains.writes[step.to], written, changed);
                !read.is_empty() && !written.is_empty()
            })
    }

    /// Returns the values that a subevent writes if the read on which it depends has one of the values `read`.
    fn made(&self, write: usize, read: NumberSet) -> NumberSet {
        let Some((_, step)) = self.steps.iter().find(|(_, step)| step.to == write) else { return read };
        let made = read.below(step.table.len()).map(|number| step.table[number]);
        made.filter(|made| *made != ValueStep::UNKNOWN).collect()
    }
}

impl<'p, 'n> Prefix<'p, 'n> {
    /// Makes an empty prefix of executions to which the specifications of these libraries apply.
    #[must_use]
    pub fn new(libraries: &'p Libraries, world: &'p World, names: &[Name]) -> Self {
        Self::with_room(libraries, world, names, ROOM)
    }

    fn with_room(libraries: &'p Libraries, world: &'p World, names: &[Name], room: usize) -> Self {
        Self {
            libraries,
            world,
            store: ConstraintStore::new(libraries, world.threads.len(), names, room),
            levels: Vec::new(),
            events: Vec::new(),
            done: vec![0; world.threads.len()],
            values: PrefixValues::default(),
        }
    }

    /// Goes to the state after these steps, and returns whether an execution may begin with it.
    ///
    /// # Errors
    /// If the state has too many values.
    pub fn go_to(&mut self, path: &[Rc<Advance<'n>>]) -> Result<bool, TooManyValues> {
        let is_common = |&n: &usize| Rc::ptr_eq(&self.levels[n - 1].advance, &path[n - 1]);
        let common = (1..=self.levels.len().min(path.len())).rev().find(is_common).unwrap_or(0);
        while self.levels.len() > common {
            self.pop();
        }
        for advance in &path[common..] {
            if !self.is_possible() {
                break;
            }
            if self.lacks_room(&advance.point.run().shapes[self.done[advance.thread]..]) {
                *self = self.with_more_room();
                return self.go_to(path);
            }
            if let Err(why) = self.push(advance) {
                // A level that was entered in part is no state to stay in.
                self.pop();
                return Err(why);
            }
        }
        Ok(self.is_possible())
    }

    /// Returns an empty prefix with twice as much room.
    fn with_more_room(&self) -> Self {
        Self::with_room(self.libraries, self.world, &self.store.schema.names, 2 * self.store.net.capacity())
    }

    /// True if events of these shapes have more subevents than the store has room for.
    fn lacks_room(&self, shapes: &[Shape]) -> bool {
        self.store.len() + shapes.iter().map(|shape| shape.len()).sum::<usize>() > self.store.net.capacity()
    }

    fn pop(&mut self) {
        let level = self.levels.pop().expect("the path is longer");
        self.done[level.advance.thread] = level.done;
        self.restore(level.before);
    }

    fn is_possible(&self) -> bool {
        self.levels.last().is_none_or(|level| level.is_possible)
    }

    /// True unless it is ruled out that an execution ends here, without a write after the time `now`.
    pub fn may_end(&mut self, now: u32) -> bool {
        let before = self.save();
        self.store.domains.until.iter_mut().for_each(|until| *until = now.min(*until));
        let may = self.propagate();
        self.restore(before);
        may
    }

    /// Propagates until nothing changes. Returns false if no execution has this beginning.
    fn propagate(&mut self) -> bool {
        let values = &self.values;
        self.store.propagate(|domains, changed| values.narrow(domains, changed))
    }

    fn save(&self) -> Saved {
        Saved { store: self.store.snapshot(), events: self.events.len(), values: self.values.save() }
    }

    fn restore(&mut self, saved: Saved) {
        self.store.restore(saved.store);
        self.events.truncate(saved.events);
        self.values.restore(saved.values);
    }

    fn push(&mut self, advance: &Rc<Advance<'n>>) -> Result<(), TooManyValues> {
        let (before, first) = (self.save(), self.done[advance.thread]);
        self.levels.push(Level { advance: Rc::clone(advance), done: first, before, is_possible: true });
        let run = advance.point.run();
        let events = run.trace.events.iter().zip(&run.shapes).zip(&advance.point.alike);
        let (start, new) = (self.store.len(), events.skip(first));
        self.done[advance.thread] = run.trace.events.len();
        let mut window = advance.window.as_ref();
        for ((event, shape), &nth) in new {
            self.add_event(&LoneEvent { event, nth, shape }, advance.now, window.take());
        }
        if let Some((sub, values)) = &advance.ways.read {
            for &v in values {
                self.store.domains.reads[start + sub] |= self.values.number(v);
            }
        }
        self.number_steps()?;
        if let Some(Window { after: Some(time), cells, .. }) = &advance.window {
            let subs = &self.store.subs;
            let of_first = |s: &usize| subs[*s].base == start && reads_one_of(&subs[*s].sub, cells);
            let reads: Vec<usize> = (start..subs.len()).filter(of_first).collect();
            reads.into_iter().for_each(|read| self.store.rule_out_until(read, *time));
        }
        let is_possible = self.propagate();
        self.levels.last_mut().expect("just pushed").is_possible = is_possible;
        Ok(())
    }

    /// True if no execution, perhaps with further events, has these events of a thread such that the last one reads `cell` from
    /// an old write. Old is the initial write, and each write of these events before the last but one.
    pub fn forbids_overwritten(&mut self, events: &[LoneEvent<'n>], cell: Cell) -> bool {
        // A relation that pairs events in turn depends on events that are not in this prefix.
        if !self.store.schema.turns.is_empty() {
            return false;
        }
        let shapes: Vec<Shape> = events.iter().map(|alone| alone.shape.clone()).collect();
        while self.levels.is_empty() && self.lacks_room(&shapes) {
            *self = self.with_more_room();
        }
        let before = self.save();
        let may = self.may_read_overwritten(events, cell);
        self.restore(before);
        may == Ok(false)
    }

    fn may_read_overwritten(&mut self, events: &[LoneEvent<'n>], cell: Cell) -> Result<bool, TooManyValues> {
        let window = Window { cells: SmallVec::from_slice(&[cell]), until: 0, after: None };
        for (i, alone) in events.iter().enumerate() {
            let now = u32::from(i + 2 >= events.len());
            self.add_event(alone, now, Some(&window).filter(|_| i + 1 == events.len()));
        }
        self.number_steps()?;
        Ok(self.propagate())
    }

    fn add_event(&mut self, alone: &LoneEvent<'n>, now: u32, window: Option<&Window>) {
        let &LoneEvent { event, nth, shape } = alone;
        let (index, base) = (self.events.len(), self.store.len());
        self.events.push((event, nth));
        for sub in shape {
            let until = window.filter(|w| reads_one_of(sub, &w.cells)).map_or(u32::MAX, |w| w.until);
            let init = sub.cell.map_or(Val::Unit, |cell| self.libraries.of(&event.call).init(self.world, cell));
            let init = self.values.number(init);
            let values = values_of_sub(sub, |v| self.values.number(v));
            let to = self.store.len();
            match sub.writes {
                Some(Writes::Copy(from)) => self.values.copies.push((base + from, to)),
                Some(Writes::Step(from)) => {
                    self.values.steps.push((index, ValueStep { from: base + from, to, table: Vec::new() }));
                }
                _ => {}
            }
            let view = SubView { world: self.world, event, sub, nth };
            let place = GraphSub { event: index, base, thread: event.thread.index(), sub: *sub };
            self.store.add(self.libraries, &NewSub { view, place, birth: now, until, init, values });
        }
    }

    /// NumberSet every value that steps can make. Each step happens once, so no value needs more steps than there are.
    fn number_steps(&mut self) -> Result<(), TooManyValues> {
        loop {
            let before = (self.values.numbering.len(), self.values.depths.clone());
            for index in 0..self.values.steps.len() {
                for number in 0..self.values.numbering.len() {
                    self.number_step(index, number);
                }
            }
            if self.values.numbering.len() > MOST {
                return Err(TooManyValues);
            }
            if before == (self.values.numbering.len(), self.values.depths.clone()) {
                return Ok(());
            }
        }
    }

    fn number_step(&mut self, index: usize, number: usize) {
        let PrefixValues { numbering, depths, steps, .. } = &mut self.values;
        let (depth, most) = (depths[number], steps.len());
        let (event, ValueStep { table, .. }) = &mut steps[index];
        table.resize(numbering.len().max(table.len()), ValueStep::UNKNOWN);
        if table[number] == ValueStep::UNKNOWN {
            if usize::from(depth) >= most || numbering.len() > MOST {
                return;
            }
            let event = self.events[*event].0;
            let made = self.libraries.of(&event.call).step(event, numbering.all()[number]);
            table[number] = made.map_or(NumberSet::NONE, |v| numbering.set(v));
            depths.resize(numbering.len(), u8::MAX);
        }
        if let Some(made) = table[number].least() {
            depths[made] = depths[made].min(depth.saturating_add(1));
        }
    }

    /// Returns the values that each subevent can write, by chains of copies in the prefix. With `since`, it counts only chains
    /// that contain a write after that time.
    #[must_use]
    pub fn available(&self, since: Option<u32>) -> Available {
        let n = self.store.subs.len();
        let of_copies =
            self.values.copies.iter().copied().chain(self.values.steps.iter().map(|(_, step)| (step.from, step.to)));
        let copies: Vec<(usize, usize)> = of_copies.collect();
        let mut any = vec![NumberSet::NONE; n];
        for w in (0..n).filter(|&w| self.store.copied(w).is_none() && self.store.subs[w].sub.writes.is_some()) {
            any[w] = self.store.domains.writes[w];
        }
        let sources: Vec<PossibleSources> = copies.iter().map(|&(from, _)| self.sources_of(from)).collect();
        self.spread(&copies, &sources, &mut any, true);
        let Some(since) = since else { return Available { any } };
        let mut fresh = vec![NumberSet::NONE; n];
        for w in (0..n).filter(|&w| self.store.births[w] > since) {
            fresh[w] = any[w];
        }
        self.spread(&copies, &sources, &mut fresh, false);
        Available { any: fresh }
    }

    /// Passes values along copies. A chain passes each copy once. `initial`: initial values count, too.
    fn spread(&self, copies: &[(usize, usize)], sources: &[PossibleSources], any: &mut [NumberSet], initial: bool) {
        for _ in 0..copies.len() {
            let mut changed = false;
            for (&(read, w), sources) in copies.iter().zip(sources) {
                let of = |source: &Source| match source {
                    Source::Write(w) => any[*w],
                    _ if initial => self.store.init[read],
                    _ => NumberSet::NONE,
                };
                let values = sources.iter().map(of).collect::<NumberSet>() & self.store.domains.reads[read];
                let more = self.values.made(w, values) & self.store.domains.writes[w];
                changed |= !(more & !any[w]).is_empty();
                any[w] |= more;
            }
            if !changed {
                return;
            }
        }
    }

    /// Returns the sources in the prefix that a read can have.
    fn sources_of(&self, read: usize) -> PossibleSources {
        let source = self.store.domains.sources[read];
        if source != Source::Open {
            return SmallVec::from_slice(&[source]);
        }
        match self.store.choice_of(read) {
            Some(choice) => self.store.sources(choice, read),
            None => {
                let writes = self.store.subs[read].sub.cell.map_or(Vec::new(), |cell| self.writes_of(cell));
                std::iter::once(Source::Initial).chain(writes.into_iter().map(Source::Write)).collect()
            }
        }
    }

    /// Returns the copies that may read from a write that does not exist yet.
    #[must_use]
    pub fn open_copies(&self) -> Vec<Copied<'n>> {
        let of_steps = self.values.steps.iter().map(|(event, step)| (step.from, step.to, Some(self.events[*event].0)));
        let all = self.values.copies.iter().map(|&(from, to)| (from, to, None)).chain(of_steps);
        let open = all.filter(|&(from, ..)| {
            self.store.domains.until[from] == u32::MAX && self.store.domains.sources[from] != Source::Initial
        });
        open.filter_map(|(from, to, step)| {
            Some(Copied { step, from: self.store.subs[from].sub.cell?, to: self.store.subs[to].sub.cell? })
        })
        .collect()
    }

    /// True if another event may read a write of these events of a thread: those from the first on, before the second. The
    /// search of states chooses no sources, so this tries each such source out (docs/search.md, "Loops").
    #[must_use]
    pub fn is_read(&mut self, thread: usize, (start, end): (usize, usize)) -> bool {
        let of_thread = self.events.iter().enumerate().filter(|(_, (e, _))| e.thread.index() == thread);
        let events: SmallVec<[usize; 8]> = of_thread.map(|(i, _)| i).skip(start).take(end - start).collect();
        let within = |s: usize| events.contains(&self.store.subs[s].event);
        let others = (0..self.store.subs.len()).filter(|&s| self.store.subs[s].sub.reads.is_some() && !within(s));
        let sources = others.flat_map(|read| self.sources_of(read).into_iter().map(move |source| (read, source)));
        let is_own = |source: &Source| matches!(source, Source::Write(w) if within(*w));
        let sources: Vec<(usize, Source)> = sources.filter(|(_, source)| is_own(source)).collect();
        sources.into_iter().any(|(read, source)| self.may_have(read, source))
    }

    /// True if a read may have this source, as far as one more decision shows. Then each other read whose sources are all
    /// present keeps one of them.
    fn may_have(&mut self, read: usize, source: Source) -> bool {
        self.is_possible_with(read, source, |prefix| {
            let is_bounded = |r: &usize| {
                prefix.store.domains.sources[*r] == Source::Open && prefix.store.domains.until[*r] != u32::MAX
            };
            let open = (0..prefix.store.subs.len()).filter(|&r| prefix.store.subs[r].sub.reads.is_some());
            let open: SmallVec<[usize; 16]> = open.filter(is_bounded).collect();
            open.into_iter().all(|other| {
                let sources = prefix.sources_of(other);
                sources.into_iter().any(|source| prefix.is_possible_with(other, source, |_| true))
            })
        })
    }

    /// True if a read may have this source, and `and` holds there. A read of a library that says nothing yet has no choice, so
    /// nothing follows from its source.
    fn is_possible_with(&mut self, read: usize, source: Source, and: impl FnOnce(&mut Self) -> bool) -> bool {
        let Some(choice) = self.store.choice_of(read) else { return true };
        let before = self.save();
        if self.store.domains.sources[read] == Source::Open {
            self.store.decide(choice, read, source);
        }
        let is_possible = self.propagate() && and(self);
        self.restore(before);
        is_possible
    }

    /// Returns the last values of a cell if no event is added. They are those of a write that may be last, and of these events
    /// of a thread. The thread repeats its events, so their copies have last values, too. `None` if no write of the cell exists.
    /// `may_change`: the cells that other threads may still write.
    #[must_use]
    pub fn last_values(
        &self,
        available: &Available,
        cell: Cell,
        (thread, own): (usize, Range<usize>),
        may_change: &dyn Fn(Cell) -> bool,
    ) -> Option<Vec<Val>> {
        let is_own =
            |w: usize| self.store.subs[w].thread == thread && own.contains(&self.position(self.store.subs[w].event));
        let lasts = |cell: Cell| {
            let writes = self.writes_of(cell);
            let lasts: Vec<usize> =
                writes.iter().copied().filter(|&w| is_own(w) || !self.has_later(w, &writes)).collect();
            (!writes.is_empty(), lasts)
        };
        let copied = |w: usize| {
            let from = self
                .store
                .copied(w)
                .filter(|_| is_own(w) && matches!(self.store.subs[w].sub.writes, Some(Writes::Copy(_))))?;
            let source = self.store.subs[from].sub.cell.filter(|&c| !may_change(c))?;
            let (is_written, lasts) = lasts(source);
            let initial = if is_written { NumberSet::NONE } else { self.store.init[from] };
            Some(lasts.into_iter().fold(initial, |all, w| all | available.any[w]))
        };
        let (is_written, lasts) = lasts(cell);
        let of_last = |w: usize| available.any[w] & copied(w).unwrap_or(NumberSet::ALL);
        let values = lasts.into_iter().map(of_last).collect();
        is_written.then(|| self.values.numbering.members(values).collect())
    }

    /// Returns the subevents that write a cell.
    fn writes_of(&self, cell: Cell) -> Vec<usize> {
        let is_write = |w: &usize| {
            let sub = &self.store.subs[*w].sub;
            sub.cell == Some(cell) && sub.writes.is_some()
        };
        (0..self.store.len()).filter(is_write).collect()
    }

    /// True if one of these `writes` comes after this one.
    fn has_later(&self, w: usize, writes: &[usize]) -> bool {
        (0..self.store.schema.choices.len()).any(|choice| match self.store.choice(choice) {
            SchemaChoice::Order { closed, .. } => {
                let partners = self.store.partners(choice, w);
                let is_later = |&other: &usize| {
                    self.store.net.has(closed, w, other) && partners[other / 64] >> (other % 64) & 1 == 1
                };
                writes.iter().any(is_later)
            }
            SchemaChoice::ReadsFrom { .. } => false,
        })
    }

    /// Returns the position of an event in its thread.
    fn position(&self, event: usize) -> usize {
        let thread = self.events[event].0.thread;
        self.events[..event].iter().filter(|(e, _)| e.thread == thread).count()
    }

    /// Returns the values that the writes of a cell can have.
    #[must_use]
    pub fn values_of(&self, available: &Available, cell: Cell) -> Vec<Val> {
        self.values_where(available, cell, |_| true)
    }

    /// The same, without the values that the thread of this number writes other than as copies.
    #[must_use]
    pub fn values_of_others(&self, available: &Available, cell: Cell, thread: usize) -> Vec<Val> {
        let is_own = |placed: &GraphSub| placed.thread == thread && matches!(placed.sub.writes, Some(Writes::Is(_)));
        self.values_where(available, cell, |placed| !is_own(placed))
    }

    fn values_where(&self, available: &Available, cell: Cell, is: impl Fn(&GraphSub) -> bool) -> Vec<Val> {
        let of_cell = |placed: &GraphSub| placed.sub.cell == Some(cell) && is(placed);
        let writes = self.store.subs.iter().zip(&available.any).filter(|(placed, _)| of_cell(placed));
        self.values.numbering.members(writes.map(|(_, set)| *set).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::alike;
    use crate::ids::{Loc, Node};
    use crate::search::memory::{MEMORY, Method, consistent, event, libraries, world};

    /// Returns whether some execution begins with these events, and whether one has these events only.
    fn begins_and_ends(events: &[Event]) -> (bool, bool) {
        let (libraries, world) = (libraries(consistent), world(2));
        let shapes: Vec<Shape> = events.iter().map(|e| libraries.of(&e.call).shapes(&world, e).remove(0)).collect();
        let mut prefix = Prefix::new(&libraries, &world, &[MEMORY]);
        for (n, (event, shape)) in events.iter().zip(&shapes).enumerate() {
            let nth = alike(&events[..n], event.thread, &event.call);
            prefix.add_event(&LoneEvent { event, nth, shape }, 0, None);
        }
        (prefix.propagate(), prefix.may_end(0))
    }

    /// In store buffering, each thread writes a word and reads the other one. Both reads of 0 close the cycle W(x) ppo R(y) rb W(y) ppo
    /// R(x) rb W(x), unless another write of 0 comes later.
    #[test]
    fn an_outcome_with_a_cycle_is_ruled_out() {
        let [x, y] = ["x", "y"].map(Loc::new);
        let [write, read] = [|x| Method::Write { x, v: 1.into() }, |x| Method::Read { x }];
        let reading = |of_y: i64, of_x: i64| {
            begins_and_ends(&[
                event(1, write(x), Val::Unit),
                event(1, read(y), of_y),
                event(2, write(y), Val::Unit),
                event(2, read(x), of_x),
            ])
        };
        assert_eq!(reading(0, 0), (true, false));
        assert_eq!(reading(0, 1), (true, true));
        assert_eq!(reading(1, 1), (true, true));
    }

    /// A read may read from a write that comes later, so its value alone rules nothing out before the end.
    #[test]
    fn a_read_may_wait_for_its_source() {
        let x = Loc::new("x");
        let (write, read) = (Method::Write { x, v: 1.into() }, Method::Read { x });
        assert_eq!(begins_and_ends(&[event(1, read, 1)]), (true, false));
        assert_eq!(begins_and_ends(&[event(1, read, 1), event(2, write, Val::Unit)]), (true, true));
    }

    /// True if no execution has these two events such that the read finds the initial value of `x`.
    fn forbids_initial(events: [Event; 2], x: Loc) -> bool {
        let (libraries, world) = (libraries(consistent), world(2));
        let shapes = events.each_ref().map(|e| libraries.of(&e.call).shapes(&world, e).remove(0));
        let alone: Vec<LoneEvent<'_>> =
            events.iter().zip(&shapes).map(|(event, shape)| LoneEvent { event, nth: 0, shape }).collect();
        Prefix::new(&libraries, &world, &[MEMORY]).forbids_overwritten(&alone, x.on(Node(1)))
    }

    #[test]
    fn a_thread_reads_no_value_that_it_has_overwritten() {
        let [x, y] = ["x", "y"].map(Loc::new);
        let after_write_of =
            |of| [event(1, Method::Write { x: of, v: 1.into() }, Val::Unit), event(1, Method::Read { x }, 0)];
        assert!(forbids_initial(after_write_of(x), x));
        assert!(!forbids_initial(after_write_of(y), x));
    }
}
