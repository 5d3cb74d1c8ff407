//! Litmus tests: the file format, and what is computed for a file.
//!
//! [`parse`] reads a file into a [`test::Test`]; [`run`] finds all its outcomes; [`report`] prints them.

pub mod condition;
pub mod core_rma;
pub mod order;
pub mod parse;
pub mod print;
pub mod report;
pub mod run;
pub mod test;
pub mod x86;
