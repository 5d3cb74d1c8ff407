//! Renamings of clients: of their threads, nodes, objects and written values.
//!
//! **Computes** with [`Renaming::canonical`] the canonical form of a client. Clients with one form are equal up to a renaming,
//! and whether it changes any definition of a check is the question of [`super::symmetry`].
//!
//! **Example.** `write(x, 1)` on T1 with `read(x)` on T2, and the same with both threads exchanged, have one canonical
//! form.
//!
//! **Cost.** The canonical form tries at most 4! orders of threads (`THREADS`).

use std::collections::BTreeMap;
use std::hash::Hash;

use itertools::Itertools;

use super::client::Client;
use crate::event::Call;
use crate::ids::{Loc, Node, Tid};
use crate::value::Val;
use crate::world::{Crashes, Object, World};

/// The number of threads up to which the canonical form tries all orders, since `n` threads have `n!` of them.
const THREADS: usize = 4;

/// A one-to-one map of threads, nodes and integers. Integers that it does not name stay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renaming {
    /// The image of each thread.
    threads: Vec<Tid>,
    /// The image of each node.
    nodes: Vec<Node>,
    values: BTreeMap<i64, i64>,
}

/// The canonical form of a client. Clients with equal forms differ by a renaming at most.
pub type Canonical = (World, Client);

impl Renaming {
    /// Returns the canonical form, and the renaming to it. Nodes, objects and these `values` are numbered in the order
    /// of their first use. With `threads`, the threads stand in the order that gives the least such form.
    #[must_use]
    pub fn canonical(world: &World, client: &Client, values: &[i64], threads: bool) -> (Canonical, Self) {
        let count = world.threads.len();
        let in_order = (0..count).collect_vec();
        if !threads || count > THREADS {
            return Self::in_order(world, client, values, &in_order);
        }
        // Sort the threads by their methods, since a renaming preserves these, and permute only threads with the same
        // methods.
        let methods = |t: &usize| client.threads[*t].iter().map(|call| call.method).collect_vec();
        let sorted = in_order.into_iter().sorted_by_key(methods).collect_vec();
        let orders = sorted.iter().copied().permutations(count);
        let is_sorted = |order: &Vec<usize>| order.iter().map(&methods).eq(sorted.iter().map(&methods));
        let all = orders.filter(is_sorted).map(|order| Self::in_order(world, client, values, &order));
        all.min_by(|(a, _), (b, _)| a.cmp(b)).expect("one order at least")
    }

    /// Returns the renamings of a client to itself that move threads to wanted orders. Each form numbers names in the order of
    /// their use, so equal forms of two orders of threads give one.
    pub(super) fn automorphisms(
        (world, client): &(World, Client),
        values: &[i64],
        is_wanted: impl Fn(&[usize]) -> bool,
    ) -> Vec<Self> {
        let count = world.threads.len();
        let in_order = (0..count).collect_vec();
        let methods = |t: &usize| client.threads[*t].iter().map(|call| call.method);
        let is_possible = |order: &Vec<usize>| order.iter().zip(&in_order).all(|(t, u)| methods(t).eq(methods(u)));
        let orders = in_order.iter().copied().permutations(if count > THREADS { 0 } else { count }).skip(1);
        let orders = orders.filter(|order| is_possible(order) && is_wanted(order)).collect_vec();
        if orders.is_empty() {
            return Vec::new();
        }
        let (form, first) = Self::in_order(world, client, values, &in_order);
        let images = orders.iter().map(|order| Self::in_order(world, client, values, order));
        images.filter(|(image, _)| *image == form).map(|(_, renaming)| first.and_back(&renaming)).collect()
    }

