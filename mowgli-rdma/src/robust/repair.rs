//! Insertions into a program that the theorems do not show to be robust.

use std::fmt;

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::search::runs::Stop;
use mowgli_core::world::World;

use super::conditions::{Cpu, PreExecution, Reordered};
use crate::tso::{TSO, towards, word};

/// A repair to insert before a call: P, F and GP of ROBUST Fig. 5, or a memory fence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Repair {
    /// A poll.
    Poll(Node),
    /// A remote fence.
    Rfence(Node),
    /// A memory fence.
    Mfence,
    /// A get of a fresh word, its poll, and the polls of the operations before it.
    GetAndPoll(Node),
}

/// A repair and its place: the thread, and the position of the call before which it goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Insertion {
    /// The thread.
    pub thread: Tid,
    /// The position of the call that it goes before; at the end, the number of calls.
    pub before: usize,
    /// The repair.
    pub repair: Repair,
}

/// Returns the words of a dummy get: the local one, on the node of the thread, and the remote one.
#[must_use]
pub fn dummies(thread: Tid, n: Node) -> [Loc; 2] {
    [format!("dummy_{thread}_{n}"), format!("dummy_{thread}_{n}_there")].map(|name| Loc::new(&name))
}

impl Insertion {
    /// Returns the calls to insert if this number of operations towards the node is open. Polls take the oldest
    /// completion first, so a dummy get needs a poll for each open operation too.
    fn calls(&self, open: usize) -> Vec<Call> {
        let poll = |n: Node| Call::new(TSO, "Poll", &[n.into()]);
        match self.repair {
            Repair::Poll(n) => vec![poll(n)],
            Repair::Rfence(n) => vec![Call::new(TSO, "Rfence", &[n.into()])],
            Repair::Mfence => vec![Call::new(TSO, "Mfence", &[])],
            Repair::GetAndPoll(n) => {
                let [here, there] = dummies(self.thread, n);
                let get = Call::new(TSO, "Get", &[here.into(), there.into()]);
                std::iter::once(get).chain(std::iter::repeat_n(poll(n), open + 1)).collect()
            }
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poll(n) => write!(f, "poll({n})"),
            Self::Rfence(n) => write!(f, "rfence({n})"),
            Self::Mfence => f.write_str("mfence"),
            Self::GetAndPoll(n) => write!(f, "a get from node {n} and its poll"),
        }
    }
}

/// Finds a smallest set of insertions after which a program is locally data-race free and fenced. Returns `None` if
/// some thread needs more than `most`. The conditions for a thread do not depend on insertions into another one, since
/// insertions touch no public location. So the search repairs each thread by itself.
///
/// # Errors
/// If the time is up.
pub fn repairs(
    world: &World,
    threads: &[Vec<Call>],
    cpu: Cpu,
    most: usize,
    expired: &dyn Fn() -> bool,
) -> Result<Option<Vec<Insertion>>, Stop> {
    let world = with_dummies(world);
    let still = |threads: &[Vec<Call>], t: usize| {
        let program = PreExecution::new(&world, threads)?;
        let own = |r: &Reordered| r.thread.index() == t;
        Some(program.races().iter().any(own) || program.unfenced(cpu).iter().any(own))
    };
    let mut all = Vec::new();
    for t in 0..threads.len() {
        let candidates = candidates(&world, t, threads[t].len());
        let sets = (0..=most).flat_map(|k| candidates.iter().copied().combinations(k));
        let is_good = |set: &Vec<Insertion>| still(&inserted(&world, threads, set), t) == Some(false);
        match sets.take_while(|_| !expired()).find(is_good) {
            Some(found) => all.extend(found),
            None if expired() => return Err(Stop::Time),
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// Lists all insertions into a thread.
#[must_use]
pub fn candidates(world: &World, t: usize, calls: usize) -> Vec<Insertion> {
    let thread = Tid::from_index(t);
    let of_node = |n: Node| [Repair::Poll(n), Repair::Rfence(n), Repair::GetAndPoll(n)];
    let kinds: Vec<Repair> = world.all_nodes().iter().flat_map(of_node).chain([Repair::Mfence]).collect();
    // Cheap insertions come first: a remote fence is cheap, because it blocks one queue pair only. An insertion before the
    // first call is left out, since it orders nothing.
    let cost = |k: &Repair| match k {
        Repair::Rfence(_) => 0,
        Repair::Poll(_) => 1,
        Repair::Mfence => 2,
        Repair::GetAndPoll(_) => 3,
    };
    let kinds = kinds.into_iter().sorted_by_key(cost);
    kinds.cartesian_product(1..=calls).map(|(repair, before)| Insertion { thread, before, repair }).collect()
}

/// Adds the words of dummy gets to a world.
#[must_use]
pub fn with_dummies(world: &World) -> World {
    let mut world = world.clone();
    let nodes: Vec<Node> = world.all_nodes().iter().collect();
    for (t, &n) in world.tids().cartesian_product(&nodes) {
        let [here, there] = dummies(t, n);
        let node = world.node_of(t);
        world.objects.insert(here, word(node));
        world.objects.insert(there, word(n));
    }
    world
}

/// Counts the operations towards the node of a repair that are open after these calls.
fn open(world: &World, calls: &[Call], repair: Repair) -> usize {
    let (Repair::Poll(n) | Repair::Rfence(n) | Repair::GetAndPoll(n)) = repair else { return 0 };
    let own = calls.iter().filter(|c| towards(world, c) == Some(n));
    own.fold(0, |open: usize, c| if c.method.text() == "Poll" { open.saturating_sub(1) } else { open + 1 })
}

/// Returns the programs with these insertions, in a world with dummies.
#[must_use]
pub fn inserted(world: &World, threads: &[Vec<Call>], insertions: &[Insertion]) -> Vec<Vec<Call>> {
    let of_thread = |(t, calls): (usize, &Vec<Call>)| {
        let mut all = Vec::new();
        for position in 0..=calls.len() {
            let here = insertions.iter().filter(|i| i.thread.index() == t && i.before == position);
            for insertion in here {
                all.extend(insertion.calls(open(world, &all, insertion.repair)));
            }
            all.extend(calls.get(position).cloned());
        }
        all
    };
    threads.iter().enumerate().map(of_thread).collect()
}
