//! The calls that a repair can insert into programs of RDMA so that more accesses are ordered: fences, waits or polls,
//! and the get that flushes puts.

use std::collections::BTreeSet;
use std::sync::Arc;

use mowgli_core::event::Call;
use mowgli_core::expr::{Expr, ExprTerm, node};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::rewrite::repair::{Await, Gap, Offer, Remedies, Remedy};
use mowgli_core::term::body::CallTerm;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};

use crate::network::{Fence, Network, Order, Remote};
use crate::stamp::Qp;
use crate::switches::Switches;
use crate::tso::{self, TSO};
use crate::wait::{self, WAIT};
use crate::way::Way;

/// Default costs: a fence of the CPU, a fence of a queue pair, an atomic, a round trip that the CPU waits for.
const COSTS: [(&str, u64); 4] = [("mfence", 1), ("rfence", 2), ("atomic", 8), ("flush", 10)];

/// The costs of changes that only some networks have or need. They are the fence flag, a put that is delivered, the same
/// with a wait for it, and a flush behind a fence.
const ELSEWHERE: [(&str, u64); 4] = [FENCE_FLAG, ("delivered", 3), ("delivered-wait", 8), ("fenced-flush", 12)];

/// The cost of the fence flag of an operation, which takes no work request of its own.
const FENCE_FLAG: (&str, u64) = ("fence-flag", 1);

/// Returns the costs on a network, beside those of the model.
fn costs_on(network: Network) -> impl Iterator<Item = (&'static str, u64)> {
    let is_there = [has_flag(network), network.delivers, network.delivers, needs_fence(network)];
    ELSEWHERE.into_iter().zip(is_there).filter(|(_, is_there)| *is_there).map(|(cost, _)| cost)
}

/// True if repairs set the fence flag of operations. On the published network they insert `rfence`, which the papers
/// have.
fn has_flag(network: Network) -> bool {
    network != Network::RC && network.fence != Fence::None
}

/// True if a get flushes puts only behind a fence.
fn needs_fence(network: Network) -> bool {
    network.fence == Fence::All && network.remote(Remote::Write, Remote::Read) < Order::Placed
}

/// Returns the next put, if there are puts on the network whose completion means that the target sees the data, and this is
/// none. Its arguments come without the way.
fn undelivered<'a>(gap: &Gap<'a>, network: Network, library: Name) -> Option<(&'a Call, &'a [Val])> {
    let put = gap.after.first().filter(|c| network.delivers && c.library == library)?;
    let at = usize::from(put.method.text() == "PutBy");
    let is_put = ["Put", "PutBy"].contains(&put.method.text()) && !way(put).delivered && way(put).signalled;
    is_put.then(|| (put, &put.args[at..]))
}

/// Returns a put that is delivered.
fn delivered(put: &Call, args: &[Val]) -> Call {
    in_way(Way { delivered: true, ..way(put) }, put.library, ["Put", "PutBy"], args)
}

/// The remedies of RDMA-WAIT-RMW.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfWait {
    /// The switches of the model.
    pub switches: Switches,
}

/// The remedies of RDMA-TSO-RMW; with `sc` those of RDMA-SC, where a memory fence has no effect.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfTso {
    /// Whether the CPU is sequentially consistent.
    pub sc: bool,
    /// The switches of the model.
    pub switches: Switches,
}

/// Returns the name of a method without the suffix for another way or for several words.
fn in_usual_way(method: &str) -> &str {
    method.strip_suffix("By").or(method.strip_suffix("Words")).unwrap_or(method)
}

fn usual(call: &Call) -> &str {
    in_usual_way(call.method.text())
}

/// Returns the way in which a call is made.
fn way(call: &Call) -> Way {
    call.args.first().and_then(|w| Way::of(*w).ok()).unwrap_or(Way::USUAL)
}

/// Returns the queue pair that a remote operation goes by.
fn towards(world: &World, call: &Call) -> Option<Qp> {
    let at = match usual(call) {
        "Put" => 0,
        "Get" | "RCAS" | "RFAA" | "RXchg" => 1,
        _ => return None,
    };
    let at = at + usize::from(matches!(call.args.first(), Some(Val::Way(_))));
    let words = match call.args.get(at)? {
        Val::Tuple(row) => row.parts().first()?,
        word => word,
    };
    Some(way(call).to(world.home(words.loc()?)?))
}

