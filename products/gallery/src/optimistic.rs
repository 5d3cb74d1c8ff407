//! Optimistic reads of two words under a version: writers lock the version, readers read it before and after.
//!
//! Promises a register of two words that is read whole, and whose reads and writes are ordered like those of one word.
//! Published in Ziegler et al., SIGMOD 2023 (`frontend/OptimisticLocks.hpp` of RDMA_synchronization). Assumes that each
//! READ is polled, or fenced, before the next one is posted. Also assumes that one queue pair carries the writes of
//! data and version. Left open there: how writers keep what they send. Here a write waits at its end.

use mowgli_libraries::prelude::*;

use crate::shared::{
    SharedLibrary, at_home, elsewhere, fetch, found, got_from, is_part, of_threads, own, put_there, register, whole,
};

methods! {
    enum Method of OPTIMISTIC = "optimistic" {
        /// Writes v into both words.
        fn write = Write(x: Object, v: Value);
        /// Returns the value of both words, or the pair of them if they differ.
        fn read = Read(x: Object) -> Value;
    }
}

/// Write {aNRW_n}, Read {aCR}.
fn call_shapes() -> &'static Shapes {
    shapes! { Method:
        Write { x, v } => { (put_there(x, v)) }
        Read { x } => { (got_from(x)) }
    }
}

fn is_free(version: Expr) -> Expr {
    (version % 2).is(0)
}

fn write_words(x: Expr, v: Expr) -> Body {
    let ([version, a, b], d) = (["version", "a", "b"].map(|role| x.part(role, [])), x.wid("d"));
    let [p, q] = ["p", "q"].map(|role| own(x, role));
    body! {
        let k = loop {
            let k = fetch(p, version, d);
            if (is_free(k)) {
                let seen = found(p, version, k, k + 1, d);
                if (seen == k) { break k }
            }
        };
        Rdma::write(p, v);
        Rdma::write(q, k + 2);
        Rdma::put(a, p, d);
        Rdma::put(b, p, d);
        Rdma::put(version, q, d);
        Rdma::wait(d)
    }
}

fn read_words(x: Expr) -> Body {
    let ([version, a, b], [d, e]) =
        (["version", "a", "b"].map(|role| x.part(role, [])), ["d", "e"].map(|role| x.wid(role)));
    let [p, q, r, s] = ["p", "q", "r", "s"].map(|role| own(x, role));
    body! {
        loop {
            Rdma::get(p, version, d);
            Rdma::wait(d);
            Rdma::get(q, a, d);
            Rdma::wait(d);
            Rdma::get(r, b, d);
            Rdma::wait(d);
            Rdma::get(s, version, e);
            Rdma::wait(e);
            let before = Rdma::read(p);
            let one = Rdma::read(q);
            let two = Rdma::read(r);
            let after = Rdma::read(s);
            if (before.is(after) & is_free(before)) { let v = whole(one, two); break v }
        }
    }
}

fn bodies() -> Bodies {
    bodies! { Method:
        Write { x, v } => { write_words(x, v) }
        Read { x } => { read_words(x) }
    }
}

/// Returns the published variants, with polls and with fences, and broken ones that checks have to refute.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 1), (1, 2, 2)];
    let small = &[(2, 2, 1)];
    let words = ["version", "a", "b"].map(at_home).into_iter();
    let over = ["p", "q", "r", "s"]
        .into_iter()
        .fold(Over::<Method>::terms(bodies()), |over, role| over.with_parts(of_threads(role, 0)));
    let published = words.fold(over, Over::with_parts);
    let polls = || calls!(Rdma::Wait { d } in Method::Read { x } if d == x.wid("d"));
    let fenced = published.clone().replace(
        calls!(Rdma::Wait { d } in Method::Read { x } if d == x.wid("d") => Rdma::rfence(node(x.part("version", [])))),
    );
    let one_batch = published.clone().without(polls());
    let version_first = published.clone().delay_after(
        calls!(Rdma::Put { x, .. } if is_part(x, "b")),
        calls!(Rdma::Put { x, .. } if is_part(x, "version")),
    );
    let two_queue_pairs = published.clone().declaring("the version lies on another node", elsewhere("version"));
    Entry::rdma(SharedLibrary::<Method>::on_a_node(call_shapes(), register), Wait)
        .with(variant("published", "a poll behind each READ", Sound, published, bounds).writing(&[1, 2]))
        .with(variant("fenced", "fences in place of the polls between READs", Sound, fenced, bounds).writing(&[1, 2]))
        .with(variant("one-batch", "all READs are posted together", Unsound, one_batch, small).writing(&[1, 2]))
        .with(
            variant("version-first", "the version is put before the second word", Unsound, version_first, small)
                .writing(&[1, 2]),
        )
        .with(
            variant("two-queue-pairs", "data and version go separate ways", Unsound, two_queue_pairs, small)
                .writing(&[1, 2]),
        )
}
