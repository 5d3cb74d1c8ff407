//! The RMA reader-writer lock: writers queue up as in MCS, readers count themselves in a word that has the writers' flag.
//!
//! Promises that exclusive sections overlap no other one, and that what one has put to the lock's node is there when the next one begins.
//! Schmid, Besta, Hoefler, HPDC 2016, read in shiftlock's `src/baselines/rma_rw.rs`. Assumes that the count is read in one piece, and
//! that queue and count are only changed by the network card. Left out: thresholds, by which many readers or writers in a row let
//! the others in, and the levels of the machine. Chosen: one word has those that are inside, where there are two counters, of arrivals and of
//! departures; a reader counts itself by compare-and-swap where no flag is, and not by an addition that it takes back.

use mowgli_libraries::prelude::*;

use crate::guard::{Guard, Method};
use crate::shared::{at_home, fetch, found, is_part, next, number, of, of_threads, own, swapped};

const RMARW: Name = Name::literal("rmarw");

/// What the flag adds to the readers inside.
const FLAG: i64 = 8;
/// Values of `told`: the lock, with the flag set; the turn, without it; nothing yet.
const LOCK: i64 = 0;
const TURN: i64 = 1;
const NOTHING: i64 = 2;

fn body(_: &World, t: Tid, method: Method) -> Prog {
    let (Method::Acq { x } | Method::Rel { x } | Method::Share { x }) = method;
    let (inside, tail, d) = (x.part("inside"), x.part("tail"), Val::Wid(x.wid("d")));
    let [p, told, successor, mode] = ["p", "told", "next", "mode"].map(|role| own(x, role, t));
    let add = move |v: i64| wait::rfaa(p, inside, v, d).then(wait::wait(d));
    let claim = move || prog! { add(FLAG); loop { let v = fetch(p, inside, d); if (v == Val::Int(FLAG)) { break } } };
    match method {
        Method::Acq { .. } => prog! {
            wait::write(successor, 0);
            wait::write(told, NOTHING);
            wait::write(mode, 1);
            let before = swapped(p, tail, number(t), d);
            let turn = if before == Val::Int(0) { Prog::Val(TURN.into()) } else { prog! {
                wait::put(of(x, "next", before), own(x, "me", t), d);
                loop { let v = wait::read(told); if (v != Val::Int(NOTHING)) { break v } }
            } };
            if (turn == Val::Int(TURN)) { claim() }
        },
        Method::Share { .. } => prog! {
            wait::write(mode, 0);
            loop {
                let v = fetch(p, inside, d);
                if (v < Val::Int(FLAG)) {
                    let seen = found(p, inside, v, next(v), d);
                    if (seen == v) { break }
                }
            }
        },
        Method::Rel { .. } => prog! {
            let exclusive = wait::read(mode);
            let follows = wait::read(successor);
            if (exclusive == Val::Int(0)) { add(-1) } else { prog! {
                if (follows != Val::Int(0)) { wait::put(of(x, "told", follows), own(x, "lock", t), Val::NoWid) } else {
                    add(-FLAG);
                    let last = found(p, tail, number(t), 0, d);
                    if (last != Val::Int(number(t))) {
                        let follows = loop { let v = wait::read(successor); if (v != Val::Int(0)) { break v } };
                        wait::put(of(x, "told", follows), own(x, "turn", t), Val::NoWid)
                    }
                }
            } }
        },
    }
}

/// As published, which is to be caught, with a flush, and what is to be caught beside that.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 2)];
    let words = [("p", 0), ("told", NOTHING), ("next", 0), ("mode", 0), ("lock", LOCK), ("turn", TURN)];
    let lock = Over::of(RMARW, Method::of, body).parts(at_home("tail")).parts(at_home("inside"));
    let lock = words.into_iter().fold(lock, |over, (role, init)| over.parts(of_threads(role, init)));
    let lock = lock.parts(|world, x| {
        world.tids().map(|t| (own(x, "me", t), wait::word(world.node_of(t)).init(number(t).into()))).collect()
    });
    let flushed = lock.clone().around("a release gets a word of the lock's node first", |here, body| {
        let (Method::Rel { x }, t) = (Method::of(&here.call), here.thread) else { return None };
        Some(fetch(own(x, "p", t), x.part("tail"), x.wid("d").into()).then(body(here.call.clone())))
    });
    let waits = || calls!(Rdma::Get { y, .. } in Method::Acq { .. } if is_part(y, "inside"));
    let readers_stay = flushed.clone().without_loops(waits());
    let no_flag = readers_stay.clone().without(calls!(Rdma::RFAA { .. } in Method::Acq { .. }));
    Guard::shared(RMARW)
        .entry()
        .with(variant("published", "who knows a successor hands over to it at once", Unsound, lock, bounds))
        .with(variant("flushed", "it gets a word of the lock's node before that", Sound, flushed, bounds))
        .with(variant("no-flag", "readers are not told of a writer", Unsound, no_flag, bounds))
        .with(variant("readers-stay", "a writer does not wait until readers have left", Unsound, readers_stay, bounds))
}
