//! Repairs of litmus tests and of the bodies of implementations.

pub use mowgli_check::repair::*;

pub mod bodies;
