//! The `mowgli` command, as a library: litmus tests and bounded checks of LOCO's libraries.

pub mod check;
pub mod explain;
pub mod litmus;
pub mod show;
