//! `mowgli networks`.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::soundness::client_log::Shard;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::entry::Entry;
use mowgli_rdma::Network;
use mowgli_rdma::presets::PRESETS;

use super::bounds::Within;
use super::sharded::Sharded;
use super::share::ShareToFile;
use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::interrupt::{Deadline, SECOND};
use crate::networks::run::{LIMIT, NetworkTable};
use crate::out::reported_in;
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli networks\n  mowgli networks --list\n  mowgli networks sv slock --network rc --network cxi\n  mowgli networks bal --calls 2 --json\n  mowgli networks sv rbl --repair --html networks.html\n  mowgli networks mp.litmus --repair"
)]
pub(super) struct NetworksArgs {
    /// The libraries over RDMA, and litmus tests or folders of them; all libraries, your own among them, if not given.
    names: Vec<String>,
    /// The networks; all presets if not given.
    #[arg(long, value_name = "NAME", value_parser = Network::named)]
    network: Vec<Network>,
    #[command(flatten)]
    within: Within,
    /// Compare outcomes of the whole stack, down to the network, with the specification.
    #[arg(long)]
    through: bool,
    /// Find the cheapest repair of what is not right, as `mowgli repair` does, and check it once more.
    #[arg(long)]
    repair: bool,
    /// Prove for every client what is sound within the bound, and repaired bodies.
    #[arg(long, conflicts_with = "through")]
    prove: bool,
    /// Write a page on which a cell opens what is wrong, and its repair.
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    html: Option<PathBuf>,
    /// Print one table that is as wide as its cells.
    #[arg(long)]
    wide: bool,
    /// Print the networks and their sources, and check nothing.
    #[arg(long)]
    list: bool,
    /// Print one JSON object for each library or test and network, one per line.
    #[arg(long)]
    json: bool,
    /// Steps of the search for one library or test on one network, and for a repair of one body.
    #[arg(long, value_name = "N", default_value_t = LIMIT * SECOND)]
    steps: u64,
    /// Seconds after which each of these is cancelled.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    #[command(flatten)]
    shared: ShareToFile,
}

impl NetworksArgs {
    /// Returns the table that the arguments describe. A bound is two threads on two nodes, with as many calls each as it takes to say
    /// anything.
    fn table<'a>(&'a self, bound: &'a dyn Fn(&Entry) -> Bound) -> NetworkTable<'a> {
        let Self { ref names, through, repair, prove, wide, json: is_json, steps, timeout, .. } = *self;
        let networks = if self.network.is_empty() { NetworkTable::all() } else { self.network.clone() };
        let (html, links) = (self.html.as_deref(), "");
        NetworkTable { names, networks, bound, through, repair, prove, html, links, wide, is_json, steps, timeout }
    }
}

impl Sharded for NetworksArgs {
    fn share(&self) -> Option<(Shard, PathBuf)> {
        self.shared.share()
    }

    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        self.table(&|entry| self.within.of(entry.through())).hash(catalogue)
    }

    fn run(&self, catalogue: Catalogue, _: &Deadline, log: Option<&ShardLog>) -> u8 {
        if self.list {
            PRESETS.iter().for_each(|(network, source)| println!("{network}: {source}"));
            return 0;
        }
        reported_in(self.json, self.table(&|entry| self.within.of(entry.through())).print_verdicts(catalogue, log))
    }
}