    /// Returns the same for this order of threads.
    fn in_order(world: &World, client: &Client, values: &[i64], order: &[usize]) -> (Canonical, Self) {
        let calls = || order.iter().flat_map(|&t| &client.threads[t]);
        let args = || calls().flat_map(|call| call.args.iter().copied());
        let locs = numbered(args().filter_map(Val::loc), world.objects.keys().copied());
        let objects = world.objects.keys().sorted_by_key(|x| locs[x]).map(|x| &world.objects[x]).collect_vec();
        let homes = objects.iter().filter_map(|o| o.node);
        let placed = order.iter().map(|&t| world.threads[t]).chain(homes).chain(args().flat_map(nodes_of));
        let nodes = numbered(placed, (1..=world.nodes).map(Node));
        let written = args().flat_map(Val::integers).filter(|v| values.contains(v));
        let values: BTreeMap<i64, i64> =
            numbered(written, values.iter().copied()).into_iter().map(|(v, n)| (v, values[n])).collect();
        let position = |t: usize| Tid::from_index(order.iter().position(|&o| o == t).expect("each thread has a place"));
        let renaming = Self {
            threads: (0..order.len()).map(position).collect(),
            nodes: (1..=world.nodes).map(|n| Node(nodes[&Node(n)] as u8 + 1)).collect(),
            values,
        };
        let names = world.objects.keys().copied().collect_vec();
        let loc = |x: Loc| locs.get(&x).map_or(x, |&n| names[n]);
        let call =
            |call: &Call| Call { args: call.args.iter().map(|&v| renaming.image(v, &loc)).collect(), ..call.clone() };
        let form = World {
            nodes: world.nodes,
            threads: order.iter().map(|&t| renaming.node(world.threads[t])).collect(),
            objects: world.objects.iter().map(|(&x, o)| (loc(x), renaming.object(o, &loc))).collect(),
            crashes: Crashes {
                threads: world.crashes.threads.iter().map(|&t| renaming.thread(t)).collect(),
                nodes: world.crashes.nodes.iter().map(|n| renaming.node(n)).collect(),
            },
        };
        let threads = order.iter().map(|&t| client.threads[t].iter().map(call).collect()).collect();
        ((form, Client { threads }), renaming)
    }

    /// Composes this renaming with another one.
    pub(super) fn then(&self, other: &Self) -> Self {
        Self {
            threads: self.threads.iter().map(|&t| other.thread(t)).collect(),
            nodes: self.nodes.iter().map(|&n| other.node(n)).collect(),
            values: self.values.iter().map(|(&v, w)| (v, *other.values.get(w).unwrap_or(w))).collect(),
        }
    }

    /// Composes this renaming with the inverse of another one.
    pub(super) fn and_back(&self, other: &Self) -> Self {
        let back = |t: &Tid| Tid::from_index(other.threads.iter().position(|u| u == t).expect("one-to-one"));
        let node = |n: &Node| Node(other.nodes.iter().position(|m| m == n).expect("one-to-one") as u8 + 1);
        let value = |v: &i64| other.values.iter().find(|(_, w)| *w == v).map_or(*v, |(w, _)| *w);
        Self {
            threads: self.threads.iter().map(back).collect(),
            nodes: self.nodes.iter().map(node).collect(),
            values: self.values.iter().map(|(v, w)| (*v, value(w))).collect(),
        }
    }

    pub(super) fn thread(&self, t: Tid) -> Tid {
        self.threads[t.index()]
    }

    /// Returns the integers that it changes, each with its image.
    pub(super) fn integers(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.values.iter().map(|(&v, &w)| (v, w)).filter(|(v, w)| v != w)
    }

    /// Returns the image of an integer.
    pub(super) fn integer(&self, v: i64) -> i64 {
        *self.values.get(&v).unwrap_or(&v)
    }

    pub(super) fn node(&self, n: Node) -> Node {
        self.nodes[usize::from(n.0) - 1]
    }

    fn image(&self, v: Val, loc: &dyn Fn(Loc) -> Loc) -> Val {
        v.image(&|part| match part {
            Val::Int(i) => Val::Int(self.integer(i)),
            Val::Loc(x) => Val::Loc(loc(x)),
            Val::Node(n) => Val::Node(self.node(n)),
            Val::Nodes(ns) => Val::Nodes(ns.iter().map(|n| self.node(n)).collect()),
            Val::Thread(t) => Val::Thread(self.thread(t)),
            other => other,
        })
    }

    /// Renames an object. Members that are sorted by number stay sorted.
    fn object(&self, object: &Object, loc: &dyn Fn(Loc) -> Loc) -> Object {
        let mut members = object.members.iter().map(|&t| self.thread(t)).collect_vec();
        if object.members.is_sorted() {
            members.sort();
        }
        Object {
            node: object.node.map(|n| self.node(n)),
            init: self.image(object.init, loc),
            members,
            ..object.clone()
        }
    }
}

/// NumberSet the elements of `all`: those of `first` come first, in that order.
fn numbered<T: Ord + Copy + Hash>(first: impl Iterator<Item = T>, all: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let all = all.collect_vec();
    let first = first.filter(|x| all.contains(x)).collect_vec();
    first.into_iter().chain(all.iter().copied()).unique().enumerate().map(|(n, x)| (x, n)).collect()
}

fn nodes_of(v: Val) -> Vec<Node> {
    match v {
        Val::Node(n) => vec![n],
        Val::Nodes(ns) => ns.iter().collect(),
        Val::Tuple(parts) => parts.parts().iter().flat_map(|&v| nodes_of(v)).collect(),
        _ => Vec::new(),
    }
}
