//! What the tests that cross crates share: where the corpora are, and how to read them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mowgli::litmus::parse::parse;
use mowgli::litmus::run::{Answer, solve};
use mowgli::litmus::test::Test;
use mowgli_core::outcome::Limits;
use serde::Deserialize;

/// A file or folder of the shared material beside the project.
#[must_use]
pub fn shared(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared").join(path)
}

/// A program with its whole outcome set, found by a solver that shares no code with the project.
#[derive(Deserialize, Debug)]
pub struct Known {
    /// The name.
    pub name: String,
    /// The program.
    pub litmus: String,
    /// All outcomes.
    pub outcomes: Vec<std::collections::BTreeMap<String, String>>,
}

/// The programs of one file of `outcomes/`.
///
/// # Panics
/// If the file is not there or not as its README says.
#[must_use]
pub fn known(file: &str) -> Vec<Known> {
    let text = std::fs::read_to_string(shared("outcomes").join(file)).expect("shared/outcomes is beside the project");
    text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

/// The outcomes of a test, each as sorted `name=value` text.
#[must_use]
pub fn outcomes(test: &Test, answer: &Answer) -> BTreeSet<String> {
    let row = |values: &Vec<mowgli_core::value::Val>| {
        let pairs = test.shown.iter().zip(values).map(|((name, _), v)| format!("{name}={v}"));
        pairs.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    };
    answer.outcomes.keys().map(row).collect()
}

/// Parses and solves a test.
///
/// # Errors
/// The parser's message.
pub fn solved(name: &str, text: &str) -> Result<(Test, Answer), String> {
    let test = parse(name, text)?;
    let answer = solve(&test, &[], Limits::default());
    Ok((test, answer))
}
