//! The crate of `mowgli new --example latch`.

#[allow(dead_code, missing_docs, reason = "an example of its own")]
#[path = "../../../mowgli/examples/latch.rs"]
mod example;

#[path = "../../../mowgli/src/new/tests/latch.rs"]
mod tests;

use example::entry;
pub(crate) use example::entry as example_entry;
