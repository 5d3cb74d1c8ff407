//! The `check` command and its further questions.

mod args;
mod asked;
mod implementations;
mod list;
mod questions;
mod record;

pub(super) use self::args::CheckArgs;
use self::args::{bounds, chosen};
pub(super) use self::asked::CheckCommand;
use self::implementations::check_implementations;
use self::list::list;
use self::questions::{check_changes, check_difference, check_mutations, check_specifications};
use super::out::{reported, reported_in};
use super::shards::Done;
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::interrupt::Deadline;
use crate::necessity::{self, ChangeKind};
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;
use mowgli_rdma::Network;

/// Hashes the specifications, implementations and bounds that the command checks.
pub(super) fn hash(args: &CheckArgs, catalogue: &Catalogue) -> Result<Hash, InputError> {
    if let Some(network) = args.on.network.filter(|network| *network != Network::RC) {
        return Err(InputError::new(Code::Argument, "shards of a check are of the network rc")
            .help(format!("leave out --network {network}, or --shard")));
    }
    let chosen = chosen(args, catalogue)?;
    let mut hash = Hash::default();
    for (entry, variant) in &chosen {
        if args.mutate_spec {
            let bounds = args.within.limited(necessity::bounds(entry));
            entry.variants.iter().try_for_each(|variant| hash.add_library(entry, variant, &bounds))?;
        } else {
            hash.add_library(entry, variant, &bounds(entry, variant, args))?;
        }
    }
    // The libraries of the stack below, with their published implementations.
    let below = catalogue.entries().iter().filter(|_| args.through);
    for (entry, published) in below.filter_map(|entry| Some((entry, entry.variants.first()?))) {
        hash.add_library(entry, published, &published.bounds)?;
    }
    Ok(hash)
}

/// Checks this shard's share of the clients.
pub(super) fn shard(args: &CheckArgs, catalogue: Catalogue, log: &ShardLog) -> Done {
    set_jobs(args);
    let deadline = Deadline::after(args.timeout);
    let result = if args.mutate_spec {
        check_mutations(args, catalogue, &deadline, Some(log))
    } else {
        check_implementations(args, &catalogue, &deadline, Some(log))
    };
    Done::of(reported(result), deadline.expired())
}

fn set_jobs(args: &CheckArgs) {
    if let Some(jobs) = args.jobs {
        // The pool can be set once in a process, and nothing has used it yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(jobs as usize).build_global();
    }
}

/// Returns the catalogue with its libraries on the network that the arguments name.
fn on_network(args: &CheckArgs, catalogue: Catalogue) -> Result<Catalogue, InputError> {
    if let (Some(network), Some(_)) = (args.on.network.filter(|network| *network != Network::RC), &args.out) {
        return Err(InputError::new(Code::Argument, "a file of --out does not name its network")
            .help(format!("leave out --network {network}, or --out")));
    }
    args.on.of(catalogue)
}

/// Runs the check; `log` holds the results of other processes.
pub(super) fn check(args: &CheckArgs, catalogue: Catalogue, log: Option<&ShardLog>) -> u8 {
    if args.list {
        return reported_in(args.json, list(args, &catalogue));
    }
    set_jobs(args);
    let catalogue = match on_network(args, catalogue) {
        Ok(catalogue) => catalogue,
        Err(error) => return reported_in(args.json, Err(error)),
    };
    let deadline = Deadline::after(args.timeout);
    let result = match args {
        CheckArgs { spec: true, .. } => check_specifications(args, catalogue, &deadline),
        CheckArgs { necessity: true, .. } => check_changes(ChangeKind::Necessity, args, &catalogue, &deadline),
        CheckArgs { mutants: true, .. } => check_changes(ChangeKind::Mutants, args, &catalogue, &deadline),
        CheckArgs { mutate_spec: true, .. } => check_mutations(args, catalogue, &deadline, log),
        CheckArgs { distinguish: true, .. } => check_difference(args, &catalogue, &deadline),
        _ => check_implementations(args, &catalogue, &deadline, log),
    };
    reported_in(args.json, result)
}
