//! A spin lock by compare-and-swap, released in one batch with the last writes of its section.
//!
//! Promises that sections exclude each other, and that a section's puts to the lock's node are visible to the next one.
//! Published in Ziegler et al., SIGMOD 2023 (`frontend/OptimisticLocks.hpp` of RDMA_synchronization): a WRITE or an
//! atomic frees the lock, directly behind the last WRITE of the data. Assumes that one queue pair reaches data and
//! lock. Left open there: whether READs without a wait are over. Here the lock does not promise that.

use mowgli_core::term::lemma::{Lemma, LemmaVar, Of, hb};
use mowgli_libraries::lock::{Method, comes_after_the_rel, sections};
use mowgli_libraries::prelude::*;
use mowgli_rdma::wait::WAIT;

use crate::shared::{at_home, by_second, elsewhere, found, lock_entry, of_threads, own};

const SPIN: Name = Name::literal("spin");

fn bodies() -> Bodies {
    bodies! { Method:
        Acq { x } => {
            loop {
                let seen = found(own(x, "p"), x.part("lock", []), 0, 1, x.wid("d"));
                if (seen == 0) { break }
            }
        }
        Rel { x } => { Rdma::put(x.part("lock", []), own(x, "free"), Val::NoWid) }
    }
}

/// The read of the compare-and-swap with which an Acq takes the lock.
fn swap(c: LemmaVar) -> Of {
    c.read(WAIT, "RCAS", 1)
}

/// States the invariant: an Acq that happens after another Acq happens after the Rel of that Acq.
fn lemmas() -> Vec<Lemma> {
    let is_later = |c, e| hb(swap(e), swap(c));
    let words = "who takes the lock later comes after the Rel";
    let mut all = sections();
    all.push(comes_after_the_rel(words, is_later, |d| d.write(WAIT, "Put", 1), swap));
    all
}

/// Returns the published variants, which release by a WRITE and by an atomic, and broken ones that checks have to
/// refute.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 4), (3, 2, 2)];
    let small = &[(2, 2, 2)];
    let spin = Over::<Method>::terms_of(SPIN, bodies())
        .with_parts(at_home("lock"))
        .with_parts(of_threads("p", 9))
        .with_parts(of_threads("free", 0))
        .lemmas(lemmas);
    let by_faa = spin
        .clone()
        .replace(calls!(Rdma::Put { x: l, .. } in Method::Rel { x } => Rdma::rfaa(own(x, "p"), l, -1, Val::NoWid)));
    let second = spin.clone().replace(by_second("lock"));
    let by_cpu = spin.clone().replace(
        calls!(|put| Rdma::Put { x: l, .. } => body! { if ((node(l)) == (here())) { Rdma::write(l, 0) } else { put } }),
    );
    let lock = |x: Expr| x.part("lock", []);
    let acquire = bodies! { Method:
        Acq { x } => {
            if ((node(lock(x))) == (here())) {
                loop { let v = Rdma::cas(lock(x), 0, 1); if (v == 0) { break } }
            } else {
                spin.inlined(&Method::acq(SPIN, x))
            }
        }
    };
    let cpu_cas = spin.clone().with("threads of the lock's node take it by the CPU", &acquire);
    let two_queue_pairs = spin.clone().declaring("the lock's word lies on another node", elsewhere("lock"));
    lock_entry(SPIN)
        .with(variant("published", "a WRITE frees the lock", Sound, spin, bounds))
        .with(variant("by-faa", "a fetch-and-add of -1 frees the lock", Sound, by_faa, bounds))
        .with(variant("two-queue-pairs", "data and lock go separate ways", Unsound, two_queue_pairs, small))
        .with(variant("second-queue-pair", "the lock is freed over another one than the data", Unsound, second, small))
        .with(variant("by-cpu", "threads of the lock's node free it by a store", Unsound, by_cpu, small))
        .with(variant("cpu-cas", "threads of the lock's node take it by the CPU", Unsound, cpu_cas, small))
}
