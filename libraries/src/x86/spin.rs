//! A spin lock: one word, taken by a compare-and-swap.

use std::sync::LazyLock;

use mowgli_core::expr::{Expr, all_threads, me};
use mowgli_core::ids::Name;
use mowgli_core::rewrite::edit::{Edits, calls};
use mowgli_core::term::body::{Bodies, bodies};
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::lemma::{Lemma, LemmaVar, Of, hb};
use mowgli_core::term::parts::{Parts, parts};
use mowgli_x86::tso::{Method as Tso, X86, word_term};

use crate::entry::{Entry, Expected, variant};
use crate::lock::{Method, comes_after_the_rel, sections};
use crate::x86::lock;
use crate::x86::words::in_two_steps;

/// The library's name.
pub const SPINLOCK: Name = Name::literal("spinlock");

/// The implementation: `loop { if CAS(x, 0, 1) = 0 break }`, and `Write(x, 0)`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin;

fn taken(x: impl Into<Expr>) -> Expr {
    x.into().part("taken", [])
}

impl Implementation for Spin {
    fn target(&self) -> Name {
        SPINLOCK
    }

    fn parts(&self) -> Option<&Parts> {
        static PARTS: LazyLock<Parts> = LazyLock::new(|| {
            parts! { x =>
                taken(x) => word_term();
            }
        });
        Some(&PARTS)
    }

    fn bodies(&self) -> Option<&Bodies> {
        static BODIES: LazyLock<Bodies> = LazyLock::new(|| {
            bodies! { Method:
                Acq { x } => { loop { let v = Tso::cas(taken(x), 0, 1); if (v == 0) { break } } }
                Rel { x } => { Tso::write(taken(x), 0) }
            }
        });
        Some(&BODIES)
    }

    /// The invariant: an Acq that happens after another Acq happens after the Rel of that Acq.
    fn lemmas(&self) -> Vec<Lemma> {
        let is_later = |c, e| hb(swap(e), swap(c));
        let mut all = sections();
        let words = "who takes the lock later comes after the Rel";
        all.push(comes_after_the_rel(words, is_later, |d| d.write(X86, "Write", 1), swap));
        all
    }
}

/// The read of the swap with which an Acq takes the lock.
fn swap(c: LemmaVar) -> Of {
    c.read(X86, "CAS", 1)
}

/// Another lock: each thread says by a word of its own that it wants it, and waits for those of the others. Threads exclude
/// each other, and wait for each other for ever.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flags;

fn flag(x: impl Into<Expr>, t: impl Into<Expr>) -> Expr {
    x.into().part("flag", [t.into()])
}

impl Implementation for Flags {
    fn target(&self) -> Name {
        SPINLOCK
    }

    fn parts(&self) -> Option<&Parts> {
        static PARTS: LazyLock<Parts> = LazyLock::new(|| {
            parts! { x =>
                for t in (all_threads()) { flag(x, t) => word_term(); }
            }
        });
        Some(&PARTS)
    }

    fn bodies(&self) -> Option<&Bodies> {
        static BODIES: LazyLock<Bodies> = LazyLock::new(|| {
            bodies! { Method:
                Acq { x } => {
                    Tso::write(flag(x, me()), 1);
                    Tso::mfence();
                    for t in (all_threads().without(me())) {
                        loop { let v = Tso::read(flag(x, t)); if (v == 0) { break } }
                    }
                }
                Rel { x } => { Tso::write(flag(x, me()), 0) }
            }
        });
        Some(&BODIES)
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Blocks, Sound, Stuck, Unsound};
    let read_then_write = Spin.replace(calls!(Tso::CAS { x, v1, v2 } => in_two_steps(x, v1, v2)));
    // A flag is still in the store buffer when the thread reads the others.
    let flags = Flags.without(calls!(Tso::Mfence {}));
    let never_free = Spin.replace(calls!(Tso::Write { x, .. } in Method::Rel { .. } => Tso::write(x, 1)));
    let variants = vec![
        variant("published", "a word and a CAS", Sound, Spin, &[(3, 1, 2), (2, 1, 4)]),
        variant("read-then-write", "the word is read and then written", Unsound, read_then_write, &[(2, 1, 2)]),
        variant("flags", "flags of the threads are written and read without a fence", Unsound, flags, &[(2, 1, 2)]),
        variant("fenced-flags", "threads wait for each other's flags", Stuck, Flags, &[(2, 1, 2)]),
        variant("never-free", "a release leaves the lock taken", Blocks, never_free, &[(2, 1, 2)]),
    ];
    lock::entry(SPINLOCK, variants)
}
