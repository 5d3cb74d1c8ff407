//! A second memory model beside RDMA: x86-TSO, with a lock over its compare-and-swap.
//!
//! Owens, Sarkar, Sewell: "A better x86 memory model" (2009), in the axiomatic form of Alglave, Maranget, Tautschnig:
//! "Herding cats" (2014). One node, every thread on it.

use std::collections::BTreeSet;

use mowgli_core::algebra::{CELL, Spec, SubView, spec};
use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
use mowgli_core::expr::{Expr, me};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::{Hints, Library, PlainSet};
use mowgli_core::soundness::client::{Client, Subject};
use mowgli_core::soundness::verdict::Probes;
use mowgli_core::stamp::plain_stamps;
use mowgli_core::term::body::{Bodies, Body, bodies, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::{methods, named_by};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};

/// Read, write, update, fence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum Tso {
    R,
    W,
    U,
    F,
}

/// The stamp order: everything but a write before a read, which may wait in the store buffer.
pub fn to(earlier: Tso, later: Tso) -> bool {
    !(earlier == Tso::W && later == Tso::R)
}

plain_stamps!(Tso: R, W, U, F);

methods! {
    /// Calls of a word.
    pub enum Method of MEMORY = "memory" {
        /// Reads it.
        fn read = Read(x: Object) -> Value;
        /// Writes it.
        fn write = Write(x: Object, v: Value);
        /// Compares it and swaps.
        fn cas = CAS(x: Object, old: Value, new: Value) -> Value;
        /// Empties the store buffer.
        fn fence = Fence();
    }
}

pub fn word() -> Object {
    Object::new(MEMORY).at(Node(1))
}
/// Memory words.
pub struct Memory;

/// The memory with other conditions on what is admitted, or another specification.
pub struct Changed {
    /// Whether plain executions with these events are admitted.
    pub admits: fn(&[&Event]) -> bool,
    /// The specification.
    pub spec: fn() -> Spec,
}

impl Library for Changed {
    named_by!(Method);

    fn shapes_by_function(&self, world: &World, event: &Event) -> Vec<Shape> {
        Memory.shapes_by_function(world, event)
    }

    fn admitted(&self) -> PlainSet<'_> {
        PlainSet::Where(Box::new(|_, events| (self.admits)(events)))
    }

    fn spec(&self) -> Spec {
        (self.spec)()
    }
}

impl Hints for Changed {
    fn is_remembered(&self, call: &Call) -> bool {
        Memory.is_remembered(call)
    }

    fn only_looks(&self, event: &Event) -> bool {
        Memory.only_looks(event)
    }
}

impl Library for Memory {
    named_by!(Method);

    fn shapes_by_function(&self, _: &World, event: &Event) -> Vec<Shape> {
        let cell = |loc| Cell { loc, node: Node(1) };
        let found = Reads::Is(event.ret);
        let sub = match Method::of(&event.call) {
            Method::Read { x } => Sub::read(Tso::R, cell(x), found),
            Method::Write { x, v } => Sub::write(Tso::W, cell(x), Writes::Is(v)),
            Method::CAS { x, old, new } if event.ret == old => Sub::update(Tso::U, cell(x), found, Writes::Is(new)),
            Method::CAS { x, .. } => Sub::read(Tso::R, cell(x), found),
            Method::Fence {} => Sub::quiet(Tso::F),
        };
        vec![Shape::from([sub])]
    }

    fn spec(&self) -> Spec {
        spec! {
            let rf, mo, rb = coherence;
            irreflexive coherence = (po & same(CELL) | rf | mo | rb)+;
            let rf_e = rf - same_thread;
            say rf_e as rf = "{b} read what {a} wrote";
            so = rf_e | mo | rb;
        }
    }
}

impl Hints for Memory {
    fn is_remembered(&self, _: &Call) -> bool {
        false
    }

    fn only_looks(&self, event: &Event) -> bool {
        match Method::of(&event.call) {
            Method::CAS { old, .. } => event.ret != old,
            method => !matches!(method, Method::Write { .. }),
        }
    }
}

methods! {
    /// Calls of a lock.
    pub enum Section of LOCK = "lock" {
        /// Takes it.
        fn acquire = Acquire(l: Object);
        /// Gives it back.
        fn release = Release(l: Object);
    }
}

/// A lock: `Acquire` has the stamp of an update, `Release` that of a write.
pub struct Lock;

fn critical_section(s: &SubView) -> Option<Val> {
    let (thread, nth) = (Val::Int(i64::from(s.event.thread.0)), Val::Int(s.nth as i64));
    Some(Val::tuple(&[s.event.call.args[0], thread, nth]))
}

impl Library for Lock {
    named_by!(Section);

