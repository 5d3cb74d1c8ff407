//! The commands as tests run them.

use std::path::Path;
use std::process::Command;

#[path = "../../../mowgli/tests/common/program.rs"]
mod program;

use program::ran;
pub use program::{Ran, file};

/// The root of the repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The environment variable with which this program is the command `mowgli`.
const MOWGLI: &str = "THIS_PROGRAM_IS_MOWGLI";

/// True if this program is the command `mowgli`, and no test.
pub fn is_mowgli() -> bool {
    std::env::var_os(MOWGLI).is_some()
}

/// Returns the command `mowgli`, which finds `mowgli-verbs` on the path.
pub fn mowgli_command() -> Command {
    let folder = Path::new(env!("CARGO_BIN_EXE_mowgli-verbs")).parent().expect("a folder");
    let before = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([folder.to_owned()].into_iter().chain(std::env::split_paths(&before)));
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command.env(MOWGLI, "1").env("PATH", path.expect("a path"));
    command
}

/// Runs `mowgli` with these arguments.
pub fn mowgli(args: &[&str]) -> Ran {
    ran(mowgli_command().args(args))
}

/// Runs `mowgli-verbs` with these arguments.
pub fn verbs(args: &[&str]) -> Ran {
    ran(Command::new(env!("CARGO_BIN_EXE_mowgli-verbs")).args(args))
}