/// Lists the queue pairs that some of these operations go by.
fn queue_pairs(world: &World, library: &str, calls: &[Call]) -> Vec<Qp> {
    let of_model = calls.iter().filter(|c| c.library.text() == library);
    let all: BTreeSet<Qp> = of_model.filter_map(|c| towards(world, c)).collect();
    all.into_iter().collect()
}

/// Makes a call of a model by a queue pair, from the names of the method in the usual way and in others.
fn by(q: Qp, library: Name, methods: [&'static str; 2], args: &[Val]) -> Call {
    in_way(Way { queue: q.number, ..Way::USUAL }, library, methods, args)
}

/// Makes a call of a model in some way, from the names of the method in the usual way and in others.
fn in_way(way: Way, library: Name, [usual, by]: [&'static str; 2], args: &[Val]) -> Call {
    if way == Way::USUAL {
        return Call::new(library, usual, args);
    }
    Call::new(library, by, &[&[way.into()], args].concat())
}

fn rfence(q: Qp, library: Name) -> Call {
    by(q, library, ["Rfence", "RfenceBy"], &[q.to.into()])
}

/// True if a call that accesses memory comes next.
fn is_before_access(gap: &Gap<'_>) -> bool {
    let fences = ["Mfence", "Rfence", "Wait", "Poll", "GF"];
    gap.after.first().is_some_and(|c| !fences.contains(&usual(c)))
}

/// Offers fences: a memory fence between a write and a later read, and a remote fence between operations to one node.
fn fences(gap: &Gap<'_>, library: &'static str, remedies: &dyn Remedies) -> Vec<Offer> {
    let (name, beside) = (Name::literal(library), remedies.beside());
    // A write is ordered before later writes and before operations of the network card, so the fence belongs before a
    // read. A fence between writes orders less than one after both.
    let stays = |c: &Call| match usual(c) {
        "Write" => c.library == name && !gap.is_everywhere,
        method => c.library == name && ["Put", "Get"].contains(&method),
    };
    let is_between = gap.before.iter().any(|c| c.method.text() == "Write") && !gap.after.first().is_some_and(stays);
    let mfence = beside.iter().filter(|r| is_between && r.kind == "mfence");
    let mut all: Vec<Offer> = mfence.filter_map(|r| gap.offer(r)).collect();
    let next = gap.after.first().and_then(|c| towards(gap.world, c));
    let fenced = queue_pairs(gap.world, library, gap.before).into_iter().filter(|q| next == Some(*q));
    let flag = beside.iter().find(|r| r.in_place);
    let fence = |q| flag.map_or_else(|| Some(Offer::call("rfence", rfence(q, name))), |flag| gap.offer(flag));
    all.extend(fenced.filter_map(fence));
    all
}

/// Returns the method that makes a remote operation in any way.
fn in_another_way(method: &str) -> Option<&'static str> {
    Some(match method {
        "PutWords" => "PutWords",
        "GetWords" => "GetWords",
        _ => match in_usual_way(method) {
            "Put" => "PutBy",
            "Get" => "GetBy",
            "RCAS" => "RCASBy",
            "RFAA" => "RFAABy",
            "RXchg" => "RXchgBy",
            _ => return None,
        },
    })
}

/// Returns the words of a get that flushes the puts to a node: the local one, which it writes, and the one that it reads.
fn dummies(thread: Tid, n: Node) -> [Loc; 2] {
    [format!("dummy_{thread}_{n}"), format!("dummy_{thread}_{n}_there")].map(|name| Loc::new(&name))
}

/// Returns the objects of such a get.
fn flushed(world: &World, thread: Tid, n: Node, word: fn(Node) -> Object) -> Vec<(Loc, Object)> {
    let [here, there] = dummies(thread, n);
    vec![(here, word(world.node_of(thread))), (there, word(n))]
}

/// Returns the calls of a flush by kind: without a fence, and with one if only that flushes.
fn flushes(network: Network, plain: Vec<Call>, fenced: Vec<Call>) -> Vec<(&'static str, Vec<Call>)> {
    let fenced = Some(("fenced-flush", fenced)).filter(|_| needs_fence(network));
    [("flush", plain)].into_iter().chain(fenced).collect()
}

/// Lists the queue pairs with an operation whose arrival only another operation can show: all except gets with a
/// completion.
fn sent_to(gap: &Gap<'_>, library: &'static str) -> Vec<Qp> {
    let is_reported = |c: &Call| usual(c) == "Get" && way(c).signalled;
    let sent: Vec<Call> = gap.before.iter().filter(|c| !is_reported(c)).cloned().collect();
    queue_pairs(gap.world, library, &sent)
}

/// Offers atomics that add 0, one for each queue pair with a put, since with relaxed ordering no write passes an
/// atomic.
fn adding_nothing(gap: &Gap<'_>, switches: Switches, library: Name, word: fn(Node) -> Object) -> Vec<Offer> {
    let order = |then| switches.network.remote(Remote::Write, then);
    let helps = order(Remote::Write) < Order::Placed && order(Remote::Atomic) == Order::Placed;
    if !helps || !is_before_access(gap) {
        return Vec::new();
    }
    let offer = |q: Qp| {
        let [here, there] = dummies(gap.thread, q.to);
        let id = (library == WAIT).then_some(Val::NoWid);
        let args: Vec<Val> = [here.into(), there.into(), Val::Int(0)].into_iter().chain(id).collect();
        let objects = flushed(gap.world, gap.thread, q.to, word);
        Offer { objects, ..Offer::call("atomic", by(q, library, ["RFAA", "RFAABy"], &args)) }
    };
    sent_to(gap, library.text()).into_iter().map(offer).collect()
}

/// Offers a compare-and-swap in place of the next put. It writes the initial value of the source if the target still
/// has its initial value.
fn compared(gap: &Gap<'_>, library: Name, word: fn(Node) -> Object) -> Option<Offer> {
    let put = gap.after.first().filter(|c| c.library == library && ["Put", "PutBy"].contains(&c.method.text()))?;
    let at = usize::from(put.method.text() == "PutBy");
    let (to, from) = (put.args[at].loc()?, put.args[at + 1].loc()?);
    let value = |x: Loc| gap.world.objects.get(&x).map(|object| object.init);
    let node = gap.world.home(to)?;
    let [here, _] = dummies(gap.thread, node);
    let args = [&[here.into(), to.into(), value(to)?, value(from)?], &put.args[at + 2..]].concat();
    let call = in_way(way(put), library, ["RCAS", "RCASBy"], &args);
    Some(Offer { objects: vec![(here, word(gap.world.node_of(gap.thread)))], ..Offer::call("atomic", call) })
}

impl Remedies for OfWait {
    fn costs(&self) -> Vec<(&'static str, u64)> {
        [&COSTS[..], &[("wait", 5)]].concat().into_iter().chain(costs_on(self.switches.network)).collect()
    }

    fn offers(&self, gap: &Gap<'_>) -> Vec<Offer> {
        if !is_before_access(gap) {
            return Vec::new();
        }
        let mut all = fences(gap, WAIT.text(), self);
        all.extend(gap.waits(self));
        let d = (gap.fresh)(gap.before.len());
        for q in sent_to(gap, WAIT.text()) {
            let [here, there] = dummies(gap.thread, q.to);
            let get = by(q, WAIT, ["Get", "GetBy"], &[here.into(), there.into(), d]);
            let calls = vec![get, Call::new(WAIT, "Wait", &[d])];
            let fenced = [&[rfence(q, WAIT)], &calls[..]].concat();
            for (kind, calls) in flushes(self.switches.network, calls, fenced) {
                all.push(Offer {
                    objects: flushed(gap.world, gap.thread, q.to, wait::word),
                    ..Offer::calls(kind, calls)
                });
            }
        }
        all
    }

    fn atomics(&self, gap: &Gap<'_>) -> Vec<Offer> {
        adding_nothing(gap, self.switches, WAIT, wait::word)
    }

    fn instead(&self, gap: &Gap<'_>) -> Vec<Offer> {
        compared(gap, WAIT, wait::word).into_iter().collect()
    }

    fn stronger(&self, gap: &Gap<'_>) -> Vec<Offer> {
        let Some((put, args)) = undelivered(gap, self.switches.network, WAIT) else { return Vec::new() };
        let id = Some(args[2]).filter(|id| *id != Val::NoWid).unwrap_or_else(|| (gap.fresh)(gap.before.len()));
        let calls = vec![delivered(put, &[args[0], args[1], id]), Call::new(WAIT, "Wait", &[id])];
        vec![Offer::call("delivered", delivered(put, args)), Offer::calls("delivered-wait", calls)]
    }

    fn kind(&self, library: Name, method: &str) -> Option<&'static str> {
        kind(method).filter(|_| library == WAIT)
    }

    fn beside(&self) -> Vec<Remedy> {
        let flag = has_flag(self.switches.network).then(|| fence_flag(|call| flagged(call, WAIT)));
        let fence = remote_fence(|call| fence_of(call, WAIT));
        [mfence(|_| vec![CallTerm::new(WAIT, "Mfence", [])]), fence].into_iter().chain(flag).collect()
    }

    fn awaited(&self, call: &CallTerm) -> Option<Await> {
        let id = match in_usual_way(call.method) {
            "Put" | "Get" | "RFAA" | "RCAS" | "RXchg" => call.args.len() - 1,
            _ => return None,
        };
        // Only the completion of a later operation shows that an unsignalled one is over, so a wait for it has no use.
        let is_reported = call.library == WAIT && of_term(call).signalled;
        Some(Await { id, wait: |id| CallTerm::new(WAIT, "Wait", [id]) }).filter(|_| is_reported)
    }
}

