//! The commands of the feature `full`: all but those that solve, explain and check.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use mowgli_core::soundness::client_log::Shard;

use super::out::{printed, reported, reported_in};
use super::shards::Done;
use super::{compare, completions, convert, emit, generate, lsp, networks, prove, repair, report, robust, serve, site};
use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::new::{Example, Sources};
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;

#[derive(Subcommand)]
pub(super) enum More {
    /// Prove implementations of libraries for every client, not up to a bound, with a solver on the path.
    Prove(prove::ProveArgs),
    /// Decide whether programs with polls are robust, say why, and what to insert if they are not.
    Robust(robust::RobustArgs),
    /// Find the least to insert into litmus tests so that nothing forbidden happens, and what is more than needed.
    Repair(repair::RepairArgs),
    /// Check libraries on the networks that people use, and print a table of the verdicts.
    Networks(networks::NetworksArgs),
    /// Find the smallest programs on which two memory models differ.
    Compare(compare::CompareArgs),
    /// Write tests that probe a memory model rule by rule, with their expected outcomes.
    Generate(generate::GenerateArgs),
    /// Write the implementations of libraries as source code, with the bodies that were checked.
    Emit(emit::EmitArgs),
    /// Write verdicts, outcomes and executions to a page that opens from disk.
    Report(report::ReportArgs),
    /// Edit and solve litmus tests in a browser, on this machine.
    Serve(serve::ServeArgs),
    #[command(hide = true)]
    SolveForPage(serve::SolveArgs),
    /// Write the playground, the book and a report as a site that solves tests in the browser, without a server.
    Site(site::SiteArgs),
    /// Serve an editor of litmus tests: errors, the meaning of statements, completions, outcomes and explanations.
    Lsp(lsp::LspArgs),
    /// Write a small crate with a library of your own: specification, implementation, checks.
    #[command(
        after_help = "Examples:\n  mowgli new my-library\n  mowgli new my-stack --example stack\n  mowgli new my-latch --mowgli ~/mowgli"
    )]
    New {
        /// The folder; its name is that of the crate, as my-library.
        folder: PathBuf,
        /// The library that the crate begins with.
        #[arg(long, value_enum, default_value_t, value_name = "NAME")]
        example: Example,
        /// A checkout of Mowgli, on which the crate depends by paths. The default is the checkout that this command was built in,
        /// or this version from the registry.
        #[arg(long, value_name = "DIR")]
        mowgli: Option<PathBuf>,
    },
    /// Convert litmus tests to LISA, or, for the CPU alone, to and from herd's X86_64 syntax.
    Convert(convert::ConvertArgs),
    /// Print completions for a shell.
    #[command(
        after_help = "Examples:\n  mowgli completions bash > /etc/bash_completion.d/mowgli\n  mowgli completions zsh"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write manual pages.
    #[command(after_help = "Examples:\n  mowgli man --out /usr/local/share/man/man1")]
    Man {
        /// The folder to write to.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

impl More {
    /// True if the results by the time of Ctrl-C are worth printing; other commands end at once.
    pub(super) fn keeps_what_is_done(&self) -> bool {
        matches!(self, Self::Robust(_) | Self::Repair(_) | Self::Compare(_) | Self::Generate(_) | Self::Report(_))
    }

    /// Returns the share of the work, and the file for its lines.
    pub(super) fn share(&self) -> Option<(Shard, PathBuf)> {
        match self {
            Self::Compare(args) => args.shard(),
            Self::Generate(args) => args.shard(),
            Self::Networks(args) => args.shard(),
            _ => None,
        }
    }

    /// Hashes the inputs of a command; `None` for commands without shards.
    ///
    /// # Errors
    /// If an input cannot be read.
    pub(super) fn hash(&self, catalogue: &Catalogue) -> Result<Option<Hash>, InputError> {
        Ok(match self {
            Self::Compare(args) => Some(compare::hash(args, catalogue)),
            Self::Generate(args) => Some(generate::hash(args, catalogue)),
            Self::Networks(args) => Some(networks::hash(args, catalogue)?),
            _ => None,
        })
    }

    /// Does a share of a command's work.
    pub(super) fn part(&self, catalogue: Catalogue, log: &ShardLog) -> Done {
        match self {
            Self::Compare(args) => compare::shard(args, log),
            Self::Generate(args) => generate::shard(args, log),
            Self::Networks(args) => networks::shard(args, catalogue, log),
            _ => Done::Wrong,
        }
    }

    /// Runs a command. `log` holds the results of the shards of a run; `cli` is the command with all its arguments.
    pub(super) fn done(self, catalogue: Catalogue, log: Option<&ShardLog>, cli: clap::Command) -> u8 {
        match self {
            Self::Prove(args) => reported_in(args.is_json(), prove::prove(&args, catalogue)),
            Self::Robust(args) => robust::robust(&args),
            Self::Repair(args) => repair::repaired(&args, catalogue),
            Self::Networks(args) => reported_in(args.is_json(), networks::networks(&args, catalogue, log)),
            Self::Compare(args) => compare::compare(&args, log),
            Self::Generate(args) => reported_in(args.is_json(), generate::generate(&args, log)),
            Self::Emit(args) => printed(emit::emitted(&args, &catalogue)),
            Self::Report(args) => reported(report::report(&args, catalogue)),
            Self::Serve(args) => reported(serve::serve(&args, &catalogue)),
            Self::SolveForPage(args) => reported(serve::solve_for_page(&args, &catalogue)),
            Self::New { folder, example, mowgli } => reported(new(&folder, mowgli.as_deref(), example)),
            Self::Site(args) => reported(site::site(&args, catalogue)),
            Self::Lsp(args) => reported(lsp::serve(&args, &catalogue)),
            Self::Convert(args) => printed(convert::converted(&args)),
            Self::Completions { shell } => {
                let mut cli = completions::with_names(cli, &catalogue);
                clap_complete::generate(shell, &mut cli, "mowgli", &mut std::io::stdout());
                0
            }
            Self::Man { out } => reported(man(cli, &out)),
        }
    }
}

/// Writes a new crate, and prints the next steps.
fn new(folder: &Path, checkout: Option<&Path>, example: Example) -> Result<u8, InputError> {
    let sources = checkout.map_or_else(|| Ok(Sources::of_this_build()), Sources::checkout)?;
    for file in crate::new::new(folder, &sources, example)? {
        println!("{}", file.display());
    }
    println!("Next: cd {} && cargo test && cargo run -- check {}", folder.display(), example.library());
    Ok(0)
}

/// Writes the manual pages of the command and of its subcommands.
fn man(cli: clap::Command, out: &Path) -> Result<u8, InputError> {
    std::fs::create_dir_all(out).map_err(|e| InputError::file(out, e))?;
    clap_mangen::generate_to(cli, out).map_err(|e| InputError::file(out, e))?;
    Ok(0)
}
