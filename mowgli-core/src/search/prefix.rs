//! The common beginning of many executions, and the facts that hold in all of them. It grows when a thread continues, and
//! shrinks when the search returns to an earlier state.
//!
//! **Computes** facts about the events on a path, which is a list of [`Advance`]s. It may rule out that an execution
//! begins with them, or that one ends with them. It has the values of each write. Nothing proves that an execution exists.
//!
//! **Time.** `now` numbers the steps of the search, and never falls along a path. `births[w]` is the time of the
//! step that added the subevent `w`.
//!
//! **Invariant.** Call an execution *an extension* if it begins with these events and agrees with their windows. After
//! [`Prefix::go_to`] has returned true, each extension satisfies the following.
//!  - It has every pair of each relation of the schema in `net`. No pair is lost by later events.
//!  - Each subevent `s` reads a value in `known.reads[s]`, and writes one in `known.writes[s]`. A `Vals` is a set of
//!    numbers of values; its bits from `numbering.len()` on stand for all values without a number.
//!  - The source of a read `s` is `known.sources[s]`, unless that is `Open`. An open source is no write of row `s` of the
//!    relation `excluded` of its choice. The pair `(s, s)` there excludes the initial write. Its time is at most
//!    `known.until[s]`. If that is `MAX`, the source is open, and may be a write that does not exist yet.
//!
//! After `false` no extension exists, and after an error nothing is known. An order or a source is decided when only one is
//! left. The lists by subevent are equally long: `subs`, `births`, `init`, those of `known`, and those of `partners`.
//!
//! `push` adds events and their values. `propagate` then narrows all sets until nothing changes. `restore` goes back. The
//! network undoes its trail, and `known` and `depths` are the copies that `save` made. Lists are cut, and masks lose the bits
//! of subevents that are gone. The common beginning of two paths stays. `may_end` and `is_read` add facts, propagate and restore.
//!
//! **Example.** Store buffering: events `W(x, 1); R(y) = 0` of P1 and `W(y, 1); R(x) = 0` of P2. Both reads may still read
//! from a write of 0 that does not exist yet, so `until = MAX` and the prefix is possible. [`Prefix::may_end`] lowers `until`
//! to the present time. One source is left for each read, the initial write. So `R(y)` is before `W(y)`, and `R(x)` before
//! `W(x)`. If ppo has each write before the read of its thread, this is a cycle, and no execution ends here.
//!
//! **Correct because** an event adds only pairs that it and the events of the path determine, and every operator is monotone
//! except difference. A difference keeps only pairs that no later event takes away (see `schema`). So a derived pair is in
//! every extension, and a broken demand is broken in each (docs/search.md, "Letting values flow"). If a value or a source is
//! excluded wrongly, the tests in `tests/tests/flow.rs` miss a run and fail.
//!
//! **Cost.** An event costs its new pairs and what propagation derives from them, a row of one or two words at a time. A path with
//! more than 64 subevents is made again with room for 128. Saving copies the lists of [`PrefixDomains`].

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use smallvec::SmallVec;

use super::forbidden::Forbidden;
use super::network::RelationNetwork;
use super::schema::{Fixed, FixedId, Schema, SchemaChoice};
use super::solver::Source;
use super::values::{LIMIT, Numbering, Vals, intersect};
use crate::algebra::SubView;
use crate::event::{Cell, Event, Reads, Shape, Sub, Writes};
use crate::ids::Name;
use crate::library::Libraries;
use crate::search::prepared::Prepared;
use crate::search::reachability::Copied;
use crate::search::thread::ThreadState;
use crate::value::Val;
use crate::world::World;

/// A set of subevents.
type Mask = u128;

/// The largest number of subevents, because a set of them is one [`Mask`].
const MOST: usize = Mask::BITS as usize;

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
    /// The results of a class, as a set of bits; nothing if there is one result, or if they are too many.
    pub bits: u128,
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

/// The reason why a prefix cannot hold a beginning of an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooMany {
    /// More values than a set of values can distinguish.
    Values,
    /// More subevents than a set of subevents can hold.
    Subevents,
}

