//! The MCS lock over RDMA: threads queue up behind a word, wait on their own node, and hand the lock over by a put.
//!
//! Promises that sections exclude each other, and that what one has put to the lock's node is there when the next one begins. The
//! release is that of jacnel/qplock's `a_lock_handle.cc`. Assumes that the queue is only changed by the network
//! card. Left open there: data and handover go to different nodes, and it is a compare-and-swap on the lock's node that puts
//! the one before the other, if it is made. A masked swap is here a loop of compare-and-swaps.

use mowgli_libraries::lock::Method;
use mowgli_libraries::prelude::*;

use crate::shared::{at_home, fetch, found, is_part, lock_entry, number, of, of_threads, own, swapped};

const MCS: Name = Name::literal("mcs");

fn body(_: &World, t: Tid, method: Method) -> Prog {
    let (Method::Acq { x } | Method::Rel { x }) = method;
    let (tail, p, me, d) = (x.part("tail"), own(x, "p", t), own(x, "me", t), Val::Wid(x.wid("d")));
    let [waiting, next, free] = ["waiting", "next", "free"].map(|role| own(x, role, t));
    match method {
        Method::Acq { .. } => prog! {
            wait::write(next, 0);
            wait::write(waiting, 1);
            let before = swapped(p, tail, number(t), d);
            if (before != Val::Int(0)) {
                wait::put(of(x, "next", before), me, d);
                loop { let v = wait::read(waiting); if (v == Val::Int(0)) { break } }
            }
        },
        Method::Rel { .. } => prog! {
            let last = found(p, tail, number(t), 0, d);
            if (last != Val::Int(number(t))) {
                let successor = loop { let v = wait::read(next); if (v != Val::Int(0)) { break v } };
                wait::put(of(x, "waiting", successor), free, Val::NoWid)
            }
        },
    }
}

/// With the flush that the compare-and-swap of a release is, and what is to be caught.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 2)];
    let roles = ["p", "waiting", "next", "free"].into_iter();
    let mcs = roles.fold(Over::of(MCS, Method::of, body), |over, role| over.parts(of_threads(role, 0)));
    let mcs = mcs.parts(at_home("tail")).parts(|world, x| {
        world.tids().map(|t| (own(x, "me", t), wait::word(world.node_of(t)).init(number(t).into()))).collect()
    });
    // Who knows a successor hands over at once.
    let hands_over = mcs.clone().around("a release looks for a successor first", |here, body| {
        let (Method::Rel { x }, t) = (Method::of(&here.call), here.thread) else { return None };
        let rest = body(here.call.clone());
        Some(prog! {
            let successor = wait::read(own(x, "next", t));
            if (successor != Val::Int(0)) { wait::put(of(x, "waiting", successor), own(x, "free", t), Val::NoWid) } else { rest.clone() }
        })
    });
    let flushed = hands_over.clone().around("a release gets a word of the lock's node first", |here, body| {
        let (Method::Rel { x }, t) = (Method::of(&here.call), here.thread) else { return None };
        Some(fetch(own(x, "p", t), x.part("tail"), x.wid("d").into()).then(body(here.call.clone())))
    });
    let no_queue = mcs.clone().without_loops(calls!(Rdma::Read { x } if is_part(x, "waiting")));
    lock_entry(MCS)
        .with(variant("published", "a release asks the tail first, as qplock does", Sound, mcs, bounds))
        .with(variant(
            "hands-over",
            "a release that knows a successor hands over at once, by a put",
            Unsound,
            hands_over,
            bounds,
        ))
        .with(variant("flushed", "it gets a word of the lock's node before that", Sound, flushed, bounds))
        .with(variant("no-queue", "nobody waits for the handover", Unsound, no_queue, bounds))
}
