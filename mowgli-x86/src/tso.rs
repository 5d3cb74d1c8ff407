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
//! In the terms of the framework ppo is the stamp order, and `so = rfe u mo u rb`. So ghb is hb, and uniproc is the one
//! demand. A locked instruction is one subevent {U}, so nothing comes between what it reads and what it writes. A
//! compare-and-swap that fails is locked too: it empties the store buffer and reads, {F, R}.
//!
//! A location is a value like any other. A word may hold one, and a value that was read can be the address of the next
//! access. An access to a value that is not the location of a word is a fault of the program.

use mowgli_core::algebra::{CELL, Spec, spec};
use mowgli_core::event::{Call, Event};
use mowgli_core::expr::ret;
use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::library::{Equivariance, Hints, Library};
use mowgli_core::soundness::client::Subject;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::method::{methods, named_by};
use mowgli_core::term::parts::ObjectTerm;
use mowgli_core::term::shape::{Shapes, plus, shapes};
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, DeclarationPart, Object, World};

use crate::stamp::X86Stamp::{F, R, U, W};

methods! {
    /// The methods of x86-TSO.
    pub enum Method of X86 = "x86-tso" as statements {
        /// `Read(x)`.
        fn read = Read(x: Address) -> Value;
        /// `Write(x, v)`.
        fn write = Write(x: Address, v: Value);
        /// `CAS(x, v1, v2)`, which returns the old value (`lock cmpxchg`).
        fn cas = CAS(x: Address, v1: Value, v2: Value) -> Value;
        /// `FAA(x, k)`, which returns the old value (`lock xadd`).
        fn faa = FAA(x: Address, k: Value) -> Value;
        /// `Xchg(x, v)`, which returns the old value (`xchg`).
        fn xchg = Xchg(x: Address, v: Value) -> Value;
        /// `Mfence()`.
        fn mfence = Mfence();
    }
}

/// The one machine.
pub const MACHINE: Node = Node(1);

/// A memory word.
#[must_use]
pub fn word() -> Object {
    Object::new(X86).at(MACHINE)
}

/// A word, as a part of an implementation.
#[must_use]
pub fn word_term() -> ObjectTerm {
    ObjectTerm::new(X86).at(MACHINE)
}

/// x86-TSO as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct X86Tso;

impl Library for X86Tso {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm { kind: "", parts: &[DeclarationPart::Init] })
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method:
            Read { x } => { R: reads x, ret() }
            Write { x, v } => { W: writes x, v }
            CAS { x, v1, v2 } => { if (ret().is(v1)) { U: updates x, ret() => v2 } else { F; R: reads x, ret() } }
            FAA { x, k } => { U: updates x, ret() => plus(k) }
            Xchg { x, v } => { U: updates x, ret() => v }
            Mfence {} => { F }
        })
    }

    fn spec(&self) -> Spec {
        spec! {
            let rf, mo, rb = coherence;
            // uniproc: each word alone is sequentially consistent
            let po_loc = po & same(CELL);
            say po_loc as po-loc = "{a} comes before {b} in its thread, at the same word";
            irreflexive uniproc = (po_loc | rf | mo | rb)+;
            // A read of the processor's own buffer orders nothing; a failed CAS empties the buffer before it reads.
            let rfe = rf - po;
            let iso = [F]; same_event; [R];
            say rfe as rf = "{b} read {b reads}, which {a} wrote";
            say iso = "{a} empties the store buffer before it reads";
            so = iso | rfe | mo | rb;
        }
    }
}

impl Hints for X86Tso {
    /// Each call has a result in every state.
    fn may_wait(&self, _: &World, _: &Call) -> Option<bool> {
        Some(false)
    }

    fn is_remembered(&self, _: &Call) -> bool {
        false
    }

    /// True for reads, fences and a compare-and-swap that failed, because they only order their neighbours.
    fn only_looks(&self, event: &Event) -> bool {
        match Method::of(&event.call) {
            Method::Read { .. } | Method::Mfence {} => true,
            Method::CAS { v1, .. } => event.ret != v1,
            _ => false,
        }
    }

    fn equivariance(&self) -> Equivariance {
        Equivariance::DataIndependent
    }
}

/// Clients of the memory itself: two words, every method.
#[derive(Clone, Copy, Debug)]
pub struct X86Clients;

impl Subject for X86Clients {
    fn worlds(&self, empty: &World, _: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        on_one_machine(empty, |world| world.objects.extend(["x", "y"].map(|x| (Loc::new(x), word()))))
    }

    fn calls(&self, _: &World, _: Tid, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let of_word = |x: Loc| {
            let of_value = move |&v: &i64| {
                let v = Val::Int(v);
                [Method::Write { x, v }, Method::Xchg { x, v }, Method::CAS { x, v1: Val::Int(0), v2: v }]
            };
            let others = [Method::Read { x }, Method::FAA { x, k: Val::Int(1) }];
            others.into_iter().chain(bound.values.iter().flat_map(of_value)).collect::<Vec<_>>()
        };
        let words = ["x", "y"].into_iter().flat_map(|x| of_word(Loc::new(x)));
        words.chain([Method::Mfence {}]).map(Call::from).collect()
    }
}

/// Returns the world with the additions of `add`. The list is empty for a world of several nodes, because there is one
/// machine.
pub fn on_one_machine(empty: &World, add: impl FnOnce(&mut World)) -> Vec<World> {
    if empty.nodes > 1 {
        return Vec::new();
    }
    let mut world = empty.clone();
    add(&mut world);
    vec![world]
}
