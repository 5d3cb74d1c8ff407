//! The crate that `mowgli new` writes, its tests as they are written there.

extern crate self as my_library;

#[allow(dead_code, missing_docs, reason = "an example of its own")]
#[path = "../../mowgli/examples/flag.rs"]
mod flag;

#[path = "../../mowgli/src/new/bounded.rs"]
mod bounded;

pub use flag::entry;