/// The values that the writes of a prefix can have, from sources in the prefix.
pub struct Available {
    /// The values that each subevent can write.
    any: Vec<Vals>,
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

/// A subevent and its event.
struct EventSub {
    event: usize,
    /// The first subevent of the event.
    base: usize,
    thread: usize,
    sub: Sub,
}

/// A write whose value is a function of the value that another subevent of its event reads.
struct ValueStep {
    event: usize,
    from: usize,
    to: usize,
    /// The written value for the number of each read value; `None` if it has no number. A value that takes too many steps
    /// is not computed, and counts as one without a number.
    table: Vec<Option<Vals>>,
}

/// The facts about each subevent. They are narrowed without new events, too.
#[derive(Clone, Default)]
struct PrefixDomains {
    reads: Vec<Vals>,
    writes: Vec<Vals>,
    sources: Vec<Source>,
    /// The latest time of a source of each read. [`u32::MAX`] if it may read from a write that does not exist yet.
    until: Vec<u32>,
}

/// A state to go back to.
struct Saved {
    mark: usize,
    known: PrefixDomains,
    events: usize,
    subs: usize,
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
    /// The relations of the libraries whose specifications apply.
    schema: Rc<Schema>,
    net: RelationNetwork,
    forbidden: Forbidden,
    levels: Vec<Level<'n>>,
    /// The events, each with the number of earlier events of its thread that are alike.
    events: Vec<(&'n Event, usize)>,
    /// The number of events of each thread.
    done: Vec<usize>,
    subs: Vec<EventSub>,
    births: Vec<u32>,
    threads: Vec<Mask>,
    /// For each library of the schema its subevents.
    own: Vec<Mask>,
    members: Vec<Mask>,
    classes: Vec<BTreeMap<Val, Mask>>,
    /// For each key the class of the subevent that was added last.
    newest: Vec<Mask>,
    /// For each fixed relation the row and the column of that subevent, among all subevents.
    pairs: Vec<(Mask, Mask)>,
    /// For each choice and subevent: the writes of the cell of a read, or the subevents that an order must compare it with.
    partners: Vec<Vec<Mask>>,
    numbering: Numbering,
    /// For each value the least known number of [`ValueStep`]s that make it.
    depths: Vec<u8>,
    init: Vec<Vals>,
    steps: Vec<ValueStep>,
    /// Pairs of a subevent that reads and one that writes the same value.
    copies: Vec<(usize, usize)>,
    known: PrefixDomains,
}

/// Returns how many subevents read one of these cells.
pub fn reads_of(shape: &Shape, cells: &[Cell]) -> usize {
    shape.iter().filter(|s| s.reads.is_some() && s.cell.is_some_and(|c| cells.contains(&c))).count()
}

fn bit(s: usize) -> Mask {
    1 << s
}

/// Returns the subevents before `s`, which may be as many as a mask can hold.
fn below(s: usize) -> Mask {
    if s < MOST { bit(s) - 1 } else { Mask::MAX }
}

fn bits(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let s = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(s)
    })
}

fn words(mask: Mask) -> [u64; 2] {
    [mask as u64, (mask >> 64) as u64]
}

fn mask_of(row: &[u64]) -> Mask {
    row.iter().enumerate().fold(0, |mask, (i, &word)| mask | Mask::from(word) << (64 * i))
}

impl<'p, 'n> Prefix<'p, 'n> {
    /// Makes an empty prefix of executions to which the specifications of these libraries apply.
    #[must_use]
    pub fn new(libraries: &'p Libraries, world: &'p World, names: &[Name]) -> Self {
        Self::with_capacity(libraries, world, names, MOST / 2)
    }

    fn with_capacity(libraries: &'p Libraries, world: &'p World, names: &[Name], capacity: usize) -> Self {
        let schema = Prepared::of(libraries).schema(names, capacity);
        let net = schema.net.clone();
        Self {
            libraries,
            world,
            forbidden: Forbidden::of(&net),
            net,
            levels: Vec::new(),
            events: Vec::new(),
            done: vec![0; world.threads.len()],
            subs: Vec::new(),
            births: Vec::new(),
            threads: vec![0; world.threads.len()],
            own: vec![0; names.len()],
            members: vec![0; schema.sets.len()],
            classes: vec![BTreeMap::new(); schema.keys.len()],
            newest: vec![0; schema.keys.len()],
            pairs: vec![(0, 0); schema.fixed.len()],
            partners: vec![Vec::new(); schema.choices.len()],
            numbering: Numbering::default(),
            depths: Vec::new(),
            init: Vec::new(),
            steps: Vec::new(),
            copies: Vec::new(),
            known: PrefixDomains::default(),
            schema,
        }
    }

