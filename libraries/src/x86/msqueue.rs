//! The queue of Michael and Scott: a list of nodes with a first one that is empty, and a tail that may lag behind.
//!
//! *Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms* (PODC 1996, Fig. 1). Nodes are used
//! once, so the counters of the figure, and the second look at head and tail that goes with them, are not needed.
//!
//! In the figure a thread that finds the tail lagging behind moves it on, which is what makes the queue lock-free. That
//! is [`MsQueue`]. The implementation that is checked by default waits for the thread that has linked its node
//! ([`waiting`]), so its loops only read. Iterations with effects are bounded, and guessed ones reach the bound.

use std::sync::{Arc, LazyLock};

use mowgli_core::expr::Expr;
use mowgli_core::ids::Name;
use mowgli_core::rewrite::edit::{Edited, Edits, calls};
use mowgli_core::term::body::{Bodies, bodies};
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::methods;
use mowgli_core::term::parts::{Parts, parts};
use mowgli_core::value::Val;
use mowgli_x86::pool::Method as Pool;
use mowgli_x86::tso::{Method as Tso, word_term};

use crate::entry::{Entry, Expected, variant};
use crate::x86::container::{self, Container, next, nodes_of, value, words_of};
use crate::x86::words::{NULL, without_comparing};

methods! {
    /// Calls of a queue.
    pub enum Method of MSQUEUE = "msqueue" {
        /// `Enq(x, v)`.
        fn enq = Enq(x: Object, v: Value);
        /// `Deq(x)` returns the oldest value or bottom.
        fn deq = Deq(x: Object) -> Value, fails;
    }
}

/// The queue as a library.
pub const LIBRARY: Container = Container { name: MSQUEUE, methods: Method::TABLE, is_stack: false };

/// The implementation.
#[derive(Clone, Copy, Debug, Default)]
pub struct MsQueue;

fn head(x: impl Into<Expr>) -> Expr {
    x.into().part("head", [])
}

fn tail(x: impl Into<Expr>) -> Expr {
    x.into().part("tail", [])
}

/// The node to begin with.
fn dummy(x: impl Into<Expr>) -> Expr {
    x.into().part("dummy", [])
}

impl Implementation for MsQueue {
    fn target(&self) -> Name {
        MSQUEUE
    }

    fn parts(&self) -> Option<&Parts> {
        Some(parts! { static x =>
            head(x) => word_term().init(dummy(x));
            tail(x) => word_term().init(dummy(x));
            (words_of(dummy(x)));
            (nodes_of(x));
        })
    }

    fn bodies(&self) -> Option<&Bodies> {
        static BODIES: LazyLock<Bodies> = LazyLock::new(|| {
            bodies! { Method:
                Enq { x, v } => {
                    let node = Pool::new(x);
                    Tso::write(value(node), v);
                    let last = loop {
                        let last = Tso::read(tail(x));
                        let after = Tso::read(next(last));
                        if (after == NULL) {
                            let found = Tso::cas(next(last), NULL, node);
                            if (found == NULL) { break last }
                        } else {
                            Tso::cas(tail(x), last, after)
                        }
                    };
                    Tso::cas(tail(x), last, node);
                }
                Deq { x } => {
                    loop {
                        let first = Tso::read(head(x));
                        let last = Tso::read(tail(x));
                        let second = Tso::read(next(first));
                        if (first == last) {
                            if (second == NULL) { break Val::Bot } else { Tso::cas(tail(x), last, second) }
                        } else {
                            // If there is no second node, the three reads do not belong together.
                            if (second != NULL) {
                                let v = Tso::read(value(second));
                                let found = Tso::cas(head(x), first, second);
                                if (found == first) { break v }
                            }
                        }
                    }
                }
            }
        });
        Some(&BODIES)
    }
}

/// A queue that waits for a tail that lags behind.
#[must_use]
pub fn waiting() -> Edited {
    MsQueue
        .without(calls!(Tso::CAS { x, .. } in Method::Enq { x: q, .. } if x == tail(q)).in_loops())
        .without(calls!(Tso::CAS { x, .. } in Method::Deq { x: q } if x == tail(q)))
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 1, 2)];
    let published = Arc::new(waiting());
    // Another node may be lost, and two may take one node.
    let link_writes = published.clone().replace(
        calls!(Tso::CAS { x, v1, v2 } in Method::Enq { .. } if v1 == NULL.into() => without_comparing(x, v1, v2)),
    );
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
