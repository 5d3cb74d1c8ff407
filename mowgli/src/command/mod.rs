//! The command: arguments, exit codes, what is printed where.

mod bounds;
mod cat;
mod check;
mod compare;
mod convert;
mod explain;
mod generate;
mod litmus;
mod out;
mod prove;
mod repair;
mod report;
mod robust;
mod run;
mod serve;
mod shards;
mod stages;
mod submit;
mod walk;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use mowgli_check::guard::guarded;
use mowgli_core::soundness::ledger::Piece;

use self::out::{coded, printed, told};
use self::shards::Done;
use crate::catalogue::{Catalogue, Own};
use crate::interrupt;
use crate::new::Example;
use crate::shards::book::Book;
use crate::shards::identity::Hash;

/// Check RDMA libraries and litmus tests over very weak memory.
#[derive(Parser)]
#[command(
    version,
    about,
    after_help = "Exit codes: 0 as expected, 1 not as expected, 2 bad input, 3 undecided: a limit stopped it, or nothing ever ends."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print all outcomes of litmus tests and check their assertions.
    Litmus(litmus::LitmusArgs),
    /// Decide whether programs with polls are robust, say why, and what to insert if they are not.
    Robust(robust::RobustArgs),
    /// Find the least to insert into litmus tests so that nothing forbidden happens, and what is more than needed.
    Repair(repair::RepairArgs),
    /// Run litmus tests many times, with the bodies of the libraries that they call, and hold what is seen against the model.
    Run(run::RunArgs),
    /// Find the smallest programs on which two memory models differ.
    Compare(compare::CompareArgs),
    /// Write tests that probe a memory model rule by rule, with their expected outcomes.
    Generate(generate::GenerateArgs),
    /// Write verdicts, outcomes and executions to a page that opens from disk.
    Report(report::ReportArgs),
    /// Edit and solve litmus tests in a browser, on this machine.
    Serve(serve::ServeArgs),
    #[command(hide = true)]
    SolveForPage(serve::SolveArgs),
    /// Write a small crate with a library of your own: specification, implementation, checks.
    #[command(
        after_help = "Examples:\n  mowgli new my-library\n  mowgli new my-stack --example stack\n  mowgli new my-latch --mowgli ~/mowgli"
    )]
    New {
        /// The folder; its name is that of the crate, as my-library.
        folder: PathBuf,
        /// What it begins with.
        #[arg(long, value_enum, default_value_t, value_name = "NAME")]
        example: Example,
        /// Where Mowgli's sources are.
        #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/.."))]
        mowgli: PathBuf,
    },
    /// Convert litmus tests to C programs over libibverbs, to LISA, or, for the CPU alone, to and from herd's X86_64 syntax.
    Convert(convert::ConvertArgs),
    /// Print a memory model, or the specification of a library, in the language cat of herd7 and Dat3M.
    #[command(
        after_help = "Examples:\n  mowgli cat RDMA_TSO > rdma-tso.cat\n  mowgli cat sv\n  mowgli cat RDMA_WAIT --for herd --out rdma-wait"
    )]
    Cat(cat::CatArgs),
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
    /// Take one random run of the machine of RDMA_TSO, and show it step by step: buffers, pipes and memory.
    Walk(walk::WalkArgs),
    /// Explain the assertions of a litmus test, or a finding that was kept: the execution, or why there is none.
    Explain(explain::ExplainArgs),
    /// Check implementations of libraries against their specifications, over all clients up to a bound.
    Check(Box<check::CheckArgs>),
    /// Say what one process would have said, from what the shards of a run have written.
    Merge(shards::MergeArgs),
    /// Write a run as jobs for a cluster, and start them: a shard each, and one that merges them.
    Submit(submit::SubmitArgs),
    /// Prove implementations of libraries for every client, not up to a bound, with a solver on the path.
    Prove(prove::ProveArgs),
}

impl Command {
    /// Whether what is done by the time of Ctrl-C is worth printing; the others end at once.
    fn keeps_what_is_done(&self) -> bool {
        matches!(
            self,
            Self::Litmus(_)
                | Self::Robust(_)
                | Self::Repair(_)
                | Self::Run(_)
                | Self::Compare(_)
                | Self::Generate(_)
                | Self::Report(_)
                | Self::Check(_)
                | Self::Merge(_)
        )
    }
}

/// The command with libraries of one's own beside those that are built in.
///
/// ```no_run
/// # use mowgli_libraries::x86::treiber::entry;
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     mowgli::main_with([entry()])
/// }
/// ```
pub fn main_with(own: impl IntoIterator<Item = impl Into<Own>>) -> ExitCode {
    run(own.into_iter().map(Into::into).collect())
}

/// Writes the main function of a command with libraries of one's own: see [`main_with`].
///
/// ```no_run
/// # use mowgli_libraries::x86::treiber;
/// mowgli::main!(treiber::entry());
/// ```
#[macro_export]
macro_rules! main {
    ($($entry:expr),* $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::main_with(Vec::<$crate::Own>::from([$($entry.into()),*]))
        }
    };
}

fn run(own: Vec<Own>) -> ExitCode {
    let stop = || {
        if interrupt::request() {
            eprintln!("Stopping: what is done is printed. Once more to stop at once.");
        } else {
            std::process::exit(130);
        }
    };
    let cli = Cli::parse();
    if cli.command.keeps_what_is_done()
        && let Err(e) = ctrlc::set_handler(stop)
    {
        eprintln!("warning: Ctrl-C stops at once: {e}");
    }
    // A reader that has seen enough, as `head`, ends the command quietly; a server outlives its readers.
    if !matches!(cli.command, Command::Serve(_)) {
        sigpipe::reset();
    }
    let catalogue = match Catalogue::with(own) {
        Ok(catalogue) => catalogue,
        Err(message) => return ExitCode::from(told(Err(message))),
    };
    let code = guarded("mowgli", || Ok(answered(cli.command, catalogue)));
    ExitCode::from(code.unwrap_or_else(|message| told(Err(message))))
}

