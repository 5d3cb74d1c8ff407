//! The tests that need no solver, as one program.

mod encoding;
mod templates;

mod common;
