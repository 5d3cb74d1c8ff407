//! coreRMA in commands: the rules of `litmus`, and the tests of `generate`.

pub(crate) mod args;
pub(crate) mod generate;
pub mod table;