/// Returns the remedy that inserts a memory fence.
fn mfence(calls: fn(&CallTerm) -> Vec<CallTerm>) -> Remedy {
    Remedy { kind: "mfence", text: "a memory fence", calls, in_place: false }
}

fn remote_fence(calls: fn(&CallTerm) -> Vec<CallTerm>) -> Remedy {
    Remedy { kind: "rfence", text: "a remote fence of its node", calls, in_place: false }
}

fn fence_flag(calls: fn(&CallTerm) -> Vec<CallTerm>) -> Remedy {
    Remedy { kind: FENCE_FLAG.0, text: "the fence flag", calls, in_place: true }
}

/// Returns a remote operation of a body with the fence flag; nothing if it has the flag, or is none.
fn flagged(call: &CallTerm, library: Name) -> Vec<CallTerm> {
    let way = of_term(call);
    let rest = call.args.iter().skip(usize::from(is_in_a_way(call))).copied();
    let args = [Expr::from(Way { fence: true, ..way })].into_iter().chain(rest);
    let by = in_another_way(call.method).filter(|_| call.library == library && !way.fence);
    by.map(|by| CallTerm::new(library, by, args)).into_iter().collect()
}

/// True if the first argument of a call of a body is the way in which it is made.
fn is_in_a_way(call: &CallTerm) -> bool {
    matches!(call.args.first().map(|e| e.term()), Some(ExprTerm::Val(Val::Way(_))))
}

