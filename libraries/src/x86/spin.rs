//! A spin lock: one word, taken by a compare-and-swap.

use mowgli_core::edit::{Edits, calls};
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::program::{Prog, prog};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_x86::tso::{Method as Tso, cas, mfence, read, word, write};

use crate::entry::{Entry, Expected, variant};
use crate::lock::Method;
use crate::x86::lock;
use crate::x86::words::in_two_steps;

/// The library's name.
pub const SPINLOCK: Name = Name::literal("spinlock");

/// The implementation: `loop { if CAS(x, 0, 1) = 0 break }`, and `Write(x, 0)`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin;

fn taken(x: Loc) -> Loc {
    x.part("taken")
}

impl Implementation for Spin {
    fn target(&self) -> Name {
        SPINLOCK
    }

    fn declare(&self, world: &mut World) {
        world.objects.extend(world.locations(SPINLOCK).into_iter().map(|x| (taken(x), word())));
    }

    fn body(&self, _: &World, _: Tid, call: &Call) -> Prog {
        let x = taken(call.loc(0));
        match Method::of(call) {
            Method::Acq { .. } => prog! { loop { let v = cas(x, 0, 1); if (v == Val::Int(0)) { break } } },
            Method::Rel { .. } => write(x, 0),
        }
    }
}

/// Another lock: each thread says by a word of its own that it wants it, and waits for those of the others. Threads exclude
/// each other, and wait for each other for ever.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flags;

fn flag(x: Loc, t: Tid) -> Loc {
    x.part(format_args!("flag_{t}"))
}

impl Implementation for Flags {
    fn target(&self) -> Name {
        SPINLOCK
    }

    fn declare(&self, world: &mut World) {
        let flags = |x| world.tids().map(move |t| (flag(x, t), word()));
        let all: Vec<_> = world.locations(SPINLOCK).into_iter().flat_map(flags).collect();
        world.objects.extend(all);
    }

    fn body(&self, world: &World, t: Tid, call: &Call) -> Prog {
        let x = call.loc(0);
        let others: Vec<Tid> = world.tids().filter(|&o| o != t).collect();
        match Method::of(call) {
            Method::Acq { .. } => prog! {
                write(flag(x, t), 1);
                mfence();
                for o in (others.clone()) { loop { let v = read(flag(x, o)); if (v == Val::Int(0)) { break } } }
            },
            Method::Rel { .. } => write(flag(x, t), 0),
        }
    }
}

/// What the catalogue says of it.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Blocks, Sound, Stuck, Unsound};
    let read_then_write = Spin.replace(calls!(Tso::CAS { x, v1, v2 } => in_two_steps(x, v1, v2)));
    // A flag is still in the store buffer when the others are looked at.
    let flags = Flags.without(calls!(Tso::Mfence {}));
    let never_free = Spin.replace(calls!(Tso::Write { x, .. } in Method::Rel { .. } => write(x, 1)));
    let variants = vec![
        variant("published", "a word and a CAS", Sound, Spin, &[(3, 1, 2), (2, 1, 4)]),
        variant("read-then-write", "the word is read and then written", Unsound, read_then_write, &[(2, 1, 2)]),
        variant("flags", "flags of the threads are written and read without a fence", Unsound, flags, &[(2, 1, 2)]),
        variant("fenced-flags", "threads wait for each other's flags", Stuck, Flags, &[(2, 1, 2)]),
        variant("never-free", "a release leaves the lock taken", Blocks, never_free, &[(2, 1, 2)]),
    ];
    lock::entry(SPINLOCK, variants)
}
