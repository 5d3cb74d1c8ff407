//! A memory for unit tests: one stamp, which keeps program order, and words that are read and written.

use crate::algebra::{Rel, Spec};
use crate::event::{Event, Shape, Sub};
use crate::ids::{Loc, Node, Tid};
use crate::library::{Hints, Libraries, Library};
use crate::stamp::plain_stamps;
use crate::term::method::{methods, named_by};
use crate::world::{Object, World};

/// The only stamp.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Sc {
    Any,
}

plain_stamps!(Sc: Any);

methods! {
    pub(crate) enum Method of MEMORY = "memory" {
        /// Reads the word.
        fn read = Read(x: Object) -> Value;
        /// Writes the word.
        fn write = Write(x: Object, v: Value);
    }
}

/// The memory with the specification that this function writes.
pub(crate) struct TestMemory(pub fn(&mut Spec));

/// Writes the specification of sequential consistency: ppo, rf, mo and rb together have no cycle.
pub(crate) fn consistent(c: &mut Spec) {
    let [rf, mo, rb]: [Rel; 3] = c.coherence();
    c.so([&rf, &mo, &rb]);
}

impl Library for TestMemory {
    named_by!(Method);

    fn shapes_by_function(&self, _: &World, event: &Event) -> Vec<Shape> {
        let sub = match Method::of(&event.call) {
            Method::Read { x } => Sub::read(Sc::Any, x.on(Node(1)), event.ret),
            Method::Write { x, v } => Sub::write(Sc::Any, x.on(Node(1)), v),
        };
        vec![[sub].into()]
    }

    fn spec(&self) -> Spec {
        let mut spec = Spec::default();
        (self.0)(&mut spec);
        spec
    }
}

impl Hints for TestMemory {}

/// The memory alone, with the specification that this function writes.
pub(crate) fn libraries(specification: fn(&mut Spec)) -> Libraries {
    Libraries::over(|_, _: Sc| true).with(TestMemory(specification))
}

/// The words x and y, and so many threads.
pub(crate) fn world(threads: usize) -> World {
    let mut world = World::new(1, &vec![Node(1); threads]);
    world.objects.extend(["x", "y"].map(|name| (Loc::new(name), Object::new(MEMORY))));
    world
}

/// A call of the thread of this number, from 1, with its result.
pub(crate) fn event(thread: u8, method: Method, ret: impl Into<crate::value::Val>) -> Event {
    Event { thread: Tid(thread), call: method.into(), ret: ret.into() }
}
