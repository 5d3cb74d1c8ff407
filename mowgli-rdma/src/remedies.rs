//! What can be inserted into programs of RDMA so that more is in order: fences, waits or polls, and the get that flushes puts.

use std::sync::Arc;

use mowgli_core::edit::Here;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Node};
use mowgli_core::repair::{Await, Gap, Offer, Remedies, Remedy};
use mowgli_core::value::Val;
use mowgli_core::world::World;

use crate::robust::dummies;
use crate::tso::{self, TSO};
use crate::wait::{self, WAIT};

/// What they cost by default: a fence of the CPU, one that holds up a queue pair, what the CPU waits for, a round trip of its own.
const COSTS: [(&str, u64); 3] = [("mfence", 1), ("rfence", 2), ("flush", 10)];

/// Those of RDMA-WAIT-RMW.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfWait;

/// Those of RDMA-TSO-RMW, and of RDMA-SC if `sc`, where a memory fence is of no use.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfTso {
    /// Whether the CPU is sequentially consistent.
    pub sc: bool,
}

/// The node that a remote operation goes to.
fn towards(world: &World, call: &Call) -> Option<Node> {
    let at = match call.method.text() {
        "Put" => 0,
        "Get" | "RCAS" | "RFAA" => 1,
        _ => return None,
    };
    world.home(call.args.get(at)?.loc()?)
}

/// The nodes that some of these operations go to.
fn nodes(world: &World, library: &str, calls: &[Call]) -> Vec<Node> {
    let to = |n: &Node| calls.iter().any(|c| c.library.text() == library && towards(world, c) == Some(*n));
    world.all_nodes().iter().filter(to).collect()
}

/// Whether something that accesses memory comes next.
fn is_before_access(gap: &Gap<'_>) -> bool {
    let fences = ["Mfence", "Rfence", "Wait", "Poll", "GF"];
    gap.after.first().is_some_and(|c| !fences.contains(&c.method.text()))
}

/// Fences: the CPU's where something was written and something follows, the remote one between operations to one node.
fn fences(gap: &Gap<'_>, library: &'static str, has_mfence: bool) -> Vec<Offer> {
    let name = mowgli_core::ids::Name::literal(library);
    // Writes are in order with one another, and with what the network card does; so the place is before a read. A fence between
    // writes orders less than one after both.
    let stays = |c: &Call| match c.method.text() {
        "Write" => c.library == name && !gap.is_everywhere,
        method => c.library == name && ["Put", "Get"].contains(&method),
    };
    let is_between = gap.before.iter().any(|c| c.method.text() == "Write") && !gap.after.first().is_some_and(stays);
    let mut all = Vec::new();
    if has_mfence && is_between {
        all.push(Offer::call("mfence", Call::new(name, "Mfence", &[])));
    }
    let next = gap.after.first().and_then(|c| towards(gap.world, c));
    let fenced = nodes(gap.world, library, gap.before).into_iter().filter(|n| next == Some(*n));
    all.extend(fenced.map(|n| Offer::call("rfence", Call::new(name, "Rfence", &[n.into()]))));
    all
}

/// The objects of a get that flushes what was put to a node: the word that it writes, and the one that it reads.
fn flushed(
    gap: &Gap<'_>,
    n: Node,
    word: fn(Node) -> mowgli_core::world::Object,
) -> Vec<(Loc, mowgli_core::world::Object)> {
    let [here, there] = dummies(gap.thread, n);
    vec![(here, word(gap.world.node_of(gap.thread))), (there, word(n))]
}

/// The nodes to which something was sent that only another operation can tell to have arrived.
fn sent_to(gap: &Gap<'_>, library: &'static str) -> Vec<Node> {
    let puts: Vec<Call> = gap.before.iter().filter(|c| c.method.text() != "Get").cloned().collect();
    nodes(gap.world, library, &puts)
}

impl Remedies for OfWait {
    fn costs(&self) -> Vec<(&'static str, u64)> {
        [&COSTS[..], &[("wait", 5)]].concat()
    }

