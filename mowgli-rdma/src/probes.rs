//! Clients that observe a library through RDMA-WAIT memory: later reads show whether a call keeps its promises.
//!
//! Four forms, each for every pair of places in the client:
//!  - *across*: one thread writes a word before its call, another one (or the same) reads the word after its call;
//!  - *signal*: a thread sets a flag after its call, and another one reads the flag before its own calls. With a write
//!    before the first call and a read after the flag this is message passing through one call;
//!  - *fenced*: fences between the calls;
//!  - *buffering*: a thread reads a word after its calls, and another one writes the word, and fences, before its own.

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, Tid, Wid};
use mowgli_core::soundness::client::Client;
use mowgli_core::soundness::verdict::Probes;
use mowgli_core::value::Val;
use mowgli_core::world::World;

use crate::wait::{WAIT, word};

/// The probes of RDMA-WAIT.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitProbes {
    /// Whether a thread may reach memory of its own node through the network.
    pub loopback: bool,
    /// Whether a thread may also set a word of its own node by a get. A wait for another operation does not tell that the
    /// result is there if results have no order.
    pub gets: bool,
}

/// A part of a probe: its calls, and the words that it needs.
struct ProbePart {
    calls: Vec<Call>,
    words: Vec<(Loc, Node, i64)>,
}

fn call(method: &'static str, args: &[Val]) -> Call {
    Call::new(WAIT, method, args)
}

impl WaitProbes {
    /// Lists the ways in which a thread on `here` can set a word `x` on `node` to 1. It does so by itself, by a put of `o`,
    /// or by a get of `o`.
    fn touches(self, x: Loc, node: Node, here: Node, o: &str) -> Vec<ProbePart> {
        let mut steps = Vec::new();
        if self.loopback || node != here {
            let o = Loc::new(o);
            let words = vec![(x, node, 0), (o, here, 1)];
            steps.push(ProbePart { calls: vec![call("Put", &[x.into(), o.into(), Val::NoWid])], words });
        }
        if node == here {
            steps.push(ProbePart { calls: vec![call("Write", &[x.into(), Val::Int(1)])], words: vec![(x, node, 0)] });
        }
        if self.gets && self.loopback && node == here {
            let o = Loc::new(o);
            let words = vec![(x, here, 0), (o, here, 1)];
            steps.push(ProbePart { calls: vec![call("Get", &[x.into(), o.into(), Val::NoWid])], words });
        }
        steps
    }

    /// Lists the ways in which a thread on `here` can read a word: by itself, or by a get to `l`.
    fn looks(self, x: Loc, node: Node, here: Node, l: &str) -> Vec<ProbePart> {
        let mut steps = Vec::new();
        if node == here {
            steps.push(ProbePart { calls: vec![call("Read", &[x.into()])], words: Vec::new() });
        }
        if self.loopback || node != here {
            let (l, d) = (Loc::new(l), Val::Wid(Wid(Name::literal("dp"))));
            let calls = vec![call("Get", &[l.into(), x.into(), d]), call("Wait", &[d]), call("Read", &[l.into()])];
            steps.push(ProbePart { calls, words: vec![(l, here, 9)] });
        }
        steps
    }

    fn across(self, world: &World, client: &Client, all: &mut Vec<(World, Client)>) {
        let x = Loc::new("px");
        for node in world.all_nodes().iter() {
            for (from, to) in world.tids().flat_map(|a| world.tids().map(move |b| (a, b))) {
                for touch in self.touches(x, node, world.node_of(from), "po") {
                    for look in self.looks(x, node, world.node_of(to), "pl") {
                        for (i, j) in places(client, from, to) {
                            let steps = [(to, j + 1, &look), (from, i, &touch)];
                            all.extend(extended(world, client, &steps));
                        }
                    }
                }
            }
        }
    }

    /// Calls `with` for every pair of threads and every flag that the first sets after all its calls and the second
    /// reads before its own.
    fn signal(self, world: &World, mut with: impl FnMut(Tid, Tid, [&ProbePart; 2])) {
        let y = Loc::new("py");
        for (from, to) in world.tids().flat_map(|a| world.tids().map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let (here, there) = (world.node_of(from), world.node_of(to));
            for flag in self.touches(y, there, here, "pf") {
                for see in self.looks(y, there, there, "pm") {
                    with(from, to, [&flag, &see]);
                }
            }
        }
    }

