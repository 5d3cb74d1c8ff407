//! Specifications that are not monotone, not decomposable or not satisfiable are caught.

use mowgli_core::algebra::{Spec, events, spec};
use mowgli_core::event::{Call, Event, Shape, Sub};
use mowgli_core::ids::{Loc, Tid};
use mowgli_core::library::{Hints, Libraries, Library, PlainSet};
use mowgli_core::soundness::client::Subject;
use mowgli_core::soundness::properties::{Properties, Specified, properties};
use mowgli_core::stamp::plain_stamps;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::method::{methods, named_by};
use mowgli_core::world::{Object, World};

/// The one stamp there is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Once {
    Tick,
}

plain_stamps!(Once: Tick);

methods! {
    /// Calls of a clock that only ticks.
    enum Method of TICKS = "ticks" {
        /// Ticks.
        fn tick = Tick(x: Object);
    }
}

/// `Tick(x)`, with one thing wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ticks {
    /// Nothing: ticks of one thread are ordered.
    Good,
    /// All ticks are to be ordered by hb: less hb disallows.
    Ordered,
    /// An even number of calls, whatever the object.
    Even,
    /// so goes from a tick to each later one, but over the next only: through those of other objects.
    ThroughOthers,
    /// A call never happens.
    Never,
}

impl Library for Ticks {
    named_by!(Method);

    fn shapes_by_function(&self, _: &World, _: &Event) -> Vec<Shape> {
        let happens = *self != Self::Never;
        happens.then(|| Shape::from([Sub::quiet(Once::Tick)])).into_iter().collect()
    }

    fn admitted(&self) -> PlainSet<'_> {
        match self {
            Self::Even => PlainSet::Where(Box::new(|_, events| events.len().is_multiple_of(2))),
            _ => PlainSet::All,
        }
    }

    fn spec(&self) -> Spec {
        let all = events(|_| true);
        match self {
            Self::Ordered => spec! { empty ordered = all * all - same_event - (hb | hb^-1); },
            Self::ThroughOthers => spec! {
                let over = po; po;
                say over = "{b} comes after {a}";
                so = over;
            },
            _ => spec! { so = po; },
        }
    }
}

impl Hints for Ticks {}

impl Subject for Ticks {
    fn worlds(&self, empty: &World, _: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let mut world = empty.clone();
        world.objects.extend(["x", "y"].map(|x| (Loc::new(x), Object::new(TICKS))));
        vec![world]
    }

    fn calls(&self, _: &World, _: Tid, _: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        ["x", "y"].map(|x| Method::Tick { x: Loc::new(x) }.into()).to_vec()
    }
}

fn of(ticks: Ticks) -> Properties {
    let specification = Libraries::over(|_, _: Once| false).with(ticks);
    let (expired, progress) = (&|| false, &|_: usize, _: usize| {});
    let specified = Specified { specification: &specification, library: TICKS, subject: &ticks, expired, progress };
    let bound =
        |threads, calls| Bound { threads, nodes: 1, calls, objects: 2, loops: 1, values: vec![1], ..Bound::default() };
    properties(&specified, &[bound(2, 2), bound(1, 3)])
}

#[test]
fn a_good_specification_has_all_properties() {
    let found = of(Ticks::Good);
    assert!(found.monotone.is_none() && found.decomposable.is_none() && found.with_the_same_so.is_none());
    assert!(found.unsatisfied.is_empty() && found.stop.is_none() && !found.sampled);
}

#[test]
fn less_hb_must_not_disallow() {
    let found = of(Ticks::Ordered);
    let instance = found.monotone.expect("not monotone");
    assert_eq!(instance.client.len(), 2, "two threads with a tick each");
}

#[test]
fn a_part_must_be_consistent_alone() {
    let instance = of(Ticks::Even).decomposable.expect("not decomposable");
    assert_eq!((instance.execution.events.len(), instance.part.len()), (2, 1));
}

#[test]
fn a_part_may_lose_what_came_about_through_others() {
    let found = of(Ticks::ThroughOthers);
    assert!(found.decomposable.is_none());
    let instance = found.with_the_same_so.expect("so goes through the other object");
    assert_eq!((instance.execution.events.len(), instance.part.len()), (3, 2));
}

#[test]
fn every_kind_of_event_must_occur() {
    assert!(!of(Ticks::Never).unsatisfied.is_empty());
}
