//! The `through` command.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::soundness::client_log::Shard;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::entry::{Entry, Variant};

use super::implementations::{VerdictArgs, check_implementations};
use super::libraries::VariantArgs;
use super::sharded::Sharded;
use crate::args::bounds::Placement;
use crate::catalogue::Catalogue;
use crate::check::{CheckOptions, CheckQuestion};
use crate::error::InputError;
use crate::interrupt::Deadline;
use crate::out::reported_in;
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;
use crate::verdicts::table::Printing;

#[derive(Args)]
#[command(after_help = "Examples:\n  mowgli through slock\n  mowgli through counter --crashes 1 --threads 2")]
pub(super) struct ThroughArgs {
    #[command(flatten)]
    of: VariantArgs,
    #[command(flatten)]
    shown: VerdictArgs,
}

impl ThroughArgs {
    fn bounds(&self, entry: &Entry) -> Vec<Bound> {
        self.of.of.within.limited(vec![entry.through()])
    }
}

impl Sharded for ThroughArgs {
    fn share(&self) -> Option<(Shard, PathBuf)> {
        self.shown.share()
    }

    fn timeout(&self) -> Option<u64> {
        self.of.of.timeout
    }

    /// Hashes the chosen libraries, and those of the stack below with their published implementations.
    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        let mut hash = Hash::default();
        for (entry, variant) in self.of.chosen(catalogue)? {
            hash.add_library(entry, variant, &self.bounds(entry))?;
        }
        for (entry, published) in catalogue.entries().iter().filter_map(|entry| Some((entry, entry.variants.first()?)))
        {
            hash.add_library(entry, published, &published.bounds)?;
        }
        Ok(hash)
    }

    fn run(&self, catalogue: Catalogue, deadline: &Deadline, log: Option<&ShardLog>) -> u8 {
        self.of.of.set_jobs();
        let options = CheckOptions {
            deadline: deadline.clone(),
            loopback: self.of.loopback(Placement::Remote),
            ask: CheckQuestion::Through,
            entries: catalogue.entries(),
            ..CheckOptions::default()
        };
        let printing = Printing { command: "through", ..self.shown.printing(&self.of) };
        let bounds = |entry: &Entry, _: &Variant| self.bounds(entry);
        let found = check_implementations(&self.of, (printing, &self.shown), &catalogue, &bounds, &options, log);
        reported_in(self.of.of.json, found)
    }
}
