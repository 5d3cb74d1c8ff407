//! x86-TSO: words of one machine, read and written by processors with store buffers.
//!
//! The model is that of Owens, Sarkar and Sewell, *A Better x86 Memory Model: x86-TSO* (TPHOLs 2009), and of Sewell,
//! Sarkar, Owens, Zappa Nardelli and Myreen, *x86-TSO: A Rigorous and Usable Programmer's Model for x86
//! Multiprocessors* (CACM 2010), in the axiomatic form of Alglave, Maranget and Tautschnig, *Herding Cats* (TOPLAS 2014,
//! Fig. 21), which is that of herd7's `x86tso.cat`:
//!
//! ```text
//! acyclic po-loc | com                           as uniproc
//! acyclic ppo | rfe | co | fr                    as ghb       ppo = po \ (W x R), with fences and locked instructions
//! ```
//!
//! In the terms of the framework: ppo is the stamp order, `so = rfe u mo u rb`, so that ghb is hb, and uniproc is the
//! one demand. A locked instruction is one subevent {U}, so nothing comes between what it reads and what it writes.
//! A compare-and-swap that fails is locked too: it empties the store buffer and reads, {F, R}.
//!
//! A location is a value as any other: a word may hold one, and what was read can be the address of the next access. An
//! access to what is no word is a fault of the program.

use mowgli_core::algebra::{Spec, cell, id, po, reads, same, same_event, stamps, writes};
use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
use mowgli_core::fault::{Arg, fault};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::Library;
use mowgli_core::program::Prog;
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};

use crate::stamp::Stamp::{self, F, R, U, W};

/// The memory's name.
pub const X86: Name = Name::literal("x86-tso");

/// The one machine.
pub const MACHINE: Node = Node(1);

/// A memory word.
#[must_use]
pub fn word() -> Object {
    Object::new(X86).at(MACHINE)
}

fn call(method: &'static str, args: &[Val]) -> Prog {
    Prog::call(Call::new(X86, method, args))
}

/// `Read(x)`. The location of this and of all other accesses may be a value that was read.
#[must_use]
pub fn read(x: impl Into<Val>) -> Prog {
    call("Read", &[x.into()])
}
/// `Write(x, v)`.
#[must_use]
pub fn write(x: impl Into<Val>, v: impl Into<Val>) -> Prog {
    call("Write", &[x.into(), v.into()])
}
/// `CAS(x, v1, v2)`, which returns the old value (`lock cmpxchg`).
#[must_use]
pub fn cas(x: impl Into<Val>, v1: impl Into<Val>, v2: impl Into<Val>) -> Prog {
    call("CAS", &[x.into(), v1.into(), v2.into()])
}
/// `FAA(x, k)`, which returns the old value (`lock xadd`).
#[must_use]
pub fn faa(x: impl Into<Val>, k: i64) -> Prog {
    call("FAA", &[x.into(), k.into()])
}
/// `Xchg(x, v)`, which returns the old value (`xchg`).
#[must_use]
pub fn xchg(x: impl Into<Val>, v: impl Into<Val>) -> Prog {
    call("Xchg", &[x.into(), v.into()])
}
/// `Mfence()`.
#[must_use]
pub fn mfence() -> Prog {
    call("Mfence", &[])
}

/// The methods, each with the number of its arguments.
pub const METHODS: [(&str, usize); 6] = [("Read", 1), ("Write", 2), ("CAS", 3), ("FAA", 2), ("Xchg", 2), ("Mfence", 0)];

/// x86-TSO as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tso;

/// The cell of a word.
fn at(x: Loc) -> Cell {
    Cell { loc: x, node: MACHINE }
}

/// The cell of an access; `None` if what stands for its location is none.
fn accessed(call: &Call) -> Option<Cell> {
    call.args.first()?.loc().map(at)
}

impl Library<Stamp> for Tso {
    fn name(&self) -> Name {
        X86
    }

    /// What is accessed. A location that is written is data.
    fn loc(&self, call: &Call) -> Vec<Loc> {
        accessed(call).into_iter().map(|cell| cell.loc).collect()
    }

    fn returns(&self, _: &World, _: Tid, call: &Call, cells: &dyn Fn(Cell) -> Vec<Val>) -> Vec<Val> {
        match (call.method.text(), accessed(call)) {
            ("Read" | "CAS" | "FAA" | "Xchg", Some(cell)) => cells(cell),
            _ => vec![Val::Unit],
        }
    }

