//! WLOCK, the weak lock: critical sections exclude each other, and writes by the CPU in one are visible in the next.
//!
//! SYNC §4.1, Theorem 1: a ticket lock over remote fetch-and-add and shared variables. It deliberately does not promise
//! that remote operations of a critical section are over when the next one begins.

use mowgli_core::term::lemma::{Lemma, call, hb};
use mowgli_core::world::{DeclarationForm, DeclarationPart};
use mowgli_rdma::wait::{Method as Wait, WAIT};

use crate::entry::bound;
use crate::lock::{Lock, Method, Sections, dispenser, ticket, ticket_of, tickets};
use crate::prelude::*;
use crate::sv::{Method as Sv, SV};

/// The library's name.
pub const WLOCK: Name = Name::literal("wlock");

/// WLOCK as a library: Rel {aCW}.
pub const LIBRARY: Lock = Lock {
    name: WLOCK,
    form: DeclarationForm { kind: "weak lock", parts: &[DeclarationPart::Home] },
    fence: || aMF.into(),
    shapes: || shapes! { Method: Acq { .. } => { aMF } Rel { .. } => { aCW } },
    lets_in: || set!(aCW),
    first: |_| {},
};

/// The implementation over RDMA-WAIT-RMW and SV. In the paper's names, the dispenser is x_a, and the ticket of t is p_x^t.
#[derive(Clone, Copy, Debug, Default)]
pub struct WlockOverSv;

/// x_t, the last ticket that a thread passed on.
fn passed(x: impl Into<Expr>, t: impl Into<Expr>) -> Expr {
    x.into().part("passed", [t.into()])
}

impl Implementation for WlockOverSv {
    fn target(&self) -> Name {
        WLOCK
    }

    fn parts(&self) -> Option<&Parts> {
        Some(parts! { static x =>
            dispenser(x) => ObjectTerm::new(WAIT).at(node(x));
            for t in (all_threads()) {
                ticket(x, t) => ObjectTerm::new(WAIT).at(node(t));
                passed(x, t) => ObjectTerm::new(SV);
            }
        })
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(bodies! { static Method:
            Acq { x } => {
                Wait::rfaa(ticket(x, me()), dispenser(x), 1, x.wid("d"));
                Wait::wait(x.wid("d"));
                let v = Wait::read(ticket(x, me()));
                loop {
                    for t in (all_threads()) {
                        let passed_on = Sv::read(passed(x, t));
                        if (passed_on == v) { break }
                    }
                }
            }
            Rel { x } => {
                let v = Wait::read(ticket(x, me()));
                Sv::write(passed(x, me()), v + 1);
                Sv::bcast(passed(x, me()), Val::NoWid, all_nodes().without(here()));
            }
        })
    }

    /// The invariant behind SYNC Theorem 1: a Rel has the ticket of its Acq, and no two Acq have the same ticket. An
    /// Acq with a later ticket happens after the Rel of every earlier one.
    fn lemmas(&self) -> Vec<Lemma> {
        let [c, d] = ["c", "d"].map(call);
        let seen = c.read(SV, "Read", 1);
        let mut all = tickets();
        all.extend([
            Lemma::new("a Rel has the ticket of its Acq")
                .about(&[c, d])
                .given(c.is_a("Acq"))
                .given(d.is_a("Rel"))
                .given(c.with(d))
                .then(ticket_of(d).is(ticket_of(c))),
            Lemma::new("who has a later ticket comes after the Rel")
                .about(&[c, d])
                .given(d.is_a("Rel"))
                .given(d.shares_object(c))
                .given(ticket_of(c).exceeds(ticket_of(d)))
                .then(hb(d.write(SV, "Write", 1), seen))
                .along_hb(seen),
        ]);
        all
    }
}

/// Takes a ticket by the CPU.
fn by_cpu(p: Expr, x_a: Expr) -> Body {
    body! {
        let v = loop {
            let v = Wait::read(x_a);
            let w = Wait::cas(x_a, v, v + 1);
            if (w == v) { break v }
        };
        Wait::write(p, v)
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Blocks, Sound, Stuck, Unsound};
    let bounds = &[(3, 3, 2)];
    // Locks held across other locks, and several sections of a thread.
    let nested = Bound { objects: 2, ..bound(2, 1, 4) };
    let at_home = |x: Expr| node(dispenser(x)).is(here());
    // It reads an old ticket.
    let no_wait = WlockOverSv.without(calls!(Wait::Wait { .. }));
    let no_broadcast = WlockOverSv.without(calls!(Sv::Bcast { .. }));
    let broadcast_first = WlockOverSv.swap(calls!(Sv::Write { .. }));
    // The ticket itself, if it is odd, in place of the next one.
    let every_second = WlockOverSv.replace(calls!(Sv::Write { x, v } => Sv::write(x, v - 1 + v % 2)));
    // Threads on the dispenser's node take tickets by the CPU, which the network card does not exclude.
    let cpu_rmw = WlockOverSv
        .replace(calls!(|call| Wait::RFAA { x: p, y: x_a, .. } in Method::Acq { x } => body! {
            if (at_home(x)) { by_cpu(p, x_a) } else { call }
        }))
        .replace(calls!(|call| Wait::Wait { .. } in Method::Acq { x } => body! { if (!at_home(x)) { call } }));
    let variants = vec![
        variant("published", "SYNC §4.1", Sound, WlockOverSv, bounds).and(nested),
        variant("no-wait", "Acq reads its ticket before it has come", Unsound, no_wait, bounds),
        variant("no-broadcast", "a release stays on its own node", Blocks, no_broadcast, &[(2, 2, 2)]),
        variant("broadcast-first", "a release is broadcast before it is written", Stuck, broadcast_first, &[(2, 2, 2)]),
        variant("every-second", "every second release does not pass the lock on", Blocks, every_second, &[(3, 1, 2)]),
        variant("cpu-rmw", "a CPU CAS takes tickets beside the remote RFAA", Unsound, cpu_rmw, bounds),
    ];
    Entry {
        probes: vec![Box::new(Sections { library: WLOCK })],
        ..Entry::new(Memory::rdma_wait(), LIBRARY, Libraries::over(to).with(Wait).with(Sv), variants)
    }
}
