//! Reachability: an over-approximation of the writes that threads may still make from a state of [`crate::search::flow`].
//!
//! **Computes** for each thread whether it can go on and whether it can end, and the cells that may still be written. A
//! thread that waits goes on only if a cell at which it looks may be written. The caller prunes the state if a thread
//! cannot end, because then it is blocked.
//!
//! **Invariant.** A cell `c` may hold `now(c) ∪ copied(c) ∪ ⋃ { written(t, c) | t a thread }`. From pass to pass these
//! sets only grow, and so do `goes_on`, `ends` and `links`. The fixed point contains each value that a continuation of
//! the state can put into a cell. The passes stop earlier if every thread goes on and can end; then `written` may be
//! incomplete.
//!
//! **Example.** P1 waits for `x`, P2 is `v = read(y); if v == 1 { write(x, 1) }`, and `y` is 0. P2 ends without a
//! write, so nothing wakes P1, and P1 cannot end. If P3 writes 1 to `y`, then in the next pass P2 reads 1 and writes
//! `x`, which wakes P1.
//!
//! **Correct because** each thread is followed with every value that a cell may hold, whatever the orders say. So the
//! threads do at least all that they do in any execution (docs/search.md, "Reachability"). The test is
//! `a_thread_waits_in_vain_where_no_thread_can_write_its_word`.
//!
//! **Cost.** A pass follows every branch of each thread, which is exponential in the number of reads. So a state may
//! use at most `AT_ONCE` points, and all states together `CREDIT`. The first state may use `AT_FIRST` besides. The
//! results for points are cached over all states in [`ReachabilityCache`].

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::event::{Cell, Event, Reads, Shape, Writes};
use crate::ids::Tid;
use crate::search::numbers::{NumberSet, Numbering};
use crate::search::thread::{Frontier, ThreadState, Threads};
use crate::value::Val;

/// The number of points that the search may follow: at first, and in addition for each state. More would cost more than
/// it saves.
const CREDIT: (usize, usize) = (256, 64);

/// The number of points that the search may follow for one state, so that one state does not use up all credit.
const AT_ONCE: usize = 128;

/// The number of points that the search may follow for its first state, in which nothing has happened. The answer may cost
/// as much as a small search, because a client that cannot end from there needs no search.
const AT_FIRST: usize = 16_384;

/// The longest back-off, in states, after a state that needed too many points. Neighbouring states need about as many, so
/// the next attempt is likely to fail too, because little has changed.
const SKIPPED: usize = 256;

/// The number of values that updates may add in one state. An update in a loop could add values for ever.
const ADDED: usize = 128;

/// A write of a subevent whose value depends on the read of another subevent of its event.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'n> {
    /// The event, if the value is changed on the way.
    pub step: Option<&'n Event>,
    /// The cell that is read.
    pub from: Cell,
    /// The cell that is written.
    pub to: Cell,
}

/// The writes of iterations that the search leaves out of a state, although the execution that it follows may have them.
#[derive(Clone, Debug, Default)]
pub struct LeftOut<'n> {
    values: BTreeSet<(Cell, Val)>,
    copies: Vec<Copied<'n>>,
}

impl<'n> LeftOut<'n> {
    /// Adds the writes of some events of a run. Returns whether any of them is new.
    pub fn add(&mut self, events: impl Iterator<Item = (&'n Event, &'n Shape)>) -> bool {
        let size = self.values.len() + self.copies.len();
        for (event, shape) in events {
            for sub in shape {
                let Some((to, written)) = sub.cell.zip(sub.writes) else { continue };
                match written {
                    Writes::Is(v) => _ = self.values.insert((to, v)),
                    Writes::Copy(from) | Writes::Step(from) => {
                        let from = shape[from].cell.expect("a subevent that reads touches a cell");
                        let step = matches!(written, Writes::Step(_)).then_some(event);
                        let is_known = |c: &Copied<'_>| c.from == from && c.to == to && c.step == step;
                        if !self.copies.iter().any(is_known) {
                            self.copies.push(Copied { step, from, to });
                        }
                    }
                }
            }
        }
        size < self.values.len() + self.copies.len()
    }
}

