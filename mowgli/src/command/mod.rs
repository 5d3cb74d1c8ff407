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
mod stages;
mod walk;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use mowgli_check::guard::guarded;

use self::out::{coded, printed, told};
use crate::catalogue::{Catalogue, Own};
use crate::interrupt;
use crate::new::Example;

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

/// Does what a command asks for; its exit code.
fn answered(command: Command, catalogue: Catalogue) -> u8 {
    match command {
        Command::Litmus(args) => litmus::litmus(&args, &catalogue),
        Command::Run(args) => run::ran(&args, &catalogue),
        Command::Compare(args) => compare::compare(&args),
        Command::Robust(args) => robust::robust(&args),
        Command::Repair(args) => repair::repaired(&args, &catalogue),
        Command::Generate(args) => told(generate::generate(&args)),
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
        Command::Check(args) => check::check(&args, catalogue),
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
