//! The `mowgli` command.

mowgli::main!();
