//! The `check` command.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::soundness::client_log::Shard;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::entry::{Entry, Variant};

use super::implementations::{VerdictArgs, check_implementations};
use super::libraries::VariantArgs;
use super::list::list;
use super::sharded::Sharded;
use crate::args::bounds::Placement;
use crate::args::network::On;
use crate::catalogue::Catalogue;
use crate::check::CheckOptions;
use crate::error::InputError;
use crate::interrupt::Deadline;
use crate::out::reported_in;
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;
use crate::verdicts::table::Printing;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli check --list\n  mowgli check bal\n  mowgli check bal --variant no-fence --out why.ron\n  mowgli check sv --threads 3 --nodes 2 --calls 1 --timeout 60\n  mowgli check bal --shard 1/2 --out 1.shard\n\nColumns: `endless` counts the clients of which no execution ends. If the specification lets all calls of one return, the progress is `blocks`; otherwise the client is to wait, and `ends` holds."
)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    of: VariantArgs,
    /// Also check the larger bounds of each library, which take minutes. `--list` shows them.
    #[arg(long)]
    thorough: bool,
    /// Do not ask whether calls return wherever the specification lets them.
    #[arg(long)]
    no_progress: bool,
    #[command(flatten)]
    shown: VerdictArgs,
    /// Print a table that is as wide as its cells, with the concretisations.
    #[arg(long, conflicts_with_all = ["json", "format"])]
    wide: bool,
    #[command(flatten)]
    on: On,
    /// Show libraries, variants and default bounds, and check nothing.
    #[arg(long, conflicts_with_all = ["shard", "format"])]
    list: bool,
}

impl CheckArgs {
    /// Returns the bounds for a variant: its defaults, changed by the arguments.
    fn bounds(&self, variant: &Variant) -> Vec<Bound> {
        self.of.of.within.limited(if self.thorough { variant.all_bounds() } else { variant.bounds.clone() })
    }

    fn check(&self, catalogue: Catalogue, deadline: &Deadline, log: Option<&ShardLog>) -> Result<u8, InputError> {
        if self.list {
            return list(&self.of.of.names, self.of.of.json, &catalogue);
        }
        self.of.of.set_jobs();
        if self.shown.out.is_some() {
            self.on.is_published("a file of --out does not name its network", "--out")?;
        }
        let catalogue = &self.on.of(catalogue)?;
        let options = CheckOptions {
            deadline: deadline.clone(),
            loopback: self.of.loopback(Placement::Any),
            ends: !self.no_progress,
            entries: catalogue.entries(),
            ..CheckOptions::default()
        };
        let printing = Printing { command: "check", is_wide: self.wide, ..self.shown.printing(&self.of) };
        let bounds = |_: &Entry, variant: &Variant| self.bounds(variant);
        check_implementations(&self.of, (printing, &self.shown), catalogue, &bounds, &options, log)
    }
}

impl Sharded for CheckArgs {
    fn share(&self) -> Option<(Shard, PathBuf)> {
        self.shown.share()
    }

    fn timeout(&self) -> Option<u64> {
        self.of.of.timeout
    }

    /// Hashes the specifications, implementations and bounds that the command checks.
    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        self.on.is_published("shards of a check are of the network rc", "--shard")?;
        let mut hash = Hash::default();
        for (entry, variant) in self.of.chosen(catalogue)? {
            hash.add_library(entry, variant, &self.bounds(variant))?;
        }
        Ok(hash)
    }

    fn run(&self, catalogue: Catalogue, deadline: &Deadline, log: Option<&ShardLog>) -> u8 {
        reported_in(self.of.of.json, self.check(catalogue, deadline, log))
    }
}
