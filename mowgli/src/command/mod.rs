//! The command: its subcommands, each with its arguments. [`start`] parses and runs them.

mod bounds;
mod cat;
mod changes;
mod check;
mod compare;
mod completions;
mod convert;
mod distinguish;
mod emit;
mod engine;
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
pub mod network;
mod networks;
mod new;
mod prove;
mod repair;
mod report;
mod robust;
mod run;
mod serve;
mod sharded;
mod share;
mod show;
mod site;
mod size;
mod spec;
pub(crate) mod start;
mod subcommand;
mod through;
mod walk;
mod worth;

use clap::Parser;

pub use self::start::stop_on_interrupt;
use self::subcommand::Command;
pub use crate::out;

/// The exit codes of all commands.
const AFTER_HELP: &str =
    "Exit codes: 0 as expected, 1 not as expected, 2 bad input, 3 undecided: a limit stopped it, or nothing ever ends.";

/// Check RDMA libraries and litmus tests over very weak memory.
#[derive(Parser)]
#[command(version, about, max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}
