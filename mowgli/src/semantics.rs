//! The semantics that commands have options and tests for, beside the libraries with stamps and axioms.

pub(crate) use crate::core_rma::args::RuleArgs;
pub(crate) use crate::core_rma::generate::{DEFAULT, rows, table};
