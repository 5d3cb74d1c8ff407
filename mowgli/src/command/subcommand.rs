//! The subcommands, each with its arguments.

use std::ffi::OsString;

use clap::{FromArgMatches as _, Parser, Subcommand};

use super::{
    cat, changes, check, compare, completions, convert, distinguish, emit, generate, lsp, man, merge, new, prove,
    robust, serve, show, spec, through, walk, worth,
};

/// The exit codes of all commands.
const AFTER_HELP: &str =
    "Exit codes: 0 as expected, 1 not as expected, 2 bad input, 3 undecided: a limit stopped it, or nothing ever ends.";

/// Check RDMA libraries and litmus tests over very weak memory.
#[derive(Parser)]
#[command(version, about, max_term_width = 100, after_help = AFTER_HELP)]
pub(super) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// Print all outcomes of litmus tests and check their assertions.
    Litmus(Box<crate::solving::LitmusArgs>),
    /// Explain the assertions of a litmus test, or a finding in a file: print the execution, or the reason why none exists.
    Explain(Box<crate::explaining::ExplainArgs>),
    /// Check implementations of libraries against their specifications, over all clients up to a bound.
    Check(Box<check::CheckArgs>),
    /// Check specifications themselves: are they monotone, decomposable and satisfiable? Names may be memory models too.
    Spec(Box<spec::SpecArgs>),
    /// Change each operation of an implementation in every way that the method tables give: which mistakes does the check
    /// notice?
    Mutants(Box<changes::MutantsArgs>),
    /// Leave out and weaken each operation of an implementation in turn: which are needed?
    Necessity(Box<changes::NecessityArgs>),
    /// Find the smallest client that distinguishes two specifications of one library.
    Distinguish(Box<distinguish::DistinguishArgs>),
    /// Weaken a specification in one place at a time: which broken variants are then no longer caught?
    Worth(Box<worth::WorthArgs>),
    /// Compare outcomes of the whole stack, down to the memory model, with the specification.
    Through(Box<through::ThroughArgs>),
    /// Take one random run of the machine of RDMA_TSO, and show it step by step: buffers, pipes and memory.
    Walk(walk::WalkArgs),
    /// Print a memory model, or the specification of a library, in the language cat of herd7 and Dat3M.
    Cat(cat::CatArgs),
    /// Print a library as the papers do: its objects, methods, specification, and the bodies of an implementation.
    Show(show::ShowArgs),
    /// Put the results of shards together, as one process would have printed them.
    Merge(merge::MergeArgs),
    /// Prove implementations of libraries for every client, not up to a bound, with a solver on the path.
    Prove(Box<prove::ProveArgs>),
    /// Decide whether programs with polls are robust, say why, and what to insert if they are not.
    Robust(robust::RobustArgs),
    /// Find the least to insert into litmus tests so that nothing forbidden happens, and what is more than needed.
    Repair(Box<crate::repair::RepairArgs>),
    /// Check libraries on the networks that people use, and print a table of the verdicts.
    Networks(Box<crate::networks::run::NetworksArgs>),
    /// Find the smallest programs on which two memory models differ.
    Compare(Box<compare::CompareArgs>),
    /// Write tests that probe a memory model rule by rule, with their expected outcomes.
    Generate(Box<generate::GenerateArgs>),
    /// Write the implementations of libraries as source code, with the bodies that were checked.
    Emit(emit::EmitArgs),
    /// Write verdicts, outcomes and executions to a page that opens from disk.
    Report(Box<crate::reporting::ReportArgs>),
    /// Edit and solve litmus tests in a browser, on this machine.
    Serve(Box<serve::ServeArgs>),
    #[command(hide = true)]
    SolveForPage(serve::SolveArgs),
    /// Write the playground, the book and a report as a site that solves tests in the browser, without a server.
    Site(Box<crate::site::SiteArgs>),
    /// Serve an editor of litmus tests: errors, the meaning of statements, completions, outcomes and explanations.
    Lsp(lsp::LspArgs),
    /// Write a small crate with a library of your own: specification, implementation, checks.
    New(new::NewArgs),
    /// Convert litmus tests to LISA, or, for the CPU alone, to and from herd's X86_64 syntax.
    Convert(convert::ConvertArgs),
    /// Print completions for a shell.
    Completions(completions::CompletionsArgs),
    /// Write manual pages.
    Man(man::ManArgs),
    #[command(external_subcommand)]
    Installed(Vec<OsString>),
}

/// Parses the words of a command line.
pub(super) fn parsed(cli: &clap::Command, words: &[OsString]) -> Result<Command, clap::Error> {
    let matches = cli.clone().try_get_matches_from(words)?;
    Ok(Cli::from_arg_matches(&matches)?.command)
}
