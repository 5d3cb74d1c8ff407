//! The stack of Treiber: a list of nodes whose first one is swapped.
//!
//! *Systems Programming: Coping with Parallelism* (IBM RJ 5118, 1986). Nodes are used once: one that is popped is not
//! pushed again, so a compare-and-swap does not take one node for another.

use std::sync::LazyLock;

use mowgli_core::expr::Expr;
use mowgli_core::ids::Name;
use mowgli_core::rewrite::edit::{Edits, calls};
use mowgli_core::term::body::{Bodies, bodies, body};
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::methods;
use mowgli_core::term::parts::{Parts, parts};
use mowgli_core::value::Val;
use mowgli_x86::pool::Method as Pool;
use mowgli_x86::tso::{Method as Tso, word_term};

use crate::entry::{Entry, Expected, variant};
use crate::x86::container::{self, Container, next, nodes_of, value};
use crate::x86::words::{NULL, without_comparing};

methods! {
    /// Calls of a stack.
    pub enum Method of TREIBER = "treiber" {
        /// `Push(x, v)`.
        fn push = Push(x: Object, v: Value);
        /// `Pop(x)` returns the newest value or bottom.
        fn pop = Pop(x: Object) -> Value, fails;
    }
}

/// The stack as a library.
pub const LIBRARY: Container = Container { name: TREIBER, methods: Method::TABLE, is_stack: true };

/// The implementation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Treiber;

fn top(x: impl Into<Expr>) -> Expr {
    x.into().part("top", [])
}

impl Implementation for Treiber {
    fn target(&self) -> Name {
        TREIBER
    }

    fn parts(&self) -> Option<&Parts> {
        Some(parts! { static x =>
            top(x) => word_term();
            (nodes_of(x));
        })
    }

    fn bodies(&self) -> Option<&Bodies> {
        static BODIES: LazyLock<Bodies> = LazyLock::new(|| {
            bodies! { Method:
                Push { x, v } => {
                    let node = Pool::new(x);
                    Tso::write(value(node), v);
                    loop {
                        let first = Tso::read(top(x));
                        Tso::write(next(node), first);
                        let found = Tso::cas(top(x), first, node);
                        if (found == first) { break }
                    }
                }
                Pop { x } => {
                    loop {
                        let first = Tso::read(top(x));
                        if (first == NULL) {
                            break Val::Bot
                        } else {
                            let second = Tso::read(next(first));
                            let found = Tso::cas(top(x), first, second);
                            if (found == first) { let v = Tso::read(value(first)); break v }
                        }
                    }
                }
            }
        });
        Some(&BODIES)
    }
}

/// A pop that does not check for a node, so it takes any value for a location.
#[must_use]
pub fn without_null_check() -> impl Implementation {
    Treiber.replace(calls!(Tso::Read { x } in Method::Pop { x: s } if x == top(s) => body! {
        let first = Tso::read(x);
        if (first == NULL) { -1 } else { first }
    }))
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 1, 2)];
    let [push, pop] = [
        calls!(Tso::CAS { x, v1, v2 } in Method::Push { .. } => without_comparing(x, v1, v2)),
        calls!(Tso::CAS { x, v1, v2 } in Method::Pop { .. } => without_comparing(x, v1, v2)),
    ];
    let value_late = Treiber.delay(calls!(Tso::Write { .. } in Method::Push { .. }).first());
    let variants = vec![
        variant("published", "IBM RJ 5118", Sound, Treiber, bounds),
        // Another push may be lost, and two pops may take one node.
        variant("push-writes", "a push writes the top without comparing", Unsound, Treiber.replace(push), bounds),
        variant("pop-writes", "a pop writes the top without comparing", Unsound, Treiber.replace(pop), bounds),
        variant("value-late", "a node gets its value when it is in the stack", Unsound, value_late, bounds),
    ];
    container::entry(LIBRARY, variants)
}
