//! The crate of `mowgli new --example counter`.

#[allow(dead_code, missing_docs, reason = "an example of its own")]
#[path = "../../../mowgli/examples/counter.rs"]
mod example;

#[path = "../../../mowgli/src/new/tests/counter.rs"]
mod tests;

use example::entry;