/// Returns the way in which a call of a body is made.
fn of_term(call: &CallTerm) -> Way {
    match call.args.first().map(|e| e.term()) {
        Some(ExprTerm::Val(w @ Val::Way(_))) => Way::of(*w).unwrap_or(Way::USUAL),
        _ => Way::USUAL,
    }
}

/// Returns the fence of the queue pair that a remote operation of a body goes by.
fn fence_of(call: &CallTerm, library: Name) -> Vec<CallTerm> {
    let at = match in_usual_way(call.method) {
        "Put" => 0,
        "Get" | "RCAS" | "RFAA" | "RXchg" => 1,
        _ => return Vec::new(),
    };
    let Some(words) = call.args.get(at + usize::from(is_in_a_way(call))).filter(|_| call.library == library) else {
        return Vec::new();
    };
    let word = if let ExprTerm::Tuple(row) = words.term() { row.first().copied() } else { Some(*words) };
    let way = Way { queue: of_term(call).queue, ..Way::USUAL };
    let (method, by) =
        if way == Way::USUAL { ("Rfence", None) } else { ("RfenceBy", Some(Expr::from(Val::from(way)))) };
    word.map(|x| CallTerm::new(library, method, by.into_iter().chain([node(x)]))).into_iter().collect()
}

/// Returns the kind of a method whose calls only order others.
fn kind(method: &str) -> Option<&'static str> {
    match in_usual_way(method) {
        "Mfence" => Some("mfence"),
        "Rfence" => Some("rfence"),
        "Wait" => Some("wait"),
        "Poll" => Some("poll"),
        _ => None,
    }
}

/// Counts the operations of a queue pair that no poll has taken after these calls.
fn open(world: &World, calls: &[Call], q: Qp) -> usize {
    let own = calls.iter().filter(|c| c.library == TSO && way(c).signalled);
    own.fold(0, |open: usize, c| match usual(c) {
        "Poll" if tso::queue_pair(world, c) == Some(q) => open.saturating_sub(1),
        _ => open + usize::from(towards(world, c) == Some(q)),
    })
}

