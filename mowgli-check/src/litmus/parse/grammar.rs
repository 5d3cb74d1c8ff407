//! The grammar of litmus files, and its rules.

use pest_derive::Parser;

#[derive(Parser)]
#[grammar = "litmus/grammar.pest"]
pub(super) struct Grammar;
