//! RDMA-WAIT-RMW: remote operations that are completed by waiting on their work identifier.
//!
//! SYNC §3.2; without `RCAS` and `RFAA` it is RDMA-WAIT (LOCO-X App. G.2), and the two agree there. A put reads its
//! source and writes its target some time later; only a wait tells when the source may be overwritten, and nothing but
//! a later remote read tells when the target has been written.
//!
//! It deliberately does not promise that `Wait(d)` completes the remote write of a put (LOCO Fig. 3).

use mowgli_core::algebra::{Rel, Spec, SubView, cell, id, po, ppo, reads, same, same_event, stamps, writes};
use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
use mowgli_core::ids::{Loc, Name, Node, Tid, Wid};
use mowgli_core::library::Library;
use mowgli_core::program::Prog;
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};

use crate::stamp::Stamp::{self, aCAS, aCR, aCW, aMF, aNAR, aNLR, aNLW, aNRR, aNRW, aRF, aWT};
use mowgli_core::fault::{Arg, fault};

/// The library's name.
pub const WAIT: Name = Name::literal("rdma-wait-rmw");

/// A memory word on `node`.
#[must_use]
pub fn word(node: Node) -> Object {
    Object::new(WAIT).at(node)
}

fn call(method: &'static str, args: &[Val]) -> Prog {
    Prog::call(Call::new(WAIT, method, args))
}

/// `Write(x, v)`.
#[must_use]
pub fn write(x: Loc, v: Val) -> Prog {
    call("Write", &[x.into(), v])
}
/// `Read(x)`.
#[must_use]
pub fn read(x: Loc) -> Prog {
    call("Read", &[x.into()])
}
/// `CAS(x, v1, v2)`, which returns the old value.
#[must_use]
pub fn cas(x: Loc, v1: Val, v2: Val) -> Prog {
    call("CAS", &[x.into(), v1, v2])
}
/// `Xchg(x, v)`, which returns the old value. The papers have no exchange; this one is a `CAS` that compares with what it
/// reads, and so never fails.
#[must_use]
pub fn xchg(x: Loc, v: Val) -> Prog {
    call("Xchg", &[x.into(), v])
}
/// `Mfence()`.
#[must_use]
pub fn mfence() -> Prog {
    call("Mfence", &[])
}
/// `Get(x, y, d)`: copies remote y to local x.
#[must_use]
pub fn get(x: Loc, y: Loc, d: Val) -> Prog {
    call("Get", &[x.into(), y.into(), d])
}
/// `Put(x, y, d)`: copies local y to remote x.
#[must_use]
pub fn put(x: Loc, y: Loc, d: Val) -> Prog {
    call("Put", &[x.into(), y.into(), d])
}
/// `Wait(d)`.
#[must_use]
pub fn wait(d: Val) -> Prog {
    call("Wait", &[d])
}
/// `Rfence(n)`.
#[must_use]
pub fn rfence(n: Node) -> Prog {
    call("Rfence", &[n.into()])
}
/// `RCAS(x, y, v1, v2, d)`: compare and swap on remote y, the old value to local x.
#[must_use]
pub fn rcas(x: Loc, y: Loc, v1: Val, v2: Val, d: Val) -> Prog {
    call("RCAS", &[x.into(), y.into(), v1, v2, d])
}
/// `RFAA(x, y, v, d)`: fetch and add on remote y, the old value to local x.
#[must_use]
pub fn rfaa(x: Loc, y: Loc, v: Val, d: Val) -> Prog {
    call("RFAA", &[x.into(), y.into(), v, d])
}

/// RDMA-WAIT-RMW as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait;

/// The identifier of an operation or a wait, as a key.
#[must_use]
pub fn wid(s: &SubView<Stamp>) -> Option<Val> {
    s.event.call.args.iter().find(|v| matches!(v, Val::Wid(_))).copied()
}

/// The node that a subevent of the NIC is about, as a key.
#[must_use]
pub fn target(s: &SubView<Stamp>) -> Option<Val> {
    s.sub.stamp.node().map(Val::Node)
}

/// The thread and the node of a subevent of the NIC.
fn queue_pair(s: &SubView<Stamp>) -> Option<Val> {
    let n = s.sub.stamp.node()?;
    Some(Val::tuple(&[Val::Int(i64::from(s.event.thread.0)), Val::Node(n)]))
}

