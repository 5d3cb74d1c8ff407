//! Generation of clients: all programs of calls up to a bound, once up to renaming of threads and nodes.

use std::collections::BTreeMap;

use itertools::Itertools;
use serde::{Deserialize, Serialize};

use crate::event::Call;
use crate::ids::{Node, NodeSet, Tid};
use crate::program::Prog;
use crate::value::Val;
use crate::world::World;

/// Upper limits on clients. Every smaller shape is included.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bound {
    /// Threads.
    pub threads: usize,
    /// Nodes.
    pub nodes: u8,
    /// Calls of each thread.
    pub calls: usize,
    /// Objects of the library.
    pub objects: usize,
    /// Rounds of a loop with effects.
    pub loops: usize,
    /// The values that are written.
    pub values: Vec<i64>,
}

/// What a library adds to be checked: which objects there can be, and which calls.
pub trait Subject: Send + Sync {
    /// The worlds with up to `bound.objects` objects on these nodes and threads.
    fn worlds(&self, empty: &World, bound: &Bound) -> Vec<World>;

    /// The calls that a thread can make.
    fn calls(&self, world: &World, thread: Tid, bound: &Bound) -> Vec<Call>;
}

/// A client: straight-line programs of calls.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Client {
    /// The calls of each thread.
    pub threads: Vec<Vec<Call>>,
}

impl Client {
    /// The program of each thread; its value is the tuple of the results.
    #[must_use]
    pub fn programs(&self) -> Vec<Prog> {
        self.threads.iter().map(|calls| program(calls.clone(), Vec::new())).collect()
    }

    /// How many calls there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.threads.iter().map(Vec::len).sum()
    }

    /// Whether there is no call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn program(calls: Vec<Call>, results: Vec<Val>) -> Prog {
    match calls.get(results.len()) {
        None => Prog::Val(Val::tuple(&results)),
        Some(call) => Prog::call(call.clone()).bind(move |v| {
            let mut results = results.clone();
            results.push(v);
            program(calls.clone(), results)
        }),
    }
}

/// The placements of `threads` threads on at most `nodes` nodes, up to renaming both: the sizes of the groups that share
/// a node, largest first.
#[must_use]
pub fn placements(threads: usize, nodes: u8) -> Vec<Vec<Node>> {
    fn parts(left: usize, most: usize, groups: u8) -> Vec<Vec<usize>> {
        if left == 0 {
            return vec![Vec::new()];
        }
        if groups == 0 {
            return Vec::new();
        }
        let first = (1..=most.min(left)).rev();
        first
            .flat_map(|k| parts(left - k, k, groups - 1).into_iter().map(move |rest| [vec![k], rest].concat()))
            .collect()
    }
    let place = |sizes: Vec<usize>| {
        let nodes = sizes.iter().enumerate();
        nodes.flat_map(|(i, &k)| std::iter::repeat_n(Node(i as u8 + 1), k)).collect()
    };
    parts(threads, threads, nodes).into_iter().map(place).collect()
}

/// All clients of a subject within a bound, smallest first, each with its world.
#[must_use]
pub fn clients(subject: &dyn Subject, bound: &Bound) -> Vec<(World, Client)> {
    let mut all = Vec::new();
    for threads in 1..=bound.threads {
        for nodes in 1..=bound.nodes {
            for placement in placements(threads, nodes) {
                for world in subject.worlds(&World::new(nodes, &placement), bound) {
                    add_clients(subject, bound, &world, &mut all);
                }
            }
        }
    }
    all.sort_by_cached_key(|(w, c)| (c.len(), w.threads.len(), w.nodes, w.threads.clone(), c.clone()));
    all
}

fn add_clients(subject: &dyn Subject, bound: &Bound, world: &World, all: &mut Vec<(World, Client)>) {
    let symmetries = symmetries(world);
    let sequences = world.tids().map(|t| {
        let calls = subject.calls(world, t, bound);
        let lengths = (1..=bound.calls)
            .flat_map(|n| std::iter::repeat_n(calls.iter().cloned(), n).multi_cartesian_product())
            .collect_vec();
        lengths.into_iter()
    });
    for threads in sequences.multi_cartesian_product() {
        let client = Client { threads };
        if symmetries.iter().all(|s| s.is_least(&client)) {
            all.push((world.clone(), client));
        }
    }
}

/// A renaming of threads and nodes that leaves the world as it is.
struct Symmetry {
    threads: Vec<usize>,
    nodes: BTreeMap<Node, Node>,
}

fn symmetries(world: &World) -> Vec<Symmetry> {
    let count = world.threads.len();
    let candidates =
        (0..count).permutations(count).cartesian_product((1..=world.nodes).permutations(usize::from(world.nodes)));
    let candidates = candidates.map(|(threads, nodes)| {
        let nodes = (1..=world.nodes).map(Node).zip(nodes.into_iter().map(Node)).collect();
        Symmetry { threads, nodes }
    });
    candidates.filter(|s| s.keeps(world)).collect()
}

impl Symmetry {
    fn keeps(&self, world: &World) -> bool {
        let placed = self.threads.iter().enumerate().all(|(t, &u)| self.nodes[&world.threads[t]] == world.threads[u]);
        let objects = world.objects.values().all(|o| {
            let mut members: Vec<Tid> = o.members.iter().map(|t| Tid::from_index(self.threads[t.index()])).collect();
            members.sort_unstable();
            let mut before = o.members.clone();
            before.sort_unstable();
            members == before && o.node.is_none_or(|n| self.nodes[&n] == n)
        });
        placed && objects
    }

    fn is_least(&self, client: &Client) -> bool {
        let mut image = vec![Vec::new(); client.threads.len()];
        for (t, calls) in client.threads.iter().enumerate() {
            image[self.threads[t]] = calls.iter().map(|c| self.renamed(c)).collect();
        }
        client.threads <= image
    }

    fn renamed(&self, call: &Call) -> Call {
        let value = |v: &Val| match *v {
            Val::Node(n) => Val::Node(self.nodes[&n]),
            Val::Nodes(ns) => Val::Nodes(ns.iter().map(|n| self.nodes[&n]).collect::<NodeSet>()),
            other => other,
        };
        Call { args: call.args.iter().map(value).collect(), ..call.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_are_partitions() {
        let shown: Vec<Vec<u8>> = placements(3, 3).into_iter().map(|p| p.iter().map(|n| n.0).collect()).collect();
        assert_eq!(shown, [vec![1, 1, 1], vec![1, 1, 2], vec![1, 2, 3]]);
        assert_eq!(placements(3, 1).len(), 1);
    }
}
