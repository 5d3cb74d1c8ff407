//! `mowgli compare`.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::soundness::client_log::Shard;
use mowgli_core::term::bound::Bound;
use mowgli_rdma::Network;

use super::bounds::SizeBounds;
use super::out::{bar, moving, reported_in};
use super::sharded::{Sharded, ShareToFile, is_shard};
use crate::cat::cat;
use crate::catalogue::Catalogue;
use crate::check::shapes;
use crate::error::{Code, InputError};
use crate::interrupt::Deadline;
use crate::litmus::semantics::Semantics;
use crate::litmus::test::Model;
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;

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
        models(self).iter().flatten().for_each(|model| hash.add(&cat(model)));
        Ok(hash)
    }

    fn run(&self, _: Catalogue, deadline: &Deadline, log: Option<&ShardLog>) -> u8 {
        compared(self, deadline, log)
    }
}

/// Returns the models that are compared, on the networks that are given.
fn models(args: &CompareArgs) -> Result<[Model; 2], InputError> {
    let is_own = |model: &Model| matches!(model.semantics(), Semantics::Own(_));
    let unsupported = |message: String| InputError::new(Code::Unsupported, message);
    if args.model.contains(&Model::X86Tso) {
        let x86 = Model::X86Tso;
        return Err(unsupported(format!("programs that are compared go through a network, and {x86} has none")));
    }
    if let Some(without) = args.model.iter().find(|m| args.rmw && (**m == Model::RdmaSc || is_own(m))) {
        let message = format!("{without} has no remote read-modify-writes that take values");
        return Err(unsupported(message).help("leave --rmw out"));
    }
    let waits = args.model.iter().any(|m| m.published() == Model::RDMA_WAIT);
    if let Some(own) = args.model.iter().find(|m| waits && is_own(m)) {
        let message = format!("flushes of {own} can be compared with polls, and not with waits");
        return Err(unsupported(message).help("compare it with RDMA_TSO or RDMA_SC"));
    }
    match (&args.model[..], &args.network[..]) {
        (&[a, b], []) => Ok([a, b]),
        (&[a, b], &[network]) => Ok([a.on(network)?, b.on(network)?]),
        (&[model], &[a, b]) => Ok([model.on(a)?, model.on(b)?]),
        _ => Err(InputError::new(Code::Argument, "a comparison is of two models, or of one on two networks")
            .help("write --model RDMA_TSO --model RDMA_SC, or --model RDMA_TSO --network rc --network cxi")),
    }
}

/// Compares two models. Returns 0 if the comparison was completed, 2 for bad arguments, 3 if a limit stopped it or no
/// program ends.
fn compared(args: &CompareArgs, deadline: &Deadline, log: Option<&ShardLog>) -> u8 {
    let [a, b] = match models(args) {
        Ok(models) => models,
        Err(error) => return reported_in(args.json, Err(error)),
    };
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
        return 0;
    }
    if args.json {
        println!("{}", found.json(a, b));
    } else {
        found.differences.iter().for_each(|d| println!("{}", d.text()));
        for (only, not) in [(a, b), (b, a)] {
            if found.stop.is_none() && found.differences.iter().all(|d| d.only != only) {
                println!("none of these programs has an outcome under {only} that it has not under {not}");
            }
        }
        let vacuous = if found.vacuous > 0 {
            format!(" ({} are stuck: a poll has no operation)", found.vacuous)
        } else {
            String::new()
        };
        println!(
            "{} programs{vacuous}, the smallest with threads, nodes, calls up to {}",
            found.programs,
            shapes(&bounds)
        );
        if found.is_vacuous() {
            println!("Vacuous: none of these programs ends");
        }
        if let Some(stop) = &found.stop {
            println!("Incomplete: {stop}");
        }
    }
    if found.stop.is_some() || found.is_vacuous() { 3 } else { 0 }
}
