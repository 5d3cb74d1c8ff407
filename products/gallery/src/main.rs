//! The command mowgli with the gallery beside the libraries that are built in.

use std::process::ExitCode;

fn main() -> ExitCode {
    mowgli::main_with(mowgli_gallery::entries())
}