    fn offers(&self, gap: &Gap<'_>) -> Vec<Offer> {
        if !is_before_access(gap) {
            return Vec::new();
        }
        let mut all = fences(gap, "rdma-wait-rmw", true);
        for (position, call) in gap.before.iter().enumerate() {
            if call.library != WAIT || towards(gap.world, call).is_none() {
                continue;
            }
            let at = call.args.len() - 1;
            let (id, named) = match call.args[at] {
                Val::NoWid => ((gap.fresh)(position), true),
                id => (id, false),
            };
            let named = named.then_some((position, at, id));
            all.push(Offer { named, ..Offer::call("wait", Call::new(WAIT, "Wait", &[id])) });
        }
        let d = (gap.fresh)(gap.before.len());
        for n in sent_to(gap, "rdma-wait-rmw") {
            let [here, there] = dummies(gap.thread, n);
            let calls = vec![Call::new(WAIT, "Get", &[here.into(), there.into(), d]), Call::new(WAIT, "Wait", &[d])];
            all.push(Offer {
                kind: "flush",
                calls: Arc::new(move |_| calls.clone()),
                named: None,
                objects: flushed(gap, n, wait::word),
            });
        }
        all
    }

    fn kind(&self, call: &Call) -> Option<&'static str> {
        kind(call).filter(|_| call.library == WAIT)
    }

    fn beside(&self) -> Vec<Remedy> {
        let mfence: fn(&Here, &Call) -> Vec<Call> = |_, _| vec![Call::new(WAIT, "Mfence", &[])];
        vec![
            Remedy { kind: "mfence", text: "a memory fence", calls: mfence },
            Remedy {
                kind: "rfence",
                text: "a remote fence of its node",
                calls: |here, call| {
                    let to = towards(&here.world, call).filter(|_| call.library == WAIT);
                    to.into_iter().map(|n| Call::new(WAIT, "Rfence", &[n.into()])).collect()
                },
            },
        ]
    }

    fn awaited(&self, call: &Call) -> Option<Await> {
        let id = match call.method.text() {
            "Put" | "Get" => 2,
            "RFAA" => 3,
            "RCAS" => 4,
            _ => return None,
        };
        Some(Await { id, wait: |id| Call::new(WAIT, "Wait", &[id]) }).filter(|_| call.library == WAIT)
    }
}

/// The kind of a call that only orders others.
fn kind(call: &Call) -> Option<&'static str> {
    match call.method.text() {
        "Mfence" => Some("mfence"),
        "Rfence" => Some("rfence"),
        "Wait" => Some("wait"),
        "Poll" => Some("poll"),
        _ => None,
    }
}

/// How many operations towards a node are open after these calls.
fn open(world: &World, calls: &[Call], n: Node) -> usize {
    calls.iter().filter(|c| c.library == TSO).fold(0, |open: usize, c| match c.method.text() {
        "Poll" if c.args[0] == Val::from(n) => open.saturating_sub(1),
        _ => open + usize::from(towards(world, c) == Some(n)),
    })
}

impl Remedies for OfTso {
    fn costs(&self) -> Vec<(&'static str, u64)> {
        [&COSTS[..], &[("poll", 5)]].concat()
    }

    fn offers(&self, gap: &Gap<'_>) -> Vec<Offer> {
        if !is_before_access(gap) {
            return Vec::new();
        }
        let mut all = fences(gap, "rdma-tso-rmw", !self.sc);
        let poll = |n: Node| Call::new(TSO, "Poll", &[n.into()]);
        let polled =
            nodes(gap.world, "rdma-tso-rmw", gap.before).into_iter().filter(|&n| open(gap.world, gap.before, n) > 0);
        all.extend(polled.map(|n| Offer::call("poll", poll(n))));
        for n in sent_to(gap, "rdma-tso-rmw") {
            let [here, there] = dummies(gap.thread, n);
            let mut world = gap.world.clone();
            world.objects.extend(flushed(gap, n, tso::word));
            // Polls take the oldest first: those of what is open come before that of the get.
            let calls = move |before: &[Call]| {
                let get = Call::new(TSO, "Get", &[here.into(), there.into()]);
                [vec![get], vec![poll(n); open(&world, before, n) + 1]].concat()
            };
            all.push(Offer { kind: "flush", calls: Arc::new(calls), named: None, objects: flushed(gap, n, tso::word) });
        }
        all
    }

    fn kind(&self, call: &Call) -> Option<&'static str> {
        kind(call).filter(|_| call.library == TSO)
    }

    fn beside(&self) -> Vec<Remedy> {
        let mfence: fn(&Here, &Call) -> Vec<Call> = |_, _| vec![Call::new(TSO, "Mfence", &[])];
        let rfence = Remedy {
            kind: "rfence",
            text: "a remote fence of its node",
            calls: |here, call| {
                let to = towards(&here.world, call).filter(|_| call.library == TSO);
                to.into_iter().map(|n| Call::new(TSO, "Rfence", &[n.into()])).collect()
            },
        };
        let mfence = (!self.sc).then_some(Remedy { kind: "mfence", text: "a memory fence", calls: mfence });
        mfence.into_iter().chain([rfence]).collect()
    }
}
