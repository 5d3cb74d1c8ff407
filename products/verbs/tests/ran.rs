//! The commands as tests run them.

use std::path::Path;
use std::process::{Command, Output};

/// The root of the repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The environment variable with which this program is the command `mowgli`.
const MOWGLI: &str = "THIS_PROGRAM_IS_MOWGLI";

/// The exit code of a run, and its output.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

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

fn ran(command: &mut Command) -> Ran {
    let Output { status, stdout, stderr } = command.output().expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ran { code: status.code().expect("no signal"), out: text(stdout), err: text(stderr) }
}

/// Writes a file, and returns its path.
pub fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a temporary file");
    path.display().to_string()
}
