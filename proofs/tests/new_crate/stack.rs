//! The crate of `mowgli new --example stack`.

#[allow(dead_code, missing_docs, reason = "an example of its own")]
#[path = "../../../mowgli/examples/stack.rs"]
mod example;

#[path = "../../../mowgli/src/new/tests/stack.rs"]
mod tests;

use example::entry;
