//! Replicated log append: the writer puts the entry to each replica, and then the tail.
//!
//! Promises that a reader finds the last entry that its node has heard of whole, and sees everything that the writer
//! put there before. Common practice. Assumes that entry and tail go over one queue pair, so that the tail comes last.
//! Left open by descriptions: when the source of the tail may be written again. Here an append waits for the puts of
//! its tail.

use mowgli_libraries::prelude::*;

use crate::shared::{
    SharedLibrary, by_second, is_part, on, on_members, place, places, readers, register, sent, targets, writer,
};

methods! {
    enum Method of LOG = "log" {
        /// Appends v.
        fn append = Append(x: Object, v: Value);
        /// The last entry on this node, or 0.
        fn last = Last(x: Object) -> Value, looks;
    }
}

/// Append {aNRW_n | n a replica}, Last {aCR}.
fn call_shapes() -> &'static Shapes {
    shapes! { Method:
        Append { x, v } by writer(x) => { (sent(x, v)) }
        Last { x } by readers(x) => { aCR: reads x at here, ret() }
    }
}

fn bodies() -> Bodies {
    let count = |x: Expr| on(x, "count", here());
    let source = |x: Expr, k: Expr| place(x, "source", here(), k);
    bodies! { Method:
        Append { x, v } => {
            let k = Rdma::read(count(x));
            Rdma::write(source(x, k), v);
            Rdma::write(count(x), k + 1);
            for n in (targets(x)) {
                Rdma::put(place(x, "entry", n, k), source(x, k), Val::NoWid);
                Rdma::put(on(x, "tail", n), count(x), x.wid("d"))
            }
            Rdma::wait(x.wid("d"))
        }
        Last { x } => {
            let k = Rdma::read(on(x, "tail", here()));
            if (k == 0) { k } else { Rdma::read(place(x, "entry", here(), k - 1)) }
        }
    }
}

/// Returns the published variant, and broken ones that checks have to refute.
#[must_use]
pub fn entry() -> Entry {
    let log = Over::<Method>::terms(bodies())
        .with_parts(places(&["entry", "source"]))
        .with_parts(on_members("tail"))
        .with_parts(on_members("count"));
    let no_wait = log.clone().without(calls!(Rdma::Wait { .. }));
    let tail_first = log.clone().swap(calls!(Rdma::Put { x, .. } if is_part(x, "entry")));
    let second = log.clone().replace(by_second("tail"));
    Entry::rdma(SharedLibrary::<Method>::to_readers(call_shapes(), register), Wait)
        .published(log, &[(2, 2, 2), (3, 3, 1)])
        .broken("no-wait", no_wait)
        .broken("tail-first", tail_first)
        .broken("second-queue-pair", second)
}
