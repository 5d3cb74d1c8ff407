//! Results that depend on the libraries alone, kept from one client to the next.
//!
//! A check asks about thousands of clients over the same libraries. The network of relations is the same for all of them. So is the
//! answer whether two stamps are always in order. Computing both again took a fifth of the time of a check. Each thread keeps the
//! results for the libraries that it used last, because a network is not shared between threads.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::ids::Name;
use crate::library::Libraries;
use crate::search::schema::Schema;
use crate::stamp::Stamp;

/// The number of sets of libraries for which a thread keeps results. A check has two: those of the specification, and those
/// below the implementation.
const KEPT: usize = 8;

thread_local! {
    /// The last used one comes last.
    static PREPARED: RefCell<Vec<Rc<Prepared>>> = const { RefCell::new(Vec::new()) };
}

/// The position of two different subevents relative to each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RelativePosition {
    /// In one thread, the first one earlier.
    Before,
    /// In one thread, the first one later.
    After,
    /// In one event.
    OneEvent,
    /// In two threads.
    Apart,
}

/// Two different subevents of one library, of which only the stamps are known.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct StampEdge {
    pub library: Name,
    pub stamps: [Stamp; 2],
    /// Whether the second subevent reads from the first one.
    pub rf: bool,
    pub position: RelativePosition,
}

/// Whether each stamp of a question, by its position among [`Libraries::stamps`] and further ones, is in order with one stamp.
pub(crate) struct StampNeighbours {
    /// Whether it is before that stamp.
    pub before: Vec<bool>,
    /// Whether it is after it.
    pub after: Vec<bool>,
}

impl StampNeighbours {
    fn new(libraries: &Libraries, nodes: u8, more: &[Stamp], stamp: Stamp) -> Self {
        let stamps = [&libraries.stamps(nodes), more].concat();
        Self {
            before: stamps.iter().map(|&a| libraries.to(a, stamp)).collect(),
            after: stamps.iter().map(|&b| libraries.to(stamp, b)).collect(),
        }
    }
}

/// The relations of some of the libraries, for each number of subevents.
type Schemas = BTreeMap<(Vec<Name>, usize), Rc<Schema>>;

/// The neighbours of stamps, by the number of nodes, the stamps beside those of the libraries, and the stamp.
type Neighbours = FxHashMap<(u8, Vec<Stamp>, Stamp), Rc<StampNeighbours>>;

/// Some libraries, with results that depend on nothing else.
pub(crate) struct Prepared {
    libraries: Libraries,
    schemas: RefCell<Schemas>,
    is_in_order: RefCell<FxHashMap<StampEdge, bool>>,
    neighbours: RefCell<Neighbours>,
}

impl Prepared {
    /// Returns the results that this thread keeps for these libraries.
    pub fn of(libraries: &Libraries) -> Rc<Self> {
        PREPARED.with_borrow_mut(|kept| {
            let known = kept.iter().position(|prepared| prepared.libraries.is_same(libraries));
            let prepared = known.map_or_else(|| Rc::new(Self::new(libraries.clone())), |at| kept.remove(at));
            if kept.len() == KEPT {
                kept.remove(0);
            }
            kept.push(Rc::clone(&prepared));
            prepared
        })
    }

    fn new(libraries: Libraries) -> Self {
        Self { libraries, schemas: RefCell::default(), is_in_order: RefCell::default(), neighbours: RefCell::default() }
    }

    /// Returns the relations of these libraries for up to `capacity` subevents.
    pub fn schema(&self, names: &[Name], capacity: usize) -> Rc<Schema> {
        let mut schemas = self.schemas.borrow_mut();
        let new = || Rc::new(Schema::new(&self.libraries, names, capacity));
        Rc::clone(schemas.entry((names.to_vec(), capacity)).or_insert_with(new))
    }

    /// Returns the neighbours of a stamp in a network of so many nodes, among its stamps and `more`.
    pub fn neighbours(&self, nodes: u8, more: &[Stamp], stamp: Stamp) -> Rc<StampNeighbours> {
        let new = || Rc::new(StampNeighbours::new(&self.libraries, nodes, more, stamp));
        Rc::clone(self.neighbours.borrow_mut().entry((nodes, more.to_vec(), stamp)).or_insert_with(new))
    }

    /// Returns whether an edge is always in order, which `compute` finds out if this is not known yet.
    pub fn is_in_order(&self, edge: StampEdge, compute: impl FnOnce() -> bool) -> bool {
        *self.is_in_order.borrow_mut().entry(edge).or_insert_with(compute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::memory::{MEMORY, libraries};

    #[test]
    fn other_specifications_have_other_relations() {
        let plain = libraries(|_| {});
        let ordered = libraries(|spec| {
            let [rf, mo, rb] = spec.coherence();
            spec.so([&rf, &mo, &rb]);
        });
        let relations = |of: &Libraries| Prepared::of(of).schema(&[MEMORY], 4).net.relations();
        assert!(relations(&plain) < relations(&ordered));
        assert!(Rc::ptr_eq(&Prepared::of(&plain), &Prepared::of(&plain.clone())));
        assert!(!Rc::ptr_eq(&Prepared::of(&plain), &Prepared::of(&plain.clone().respecified(MEMORY, |_| {}))));
    }

    #[test]
    fn only_the_last_used_libraries_are_kept() {
        let first = libraries(|_| {});
        let prepared = Rc::downgrade(&Prepared::of(&first));
        let others: Vec<Libraries> = (0..KEPT).map(|_| libraries(|_| {})).collect();
        others.iter().for_each(|other| drop(Prepared::of(other)));
        assert!(prepared.upgrade().is_none());
        assert_eq!(PREPARED.with_borrow(Vec::len), KEPT);
    }
}
