//! The arguments of `check`, and the entries and bounds that they choose.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::soundness::client_log::Shard;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::entry::{Entry, Variant};

use super::super::bounds::{Placement, Within, at_least_one};
use super::super::format::Format;
use super::super::network::On;
use super::super::shards::Share;
use crate::catalogue::Catalogue;
use crate::check::{CheckOptions, CheckQuestion};
use crate::error::{Code, InputError};
use crate::interrupt::Deadline;

#[derive(Args, Default)]
#[command(
    after_help = "Examples:\n  mowgli check --list\n  mowgli check bal\n  mowgli check bal --variant no-fence --out why.ron\n  mowgli check sv --threads 3 --nodes 2 --calls 1 --timeout 60\n  mowgli check bal --shard 1/2 --out 1.shard\n\nColumns: `endless` counts the clients of which no execution ends. If the specification lets all calls of one return, the progress is `blocks`; otherwise the client is to wait, and `ends` holds."
)]
pub(in super::super) struct CheckArgs {
    /// The libraries, or variants of them as bal:no-fence; by default your own, or all if you have none, at their default bounds.
    pub(super) names: Vec<String>,
    /// A variant of the implementation, for example no-fence.
    #[arg(long)]
    pub(super) variant: Option<String>,
    #[command(flatten)]
    pub(super) within: Within,
    /// The accesses of clients to memory of their own node in the search for a wrong outcome; `any` if not given.
    #[arg(long, value_enum)]
    pub(super) placement: Option<Placement>,
    /// Leave out and weaken each operation of the implementations in turn, and say which are needed.
    #[arg(long, hide = true, conflicts_with_all = ["through", "out", "spec", "shard"])]
    pub(super) necessity: bool,
    /// Change each operation of the implementations in every way that the method tables give, and say
    /// which mistakes the check notices.
    #[arg(long, hide = true, conflicts_with_all = ["through", "out", "spec", "necessity", "mutate_spec", "distinguish", "shard"])]
    pub(super) mutants: bool,
    /// Weaken the specifications in one place at a time, and say which broken variants are then no longer caught.
    #[arg(long, hide = true, conflicts_with_all = ["variant", "through", "spec", "necessity"])]
    pub(super) mutate_spec: bool,
    /// Look for the smallest client that tells the two named specifications of one library apart.
    #[arg(long, hide = true, conflicts_with_all = ["variant", "through", "out", "spec", "necessity", "mutate_spec", "shard"])]
    pub(super) distinguish: bool,
    /// Check specifications themselves: monotone, decomposable, satisfiable. Names may be memory models too.
    #[arg(long, hide = true, conflicts_with_all = ["variant", "through", "out", "shard"])]
    pub(super) spec: bool,
    /// Also check the larger bounds of each library, which take minutes. `--list` shows them.
    #[arg(long)]
    pub(super) thorough: bool,
    /// Do not ask whether calls return wherever the specification lets them.
    #[arg(long)]
    pub(super) no_progress: bool,
    /// Compare outcomes of the whole stack, down to the memory model, with the specification, at a smaller bound.
    #[arg(long, hide = true)]
    pub(super) through: bool,
    /// Worker threads; all cores if not given.
    #[arg(long, value_name = "J", value_parser = at_least_one)]
    pub(super) jobs: Option<u64>,
    /// Seconds for the whole command.
    #[arg(long, value_name = "S")]
    pub(super) timeout: Option<u64>,
    /// Print on standard error which clients were searched and which were dropped, and counts of the search.
    #[arg(long, conflicts_with_all = ["necessity", "spec", "mutate_spec", "distinguish", "shard"])]
    pub(super) stats: bool,
    /// Print a table that is as wide as its cells, with the concretisations.
    #[arg(long, conflicts_with_all = ["json", "format"])]
    pub(super) wide: bool,
    /// Print one JSON object per check, one per line.
    #[arg(long)]
    pub(super) json: bool,
    /// Print the verdicts in a format that another tool reads.
    #[arg(long, value_enum, conflicts_with_all = ["json", "necessity", "mutants", "mutate_spec", "distinguish", "spec", "list"])]
    pub(super) format: Option<Format>,
    /// Keep the counterexample in this file, for `mowgli explain`; several go to FILE, FILE.2.ron and so on. With --shard, where
    /// its lines go.
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) on: On,
    #[command(flatten)]
    pub(super) share: Share,
    /// Show libraries, variants and default bounds, and check nothing.
    #[arg(long, conflicts_with = "shard")]
    pub(super) list: bool,
}