    /// Goes to the state after these steps, and returns whether an execution may begin with it.
    ///
    /// # Errors
    /// If the state has too many values or subevents.
    pub fn go_to(&mut self, path: &[Rc<Advance<'n>>]) -> Result<bool, TooMany> {
        let is_common = |&n: &usize| Rc::ptr_eq(&self.levels[n - 1].advance, &path[n - 1]);
        let common = (1..=self.levels.len().min(path.len())).rev().find(is_common).unwrap_or(0);
        while self.levels.len() > common {
            self.pop();
        }
        for advance in &path[common..] {
            if !self.is_possible() {
                break;
            }
            match self.push(advance) {
                Err(TooMany::Subevents) if self.net.capacity() < MOST => {
                    *self = Self::with_capacity(self.libraries, self.world, &self.schema.names, MOST);
                    return self.go_to(path);
                }
                Err(why) => {
                    // A level that was entered in part is no state to stay in.
                    self.pop();
                    return Err(why);
                }
                Ok(()) => {}
            }
        }
        Ok(self.is_possible())
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
        self.known.until.iter_mut().for_each(|until| *until = now.min(*until));
        let may = self.propagate();
        self.restore(before);
        may
    }

    fn save(&self) -> Saved {
        Saved {
            mark: self.net.mark(),
            known: self.known.clone(),
            events: self.events.len(),
            subs: self.subs.len(),
            steps: self.steps.len(),
            copies: self.copies.len(),
            depths: self.depths.clone(),
        }
    }

    fn restore(&mut self, saved: Saved) {
        self.net.undo(saved.mark);
        self.known = saved.known;
        self.events.truncate(saved.events);
        self.steps.truncate(saved.steps);
        self.copies.truncate(saved.copies);
        let numbers = saved.depths.len();
        self.depths = saved.depths;
        self.numbering.truncate(numbers);
        let has_number = |made: &Vals| made >> numbers == 0;
        for step in &mut self.steps {
            step.table.truncate(numbers);
            step.table.iter_mut().for_each(|entry| *entry = entry.filter(has_number));
        }
        if saved.subs == self.subs.len() {
            return;
        }
        self.subs.truncate(saved.subs);
        self.births.truncate(saved.subs);
        self.init.truncate(saved.subs);
        self.net.set_live(saved.subs);
        let left = below(saved.subs);
        let partners = self.partners.iter_mut();
        partners.for_each(|of| {
            of.truncate(saved.subs);
            of.iter_mut().for_each(|mask| *mask &= left);
        });
        let masks = self.threads.iter_mut().chain(&mut self.own).chain(&mut self.members);
        masks.chain(self.classes.iter_mut().flat_map(BTreeMap::values_mut)).for_each(|mask| *mask &= left);
    }

    fn push(&mut self, advance: &Rc<Advance<'n>>) -> Result<(), TooMany> {
        let (before, first) = (self.save(), self.done[advance.thread]);
        self.levels.push(Level { advance: Rc::clone(advance), done: first, before, is_possible: true });
        let run = advance.point.run();
        let events = run.trace.events.iter().zip(&run.shapes).zip(&advance.point.alike);
        let (start, new) = (self.subs.len(), events.skip(first));
        self.done[advance.thread] = run.trace.events.len();
        let mut window = advance.window.as_ref();
        for ((event, shape), &nth) in new {
            self.add_event(&LoneEvent { event, nth, shape }, advance.now, window.take())?;
        }
        if let Some((sub, values)) = &advance.ways.read {
            for &v in values {
                self.known.reads[start + sub] |= self.number(v)?;
            }
        }
        self.number_steps()?;
        if let Some(Window { after: Some(time), cells, .. }) = &advance.window {
            let of_first = (start..self.subs.len()).filter(|&s| self.subs[s].base == start && self.looks(s, cells));
            for read in of_first.collect::<Vec<_>>() {
                self.rule_out_until(read, *time);
            }
        }
        let is_possible = self.propagate();
        self.levels.last_mut().expect("just pushed").is_possible = is_possible;
        Ok(())
    }

    fn looks(&self, s: usize, cells: &[Cell]) -> bool {
        let sub = &self.subs[s].sub;
        sub.reads.is_some() && sub.cell.is_some_and(|c| cells.contains(&c))
    }

    /// True if no execution, perhaps with further events, has these events of a thread such that the last one reads `cell` from
    /// an old write. Old is the initial write, and each write of these events before the last but one.
    pub fn forbids_overwritten(&mut self, events: &[LoneEvent<'n>], cell: Cell) -> bool {
        // A relation that pairs events in turn depends on events that are not in this prefix.
        if !self.schema.turns.is_empty() {
            return false;
        }
        let before = self.save();
        let may = self.may_read_overwritten(events, cell);
        self.restore(before);
        may == Ok(false)
    }

    fn may_read_overwritten(&mut self, events: &[LoneEvent<'n>], cell: Cell) -> Result<bool, TooMany> {
        let window = Window { cells: SmallVec::from_slice(&[cell]), until: 0, after: None };
        for (i, alone) in events.iter().enumerate() {
            let now = u32::from(i + 2 >= events.len());
            self.add_event(alone, now, Some(&window).filter(|_| i + 1 == events.len()))?;
        }
        self.number_steps()?;
        Ok(self.propagate())
    }

    fn add_event(&mut self, alone: &LoneEvent<'n>, now: u32, window: Option<&Window>) -> Result<(), TooMany> {
        let &LoneEvent { event, nth, shape } = alone;
        if self.subs.len() + shape.len() > self.net.capacity() {
            return Err(TooMany::Subevents);
        }
        let (index, base) = (self.events.len(), self.subs.len());
        self.events.push((event, nth));
        for sub in shape {
            let s = self.subs.len();
            self.subs.push(EventSub { event: index, base, thread: event.thread.index(), sub: *sub });
            self.births.push(now);
            self.known.until.push(u32::MAX);
            if let Some(window) = window.filter(|w| self.looks(s, &w.cells)) {
                self.known.until[s] = window.until;
            }
            self.add_values(s, event)?;
            self.add_pairs(s, event, nth);
        }
        Ok(())
    }

    fn number(&mut self, v: Val) -> Result<Vals, TooMany> {
        let number = self.numbering.bit(v);
        self.depths.resize(self.numbering.len(), 0);
        if self.numbering.len() > LIMIT {
            return Err(TooMany::Values);
        }
        self.depths[number.trailing_zeros() as usize] = 0;
        Ok(number)
    }

    fn add_values(&mut self, s: usize, event: &Event) -> Result<(), TooMany> {
        let EventSub { base, sub, .. } = self.subs[s];
        let init = sub.cell.map_or(Val::Unit, |cell| self.libraries.of(&event.call).init(self.world, cell));
        let init = self.number(init)?;
        self.init.push(init);
        let reads = match sub.reads {
            Some(Reads::Is(v)) => self.number(v)?,
            Some(Reads::IsNot(v)) => !self.number(v)?,
            Some(Reads::Any) | None => Vals::MAX,
        };
        let writes = match sub.writes {
            Some(Writes::Is(v)) => self.number(v)?,
            _ => Vals::MAX,
        };
        match sub.writes {
            Some(Writes::Copy(from)) => self.copies.push((base + from, s)),
            Some(Writes::Step(from)) => {
                let event = self.subs[s].event;
                self.steps.push(ValueStep { event, from: base + from, to: s, table: Vec::new() });
            }
            _ => {}
        }
        self.known.reads.push(reads);
        self.known.writes.push(writes);
        self.known.sources.push(Source::Open);
        Ok(())
    }

    /// Numbers every value that steps can make. Each step happens once, so no value needs more steps than there are.
    fn number_steps(&mut self) -> Result<(), TooMany> {
        loop {
            let before = (self.numbering.len(), self.depths.clone());
            for index in 0..self.steps.len() {
                for number in 0..self.numbering.len() {
                    self.number_step(index, number);
                }
            }
            if self.numbering.len() > LIMIT {
                return Err(TooMany::Values);
            }
            if before == (self.numbering.len(), self.depths.clone()) {
                return Ok(());
            }
        }
    }

    fn number_step(&mut self, index: usize, number: usize) {
        let (depth, most) = (self.depths[number], self.steps.len());
        let step = &mut self.steps[index];
        step.table.resize(self.numbering.len().max(step.table.len()), None);
        if step.table[number].is_none() {
            if usize::from(depth) >= most || self.numbering.len() > LIMIT {
                return;
            }
            let event = self.events[step.event].0;
            let made = self.libraries.of(&event.call).step(event, self.numbering.value(number));
            let made = made.map_or(0, |v| self.numbering.bit(v));
            self.depths.resize(self.numbering.len(), u8::MAX);
            self.steps[index].table[number] = Some(made);
        }
        if let Some(made) = self.steps[index].table[number].filter(|&made| made != 0) {
            let made = made.trailing_zeros() as usize;
            self.depths[made] = self.depths[made].min(depth.saturating_add(1));
        }
    }

    /// Adds a subevent to the relations that come with subevents, and to the choices.
    fn add_pairs(&mut self, s: usize, event: &Event, nth: usize) {
        let schema = Rc::clone(&self.schema);
        let EventSub { thread, sub, .. } = self.subs[s];
        let library = schema.names.iter().position(|name| *name == event.call.library);
        self.net.set_live(s + 1);
        self.threads[thread] |= bit(s);
        if let Some(library) = library {
            self.own[library] |= bit(s);
        }
        let view = SubView { world: self.world, event, sub: &sub, nth };
        for ((_, set), members) in schema.sets.iter().zip(&mut self.members).filter(|((of, _), _)| Some(*of) == library)
        {
            *members |= if set.has(&view) { bit(s) } else { 0 };
        }
        for (((of, key), classes), newest) in schema.keys.iter().zip(&mut self.classes).zip(&mut self.newest) {
            let class = Some(key).filter(|_| Some(*of) == library).and_then(|key| key.of(&view));
            *newest = class.map_or(0, |class| {
                let members = classes.entry(class).or_default();
                *members |= bit(s);
                *members
            });
        }
        for (position, (of, fixed)) in schema.fixed.iter().enumerate() {
            self.pairs[position] = match of {
                Some(_) if *of != library => (0, 0),
                _ => self.pairs_of(&schema, fixed, s),
            };
        }
        for &(id, fixed) in &schema.bases {
            let (row, column) = self.pairs_within(&schema, fixed, s);
            self.net.add_row(id, s, &words(row)[..self.net.width()]);
            for a in bits(column & !bit(s)) {
                self.net.add(id, a, s);
            }
        }
        for (choice, (of, open)) in schema.choices.iter().enumerate() {
            self.partners[choice].push(0);
            if Some(*of) == library {
                self.add_to_choice(&schema, choice, open, s);
            }
        }
    }

    fn add_to_choice(&mut self, schema: &Schema, choice: usize, open: &SchemaChoice, s: usize) {
        match open {
            SchemaChoice::ReadsFrom { reads, writes, before, .. } => {
                let cell = self.subs[s].sub.cell;
                let [reads, writes] = [reads, writes].map(|set| self.members[*set]);
                if reads >> s & 1 == 1 {
                    let of_cell = bits(writes & !bit(s)).filter(|&w| self.subs[w].sub.cell == cell);
                    self.partners[choice][s] = of_cell.fold(0, |all, w| all | bit(w));
                }
                if writes >> s & 1 == 1 {
                    for r in bits(reads & !bit(s)).filter(|&r| self.subs[r].sub.cell == cell).collect::<Vec<_>>() {
                        self.partners[choice][r] |= bit(s);
                        if self.known.sources[r] == Source::Initial {
                            self.net.add(*before, r, s);
                        }
                    }
                }
            }
            SchemaChoice::Order { pairs, .. } => {
                let (row, column) = self.pairs_within(schema, *pairs, s);
                self.partners[choice][s] = row & !bit(s);
                bits(column & !bit(s)).for_each(|a| self.partners[choice][a] |= bit(s));
            }
        }
    }

    /// Returns the row and the column of the last subevent in a fixed relation.
    fn pairs_within(&self, schema: &Schema, fixed: FixedId, s: usize) -> (Mask, Mask) {
        let within = schema.fixed[fixed].0.map_or(below(s + 1), |library| self.own[library]);
        let (row, column) = self.pairs[fixed];
        (row & within, column & within)
    }

    /// Computes the same from that of the operands, perhaps with subevents of other libraries.
    fn pairs_of(&self, schema: &Schema, fixed: &Fixed, s: usize) -> (Mask, Mask) {
        let both = |mask: Mask| (mask, mask);
        let has = |set: usize| self.members[set] >> s & 1 == 1;
        let all = |holds: bool| if holds { Mask::MAX } else { 0 };
        let of = |fixed: &FixedId| self.pairs[*fixed];
        let combined = |a: &FixedId, b: &FixedId, combine: fn(Mask, Mask) -> Mask| {
            let ((row, column), (other_row, other_column)) = (of(a), of(b));
            (combine(row, other_row), combine(column, other_column))
        };
        let placed = &self.subs[s];
        let of_event = below(s + 1) & !below(placed.base);
        let of_thread = self.threads[placed.thread];
        match fixed {
            Fixed::Nothing => (0, 0),
            Fixed::All => both(Mask::MAX),
            Fixed::Po => (0, of_thread & !of_event),
            Fixed::Ppo => {
                let is_preserved = |&a: &usize| self.libraries.to(self.subs[a].sub.stamp, placed.sub.stamp);
                (0, bits(of_thread & !of_event).filter(is_preserved).fold(0, |all, a| all | bit(a)))
            }
            Fixed::SameEvent => both(of_event),
            Fixed::SameThread => both(of_thread),
            Fixed::Same(key) => both(self.newest[*key]),
            Fixed::InTurn(turn) => self.in_turn(schema.turns[*turn], s),
            Fixed::On(set) => both(if has(*set) { bit(s) } else { 0 }),
            Fixed::Cross(a, b) => (all(has(*a)) & self.members[*b], all(has(*b)) & self.members[*a]),
            Fixed::From(set) => (all(has(*set)), self.members[*set]),
            Fixed::Into(set) => (self.members[*set], all(has(*set))),
            Fixed::Union(a, b) => combined(a, b, |a, b| a | b),
            Fixed::Inter(a, b) => combined(a, b, |a, b| a & b),
            Fixed::Minus(a, b) => combined(a, b, |a, b| a & !b),
            Fixed::Inverse(inverted) => {
                let (row, column) = of(inverted);
                (column, row)
            }
        }
    }

    fn in_turn(&self, [from, to, key]: [usize; 3], s: usize) -> (Mask, Mask) {
        let class = self.newest[key] & self.threads[self.subs[s].thread];
        let (from, to) = (class & self.members[from], class & self.members[to]);
        let partner = |own: Mask, others: Mask| {
            let turn = (own & below(s)).count_ones() as usize;
            if own >> s & 1 == 1 { bits(others).nth(turn).map_or(0, bit) } else { 0 }
        };
        (partner(from, to), partner(to, from))
    }

    /// Propagates until nothing changes. Returns false if no execution has this beginning.
    fn propagate(&mut self) -> bool {
        let mut has_grown = true;
        loop {
            has_grown |= !self.net.is_settled();
            if !self.net.settle() {
                return false;
            }
            let mut changed = false;
            if !self.narrow_values(&mut changed) || !self.narrow_sources(&mut changed) {
                return false;
            }
            if changed {
                continue;
            }
            // The forbidden pairs depend on the network alone.
            if has_grown {
                self.forbidden.find(&self.net, &self.schema.is_open);
                self.force(&mut changed);
                has_grown = false;
            }
            if !changed {
                return true;
            }
        }
    }

    fn narrow_values(&mut self, changed: &mut bool) -> bool {
        // Values that have no number yet may get one of these.
        let unnumbered = Vals::MAX << self.numbering.len();
        let PrefixDomains { reads, writes, .. } = &mut self.known;
        for &(from, to) in &self.copies {
            let both = reads[from] & writes[to];
            intersect(&mut reads[from], both, changed);
            intersect(&mut writes[to], both, changed);
            if both == 0 {
                return false;
            }
        }
        for step in &self.steps {
            let (mut read, mut written) = (reads[step.from] & unnumbered, 0);
            if read != 0 {
                written = writes[step.to];
            }
            for (number, made) in step.table.iter().enumerate() {
                let made = made.unwrap_or(unnumbered) & writes[step.to];
                if reads[step.from] >> number & 1 == 1 && made != 0 {
                    (read, written) = (read | 1 << number, written | made);
                }
            }
            intersect(&mut reads[step.from], read, changed);
            intersect(&mut writes[step.to], written, changed);
            if read == 0 || written == 0 {
                return false;
            }
        }
        true
    }

    fn narrow_sources(&mut self, changed: &mut bool) -> bool {
        let schema = Rc::clone(&self.schema);
        for (choice, (_, open)) in schema.choices.iter().enumerate() {
            let SchemaChoice::ReadsFrom { reads, .. } = open else { continue };
            if !bits(self.members[*reads]).all(|read| self.narrow_read(choice, open, read, changed)) {
                return false;
            }
        }
        true
    }

    fn narrow_read(&mut self, choice: usize, open: &SchemaChoice, read: usize, changed: &mut bool) -> bool {
        match self.known.sources[read] {
            Source::Write(w) => {
                let both = self.known.reads[read] & self.known.writes[w];
                intersect(&mut self.known.reads[read], both, changed);
                intersect(&mut self.known.writes[w], both, changed);
                self.close_copied(read, w, changed);
            }
            Source::Initial => intersect(&mut self.known.reads[read], self.init[read], changed),
            Source::Open if self.known.until[read] == u32::MAX => {}
            Source::Open => {
                let sources = self.sources(choice, open, read);
                let possible = sources.iter().fold(0, |all, source| all | self.source_values(read, *source));
                intersect(&mut self.known.reads[read], possible, changed);
                if let [only] = sources[..] {
                    *changed = true;
                    self.decide(choice, open, read, only);
                }
            }
        }
        self.known.reads[read] != 0
    }

    fn source_values(&self, read: usize, source: Source) -> Vals {
        if let Source::Write(w) = source { self.known.writes[w] } else { self.init[read] }
    }

    /// Returns the sources in the prefix that an undecided read can still have.
    fn sources(&self, choice: usize, open: &SchemaChoice, read: usize) -> SmallVec<[Source; 4]> {
        let SchemaChoice::ReadsFrom { excluded, .. } = open else { unreachable!("only reads-from has reads") };
        let out = mask_of(self.net.row(*excluded, read));
        let is_in_time = |w: &usize| self.births[*w] <= self.known.until[read];
        let writes = bits(self.partners[choice][read] & !out).filter(is_in_time).map(Source::Write);
        let initial = (out >> read & 1 == 0).then_some(Source::Initial);
        let all = initial.into_iter().chain(writes);
        all.filter(|&source| self.source_values(read, source) & self.known.reads[read] != 0).collect()
    }

    fn decide(&mut self, choice: usize, open: &SchemaChoice, read: usize, source: Source) {
        let SchemaChoice::ReadsFrom { chosen, before, .. } = open else { unreachable!("only reads-from has reads") };
        self.known.sources[read] = source;
        match source {
            Source::Write(w) => self.net.add(*chosen, w, read),
            _ => {
                let row = words(self.partners[choice][read]);
                self.net.add_row(*before, read, &row[..self.net.width()]);
            }
        }
    }

    /// Bounds the time of the read of a copy: the copy read no later than the read that has it as its source.
    fn close_copied(&mut self, read: usize, write: usize, changed: &mut bool) {
        if let Some(from) = self.copied(write) {
            let until = self.known.until[read];
            if self.known.until[from] > until {
                self.known.until[from] = until;
                *changed = true;
            }
        }
    }

    /// Returns the read on which the value of a write depends.
    fn copied(&self, write: usize) -> Option<usize> {
        let placed = &self.subs[write];
        match placed.sub.writes? {
            Writes::Is(_) => None,
            Writes::Copy(from) | Writes::Step(from) => Some(placed.base + from),
        }
    }

    /// Excludes choices that would add a forbidden pair, and decides orders of which one direction is forbidden.
    fn force(&mut self, changed: &mut bool) {
        let schema = Rc::clone(&self.schema);
        for (choice, (_, open)) in schema.choices.iter().enumerate() {
            match open {
                SchemaChoice::ReadsFrom { reads, chosen, before, excluded, .. } => {
                    let is_open = |&r: &usize| self.known.sources[r] == Source::Open;
                    let open: SmallVec<[usize; 16]> = bits(self.members[*reads]).filter(is_open).collect();
                    for read in open {
                        let partners = self.partners[choice][read];
                        let mut out: Mask = 0;
                        bits(partners).filter(|&w| self.forbidden.has(*chosen, w, read)).for_each(|w| out |= bit(w));
                        if mask_of(self.forbidden.row(*before, read)) & partners != 0 {
                            out |= bit(read);
                        }
                        if out & !mask_of(self.net.row(*excluded, read)) != 0 {
                            *changed = true;
                            self.net.add_row(*excluded, read, &words(out)[..self.net.width()]);
                        }
                    }
                }
                SchemaChoice::Order { raw, closed, .. } => {
                    for a in 0..self.subs.len() {
                        let forbidden = mask_of(self.forbidden.row(*raw, a)) & self.partners[choice][a];
                        for b in bits(forbidden & !mask_of(self.net.row(*closed, a))) {
                            if !self.net.has(*closed, b, a) {
                                *changed = true;
                                self.net.add(*raw, b, a);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Excludes the sources of a read that existed at `time`, if their values do not depend on a read.
    fn rule_out_until(&mut self, read: usize, time: u32) {
        let schema = Rc::clone(&self.schema);
        for (choice, (_, open)) in schema.choices.iter().enumerate() {
            let SchemaChoice::ReadsFrom { reads, excluded, .. } = open else { continue };
            if self.members[*reads] >> read & 1 == 0 {
                continue;
            }
            self.net.add(*excluded, read, read);
            for w in bits(self.partners[choice][read]) {
                if self.births[w] <= time && self.copied(w).is_none() {
                    self.net.add(*excluded, read, w);
                }
            }
        }
    }

    /// Returns the values that each subevent can write, by chains of copies in the prefix. With `since`, it counts only chains
    /// that contain a write after that time.
    #[must_use]
    pub fn available(&self, since: Option<u32>) -> Available {
        let n = self.subs.len();
        let of_copies = self.copies.iter().copied().chain(self.steps.iter().map(|step| (step.from, step.to)));
        let copies: Vec<(usize, usize)> = of_copies.collect();
        let mut any = vec![0; n];
        for w in (0..n).filter(|&w| self.copied(w).is_none() && self.subs[w].sub.writes.is_some()) {
            any[w] = self.known.writes[w];
        }
        let sources: Vec<SmallVec<[Source; 4]>> = copies.iter().map(|&(from, _)| self.sources_of(from)).collect();
        self.spread(&copies, &sources, &mut any, true);
        let Some(since) = since else { return Available { any } };
        let mut fresh = vec![0; n];
        for w in (0..n).filter(|&w| self.births[w] > since) {
            fresh[w] = any[w];
        }
        self.spread(&copies, &sources, &mut fresh, false);
        Available { any: fresh }
    }

    /// Passes values along copies. A chain passes each copy once. `initial`: initial values count, too.
    fn spread(&self, copies: &[(usize, usize)], sources: &[SmallVec<[Source; 4]>], any: &mut [Vals], initial: bool) {
        for _ in 0..copies.len() {
            let mut changed = false;
            for (&(read, w), sources) in copies.iter().zip(sources) {
                let of = |source: &Source| match source {
                    Source::Write(w) => any[*w],
                    _ if initial => self.init[read],
                    _ => 0,
                };
                let values = sources.iter().fold(0, |all, s| all | of(s)) & self.known.reads[read];
                let more = self.made(w, values) & self.known.writes[w];
                changed |= more & !any[w] != 0;
                any[w] |= more;
            }
            if !changed {
                return;
            }
        }
    }

    /// Returns the values that a subevent writes if the read on which it depends has one of the values `read`.
    fn made(&self, write: usize, read: Vals) -> Vals {
        let Some(step) = self.steps.iter().find(|step| step.to == write) else { return read };
        let table = step.table.iter().enumerate().filter(|(number, _)| read >> number & 1 == 1);
        table.fold(0, |all, (_, made)| all | made.unwrap_or(0))
    }

    /// Returns the sources in the prefix that a read can have.
    fn sources_of(&self, read: usize) -> SmallVec<[Source; 4]> {
        if self.known.sources[read] != Source::Open {
            return SmallVec::from_slice(&[self.known.sources[read]]);
        }
        for (choice, (_, open)) in self.schema.choices.iter().enumerate() {
            if matches!(open, SchemaChoice::ReadsFrom { reads, .. } if self.members[*reads] >> read & 1 == 1) {
                return self.sources(choice, open, read);
            }
        }
        let writes = self.subs[read].sub.cell.map_or(0, |cell| self.writes_of(cell));
        std::iter::once(Source::Initial).chain(bits(writes).map(Source::Write)).collect()
    }

    /// Returns the copies that may read from a write that does not exist yet.
    #[must_use]
    pub fn open_copies(&self) -> Vec<Copied<'n>> {
        let of_steps = self.steps.iter().map(|step| (step.from, step.to, Some(self.events[step.event].0)));
        let all = self.copies.iter().map(|&(from, to)| (from, to, None)).chain(of_steps);
        let open =
            all.filter(|&(from, ..)| self.known.until[from] == u32::MAX && self.known.sources[from] != Source::Initial);
        open.filter_map(|(from, to, step)| {
            Some(Copied { step, from: self.subs[from].sub.cell?, to: self.subs[to].sub.cell? })
        })
        .collect()
    }

    /// True if another event may read a write of these events of a thread: those from the first on, before the second. The
    /// search of states chooses no sources, so this tries each such source out (docs/search.md, "Loops").
    #[must_use]
    pub fn is_read(&mut self, thread: usize, (start, end): (usize, usize)) -> bool {
        let of_thread = self.events.iter().enumerate().filter(|(_, (e, _))| e.thread.index() == thread);
        let events: SmallVec<[usize; 8]> = of_thread.map(|(i, _)| i).skip(start).take(end - start).collect();
        let within = |s: usize| events.contains(&self.subs[s].event);
        let others = (0..self.subs.len()).filter(|&s| self.subs[s].sub.reads.is_some() && !within(s));
        let sources = others.flat_map(|read| self.sources_of(read).into_iter().map(move |source| (read, source)));
        let is_own = |source: &Source| matches!(source, Source::Write(w) if within(*w));
        let sources: Vec<(usize, Source)> = sources.filter(|(_, source)| is_own(source)).collect();
        sources.into_iter().any(|(read, source)| self.may_have(read, source))
    }

    /// True if a read may have this source, as far as one more decision shows. Then each other read whose sources are all
    /// present keeps one of them.
    fn may_have(&mut self, read: usize, source: Source) -> bool {
        self.is_possible_with(read, source, |prefix| {
            let is_bounded = |r: &usize| prefix.known.sources[*r] == Source::Open && prefix.known.until[*r] != u32::MAX;
            let open = (0..prefix.subs.len()).filter(|&r| prefix.subs[r].sub.reads.is_some());
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
        let schema = Rc::clone(&self.schema);
        let is_choice = |open: &SchemaChoice| matches!(open, SchemaChoice::ReadsFrom { reads, .. } if self.members[*reads] >> read & 1 == 1);
        let Some(choice) = schema.choices.iter().position(|(_, open)| is_choice(open)) else { return true };
        let before = self.save();
        if self.known.sources[read] == Source::Open {
            self.decide(choice, &schema.choices[choice].1, read, source);
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
        let is_own = |w: usize| self.subs[w].thread == thread && own.contains(&self.position(self.subs[w].event));
        let lasts = |cell: Cell| {
            let writes = self.writes_of(cell);
            (writes, bits(writes).filter(move |&w| is_own(w) || !self.has_later(w, writes)))
        };
        let copied = |w: usize| {
            let from =
                self.copied(w).filter(|_| is_own(w) && matches!(self.subs[w].sub.writes, Some(Writes::Copy(_))))?;
            let source = self.subs[from].sub.cell.filter(|&c| !may_change(c))?;
            let (writes, lasts) = lasts(source);
            let initial = if writes == 0 { self.init[from] } else { 0 };
            Some(lasts.fold(initial, |all, w| all | available.any[w]))
        };
        let (writes, lasts) = lasts(cell);
        let values = lasts.fold(0, |all, w| all | available.any[w] & copied(w).unwrap_or(Vals::MAX));
        (writes != 0).then(|| self.numbering.all(values).collect())
    }

    /// Returns the subevents that write a cell.
    fn writes_of(&self, cell: Cell) -> Mask {
        let is_write = |w: &usize| self.subs[*w].sub.cell == Some(cell) && self.subs[*w].sub.writes.is_some();
        (0..self.subs.len()).filter(is_write).fold(0, |all, w| all | bit(w))
    }

    /// True if one of these `writes` comes after this one.
    fn has_later(&self, w: usize, writes: Mask) -> bool {
        let mut choices = self.schema.choices.iter().zip(&self.partners);
        choices.any(|((_, open), partners)| match open {
            SchemaChoice::Order { closed, .. } => mask_of(self.net.row(*closed, w)) & partners[w] & writes != 0,
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
        let is_own = |placed: &EventSub| placed.thread == thread && matches!(placed.sub.writes, Some(Writes::Is(_)));
        self.values_where(available, cell, |placed| !is_own(placed))
    }

    fn values_where(&self, available: &Available, cell: Cell, is: impl Fn(&EventSub) -> bool) -> Vec<Val> {
        let of_cell = |placed: &EventSub| placed.sub.cell == Some(cell) && is(placed);
        let writes = self.subs.iter().zip(&available.any).filter(|(placed, _)| of_cell(placed));
        self.numbering.all(writes.fold(0, |all, (_, set)| all | set)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::alike;
    use crate::ids::{Loc, Node};
    use crate::search::memory::{MEMORY, Method, consistent, event, libraries, world};

    #[test]
    fn all_that_a_mask_has_room_for_is_below_its_end() {
        assert_eq!((below(0), below(1), below(MOST - 1), below(MOST)), (0, 1, Mask::MAX >> 1, Mask::MAX));
    }

    /// Returns whether some execution begins with these events, and whether one has these events only.
    fn begins_and_ends(events: &[Event]) -> (bool, bool) {
        let (libraries, world) = (libraries(consistent), world(2));
        let shapes: Vec<Shape> = events.iter().map(|e| libraries.of(&e.call).shapes(&world, e).remove(0)).collect();
        let mut prefix = Prefix::new(&libraries, &world, &[MEMORY]);
        for (n, (event, shape)) in events.iter().zip(&shapes).enumerate() {
            let nth = alike(&events[..n], event.thread, &event.call);
            prefix.add_event(&LoneEvent { event, nth, shape }, 0, None).unwrap();
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
