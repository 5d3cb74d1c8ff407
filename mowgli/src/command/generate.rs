//! The `generate` command.

use std::path::PathBuf;

use crate::cat::cat;
use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::generated::GenerateRequest;
use crate::interrupt::Deadline;
use crate::litmus::test::Model;
use crate::semantics;
use clap::Args;
use mowgli_core::soundness::client_log::Shard;

use super::sharded::Sharded;
use crate::args::share::Share;
use crate::args::size::at_least_one;
use crate::out::reported_in;
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli generate --pivot IR --actions 7\n  mowgli generate --model rdma-tso --out tests\n  mowgli generate table6"
)]
pub(super) struct GenerateArgs {
    /// `table6`: print the rows of Table 6 of the paper, with its numbers beside ours.
    #[arg(value_parser = ["table6"], conflicts_with_all = ["model", "pivot", "procs", "actions"])]
    what: Option<String>,
    /// The model.
    #[arg(long, default_value = semantics::DEFAULT)]
    model: Model,
    /// The rule, or part of the model, that the tests probe: R1, IR and so on, or to:aCW-aWT, ib:rf, so:mo; `all` of them.
    #[arg(long, default_value = "all", value_name = "RULE")]
    pivot: String,
    /// The number of processes, of the model of processes. Other models: at most this many threads.
    #[arg(long, default_value = "2", value_name = "P", value_parser = at_least_one)]
    procs: u64,
    /// At most this many actions, initial writes among them, of the model of processes; 8 if not given. Other models: calls of
    /// all threads together; 3 if not given.
    #[arg(long, value_name = "A", value_parser = at_least_one)]
    actions: Option<u64>,
    /// At most this many tests for each part; if not given, all of the model of processes, and 1 of other models.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    each: Option<u64>,
    /// Also programs with remote read-modify-writes.
    #[arg(long)]
    rmw: bool,
    /// The kind of output.
    #[arg(long, value_enum, default_value_t = Emit::Litmus)]
    emit: Emit,
    /// The folder for files; without it litmus tests and JSON go to standard output.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    share: Share,
    /// Seconds for the whole command.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// For table6: print one JSON object per row.
    #[arg(long)]
    json: bool,
}

impl Sharded for GenerateArgs {
    fn share(&self) -> Option<(Shard, PathBuf)> {
        self.share.with(self.out.as_deref())
    }

    fn timeout(&self) -> Option<u64> {
        self.timeout
    }

    /// Hashes the model that the tests probe.
    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        let mut hash = Hash::default();
        hash.add(&cat(catalogue, &self.model.to_string()).unwrap_or_else(|why| why.to_string()));
        Ok(hash)
    }

    fn run(&self, _: Catalogue, deadline: &Deadline, log: Option<&ShardLog>) -> u8 {
        let Self { model, ref pivot, procs, rmw, .. } = *self;
        let [size, each] = [self.actions, self.each].map(|n| n.map(|n| n as usize));
        let ask = GenerateRequest { model, pivot, threads: procs as usize, size, each, rmw };
        let (is_json, folder) = (self.emit == Emit::Json, self.out.as_deref());
        let found = match self.what {
            Some(_) => crate::generate::print_table(self.json, is_json, folder, (deadline, log)),
            None => ask.print(is_json, folder, (deadline, log)),
        };
        reported_in(self.json || is_json, found)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Emit {
    /// Litmus tests, with what is expected as assertions.
    Litmus,
    /// Print one JSON object per test, one per line.
    Json,
}
