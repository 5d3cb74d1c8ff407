//! Litmus tests: the modules of `mowgli_check`, and those that only the command needs.
//!
//! [`parse`] reads a file into a [`test::Test`]; [`run`] finds all its outcomes; [`report`] prints them.

pub use mowgli_check::litmus::{
    condition, core_rma, machine, notation, outside, parse, print, reference, run, stuck, test,
};

#[cfg(not(target_family = "wasm"))]
pub mod order;
#[cfg(not(target_family = "wasm"))]
pub mod report;
#[cfg(feature = "page")]
pub mod x86;
