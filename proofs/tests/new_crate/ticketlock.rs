//! The crate of `mowgli new --example ticketlock`.

#[allow(dead_code, missing_docs, reason = "an example of its own")]
#[path = "../../../mowgli/examples/ticketlock.rs"]
mod example;

#[path = "../../../mowgli/src/new/tests/ticketlock.rs"]
mod tests;

use example::entry;
