//! Mu's log: length, payload and canary in one WRITE. The follower reads the first and the last to see that an entry is
//! whole.
//!
//! Promises that the follower gets the entries in order, each once, and sees everything that the leader put there
//! before. Published as Mu (Aguilera et al., OSDI 2020; LPD-EPFL/mu). Assumes that the words of one WRITE are placed in
//! order of their addresses. InfiniBand does not promise that, but some cards do, so this is over RDMA-WAIT-RMW with
//! increasing addresses. Left out: permissions, and the change of leaders.

use mowgli_libraries::prelude::*;
use mowgli_rdma::Way;

use crate::shared::{
    SharedLibrary, in_order_of_addresses, is_part, messages, of_threads, own, place, places, readers, received, sent,
    targets, writer,
};

methods! {
    enum Method of MU = "mu" {
        /// Appends v.
        fn propose = Propose(x: Object, v: Value);
        /// Returns the next entry, or bottom.
        fn follow = Follow(x: Object) -> Value;
    }
}

fn call_shapes() -> &'static Shapes {
    shapes! { Method:
        Propose { x, v } by writer(x) => { (sent(x, v)) }
        Follow { x } by readers(x) => { (received(x)) }
    }
}

/// Returns the words of an entry, in order of addresses.
fn entry_at(x: Expr, n: Expr, k: Expr) -> Expr {
    Expr::tuple(["length", "payload", "canary"].map(|role| place(x, role, n, k)))
}

/// Returns the words from which an entry is put.
fn source(x: Expr, k: Expr) -> Expr {
    Expr::tuple([own(x, "one"), place(x, "source", here(), k), own(x, "one")])
}

fn bodies() -> Bodies {
    bodies! { Method:
        Propose { x, v } => {
            let k = Rdma::read(own(x, "count"));
            Rdma::write(own(x, "count"), k + 1);
            Rdma::write(place(x, "source", here(), k), v);
            for n in (targets(x)) { Rdma::put_words(Way::USUAL, entry_at(x, n, k), source(x, k), Val::NoWid) }
        }
        Follow { x } => {
            let k = Rdma::read(own(x, "count"));
            let length = Rdma::read(place(x, "length", here(), k));
            let canary = Rdma::read(place(x, "canary", here(), k));
            if (length.is(0) | canary.is(0)) { Val::Bot } else {
                Rdma::write(own(x, "count"), k + 1);
                Rdma::read(place(x, "payload", here(), k))
            }
        }
    }
}

/// Returns the words of a row.
fn row(words: Expr) -> &'static [Expr] {
    if let ExprTerm::Tuple(all) = words.term() { all } else { &[] }
}

/// Returns the published variant, and broken ones that checks have to refute.
#[must_use]
pub fn entry() -> Entry {
    let roles = &["length", "payload", "canary", "source"];
    let mu = Over::<Method>::terms(bodies())
        .with_parts(places(roles))
        .with_parts(of_threads("count", 0))
        .with_parts(of_threads("one", 1));
    // Puts over several queue pairs are as unordered as words whose addresses do not matter.
    let any_order = mu.clone().replace(calls!(Rdma::PutWords { xs, ys, d, .. } => {
        let queues = (1..).map(|queue| Val::from(Way { queue, ..Way::USUAL }));
        let puts = queues.zip(row(xs).iter().zip(row(ys)));
        puts.map(|(way, (x, y))| Rdma::put_by(way, *x, *y, d)).reduce(Body::then).unwrap_or_else(Body::unit)
    }));
    // The payload has the highest address, so the canary says nothing about it.
    let canary_first = mu.clone().replace(calls!(Rdma::PutWords { w, xs, ys, d } => {
        let payload_last = |all: Expr| Expr::tuple([0, 2, 1].map(|k| row(all)[k]));
        Rdma::put_words(w, payload_last(xs), payload_last(ys), d)
    }));
    let no_canary = mu.clone().replace(calls!(Rdma::Read { x } if is_part(x, "canary") => 1));
    in_order_of_addresses(SharedLibrary::<Method>::to_readers(call_shapes(), messages).empty())
        .published(mu, &[(2, 2, 2), (3, 3, 1)])
        .broken("any-order", any_order)
        .broken("canary-first", canary_first)
        .broken("no-canary", no_canary)
}
