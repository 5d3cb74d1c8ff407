//! The conditions for robustness: guaranteed-before, local races, unfenced pairs, and the reasons why a program is not
//! tree-fenced.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::search::relation::Matrix;
use mowgli_core::world::World;

use crate::tso::towards;

/// The model that the conditions are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cpu {
    /// RDMA-SC.
    Sc,
    /// RDMA-TSO.
    Tso,
}

/// The types of events of ROBUST §3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EventType {
    CpuRead,
    CpuWrite,
    Cas,
    Mfence,
    Poll,
    LocalRead,
    RemoteWrite,
    RemoteRead,
    LocalWrite,
    RemoteFence,
}

impl EventType {
    fn is_cpu(self) -> bool {
        matches!(self, Self::CpuRead | Self::CpuWrite | Self::Cas | Self::Mfence | Self::Poll)
    }

    fn writes(self) -> bool {
        matches!(self, Self::CpuWrite | Self::Cas | Self::RemoteWrite | Self::LocalWrite)
    }
}

/// An event of a pre-execution. A put is a local read and then a remote write, a get a remote read and then a local write.
#[derive(Clone, Copy, Debug)]
struct PreEvent {
    thread: usize,
    /// The position of its call in its thread.
    call: usize,
    is: EventType,
    loc: Option<Loc>,
    /// The node of its queue pair.
    to: Option<Node>,
}

/// Two accesses of a thread that may be reordered: the positions of their calls, and a verb for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reordered {
    /// The thread.
    pub thread: Tid,
    /// The position of the earlier call on its thread.
    pub earlier: usize,
    /// The position of the later one.
    pub later: usize,
    /// The verb for the earlier access, for example `reads`.
    pub first: &'static str,
    /// The verb for the later access.
    pub second: &'static str,
}

/// A reason why a program is not tree-fenced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotATree {
    /// A call uses this location locally, and another thread accesses it too (Def. 9, 1).
    Public(Tid, usize, Loc),
    /// A get is not followed by a remote fence or its poll before the next operation on its queue pair (Def. 9, 2).
    Overtaken(Reordered),
    /// These nodes are a cycle (Def. 9, 3a).
    Cycle(Vec<Node>),
    /// Two nodes have queue pairs towards each other (Def. 9, 3b).
    BothWays(Node, Node),
    /// Two threads of one node have queue pairs towards this node (Def. 9, 3c).
    TwoPairs(Tid, Tid, Node),
    /// A read passes an earlier write of the CPU, both of public locations (Def. 14, 2).
    StoreBuffering(Reordered),
}

/// A pre-execution `<E, po, pf>`: straight-line programs.
pub struct PreExecution<'a> {
    world: &'a World,
    events: Vec<PreEvent>,
    po: Matrix,
    pf: Matrix,
}

/// The position of a part of a call: thread, call, part.
pub type PartPosition = (usize, usize, usize);

impl<'a> PreExecution<'a> {
    /// Returns the pairs of [`Self::gb`] by place. A put has its local read first, a get its remote read.
    #[must_use]
    pub fn gb_by_place(&self, cpu: Cpu) -> Vec<(PartPosition, PartPosition)> {
        let place = |e: usize| {
            let PreEvent { thread, call, .. } = self.events[e];
            let first = self.events.iter().position(|o| (o.thread, o.call) == (thread, call)).expect("itself");
            (thread, call, e - first)
        };
        self.gb(cpu).pairs().map(|(a, b)| (place(a), place(b))).collect()
    }

