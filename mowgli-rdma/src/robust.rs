//! Robustness: when a program with polls has no behaviour that a sequentially consistent one has not.
//!
//! ROBUST §4, §5 and App. B. The conditions look at program order and at which poll completes which operation, and at
//! nothing else: [`Program::gb`], [`Program::races`] (Def. 7), [`Program::unfenced`] (Defs. 8, 13),
//! [`Program::not_tree_fenced`] (Defs. 9, 14). Locally data-race free and fenced imply robust (Theorems 5, 17). What is not robust by theorem
//! is decided by [`sc_cycle`] on each execution. [`repairs`] finds what to insert.
//!
//! The theorems are about programs without remote read-modify-writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use itertools::Itertools;
use mowgli_core::algebra::Role;
use mowgli_core::event::Call;
use mowgli_core::execution::Execution;
use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::relation::Matrix;
use mowgli_core::runs::Stop;
use mowgli_core::world::World;

use crate::stamp::Stamp;
use crate::tso::{TSO, towards, word};

/// The model that the conditions are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cpu {
    /// RDMA-SC.
    Sc,
    /// RDMA-TSO.
    Tso,
}

/// The types of events of ROBUST §3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Type {
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

impl Type {
    fn is_cpu(self) -> bool {
        matches!(self, Self::CpuRead | Self::CpuWrite | Self::Cas | Self::Mfence | Self::Poll)
    }

    fn writes(self) -> bool {
        matches!(self, Self::CpuWrite | Self::Cas | Self::RemoteWrite | Self::LocalWrite)
    }
}

/// An event of a pre-execution. A put is a local read and then a remote write, a get a remote read and then a local write.
#[derive(Clone, Copy, Debug)]
struct Event {
    thread: usize,
    /// Which call of its thread it belongs to.
    call: usize,
    is: Type,
    loc: Option<Loc>,
    /// The node of its queue pair.
    to: Option<Node>,
}

/// Two accesses of a thread that may be reordered, as positions of calls, and why that matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reordered {
    /// The thread.
    pub thread: Tid,
    /// The position of the earlier call on its thread.
    pub earlier: usize,
    /// The position of the later one.
    pub later: usize,
    /// What the earlier one does.
    pub first: &'static str,
    /// What the later one does.
    pub second: &'static str,
}

/// Why a program is not tree-fenced.
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

/// Something to insert before a call: P, F and GP of ROBUST Fig. 5, or a memory fence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Repair {
    /// A poll.
    Poll(Node),
    /// A remote fence.
    Rfence(Node),
    /// A memory fence.
    Mfence,
    /// A get of a fresh word, its poll, and those of the operations before it.
    GetAndPoll(Node),
}

/// A repair and its place: the thread, and the position of the call before which it goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Insertion {
    /// The thread.
    pub thread: Tid,
    /// The position of the call that it goes before; the number of calls for the end.
    pub before: usize,
    /// What.
    pub repair: Repair,
}

/// The words of a dummy get: the local one, on the node of the thread, and the remote one.
#[must_use]
pub fn dummies(thread: Tid, n: Node) -> [Loc; 2] {
    [format!("dummy_{thread}_{n}"), format!("dummy_{thread}_{n}_there")].map(|name| Loc::new(&name))
}

impl Insertion {
    /// The calls that are inserted where so many operations towards the node are open: polls take the oldest first, so a
    /// dummy get needs a poll for each of them too.
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

/// A pre-execution `<E, po, pf>`: straight-line programs.
pub struct Program<'a> {
    world: &'a World,
    events: Vec<Event>,
    po: Matrix,
    pf: Matrix,
}

/// The position of a part of a call: thread, call, part.
pub type Place = (usize, usize, usize);

impl<'a> Program<'a> {
    /// The pairs of [`Self::gb`] by place. A put has its local read first, a get its remote read.
    #[must_use]
    pub fn gb_by_place(&self, cpu: Cpu) -> Vec<(Place, Place)> {
        let place = |e: usize| {
            let Event { thread, call, .. } = self.events[e];
            let first = self.events.iter().position(|o| (o.thread, o.call) == (thread, call)).expect("itself");
            (thread, call, e - first)
        };
        self.gb(cpu).pairs().map(|(a, b)| (place(a), place(b))).collect()
    }