/// The result: how far threads may get.
#[derive(Clone, Debug)]
pub struct Reachable {
    /// For each thread whether it can go on.
    pub goes_on: Vec<bool>,
    /// For each thread whether it can end.
    pub ends: Vec<bool>,
    /// The cells that threads write on the way.
    written: BTreeSet<Cell>,
}

impl Reachable {
    /// True if a thread may write this cell on the way.
    pub fn writes(&self, cell: Cell) -> bool {
        self.written.contains(&cell)
    }
}

/// The error that a limit was hit, or that a thread came to a point beyond which the search cannot follow it.
#[derive(Clone, Copy, Debug)]
struct TooMuch;

/// A copy between cells by their numbers.
#[derive(Clone, Copy)]
struct CellCopy<'n> {
    step: Option<&'n Event>,
    from: usize,
    to: usize,
}

/// The accesses of a thread between two points, with cells as numbers.
struct Effects<'n> {
    /// The reads that restrict the value: one of these values, or, if the flag is set, any other one.
    reads: SmallVec<[(usize, NumberSet, bool); 2]>,
    /// The writes with a known value.
    writes: SmallVec<[(usize, NumberSet); 2]>,
    copies: SmallVec<[CellCopy<'n>; 2]>,
}

/// The cells at which a call looks, as numbers, each with its possible values.
type ReadCells = SmallVec<[(usize, NumberSet); 1]>;

/// The successors of a point, if the cells at which the thread looks hold these values.
struct NextStates<'n> {
    read_cells: ReadCells,
    points: Rc<[&'n ThreadState<'n>]>,
}

/// The cache that all states of a search share.
pub struct ReachabilityCache<'n> {
    cells: Numbering<Cell>,
    values: Numbering<Val>,
    effects: FxHashMap<usize, Rc<Effects<'n>>>,
    successors: FxHashMap<usize, NextStates<'n>>,
    /// The number of points that the search may still follow.
    credit: usize,
    /// Back-off: the number of states left to skip, and the length of the next back-off.
    skipped: (usize, usize),
}

impl Default for ReachabilityCache<'_> {
    fn default() -> Self {
        Self {
            cells: Numbering::default(),
            values: Numbering::default(),
            effects: FxHashMap::default(),
            successors: FxHashMap::default(),
            credit: CREDIT.0,
            skipped: (0, 1),
        }
    }
}

impl ReachabilityCache<'_> {
    /// Returns the number of points that the search may follow for this state; `None` during a back-off.
    fn most(&mut self) -> Option<usize> {
        self.credit += CREDIT.1;
        if self.skipped.0 > 0 {
            self.skipped.0 -= 1;
            return None;
        }
        Some(self.credit.min(AT_ONCE))
    }

    /// Notes the number of points that the search followed, and whether that was enough.
    fn took(&mut self, points: usize, was_enough: bool) {
        self.credit -= points;
        let (_, next) = self.skipped;
        self.skipped = if was_enough { (0, 1) } else { (next, (2 * next).min(SKIPPED)) };
    }
}

/// A state, with the functions that the search needs to follow threads from it.
pub struct Reachability<'a, 'p, 'n> {
    /// The threads.
    pub threads: &'a Threads<'p, 'n>,
    /// The cache of all states.
    pub known: &'a RefCell<ReachabilityCache<'n>>,
    /// Returns the values that a cell can hold at present.
    pub now: &'a dyn Fn(Cell) -> Vec<Val>,
    /// Returns the same without the initial value and without the values that the thread with this number writes by
    /// itself.
    pub by_others: &'a dyn Fn(Cell, usize) -> Vec<Val>,
    /// True if the call at which this thread stands cannot return this value of a cell, because the thread's own last
    /// write hides it.
    pub is_hidden: &'a dyn Fn(usize, &'n ThreadState<'n>, Cell, Val) -> bool,
    /// Writes of iterations that may be left out.
    pub left_out: &'a LeftOut<'n>,
    /// The point of each thread, and whether the thread waits for something new.
    pub standing: &'a [(&'n ThreadState<'n>, bool)],
}

