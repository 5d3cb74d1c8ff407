//! RDMA-SC-RMW: sequentially consistent words for everybody, with compare-and-swap and fetch-and-add.
//!
//! SYNC §5, Theorem 4: each word is guarded by a node lock beside it. Locations have no node for a client.

use mowgli_core::algebra::{Spec, cell, id, po, reads, writes};
use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
use mowgli_core::fault::{Arg, fault};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::library::{Libraries, Library};
use mowgli_core::program::{Prog, prog};
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::stamp::Stamp as Stamped;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_rdma::stamp::Stamp::{self, aMF};
use mowgli_rdma::to;
use mowgli_rdma::wait::{self, Wait};

use crate::catalogue::{Entry, Expected, Memory, few_calls, variant};
use crate::lock::{acq, home, rel};
use crate::nlock::{self, NLOCK};

/// The library's name.
pub const SC_RMW: Name = Name::literal("sc-rmw");

/// The methods, each with the number of its arguments beside the location.
pub const METHODS: &[(&str, usize)] = &[("Write", 1), ("Read", 0), ("CAS", 2), ("FAA", 1)];

/// RDMA-SC-RMW as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScRmw;

impl Library<Stamp> for ScRmw {
    fn name(&self) -> Name {
        SC_RMW
    }

    fn loc(&self, call: &Call) -> Vec<Loc> {
        vec![call.loc(0)]
    }

    fn returns(&self, _: &World, _: Tid, call: &Call, cells: &dyn Fn(Cell) -> Vec<Val>) -> Vec<Val> {
        if call.method.text() == "Write" { vec![Val::Unit] } else { cells(word(call.loc(0))) }
    }

    /// What FAA makes of the value that it reads, as RFAA does: no execution has an addition to what is no integer.
    fn step(&self, event: &Event, read: Val) -> Option<Val> {
        read.plus(event.call.args[1].int()?)
    }

    fn is_remembered(&self, _: &Call) -> bool {
        false
    }

    fn only_looks(&self, event: &Event) -> bool {
        let args = &event.call.args;
        event.call.method.text() == "Read" || event.call.method.text() == "CAS" && event.ret != args[1]
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        let takes = takes(METHODS, call.method.text());
        fault(world, thread, call, takes.as_deref())
    }

    /// {aMF} for every call.
    fn shapes(&self, _: &World, event: &Event) -> Vec<Shape<Stamp>> {
        let (args, ret) = (&event.call.args, event.ret);
        let x = word(event.call.loc(0));
        let sub = match event.call.method.text() {
            "Write" => Sub::write(aMF, x, Writes::Is(args[1])),
            "CAS" if ret == args[1] => Sub::update(aMF, x, Reads::Is(ret), Writes::Is(args[2])),
            "FAA" => Sub::update(aMF, x, Reads::Is(ret), Writes::Step(0)),
            _ => Sub::read(aMF, x, Reads::Is(ret)),
        };
        vec![Shape::from_slice(&[sub])]
    }

    fn spec(&self) -> Spec<Stamp> {
        sequentially_consistent()
    }
}

/// What a method takes: its object, and as many arguments as the table says.
pub(crate) fn takes(methods: &[(&str, usize)], method: &str) -> Option<Vec<Arg>> {
    let (_, arguments) = methods.iter().find(|(name, _)| *name == method)?;
    Some(std::iter::once(Arg::Object).chain(std::iter::repeat_n(Arg::Any, *arguments)).collect())
}

/// Reads-from and one order of the writes of each cell, all in the order of the program: `so = po u rf u mo u rb`.
pub(crate) fn sequentially_consistent<S: Stamped>() -> Spec<S> {
    let mut c = Spec::default();
    let (rf, initial) = c.reads_from("rf", reads(), writes());
    let rf = rf.named("rf", "{b} read {b reads}, which {a} wrote");
    let mo = c.order("mo", writes(), cell).named("mo", "{a} wrote before {b} did");
    let rb = ((rf.inv().then(&mo) | initial) - id()).named("rb", "{a} read {a reads}, before {b} wrote");

    c.so("po", &po());
    c.so("rf", &rf);
    c.so("mo", &mo);
    c.so("rb", &rb);
    c
}

/// The one cell of a location: it has no node.
fn word(x: Loc) -> Cell {
    Cell { loc: x, node: Node(1) }
}

/// The implementation over NLOCK and RDMA-WAIT-RMW, or one of its broken variants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ScRmwOverNlock {
    /// As published.
    #[default]
    Published,
    /// A read, and whatever returns a value, does not wait for it to come.
    ReadNoWait,
    /// A write does not take the lock.
    WriteNoLock,
    /// A CAS is a read and then a write, each under the lock.
    CasAsReadWrite,
    /// A CAS that succeeds writes 2, whatever it is to write.
    CasWritesTwo,
    /// A CAS compares with 0, whatever it is to compare with.
    CasComparesWithZero,
    /// An FAA adds 1, whatever it is to add.
    FaaAddsOne,
}

