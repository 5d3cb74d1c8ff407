//! Values of a read with which a thread goes on in one way.
//!
//! A thread waits until a counter is above 1. It does the same whether it then finds 2 or 3. So [`crate::search::flow`] takes one step for
//! both values. The read of this step has either value, from a write at any time.
//!
//! **Computes** the classes of a call that reads one cell and that waits. A class has at least two results of the call. The states
//! after them differ only in what the read found, and no specification sees the difference. A call waits if its loop goes on after
//! some other result. Only values that the cell can have somewhere in the search count.
//!
//! **Example.** Take `loop { let seen = read(x); if (seen > 1) { break } }`. If `x` can have the values 0 to 3, the class of the
//! read has the results 2 and 3.
//!
//! **Correct because** the step of a class has no window. Let an execution begin with the state, and let the read have a value of
//! the class. It agrees with this step, whatever the time of the source. So a thread that was suspended need not take the step
//! again. A value that is seen later may enlarge a class. The steps with the smaller class stay right, but more of them are needed.
//! Therefore the search starts again then, up to `RESTARTS` times. A run that ends stands for one run for each choice of values, and
//! [`crate::search::flow::Runs`] has all of these. The test is `on_waits_in_bodies` in `tests/tests/flow.rs`.
//!
//! **Cost.** Each state at a read gets a successor for each value of its cell, once.

use std::cell::{Cell as Mutable, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::algebra::SubView;
use crate::event::{Cell, Event, Reads, Shape};
use crate::ids::{Name, Tid};
use crate::library::Libraries;
use crate::search::numbers::Numbering;
use crate::search::prefix::{Ways, reads_of};
use crate::search::prepared::Prepared;
use crate::search::schema::Schema;
use crate::search::thread::{Frontier, ThreadState, Threads};
use crate::value::Val;
use crate::world::World;

/// The number of times that a search starts again because classes have grown.
const RESTARTS: usize = 32;

/// Results of a read with which a thread goes on in one way.
pub(crate) struct ReadClass<'n> {
    /// The state after one of them.
    pub point: &'n ThreadState<'n>,
    /// The results.
    pub ways: Ways,
}

/// The classes at a state, for a number of values of its cell.
type ClassesAt<'n> = (usize, Rc<[ReadClass<'n>]>);

/// The classes at the states of all threads.
pub(crate) struct ReadClasses<'n> {
    /// The sets and keys by which the specifications see a subevent.
    observers: Rc<Schema>,
    /// The values that each cell can have in some state of the search.
    seen: RefCell<BTreeMap<Cell, BTreeSet<Val>>>,
    /// The classes at each state that was asked about, by its number.
    known: RefCell<FxHashMap<usize, ClassesAt<'n>>>,
    /// These states with their threads, by the cell that they read.
    readers: RefCell<BTreeMap<Cell, Vec<(Tid, &'n ThreadState<'n>)>>>,
    /// The results in classes.
    numbers: RefCell<Numbering<(Val, usize)>>,
    have_grown: Mutable<bool>,
    restarts: Mutable<usize>,
}

impl<'n> ReadClasses<'n> {
    /// No classes, of calls of these libraries.
    pub fn new(libraries: &Libraries) -> Self {
        let names: Vec<Name> = libraries.names().collect();
        Self {
            observers: Prepared::of(libraries).schema(&names, 64),
            seen: RefCell::default(),
            known: RefCell::default(),
            readers: RefCell::default(),
            numbers: RefCell::default(),
            have_grown: Mutable::new(false),
            restarts: Mutable::new(0),
        }
    }

    /// True if the search is to start again, because a class that it has used is larger now.
    pub fn have_grown(&self) -> bool {
        self.have_grown.get()
    }

    /// Returns the same, and lets the search start again.
    pub fn restart(&self) -> bool {
        self.restarts.set(self.restarts.get() + 1);
        self.have_grown.take()
    }