    /// Builds the events of these calls of RDMA-TSO, thread by thread; `None` if some poll has no operation to take.
    ///
    /// # Panics
    /// If a call is not of RDMA-TSO, or is a remote read-modify-write.
    #[must_use]
    pub fn new(world: &'a World, threads: &[Vec<Call>]) -> Option<Self> {
        let mut events = Vec::new();
        let mut polled = Vec::new();
        for (thread, calls) in threads.iter().enumerate() {
            let mut open: BTreeMap<Node, std::collections::VecDeque<usize>> = BTreeMap::new();
            for (call, of) in calls.iter().enumerate() {
                let to = towards(world, of);
                let mut add = |is, loc, to| events.push(PreEvent { thread, call, is, loc, to });
                let loc = |position: usize| of.args[position].loc();
                match of.method.text() {
                    "Read" => add(EventType::CpuRead, loc(0), None),
                    "Write" => add(EventType::CpuWrite, loc(0), None),
                    "CAS" | "Xchg" | "FAA" => add(EventType::Cas, loc(0), None),
                    "Mfence" => add(EventType::Mfence, None, None),
                    "Poll" => {
                        add(EventType::Poll, None, None);
                        polled.push((open.entry(to?).or_default().pop_front()?, events.len() - 1));
                    }
                    "Rfence" => match of.args[0] {
                        mowgli_core::value::Val::Node(n) => add(EventType::RemoteFence, None, Some(n)),
                        other => panic!("{other} is no node"),
                    },
                    "Put" => {
                        add(EventType::LocalRead, loc(1), to);
                        add(EventType::RemoteWrite, loc(0), to);
                        open.entry(to?).or_default().push_back(events.len() - 1);
                    }
                    "Get" => {
                        add(EventType::RemoteRead, loc(1), to);
                        add(EventType::LocalWrite, loc(0), to);
                        open.entry(to?).or_default().push_back(events.len() - 1);
                    }
                    other => panic!("{other} is no call of RDMA-TSO"),
                }
            }
        }
        let n = events.len();
        let po = Matrix::from_fn(n, |a, b| a < b && events[a].thread == events[b].thread);
        let pf = Matrix::from_fn(n, |a, b| polled.contains(&(a, b)));
        Some(Self { world, events, po, pf })
    }

    fn of(&self, types: &[EventType]) -> Vec<bool> {
        self.events.iter().map(|e| types.contains(&e.is)).collect()
    }

    /// Restricts `rel` to the pairs from one set to another.
    fn between(&self, rel: &Matrix, from: &[EventType], to: &[EventType]) -> Matrix {
        let (from, to) = (self.of(from), self.of(to));
        Matrix::from_fn(self.events.len(), |a, b| from[a] && to[b] && rel.has(a, b))
    }

    /// Returns program order on one queue pair.
    fn sqp(&self) -> Matrix {
        let e = &self.events;
        Matrix::from_fn(e.len(), |a, b| self.po.has(a, b) && e[a].to.is_some() && e[a].to == e[b].to)
    }

    /// Computes oppo (ROBUST Fig. 4, and App. B for TSO).
    fn oppo(&self, cpu: Cpu) -> Matrix {
        use EventType::{CpuRead, CpuWrite, LocalRead, LocalWrite, Poll, RemoteFence, RemoteRead, RemoteWrite};
        let sqp = self.sqp();
        Matrix::from_fn(self.events.len(), |a, b| {
            let on_one_pair = match (self.events[a].is, self.events[b].is) {
                (x, y) if x.is_cpu() => {
                    let buffered = cpu == Cpu::Tso && x == CpuWrite && matches!(y, CpuRead | Poll);
                    return self.po.has(a, b) && !buffered;
                }
                (LocalRead | RemoteFence, y) => !y.is_cpu(),
                (RemoteWrite, RemoteWrite | RemoteRead | LocalWrite) => true,
                (RemoteRead, LocalWrite | RemoteFence) => true,
                (LocalWrite, LocalWrite) => true,
                _ => false,
            };
            on_one_pair && sqp.has(a, b)
        })
    }

    /// Computes guaranteed-before (Defs. 6 and 12).
    #[must_use]
    pub fn gb(&self, cpu: Cpu) -> Matrix {
        use EventType::{LocalRead, LocalWrite, RemoteFence, RemoteRead, RemoteWrite};
        let sqp = self.sqp();
        let n = self.events.len();
        let next = Matrix::from_fn(n, |a, b| b == a + 1 && self.po.has(a, b));
        let rel = |rel: &Matrix, from: &[EventType], to: &[EventType]| self.between(rel, from, to);
        let fenced = |from: EventType| rel(&sqp, &[from], &[RemoteFence]).then(&sqp);
        let after_get = fenced(LocalWrite);
        let put_side = self.of(&[LocalRead, RemoteWrite]);
        let after_get = Matrix::from_fn(n, |a, b| put_side[b] && after_get.has(a, b));
        self.oppo(cpu)
            .or(&rel(&next, &[LocalRead], &[RemoteWrite]).then(&self.pf))
            .or(&rel(&sqp, &[RemoteWrite], &[LocalWrite]).then(&self.pf))
            .or(&rel(&next, &[RemoteRead], &[LocalWrite]).then(&self.pf))
            .or(&fenced(RemoteRead))
            .or(&rel(&self.pf, &[LocalWrite], &[EventType::Poll]))
            .or(&after_get)
            .closure()
    }