/// The word on its node, the lock beside it, and the two words of a thread.
fn parts(x: Loc, t: Tid) -> [Loc; 4] {
    [x.part("word"), x.part("lock"), x.part(format_args!("got_{t}")), x.part(format_args!("put_{t}"))]
}

impl Implementation for ScRmwOverNlock {
    fn target(&self) -> Name {
        SC_RMW
    }

    fn declare(&self, world: &mut World) {
        let words: Vec<(Loc, Object)> =
            world.objects.iter().filter(|(_, o)| o.library == SC_RMW).map(|(&x, o)| (x, o.clone())).collect();
        for (x, object) in words {
            let home = home(world, x);
            for t in world.tids() {
                let [on_node, lock, r, p] = parts(x, t);
                let here = world.node_of(t);
                world.objects.insert(on_node, wait::word(home).init(object.init));
                world.objects.insert(lock, Object::new(NLOCK).at(home));
                world.objects.insert(r, wait::word(here));
                world.objects.insert(p, wait::word(here));
            }
        }
    }

    fn body(&self, _: &World, t: Tid, call: &Call) -> Prog {
        let args = call.args.clone();
        let [x, lock, r, p] = parts(call.loc(0), t);
        let d = Val::Wid(call.loc(0).wid("d"));
        let write = move |v: Val| prog! { wait::write(p, v); wait::put(x, p, Val::NoWid) };
        let locked = move |inside: Prog| prog! { acq(NLOCK, lock); inside.clone(); rel(NLOCK, lock) };
        let waiting = if *self == Self::ReadNoWait { Prog::unit() } else { wait::wait(d) };
        let result = move |inside: Prog| prog! { locked(inside); waiting.clone(); wait::read(r) };
        match (call.method.text(), self) {
            ("Write", Self::WriteNoLock) => write(args[1]),
            ("Write", _) => locked(write(args[1])),
            ("Read", _) => result(wait::get(r, x, d)),
            ("CAS", Self::CasAsReadWrite) => prog! {
                let v = result(wait::get(r, x, d));
                if v == args[1] { locked(write(args[2])).then(Prog::Val(v)) } else { Prog::Val(v) }
            },
            ("CAS", Self::CasWritesTwo) => result(wait::rcas(r, x, args[1], Val::Int(2), d)),
            ("CAS", Self::CasComparesWithZero) => result(wait::rcas(r, x, Val::Int(0), args[2], d)),
            ("CAS", _) => result(wait::rcas(r, x, args[1], args[2], d)),
            ("FAA", Self::FaaAddsOne) => result(wait::rfaa(r, x, Val::Int(1), d)),
            ("FAA", _) => result(wait::rfaa(r, x, args[1], d)),
            (other, _) => unreachable!("RDMA-SC-RMW has no method {other}"),
        }
    }
}

impl Subject for ScRmw {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        crate::lock::worlds(SC_RMW, empty, bound, expired)
    }

    fn calls(&self, world: &World, _: Tid, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let own = world.objects.iter().filter(|(_, o)| o.library == SC_RMW);
        own.flat_map(|(&x, _)| {
            let call = |method, args: &[Val]| Call::new(SC_RMW, method, &[&[Val::Loc(x)], args].concat());
            let writes = bound.values.iter().map(move |&v| call("Write", &[v.into()]));
            let adds = bound.values.iter().map(move |&v| call("FAA", &[v.into()]));
            // From the initial value, and from each value that is written but the last.
            let steps = [0].iter().chain(&bound.values).zip(&bound.values);
            let swaps = steps.map(move |(&old, &v)| call("CAS", &[old.into(), Val::Int(v + 1)]));
            writes.chain(adds).chain(swaps).chain([call("Read", &[])]).collect::<Vec<_>>()
        })
        .collect()
    }
}

/// What the catalogue says of it.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let variant = |name, about, expected, implementation: ScRmwOverNlock| {
        variant(name, about, expected, implementation, &[(2, 2, 2), (3, 2, 1)]).and(few_calls())
    };
    Entry {
        name: "sc-rmw",
        memory: Memory::rdma_wait(),
        specification: Libraries::over(to).with(ScRmw),
        below: Libraries::over(to).with(nlock::LIBRARY).with(Wait),
        subject: Box::new(ScRmw),
        probes: Vec::new(),
        variants: vec![
            variant("published", "SYNC §5", Sound, ScRmwOverNlock::Published),
            variant("read-no-wait", "a result is read before it has come", Unsound, ScRmwOverNlock::ReadNoWait),
            variant("write-no-lock", "a write does not take the lock", Unsound, ScRmwOverNlock::WriteNoLock),
            variant("cas-as-read-write", "a CAS in two steps", Unsound, ScRmwOverNlock::CasAsReadWrite),
            variant("cas-writes-two", "a CAS writes 2 always", Unsound, ScRmwOverNlock::CasWritesTwo),
            variant("cas-with-zero", "a CAS compares with 0 always", Unsound, ScRmwOverNlock::CasComparesWithZero),
            variant("faa-adds-one", "an FAA adds 1 always", Unsound, ScRmwOverNlock::FaaAddsOne),
        ],
    }
}