/// Does what a command asks for, or its share of that; its exit code.
fn answered(command: Command, catalogue: Catalogue) -> u8 {
    match command {
        Command::Merge(args) => merged(&args, catalogue),
        Command::Submit(args) => told(submitted(&args, &catalogue)),
        command => match share(&command) {
            Some((piece, out)) => {
                let hash = hash(&command, &catalogue);
                told(hash.and_then(|hash| shards::piece(piece, &out, hash, |book| part(&command, catalogue, book))))
            }
            None => done(command, catalogue, None),
        },
    }
}

/// Writes a run as jobs.
fn submitted(args: &submit::SubmitArgs, catalogue: &Catalogue) -> Result<u8, String> {
    let command = Cli::try_parse_from(["mowgli"].into_iter().chain(args.command.iter().map(String::as_str)));
    let command = command.map(|cli| cli.command).map_err(|e| format!("what is to be submitted: {e}"))?;
    hash(&command, catalogue)?;
    let seconds = match &command {
        Command::Check(asked) if args.shards.is_none() => check::seconds(asked, catalogue),
        _ => None,
    };
    submit::submitted(args, seconds)
}

/// The share of a command that is asked for, and where its lines go.
fn share(command: &Command) -> Option<(Piece, PathBuf)> {
    match command {
        Command::Check(args) => args.shard(),
        Command::Litmus(args) => args.shard(),
        Command::Compare(args) => args.shard(),
        Command::Generate(args) => args.shard(),
        _ => None,
    }
}

/// A hash of what a command asks about.
fn hash(command: &Command, catalogue: &Catalogue) -> Result<Hash, String> {
    match command {
        Command::Check(args) => check::hash(args, catalogue),
        Command::Litmus(args) => litmus::hash(args, catalogue),
        Command::Compare(args) => Ok(compare::hash(args, catalogue)),
        Command::Generate(args) => Ok(generate::hash(args, catalogue)),
        _ => Err("only `check`, `litmus`, `generate` and `compare` have shards".to_owned()),
    }
}

/// Does a share of what a command asks.
fn part(command: &Command, catalogue: Catalogue, book: &Book) -> Done {
    match command {
        Command::Check(args) => check::piece(args, catalogue, book),
        Command::Litmus(args) => litmus::piece(args, &catalogue, book),
        Command::Compare(args) => compare::piece(args, book),
        Command::Generate(args) => generate::piece(args, book),
        _ => Done::Wrong,
    }
}

/// Puts the shards of a run together: the command itself, with all that they have found.
fn merged(args: &shards::MergeArgs, catalogue: Catalogue) -> u8 {
    let (arguments, all) = match shards::merge(args) {
        Ok(all) => all,
        Err(code) => return code,
    };
    let command = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli.command,
        Err(e) => return told(Err(format!("the shards are of a command that there is not here: {e}"))),
    };
    match hash(&command, &catalogue).and_then(|hash| shards::unchanged(&all.run, hash)) {
        Ok(()) => done(command, catalogue, Some(&all.book)),
        Err(message) => told(Err(message)),
    }
}

/// Does what a command asks for, with what the shards of a run have found in a `book`.
fn done(command: Command, catalogue: Catalogue, book: Option<&Book>) -> u8 {
    match command {
        Command::Litmus(args) => litmus::litmus(&args, &catalogue, book),
        Command::Run(args) => run::ran(&args, &catalogue),
        Command::Compare(args) => compare::compare(&args, book),
        Command::Robust(args) => robust::robust(&args),
        Command::Repair(args) => repair::repaired(&args, &catalogue),
        Command::Generate(args) => told(generate::generate(&args, book)),
        Command::Report(args) => told(report::report(&args, &catalogue)),
        Command::Serve(args) => told(serve::serve(&args, &catalogue)),
        Command::SolveForPage(args) => told(serve::solve_for_page(&args, &catalogue)),
        Command::New { folder, example, mowgli } => told(new(&folder, &mowgli, example)),
        Command::Convert(args) => printed(convert::converted(&args)),
        Command::Cat(args) => printed(cat::written(&args, &catalogue)),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "mowgli", &mut std::io::stdout());
            0
        }
        Command::Man { out } => told(man(&out)),
        Command::Walk(args) => coded(walk::walked(&args)),
        Command::Explain(args) => coded(explain::explained(&args, &catalogue)),
        Command::Check(args) => check::check(&args, catalogue, book),
        Command::Merge(_) | Command::Submit(_) => told(Err("shards of this command cannot be merged".to_owned())),
        Command::Prove(args) => told(prove::prove(&args, &catalogue)),
    }
}

/// Writes a new crate, and says what to do next.
fn new(folder: &Path, sources: &Path, example: Example) -> Result<u8, String> {
    let absolute =
        sources.canonicalize().map_err(|e| format!("{}: {e}; say where with --mowgli DIR", sources.display()))?;
    for file in crate::new::new(folder, &absolute, example)? {
        println!("{}", file.display());
    }
    println!("Next: cd {} && cargo test && cargo run -- check {}", folder.display(), example.library());
    Ok(0)
}

/// Writes the manual pages of the command and of its subcommands.
fn man(out: &Path) -> Result<u8, String> {
    std::fs::create_dir_all(out).map_err(|e| format!("{}: {e}", out.display()))?;
    clap_mangen::generate_to(Cli::command(), out).map_err(|e| format!("{}: {e}", out.display()))?;
    Ok(0)
}
