//! The lock of Mellor-Crummey and Scott: threads that wait form a queue, and each polls a word of its own.
//!
//! *Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors* (TOCS 1991, Fig. 5). A thread's record has
//! two words, `next` and `locked`; its location is what the word `tail` of the lock and the record before it hold.

use std::sync::LazyLock;

use mowgli_core::expr::{Expr, all_threads, me};
use mowgli_core::ids::Name;
use mowgli_core::rewrite::edit::{Edits, calls};
use mowgli_core::term::body::{Bodies, bodies, body};
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::parts::{Parts, parts};
use mowgli_x86::tso::{Method as Tso, word_term};

use crate::entry::{Entry, Expected, variant};
use crate::lock::Method;
use crate::x86::lock;
use crate::x86::words::{NULL, field};

/// The library's name.
pub const MCSLOCK: Name = Name::literal("mcslock");

/// The implementation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mcs;

fn tail(x: impl Into<Expr>) -> Expr {
    x.into().part("tail", [])
}

/// A thread's record.
fn record(x: impl Into<Expr>, t: impl Into<Expr>) -> Expr {
    x.into().part("record", [t.into()])
}

/// The calling thread's record.
fn own(x: Expr) -> Expr {
    record(x, me())
}

fn next(record: Expr) -> Expr {
    field(record, "next")
}

fn locked(record: Expr) -> Expr {
    field(record, "locked")
}

impl Implementation for Mcs {
    fn target(&self) -> Name {
        MCSLOCK
    }

    fn parts(&self) -> Option<&Parts> {
        static PARTS: LazyLock<Parts> = LazyLock::new(|| {
            parts! { x =>
                tail(x) => word_term();
                for t in (all_threads()) {
                    next(record(x, t)) => word_term();
                    locked(record(x, t)) => word_term();
                }
            }
        });
        Some(&PARTS)
    }

    fn bodies(&self) -> Option<&Bodies> {
        static BODIES: LazyLock<Bodies> = LazyLock::new(|| {
            bodies! { Method:
                Acq { x } => {
                    Tso::write(next(own(x)), NULL);
                    let last = Tso::xchg(tail(x), own(x));
                    if (last != NULL) {
                        Tso::write(locked(own(x)), 1);
                        Tso::write(next(last), own(x));
                        loop { let v = Tso::read(locked(own(x))); if (v == 0) { break } }
                    }
                }
                Rel { x } => {
                    let n = Tso::read(next(own(x)));
                    if (n == NULL) {
                        let last = Tso::cas(tail(x), own(x), NULL);
                        if (last != (own(x))) {
                            let n = loop { let n = Tso::read(next(own(x))); if (n != NULL) { break n } };
                            Tso::write(locked(n), 0)
                        }
                    } else {
                        Tso::write(locked(n), 0)
                    }
                }
            }
        });
        Some(&BODIES)
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Stuck, Unsound};
    // Two may think that they are the first.
    let two_steps =
        Mcs.replace(calls!(Tso::Xchg { x, v } => body! { let last = Tso::read(x); Tso::write(x, v); last }));
    // The mark may overwrite the release.
    let link_first = Mcs.swap(calls!(Tso::Write { x, .. } in Method::Acq { x: l } if locked(own(l)) == x));
    // A thread that finds that it is no longer the last continues as if it were.
    let no_hand_over =
        Mcs.replace(calls!(Tso::CAS { x, v1, v2 } in Method::Rel { .. } => body! { Tso::cas(x, v1, v2); v1 }));
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