impl<'n> Reachability<'_, '_, 'n> {
    /// Returns how far threads may get from here, or `None` if that takes too much work. `copies` are the copies whose
    /// read is still open. The first state of a search (`is_first`) may take more work than others.
    pub fn reach(&self, copies: &[Copied<'n>], is_first: bool) -> Option<Reachable> {
        let most = if is_first { AT_FIRST } else { self.known.borrow_mut().most()? };
        let mut left = most;
        let reached = self.search(copies, &mut left);
        self.known.borrow_mut().took(if is_first { 0 } else { most - left }, reached.is_ok());
        reached.ok()
    }

    fn search(&self, copies: &[Copied<'n>], left: &mut usize) -> Result<Reachable, TooMuch> {
        let count = self.standing.len();
        let links = {
            let mut known = self.known.borrow_mut();
            let mut link = |c: &Copied<'n>| CellCopy {
                step: c.step,
                from: known.cells.number(c.from),
                to: known.cells.number(c.to),
            };
            let issued = copies.iter().map(|c| (c, false)).chain(self.left_out.copies.iter().map(|c| (c, true)));
            issued.map(|(c, is_issued)| (link(c), is_issued)).collect()
        };
        let mut search = ReachabilitySearch {
            reachability: self,
            now: ByCell::default(),
            by_others: vec![ByCell::default(); count],
            written: vec![ByCell::default(); count],
            copied: ByCell::default(),
            is_new: NumberSet::NONE,
            added: 0,
            links,
            watched: vec![NumberSet::NONE; count],
            goes_on: self.standing.iter().map(|(_, waits)| !waits).collect(),
            ends: vec![false; count],
            is_brief: true,
            changed: false,
            left,
        };
        search.watch();
        search.add_left_out();
        search.follow_all()?;
        let written = self.known.borrow().cells.members(search.is_new).collect();
        Ok(Reachable { goes_on: search.goes_on, ends: search.ends, written })
    }

    /// Returns the accesses of a thread between two points.
    fn effects(&self, before: &'n ThreadState<'n>, point: &'n ThreadState<'n>) -> Rc<Effects<'n>> {
        let mut known = self.known.borrow_mut();
        if let Some(effects) = known.effects.get(&point.id) {
            return Rc::clone(effects);
        }
        let mut effects = Effects { reads: SmallVec::new(), writes: SmallVec::new(), copies: SmallVec::new() };
        let run = point.run();
        for (event, shape) in run.trace.events.iter().zip(&run.shapes).skip(before.run().shapes.len()) {
            add(&mut known, event, shape, &mut effects);
        }
        let effects = Rc::new(effects);
        known.effects.insert(point.id, Rc::clone(&effects));
        effects
    }
}

fn add<'n>(known: &mut ReachabilityCache<'n>, event: &'n Event, shape: &'n Shape, effects: &mut Effects<'n>) {
    for sub in shape {
        let Some(cell) = sub.cell.map(|cell| known.cells.number(cell)) else { continue };
        match sub.reads {
            Some(Reads::Is(v)) => effects.reads.push((cell, known.values.set(v), false)),
            Some(Reads::IsNot(v)) => effects.reads.push((cell, known.values.set(v), true)),
            Some(Reads::Any) | None => {}
        }
        match sub.writes {
            Some(Writes::Is(v)) => effects.writes.push((cell, known.values.set(v))),
            Some(written @ (Writes::Copy(from) | Writes::Step(from))) => {
                let from = known.cells.number(shape[from].cell.expect("a subevent that reads touches a cell"));
                let step = matches!(written, Writes::Step(_)).then_some(event);
                effects.copies.push(CellCopy { step, from, to: cell });
            }
            None => {}
        }
    }
}

/// Returns the value that a thread has last written to a cell by itself.
fn last_write(point: &ThreadState<'_>, cell: Cell) -> Option<Val> {
    let mut subs = point.run().shapes.iter().rev().flatten().filter(|sub| sub.cell == Some(cell));
    subs.find_map(|sub| if let Some(Writes::Is(v)) = sub.writes { Some(v) } else { None })
}

