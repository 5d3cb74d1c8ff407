//! The distribution of the clients of a check over the processes that share it.
//!
//! Symmetric clients stay together, and so do those with one general client, because one search covers all of them. The
//! distribution does not affect the report.

use itertools::Itertools;

use super::client::Client;
use super::client_log::Shard;
use super::generals::Generals;
use super::orbits::Orbits;
use crate::ids::Name;
use crate::value::Val;
use crate::world::World;

/// Returns which of the clients a shard searches: the first ones of its orbits. The leaders are dealt in turn, light ones first, and
/// clients with the same calls one after another. So heavy clients, and clients that take about as long, go to different
/// shards.
pub(super) fn dealt(shard: Shard, clients: &[(World, Client)], orbits: &Orbits, generals: &Generals) -> Vec<bool> {
    let key = |i: &usize| (weight(&clients[*i].1), shape(&clients[*i].1), *i);
    let mut is_here = vec![false; clients.len()];
    let leaders = orbits.firsts().filter(|&i| generals.leader(i) == i).sorted_by_cached_key(key);
    leaders.enumerate().filter(|(place, _)| shard.has(*place)).for_each(|(_, i)| is_here[i] = true);
    orbits.firsts().for_each(|i| is_here[i] = is_here[generals.leader(i)]);
    is_here
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
