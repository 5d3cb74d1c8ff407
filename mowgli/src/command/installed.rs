//! Programs beside this one: `mowgli NAME` runs `mowgli-NAME` where NAME is no command of its own, as cargo and git do.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use mowgli_core::unknown::Unknown;

use crate::error::{Code, InputError};

/// The programs of the project, each with what it is about and its commands.
const PROGRAMS: [(&str, &str, &[&str]); 2] = [
    ("verbs", "explore programs in C and C++ over libibverbs", &["cc", "explore", "replay"]),
    ("gallery", "check published algorithms", &[]),
];

/// Returns the installed programs by name: those beside this one, and those on the path.
fn installed() -> BTreeMap<String, PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|own| own.parent().map(Path::to_owned));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = BTreeMap::new();
    for folder in beside.into_iter().chain(std::env::split_paths(&path)) {
        for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = file.file_name();
            let name = name.to_str().and_then(|name| name.strip_suffix(std::env::consts::EXE_SUFFIX));
            // Cargo writes files with dots beside programs, such as mowgli-verbs.d.
            let name = name.and_then(|name| name.strip_prefix("mowgli-")).filter(|name| !name.contains('.'));
            if let Some(name) = name
                && is_program(&file.path())
            {
                found.entry(name.to_owned()).or_insert_with(|| file.path());
            }
        }
    }
    found
}

/// True for files that can be run.
#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// True for files.
#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// Returns the installed programs for the first screen, each with what it is about.
pub(super) fn listed() -> Vec<(String, &'static str)> {
    let about = |name: &str| PROGRAMS.iter().find(|(known, ..)| *known == name).map_or("", |(_, about, _)| *about);
    installed().into_keys().map(|name| (name.clone(), about(&name))).collect()
}

/// Runs the program `mowgli-NAME` with the rest of the arguments; returns its exit code. `own` is the command itself.
///
/// # Errors
/// If there is no such program, or it cannot be run.
pub(super) fn run(words: &[OsString], own: &clap::Command) -> Result<u8, InputError> {
    let (name, rest) = words.split_first().expect("a name");
    let name = name.to_string_lossy().into_owned();
    let installed = installed();
    let Some(program) = installed.get(&name) else { return Err(unknown(&name, &installed, own)) };
    let ran = std::process::Command::new(program).args(rest).status();
    let ran = ran.map_err(|e| InputError::new(Code::Tool, format!("{}: {e}", program.display())))?;
    // A shell says the same of a program that a signal has ended.
    Ok(ran.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(128))
}

/// Returns the error for a name that is neither a command nor an installed program.
fn unknown(name: &str, installed: &BTreeMap<String, PathBuf>, own: &clap::Command) -> InputError {
    let error = InputError::new(Code::Unknown, format!("there is no command {name}, and no program mowgli-{name}"));
    let has = |(program, _, commands): &&(&str, &str, &[&str])| *program == name || commands.contains(&name);
    if let Some((program, ..)) = PROGRAMS.iter().find(has) {
        let command = if *program == name { String::new() } else { format!(" {name}") };
        let install = format!("cargo install --path products/{program}");
        let first = if installed.contains_key(*program) { String::new() } else { format!("`{install}`, then ") };
        return error.help(format!("{first}`mowgli {program}{command}`"));
    }
    let names: Vec<String> =
        own.get_subcommands().filter(|c| !c.is_hide_set()).map(|c| c.get_name().to_owned()).collect();
    error.help(Unknown::new("command", name, names.iter().chain(installed.keys())).help())
}