/// The writes of a thread since the state, each with its value, or `None` if a copy writes the cell.
type Own = Vec<(usize, Option<NumberSet>)>;

/// Something for each cell by its number; the default for a cell that has nothing yet.
#[derive(Clone, Default)]
struct ByCell<T>(Vec<T>);

impl<T: Copy + Default> ByCell<T> {
    fn of(&self, cell: usize) -> T {
        self.0.get(cell).copied().unwrap_or_default()
    }

    fn set(&mut self, cell: usize, to: T) {
        if self.0.len() <= cell {
            self.0.resize(cell + 1, T::default());
        }
        self.0[cell] = to;
    }
}

impl ByCell<NumberSet> {
    /// Adds values of a cell. Returns whether any of them is new.
    fn add(&mut self, cell: usize, values: NumberSet) -> bool {
        let before = self.of(cell);
        self.set(cell, before | values);
        before | values != before
    }
}

struct ReachabilitySearch<'s, 'a, 'p, 'n> {
    reachability: &'s Reachability<'a, 'p, 'n>,
    /// The values that cells hold at present, computed on demand.
    now: ByCell<Option<NumberSet>>,
    /// For each thread the same without the initial value and without its own writes.
    by_others: Vec<ByCell<Option<NumberSet>>>,
    /// For each thread the values that it writes by itself.
    written: Vec<ByCell<NumberSet>>,
    /// The values that copies write.
    copied: ByCell<NumberSet>,
    /// The cells that are written.
    is_new: NumberSet,
    /// The number of values that updates added.
    added: usize,
    /// The copies, and whether each was issued after the state.
    links: Vec<(CellCopy<'n>, bool)>,
    /// For each waiting thread the cells at which it looks.
    watched: Vec<NumberSet>,
    goes_on: Vec<bool>,
    ends: Vec<bool>,
    /// Whether one way to the end is enough for each thread, which holds as long as no thread waits.
    is_brief: bool,
    changed: bool,
    left: &'s mut usize,
}

impl<'n> ReachabilitySearch<'_, '_, '_, 'n> {
    fn watch(&mut self) {
        for (t, &(point, waits)) in self.reachability.standing.iter().enumerate() {
            if waits {
                let (_, read_cells) = self.results(t, point, Some(&Vec::new()));
                self.watched[t] = read_cells.iter().map(|&(cell, _)| NumberSet::one(cell)).collect();
            }
        }
    }

    /// Adds the values that iterations write which are left out.
    fn add_left_out(&mut self) {
        for &(cell, v) in &self.reachability.left_out.values {
            let cell = self.reachability.known.borrow_mut().cells.number(cell);
            let values = self.numbers(vec![v]);
            self.copied.add(cell, values);
            self.wake(cell);
        }
    }

    fn follow_all(&mut self) -> Result<(), TooMuch> {
        loop {
            self.changed = false;
            for (t, &(point, _)) in self.reachability.standing.iter().enumerate() {
                if self.goes_on[t] {
                    self.follow(t, point, None, &mut Vec::new())?;
                }
            }
            self.spread()?;
            let all = |of: &[bool]| !of.contains(&false);
            if all(&self.ends) && all(&self.goes_on) || !self.changed && !self.is_brief {
                return Ok(());
            }
            self.is_brief &= self.changed;
        }
    }

    /// Marks a cell as written, and wakes the threads that look at it.
    fn wake(&mut self, cell: usize) {
        if self.is_new.has(cell) {
            return;
        }
        self.is_new |= NumberSet::one(cell);
        for (t, watched) in self.watched.iter().enumerate() {
            self.goes_on[t] |= watched.has(cell);
        }
        self.changed = true;
    }

    /// Returns the values that a cell can hold at present.
    fn now(&mut self, cell: usize) -> NumberSet {
        if let Some(values) = self.now.of(cell) {
            return values;
        }
        let values = self.numbers((self.reachability.now)(self.cell(cell)));
        self.now.set(cell, Some(values));
        values
    }

