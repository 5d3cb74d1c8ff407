//! `mowgli networks`.

use std::path::PathBuf;

use mowgli_core::soundness::client_log::Shard;
use mowgli_rdma::presets::PRESETS;

use super::sharded::Sharded;
use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::interrupt::Deadline;
use crate::networks::run::{NetworkTable, NetworksArgs};
use crate::out::reported_in;
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;

impl Sharded for NetworksArgs {
    fn share(&self) -> Option<(Shard, PathBuf)> {
        self.shared.share()
    }

    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        NetworkTable::new(self, "").hash(catalogue)
    }

    fn run(&self, catalogue: Catalogue, _: &Deadline, log: Option<&ShardLog>) -> u8 {
        if self.list {
            PRESETS.iter().for_each(|(network, source)| println!("{network}: {source}"));
            return 0;
        }
        reported_in(self.json, NetworkTable::new(self, "").print_verdicts(catalogue, log))
    }
}