impl Library<Stamp> for Wait {
    fn name(&self) -> Name {
        WAIT
    }

    fn loc(&self, call: &Call) -> Vec<Loc> {
        call.args.iter().filter_map(|v| v.loc()).collect()
    }

    fn returns(&self, world: &World, thread: Tid, call: &Call, cells: &dyn Fn(Cell) -> Vec<Val>) -> Vec<Val> {
        match call.method.text() {
            "Read" | "CAS" | "Xchg" => cells(Cell { loc: call.loc(0), node: world.node_of(thread) }),
            _ => vec![Val::Unit],
        }
    }

    /// What RFAA makes of the value that it reads: v_R + v, modulo 2^64 as a network card adds. A value that is no integer
    /// has no sum, so an RFAA that reads one is in no execution; the machine of RDMA-TSO-RMW is stuck there.
    fn step(&self, event: &Event, read: Val) -> Option<Val> {
        read.plus(event.call.args[2].int()?)
    }

    fn is_remembered(&self, _: &Call) -> bool {
        false
    }

    /// Reads, waits, fences and a compare-and-swap that failed: they order what is around them, and no more.
    fn only_looks(&self, event: &Event) -> bool {
        match event.call.method.text() {
            "Read" | "Wait" | "Mfence" | "Rfence" => true,
            "CAS" => event.ret != event.call.args[1],
            _ => false,
        }
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        fault(world, thread, call, takes(call.method.text()))
    }

    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape<Stamp>> {
        shapes(world, event).unwrap_or_default()
    }

    fn spec(&self) -> Spec<Stamp> {
        consistency(true)
    }
}

/// The consistency predicate of SYNC §3.2; without `rao`, atomic reads are not ordered (LOCO-X App. H.6).
#[must_use]
pub fn consistency(with_rao: bool) -> Spec<Stamp> {
    // pfg = (aNLW of e1, aWT of e2), pfp = (aNRW of e1, aWT of e2), e2 a later Wait on e1's identifier
    predicate(with_rao, &(po() & same(wid)), false, None)
}

/// The parts of ib.
pub const IB: [&str; 8] = ["ippo", "iso", "rf", "pfg", "pfp", "nfo", "rb_i", "rmw"];

/// The specification of RDMA-WAIT-RMW with this part left out of ib.
#[must_use]
pub fn without_in_ib(part: &'static str) -> Spec<Stamp> {
    predicate(true, &(po() & same(wid)), false, Some(part))
}

