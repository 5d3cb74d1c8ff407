//! Helpers that the tests across crates share: the places of the corpora, and functions that read them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mowgli::error::InputError;
use mowgli::litmus::parse::parse;
use mowgli::litmus::run::{Answer, solve};
use mowgli::litmus::test::Test;
use mowgli_core::search::problem::Limits;
use mowgli_core::soundness::client::{self, Client};
use mowgli_core::term::body::Body;
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use serde::Deserialize;

/// Returns the folder of our own litmus tests. The folder `papers` in it has those of the papers.
#[must_use]
pub fn litmus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("litmus")
}

/// Returns the texts of the papers' litmus tests, by name.
///
/// # Panics
/// If the files do not exist.
#[must_use]
pub fn papers() -> BTreeMap<String, String> {
    let named = |path: &PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("text");
    files(&litmus().join("papers")).iter().map(|path| (named(path), text(path))).collect()
}

/// Returns the litmus tests in a folder, without those in folders of it.
///
/// # Panics
/// If the folder does not exist.
#[must_use]
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|x| x == "litmus"));
    paths.sort();
    paths
}

/// A program with its whole outcome set, found by a solver that shares no code with the project.
#[derive(Deserialize, Debug)]
pub struct Known {
    /// The name.
    pub name: String,
    /// The program.
    pub litmus: String,
    /// All outcomes.
    pub outcomes: Vec<BTreeMap<String, String>>,
}

/// Reads the programs of one file of `outcomes/`.
///
/// # Panics
/// If the file does not exist, or does not have the format of its README.
#[must_use]
pub fn known(file: &str) -> Vec<Known> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("outcomes");
    let text = std::fs::read_to_string(folder.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

/// Returns the outcomes of a test, each as sorted `name=value` text.
#[must_use]
pub fn outcomes(test: &Test, answer: &Answer) -> BTreeSet<String> {
    let row = |values: &Vec<Val>| {
        let pairs = test.shown.iter().zip(values).map(|((name, _), v)| format!("{name}={v}"));
        pairs.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    };
    answer.outcomes.keys().map(row).collect()
}

/// Parses and solves a test.
///
/// # Errors
/// The parser's message.
pub fn solved(name: &str, text: &str) -> Result<(Test, Answer), InputError> {
    let test = parse(name, text)?;
    let answer = solve(&test, &[], Limits::default());
    Ok((test, answer))
}

/// Returns the client as bodies in which values flow: see [`client::flowing`].
#[must_use]
pub fn flowing(client: &Client, shown: fn(Val) -> Val) -> Vec<Body> {
    client::flowing(client, |_| true, shown)
}

/// Returns the code of bodies.
#[must_use]
pub fn scripts(bodies: &[Body]) -> Vec<Script> {
    bodies.iter().map(Script::of).collect()
}
