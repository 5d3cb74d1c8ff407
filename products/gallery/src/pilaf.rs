//! A record with a checksum. Its owner stores it, and others take it by one READ of all words if the checksum fits the
//! other words.
//!
//! Promises a register of two words that is read whole. Published as Pilaf (Mitchell et al., USENIX ATC 2013), whose
//! hash table has a checksum in each entry. Assumes that different records have different checksums. The words may be
//! stored, and read, in any order. Left open: the checksum. Here it is the pair of both words, in a word of its own.

use mowgli_libraries::prelude::*;
use mowgli_rdma::Way;

use crate::shared::{SharedLibrary, of_threads, own, readers, register, whole, word_term, writer};

methods! {
    enum Method of PILAF = "pilaf" {
        /// The owner stores v in both words.
        fn write = Write(x: Object, v: Value);
        /// Returns the value of both words, or the pair of them if they differ.
        fn read = Read(x: Object) -> Value;
    }
}

/// Returns the node of the record, which is that of its owner.
fn owner(x: Expr) -> Expr {
    node(members(x).first())
}

/// Write {aCW}, Read {aCR}.
fn call_shapes() -> &'static Shapes {
    shapes! { Method:
        Write { x, v } by writer(x) => { aCW: writes x at (owner(x)), v }
        Read { x } by readers(x) => { aCR: reads x at (owner(x)), ret() }
    }
}

/// Computes a checksum without collisions.
fn both(a: Expr, b: Expr) -> Expr {
    Expr::tuple([a, b])
}

/// Computes a checksum with collisions.
fn sum(a: Expr, b: Expr) -> Expr {
    a.int() + b.int()
}

fn read_record(x: Expr, checksum: fn(Expr, Expr) -> Expr) -> Body {
    let (record, [p, q, r]) =
        (["a", "b", "check"].map(|role| x.part(role, [])), ["p", "q", "r"].map(|role| own(x, role)));
    body! {
        loop {
            Rdma::get_words(Way::USUAL, Expr::tuple([p, q, r]), Expr::tuple(record), x.wid("d"));
            Rdma::wait(x.wid("d"));
            let one = Rdma::read(p);
            let two = Rdma::read(q);
            let found = Rdma::read(r);
            if (found == (checksum(one, two))) { let v = whole(one, two); break v }
        }
    }
}

fn bodies(checksum: fn(Expr, Expr) -> Expr) -> Bodies {
    bodies! { Method:
        Write { x, v } => {
            Rdma::write(x.part("a", []), v);
            Rdma::write(x.part("b", []), v);
            Rdma::write(x.part("check", []), checksum(v, v))
        }
        Read { x } => { read_record(x, checksum) }
    }
}

/// Returns the published variant, and broken ones that checks have to refute.
#[must_use]
pub fn entry() -> Entry {
    let bounds = &[(2, 2, 2), (3, 2, 1)];
    let by = |checksum: fn(Expr, Expr) -> Expr| {
        let over = Over::<Method>::terms(bodies(checksum)).with_parts(parts! { x =>
            x.part("a", []) => word_term().at(owner(x));
            x.part("b", []) => word_term().at(owner(x));
            x.part("check", []) => word_term().at(owner(x)).init(checksum(0.into(), 0.into()));
        });
        ["p", "q", "r"].into_iter().fold(over, |over, role| over.with_parts(of_threads(role, 0)))
    };
    let pilaf = by(both);
    let no_wait = pilaf.clone().without(calls!(Rdma::Wait { .. }));
    let unsound = |name, about, over| variant(name, about, Expected::Unsound, over, bounds).writing(&[1, 2]);
    Entry::rdma(SharedLibrary::<Method>::to_readers(call_shapes(), register), Wait)
        .published(pilaf, bounds)
        .broken("no-wait", no_wait)
        .with(unsound("sum", "different records have one checksum", by(sum)))
        .with(unsound("unchecked", "all records have one checksum", by(|_, _| 0.into())))
}
