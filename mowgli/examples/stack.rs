//! A stack of one's own over x86-TSO: a list of nodes whose first one is swapped, as Treiber's.
//!
//! `Push(s, v)` puts a value on top, `Pop(s)` takes the top off, and returns bottom where there is none. The specification is
//! that of every stack over x86-TSO: linearisable. What is new is the implementation.

use std::process::ExitCode;

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::method::methods;
use mowgli_core::program::{Prog, prog};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::catalogue::{Entry, Expected, variant};
use mowgli_libraries::x86::container::{self, Container, declare_nodes, is_null, next, value};
use mowgli_x86::Stamp;
use mowgli_x86::pool::new;
use mowgli_x86::tso::{cas, read, word, write};

methods! {
    /// What can be done with a stack.
    enum Method of STACK = "stack" {
        /// `Push(s, v)`: puts v on top.
        fn push = Push(s: Object, v: Value);
        /// `Pop(s)`: takes the top off.
        fn pop = Pop(s: Object) -> Value;
    }
}

/// The implementation, or what can go wrong with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stack {
    Published,
    /// A push writes the top without comparing: another push may be lost.
    PushWrites,
    /// A node gets its value when it is in the stack already.
    ValueLate,
}

/// The word that holds the location of the first node: a part of the stack, which no client can name.
fn top(s: Loc) -> Loc {
    s.part("top")
}

impl Implementation for Stack {
    fn target(&self) -> Name {
        STACK
    }

    /// A word for the top, and for each thread some nodes, which it gets by `new`.
    fn declare(&self, world: &mut World) {
        declare_nodes(STACK, world);
        world.objects.extend(world.locations(STACK).into_iter().map(|s| (top(s), word())));
    }

    fn body(&self, _: &World, _: Tid, call: &Call) -> Prog {
        match Method::of(call) {
            Method::Push { s, v } => self.push(s, v),
            Method::Pop { s } => take_top(top(s)),
        }
    }
}

impl Stack {
    fn push(self, s: Loc, v: Val) -> Prog {
        let link = move |node: Val| match self {
            Self::PushWrites => prog! { let first = read(top(s)); write(next(node), first); write(top(s), node) },
            _ => prog! {
                loop {
                    let first = read(top(s));
                    write(next(node), first);
                    let found = cas(top(s), first, node);
                    if (found == first) { break }
                }
            },
        };
        prog! {
            let node = new(s);
            if (self == Self::ValueLate) { link(node); write(value(node), v) } else { write(value(node), v); link(node) };
            Prog::unit()
        }
    }
}

/// Reads the first node and the second, and lets the second be the first, until that succeeds.
fn take_top(top: Loc) -> Prog {
    prog! {
        loop {
            let first = read(top);
            if (is_null(first)) {
                break Val::Bot
            } else {
                let second = read(next(first));
                let found = cas(top, first, second);
                if (found == first) { let v = read(value(first)); break v }
            }
        }
    }
}

/// The stack with its implementation, and the variants that are to be caught.
pub fn entry() -> Entry<Stamp> {
    let library = Container { name: STACK, methods: Method::TABLE, is_stack: true };
    let of = |name, about, expected, implementation| variant(name, about, expected, implementation, &[(2, 1, 2)]);
    let variants = vec![
        of("published", "compare and swap", Expected::Sound, Stack::Published),
        of("push-writes", "a push writes the top without comparing", Expected::Unsound, Stack::PushWrites),
        of("value-late", "a node gets its value when it is in the stack", Expected::Unsound, Stack::ValueLate),
    ];
    container::entry(library, variants)
}

fn main() -> ExitCode {
    mowgli::main_with([entry().into()])
}
