//! The `litmus` command.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::soundness::client_log::Shard;

use super::engine::EngineArg;
use super::sharded::Sharded;
use super::share::ShareToFile;
use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::interrupt::Deadline;
use crate::litmus::reference;
use crate::litmus::test::Model;
use crate::out::{all_files, worst};
use crate::semantics::RuleArgs;
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;
use crate::solving::SolveRequest;
use crate::verdicts::format::Format;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli litmus put.litmus\n  mowgli litmus tests/litmus --json\n  mowgli litmus --implemented bal:no-fence,sv barrier.litmus\n  mowgli litmus --engine both polls.litmus"
)]
pub(super) struct LitmusArgs {
    /// Files ending in .litmus, or directories with such files.
    #[arg(required_unless_present = "statements")]
    paths: Vec<PathBuf>,
    /// Print what tests can declare and call, your own libraries included.
    #[arg(long, conflicts_with = "paths")]
    statements: bool,
    /// Print one JSON object per test, one per line.
    #[arg(long)]
    json: bool,
    /// Print the results in a format that another tool reads.
    #[arg(long, value_enum, conflicts_with_all = ["json", "mutate_to", "statements"])]
    format: Option<Format>,
    /// Only tests of this model, for example RDMA_WAIT.
    #[arg(long)]
    model: Option<Model>,
    /// Replace these libraries by their implementations, from left to right; `bal:no-fence` is a variant of one.
    #[arg(long, value_delimiter = ',', value_name = "LIBRARY")]
    implemented: Vec<String>,
    /// Rounds of a loop with effects after which the search gives up on it.
    #[arg(long, default_value_t = 3, value_name = "K")]
    loops: usize,
    /// Seconds for one test; with --mutate-to, for all of them.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// Print counts of the search on standard error.
    #[arg(long)]
    stats: bool,
    /// The method that finds outcomes, for tests of RDMA_TSO.
    #[arg(long, value_enum, default_value_t, conflicts_with = "implemented")]
    engine: EngineArg,
    #[command(flatten)]
    rules: RuleArgs,
    /// Remove each cell of the stamp order `to` in turn, and say which of the tests notice.
    #[arg(long, conflicts_with_all = ["implemented", "stats"])]
    mutate_to: bool,
    #[command(flatten)]
    shared: ShareToFile,
}

impl LitmusArgs {
    fn request<'a>(&'a self, catalogue: &'a Catalogue) -> SolveRequest<'a> {
        let Self { model, json: is_json, ref rules, ref implemented, loops, timeout, engine, .. } = *self;
        let engine = engine.into();
        SolveRequest { catalogue, model, is_json, rules, implemented, loops, timeout, engine }
    }
}

impl Sharded for LitmusArgs {
    fn share(&self) -> Option<(Shard, PathBuf)> {
        self.shared.share()
    }

    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        self.request(catalogue).hash(&all_files(&self.paths, &mut 0))
    }

    fn run(&self, catalogue: Catalogue, _: &Deadline, log: Option<&ShardLog>) -> u8 {
        if self.statements {
            print!("{}", reference(&catalogue));
            return 0;
        }
        let mut code = 0;
        let files = all_files(&self.paths, &mut code);
        let ask = self.request(&catalogue);
        match self.mutate_to {
            true => worst(code, ask.print_worth_of_order(&files)),
            false => ask.print(&files, (self.format, self.stats), log, code),
        }
    }
}
