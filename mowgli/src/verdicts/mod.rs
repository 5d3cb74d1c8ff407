//! Verdicts as people and other tools read them.

pub(crate) mod format;
pub(crate) mod of_check;
pub(crate) mod of_test;
pub(crate) mod table;
