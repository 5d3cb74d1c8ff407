//! Derecho's multicast over its shared state table: a message goes into a slot of the sender's row, then the row's
//! index counts it.
//!
//! Promises that each receiver gets the messages in order, each once, and sees everything that the sender put to it
//! before. Published in `sst::multicast_group` of Derecho: `commit_send` adds to the index, `send` puts the slots and
//! then the index, and does not wait. Assumes that WRITEs of one queue pair arrive in order. As the check finds, it
//! also assumes that the network card has read an index before the next message is counted. Left out: the window, which
//! reuses slots that all have received.

use mowgli_libraries::prelude::*;

use crate::shared::{
    SharedLibrary, is_part, messages, of_threads, on, on_members, own, place, places, readers, received, sent, targets,
    writer,
};

methods! {
    enum Method of DERECHO = "derecho" {
        /// Sends v.
        fn send = Send(x: Object, v: Value);
        /// Returns the next message, or bottom.
        fn receive = Receive(x: Object) -> Value;
    }
}

fn call_shapes() -> &'static Shapes {
    shapes! { Method:
        Send { x, v } by writer(x) => { (sent(x, v)) }
        Receive { x } by readers(x) => { (received(x)) }
    }
}

fn bodies() -> Bodies {
    let counted = |x: Expr| on(x, "counted", here());
    let row = |x: Expr, k: Expr| place(x, "row", here(), k);
    bodies! { Method:
        Send { x, v } => {
            let k = Rdma::read(counted(x));
            Rdma::write(row(x, k), v);
            Rdma::write(counted(x), k + 1);
            for n in (targets(x)) {
                Rdma::put(place(x, "slot", n, k), row(x, k), Val::NoWid);
                Rdma::put(on(x, "index", n), counted(x), x.wid("d"))
            }
        }
        Receive { x } => {
            let k = Rdma::read(own(x, "received"));
            let index = Rdma::read(on(x, "index", here()));
            if (index <= k) { Val::Bot } else {
                Rdma::write(own(x, "received"), k + 1);
                Rdma::read(place(x, "slot", here(), k))
            }
        }
    }
}

/// Returns the published variant, which is unsound; one with a wait, which is sound; and a broken one.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 2), (3, 3, 1)];
    let sst = Over::<Method>::terms(bodies())
        .with_parts(places(&["slot", "row"]))
        .with_parts(on_members("index"))
        .with_parts(on_members("counted"))
        .with_parts(of_threads("received", 0));
    let send = bodies! { Method: Send { x, v } => { sst.inlined(&Method::send(x, v)); Rdma::wait(x.wid("d")) } };
    let waits = sst.clone().with("a send waits until the index has been sent", &send);
    let index_first = waits.clone().swap(calls!(Rdma::Put { x, .. } if is_part(x, "slot")));
    Entry::rdma(SharedLibrary::<Method>::to_readers(call_shapes(), messages).empty(), Wait)
        .with(
            variant("published", "the index is counted up while it may still be sent", Unsound, sst, bounds)
                .writing(&[1, 2]),
        )
        .with(variant("waits", "a send waits until the index has been sent", Sound, waits, bounds).writing(&[1, 2]))
        .with(variant("index-first", "the index is put before the slot", Unsound, index_first, bounds).writing(&[1, 2]))
}
