//! `mowgli compare`.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::soundness::client_log::Shard;
use mowgli_core::term::bound::Bound;
use mowgli_rdma::Network;

use super::sharded::Sharded;
use crate::args::share::ShareToFile;
use crate::args::size::SizeBounds;
use crate::cat::cat;
use crate::catalogue::Catalogue;
use crate::compare::pair;
use crate::error::InputError;
use crate::interrupt::Deadline;
use crate::litmus::test::Model;
use crate::out::reported_in;
use crate::shards::identity::Hash;
use crate::shards::log::{ShardLog, is_shard};
use crate::terminal::{bar, moving};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli compare --model RDMA_TSO --model RDMA_SC\n  mowgli compare --model CORE_RMA --model RDMA_SC --threads 2 --calls 3"
)]
pub(super) struct CompareArgs {
    /// The two models, as --model RDMA_TSO --model RDMA_SC; one, if networks are given.
    #[arg(long, required = true)]
    model: Vec<Model>,
    /// Two networks of one model, as --model RDMA_TSO --network rc --network cxi; with one, all models are on it.
    #[arg(long, value_name = "NAME", value_parser = Network::named)]
    network: Vec<Network>,
    /// Also programs with remote read-modify-writes.
    #[arg(long)]
    rmw: bool,
    #[command(flatten)]
    shape: SizeBounds,
    #[command(flatten)]
    shared: ShareToFile,
    /// Seconds for the whole command.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl CompareArgs {
    /// Returns the models that are compared, on the networks that are given.
    fn models(&self) -> Result<[Model; 2], InputError> {
        pair(&self.model, &self.network, self.rmw)
    }
}

impl Sharded for CompareArgs {
    fn share(&self) -> Option<(Shard, PathBuf)> {
        self.shared.share()
    }

    fn timeout(&self) -> Option<u64> {
        self.timeout
    }

    /// Hashes the models that the command compares.
    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        let mut hash = Hash::default();
        let cat = |model: &Model| cat(catalogue, &model.to_string()).unwrap_or_else(|why| why.to_string());
        self.models().iter().flatten().for_each(|model| hash.add(&cat(model)));
        Ok(hash)
    }

    fn run(&self, _: Catalogue, deadline: &Deadline, log: Option<&ShardLog>) -> u8 {
        reported_in(self.json, compared(self, deadline, log))
    }
}

/// Compares two models. Returns 0 if the comparison was completed, 2 for bad arguments, 3 if a limit stopped it or no
/// program ends.
fn compared(args: &CompareArgs, deadline: &Deadline, log: Option<&ShardLog>) -> Result<u8, InputError> {
    let [a, b] = args.models()?;
    let mut bounds = crate::compare::bounds();
    if args.shape.is_given() {
        bounds = vec![args.shape.of(Bound { threads: 2, nodes: 2, calls: 2, ..Bound::default() })];
    }
    let part = log.map(|log| log.part(format!("{a} {b}")));
    let expired = || deadline.expired();
    let bar = bar(format!("{a} {b}"), "programs");
    let found = crate::compare::compare((a, b), args.rmw, &bounds, &expired, part.as_ref(), &moving(&bar));
    bar.finish_and_clear();
    if is_shard(log) {
        return Ok(0);
    }
    println!("{}", if args.json { found.json(a, b) } else { found.text((a, b), &bounds) });
    Ok(if found.stop.is_some() || found.is_vacuous() { 3 } else { 0 })
}
