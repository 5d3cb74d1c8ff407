//! A program as tests run it.

use std::path::Path;
use std::process::{Command, Output};

/// The exit code of a run, and its output.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs a program.
pub fn ran(command: &mut Command) -> Ran {
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ran { code: status.code().expect("no signal"), out: text(stdout), err: text(stderr) }
}

/// Writes a file, and returns its path.
pub fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a temporary file");
    path.display().to_string()
}

/// Asserts that these arguments are bad input for a program: exit code 2, and an error that contains all of these texts. In a text with a
/// semicolon the help may follow.
#[allow(dead_code, reason = "not every program of tests asks")]
#[track_caller]
pub fn refuses(program: fn(&[&str]) -> Ran, args: &[&str], said: &[&str]) {
    let ran = program(args);
    assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
    let (message, help) = (ran.err.lines().next().unwrap_or_default(), ran.err.split_once("= help: "));
    let in_one = help.map(|(_, help)| format!("{message}; {help}")).unwrap_or_default();
    for text in said {
        assert!(ran.err.contains(text) || in_one.contains(text), "{args:?} does not say {text:?} but:\n{}", ran.err);
    }
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}