/// What RDMA-WAIT-RMW and RDMA-TSO-RMW share. They differ in which later wait or poll completes an operation (`awaited`),
/// and in whether ib orders the two writes of a remote read-modify-write. `without` is a part to leave out of ib.
pub(crate) fn predicate(
    with_rao: bool,
    awaited: &Rel<Stamp>,
    remote_first: bool,
    without: Option<&'static str>,
) -> Spec<Stamp> {
    let mut c = Spec::default();
    let cpu_reads = stamps(|a| a == aCR);
    let cpu_writes = stamps(|a| a == aCW);
    let waits = stamps(|a| a == aWT);
    let local_writes = stamps(|a| matches!(a, aNLW(_)));
    let remote_writes = stamps(|a| matches!(a, aNRW(_)));
    let fences = stamps(|a| matches!(a, aRF(_)));
    let same_qp = same(queue_pair);

    // rf <= W x R; mo total on the writes of each location; rb = (rf^-1; mo) u (reads of the initial value)
    let (rf, initial) = c.reads_from("rf", reads(), writes());
    let rf = rf.named("rf", "{b} read {b reads}, which {a} wrote");
    let mo = c.order("mo", writes(), cell).named("mo", "{a} wrote before {b} did");
    let rb = ((rf.inv().then(&mo) | initial) - id()).named("rb", "{a} read {a reads}, before {b} wrote");

    // nfo: for each thread and node, aNLR x aNLW and (aNRR u aNAR) x aNRW, one way or the other
    let local_reads = stamps(|a| matches!(a, aNLR(_)));
    let far_reads = stamps(|a| matches!(a, aNRR(_) | aNAR(_)));
    let nfo = c
        .orient("nfo", (local_reads.cross(&local_writes) | far_reads.cross(&remote_writes)) & &same_qp)
        .named("nfo", "the network card does {a} before {b}: reads and writes do not pass each other there");

    // rao: a strict total order on the atomic reads of each node
    let atomic_reads = stamps(move |a| with_rao && matches!(a, aNAR(_)));
    let rao = c.order("rao", atomic_reads, target).named("rao", "the atomic read of {a} comes before that of {b}");

    // rf_e = rf \ [aCW]; (po n rf); [aCR]          rb_i = [aCR]; ((po u po^-1) n rb); [aCW]
    let rf_e = (&rf - po().between(&cpu_writes, &cpu_reads)).named("rf", "{b} read {b reads}, which {a} wrote");
    let rb_i = (&rb & (po() | po().inv()))
        .between(&cpu_reads, &cpu_writes)
        .named("rb", "{a} read {a reads}, before {b} wrote");

    let pfg = awaited.between(&local_writes, &waits).named("pfg", "{b} waits for {a}");
    let pfp = awaited.between(&remote_writes, &waits).named("pfp", "{b} waits until {a} was sent");

    // iso: the order inside one event
    let halves = |from: fn(Stamp) -> bool, to: fn(Stamp) -> bool| same_event().between(&stamps(from), &stamps(to));
    let iso = (halves(|a| a == aMF, |a| a == aCR)
        | halves(|a| matches!(a, aNRR(_)), |a| matches!(a, aNLW(_)))
        | halves(|a| matches!(a, aNLR(_)), |a| matches!(a, aNRW(_)))
        | halves(|a| matches!(a, aNAR(_)), |a| matches!(a, aNLW(_) | aNRW(_))))
    .named("iso", "{a} reads before it writes");
    let first_write = stamps(move |a| remote_first && matches!(a, aNRW(_)));
    let in_rmw = same_event().between(&first_write, &local_writes);

    // ippo = ppo u [aCW]; po; [aCR u aWT] u U_n [aNRW_n u aNLW_n]; po; [aRF_n]
    let ippo = (ppo()
        | po().between(&cpu_writes, &cpu_reads.or(&waits))
        | (po() & &same_qp).between(&remote_writes.or(&local_writes), &fences))
    .named("ippo", "{a} is issued before {b} in its thread");

    // ib = (ippo u iso u rf u pfg u pfp u nfo u rb_i)+, in RDMA-TSO-RMW with (aNRW, aNLW) of each RMW
    let parts = IB.into_iter().zip([&ippo, &iso, &rf, &pfg, &pfp, &nfo, &rb_i, &in_rmw]);
    let parts = parts.filter(|(name, _)| Some(*name) != without).map(|(_, part)| part.clone());
    let ib = parts.reduce(|all, part| all | part).expect("eight parts, and one is left out").plus();
    c.irreflexive("ib", &ib);

    let atomic = remote_writes
        .on()
        .then(&iso.inv())
        .then(&rao)
        .named("atomic", "{a} is over before {b} begins: remote updates of one node exclude each other");

    // so = iso u rf_e u pfg u nfo u rb u mo u rao u ([aNRW]; iso^-1; rao) u ([Inst]; ib)
    c.so("iso", &iso);
    c.so("rf", &rf_e);
    c.so("pfg", &pfg);
    c.so("nfo", &nfo);
    c.so("rb", &rb);
    c.so("mo", &mo);
    c.so("rao", &rao);
    c.so("atomic", &atomic);
    c.so_of_paths("ib", &stamps(Stamp::is_instantaneous).on().then(&ib));
    c
}

/// What a method takes, beside identifiers.
pub(crate) fn takes(method: &str) -> Option<&'static [Arg]> {
    use Arg::{Any, Local, Placed};
    Some(match method {
        "Write" | "Xchg" => &[Local, Any],
        "Read" => &[Local],
        "CAS" => &[Local, Any, Any],
        "Mfence" => &[],
        "Wait" => &[Any],
        "Rfence" => &[Arg::Node],
        "Get" => &[Local, Placed],
        "Put" => &[Placed, Local],
        "RCAS" => &[Local, Placed, Any, Any],
        "RFAA" => &[Local, Placed, Any],
        _ => return None,
    })
}

