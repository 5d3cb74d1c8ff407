//! The distribution of the clients of a check over the processes that share it.
//!
//! Clients that may be symmetric should be together, so that one search covers all of them. But a few heavy classes can
//! be a large part of all work, and such clients are often not symmetric. For example, an implementation that visits
//! nodes in the order of their numbers changes when they change places.
//! So [`dealt`] compares the beginnings of the clients in the heaviest classes, and deals those with different
//! beginnings one by one. The distribution does not affect the report. If two such clients are symmetric after all, the
//! check only searches twice.

use itertools::Itertools;
use rayon::prelude::*;

use super::client::Client;
use super::client_log::Shard;
use super::orbits::Orbits;
use super::question::Question;
use super::renaming::{LibrarySide, relates};
use crate::flow;
use crate::ids::Name;
use crate::value::Val;
use crate::world::World;

/// The number of heaviest classes, for each shard, whose beginnings are compared. It is small because comparisons cost time,
/// and light classes even out without them.
const HEAVY: usize = 8;

/// The number of states of a beginning, since clients that are not symmetric differ within their first steps.
const STATES: u64 = 4;

/// Returns which of the clients a shard has. Clients that may be symmetric stay together, except heavy ones. All are
/// dealt in turn, light ones first, and clients with the same calls one after another. So heavy clients, and clients
/// that take about as long, go to different shards.
pub(super) fn dealt(
    question: &Question<'_>,
    shard: Shard,
    clients: &[(World, Client)],
    orbits: &Orbits,
    sides: &[LibrarySide<'_>; 2],
) -> Vec<bool> {
    let key = |i: usize| (weight(&clients[i].1), shape(&clients[i].1), i);
    let mut classes = orbits.all_members();
    classes.sort_by_cached_key(|class| key(class[0]));
    let many = classes.iter().positions(|class| class.len() > 1).collect_vec();
    let heavy = many.iter().rev().take(HEAVY * shard.of()).copied().collect_vec();
    let split: Vec<Vec<Vec<usize>>> =
        heavy.par_iter().map(|&n| units(question, clients, &classes[n], orbits, sides)).collect();
    for (n, mut units) in heavy.into_iter().zip(split) {
        classes[n] = units.remove(0);
        classes.extend(units);
    }
    classes.sort_by_cached_key(|unit| key(unit[0]));
    let mut is_here = vec![false; clients.len()];
    for (_, unit) in classes.iter().enumerate().filter(|(place, _)| shard.has(*place)) {
        unit.iter().for_each(|&i| is_here[i] = true);
    }
    is_here
}

/// Splits a class by the beginnings of its members. The first unit contains the first member.
fn units(
    question: &Question<'_>,
    clients: &[(World, Client)],
    class: &[usize],
    orbits: &Orbits,
    sides: &[LibrarySide<'_>; 2],
) -> Vec<Vec<usize>> {
    let mut left = class.to_vec();
    let mut units = Vec::new();
    while let Some((&first, others)) = left.split_first() {
        let mut unit = vec![first];
        let (world, client) = &clients[first];
        question.implemented(world, client, |problem| {
            flow::glance(problem, STATES, &mut |transcript| {
                unit.extend(others.iter().copied().filter(|&i| {
                    let ((world, client), renaming) = (&clients[i], orbits.between(first, i));
                    question.implemented(world, client, |other| relates(&renaming, transcript, other, sides.each_ref()))
                }));
            });
        });
        left.retain(|i| !unit.contains(i));
        units.push(unit);
    }
    units
}

/// Returns the approximate weight of a client: the number of its calls, and of the nodes in their arguments. Such nodes
/// are the targets of a broadcast, for example.
pub(super) fn weight(client: &Client) -> usize {
    fn size(value: &Val) -> usize {
        match value {
            Val::Nodes(nodes) => nodes.iter().count(),
            Val::Tuple(parts) => parts.parts().iter().map(size).sum(),
            _ => 0,
        }
    }
    client.threads.iter().flatten().map(|call| 1 + call.args.iter().map(size).sum::<usize>()).sum()
}

/// Returns the methods that the threads of a client call. Clients with the same methods take about as long.
pub(super) fn shape(client: &Client) -> Vec<Vec<Name>> {
    let threads = client.threads.iter().map(|calls| calls.iter().map(|call| call.method).sorted().collect_vec());
    threads.sorted_by_key(|methods| (methods.len(), methods.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Call;
    use crate::ids::{Node, NodeSet};

    #[test]
    fn what_goes_to_more_nodes_is_heavier() {
        let call = |nodes: &[u8]| {
            let nodes = nodes.iter().map(|&n| Node(n)).collect::<NodeSet>();
            Call::new(Name::literal("sv"), "GF", &[Val::Nodes(nodes)])
        };
        let client = |calls: &[Call]| Client { threads: vec![calls.to_vec()] };
        assert_eq!(
            [client(&[]), client(&[call(&[1])]), client(&[call(&[1, 2]), call(&[2])])].map(|c| weight(&c)),
            [0, 2, 5]
        );
    }
}
