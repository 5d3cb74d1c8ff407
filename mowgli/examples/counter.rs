//! An object of one's own over RDMA: a counter, kept under a node lock.
//!
//! `Add(x, v)` adds to the counter and returns what it was, `Get(x)` returns it. What the object does is said as a sequential
//! program, once; it is the specification, which promises that calls of all nodes take effect one after the other, and the
//! implementation, which gets the words, applies the call, and puts what has changed, all under a lock of the words' node.

use std::sync::Arc;

use mowgli_core::event::Call;
use mowgli_core::method::{self, methods};
use mowgli_core::value::Val;
use mowgli_libraries::entry::Entry;
use mowgli_libraries::sequential::{self, Sequential};

methods! {
    /// What can be done with a tally.
    enum Method of TALLY = "tally" {
        /// `Add(x, v)`: adds v, and returns what it was.
        fn add = Add(x: Object, v: Value) -> Value;
        /// `Get(x)`: what it is.
        fn get = Get(x: Object) -> Value;
    }
}

/// What the object does.
struct Tally;

impl Sequential for Tally {
    fn name(&self) -> &'static str {
        TALLY.text()
    }

    fn methods(&self) -> &'static [method::Method] {
        Method::TABLE
    }

    /// The state is one word, 0 to begin with.
    fn start(&self) -> Vec<Val> {
        vec![Val::Int(0)]
    }

    /// The state after a call, and what the call returns.
    fn apply(&self, words: &[Val], call: &Call) -> Option<(Vec<Val>, Val)> {
        let before = words[0];
        Some(match Method::of(call) {
            Method::Add { v, .. } => (vec![before.plus(v.int()?)?], before),
            Method::Get { .. } => (vec![before], before),
        })
    }
}

/// The counter with its implementation, and the variants that are to be caught: `no-lock`, `no-wait`, `release-first`.
pub fn entry() -> Entry {
    let object: Arc<dyn Sequential> = Arc::new(Tally);
    sequential::entry(&object)
}

mowgli::main!(entry());