impl CheckArgs {
    /// Returns the share to check, and the file for its lines.
    pub(in super::super) fn shard(&self) -> Option<(Shard, PathBuf)> {
        self.share.with(self.out.as_deref())
    }

    /// Returns the options of a check of implementations; `entries` are the libraries of the stack.
    pub(super) fn options<'a>(&self, entries: &'a [Entry], deadline: &Deadline) -> CheckOptions<'a> {
        let ask = if self.through { CheckQuestion::Through } else { CheckQuestion::Soundness };
        CheckOptions {
            deadline: deadline.clone(),
            loopback: self.loopback(),
            ask,
            ends: !self.no_progress,
            entries,
            ..CheckOptions::default()
        }
    }

    /// Whether clients may reach memory of their own node through the network.
    pub(super) fn loopback(&self) -> bool {
        let usual = if self.through { Placement::Remote } else { Placement::Any };
        self.placement.unwrap_or(usual) == Placement::Any
    }
}

/// Entries, each with a variant.
pub(super) type Entries<'a> = Vec<(&'a Entry, &'a Variant)>;

/// Splits a name into a library and its variant, which is that of `--variant` if the name has none.
fn split<'n>(name: &'n str, option: Option<&'n str>) -> (&'n str, Option<&'n str>) {
    name.split_once(':').map_or((name, option), |(library, variant)| (library, option.or(Some(variant))))
}

/// True if a name has another variant than the one that was chosen.
fn is_other(name: &str, chosen: Option<&str>) -> bool {
    name.split_once(':').is_some_and(|(_, own)| chosen != Some(own))
}

/// Selects the entries of a catalogue that the arguments name, each with its variant.
pub(super) fn chosen<'a>(args: &CheckArgs, catalogue: &'a Catalogue) -> Result<Entries<'a>, InputError> {
    let known = catalogue.names();
    // `bal:no-fence` is the form of `report` and `litmus`.
    let named: Vec<(&str, Option<&str>)> = args.names.iter().map(|name| split(name, args.variant.as_deref())).collect();
    if let Some((unknown, _)) = named.iter().find(|(library, _)| !known.contains(library)) {
        return Err(catalogue.no_library(unknown).into());
    }
    if let Some((name, _)) = args.names.iter().zip(&named).find(|(name, (_, variant))| is_other(name, *variant)) {
        let error = InputError::new(Code::Argument, format!("{name} and --variant name two variants"));
        return Err(error.help("leave out one of them"));
    }
    let wanted: Vec<(&str, Option<&str>)> =
        if named.is_empty() { catalogue.usual().map(|name| (name, args.variant.as_deref())).collect() } else { named };
    let mut chosen = Vec::new();
    for entry in catalogue.entries() {
        for (_, variant) in wanted.iter().filter(|(library, _)| *library == entry.name) {
            match entry.variant(variant.unwrap_or("published")) {
                Ok(variant) => chosen.push((entry, variant)),
                Err(_) if args.names.is_empty() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    if chosen.is_empty() {
        return Err(InputError::new(Code::Argument, "no library has this variant").help("see mowgli check --list"));
    }
    Ok(chosen)
}

/// Returns the bounds for a variant: its defaults, changed by the arguments.
pub(super) fn bounds(entry: &Entry, variant: &Variant, args: &CheckArgs) -> Vec<Bound> {
    args.within.limited(match args {
        CheckArgs { through: true, .. } => vec![entry.through()],
        CheckArgs { thorough: true, .. } => variant.all_bounds(),
        _ => variant.bounds.clone(),
    })
}
