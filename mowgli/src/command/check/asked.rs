//! Further questions about libraries, each a command of its own.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::super::bounds::{Placement, Within, at_least_one};
use super::super::format::Format;
use super::super::shards::Share;
use super::args::CheckArgs;

/// The questions.
#[derive(Subcommand)]
pub(in super::super) enum CheckCommand {
    /// Check specifications themselves: are they monotone, decomposable and satisfiable? Names may be memory models too.
    #[command(after_help = "Examples:\n  mowgli spec wlock\n  mowgli spec rdma-wait")]
    Spec(Common),
    /// Change each operation of an implementation in every way that the method tables give: which mistakes does the check
    /// notice?
    #[command(after_help = "Examples:\n  mowgli mutants sv\n  mowgli mutants bal --threads 2 --nodes 2")]
    Mutants(ChangeArgs),
    /// Leave out and weaken each operation of an implementation in turn: which are needed?
    #[command(after_help = "Examples:\n  mowgli necessity bal\n  mowgli necessity nlock --json")]
    Necessity(ChangeArgs),
    /// Find the smallest client that distinguishes two specifications of one library.
    #[command(after_help = "Examples:\n  mowgli distinguish rbl rbl-weak")]
    Distinguish(Common),
    /// Weaken a specification in one place at a time: which broken variants are then no longer caught?
    #[command(after_help = "Examples:\n  mowgli worth nlock\n  mowgli worth bal --shard 1/2 --out 1.shard")]
    Worth(WorthArgs),
    /// Compare outcomes of the whole stack, down to the memory model, with the specification.
    #[command(after_help = "Examples:\n  mowgli through slock\n  mowgli through counter --crashes 1 --threads 2")]
    Through(Through),
}

/// Arguments of all questions.
#[derive(Args)]
pub(in super::super) struct Common {
    /// The libraries; by default your own, or all if you have none.
    names: Vec<String>,
    #[command(flatten)]
    within: Within,
    /// Worker threads; all cores if not given.
    #[arg(long, value_name = "J", value_parser = at_least_one)]
    jobs: Option<u64>,
    /// Seconds for the whole command.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// Print one JSON object per answer, one per line.
    #[arg(long)]
    json: bool,
}

/// Arguments of questions about changes of an implementation.
#[derive(Args)]
pub(in super::super) struct ChangeArgs {
    #[command(flatten)]
    common: Common,
    /// A variant of the implementation, for example no-fence.
    #[arg(long)]
    variant: Option<String>,
    /// The accesses of clients to memory of their own node in the search for a wrong outcome; `any` if not given,
    /// and `remote` for `through`.
    #[arg(long, value_enum)]
    placement: Option<Placement>,
}

/// Arguments of the question about the worth of a specification's parts.
#[derive(Args)]
pub(in super::super) struct WorthArgs {
    #[command(flatten)]
    common: Common,
    /// With --shard, the file for its lines.
    #[arg(long, value_name = "FILE", requires = "shard")]
    out: Option<PathBuf>,
    #[command(flatten)]
    share: Share,
}

/// Arguments of the question about the whole stack.
#[derive(Args)]
pub(in super::super) struct Through {
    #[command(flatten)]
    changed: ChangeArgs,
    /// Print on standard error which clients were explored and which were dropped, and counts of the search.
    #[arg(long, conflicts_with = "shard")]
    stats: bool,
    /// Print the verdicts in a format that another tool reads.
    #[arg(long, value_enum, conflicts_with = "json")]
    format: Option<Format>,
    /// Keep the counterexample in this file, for `mowgli explain`; several go to FILE, FILE.2.ron and so on. With --shard,
    /// the file for its lines.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    share: Share,
}

impl CheckCommand {
    /// Returns the arguments of `check` for this question.
    pub(in super::super) fn of_check(self) -> CheckArgs {
        match self {
            Self::Spec(common) => CheckArgs { spec: true, ..common.of_check() },
            Self::Mutants(changed) => CheckArgs { mutants: true, ..changed.of_check() },
            Self::Necessity(changed) => CheckArgs { necessity: true, ..changed.of_check() },
            Self::Distinguish(common) => CheckArgs { distinguish: true, ..common.of_check() },
            Self::Worth(WorthArgs { common, out, share }) => {
                CheckArgs { mutate_spec: true, out, share, ..common.of_check() }
            }
            Self::Through(Through { changed, stats, format, out, share }) => {
                CheckArgs { through: true, stats, format, out, share, ..changed.of_check() }
            }
        }
    }
}

impl Common {
    fn of_check(self) -> CheckArgs {
        let Self { names, within, jobs, timeout, json } = self;
        CheckArgs { names, within, jobs, timeout, json, ..CheckArgs::default() }
    }
}

impl ChangeArgs {
    fn of_check(self) -> CheckArgs {
        let Self { common, variant, placement } = self;
        CheckArgs { variant, placement, ..common.of_check() }
    }
}

impl CheckArgs {
    /// Returns the option of `check` that is a command now, with the command, if one was given.
    pub(in super::super) fn former(&self) -> Option<(&'static str, &'static str)> {
        let former = [
            (self.spec, "--spec", "spec"),
            (self.mutants, "--mutants", "mutants"),
            (self.necessity, "--necessity", "necessity"),
            (self.distinguish, "--distinguish", "distinguish"),
            (self.mutate_spec, "--mutate-spec", "worth"),
            (self.through, "--through", "through"),
        ];
        former.into_iter().find(|(is_given, ..)| *is_given).map(|(_, option, command)| (option, command))
    }
}
