//! Takeover from an owner that has died. The owner changes a word by compare-and-swap, so that its late changes fail.
//!
//! Promises that a change by the dead owner, wherever it still is, does not come after Take. Looks afterwards find the
//! value of that Take, or of a later one. FUSEE recovers slots whose client crashed in this way (dmemsys/FUSEE
//! `src/client.cc`); Mu (OSDI 2020) closes the old leader's connection instead. Assumes that a Take never writes a
//! value that the owner's compare-and-swap expects: here it has a mark. A dead owner makes no more calls. Left open by
//! descriptions: how others know that.

use mowgli_libraries::prelude::*;
use mowgli_rdma::crash::Method as Crash;

use crate::dying::Dying;
use crate::shared::{SharedLibrary, fetch, found, of_threads, own, readers, targets, word_term, writer};

methods! {
    enum Method of TAKEOVER = "takeover" {
        /// The owner changes the word to v, if nobody has taken it.
        fn set = Set(x: Object, v: Value);
        /// The owner stops.
        fn end = End(x: Object);
        /// Takes the word once the owner has stopped, and changes it to v.
        fn take = Take(x: Object, v: Value);
        /// Returns the value of the word.
        fn look = Look(x: Object) -> Value;
    }
}

/// Returns the node of the word, the first of those whose threads may take it.
fn word_node(x: Expr) -> Expr {
    targets(x).min()
}

/// Set {aNRW_n}, End {aWT}, Take {aMF}, Look {aCR}.
fn call_shapes() -> &'static Shapes {
    shapes! { Method:
        Set { x, v } by writer(x) => { aNRW(word_node(x)): writes x at (word_node(x)), v }
        End { x } by writer(x) => { aWT }
        Take { x, v } by readers(x) => { aMF: writes x at (word_node(x)), v }
        Look { x } by readers(x) => { aCR: reads x at (word_node(x)), ret() }
    }
}

/// A register in which the owner does not overwrite a Take: so = rf u rb u mo, and [aMF]; mo; [aNRW] is empty.
fn spec() -> Spec {
    spec! {
        let rf, mo, rb = coherence;
        empty over = [aMF]; mo; [aNRW];
        so = rf | rb | mo;
    }
}

fn bodies() -> Bodies {
    let word = |x: Expr| x.part("word", []);
    let seen = |x: Expr| fetch(own(x, "p"), word(x), x.wid("d"));
    bodies! { Method:
        Set { x, v } => {
            let k = Rdma::read(own(x, "last"));
            Rdma::write(own(x, "last"), v);
            Rdma::rcas(own(x, "q"), word(x), k, v, Val::NoWid)
        }
        End { .. } => { Crash::stop() }
        Take { x, v } => {
            Crash::dead(members(x).first());
            loop {
                let old = seen(x);
                let found = found(own(x, "p"), word(x), old, marked(v), x.wid("d"));
                if (found == old) { break }
            }
            seen(x);
        }
        // The mark is removed.
        Look { x } => { let v = seen(x); v.first() }
    }
}

/// Returns a value with the mark of a Take.
fn marked(v: Expr) -> Expr {
    Expr::tuple([v, true.into()])
}

/// Returns the published variant, and broken ones that checks have to refute.
#[must_use]
pub fn entry() -> Entry {
    let library = Dying {
        kind: SharedLibrary::<Method>::to_readers(call_shapes(), spec),
        ends: |method| matches!(method, Method::End { .. }),
        waits: |method| matches!(method, Method::Take { .. }),
        may_be_late: |method| matches!(method, Method::Set { .. }),
    };
    let words = ["p", "q", "last"].into_iter();
    let takeover = words
        .fold(Over::<Method>::terms(bodies()), |over, role| over.with_parts(of_threads(role, 0)))
        .with_parts(parts! { x => x.part("word", []) => word_term().at(word_node(x)); });
    // A completion only shows that the change was sent.
    let by_put = takeover.clone().replace(calls!(Rdma::RCAS { x: q, y, .. } in Method::Set { x, v } => body! {
        Rdma::write(q, v);
        Rdma::put(y, q, x.wid("e"));
        Rdma::wait(x.wid("e"))
    }));
    let unmarked = takeover.clone().replace(calls!(Rdma::RCAS { x: p, y, v1, d, .. } in Method::Take { v, .. } =>
        Rdma::rcas(p, y, v1, v, d)));
    let entry = library.entry().published(takeover, &[(2, 2, 2)]).broken("by-put", by_put).broken("unmarked", unmarked);
    Entry { variants: entry.variants.into_iter().map(|v| v.writing(&[0, 1])).collect(), ..entry }
}
