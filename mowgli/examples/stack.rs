//! A stack of your own over x86-TSO: a list of nodes whose first node is swapped, like Treiber's.
//!
//! `Push(s, v)` puts a value on top; `Pop(s)` removes the top value and returns it, or bottom if the stack is empty.
//! The specification is that of every stack over x86-TSO: linearisability. Only the implementation is new.

use mowgli_libraries::x86::container::{self, Container, next, nodes_of, value};
use mowgli_libraries::x86::prelude::*;
use mowgli_x86::pool::Method as Pool;

methods! {
    /// Calls of a stack.
    enum Method of STACK = "stack" {
        /// `Push(s, v)`: puts v on top.
        fn push = Push(s: Object, v: Value);
        /// `Pop(s)`: takes the top off.
        fn pop = Pop(s: Object) -> Value;
    }
}

/// Returns the part of the stack that holds the location of the first node. Clients cannot name parts.
fn top(s: Expr) -> Expr {
    s.part("top", [])
}

fn bodies() -> Bodies {
    bodies! { Method:
        Push { s, v } => {
            let node = Pool::new(s);
            Tso::write(value(node), v);
            loop {
                let first = Tso::read(top(s));
                Tso::write(next(node), first);
                let found = Tso::cas(top(s), first, node);
                if (found == first) { break }
            }
        }
        // Reads the first and the second node, and makes the second the first, until the compare-and-swap succeeds.
        Pop { s } => {
            loop {
                let first = Tso::read(top(s));
                if (first == NULL) {
                    break Val::Bot
                } else {
                    let second = Tso::read(next(first));
                    let found = Tso::cas(top(s), first, second);
                    if (found == first) { let v = Tso::read(value(first)); break v }
                }
            }
        }
    }
}

/// Returns the stack with its implementation, and the variants that the check must reject.
pub fn entry() -> Entry {
    let library = Container { name: STACK, methods: Method::TABLE, is_stack: true };
    // Each thread has some nodes for each stack, which it gets by `new`.
    let stack = Over::<Method>::terms(bodies()).part("top", word()).with_parts(parts! { s => (nodes_of(s)); });
    // Another push may be lost.
    let push_writes =
        stack.clone().replace(calls!(Tso::CAS { x, v1, v2 } in Method::Push { .. } => body! { Tso::write(x, v2); v1 }));
    let value_late = stack.clone().delay(calls!(Tso::Write { .. } in Method::Push { .. }).first());
    let bounds = &[(2, 1, 2)];
    let variants = vec![
        variant("published", "compare and swap", Expected::Sound, stack, bounds),
        variant("push-writes", "a push writes the top without comparing", Expected::Unsound, push_writes, bounds),
        variant("value-late", "a node gets its value when it is in the stack", Expected::Unsound, value_late, bounds),
    ];
    container::entry(library, variants)
}

mowgli::main!(entry());
