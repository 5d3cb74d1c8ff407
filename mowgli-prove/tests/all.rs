//! The tests without a solver, as one program.

mod encoding;
mod templates;

mod common;