    fn reordered(&self, a: usize, b: usize) -> Reordered {
        let text = |e: usize| match self.events[e].is {
            EventType::CpuRead => "reads",
            EventType::CpuWrite => "writes",
            EventType::Cas => "updates",
            EventType::LocalRead => "reads its source",
            EventType::RemoteWrite => "writes remotely",
            EventType::RemoteRead => "reads remotely",
            EventType::LocalWrite => "writes its target",
            EventType::Mfence | EventType::Poll | EventType::RemoteFence => "waits",
        };
        let [one, two] = [&self.events[a], &self.events[b]];
        let thread = Tid::from_index(one.thread);
        Reordered { thread, earlier: one.call, later: two.call, first: text(a), second: text(b) }
    }

    /// Returns the locations that several threads access.
    fn public(&self) -> BTreeSet<Loc> {
        let mut by: BTreeMap<Loc, BTreeSet<usize>> = BTreeMap::new();
        for e in &self.events {
            if let Some(x) = e.loc {
                by.entry(x).or_default().insert(e.thread);
            }
        }
        by.into_iter().filter(|(_, threads)| threads.len() > 1).map(|(x, _)| x).collect()
    }

    /// Returns the pairs that keep the program from being locally data-race free (Def. 7; with gb of RDMA-SC in both
    /// models).
    #[must_use]
    pub fn races(&self) -> Vec<Reordered> {
        let gb = self.gb(Cpu::Sc);
        let conflict =
            |a: &PreEvent, b: &PreEvent| a.loc.is_some() && a.loc == b.loc && (a.is.writes() || b.is.writes());
        let races = self.po.pairs().filter(|&(a, b)| conflict(&self.events[a], &self.events[b]) && !gb.has(a, b));
        races.map(|(a, b)| self.reordered(a, b)).sorted().dedup().collect()
    }

    /// Returns the pairs of public accesses that are not guaranteed in order although the later one may influence the
    /// earlier (Defs. 8 and 13).
    #[must_use]
    pub fn unfenced(&self, cpu: Cpu) -> Vec<Reordered> {
        let (gb, public) = (self.gb(cpu), self.public());
        let is_public = |e: usize| self.events[e].loc.is_some_and(|x| public.contains(&x));
        let reach: Vec<Matrix> = (0..self.world.threads.len()).map(|t| self.communicate(t, &public)).collect();
        let influences = |a: usize, b: usize| {
            let node = |e: usize| self.events[e].loc.and_then(|x| self.world.home(x));
            let (Some(m), Some(n)) = (node(a), node(b)) else { return true };
            m == n || reach[self.events[a].thread].has(usize::from(m.0), usize::from(n.0))
        };
        let all = self.po.pairs().filter(|&(a, b)| is_public(a) && is_public(b) && !gb.has(a, b) && influences(a, b));
        all.map(|(a, b)| self.reordered(a, b)).sorted().dedup().collect()
    }

    /// Computes `~>+` on nodes, by the public operations of threads other than `t`.
    fn communicate(&self, t: usize, public: &BTreeSet<Loc>) -> Matrix {
        let mut edges = Matrix::empty(usize::from(self.world.nodes) + 1);
        let remote = |e: &&PreEvent| matches!(e.is, EventType::RemoteWrite | EventType::RemoteRead);
        let others = self.events.iter().filter(remote).filter(|e| e.thread != t);
        for e in others.filter(|e| e.loc.is_some_and(|x| public.contains(&x))) {
            if let Some(to) = e.to {
                let here = self.world.threads[e.thread];
                edges.set(usize::from(here.0), usize::from(to.0));
                edges.set(usize::from(to.0), usize::from(here.0));
            }
        }
        edges.closure()
    }

    /// Returns the queue pairs: thread and node.
    fn queue_pairs(&self) -> BTreeSet<(usize, Node)> {
        let remote = |e: &&PreEvent| matches!(e.is, EventType::RemoteWrite | EventType::RemoteRead);
        self.events.iter().filter(remote).filter_map(|e| Some((e.thread, e.to?))).collect()
    }