/// `stmp(e)` with what each subevent does; `None` where a call does not respect nodes.
pub(crate) fn shapes(world: &World, event: &Event) -> Option<Vec<Shape<Stamp>>> {
    let here = world.node_of(event.thread);
    let args = &event.call.args;
    let at = |position: usize| {
        let loc = args.get(position)?.loc()?;
        world.home(loc).map(|node| Cell { loc, node })
    };
    let local = |position| at(position).filter(|c| c.node == here);
    let one = |sub| Some(vec![Shape::from_slice(&[sub])]);
    match event.call.method.text() {
        "Write" => one(Sub::write(aCW, local(0)?, Writes::Is(args[1]))),
        "Read" => one(Sub::read(aCR, local(0)?, Reads::Is(event.ret))),
        "CAS" if event.ret == args[1] => one(Sub::update(aCAS, local(0)?, Reads::Is(args[1]), Writes::Is(args[2]))),
        "CAS" => Some(vec![Shape::from_slice(&[Sub::quiet(aMF), Sub::read(aCR, local(0)?, Reads::Is(event.ret))])]),
        "Xchg" => one(Sub::update(aCAS, local(0)?, Reads::Is(event.ret), Writes::Is(args[1]))),
        "Mfence" => one(Sub::quiet(aMF)),
        "Wait" => one(Sub::quiet(aWT)),
        "Rfence" => match args[0] {
            Val::Node(n) => one(Sub::quiet(aRF(n))),
            _ => None,
        },
        "Get" => {
            let (x, y) = (local(0)?, at(1)?);
            let read = Sub::read(aNRR(y.node), y, Reads::Any);
            Some(vec![Shape::from_slice(&[read, Sub::write(aNLW(y.node), x, Writes::Copy(0))])])
        }
        "Put" => {
            let (x, y) = (at(0)?, local(1)?);
            let read = Sub::read(aNLR(x.node), y, Reads::Any);
            Some(vec![Shape::from_slice(&[read, Sub::write(aNRW(x.node), x, Writes::Copy(0))])])
        }
        "RCAS" => {
            let (x, y, v1, v2) = (local(0)?, at(1)?, args[2], args[3]);
            let n = y.node;
            let back = Sub::write(aNLW(n), x, Writes::Copy(0));
            let swapped = [Sub::read(aNAR(n), y, Reads::Is(v1)), Sub::write(aNRW(n), y, Writes::Is(v2)), back];
            let failed = [Sub::read(aNAR(n), y, Reads::IsNot(v1)), back];
            Some(vec![Shape::from_slice(&swapped), Shape::from_slice(&failed)])
        }
        "RFAA" => {
            let (x, y) = (local(0)?, at(1)?);
            let n = y.node;
            let write = Sub::write(aNRW(n), y, Writes::Step(0));
            let back = Sub::write(aNLW(n), x, Writes::Copy(0));
            Some(vec![Shape::from_slice(&[Sub::read(aNAR(n), y, Reads::Any), write, back])])
        }
        _ => None,
    }
}

/// Clients of the memory model itself: two words on every node, every method.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Whether there are read-modify-writes of remote words.
    pub rmw: bool,
}

impl Subject for Words {
    fn worlds(&self, empty: &World, _: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let mut world = empty.clone();
        let words = empty.all_nodes().iter().flat_map(|n| [(format!("x{n}"), n), (format!("y{n}"), n)]);
        world.objects.extend(words.map(|(name, n)| (Loc::new(&name), word(n))));
        vec![world]
    }

    fn calls(&self, world: &World, thread: Tid, _: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let call = |method, args: &[Val]| Call::new(WAIT, method, args);
        let here = world.node_of(thread);
        let at = |name: char, n: Node| Val::Loc(Loc::new(&format!("{name}{n}")));
        let (x, y, d) = (at('x', here), at('y', here), Val::Wid(Wid(Name::literal("d"))));
        let one = Val::Int(1);
        let mut calls =
            vec![call("Mfence", &[]), call("Wait", &[d]), call("Write", &[x, one]), call("Write", &[y, one])];
        calls.extend([call("Read", &[x]), call("Read", &[y]), call("CAS", &[x, Val::Int(0), Val::Int(2)])]);
        for n in world.all_nodes().iter() {
            let far = at('x', n);
            calls.extend([call("Put", &[far, y, d]), call("Get", &[y, far, d]), call("Rfence", &[Val::Node(n)])]);
            if self.rmw {
                calls.push(call("RCAS", &[y, far, Val::Int(0), Val::Int(3), d]));
                calls.push(call("RFAA", &[y, far, one, d]));
            }
        }
        calls
    }
}
