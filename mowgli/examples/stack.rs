//! A stack of one's own over x86-TSO: a list of nodes whose first one is swapped, as Treiber's.
//!
//! `Push(s, v)` puts a value on top, `Pop(s)` takes the top off, and returns bottom where there is none. The specification is
//! that of every stack over x86-TSO: linearisable. What is new is the implementation.

use mowgli_libraries::x86::container::{self, Container, declare_nodes, is_null, next, value};
use mowgli_libraries::x86::prelude::*;
use mowgli_x86::pool::new;

methods! {
    /// What can be done with a stack.
    enum Method of STACK = "stack" {
        /// `Push(s, v)`: puts v on top.
        fn push = Push(s: Object, v: Value);
        /// `Pop(s)`: takes the top off.
        fn pop = Pop(s: Object) -> Value;
    }
}

/// The implementation.
#[derive(Clone, Copy)]
struct Stack;

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
        let top = top(call.loc(0));
        match Method::of(call) {
            Method::Push { s, v } => prog! {
                let node = new(s);
                write(value(node), v);
                loop {
                    let first = read(top);
                    write(next(node), first);
                    let found = cas(top, first, node);
                    if (found == first) { break }
                }
            },
            // Reads the first node and the second, and lets the second be the first, until that succeeds.
            Method::Pop { .. } => prog! {
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
            },
        }
    }
}

/// The stack with its implementation, and the variants that are to be caught.
pub fn entry() -> Entry {
    let library = Container { name: STACK, methods: Method::TABLE, is_stack: true };
    // Another push may be lost.
    let push_writes =
        Stack.replace(calls!(Tso::CAS { x, v1, v2 } in Method::Push { .. } => write(x, v2).map(move |_| v1)));
    let value_late = Stack.delay(calls!(Tso::Write { .. } in Method::Push { .. }).first());
    let bounds = &[(2, 1, 2)];
    let variants = vec![
        variant("published", "compare and swap", Expected::Sound, Stack, bounds),
        variant("push-writes", "a push writes the top without comparing", Expected::Unsound, push_writes, bounds),
        variant("value-late", "a node gets its value when it is in the stack", Expected::Unsound, value_late, bounds),
    ];
    container::entry(library, variants)
}

mowgli::main!(entry());
