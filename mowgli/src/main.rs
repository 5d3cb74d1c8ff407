//! The `mowgli` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    mowgli::main_with([])
}
