//! Helpers that commands share: reading and writing files, printing, exit codes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mowgli_core::search::runs::Stop;
use mowgli_core::term::implementation::Implementation;
use mowgli_rdma::Network;
use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::diagnostic::{self, Colours};
use crate::error::{Code, InputError};
use crate::interrupt::{Failure, Undecided};
use crate::litmus::parse;
use crate::litmus::run::idle;
use crate::litmus::test::Test;
use crate::terminal::colours_of;

/// Returns the exit code, and prints a failure to standard error.
pub fn reported(result: Result<u8, impl Into<Failure>>) -> u8 {
    result.map_err(Into::into).unwrap_or_else(|failure| {
        eprintln!("{}", shown(&failure));
        failure_code(&failure)
    })
}

/// Returns the text of a failure for standard error.
pub fn shown(failure: &Failure) -> String {
    match failure {
        Failure::Input(error) => diagnostic::drawn(error, colours()),
        Failure::Undecided(undecided) => format!("undecided: {undecided}"),
        Failure::Bug(bug) => format!("error: {bug}"),
    }
}

/// Returns the exit code of a failure.
pub(crate) fn failure_code(failure: &Failure) -> u8 {
    match failure {
        Failure::Input(_) | Failure::Bug(_) => 2,
        Failure::Undecided(_) => 3,
    }
}

/// Returns the colours that standard error can show.
pub(crate) fn colours() -> Colours {
    colours_of(&std::io::stderr())
}

/// Returns the exit code, and prints a failure to standard error. With `--json` it is a line on standard output, too.
pub fn reported_in(json: bool, result: Result<u8, impl Into<Failure>>) -> u8 {
    reported(result.map_err(|failure| {
        let failure = failure.into();
        if json {
            println!("{}", diagnostic::json(&failure));
        }
        failure
    }))
}

/// Returns C for standard output: the text of our header is in the place of the line that includes it, because nothing is written beside.
pub fn with_header(text: &str, (name, header): (&str, &str)) -> String {
    text.replacen(&format!("#include \"{name}\"\n"), header, 1)
}

/// Returns an answer as one JSON object.
pub fn json(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("strings, numbers and truth values")
}

/// Reads a file.
pub fn text_of(path: &Path) -> Result<String, InputError> {
    std::fs::read_to_string(path).map_err(|e| match e.kind() {
        ErrorKind::InvalidData => InputError::file(path, "this is no text in UTF-8"),
        _ => InputError::file(path, e),
    })
}

/// Writes a file.
pub fn save(path: &Path, text: &str) -> Result<(), InputError> {
    std::fs::write(path, text).map_err(|e| InputError::file(path, e))
}

/// Parses a litmus test, and prints warnings about likely mistakes to standard error.
pub fn parsed(catalogue: &Catalogue, path: &Path, text: &str) -> Result<Test, InputError> {
    let test = parse::parse_in(catalogue, &path.display().to_string(), text)?;
    eprint!("{}", warnings(&test));
    Ok(test)
}

/// Returns the warnings about likely mistakes in a test, with their places.
pub(crate) fn warnings(test: &Test) -> String {
    test.warnings.iter().map(|w| diagnostic::warning(w, colours()) + "\n").collect()
}

/// Returns the warnings about implementations that change nothing in a test. `names` are the names that `chain` was made from.
pub(crate) fn idle_warnings(test: &Test, chain: &[Arc<dyn Implementation>], names: &[String]) -> String {
    let warning =
        |name| format!("warning: {}: {name} changes nothing: the test has no object of this library\n", test.name);
    idle(test, chain, names).into_iter().map(warning).collect()
}

/// True if a name is a path and not a library: where `bal` is both, `./bal` is the path.
pub(crate) fn is_path(catalogue: &Catalogue, name: &str) -> bool {
    !catalogue.names().contains(&name) && Path::new(name).exists()
}

/// Returns the files that a path stands for: itself, or the files of a directory with one of these extensions.
pub fn files(path: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, InputError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|e| InputError::file(path, e))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|x| extensions.iter().any(|e| x == *e)))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(InputError::new(
            Code::Argument,
            format!("{}: no file ending in .{} in this directory", path.display(), extensions.join(" or .")),
        ));
    }
    Ok(files)
}

/// Returns the files that paths stand for. If a directory has none, it prints the error and sets `code`.
pub fn all_files(paths: &[PathBuf], code: &mut u8) -> Vec<PathBuf> {
    let of = |path: &PathBuf| {
        files(path, &["litmus"]).unwrap_or_else(|message| {
            *code = reported(Err(message));
            Vec::new()
        })
    };
    paths.iter().flat_map(of).collect()
}

/// Returns the worse of two exit codes: bad input outweighs a failed assertion, and that outweighs a limit.
pub fn worst(a: u8, b: u8) -> u8 {
    let rank = |c: u8| [0, 2, 3, 1][usize::from(c)];
    if rank(a) >= rank(b) { a } else { b }
}

/// Prints the output of a command, and returns its exit code.
pub fn printed(result: Result<String, impl Into<Failure>>) -> u8 {
    reported(result.map(|text| {
        print!("{text}");
        0
    }))
}

/// Formats a question that a limit left open as one line of JSON.
pub(crate) fn stopped_line(Undecided { question, stop }: &Undecided) -> String {
    format!("{}\n", serde_json::json!({ "undecided": question, "stopped": stop.to_string() }))
}

/// Prints the question that a limit left open.
pub(crate) fn unknown(json: bool, question: String, stop: &Stop) {
    let undecided = Undecided::new(question, stop.clone());
    if json {
        print!("{}", stopped_line(&undecided));
    }
    eprintln!("{undecided}");
}

/// Prints a text, and returns the exit code that goes with it.
pub(crate) fn coded(json: bool, result: Result<(String, u8), Failure>) -> u8 {
    reported_in(
        json,
        result.map(|(text, code)| {
            print!("{text}");
            code
        }),
    )
}

/// Writes findings as RON: the first to `path` itself, the others to numbered files beside it.
pub(crate) fn keep(path: &Path, findings: &[String]) -> Result<(), InputError> {
    for (position, finding) in findings.iter().enumerate() {
        let path = match (position, path.extension().and_then(|x| x.to_str())) {
            (0, _) => path.to_owned(),
            (n, Some(extension)) => path.with_extension(format!("{}.{extension}", n + 1)),
            (n, None) => path.with_extension((n + 1).to_string()),
        };
        save(&path, finding)?;
    }
    Ok(())
}

/// Returns the text of a test on a network, if one is given.
pub(crate) fn on(path: &Path, text: &str, network: Option<Network>) -> Result<String, InputError> {
    let of = |network| parse::on_network(&path.display().to_string(), text, network);
    network.map_or_else(|| Ok(text.to_owned()), of)
}
