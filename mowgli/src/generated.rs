//! Requests for tests, and the tests.

use serde::Serialize;

use crate::litmus::test::Model;

/// A test with its expected outcomes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Generated {
    /// Its name.
    pub name: String,
    /// The rule, or part of a model, that it probes.
    pub pivot: String,
    /// The test, with its expectations as assertions.
    pub litmus: String,
    /// All expected outcomes, as conditions.
    pub outputs: Vec<String>,
    /// An outcome that only the pivot forbids, as a condition, if there is one.
    pub forbidden: Option<String>,
}

/// A request for tests.
pub(crate) struct GenerateRequest<'a> {
    /// The model.
    pub(crate) model: Model,
    /// The rule, or part of the model; `all` of them.
    pub(crate) pivot: &'a str,
    /// The number of processes, or the most threads.
    pub(crate) threads: usize,
    /// The most actions or calls.
    pub(crate) size: Option<usize>,
    /// The most tests for each part.
    pub(crate) each: Option<usize>,
    /// Also remote read-modify-writes.
    pub(crate) rmw: bool,
}
