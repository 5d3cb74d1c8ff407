//! The command `mowgli-fabric`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mowgli_fabric::command::main_with([])
}
