//! Changes of terms: edits that make variants, mutants, insertions that repair, and weaker specifications.

pub mod edit;
pub mod mutants;
pub mod mutation;
pub mod places;
pub mod repair;
pub mod sites;