    fn signal_alone(self, world: &World, client: &Client, all: &mut Vec<(World, Client)>) {
        self.signal(world, |from, to, [flag, see]| {
            let last = client.threads[from.index()].len();
            all.extend(extended(world, client, &[(to, 0, see), (from, last, flag)]));
        });
    }

    /// Adds store buffering: a thread reads a word after all its calls, and another one writes the word, and fences,
    /// before its own.
    fn buffering(self, world: &World, client: &Client, all: &mut Vec<(World, Client)>) {
        let y = Loc::new("py");
        for (from, to) in world.tids().flat_map(|a| world.tids().map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let node = world.node_of(to);
            let calls = vec![call("Write", &[y.into(), Val::Int(1)]), call("Mfence", &[])];
            let touch = ProbePart { calls, words: vec![(y, node, 0)] };
            let last = client.threads[from.index()].len();
            for look in self.looks(y, node, world.node_of(from), "pl") {
                all.extend(extended(world, client, &[(from, last, &look), (to, 0, &touch)]));
            }
        }
    }

    /// Adds message passing through the calls of one thread.
    fn message(self, world: &World, client: &Client, all: &mut Vec<(World, Client)>) {
        let x = Loc::new("px");
        self.signal(world, |from, to, [flag, see]| {
            let last = client.threads[from.index()].len();
            for node in world.all_nodes().iter() {
                for touch in self.touches(x, node, world.node_of(from), "po") {
                    for look in self.looks(x, node, world.node_of(to), "pl") {
                        let steps = [(to, 0, &look), (to, 0, see), (from, last, flag), (from, 0, &touch)];
                        all.extend(extended(world, client, &steps));
                    }
                }
            }
        });
    }

    /// Adds message passing from a single thread to a new one that makes no call of the library.
    fn observer(self, world: &World, client: &Client, all: &mut Vec<(World, Client)>) {
        for node in world.all_nodes().iter() {
            let mut world = world.clone();
            world.threads.push(node);
            let mut client = client.clone();
            client.threads.push(Vec::new());
            self.message(&world, &client, all);
        }
    }
}

/// Returns the client with a fence between every two calls of a thread; `None` if each thread makes one call only.
fn fenced(world: &World, client: &Client) -> Option<(World, Client)> {
    let several = client.threads.iter().any(|calls| calls.len() > 1);
    let fence = call("Mfence", &[]);
    let threads =
        client.threads.iter().map(|calls| Itertools::intersperse(calls.iter().cloned(), fence.clone()).collect());
    several.then(|| (world.clone(), Client { threads: threads.collect() }))
}

/// Lists the positions of a call of `from` and of a call of `to`; for one thread only those with the first not after
/// the second.
fn places(client: &Client, from: Tid, to: Tid) -> Vec<(usize, usize)> {
    let calls = |t: Tid| 0..client.threads[t.index()].len();
    calls(from).flat_map(|i| calls(to).map(move |j| (i, j))).filter(|&(i, j)| from != to || i <= j).collect()
}

/// Returns the client with steps inserted before the calls at these positions, in this order.
fn extended(world: &World, client: &Client, steps: &[(Tid, usize, &ProbePart)]) -> Option<(World, Client)> {
    let (mut world, mut client) = (world.clone(), client.clone());
    for (thread, at, step) in steps {
        client.threads[thread.index()].splice(*at..*at, step.calls.iter().cloned());
        for (loc, node, init) in &step.words {
            world.objects.insert(*loc, word(*node).init(Val::Int(*init)));
        }
    }
    Some((world, client))
}

impl Probes for WaitProbes {
    fn stages(&self) -> usize {
        3
    }

    fn extend(&self, world: &World, client: &Client, stage: usize) -> Vec<(World, Client)> {
        let mut all = Vec::new();
        if stage == 0 {
            all.push((world.clone(), client.clone()));
            all.extend(fenced(world, client));
        } else if stage == 1 {
            self.signal_alone(world, client, &mut all);
            self.buffering(world, client, &mut all);
        } else {
            self.across(world, client, &mut all);
            self.message(world, client, &mut all);
            if client.threads.len() == 1 {
                self.observer(world, client, &mut all);
            }
        }
        all.sort_by_key(|(w, c)| (c.len(), w.threads.len()));
        all
    }
}
