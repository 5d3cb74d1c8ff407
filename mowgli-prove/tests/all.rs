//! The tests without a solver, as one program.

mod encoding;
mod errors;
mod pairs;
mod templates;

mod common;