    fn is_remembered(&self, _: &Call) -> bool {
        false
    }

    /// Reads, fences and a compare-and-swap that failed: they order what is around them, and no more.
    fn only_looks(&self, event: &Event) -> bool {
        match event.call.method.text() {
            "Read" | "Mfence" => true,
            "CAS" => event.ret != event.call.args[1],
            _ => false,
        }
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        const ARGS: [Arg; 3] = [Arg::Local, Arg::Any, Arg::Any];
        let known = METHODS.iter().find(|(name, _)| *name == call.method.text());
        fault(world, thread, call, known.map(|(_, n)| &ARGS[..*n]))
    }

    /// Read {R}, Write {W}, Mfence {F}, locked instructions {U}, of which a CAS that fails {F, R}.
    fn shapes(&self, _: &World, event: &Event) -> Vec<Shape<Stamp>> {
        let (args, ret) = (&event.call.args, event.ret);
        let subs = |cell| {
            let update = |v| vec![Sub::update(U, cell, Reads::Is(ret), Writes::Is(v))];
            match event.call.method.text() {
                "Read" => vec![Sub::read(R, cell, Reads::Is(ret))],
                "Write" => vec![Sub::write(W, cell, Writes::Is(args[1]))],
                "CAS" if ret == args[1] => update(args[2]),
                "CAS" => vec![Sub::quiet(F), Sub::read(R, cell, Reads::Is(ret))],
                "Xchg" => update(args[1]),
                // What is no integer has no sum.
                "FAA" => args[1].int().and_then(|k| ret.plus(k)).map_or_else(Vec::new, update),
                _ => Vec::new(),
            }
        };
        let subs = accessed(&event.call).map_or_else(|| vec![Sub::quiet(F)], subs);
        if subs.is_empty() { Vec::new() } else { vec![Shape::from_vec(subs)] }
    }

    fn spec(&self) -> Spec<Stamp> {
        let mut c = Spec::default();
        let (rf, initial) = c.reads_from("rf", reads(), writes());
        let rf = rf.named("rf", "{b} read {b reads}, which {a} wrote");
        let mo = c.order("mo", writes(), cell).named("mo", "{a} wrote before {b} did");
        let rb = ((rf.inv().then(&mo) | initial) - id()).named("rb", "{a} read {a reads}, before {b} wrote");

        // uniproc: each word alone is sequentially consistent
        let po_loc = (po() & same(cell)).named("po-loc", "{a} comes before {b} in its thread, at the same word");
        c.irreflexive("uniproc", &(po_loc | &rf | &mo | &rb).plus());

        // A read of the processor's own buffer orders nothing; a failed CAS empties the buffer before it reads.
        let rfe = (&rf - po()).named("rf", "{b} read {b reads}, which {a} wrote");
        let iso = same_event()
            .between(&stamps(|a| a == F), &stamps(|a| a == R))
            .named("iso", "{a} empties the store buffer before it reads");

        // so = iso u rfe u mo u rb
        c.so("iso", &iso);
        c.so("rf", &rfe);
        c.so("mo", &mo);
        c.so("rb", &rb);
        c
    }
}

/// Clients of the memory itself: two words, every method.
#[derive(Clone, Copy, Debug)]
pub struct Words;

impl Subject for Words {
    fn worlds(&self, empty: &World, _: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        on_one_machine(empty, |world| world.objects.extend(["x", "y"].map(|x| (Loc::new(x), word()))))
    }

    fn calls(&self, _: &World, _: Tid, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let call = |method, args: &[Val]| Call::new(X86, method, args);
        let of_word = |x: Val| {
            let of_value = move |&v: &i64| {
                [call("Write", &[x, v.into()]), call("Xchg", &[x, v.into()]), call("CAS", &[x, Val::Int(0), v.into()])]
            };
            let others = [call("Read", &[x]), call("FAA", &[x, Val::Int(1)])];
            others.into_iter().chain(bound.values.iter().flat_map(of_value)).collect::<Vec<_>>()
        };
        let words = ["x", "y"].into_iter().flat_map(|x| of_word(Loc::new(x).into()));
        words.chain([call("Mfence", &[])]).collect()
    }
}

/// The world with what `add` puts into it; none if it has several nodes: there is one machine.
pub fn on_one_machine(empty: &World, add: impl FnOnce(&mut World)) -> Vec<World> {
    if empty.nodes > 1 {
        return Vec::new();
    }
    let mut world = empty.clone();
    add(&mut world);
    vec![world]
}
