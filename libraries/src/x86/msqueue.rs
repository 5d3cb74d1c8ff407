//! The queue of Michael and Scott: a list of nodes with a first one that is empty, and a tail that may lag behind.
//!
//! *Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms* (PODC 1996, Fig. 1). Nodes are used
//! once, so the counters of the figure, and the second look at head and tail that goes with them, are not needed.
//!
//! In the figure a thread that finds the tail lagging behind moves it on, which is what makes the queue lock-free. That is
//! [`MsQueue::Helping`]. The implementation that is checked by default waits for the thread that has linked its node, so
//! that its loops only look: rounds with effects are bounded, and in those that are guessed the bound is reached.

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::method::methods;
use mowgli_core::program::{Prog, prog};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_x86::Stamp;
use mowgli_x86::pool::new;
use mowgli_x86::tso::{cas, read, word, write};

use crate::catalogue::{Entry, Expected, variant};
use crate::x86::NULL;
use crate::x86::container::{self, Container, declare_nodes, is_null, next, nodes, value};

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

/// The implementation, or one of its broken variants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MsQueue {
    /// As published, but it waits for a tail that lags behind.
    #[default]
    Waiting,
    /// As published.
    Helping,
    /// A node is linked by a write: another one may be lost.
    LinkWrites,
    /// The head is written without comparing: two may take one node.
    HeadWrites,
    /// A node gets its value when it is in the queue already.
    ValueLate,
}

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
            Method::Enq { x, v } => self.enqueue(x, v),
            Method::Deq { x } => self.dequeue(x),
        }
    }
}

impl MsQueue {
    /// What is done about a tail that lags behind.
    fn lagging(self, tail: Loc, last: Val, after: Val) -> Prog {
        if self == Self::Helping { cas(tail, last, after) } else { Prog::unit() }
    }

    fn enqueue(self, x: Loc, v: Val) -> Prog {
        let [_, tail, _] = parts(x);
        let link = move |last: Val, node: Val| match self {
            Self::LinkWrites => write(next(last), node).then(Prog::Val(NULL)),
            _ => cas(next(last), NULL, node),
        };
        let append = move |node: Val| {
            let linked = prog! {
                let last = read(tail);
                let after = read(next(last));
                if is_null(after) {
                    prog! {
                        let found = link(last, node);
                        if is_null(found) { Prog::Break(1, last) } else { Prog::unit() }
                    }
                } else {
                    self.lagging(tail, last, after)
                }
            }
            .repeat();
            prog! { let last = linked.clone(); cas(tail, last, node) }
        };
        new(x)
            .bind(move |node| match self {
                Self::ValueLate => prog! { append(node); write(value(node), v) },
                _ => prog! { write(value(node), v); append(node) },
            })
            .then(Prog::unit())
    }

    fn dequeue(self, x: Loc) -> Prog {
        let [head, tail, _] = parts(x);
        let take = move |first: Val, second: Val| match self {
            Self::HeadWrites => write(head, second).then(Prog::Val(first)),
            _ => cas(head, first, second),
        };
        prog! {
            let first = read(head);
            let last = read(tail);
            let second = read(next(first));
            match (first == last, is_null(second)) {
                (true, true) => Prog::Break(1, Val::Bot),
                (true, false) => self.lagging(tail, last, second),
                // The three do not belong together.
                (false, true) => Prog::unit(),
                (false, false) => prog! {
                    let v = read(value(second));
                    let found = take(first, second);
                    if found == first { Prog::Break(1, v) } else { Prog::unit() }
                },
            }
        }
        .repeat()
    }
}

/// What the catalogue says of it.
#[must_use]
pub fn entry() -> Entry<Stamp> {
    use Expected::{Sound, Unsound};
    let of = |name, about, expected, queue: MsQueue| variant(name, about, expected, queue, &[(2, 1, 2)]);
    let variants = vec![
        of("published", "PODC 1996, Fig. 1, waiting for a tail that lags behind", Sound, MsQueue::Waiting),
        of("link-writes", "a node is linked without comparing", Unsound, MsQueue::LinkWrites),
        of("head-writes", "the head is written without comparing", Unsound, MsQueue::HeadWrites),
        of("value-late", "a node gets its value when it is in the queue", Unsound, MsQueue::ValueLate),
    ];
    container::entry(LIBRARY, variants)
}
