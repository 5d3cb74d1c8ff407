//! The command: arguments, exit codes and output.

mod bounds;
mod cat;
mod check;
mod compare;
mod completions;
mod convert;
mod emit;
mod explain;
mod format;
mod generate;
mod groups;
mod installed;
mod litmus;
mod lsp;
mod more;
pub mod network;
mod networks;
pub mod out;
mod pdf;
mod prove;
mod repair;
mod report;
mod robust;
mod serve;
mod shards;
mod show;
mod site;
mod stages;
mod walk;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches as _, Parser, Subcommand};
use mowgli_check::guard::{Panic, caught};
use mowgli_core::soundness::client_log::Shard;
use mowgli_libraries::entry::Entry;

use self::out::{coded, printed, reported};
use self::shards::Done;
use crate::catalogue::Catalogue;
use crate::error::{Bug, Code, InputError};
use crate::interrupt::{self, Failure};
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;

/// Returns the error for commands that are not split into shards.
fn without_shards() -> InputError {
    InputError::new(Code::Argument, "only `check`, `litmus`, `generate`, `compare` and `networks` have shards")
}

/// The exit codes of all commands.
const AFTER_HELP: &str =
    "Exit codes: 0 as expected, 1 not as expected, 2 bad input, 3 undecided: a limit stopped it, or nothing ever ends.";

/// Check RDMA libraries and litmus tests over very weak memory.
#[derive(Parser)]
#[command(
    version,
    about,
    max_term_width = 100,
    after_help = AFTER_HELP
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print all outcomes of litmus tests and check their assertions.
    Litmus(litmus::LitmusArgs),
    /// Explain the assertions of a litmus test, or a finding in a file: print the execution, or the reason why none exists.
    Explain(explain::ExplainArgs),
    /// Check implementations of libraries against their specifications, over all clients up to a bound.
    Check(Box<check::CheckArgs>),
    #[command(flatten)]
    Asked(Box<check::CheckCommand>),
    /// Take one random run of the machine of RDMA_TSO, and show it step by step: buffers, pipes and memory.
    Walk(walk::WalkArgs),
    /// Print a memory model, or the specification of a library, in the language cat of herd7 and Dat3M.
    #[command(
        after_help = "Examples:\n  mowgli cat RDMA_TSO > rdma-tso.cat\n  mowgli cat sv\n  mowgli cat RDMA_WAIT --for herd --out rdma-wait"
    )]
    Cat(cat::CatArgs),
    /// Print a library as the papers do: its objects, methods, specification, and the bodies of an implementation.
    Show(show::ShowArgs),
    /// Put the results of shards together, as one process would have printed them.
    Merge(shards::MergeArgs),
    #[command(flatten)]
    More(Box<more::More>),
    #[command(external_subcommand)]
    Installed(Vec<OsString>),
}

impl Cli {
    /// Returns the command. A question about libraries is `check` with an option.
    fn command(self) -> Command {
        match self.command {
            Command::Asked(asked) => Command::Check(Box::new(asked.of_check())),
            other => other,
        }
    }
}

impl Command {
    /// Warns of an option that is a command of its own now.
    fn warn_of_former(&self) {
        if let Self::Check(args) = self
            && let Some((option, command)) = args.former()
        {
            eprintln!(
                "warning: `mowgli check {option}` is `mowgli {command}` now; the next version has no such option"
            );
        }
    }

    /// True if the results by the time of Ctrl-C are worth printing; other commands end at once.
    fn keeps_what_is_done(&self) -> bool {
        match self {
            Self::Litmus(_) | Self::Check(_) | Self::Merge(_) => true,
            Self::More(more) => more.keeps_what_is_done(),
            _ => false,
        }
    }

    /// True if the command goes on when nobody reads its output any more.
    fn outlives_its_readers(&self) -> bool {
        match self {
            Self::More(more) => matches!(**more, more::More::Serve(_)),
            _ => false,
        }
    }
}

/// The command with the user's libraries beside those that are built in.
///
/// ```no_run
/// # use mowgli_libraries::x86::treiber::entry;
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     mowgli::main_with([entry()])
/// }
/// ```
pub fn main_with(own: impl IntoIterator<Item = Entry>) -> ExitCode {
    run(own.into_iter().collect())
}

/// Writes the main function of a command with the user's libraries: see [`main_with`].
///
/// ```no_run
/// # use mowgli_libraries::x86::treiber;
/// mowgli::main!(treiber::entry());
/// ```
#[macro_export]
macro_rules! main {
    ($($entry:expr),* $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::main_with([$($entry),*])
        }
    };
}

