//! A spin lock: one word, taken by a compare-and-swap.

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::program::{Prog, prog};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_x86::Stamp;
use mowgli_x86::tso::{cas, mfence, read, word, write};

use crate::catalogue::{Entry, Expected, variant};
use crate::lock::Method;
use crate::x86::lock;

/// The library's name.
pub const SPINLOCK: Name = Name::literal("spinlock");

/// The implementation, or one of its broken variants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spin {
    /// `loop { if CAS(x, 0, 1) = 0 break }`, and `Write(x, 0)`.
    #[default]
    Published,
    /// Reads the word and then writes it.
    ReadThenWrite,
    /// Each thread says by a word of its own that it wants the lock, and looks at those of the others while that is still
    /// in its store buffer.
    Flags,
    /// The same with a fence in between: threads exclude each other, and wait for each other for ever.
    FencedFlags,
    /// A release leaves the word as it is.
    NeverFree,
}

fn taken(x: Loc) -> Loc {
    x.part("taken")
}

fn flag(x: Loc, t: Tid) -> Loc {
    x.part(format_args!("flag_{t}"))
}

/// Reads a word until it is 0.
fn wait_for(x: Loc) -> Prog {
    prog! { let v = read(x); Prog::break_if(v == Val::Int(0)) }.repeat()
}

impl Implementation for Spin {
    fn target(&self) -> Name {
        SPINLOCK
    }

    fn declare(&self, world: &mut World) {
        for x in world.locations(SPINLOCK) {
            world.objects.insert(taken(x), word());
            world.objects.extend(world.tids().map(|t| (flag(x, t), word())).collect::<Vec<_>>());
        }
    }

    fn body(&self, world: &World, t: Tid, call: &Call) -> Prog {
        let (x, own) = (taken(call.loc(0)), flag(call.loc(0), t));
        let has_flags = matches!(self, Self::Flags | Self::FencedFlags);
        if let Method::Rel { .. } = Method::of(call) {
            return match self {
                Self::NeverFree => write(x, 1),
                _ if has_flags => write(own, 0),
                _ => write(x, 0),
            };
        }
        let others = world.tids().filter(|&o| o != t).map(|o| wait_for(flag(call.loc(0), o))).collect::<Vec<_>>();
        match self {
            Self::ReadThenWrite => prog! { wait_for(x); write(x, 1) },
            Self::Flags => prog! { write(own, 1); Prog::all(others.clone()) },
            Self::FencedFlags => prog! { write(own, 1); mfence(); Prog::all(others.clone()) },
            Self::Published | Self::NeverFree => {
                prog! { let v = cas(x, 0, 1); Prog::break_if(v == Val::Int(0)) }.repeat()
            }
        }
    }
}

/// What the catalogue says of it.
#[must_use]
pub fn entry() -> Entry<Stamp> {
    use Expected::{Blocks, Sound, Stuck, Unsound};
    let variants = vec![
        variant("published", "a word and a CAS", Sound, Spin::Published, &[(3, 1, 2), (2, 1, 4)]),
        variant("read-then-write", "the word is read and then written", Unsound, Spin::ReadThenWrite, &[(2, 1, 2)]),
        variant(
            "flags",
            "flags of the threads are written and read without a fence",
            Unsound,
            Spin::Flags,
            &[(2, 1, 2)],
        ),
        variant("fenced-flags", "threads wait for each other's flags", Stuck, Spin::FencedFlags, &[(2, 1, 2)]),
        variant("never-free", "a release leaves the lock taken", Blocks, Spin::NeverFree, &[(2, 1, 2)]),
    ];
    lock::entry(SPINLOCK, variants)
}
