//! The command: its subcommands, each with its arguments. `start` parses and runs them.

mod cat;
mod changes;
mod check;
mod compare;
mod completions;
mod convert;
mod distinguish;
mod emit;
mod explain;
mod former;
mod generate;
mod groups;
mod implementations;
mod installed;
mod libraries;
mod list;
mod litmus;
mod lsp;
mod man;
mod merge;
mod networks;
mod new;
mod prove;
mod repair;
mod report;
mod robust;
mod run;
mod serve;
mod sharded;
mod show;
mod site;
mod spec;
pub(crate) mod start;
mod subcommand;
mod through;
mod walk;
mod worth;

pub use self::start::stop_on_interrupt;
pub use crate::args::network;

pub use crate::out;