    /// Returns the reasons why the program is not tree-fenced (Defs. 9 and 14); empty if it is.
    #[must_use]
    pub fn not_tree_fenced(&self, cpu: Cpu) -> Vec<NotATree> {
        use EventType::{CpuRead, CpuWrite, LocalRead, LocalWrite, RemoteFence, RemoteRead, RemoteWrite};
        let public = self.public();
        let is_public = |e: &PreEvent| e.loc.filter(|x| public.contains(x));
        let mut all = Vec::new();
        for e in self.events.iter().filter(|e| matches!(e.is, LocalRead | LocalWrite)) {
            all.extend(is_public(e).map(|x| NotATree::Public(Tid::from_index(e.thread), e.call, x)));
        }
        let sqp = self.sqp();
        let fenced = self.between(&sqp, &[RemoteRead], &[RemoteFence]).then(&sqp);
        let polled = |a: usize, b: usize| self.pf.pairs().any(|(w, p)| w == a + 1 && self.po.has(p, b));
        for (a, b) in self.between(&sqp, &[RemoteRead], &[RemoteRead, RemoteWrite]).pairs() {
            if !fenced.has(a, b) && !polled(a, b) {
                all.push(NotATree::Overtaken(self.reordered(a, b)));
            }
        }
        all.extend(self.not_a_tree());
        if cpu == Cpu::Tso {
            let strong = self.of(&[EventType::Mfence, EventType::Cas]);
            let between = |a: usize, b: usize| (a..b).any(|e| strong[e] && self.po.has(a, e) && self.po.has(e, b));
            for (a, b) in self.between(&self.po, &[CpuWrite], &[CpuRead]).pairs() {
                let both = is_public(&self.events[a]).is_some() && is_public(&self.events[b]).is_some();
                if both && !between(a, b) {
                    all.push(NotATree::StoreBuffering(self.reordered(a, b)));
                }
            }
        }
        all
    }

    /// Returns the violations of Def. 9, 3.
    fn not_a_tree(&self) -> Vec<NotATree> {
        let pairs = self.queue_pairs();
        let node = |t: usize| self.world.threads[t];
        let mut all = Vec::new();
        // The formula of 3b does not ask for two threads, so a queue pair to the own node violates it.
        let own = pairs.iter().filter(|&&(t, n)| n == node(t));
        all.extend(own.map(|&(_, n)| NotATree::BothWays(n, n)));
        for (&(t, n), &(u, m)) in pairs.iter().tuple_combinations() {
            if n == node(u) && m == node(t) {
                all.push(NotATree::BothWays(node(t), node(u)));
            }
            if n == m && t != u && node(t) == node(u) {
                all.push(NotATree::TwoPairs(Tid::from_index(t), Tid::from_index(u), n));
            }
        }
        let joined = |a: Node, b: Node| pairs.iter().any(|&(t, n)| [(node(t), n), (n, node(t))].contains(&(a, b)));
        let nodes: Vec<Node> = self.world.all_nodes().iter().collect();
        all.extend(shortest_round(&nodes, &joined).map(NotATree::Cycle));
        all
    }
}

/// Returns the shortest cycle of three or more of these nodes, the first of equally long ones.
fn shortest_round(nodes: &[Node], joined: &dyn Fn(Node, Node) -> bool) -> Option<Vec<Node>> {
    let joined_pairs = nodes.iter().copied().tuple_combinations().filter(|&(a, b)| joined(a, b));
    // The shortest path from one end of a pair to the other that avoids the pair itself.
    let way = |(a, b): (Node, Node)| {
        let mut reached = BTreeMap::from([(a, a)]);
        let mut queue = std::collections::VecDeque::from([a]);
        while let Some(at) = queue.pop_front() {
            for &next in nodes.iter().filter(|&&n| joined(at, n) && (at, n) != (a, b)) {
                if let std::collections::btree_map::Entry::Vacant(entry) = reached.entry(next) {
                    entry.insert(at);
                    queue.push_back(next);
                }
            }
        }
        reached.contains_key(&b).then(|| {
            let back = std::iter::successors(Some(b), |n| Some(reached[n]).filter(|_| *n != a));
            back.collect_vec().into_iter().rev().collect_vec()
        })
    };
    joined_pairs.filter_map(way).min_by_key(Vec::len)
}