    /// Returns the same without the initial value and without the values that a thread has written by itself.
    fn by_others(&mut self, t: usize, cell: usize) -> NumberSet {
        if let Some(values) = self.by_others[t].of(cell) {
            return values;
        }
        let values = self.numbers((self.reachability.by_others)(self.cell(cell), t));
        self.by_others[t].set(cell, Some(values));
        values
    }

    fn cell(&self, cell: usize) -> Cell {
        self.reachability.known.borrow().cells.all()[cell]
    }

    fn numbers(&self, values: Vec<Val>) -> NumberSet {
        let mut known = self.reachability.known.borrow_mut();
        values.into_iter().map(|v| known.values.set(v)).collect()
    }

    /// Returns the values that a cell may hold.
    fn values(&mut self, cell: usize) -> NumberSet {
        let written = self.written.iter().fold(self.copied.of(cell), |all, written| all | written.of(cell));
        written | self.now(cell)
    }

    /// Returns the values that a thread may find in a cell. `own` are its writes since the state. The result excludes
    /// its later writes, because no value justifies itself, and the values that its last write hides. If `own` is
    /// `None`, or a copy wrote the cell, the result is any possible value.
    fn values_for(&mut self, t: usize, point: &'n ThreadState<'n>, own: Option<&Own>, cell: usize) -> NumberSet {
        let Some(own) = own.filter(|own| !own.contains(&(cell, None))) else { return self.values(cell) };
        let others = self.written.iter().enumerate().filter(|(u, _)| *u != t);
        let others = others.fold(self.copied.of(cell), |all, (_, written)| all | written.of(cell));
        let own = own.iter().filter(|(c, _)| *c == cell).filter_map(|(_, v)| *v).collect();
        let all = others | own | self.now(cell);
        let place = self.cell(cell);
        let Some(last) = last_write(point, place) else { return all };
        let fresh = others | self.numbers(vec![last]) | self.by_others(t, cell);
        let older: Vec<Val> = self.reachability.known.borrow().values.members(all & !fresh).collect();
        let found: Vec<Val> =
            older.into_iter().filter(|&v| !(self.reachability.is_hidden)(t, point, place, v)).collect();
        fresh | self.numbers(found)
    }

    /// Returns the possible results of the call at which a thread stands, and the values of the cells at which it
    /// looks.
    fn results(&mut self, t: usize, point: &'n ThreadState<'n>, own: Option<&Own>) -> (Vec<Val>, ReadCells) {
        let this = RefCell::new((self, SmallVec::new()));
        let cells = |cell: Cell| {
            let (search, read_cells) = &mut *this.borrow_mut();
            let number = search.reachability.known.borrow_mut().cells.number(cell);
            let values = search.values_for(t, point, own, number);
            if !read_cells.contains(&(number, values)) {
                read_cells.push((number, values));
            }
            search.reachability.known.borrow().values.members(values).collect()
        };
        let threads = this.borrow().0.reachability.threads;
        let results = threads.returns(Tid::from_index(t), point, &cells);
        (results, this.into_inner().1)
    }

    /// Returns the points that may come next.
    fn successors(&mut self, t: usize, point: &'n ThreadState<'n>, own: Option<&Own>) -> Rc<[&'n ThreadState<'n>]> {
        let reachability = self.reachability;
        let known =
            reachability.known.borrow().successors.get(&point.id).map(|n| (n.read_cells.clone(), Rc::clone(&n.points)));
        if let Some((read_cells, points)) = known
            && read_cells.into_iter().all(|(cell, values)| self.values_for(t, point, own, cell) == values)
        {
            return points;
        }
        let thread = Tid::from_index(t);
        let mut read_cells = SmallVec::new();
        let ways: Vec<(Val, usize)> = match &point.frontier {
            Frontier::Free(_, ways) => ways.clone(),
            Frontier::Reads(call) => {
                let (results, at) = self.results(t, point, own);
                read_cells = at;
                let shapes =
                    |ret: Val| (0..reachability.threads.shapes(thread, call, ret).len()).map(move |n| (ret, n));
                results.into_iter().flat_map(shapes).collect()
            }
            _ => Vec::new(),
        };
        let points: Rc<[_]> =
            ways.into_iter().map(|(ret, shape)| reachability.threads.after(point, thread, ret, shape)).collect();
        let successors = NextStates { read_cells, points: Rc::clone(&points) };
        reachability.known.borrow_mut().successors.insert(point.id, successors);
        points
    }

