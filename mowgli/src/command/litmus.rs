//! The `litmus` command.

use std::path::PathBuf;

use mowgli_core::soundness::client_log::Shard;

use super::sharded::Sharded;
use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::interrupt::Deadline;
use crate::litmus::reference;
use crate::out::{all_files, worst};
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;
use crate::solving::{LitmusArgs, SolveRequest};

impl Sharded for LitmusArgs {
    fn share(&self) -> Option<(Shard, PathBuf)> {
        self.shared.share()
    }

    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        SolveRequest { catalogue, args: self }.hash(&all_files(&self.paths, &mut 0))
    }

    fn run(&self, catalogue: Catalogue, _: &Deadline, log: Option<&ShardLog>) -> u8 {
        if self.statements {
            print!("{}", reference(&catalogue));
            return 0;
        }
        let mut code = 0;
        let files = all_files(&self.paths, &mut code);
        let ask = SolveRequest { catalogue: &catalogue, args: self };
        match self.mutate_to {
            true => worst(code, ask.print_worth_of_order(&files)),
            false => ask.print(&files, (self.format, self.stats), log, code),
        }
    }
}
