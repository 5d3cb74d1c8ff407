//! The `generate` command: tests that probe a model rule by rule, for models and for machines.

pub mod axioms;

use serde::Serialize;

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
