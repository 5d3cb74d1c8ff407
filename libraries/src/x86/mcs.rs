//! The lock of Mellor-Crummey and Scott: threads that wait form a queue, and each looks at a word of its own.
//!
//! *Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors* (TOCS 1991, Fig. 5). A thread's record has
//! two words, `next` and `locked`; its location is what the word `tail` of the lock and the record before it hold.

use mowgli_core::edit::{Edits, calls};
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::program::{Prog, prog};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_x86::tso::{Method as Tso, cas, read, word, write, xchg};

use crate::entry::{Entry, Expected, variant};
use crate::lock::Method;
use crate::x86::lock;
use crate::x86::words::{NULL, field};

/// The library's name.
pub const MCSLOCK: Name = Name::literal("mcslock");

/// The implementation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mcs;

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
            Method::Acq { .. } => prog! {
                write(next(own), NULL);
                let last = xchg(tail, own);
                if (last != NULL) {
                    write(locked(own), 1);
                    write(next(last), own);
                    loop { let v = read(locked(own)); if (v == Val::Int(0)) { break } }
                }
            },
            Method::Rel { .. } => prog! {
                let n = read(next(own));
                if (n == NULL) {
                    let last = cas(tail, own, NULL);
                    if (last != own) {
                        let n = loop { let n = read(next(own)); if (n != NULL) { break n } };
                        write(locked(n), 0)
                    }
                } else {
                    write(locked(n), 0)
                }
            },
        }
    }
}

/// What the catalogue says of it.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Stuck, Unsound};
    // Two may think that they are the first.
    let two_steps =
        Mcs.replace(calls!(Tso::Xchg { x, v } => prog! { let last = read(x); write(x, v); Prog::Val(last) }));
    // The mark may overwrite the release.
    let link_first = Mcs.swap(
        calls!(|here| Tso::Write { x, .. } in Method::Acq { x: l } if locked(record(l, here.thread)) == x.into()),
    );
    // A thread that finds itself to be no longer the last goes on as if it were.
    let no_hand_over =
        Mcs.replace(calls!(Tso::CAS { x, v1, v2 } in Method::Rel { .. } => cas(x, v1, v2).map(move |_| v1)));
    let variants = vec![
        variant("published", "TOCS 1991, Fig. 5", Sound, Mcs, &[(3, 1, 2), (2, 1, 4)]),
        variant("two-steps", "the tail is read and then written", Unsound, two_steps, &[(2, 1, 2)]),
        variant("link-first", "a record is linked before it is marked", Stuck, link_first, &[(2, 1, 2)]),
        variant(
            "no-hand-over",
            "a release does not wait for a link that is to come",
            Stuck,
            no_hand_over,
            &[(2, 1, 2)],
        ),
    ];
    lock::entry(MCSLOCK, variants)
}
