//! Stores of a few events of [`TestMemory`](crate::search::memory::TestMemory), with values as numbers.

use super::*;
use crate::algebra::{Spec, po, reads, writes};
use crate::event::Event;
use crate::ids::Loc;
use crate::search::memory::{MEMORY, Method, consistent, event, libraries, world};
use crate::search::relation::Matrix;

fn write(thread: u8, x: &str, v: i64) -> Event {
    event(thread, Method::Write { x: Loc::new(x), v: v.into() }, Val::Unit)
}

fn read(thread: u8, x: &str) -> Event {
    event(thread, Method::Read { x: Loc::new(x) }, 0)
}

fn empty(libraries: &Libraries) -> ConstraintStore {
    ConstraintStore::new(libraries, 2, &[MEMORY], 8)
}

/// Adds events, of one subevent each. A read returns any value, and a write one of its own.
fn add(store: &mut ConstraintStore, libraries: &Libraries, events: &[Event]) {
    let world = world(2);
    for event in events {
        let sub = libraries.of(&event.call).shapes(&world, event)[0][0];
        let s = store.len();
        let writes = if sub.writes.is_some() { NumberSet::one(s + 1) } else { NumberSet::ALL };
        let view = SubView { world: &world, event, sub: &sub, nth: s };
        let place = GraphSub { event: s, base: s, thread: event.thread.index(), sub };
        store.add(
            libraries,
            &NewSub { view, place, birth: 0, until: 0, init: NumberSet::one(0), values: (NumberSet::ALL, writes) },
        );
    }
}

fn whole(specification: fn(&mut Spec), events: &[Event]) -> ConstraintStore {
    let libraries = libraries(specification);
    let mut store = empty(&libraries);
    add(&mut store, &libraries, events);
    store.complete();
    store
}

fn propagates(store: &mut ConstraintStore) -> bool {
    store.propagate(|_, _| true)
}

/// The initial write is before the write of the thread, so a later read of the thread does not find it. It may find the other write.
#[test]
fn what_breaks_a_demand_is_no_source() {
    let mut store = whole(consistent, &[write(1, "x", 1), read(1, "x"), write(2, "x", 2)]);
    assert!(propagates(&mut store));
    assert_eq!(store.sources(0, 1)[..], [Source::Write(0), Source::Write(2)]);
}

#[test]
fn the_last_source_is_decided() {
    let mut store = whole(consistent, &[write(1, "x", 1), write(1, "x", 2), read(1, "x")]);
    assert!(propagates(&mut store));
    assert_eq!(store.domains.sources[2], Source::Write(1));
    assert_eq!(store.domains.reads[2], store.domains.writes[1]);
}

/// The pair of the write and the read is in `po - rf` unless the read has this source. Nothing is known before the source is.
#[test]
fn a_difference_grows_once_its_subtrahend_is_known() {
    let specification = |c: &mut Spec| {
        let (rf, _) = c.reads_from("rf", reads(), writes());
        c.empty("each read in po after a write is in rf", &(po() - rf));
    };
    let decided = |source| {
        let mut store = whole(specification, &[write(1, "x", 1), read(1, "x")]);
        store.is_thorough = true;
        assert!(propagates(&mut store));
        store.decide(0, 1, source);
        propagates(&mut store)
    };
    assert!(decided(Source::Write(0)));
    assert!(!decided(Source::Initial));
}

/// Returns the pairs of all relations, and the domains.
fn facts(store: &ConstraintStore) -> (Vec<Matrix>, Domains) {
    ((0..store.net.relations()).map(|r| store.net.matrix(r)).collect(), store.domains.clone())
}

#[test]
fn what_is_undone_leaves_no_trace() {
    let libraries = libraries(consistent);
    let [first, undone, second] =
        [[write(1, "x", 1), read(1, "y")], [write(2, "x", 2), read(2, "y")], [write(2, "y", 2), read(2, "x")]];
    let mut fresh = empty(&libraries);
    add(&mut fresh, &libraries, &first);
    assert!(propagates(&mut fresh));
    let before = facts(&fresh);
    let mut store = empty(&libraries);
    add(&mut store, &libraries, &first);
    assert!(propagates(&mut store));
    let snapshot = store.snapshot();
    add(&mut store, &libraries, &undone);
    store.decide(0, 3, Source::Initial);
    propagates(&mut store);
    store.restore(snapshot);
    assert_eq!(facts(&store), before);
    for store in [&mut store, &mut fresh] {
        add(store, &libraries, &second);
        assert!(propagates(store));
    }
    assert_eq!(facts(&store), facts(&fresh));
}

/// The store has no bound on subevents: this one has rows of three words.
#[test]
fn sets_have_as_many_words_as_they_need() {
    let libraries = libraries(consistent);
    let mut store = ConstraintStore::new(&libraries, 2, &[MEMORY], 150);
    let writes: Vec<Event> = (0..149).map(|v| write(1, "x", v % 3)).collect();
    add(&mut store, &libraries, &writes);
    add(&mut store, &libraries, &[read(1, "x")]);
    store.complete();
    assert!(propagates(&mut store));
    assert_eq!(store.domains.sources[149], Source::Write(148));
}
