//! What commands share: files that are read and written, what is printed where, exit codes.

use std::path::{Path, PathBuf};

use crate::catalogue::Catalogue;
use crate::interrupt::{Failure, Undecided};
use crate::litmus::parse;
use crate::litmus::test::Test;

/// The exit code, with the message for bad input, or for what was not known before a limit.
pub(super) fn told(result: Result<u8, impl Into<Failure>>) -> u8 {
    result.map_err(Into::into).unwrap_or_else(|failure| {
        eprintln!("{}: {failure}", if let Failure::Input(_) = failure { "error" } else { "undecided" });
        failure_code(&failure)
    })
}

/// The exit code where there is no answer.
pub(super) fn failure_code(failure: &Failure) -> u8 {
    match failure {
        Failure::Input(_) => 2,
        Failure::Undecided(_) => 3,
    }
}

/// What is in a file.
pub(super) fn text_of(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Reads a litmus test; what is hardly meant in it goes to standard error.
pub(super) fn parsed(catalogue: &Catalogue, path: &Path, text: &str) -> Result<Test, String> {
    let test = parse::parse_in(catalogue, &path.display().to_string(), text)?;
    eprint!("{}", warnings(&test));
    Ok(test)
}

/// What is hardly meant in a test, with its places.
pub(super) fn warnings(test: &Test) -> String {
    test.warnings.iter().map(|w| format!("warning: {}\n", w.shown)).collect()
}

/// The files that a path stands for: itself, or those in a directory that end in one of these.
pub(super) fn files(path: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|x| extensions.iter().any(|e| x == *e)))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("{}: no file ending in .{} in this directory", path.display(), extensions.join(" or .")));
    }
    Ok(files)
}

/// The files that paths stand for; `code` is that of bad input where there are none.
pub(super) fn all_files(paths: &[PathBuf], code: &mut u8) -> Vec<PathBuf> {
    let of = |path: &PathBuf| {
        files(path, &["litmus"]).unwrap_or_else(|message| {
            *code = told(Err(message));
            Vec::new()
        })
    };
    paths.iter().flat_map(of).collect()
}

/// Bad input outweighs a failed assertion, which outweighs a limit.
pub(super) fn worst(a: u8, b: u8) -> u8 {
    let rank = |c: u8| [0, 2, 3, 1][usize::from(c)];
    if rank(a) >= rank(b) { a } else { b }
}

/// Prints what a command has to say.
pub(super) fn printed(result: Result<String, impl Into<Failure>>) -> u8 {
    told(result.map(|text| {
        print!("{text}");
        0
    }))
}

/// What was not known before a limit, as one JSON object and a line.
pub(super) fn stopped_line(Undecided { question, stop }: &Undecided) -> String {
    format!("{}\n", serde_json::json!({ "undecided": question, "stopped": stop.to_string() }))
}

/// Prints a text, and tells the exit code that goes with it.
pub(super) fn coded(result: Result<(String, u8), Failure>) -> u8 {
    told(result.map(|(text, code)| {
        print!("{text}");
        code
    }))
}

/// Writes findings, as RON, the first to `path` itself.
pub(super) fn keep(path: &Path, findings: &[String]) -> Result<(), String> {
    for (position, finding) in findings.iter().enumerate() {
        let path = match (position, path.extension().and_then(|x| x.to_str())) {
            (0, _) => path.to_owned(),
            (n, Some(extension)) => path.with_extension(format!("{}.{extension}", n + 1)),
            (n, None) => path.with_extension((n + 1).to_string()),
        };
        std::fs::write(&path, finding).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// A bar for long work: what it is about, and how many of what are done. It is shown on terminals only.
pub(super) fn bar(message: String, of_what: &'static str) -> indicatif::ProgressBar {
    let bar = indicatif::ProgressBar::new(0);
    bar.set_message(message);
    bar.set_prefix(of_what);
    bar.set_style(
        indicatif::ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {prefix}, {eta} left")
            .expect("a fixed template"),
    );
    bar
}

/// What moves a bar: how many are done, of how many.
pub(super) fn moving(bar: &indicatif::ProgressBar) -> impl Fn(usize, usize) + Sync + '_ {
    |done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    }
}
