//! DSLR, exclusive: a ticket by fetch-and-add, and reads of the counter until it is that ticket's turn.
//!
//! Promises that sections exclude each other, and that a section's puts to the lock's node are visible to the next one.
//! Published as DSLR (Yoon et al., SIGMOD 2018), read in shiftlock's `src/baselines/dslr.rs`. Assumes that one queue
//! pair reaches data, tickets and counter. Left out: shared mode and leases, which need a clock.

use mowgli_core::term::lemma::Lemma;
use mowgli_libraries::lock::{Method, comes_after_the_rel, ticket_of, tickets};
use mowgli_libraries::prelude::*;
use mowgli_rdma::wait::WAIT;

use crate::shared::{at_home, elsewhere, fetch, lock_entry, of_threads, own};

const DSLR: Name = Name::literal("dslr");

fn bodies() -> Bodies {
    bodies! { Method:
        Acq { x } => {
            Rdma::rfaa(own(x, "p"), x.part("max", []), 1, x.wid("d"));
            Rdma::wait(x.wid("d"));
            let ticket = Rdma::read(own(x, "p"));
            loop {
                let turn = fetch(own(x, "p"), x.part("count", []), x.wid("d"));
                if (turn == ticket) { break }
            }
        }
        Rel { x } => {
            Rdma::rfaa(own(x, "p"), x.part("count", []), 1, x.wid("d"));
            Rdma::wait(x.wid("d"))
        }
    }
}

/// States the invariant: an Acq with a later ticket happens after the Rel of each earlier one.
fn lemmas() -> Vec<Lemma> {
    let is_later = |c, e| ticket_of(c).exceeds(ticket_of(e));
    let mut all = tickets();
    let words = "who has a later ticket comes after the Rel";
    all.push(comes_after_the_rel(words, is_later, |d| d.write(WAIT, "RFAA", 1), |c| c.read(WAIT, "Get", 1)));
    all
}

/// Returns the published variant, and broken ones that checks have to refute.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 4), (3, 2, 2)];
    let small = &[(2, 2, 2)];
    let dslr = Over::<Method>::terms_of(DSLR, bodies())
        .with_parts(at_home("max"))
        .with_parts(at_home("count"))
        .with_parts(of_threads("p", 9))
        .lemmas(lemmas);
    let two_queue_pairs = dslr.clone().declaring("the counter lies on another node", elsewhere("count"));
    let read_max = dslr.clone().replace(calls!(Rdma::RFAA { x, y, d, .. } in Method::Acq { .. } => Rdma::get(x, y, d)));
    lock_entry(DSLR)
        .with(variant("published", "an atomic releases", Sound, dslr, bounds))
        .with(variant("two-queue-pairs", "data and counter go separate ways", Unsound, two_queue_pairs, small))
        .with(variant("same-ticket", "a ticket is read and not taken", Unsound, read_max, small))
}
