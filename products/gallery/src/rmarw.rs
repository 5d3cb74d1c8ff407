//! The RMA reader-writer lock: writers queue up as in MCS, readers count themselves in a word that has the writers'
//! flag.
//!
//! Promises that exclusive sections do not overlap others, and that a section's puts to the lock's node are visible to
//! the next one. Published by Schmid, Besta and Hoefler (HPDC 2016), read in shiftlock's `src/baselines/rma_rw.rs`.
//! Assumes that the count is read in one piece, and that only the network card changes queue and count. Left out: the
//! levels of the machine, and thresholds, by which many readers or writers in a row let the others in.
//!
//! Chosen: one word counts the readers inside, where the original has two counters, of arrivals and of departures. A
//! reader counts itself by compare-and-swap if the flag is not set, and not by an addition that it takes back.

use mowgli_libraries::prelude::*;

use crate::guard::{GuardLock, Method};
use crate::shared::{
    at_home, fetch, flushed_release, found, is_part, of, of_threads, of_threads_with_numbers, own, swapped,
};

const RMARW: Name = Name::literal("rmarw");

/// The number that the flag adds to the readers inside.
const FLAG: i64 = 8;
/// Values of the word `reported`: the lock is handed over with the flag set, or the turn without it, or nothing has come
/// yet.
const LOCK: i64 = 0;
const TURN: i64 = 1;
const NOTHING: i64 = 2;

/// Adds to the word that has the flag and the count.
fn add(x: Expr, v: i64) -> Body {
    body! { Rdma::rfaa(own(x, "p"), x.part("inside", []), v, x.wid("d")); Rdma::wait(x.wid("d")) }
}

fn inside(x: Expr) -> Body {
    fetch(own(x, "p"), x.part("inside", []), x.wid("d"))
}

fn bodies() -> Bodies {
    let tail = |x: Expr| x.part("tail", []);
    bodies! { Method:
        Acq { x } => {
            Rdma::write(own(x, "next"), 0);
            Rdma::write(own(x, "notice"), NOTHING);
            Rdma::write(own(x, "mode"), 1);
            let before = swapped(own(x, "p"), tail(x), number(me()), x.wid("d"));
            let turn = if (before == 0) { TURN } else {
                Rdma::put(of(x, "next", thread(before)), own(x, "me"), x.wid("d"));
                loop { let v = Rdma::read(own(x, "notice")); if (v != NOTHING) { break v } }
            };
            if (turn == TURN) {
                add(x, FLAG);
                loop { let v = inside(x); if (v == FLAG) { break } }
            }
        }
        Rel { x } => {
            let exclusive = Rdma::read(own(x, "mode"));
            let follows = Rdma::read(own(x, "next"));
            if (exclusive == 0) { add(x, -1) } else {
                if (follows != 0) { Rdma::put(of(x, "notice", thread(follows)), own(x, "lock"), Val::NoWid) } else {
                    add(x, -FLAG);
                    let last = found(own(x, "p"), tail(x), number(me()), 0, x.wid("d"));
                    if (last != (number(me()))) {
                        let follows = loop { let v = Rdma::read(own(x, "next")); if (v != 0) { break v } };
                        Rdma::put(of(x, "notice", thread(follows)), own(x, "turn"), Val::NoWid)
                    }
                }
            }
        }
        Share { x } => {
            Rdma::write(own(x, "mode"), 0);
            loop {
                let v = inside(x);
                if (v < FLAG) {
                    let seen = found(own(x, "p"), x.part("inside", []), v, v + 1, x.wid("d"));
                    if (seen == v) { break }
                }
            }
        }
    }
}

/// Returns the published variant, which is unsound; one with a flush, which is sound; and broken ones.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 2)];
    let words = [("p", 0), ("notice", NOTHING), ("next", 0), ("mode", 0), ("lock", LOCK), ("turn", TURN)];
    let lock = Over::<Method>::terms_of(RMARW, bodies()).with_parts(at_home("tail")).with_parts(at_home("inside"));
    let lock = words.into_iter().fold(lock, |over, (role, init)| over.with_parts(of_threads(role, init)));
    let lock = lock.with_parts(of_threads_with_numbers("me"));
    let release = bodies! { Method: Rel { x } => { flushed_release(&lock, x, &Method::rel(RMARW, x)) } };
    let flushed = lock.clone().with("a release gets a word of the lock's node first", &release);
    let waits = || calls!(Rdma::Get { y, .. } in Method::Acq { .. } if is_part(y, "inside"));
    let readers_stay = flushed.clone().without_loops(waits());
    let no_flag = readers_stay.clone().without(calls!(Rdma::RFAA { .. } in Method::Acq { .. }));
    GuardLock::shared(RMARW)
        .entry()
        .with(variant("published", "who knows a successor hands over to it at once", Unsound, lock, bounds))
        .with(variant("flushed", "it gets a word of the lock's node before that", Sound, flushed, bounds))
        .with(variant("no-flag", "readers get no notice of a writer", Unsound, no_flag, bounds))
        .with(variant("readers-stay", "a writer does not wait until readers have left", Unsound, readers_stay, bounds))
}
