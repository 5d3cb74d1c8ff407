//! A ticket lock: a fetch-and-add gives each thread its turn.

use std::sync::LazyLock;

use mowgli_core::expr::Expr;
use mowgli_core::ids::Name;
use mowgli_core::rewrite::edit::{Edits, calls};
use mowgli_core::term::body::{Bodies, bodies, body};
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::lemma::{Lemma, LemmaVar, Num, Of, value};
use mowgli_core::term::parts::{Parts, parts};
use mowgli_x86::tso::{Method as Tso, X86, word_term};

use crate::entry::{Entry, Expected, variant};
use crate::lock::{Method, comes_after_the_rel, tickets_taken_by};
use crate::x86::lock;

/// The library's name.
pub const TICKETLOCK: Name = Name::literal("ticketlock");

/// The implementation: `v = FAA(next, 1); loop { if Read(serving) = v break }`, and `v = Read(serving); Write(serving, v + 1)`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ticket;

/// The next ticket.
fn next(x: impl Into<Expr>) -> Expr {
    x.into().part("next", [])
}

/// The ticket whose turn it is.
fn serving(x: impl Into<Expr>) -> Expr {
    x.into().part("serving", [])
}

impl Implementation for Ticket {
    fn target(&self) -> Name {
        TICKETLOCK
    }

    fn parts(&self) -> Option<&Parts> {
        static PARTS: LazyLock<Parts> = LazyLock::new(|| {
            parts! { x =>
                next(x) => word_term();
                serving(x) => word_term();
            }
        });
        Some(&PARTS)
    }

    fn bodies(&self) -> Option<&Bodies> {
        static BODIES: LazyLock<Bodies> = LazyLock::new(|| {
            bodies! { Method:
                Acq { x } => {
                    let v = Tso::faa(next(x), 1);
                    loop { let turn = Tso::read(serving(x)); if (turn == v) { break } }
                }
                Rel { x } => { let v = Tso::read(serving(x)); Tso::write(serving(x), v + 1) }
            }
        });
        Some(&BODIES)
    }

    /// The invariant: an Acq with a later ticket happens after the Rel of each earlier one.
    fn lemmas(&self) -> Vec<Lemma> {
        let is_later = |c, e| ticket_of(c).exceeds(ticket_of(e));
        let mut all = tickets_taken_by(taken, ticket_of);
        let words = "who has a later ticket comes after the Rel";
        all.push(comes_after_the_rel(words, is_later, |d| d.write(X86, "Write", 1), |c| c.read(X86, "Read", 1)));
        all
    }
}

fn taken(c: LemmaVar) -> Of {
    c.read(X86, "FAA", 1)
}

fn ticket_of(c: LemmaVar) -> Num {
    value(taken(c))
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Blocks, Sound, Unsound};
    let two_steps = Ticket.replace(calls!(
        Tso::FAA { x, .. } => body! { let v = Tso::read(x); Tso::write(x, v + 1); v }
    ));
    let no_wait = Ticket.without_loops(calls!(Tso::Read { .. }));
    let skips_one = Ticket.replace(calls!(Tso::Write { x, v } in Method::Rel { .. } => Tso::write(x, v + 1)));
    let variants = vec![
        variant("published", "tickets by fetch-and-add", Sound, Ticket, &[(3, 1, 2), (2, 1, 4)]),
        variant("two-steps", "a ticket is read and then written", Unsound, two_steps, &[(2, 1, 2)]),
        variant("no-wait", "nobody waits for their turn", Unsound, no_wait, &[(2, 1, 2)]),
        variant("skips-one", "a release passes over one turn", Blocks, skips_one, &[(2, 1, 2)]),
    ];
    lock::entry(TICKETLOCK, variants)
}
