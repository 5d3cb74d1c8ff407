//! Litmus tests: the file format, and the computation of outcomes.
//!
//! [`parse`] reads a file into a [`test::Test`]; [`run`] finds all its outcomes.

pub(crate) mod answer;
pub(crate) mod callables;
pub mod condition;
pub mod core_rma;
pub mod machine;
pub mod model;
mod nesting;
pub mod notation;
pub mod order;
pub mod outside;
pub mod parse;
pub mod print;
pub(crate) mod program;
pub mod report;
pub mod run;
pub mod semantics;
mod semantics_of_models;
mod statements;
pub mod stuck;
pub mod test;
mod user_objects;
pub mod why_stuck;
pub mod x86;

pub use statements::reference;
