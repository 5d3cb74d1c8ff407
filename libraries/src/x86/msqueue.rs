//! The queue of Michael and Scott: a list of nodes with a first one that is empty, and a tail that may lag behind.
//!
//! *Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms* (PODC 1996, Fig. 1). Nodes are used
//! once, so the counters of the figure, and the second look at head and tail that goes with them, are not needed.
//!
//! In the figure a thread that finds the tail lagging behind moves it on, which is what makes the queue lock-free. That is
//! [`MsQueue`]. The implementation that is checked by default waits for the thread that has linked its node ([`waiting`]), so
//! that its loops only look: rounds with effects are bounded, and in those that are guessed the bound is reached.

use std::sync::Arc;

use mowgli_core::edit::{Edited, Edits, calls};
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::method::methods;
use mowgli_core::program::{Prog, prog};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_x86::pool::new;
use mowgli_x86::tso::{Method as Tso, cas, read, word, write};

use crate::entry::{Entry, Expected, variant};
use crate::x86::container::{self, Container, declare_nodes, is_null, next, nodes, value};
use crate::x86::words::{NULL, without_comparing};

methods! {
    /// What can be done with a queue.
    pub enum Method of MSQUEUE = "msqueue" {
        /// `Enq(x, v)`.
        fn enq = Enq(x: Object, v: Value);
        /// `Deq(x)`: what was put in first or bottom.
        fn deq = Deq(x: Object) -> Value;
    }
}

/// The queue as a library.
pub const LIBRARY: Container = Container { name: MSQUEUE, methods: Method::TABLE, is_stack: false };

/// The implementation.
#[derive(Clone, Copy, Debug, Default)]
pub struct MsQueue;

/// Head, tail, and the node to begin with.
fn parts(x: Loc) -> [Loc; 3] {
    ["head", "tail", "dummy"].map(|role| x.part(role))
}

impl Implementation for MsQueue {
    fn target(&self) -> Name {
        MSQUEUE
    }

    fn declare(&self, world: &mut World) {
        declare_nodes(MSQUEUE, world);
        for x in world.locations(MSQUEUE) {
            let [head, tail, dummy] = parts(x);
            world.objects.extend([head, tail].map(|end| (end, word().init(dummy.into()))));
            world.objects.extend(nodes([dummy.into()]));
        }
    }

    fn body(&self, _: &World, _: Tid, call: &Call) -> Prog {
        match Method::of(call) {
            Method::Enq { x, v } => enqueue(x, v),
            Method::Deq { x } => dequeue(x),
        }
    }
}

fn enqueue(x: Loc, v: Val) -> Prog {
    let [_, tail, _] = parts(x);
    prog! {
        let node = new(x);
        write(value(node), v);
        let last = loop {
            let last = read(tail);
            let after = read(next(last));
            if (is_null(after)) {
                let found = cas(next(last), NULL, node);
                if (is_null(found)) { break last }
            } else {
                cas(tail, last, after)
            }
        };
        cas(tail, last, node);
        Prog::unit()
    }
}

fn dequeue(x: Loc) -> Prog {
    let [head, tail, _] = parts(x);
    prog! {
        loop {
            let first = read(head);
            let last = read(tail);
            let second = read(next(first));
            match (first == last, is_null(second)) {
                (true, true) => Prog::Break(1, Val::Bot),
                (true, false) => cas(tail, last, second),
                // The three do not belong together.
                (false, true) => Prog::unit(),
                (false, false) => prog! {
                    let v = read(value(second));
                    let found = cas(head, first, second);
                    if (found == first) { break v }
                },
            }
        }
    }
}

/// A queue that waits for a tail that lags behind.
#[must_use]
pub fn waiting() -> Edited {
    let tail = |x: Loc| parts(x)[1];
    MsQueue
        .without(calls!(Tso::CAS { x, .. } in Method::Enq { x: q, .. } if x == tail(q)).in_loops())
        .without(calls!(Tso::CAS { x, .. } in Method::Deq { x: q } if x == tail(q)))
}

/// What the catalogue says of it.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 1, 2)];
    let published = Arc::new(waiting());
    // Another node may be lost, and two may take one node.
    let link_writes = published
        .clone()
        .replace(calls!(Tso::CAS { x, v1: NULL, v2 } in Method::Enq { .. } => without_comparing(x, NULL, v2)));
    let head_writes =
        published.clone().replace(calls!(Tso::CAS { x, v1, v2 } in Method::Deq { .. } => without_comparing(x, v1, v2)));
    let value_late = published.clone().delay(calls!(Tso::Write { .. } in Method::Enq { .. }));
    let variants = vec![
        variant("published", "PODC 1996, Fig. 1, waiting for a tail that lags behind", Sound, published, bounds),
        variant("link-writes", "a node is linked without comparing", Unsound, link_writes, bounds),
        variant("head-writes", "the head is written without comparing", Unsound, head_writes, bounds),
        variant("value-late", "a node gets its value when it is in the queue", Unsound, value_late, bounds),
    ];
    container::entry(LIBRARY, variants)
}