    /// True if nothing more about a thread matters for now.
    fn is_enough(&self, t: usize) -> bool {
        self.is_brief && self.ends[t] && !self.goes_on.contains(&false)
    }

    /// Follows a thread from a point. From the event with number `beyond` on, the point stands for all rounds beyond
    /// the bound. The number of rounds before it is unknown, so there the thread finds whatever it writes in any round.
    fn follow(
        &mut self,
        t: usize,
        point: &'n ThreadState<'n>,
        beyond: Option<usize>,
        own: &mut Own,
    ) -> Result<(), TooMuch> {
        *self.left = self.left.checked_sub(1).ok_or(TooMuch)?;
        match &point.frontier {
            Frontier::Ended => self.ends[t] = true,
            Frontier::Nowhere | Frontier::Discarded | Frontier::Never(_) | Frontier::Spins(_) | Frontier::Round(_) => {}
            // One more iteration is enough, because all iterations of a loop are one program.
            Frontier::Bound { remembered: false, start, .. } if beyond.is_some_and(|first| *start >= first) => {}
            Frontier::Repeats { .. } => {
                let next = self.reachability.threads.beyond(point, Tid::from_index(t));
                self.enter(t, (point, next), beyond, own)?;
            }
            Frontier::Bound { remembered: false, .. } => {
                let next = self.reachability.threads.beyond(point, Tid::from_index(t));
                self.enter(t, (point, next), beyond.or(Some(point.run().shapes.len())), own)?;
            }
            Frontier::Bound { .. } | Frontier::IllDefined(_) => return Err(TooMuch),
            Frontier::Free(..) | Frontier::Reads(_) => {
                let own_or_any = if beyond.is_some() { None } else { Some(&*own) };
                for next in self.successors(t, point, own_or_any).iter() {
                    if self.is_enough(t) {
                        break;
                    }
                    self.enter(t, (point, next), beyond, own)?;
                }
            }
        }
        Ok(())
    }

    /// Goes from one point to the next, if its reads are possible.
    fn enter(
        &mut self,
        t: usize,
        (point, next): (&'n ThreadState<'n>, &'n ThreadState<'n>),
        beyond: Option<usize>,
        own: &mut Own,
    ) -> Result<(), TooMuch> {
        let effects = self.reachability.effects(point, next);
        let mut reads = effects.reads.iter();
        if !reads.all(|&(cell, v, is_other)| !(self.values(cell) & if is_other { !v } else { v }).is_empty()) {
            return Ok(());
        }
        let before = own.len();
        for &(cell, v) in &effects.writes {
            self.changed |= self.written[t].add(cell, v);
            self.wake(cell);
            own.push((cell, Some(v)));
        }
        for link in &effects.copies {
            self.issue(link);
            own.push((link.to, None));
        }
        self.follow(t, next, beyond, own)?;
        own.truncate(before);
        Ok(())
    }