    /// Notes values that a cell can have.
    pub fn see(&self, threads: &Threads<'_, 'n>, cell: Cell, values: &[Val]) {
        {
            let mut seen = self.seen.borrow_mut();
            let known = seen.entry(cell).or_default();
            if values.iter().all(|v| known.contains(v)) {
                return;
            }
            known.extend(values);
        }
        let readers = self.readers.borrow().get(&cell).cloned().unwrap_or_default();
        let size = |of: &[ReadClass<'n>]| of.iter().map(|class| class.ways.all.len()).sum::<usize>();
        for (thread, point) in readers {
            let before = self.known.borrow().get(&point.id).map_or(0, |(_, of)| size(of));
            let has_grown = size(&self.at(threads, thread, point, cell)) > before;
            self.have_grown.set(self.have_grown.get() || has_grown && self.restarts.get() < RESTARTS);
        }
    }

    /// Returns the classes of a call that reads this cell.
    pub fn at(
        &self,
        threads: &Threads<'_, 'n>,
        thread: Tid,
        point: &'n ThreadState<'n>,
        cell: Cell,
    ) -> Rc<[ReadClass<'n>]> {
        let values: Vec<Val> = self.seen.borrow().get(&cell).into_iter().flatten().copied().collect();
        let known = self.known.borrow().get(&point.id).map(|(count, classes)| (*count, Rc::clone(classes)));
        match known {
            Some((count, classes)) if count == values.len() => return classes,
            None => self.readers.borrow_mut().entry(cell).or_default().push((thread, point)),
            Some(_) => {}
        }
        let classes: Rc<[ReadClass<'n>]> = self.compute(threads, thread, point, (cell, &values)).into();
        self.known.borrow_mut().insert(point.id, (values.len(), Rc::clone(&classes)));
        classes
    }

    fn compute(
        &self,
        threads: &Threads<'_, 'n>,
        thread: Tid,
        point: &'n ThreadState<'n>,
        (cell, values): (Cell, &[Val]),
    ) -> Vec<ReadClass<'n>> {
        let Frontier::Reads(call) = &point.frontier else { return Vec::new() };
        let library = threads.libraries.of(call);
        let only_looks = |&ret: &Val| library.only_looks(&Event { thread, call: (**call).clone(), ret });
        let (mut classes, mut waits): (Vec<ReadClass<'n>>, bool) = (Vec::new(), false);
        for ret in threads.returns(thread, point, &|_| values.to_vec()).into_iter().filter(only_looks) {
            for (number, shape) in threads.shapes(thread, call, ret).iter().enumerate() {
                let next = threads.after(point, thread, ret, number);
                waits |= next.frontier == Frontier::Nowhere;
                if reads_of(shape, &[cell]) == 1 && goes_on(&next.frontier) {
                    self.add(threads.world, &mut classes, next, (ret, number));
                }
            }
        }
        classes.retain(|class| waits && class.ways.all.len() > 1);
        let mut numbers = self.numbers.borrow_mut();
        classes
            .iter_mut()
            .for_each(|class| class.ways.class = class.ways.all.iter().map(|&way| numbers.set(way)).collect());
        classes
    }

    /// Adds a result to its class.
    fn add(&self, world: &World, classes: &mut Vec<ReadClass<'n>>, next: &'n ThreadState<'n>, way: (Val, usize)) {
        for ReadClass { point, ways } in classes.iter_mut() {
            let Some((position, sub)) = point.differs_only_in_read(next) else { continue };
            let shapes = [point, &next].map(|p| &p.run().shapes[position]);
            let are_unseen = (0..shapes[0].len()).all(|i| {
                let view = |p: &'n ThreadState<'n>| SubView {
                    world,
                    event: &p.run().trace.events[position],
                    sub: &p.run().shapes[position][i],
                    nth: p.alike[position],
                };
                self.are_unseen(&view(point), &view(next))
            });
            if are_unseen {
                let [first, value] = shapes.map(|shape| value(shape, sub));
                let (_, values) = ways.read.get_or_insert_with(|| (sub, first.into_iter().collect()));
                values.extend(value);
                ways.all.push(way);
                return;
            }
        }
        classes.push(ReadClass { point: next, ways: Ways::one(way) });
    }

    /// True if no specification sees a difference of two subevents, except by the value that is read.
    fn are_unseen(&self, a: &SubView<'_>, b: &SubView<'_>) -> bool {
        let is_own = |of: usize| self.observers.names[of] == a.event.call.library;
        let mut sets = self.observers.sets.iter().filter(|(of, _)| is_own(*of));
        let mut keys = self.observers.keys.iter().filter(|(of, _)| is_own(*of));
        sets.all(|(_, set)| set.has(a) == set.has(b)) && keys.all(|(_, key)| key.of(a) == key.of(b))
    }
}

fn value(shape: &Shape, sub: usize) -> Option<Val> {
    if let Some(Reads::Is(v)) = shape[sub].reads { Some(v) } else { None }
}

/// True if an execution that ends may have a thread at this frontier.
fn goes_on(frontier: &Frontier) -> bool {
    !matches!(frontier, Frontier::Nowhere | Frontier::Discarded | Frontier::Never(_) | Frontier::Spins(_))
}