    /// The events of these calls of RDMA-TSO, thread by thread; `None` if some poll has nothing to take.
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
                let mut add = |is, loc, to| events.push(Event { thread, call, is, loc, to });
                let loc = |position: usize| of.args[position].loc();
                match of.method.text() {
                    "Read" => add(Type::CpuRead, loc(0), None),
                    "Write" => add(Type::CpuWrite, loc(0), None),
                    "CAS" | "Xchg" => add(Type::Cas, loc(0), None),
                    "Mfence" => add(Type::Mfence, None, None),
                    "Poll" => {
                        add(Type::Poll, None, None);
                        polled.push((open.entry(to?).or_default().pop_front()?, events.len() - 1));
                    }
                    "Rfence" => match of.args[0] {
                        mowgli_core::value::Val::Node(n) => add(Type::RemoteFence, None, Some(n)),
                        other => panic!("{other} is no node"),
                    },
                    "Put" => {
                        add(Type::LocalRead, loc(1), to);
                        add(Type::RemoteWrite, loc(0), to);
                        open.entry(to?).or_default().push_back(events.len() - 1);
                    }
                    "Get" => {
                        add(Type::RemoteRead, loc(1), to);
                        add(Type::LocalWrite, loc(0), to);
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

    fn of(&self, types: &[Type]) -> Vec<bool> {
        self.events.iter().map(|e| types.contains(&e.is)).collect()
    }

    /// Those pairs of `rel` from one set to another.
    fn between(&self, rel: &Matrix, from: &[Type], to: &[Type]) -> Matrix {
        let (from, to) = (self.of(from), self.of(to));
        Matrix::from_fn(self.events.len(), |a, b| from[a] && to[b] && rel.has(a, b))
    }

    /// Program order on one queue pair.
    fn sqp(&self) -> Matrix {
        let e = &self.events;
        Matrix::from_fn(e.len(), |a, b| self.po.has(a, b) && e[a].to.is_some() && e[a].to == e[b].to)
    }

    /// oppo (ROBUST Fig. 4, and App. B for TSO).
    fn oppo(&self, cpu: Cpu) -> Matrix {
        use Type::{CpuRead, CpuWrite, LocalRead, LocalWrite, Poll, RemoteFence, RemoteRead, RemoteWrite};
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

    /// Guaranteed-before (Defs. 6 and 12).
    #[must_use]
    pub fn gb(&self, cpu: Cpu) -> Matrix {
        use Type::{LocalRead, LocalWrite, RemoteFence, RemoteRead, RemoteWrite};
        let sqp = self.sqp();
        let n = self.events.len();
        let next = Matrix::from_fn(n, |a, b| b == a + 1 && self.po.has(a, b));
        let rel = |rel: &Matrix, from: &[Type], to: &[Type]| self.between(rel, from, to);
        let fenced = |from: Type| rel(&sqp, &[from], &[RemoteFence]).then(&sqp);
        let after_get = fenced(LocalWrite);
        let put_side = self.of(&[LocalRead, RemoteWrite]);
        let after_get = Matrix::from_fn(n, |a, b| put_side[b] && after_get.has(a, b));
        self.oppo(cpu)
            .or(&rel(&next, &[LocalRead], &[RemoteWrite]).then(&self.pf))
            .or(&rel(&sqp, &[RemoteWrite], &[LocalWrite]).then(&self.pf))
            .or(&rel(&next, &[RemoteRead], &[LocalWrite]).then(&self.pf))
            .or(&fenced(RemoteRead))
            .or(&rel(&self.pf, &[LocalWrite], &[Type::Poll]))
            .or(&after_get)
            .closure()
    }

    fn reordered(&self, a: usize, b: usize) -> Reordered {
        let text = |e: usize| match self.events[e].is {
            Type::CpuRead => "reads",
            Type::CpuWrite => "writes",
            Type::Cas => "updates",
            Type::LocalRead => "reads its source",
            Type::RemoteWrite => "writes remotely",
            Type::RemoteRead => "reads remotely",
            Type::LocalWrite => "writes its target",
            Type::Mfence | Type::Poll | Type::RemoteFence => "waits",
        };
        let [one, two] = [&self.events[a], &self.events[b]];
        let thread = Tid::from_index(one.thread);
        Reordered { thread, earlier: one.call, later: two.call, first: text(a), second: text(b) }
    }

    /// The locations that several threads access.
    fn public(&self) -> BTreeSet<Loc> {
        let mut by: BTreeMap<Loc, BTreeSet<usize>> = BTreeMap::new();
        for e in &self.events {
            if let Some(x) = e.loc {
                by.entry(x).or_default().insert(e.thread);
            }
        }
        by.into_iter().filter(|(_, threads)| threads.len() > 1).map(|(x, _)| x).collect()
    }

    /// The pairs that keep the program from being locally data-race free (Def. 7; with gb of RDMA-SC in both models).
    #[must_use]
    pub fn races(&self) -> Vec<Reordered> {
        let gb = self.gb(Cpu::Sc);
        let conflict = |a: &Event, b: &Event| a.loc.is_some() && a.loc == b.loc && (a.is.writes() || b.is.writes());
        let races = self.po.pairs().filter(|&(a, b)| conflict(&self.events[a], &self.events[b]) && !gb.has(a, b));
        races.map(|(a, b)| self.reordered(a, b)).sorted().dedup().collect()
    }

    /// The pairs of public accesses that are not guaranteed in order although the later one may influence the earlier
    /// (Defs. 8 and 13).
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

    /// `~>+` on nodes by the public operations of threads other than `t`.
    fn communicate(&self, t: usize, public: &BTreeSet<Loc>) -> Matrix {
        let mut edges = Matrix::empty(usize::from(self.world.nodes) + 1);
        let remote = |e: &&Event| matches!(e.is, Type::RemoteWrite | Type::RemoteRead);
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

    /// The queue pairs: thread and node.
    fn queue_pairs(&self) -> BTreeSet<(usize, Node)> {
        let remote = |e: &&Event| matches!(e.is, Type::RemoteWrite | Type::RemoteRead);
        self.events.iter().filter(remote).filter_map(|e| Some((e.thread, e.to?))).collect()
    }

    /// Why the program is not tree-fenced (Defs. 9 and 14); nothing if it is.
    #[must_use]
    pub fn not_tree_fenced(&self, cpu: Cpu) -> Vec<NotATree> {
        use Type::{CpuRead, CpuWrite, LocalRead, LocalWrite, RemoteFence, RemoteRead, RemoteWrite};
        let public = self.public();
        let is_public = |e: &Event| e.loc.filter(|x| public.contains(x));
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
            let strong = self.of(&[Type::Mfence, Type::Cas]);
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

    /// Def. 9, 3.
    fn not_a_tree(&self) -> Vec<NotATree> {
        let pairs = self.queue_pairs();
        let node = |t: usize| self.world.threads[t];
        let mut all = Vec::new();
        // The formula of 3b does not ask for two threads: a queue pair to the own node is one both ways.
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

/// The shortest cycle of three or more of these nodes, the first of equally long ones.
fn shortest_round(nodes: &[Node], joined: &dyn Fn(Node, Node) -> bool) -> Option<Vec<Node>> {
    let joined_pairs = nodes.iter().copied().tuple_combinations().filter(|&(a, b)| joined(a, b));
    // The way from one end of a pair to the other that does not go by the pair itself.
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

/// A smallest set of insertions after which a program is locally data-race free and fenced; `None` if there is none of at
/// most `most` for some thread. The conditions for a thread do not depend on what is inserted into another, as insertions
/// touch no public location; so each thread is repaired by itself.
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
        let program = Program::new(&world, threads)?;
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

/// Everything that can be inserted into a thread.
#[must_use]
pub fn candidates(world: &World, t: usize, calls: usize) -> Vec<Insertion> {
    let thread = Tid::from_index(t);
    let of_node = |n: Node| [Repair::Poll(n), Repair::Rfence(n), Repair::GetAndPoll(n)];
    let kinds: Vec<Repair> = world.all_nodes().iter().flat_map(of_node).chain([Repair::Mfence]).collect();
    // Cheap ones first, as a remote fence holds up one queue pair only; before the first call nothing is of use.
    let cost = |k: &Repair| match k {
        Repair::Rfence(_) => 0,
        Repair::Poll(_) => 1,
        Repair::Mfence => 2,
        Repair::GetAndPoll(_) => 3,
    };
    let kinds = kinds.into_iter().sorted_by_key(cost);
    kinds.cartesian_product(1..=calls).map(|(repair, before)| Insertion { thread, before, repair }).collect()
}

/// The world with the words of dummy gets.
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

/// How many operations towards the node of a repair are open after these calls.
fn open(world: &World, calls: &[Call], repair: Repair) -> usize {
    let (Repair::Poll(n) | Repair::Rfence(n) | Repair::GetAndPoll(n)) = repair else { return 0 };
    let own = calls.iter().filter(|c| towards(world, c) == Some(n));
    own.fold(0, |open: usize, c| if c.method.text() == "Poll" { open.saturating_sub(1) } else { open + 1 })
}

/// The programs with these insertions, in a world with dummies.
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

/// An edge of sc between two subevents.
pub type ScEdge = (usize, &'static str, usize);

/// A cycle of `sc = po u rf u rb u mo` in an execution (Def. 5), if there is one. The parts of an operation are in program
/// order, the read first.
#[must_use]
pub fn sc_cycle(libraries: &Libraries<Stamp>, execution: &Execution<Stamp>) -> Option<Vec<ScEdge>> {
    let n = execution.subs.len();
    let chosen = |role| execution.chosen_as(libraries, role).flat_map(|c| c.pairs.iter().copied()).collect_vec();
    let cell = |s: usize| execution.subs[s].sub.cell;
    let writes = |s: usize| execution.subs[s].sub.writes.is_some();
    let rf = chosen(Role::ReadsFrom);
    // Of the orders the one on the writes of each cell.
    let mo =
        chosen(Role::Order).into_iter().filter(|&(a, b)| writes(a) && writes(b) && cell(a) == cell(b)).collect_vec();
    let before = |source: Option<usize>, w: usize| match source {
        Some(source) => mo.contains(&(source, w)),
        None => true,
    };
    let mut edges: Vec<ScEdge> = Vec::new();
    for (a, b) in (0..n).cartesian_product(0..n).filter(|(a, b)| a != b) {
        let (x, y) = (&execution.subs[a], &execution.subs[b]);
        // Shapes list the read of an operation before its write.
        if execution.before_in_thread(a, b) || x.event == y.event && a < b {
            edges.push((a, "po", b));
        }
        if x.sub.reads.is_some() && y.sub.writes.is_some() && cell(a) == cell(b) {
            let source = rf.iter().find(|p| p.1 == a).map(|p| p.0);
            if source != Some(b) && before(source, b) {
                edges.push((a, "rb", b));
            }
        }
    }
    edges.extend(rf.iter().map(|&(a, b)| (a, "rf", b)));
    edges.extend(mo.iter().map(|&(a, b)| (a, "mo", b)));
    shortest_cycle(n, &edges)
}

fn shortest_cycle(n: usize, edges: &[ScEdge]) -> Option<Vec<ScEdge>> {
    let from = |start: usize| {
        let mut reached: Vec<Option<ScEdge>> = vec![None; n];
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for &edge in edges.iter().filter(|e| e.0 == at) {
                if reached[edge.2].is_none() {
                    reached[edge.2] = Some(edge);
                    queue.push_back(edge.2);
                }
            }
        }
        let mut cycle = vec![reached[start]?];
        while cycle.last().expect("it has an edge").0 != start {
            cycle.push(reached[cycle.last().expect("it has an edge").0].expect("it was reached"));
        }
        cycle.reverse();
        Some(cycle)
    };
    (0..n).filter_map(from).min_by_key(Vec::len)
}
