//! The command as tests run it.

use std::process::Command;

#[path = "../../../../mowgli/tests/common/program.rs"]
mod program;

pub use program::{Ran, file};

/// Runs the command with these arguments.
pub fn fabric(args: &[&str]) -> Ran {
    program::ran(Command::new(env!("CARGO_BIN_EXE_mowgli-fabric")).args(args))
}

/// Asserts that these arguments are bad input, with an error that contains all of these texts.
#[track_caller]
pub fn is_bad(args: &[&str], said: &[&str]) {
    program::refuses(fabric, args, said);
}
