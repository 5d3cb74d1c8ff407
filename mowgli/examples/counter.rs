//! An object of your own over RDMA: a counter, kept under a node lock.
//!
//! `Add(x, v)` adds to the counter and returns its old value; `Get(x)` returns its value. A sequential program states
//! the effect of each call once. It is the specification, which promises that calls of all nodes take effect one after
//! the other. It is also the implementation, which takes a lock of the words' node, gets the words, applies the call,
//! and puts the changed words.

use std::sync::Arc;

use mowgli_core::expr::Expr;
use mowgli_core::term::method::{self, methods};
use mowgli_core::value::Val;
use mowgli_libraries::entry::Entry;
use mowgli_libraries::sequential::{self, Case, Sequential};

methods! {
    /// Calls of a tally.
    enum Method of TALLY = "tally" {
        /// `Add(x, v)`: adds v, and returns what it was.
        fn add = Add(x: Object, v: Value) -> Value;
        /// `Get(x)`: what it is.
        fn get = Get(x: Object) -> Value;
    }
}

/// The counter as a sequential program.
struct Tally;

impl Sequential for Tally {
    fn name(&self) -> &'static str {
        TALLY.text()
    }

    fn methods(&self) -> &'static [method::Method] {
        Method::TABLE
    }

    /// Returns the initial state: one word, 0.
    fn start(&self) -> Vec<Val> {
        vec![Val::Int(0)]
    }

    /// Returns the effect of a call on the word, and the result of the call.
    fn cases(&self, method: &str, words: &[Expr], args: &[Expr]) -> Vec<Case> {
        let before = words[0];
        vec![match method {
            "Add" => Case::new(true, &[(0, before + args[1])], before),
            _ => Case::new(true, &[], before),
        }]
    }
}

/// Returns the counter with its implementation, and the variants that the check must reject: `no-lock`, `no-wait`,
/// `release-first`.
pub fn entry() -> Entry {
    let object: Arc<dyn Sequential> = Arc::new(Tally);
    sequential::entry(&object)
}

mowgli::main!(entry());