    fn issue(&mut self, link: &CellCopy<'n>) {
        let is_same = |a: &CellCopy<'n>| {
            let step = |l: &CellCopy<'n>| l.step.map(std::ptr::from_ref);
            (a.from, a.to, step(a)) == (link.from, link.to, step(link))
        };
        if !self.links.iter().any(|(known, is_issued)| *is_issued && is_same(known)) {
            self.links.push((*link, true));
            self.changed = true;
        }
        self.wake(link.to);
    }

    /// Carries values along copies. For copies that were issued before the state, it does so only if the cell that they
    /// read is new.
    fn spread(&mut self) -> Result<(), TooMuch> {
        for index in 0..self.links.len() {
            let (CellCopy { step, from, to }, is_issued) = self.links[index];
            if !is_issued && !self.is_new.has(from) {
                continue;
            }
            let values = self.values(from);
            let values = match step {
                Some(event) => self.step(event, values, to)?,
                None => values,
            };
            if self.copied.add(to, values) {
                self.changed = true;
                self.wake(to);
            }
        }
        Ok(())
    }

    /// Returns the results of an update of a cell on these values.
    fn step(&mut self, event: &Event, values: NumberSet, to: usize) -> Result<NumberSet, TooMuch> {
        let mut known = self.reachability.known.borrow_mut();
        let read: Vec<Val> = known.values.members(values).collect();
        let library = self.reachability.threads.libraries.of(&event.call);
        let made = read.into_iter().filter_map(|v| library.step(event, v)).map(|v| known.values.set(v)).collect();
        self.added += known.values.members(made & !self.copied.of(to)).count();
        if self.added > ADDED { Err(TooMuch) } else { Ok(made) }
    }
}

#[cfg(test)]
mod tests {
    use typed_arena::Arena;

    use super::*;
    use crate::ids::{Loc, Node};
    use crate::search::memory::{consistent, libraries, read, world, write};
    use crate::term::body::{Body, body};
    use crate::term::implementation::Implementations;

    /// Computes how far threads get from the beginnings of these programs. Each comes with a flag that says whether it
    /// waits. Words hold 0.
    fn reach(programs: &[(Body, bool)]) -> Reachable {
        let (libraries, world, points) = (libraries(consistent), world(programs.len()), Arena::new());
        let implementations = &Implementations::new();
        let (seen, rounds) = (RefCell::default(), 3);
        let (libraries, world, points) = (&libraries, &world, &points);
        let threads: Threads<'_, '_> =
            Threads { libraries, implementations, world, rounds, points, seen, waits: false };
        let start =
            |(t, (body, waits)): (usize, &(Body, bool))| (threads.start(Tid::from_index(t), &body.into()), *waits);
        let standing: Vec<_> = programs.iter().enumerate().map(start).collect();
        let reachability = Reachability {
            threads: &threads,
            known: &RefCell::default(),
            now: &|_| vec![Val::Int(0)],
            by_others: &|_, _| Vec::new(),
            is_hidden: &|_, _, _, _| false,
            left_out: &LeftOut::default(),
            standing: &standing,
        };
        reachability.reach(&[], false).expect("three threads are little work")
    }

    /// Writes x if y is 1.
    fn conditional(x: Loc, y: Loc) -> Body {
        body! { let v = read(y); if (v == 1) { write(x, 1) } }
    }

    /// P1 waits for x. P2 reads y and writes x if it read 1, and y is 0 unless P3 writes it.
    #[test]
    fn a_thread_waits_in_vain_where_no_thread_can_write_its_word() {
        let [x, y] = ["x", "y"].map(Loc::new);
        let alone = reach(&[(read(x), true), (conditional(x, y), false)]);
        assert_eq!((&alone.goes_on[..], &alone.ends[..]), (&[false, true][..], &[false, true][..]));
        assert!(!alone.writes(x.on(Node(1))));
        let third = body! { read(x); write(y, 1) };
        let together = reach(&[(read(x), true), (conditional(x, y), false), (third, false)]);
        assert_eq!((&together.goes_on[..], &together.ends[..]), (&[true; 3][..], &[true; 3][..]));
        assert!(together.writes(x.on(Node(1))) && together.writes(y.on(Node(1))));
    }

    /// The length of the back-off doubles with each state that needs too many points: one, two, four. A state within
    /// the limit resets it.
    #[test]
    fn states_are_skipped_twice_as_often_each_time() {
        let mut known = ReachabilityCache::default();
        let skipped = |known: &mut ReachabilityCache<'_>| {
            known.took(0, false);
            std::iter::from_fn(|| known.most().is_none().then_some(())).count()
        };
        assert_eq!([(); 3].map(|()| skipped(&mut known)), [1, 2, 4]);
        known.took(0, true);
        assert_eq!(skipped(&mut known), 1);
    }
}
