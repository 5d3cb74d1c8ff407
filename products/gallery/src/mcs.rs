//! The MCS lock over RDMA: threads queue up behind a word, wait on their own node, and hand the lock over by a put.
//!
//! Promises that sections exclude each other, and that a section's puts to the lock's node are visible to the next one.
//! The release is that of jacnel/qplock's `a_lock_handle.cc`. Assumes that only the network card changes the queue.
//! Left open there: data and handover go to different nodes. Only a compare-and-swap on the lock's node orders them, if
//! the release makes it. A masked swap is here a loop of compare-and-swaps.

use mowgli_libraries::lock::Method;
use mowgli_libraries::prelude::*;

use crate::shared::{
    at_home, flushed_release, found, is_part, lock_entry, of, of_threads, of_threads_with_numbers, own, swapped,
};

const MCS: Name = Name::literal("mcs");

fn bodies() -> Bodies {
    bodies! { Method:
        Acq { x } => {
            Rdma::write(own(x, "next"), 0);
            Rdma::write(own(x, "waiting"), 1);
            let before = swapped(own(x, "p"), x.part("tail", []), number(me()), x.wid("d"));
            if (before != 0) {
                Rdma::put(of(x, "next", thread(before)), own(x, "me"), x.wid("d"));
                loop { let v = Rdma::read(own(x, "waiting")); if (v == 0) { break } }
            }
        }
        Rel { x } => {
            let last = found(own(x, "p"), x.part("tail", []), number(me()), 0, x.wid("d"));
            if (last != (number(me()))) {
                let successor = loop { let v = Rdma::read(own(x, "next")); if (v != 0) { break v } };
                Rdma::put(of(x, "waiting", thread(successor)), own(x, "free"), Val::NoWid)
            }
        }
    }
}

/// Returns the published variant, in which the compare-and-swap of a release is a flush. The others have another flush,
/// or are broken.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 2)];
    let roles = ["p", "waiting", "next", "free"].into_iter();
    let mcs = roles.fold(Over::<Method>::terms_of(MCS, bodies()), |over, role| over.with_parts(of_threads(role, 0)));
    let mcs = mcs.with_parts(at_home("tail")).with_parts(of_threads_with_numbers("me"));
    // A release that knows a successor hands over at once.
    let release = bodies! { Method:
        Rel { x } => {
            let successor = Rdma::read(own(x, "next"));
            if (successor != 0) {
                Rdma::put(of(x, "waiting", thread(successor)), own(x, "free"), Val::NoWid)
            } else {
                mcs.inlined(&Method::rel(MCS, x))
            }
        }
    };
    let hands_over = mcs.clone().with("a release looks for a successor first", &release);
    let release = bodies! { Method: Rel { x } => { flushed_release(&hands_over, x, &Method::rel(MCS, x)) } };
    let flushed = hands_over.clone().with("a release gets a word of the lock's node first", &release);
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