fn poll(q: Qp) -> Call {
    by(q, TSO, ["Poll", "PollBy"], &[q.to.into()])
}

/// Makes an offer of calls and of polls until the last of them is complete. Polls take the oldest completion first, so the
/// open operations need a poll each before that.
fn polled(kind: &'static str, first: Vec<Call>, q: Qp, world: World) -> Offer {
    let calls = move |before: &[Call]| [first.clone(), vec![poll(q); open(&world, before, q) + 1]].concat();
    Offer { kind, calls: Arc::new(calls), named: None, objects: Vec::new(), in_place: false }
}

/// Returns F, P and GP of ROBUST Fig. 5 for each node, and a memory fence, the cheapest first: a remote fence blocks one queue
/// pair only. GP is a get of a fresh word, its poll, and the polls of the operations before it.
#[must_use]
pub fn of_figure_5(world: &World, thread: Tid) -> Vec<Offer> {
    let pairs = || world.all_nodes().iter().map(|n| Way::USUAL.to(n));
    let flush = |q: Qp| {
        let [here, there] = dummies(thread, q.to);
        let (mut with, objects) = (world.clone(), flushed(world, thread, q.to, tso::word));
        with.objects.extend(objects.clone());
        Offer { objects, ..polled("flush", vec![Call::new(TSO, "Get", &[here.into(), there.into()])], q, with) }
    };
    let fences = pairs().map(|q| Offer::call("rfence", rfence(q, TSO)));
    let polls = pairs().map(|q| Offer::call("poll", poll(q)));
    fences
        .chain(polls)
        .chain([Offer::call("mfence", Call::new(TSO, "Mfence", &[]))])
        .chain(pairs().map(flush))
        .collect()
}

impl Remedies for OfTso {
    fn costs(&self) -> Vec<(&'static str, u64)> {
        [&COSTS[..], &[("poll", 5)]].concat().into_iter().chain(costs_on(self.switches.network)).collect()
    }

    fn offers(&self, gap: &Gap<'_>) -> Vec<Offer> {
        if !is_before_access(gap) {
            return Vec::new();
        }
        let mut all = fences(gap, TSO.text(), self);
        let pairs = queue_pairs(gap.world, TSO.text(), gap.before);
        let unpolled = pairs.into_iter().filter(|&q| open(gap.world, gap.before, q) > 0);
        all.extend(unpolled.map(|q| Offer::call("poll", poll(q))));
        for q in sent_to(gap, TSO.text()) {
            let [here, there] = dummies(gap.thread, q.to);
            let mut world = gap.world.clone();
            world.objects.extend(flushed(gap.world, gap.thread, q.to, tso::word));
            let get = || by(q, TSO, ["Get", "GetBy"], &[here.into(), there.into()]);
            let fenced = vec![rfence(q, TSO), get()];
            for (kind, first) in flushes(self.switches.network, vec![get()], fenced) {
                let objects = flushed(gap.world, gap.thread, q.to, tso::word);
                all.push(Offer { objects, ..polled(kind, first, q, world.clone()) });
            }
        }
        all
    }

    fn atomics(&self, gap: &Gap<'_>) -> Vec<Offer> {
        adding_nothing(gap, self.switches, TSO, tso::word)
    }

    fn instead(&self, gap: &Gap<'_>) -> Vec<Offer> {
        compared(gap, TSO, tso::word).filter(|_| !self.sc).into_iter().collect()
    }

    fn stronger(&self, gap: &Gap<'_>) -> Vec<Offer> {
        let Some((put, args)) = undelivered(gap, self.switches.network, TSO) else { return Vec::new() };
        let call = delivered(put, args);
        let awaited = |q| polled("delivered-wait", vec![call.clone()], q, gap.world.clone());
        let awaited = towards(gap.world, put).map(awaited);
        [Offer::call("delivered", call)].into_iter().chain(awaited).collect()
    }

    fn kind(&self, library: Name, method: &str) -> Option<&'static str> {
        kind(method).filter(|_| library == TSO)
    }

    fn beside(&self) -> Vec<Remedy> {
        let mfence = (!self.sc).then(|| mfence(|_| vec![CallTerm::new(TSO, "Mfence", [])]));
        let flag = has_flag(self.switches.network).then(|| fence_flag(|call| flagged(call, TSO)));
        mfence.into_iter().chain([remote_fence(|call| fence_of(call, TSO))]).chain(flag).collect()
    }
}
