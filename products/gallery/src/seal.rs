//! A log of one writer that is sealed once the writer has died: entries, then a tail that moves by compare-and-swap.
//!
//! Promises that Seal finds the last entry whole, and that no thread finds another one afterwards. This holds whatever
//! operations of the dead writer are still under way. CORFU (Balakrishnan et al., NSDI 2012) seals its storage in this
//! way before recovery. DARE and Mu close the dead leader's connection instead. Assumes that entry and tail go over one
//! queue pair, and that all change the tail by the card. A dead writer makes no more calls, but its earlier operations
//! may arrive later, or never.

use mowgli_libraries::prelude::*;
use mowgli_rdma::crash::Method as Crash;

use crate::shared::{
    SharedLibrary, by_second, fetch, found, is_part, of_threads, own, place, places, readers, targets, whole,
    with_crashes, word_term, writer,
};

methods! {
    enum Method of SEAL = "seal" {
        /// The writer appends v.
        fn append = Append(x: Object, v: Value);
        /// Seals the log once the writer has stopped: its last entry, or 0.
        fn seal = Seal(x: Object) -> Value;
        /// The last entry, or 0.
        fn last = Last(x: Object) -> Value;
    }
}

/// Returns the node of the log, the first of its readers'.
fn log_node(x: Expr) -> Expr {
    targets(x).min()
}

/// Append {aNRW_n}, Seal {aMF}, Last {aCR}.
fn call_shapes() -> &'static Shapes {
    shapes! { Method:
        Append { x, v } by writer(x) => { aNRW(log_node(x)): writes x at (log_node(x)), v }
        Seal { x } by readers(x) => { aMF: reads x at (log_node(x)), ret() }
        Last { x } by readers(x) => { aCR: reads x at (log_node(x)), ret() }
    }
}

/// A register in which Seal reads the last write: so = rf u rb u mo, and [aMF]; rb is empty.
fn spec() -> Spec {
    spec! {
        let rf, mo, rb = coherence;
        empty sealed = [aMF]; rb; [writes];
        so = rf | rb | mo;
    }
}

/// Returns the tail after it is sealed. A tail is sealed once.
fn sealed(tail: Expr) -> Expr {
    Expr::tuple([tail.first(), true.into()])
}

/// Returns an entry's word with this role, on the node of the log.
fn word(x: Expr, role: &'static str, k: Expr) -> Expr {
    place(x, role, targets(x).min(), k)
}

/// Reads both words of the last entry of a log with this tail, sealed or not. The value is 0 if the log has no entry.
fn entry_of(x: Expr, tail: Expr) -> Body {
    let (count, p, d) = (tail.first(), own(x, "p"), x.wid("d"));
    body! {
        if (count == 0) { count } else {
            let a = fetch(p, word(x, "first", count - 1), d);
            let b = fetch(p, word(x, "second", count - 1), d);
            whole(a, b)
        }
    }
}

fn bodies() -> Bodies {
    let tail = |x: Expr| x.part("tail", []);
    let source = |x: Expr, k: Expr| place(x, "source", here(), k);
    bodies! { Method:
        Append { x, v } => {
            let k = Rdma::read(own(x, "count"));
            Rdma::write(source(x, k), v);
            Rdma::write(own(x, "count"), k + 1);
            Rdma::put(word(x, "first", k), source(x, k), Val::NoWid);
            Rdma::put(word(x, "second", k), source(x, k), Val::NoWid);
            Rdma::rcas(own(x, "q"), tail(x), k, k + 1, Val::NoWid)
        }
        Seal { x } => {
            Crash::dead(members(x).first());
            let old = loop {
                let old = fetch(own(x, "p"), tail(x), x.wid("d"));
                let seen = found(own(x, "p"), tail(x), old, sealed(old), x.wid("d"));
                if (seen == old) { break old }
            };
            entry_of(x, old)
        }
        Last { x } => { let now = fetch(own(x, "p"), tail(x), x.wid("d")); entry_of(x, now) }
    }
}

/// Returns the published variant, and broken ones that checks have to refute.
#[must_use]
pub fn entry() -> Entry {
    let seal = ["count", "p", "q"]
        .into_iter()
        .fold(Over::<Method>::terms(bodies()), |over, role| over.with_parts(of_threads(role, 0)));
    let seal = seal.with_parts(places(&["first", "second", "source"]));
    let seal = seal.with_parts(parts! { x => x.part("tail", []) => word_term().at(log_node(x)); });
    // Here the dead writer's tail overwrites the seal.
    let by_put = seal
        .clone()
        .replace(calls!(Rdma::RCAS { y, .. } in Method::Append { x, .. } => Rdma::put(y, own(x, "count"), Val::NoWid)));
    let tail_first = seal.clone().swap(calls!(Rdma::Put { x, .. } if is_part(x, "second")));
    let unsealed =
        seal.clone().replace(calls!(Rdma::RCAS { x: p, y, d, .. } in Method::Seal { .. } => Rdma::get(p, y, d)));
    let second = seal.clone().replace(by_second("second"));
    with_crashes(SharedLibrary::<Method>::to_readers(call_shapes(), spec).whose_writer_crashes())
        .published(seal, &[(2, 2, 2)])
        .broken("by-put", by_put)
        .broken("tail-first", tail_first)
        .broken("unsealed", unsealed)
        .broken("second-queue-pair", second)
        .crashing(3)
}