/// Lets the first Ctrl-C end a search, so that what is done is printed. A second one ends the command.
pub fn stop_on_interrupt() {
    let stop = || {
        if interrupt::request() {
            eprintln!("Stopping: what is done is printed. Once more to stop at once.");
        } else {
            std::process::exit(130);
        }
    };
    if let Err(e) = ctrlc::set_handler(stop) {
        eprintln!("warning: Ctrl-C stops at once: {e}");
    }
}

fn run(own: Vec<Entry>) -> ExitCode {
    let grouped = groups::grouped(<Cli as CommandFactory>::command());
    let cli = Cli::from_arg_matches(&grouped.get_matches()).unwrap_or_else(|e| e.exit());
    cli.command.warn_of_former();
    let command = cli.command();
    if command.keeps_what_is_done() {
        stop_on_interrupt();
    }
    // A reader that has seen enough, such as `head`, ends the command quietly; a server outlives its readers.
    if !command.outlives_its_readers() {
        sigpipe::reset();
    }
    let catalogue = match Catalogue::with(own) {
        Ok(catalogue) => catalogue,
        Err(message) => return ExitCode::from(reported(Err(message))),
    };
    let is_own = !catalogue.own().is_empty();
    let code = caught(|| answered(command, catalogue));
    ExitCode::from(code.unwrap_or_else(|panic| {
        // A function of the user's library may have panicked.
        let bug =
            |panic: Panic| Failure::Bug(Bug { message: format!("a function panicked {panic}; please report it") });
        reported(Err(if is_own { panic.of_author("mowgli").into() } else { bug(panic) }))
    }))
}

/// Runs a command, or its share of the work; returns the exit code.
fn answered(command: Command, catalogue: Catalogue) -> u8 {
    match command {
        Command::Merge(args) => merged(&args, catalogue),
        command => match share(&command) {
            Some((shard, out)) => {
                let hash = hash(&command, &catalogue);
                reported(hash.and_then(|hash| shards::shard(shard, &out, hash, |log| part(&command, catalogue, log))))
            }
            None => done(command, catalogue, None),
        },
    }
}

/// Returns the share of a command's work, and the file for its lines.
fn share(command: &Command) -> Option<(Shard, PathBuf)> {
    match command {
        Command::Check(args) => args.shard(),
        Command::Litmus(args) => args.shard(),
        Command::More(more) => more.share(),
        _ => None,
    }
}

/// Hashes the inputs of a command.
fn hash(command: &Command, catalogue: &Catalogue) -> Result<Hash, InputError> {
    match command {
        Command::Check(args) => check::hash(args, catalogue),
        Command::Litmus(args) => litmus::hash(args, catalogue),
        Command::More(more) => more.hash(catalogue)?.ok_or_else(without_shards),
        _ => Err(without_shards()),
    }
}

/// Does a share of a command's work.
fn part(command: &Command, catalogue: Catalogue, log: &ShardLog) -> Done {
    match command {
        Command::Check(args) => check::shard(args, catalogue, log),
        Command::Litmus(args) => litmus::shard(args, &catalogue, log),
        Command::More(more) => more.part(catalogue, log),
        _ => Done::Wrong,
    }
}

/// Merges the shards of a run: runs the command itself, with all their results.
fn merged(args: &shards::MergeArgs, catalogue: Catalogue) -> u8 {
    let (arguments, all) = match shards::merge(args) {
        Ok(all) => all,
        Err(code) => return code,
    };
    let command = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli.command(),
        Err(e) => {
            return reported(Err(InputError::new(
                Code::Argument,
                format!("the shards are of a command that there is not here: {e}"),
            )));
        }
    };
    match hash(&command, &catalogue).and_then(|hash| shards::unchanged(&all.run, hash)) {
        Ok(()) => done(command, catalogue, Some(&all.log)),
        Err(message) => reported(Err(message)),
    }
}

/// Runs a command; `log` holds the results of the shards of a run.
fn done(command: Command, catalogue: Catalogue, log: Option<&ShardLog>) -> u8 {
    match command {
        Command::Litmus(args) => litmus::litmus(&args, &catalogue, log),
        Command::Cat(args) => printed(cat::written(&args, &catalogue)),
        Command::Show(args) => printed(show::shown(&args, &catalogue)),
        Command::Walk(args) => coded(args.is_json(), walk::walked(&args)),
        Command::Explain(args) => coded(args.is_json(), explain::explained(&args, &catalogue)),
        Command::Check(args) => check::check(&args, catalogue, log),
        Command::Asked(asked) => check::check(&asked.of_check(), catalogue, log),
        Command::Installed(words) => reported(installed::run(&words, &<Cli as CommandFactory>::command())),
        Command::Merge(_) => reported(Err(InputError::new(Code::Argument, "shards of this command cannot be merged"))),
        Command::More(more) => more.done(catalogue, log, <Cli as CommandFactory>::command()),
    }
}
