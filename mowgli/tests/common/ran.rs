//! The command as tests run it.

use std::path::Path;
use std::process::{Command, Output};

/// The exit code of a run, and its output.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs the command with these arguments.
pub fn mowgli(args: &[&str]) -> Ran {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_mowgli")).args(args).output().expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ran { code: status.code().expect("no signal"), out: text(stdout), err: text(stderr) }
}

/// Writes a file, and returns its path.
pub fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a temporary file");
    path.display().to_string()
}

/// Asserts that these arguments are bad input: exit code 2, and an error that contains all of these texts. In a text with a
/// semicolon the help may follow.
#[track_caller]
pub fn is_bad(args: &[&str], said: &[&str]) {
    let ran = mowgli(args);
    assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
    let (message, help) = (ran.err.lines().next().unwrap_or_default(), ran.err.split_once("= help: "));
    let in_one = help.map(|(_, help)| format!("{message}; {help}")).unwrap_or_default();
    for text in said {
        assert!(ran.err.contains(text) || in_one.contains(text), "{args:?} does not say {text:?} but:\n{}", ran.err);
    }
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

/// Returns the commands that the first screen lists, but for `help`. The first twelve have a description.
#[allow(dead_code, reason = "not every program of tests asks")]
pub fn command_names(help: &str) -> Vec<&str> {
    let (_, commands) = help.split_once("About a library:").expect("groups");
    let commands = commands.split("Installed programs").next().and_then(|text| text.split("Options:").next());
    let (first, more) = commands.and_then(|text| text.split_once("More commands:")).expect("more commands");
    let first = first.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let more = more.split([',', '\n']).map(str::trim).filter(|name| !name.is_empty() && *name != "help");
    assert_eq!(first.clone().count(), 12, "{help}");
    first.chain(more).collect()
}
