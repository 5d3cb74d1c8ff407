//! The lock of Mellor-Crummey and Scott: threads that wait form a queue, and each looks at a word of its own.
//!
//! *Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors* (TOCS 1991, Fig. 5). A thread's record has
//! two words, `next` and `locked`; its location is what the word `tail` of the lock and the record before it hold.

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::program::{Prog, prog};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_x86::Stamp;
use mowgli_x86::tso::{cas, read, word, write, xchg};

use crate::catalogue::{Entry, Expected, variant};
use crate::lock::Method;
use crate::x86::{NULL, field, lock};

/// The library's name.
pub const MCSLOCK: Name = Name::literal("mcslock");

/// The implementation, or one of its broken variants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mcs {
    /// As published.
    #[default]
    Published,
    /// A thread reads the tail and then writes it: two may think that they are the first.
    TwoSteps,
    /// A thread links its record before it has marked it as locked, so that the mark may overwrite the release.
    LinkFirst,
    /// A thread that finds itself to be no longer the last does not wait until the next one has linked its record.
    NoHandOver,
}

fn tail(x: Loc) -> Loc {
    x.part("tail")
}

/// A thread's record.
fn record(x: Loc, t: Tid) -> Val {
    x.part(format_args!("record_{t}")).into()
}

fn next(record: Val) -> Val {
    field(record, "next")
}

fn locked(record: Val) -> Val {
    field(record, "locked")
}

impl Implementation for Mcs {
    fn target(&self) -> Name {
        MCSLOCK
    }

    fn declare(&self, world: &mut World) {
        for x in world.locations(MCSLOCK) {
            let records = world.tids().map(|t| record(x, t));
            let words = records.flat_map(|r| [next(r), locked(r)]).filter_map(Val::loc).chain([tail(x)]);
            world.objects.extend(words.map(|x| (x, word())).collect::<Vec<_>>());
        }
    }

    fn body(&self, _: &World, t: Tid, call: &Call) -> Prog {
        let (tail, own) = (tail(call.loc(0)), record(call.loc(0), t));
        match Method::of(call) {
            Method::Acq { .. } => self.acquire(tail, own),
            Method::Rel { .. } => self.release(tail, own),
        }
    }
}

impl Mcs {
    fn acquire(self, tail: Loc, own: Val) -> Prog {
        let swap = match self {
            Self::TwoSteps => prog! { let last = read(tail); write(tail, own); Prog::Val(last) },
            _ => xchg(tail, own),
        };
        let wait = prog! { let v = read(locked(own)); Prog::break_if(v == Val::Int(0)) }.repeat();
        prog! {
            write(next(own), NULL);
            let last = swap.clone();
            match (last == NULL, self) {
                (true, _) => Prog::unit(),
                (_, Self::LinkFirst) => prog! { write(next(last), own); write(locked(own), 1); wait.clone() },
                _ => prog! { write(locked(own), 1); write(next(last), own); wait.clone() },
            }
        }
    }

    fn release(self, tail: Loc, own: Val) -> Prog {
        let linked =
            prog! { let n = read(next(own)); if n == NULL { Prog::unit() } else { Prog::Break(1, n) } }.repeat();
        prog! {
            let n = read(next(own));
            if n == NULL {
                let linked = linked.clone();
                prog! {
                    let last = cas(tail, own, NULL);
                    if last == own || self == Self::NoHandOver {
                        Prog::unit()
                    } else {
                        prog! { let n = linked.clone(); write(locked(n), 0) }
                    }
                }
            } else {
                write(locked(n), 0)
            }
        }
    }
}

/// What the catalogue says of it.
#[must_use]
pub fn entry() -> Entry<Stamp> {
    use Expected::{Sound, Stuck, Unsound};
    let variants = vec![
        variant("published", "TOCS 1991, Fig. 5", Sound, Mcs::Published, &[(3, 1, 2), (2, 1, 4)]),
        variant("two-steps", "the tail is read and then written", Unsound, Mcs::TwoSteps, &[(2, 1, 2)]),
        variant("link-first", "a record is linked before it is marked", Stuck, Mcs::LinkFirst, &[(2, 1, 2)]),
        variant(
            "no-hand-over",
            "a release does not wait for a link that is to come",
            Stuck,
            Mcs::NoHandOver,
            &[(2, 1, 2)],
        ),
    ];
    lock::entry(MCSLOCK, variants)
}
