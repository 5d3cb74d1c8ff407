//! The command as tests run it.

use std::process::Command;

#[path = "program.rs"]
mod program;

pub use program::{Ran, file};

/// Runs the command with these arguments.
pub fn mowgli(args: &[&str]) -> Ran {
    program::ran(Command::new(env!("CARGO_BIN_EXE_mowgli")).args(args))
}

/// Runs the command, and asserts that it ends with a code and prints all of these texts.
#[allow(dead_code, reason = "not every program of tests asks")]
#[track_caller]
pub fn tells(args: &[&str], code: i32, said: &[&str]) -> Ran {
    let ran = mowgli(args);
    assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
    for text in said {
        assert!(ran.out.contains(text), "{args:?} does not say {text:?} but:\n{}{}", ran.out, ran.err);
    }
    ran
}

/// Asserts that these arguments are bad input, with an error that contains all of these texts.
#[track_caller]
pub fn is_bad(args: &[&str], said: &[&str]) {
    program::refuses(mowgli, args, said);
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
