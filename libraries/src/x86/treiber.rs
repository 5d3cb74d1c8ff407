//! The stack of Treiber: a list of nodes whose first one is swapped.
//!
//! *Systems Programming: Coping with Parallelism* (IBM RJ 5118, 1986). Nodes are used once: one that is popped is not
//! pushed again, so a compare-and-swap does not take one node for another.

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
use crate::x86::container::{self, Container, declare_nodes, is_null, next, value};

methods! {
    /// What can be done with a stack.
    pub enum Method of TREIBER = "treiber" {
        /// `Push(x, v)`.
        fn push = Push(x: Object, v: Value);
        /// `Pop(x)`: what was pushed last or bottom.
        fn pop = Pop(x: Object) -> Value;
    }
}

/// The stack as a library.
pub const LIBRARY: Container = Container { name: TREIBER, methods: Method::TABLE, is_stack: true };

/// The implementation, or one of its broken variants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Treiber {
    /// As published.
    #[default]
    Published,
    /// A push writes the top without comparing: another push may be lost.
    PushWrites,
    /// A pop writes the top without comparing: two pops may take one node.
    PopWrites,
    /// A node gets its value when it is in the stack already.
    ValueLate,
    /// A pop does not look whether there is a node.
    NoNullCheck,
}

fn top(x: Loc) -> Loc {
    x.part("top")
}

impl Implementation for Treiber {
    fn target(&self) -> Name {
        TREIBER
    }

    fn declare(&self, world: &mut World) {
        declare_nodes(TREIBER, world);
        world.objects.extend(world.locations(TREIBER).into_iter().map(|x| (top(x), word())));
    }

    fn body(&self, _: &World, _: Tid, call: &Call) -> Prog {
        match Method::of(call) {
            Method::Push { x, v } => self.push(x, v),
            Method::Pop { x } => self.pop(top(x)),
        }
    }
}

impl Treiber {
    fn push(self, x: Loc, v: Val) -> Prog {
        let top = top(x);
        let link = move |n: Val| match self {
            Self::PushWrites => prog! { let first = read(top); write(next(n), first); write(top, n) },
            _ => prog! {
                loop {
                    let first = read(top);
                    write(next(n), first);
                    let found = cas(top, first, n);
                    if (found == first) { break }
                }
            },
        };
        new(x)
            .bind(move |n| match self {
                Self::ValueLate => prog! { link(n); write(value(n), v) },
                _ => prog! { write(value(n), v); link(n) },
            })
            .then(Prog::unit())
    }

    fn pop(self, top: Loc) -> Prog {
        let take = move |first: Val, second: Val| match self {
            Self::PopWrites => write(top, second).then(Prog::Val(first)),
            _ => cas(top, first, second),
        };
        prog! {
            loop {
                let first = read(top);
                if (is_null(first) && self != Self::NoNullCheck) {
                    break Val::Bot
                } else {
                    let second = read(next(first));
                    let found = take(first, second);
                    if (found == first) { let v = read(value(first)); break v }
                }
            }
        }
    }
}

/// What the catalogue says of it.
#[must_use]
pub fn entry() -> Entry<Stamp> {
    use Expected::{Sound, Unsound};
    let of = |name, about, expected, stack: Treiber| variant(name, about, expected, stack, &[(2, 1, 2)]);
    let variants = vec![
        of("published", "IBM RJ 5118", Sound, Treiber::Published),
        of("push-writes", "a push writes the top without comparing", Unsound, Treiber::PushWrites),
        of("pop-writes", "a pop writes the top without comparing", Unsound, Treiber::PopWrites),
        of("value-late", "a node gets its value when it is in the stack", Unsound, Treiber::ValueLate),
    ];
    container::entry(LIBRARY, variants)
}