    fn shapes_by_function(&self, _: &World, event: &Event) -> Vec<Shape> {
        let stamp = if event.call.method.text() == "Acquire" { Tso::U } else { Tso::W };
        vec![Shape::from([Sub::quiet(stamp)])]
    }

    /// Each thread acquires and releases each lock in turn, and ends with a release.
    fn covered(&self) -> PlainSet<'_> {
        PlainSet::Where(Box::new(|world, events| {
            let locks: BTreeSet<Loc> = events.iter().map(|e| e.call.loc(0)).collect();
            world.tids().all(|t| {
                locks.iter().all(|&l| {
                    let own = events.iter().filter(|e| e.thread == t && e.call.loc(0) == l);
                    let own: Vec<&str> = own.map(|e| e.call.method.text()).collect();
                    own.len().is_multiple_of(2) && own.chunks(2).all(|pair| pair == ["Acquire", "Release"])
                })
            })
        }))
    }

    fn spec(&self) -> Spec {
        use Tso::{U, W};
        spec! {
            // lo: a strict total order on the acquires of each lock
            let lo = order(U, |s: &SubView| Some(s.event.call.args[0]));
            // so = match^-1; lo, from a release to every later acquire
            let released = ([U]; same(critical_section); [W])^-1; lo;
            say released as lo = "{a} lets {b} in";
            so = released;
        }
    }
}

impl Hints for Lock {}

/// The lock over one word, and ways to get it wrong or to make the proof harder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spin {
    /// `loop { v = CAS(x, 0, 1); if v = 0 break }` and `Write(x, 0)`.
    Published,
    /// Reads and writes the word instead of swapping it.
    ReadThenWrite,
    /// After the release it writes a word that nobody reads.
    NoteAfterRelease,
    /// Every thread locks a word of its own: the stamps are all there, and the order is not.
    OwnWord,
}

fn word_of(l: Loc) -> Loc {
    l.part("word")
}

fn note_of(l: Loc, t: Tid) -> Loc {
    l.part(format_args!("note_{t}"))
}

impl Implementation for Spin {
    fn target(&self) -> Name {
        LOCK
    }

    fn declare(&self, world: &mut World) {
        for l in world.locations(LOCK) {
            world.objects.insert(word_of(l), word());
            world.objects.extend(world.tids().map(|t| (note_of(l, t), word())).collect::<Vec<_>>());
        }
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(match self {
            Self::ReadThenWrite => bodies! { static Section:
                Acquire { l } => {
                    let x = l.part("word", []);
                    loop { let v = Method::read(x); if (v == 0) { break } };
                    Method::write(x, 1);
                }
                Release { l } => { Method::write(l.part("word", []), 0) }
            },
            Self::NoteAfterRelease => bodies! { static Section:
                Acquire { l } => { swap(l.part("word", [])) }
                Release { l } => { Method::write(l.part("word", []), 0); Method::write(l.part("note", [me()]), 1); }
            },
            Self::OwnWord => bodies! { static Section:
                Acquire { l } => { swap(l.part("note", [me()])) }
                Release { l } => { Method::write(l.part("note", [me()]), 0) }
            },
            Self::Published => bodies! { static Section:
                Acquire { l } => { swap(l.part("word", [])) }
                Release { l } => { Method::write(l.part("word", []), 0) }
            },
        })
    }
}

/// Waits until it has swapped a word from 0 to 1.
fn swap(x: Expr) -> Body {
    body! { loop { let v = Method::cas(x, 0, 1); if (v == 0) { break } } }
}

fn call(method: &'static str, l: Loc) -> Call {
    Call::new(LOCK, method, &[l.into()])
}

impl Subject for Lock {
    fn worlds(&self, empty: &World, _: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let mut world = empty.clone();
        world.objects.insert(Loc::new("l"), Object::new(LOCK));
        vec![world]
    }

    fn calls(&self, _: &World, _: Tid, _: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        vec![call("Acquire", Loc::new("l")), call("Release", Loc::new("l"))]
    }
}

/// Clients whose critical sections read a word and add to it: none may be lost.
pub struct Counting;

impl Probes for Counting {
    fn stages(&self) -> usize {
        1
    }

    fn extend(&self, world: &World, client: &Client, _: usize) -> Vec<(World, Client)> {
        let (mut world, mut client) = (world.clone(), client.clone());
        let x = Loc::new("x");
        world.objects.insert(x, word());
        for (t, calls) in client.threads.iter_mut().enumerate() {
            let inside = [
                Call::new(MEMORY, "Read", &[x.into()]),
                Call::new(MEMORY, "Write", &[x.into(), Val::Int(t as i64 + 1)]),
                Call::new(MEMORY, "Read", &[x.into()]),
            ];
            calls.splice(1..1, inside);
        }
        vec![(world, client)]
    }
}
