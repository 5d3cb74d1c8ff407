//! The command `mowgli-verbs`: programs in C and C++ over libibverbs, and litmus tests as programs for cards.

mod commands;
mod printed;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mowgli::command::out::reported;

/// Explore programs in C and C++ over libibverbs, and write programs that test cards.
#[derive(Parser)]
#[command(name = "mowgli verbs", version, about, max_term_width = 100)]
struct VerbsCli {
    #[command(subcommand)]
    command: VerbsCommand,
}

#[derive(Subcommand)]
enum VerbsCommand {
    /// Compile a program in C or C++ over libibverbs so that `explore` can run it.
    Cc(commands::CcArgs),
    /// Run a program under every execution of the memory model.
    Explore(commands::ExploreArgs),
    /// Run a program many times under random executions of the memory model.
    Run(commands::ProgramRunArgs),
    /// Run one execution of a program again.
    Replay(commands::ReplayArgs),
    /// Convert litmus tests to C programs over libibverbs that count the outcomes of a card.
    Convert(commands::CardArgs),
}

fn main() -> ExitCode {
    let cli = VerbsCli::parse();
    // A reader that has seen enough, such as `head`, ends the command quietly.
    sigpipe::reset();
    ExitCode::from(match cli.command {
        VerbsCommand::Cc(args) => reported(commands::compiled(&args)),
        VerbsCommand::Explore(args) => commands::explored(&args),
        VerbsCommand::Run(args) => commands::ran(&args),
        VerbsCommand::Replay(args) => reported(commands::replayed(&args)),
        VerbsCommand::Convert(args) => commands::converted(&args),
    })
}
