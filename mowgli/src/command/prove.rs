//! The `prove` command.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mowgli_prove::prove::{EXECUTIONS, ProofOptions};
use mowgli_prove::smt::solve::{SolverLimit, SolverProgram};

use crate::args::network::On;
use crate::catalogue::Catalogue;
use crate::interrupt::Failure;
use crate::prove::run::ProofRun;
use crate::prove::solvers;
use crate::prove::subjects::Subjects;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli prove sv\n  mowgli prove sv --variant fence-of-puts\n  mowgli prove --over nlock\n  mowgli prove sv --network rc-relaxed\n  mowgli prove sv --emit obligations"
)]
pub(super) struct ProveArgs {
    /// The libraries, and theorems of the papers: robust-sc, robust-tso, waits-to-polls; if none is named your own libraries, or
    /// else all.
    names: Vec<String>,
    /// A variant of the implementation, as fence-of-puts.
    #[arg(long)]
    variant: Option<String>,
    /// Only implementations over this library, as nlock; of several, over all of them.
    #[arg(long, value_name = "LIBRARY", value_delimiter = ',')]
    over: Vec<String>,
    #[command(flatten)]
    on: On,
    /// The solver; with both, both must show each obligation.
    #[arg(long, value_enum, default_value_t = SolverArg::Z3)]
    solver: SolverArg,
    /// Million steps of the solver for each part of an obligation; Z3 takes some five million a second.
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=4000))]
    steps: u64,
    /// Seconds after which a question to a solver is cancelled, whatever it has spent; the answer says so.
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Hundreds of clients to search for a counterexample where there is no proof.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..))]
    search: u64,
    /// One JSON object a line and library.
    #[arg(long)]
    pub(super) json: bool,
    /// Write the questions about each obligation to a file in this folder, in SMT-LIB.
    #[arg(long, value_name = "DIR")]
    emit: Option<PathBuf>,
    /// Write cvc5's proof of each question that closed a case to this folder, and have ethos check it.
    #[arg(long, value_name = "DIR")]
    certificates: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SolverArg {
    /// Z3.
    Z3,
    /// cvc5.
    Cvc5,
    /// Each of them.
    Both,
}

impl SolverArg {
    fn programs(self) -> &'static [SolverProgram] {
        match self {
            Self::Z3 => &[SolverProgram::Z3],
            Self::Cvc5 => &[SolverProgram::Cvc5],
            Self::Both => &[SolverProgram::Z3, SolverProgram::Cvc5],
        }
    }
}

/// Proves implementations and theorems. Returns 0 if every verdict is expected, 1 if one is not, 3 if one is undecided.
pub(super) fn prove(args: &ProveArgs, catalogue: Catalogue) -> Result<u8, Failure> {
    let catalogue = args.on.of(catalogue)?;
    let (names, over) = (&args.names, &args.over);
    let subjects = Subjects { names, variant: args.variant.as_deref(), over, network: args.on.network };
    let (libraries, theorems) = subjects.chosen(&catalogue)?;
    let options = ProofOptions {
        solvers: solvers(args.solver.programs())?,
        limit: SolverLimit {
            steps: args.steps.saturating_mul(1_000_000).min(u32::MAX.into()),
            cancel: Duration::from_secs(args.timeout),
        },
        executions: EXECUTIONS,
        confirms: true,
        keep: args.emit.is_some() || args.certificates.is_some(),
        diagnoses: true,
    };
    let search = usize::try_from(args.search).unwrap_or(usize::MAX).saturating_mul(100);
    let (emit, certificates) = (args.emit.as_ref(), args.certificates.as_ref());
    ProofRun { options, search, is_json: args.json, emit, certificates }.print(&libraries, &theorems)
}
