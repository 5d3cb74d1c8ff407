//! LOCO-X Theorem I.3: the key-value store is linearisable. The store as App. I describes it is not: see
//! `docs/findings.md`.

use std::sync::Arc;

use insta::assert_snapshot;
use mowgli::litmus::parse::parse;
use mowgli::litmus::run::solve;
use mowgli_core::search::problem::Limits;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_libraries::kvstore::{KvstoreOverLoco, SlotPerKey, fenced_delete, no_counter};
use mowgli_proofs::{bound, checked, concretisation, explained, refuted};

/// Node 3 has the deletion in its index, node 1 has not, and the slot on node 1 is still valid.
const UNSEEN: &str = "RDMA_WAIT unseen { nodes 3; kvstore m = (7); y@1 = 0; one@3 = 1; }
 P1@1             | P2@2             | P3@3             ;
 a := y           | c := m.delete(0) | m.serve          ;
 b := m.lookup(0) |                  | d := m.lookup(0) ;
 m.serve          |                  | put(y, one)      ;
forbidden (a=1 /\\ b=7 /\\ d=bot)";

#[test]
fn a_deletion_is_to_be_complete_before_it_is_announced() {
    assert_snapshot!("kvstore_specification", explained(UNSEEN, &[]));
    assert!(explained(UNSEEN, &["kvstore"]).contains("is possible"));
    for variant in ["kvstore:fenced-delete", "kvstore:slot-per-key"] {
        assert!(explained(UNSEEN, &[variant]).contains("is impossible"), "{variant}");
    }
}

#[test]
fn the_fenced_store_is_linearisable() {
    let report = checked("kvstore", "fenced-delete", &bound(2, 2, 1));
    assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
}

/// A thread uses its slot for a key, and finds it free if the key has no value.
#[test]
fn a_store_that_does_not_search_for_slots_is_linearisable() {
    let report = checked("kvstore", "slot-per-key", &bound(2, 2, 1));
    assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
    let text = "RDMA_WAIT again { kvstore m = (bot, 7); }
 P1@1           | P2@2             | P3@2    ;
 m.insert(0, 1) | a := m.lookup(0) | m.serve ;
 m.delete(0)    |                  | m.serve ;
 m.insert(0, 2) |                  | m.serve ;
forbidden (a=9)";
    assert_eq!(outcomes(text, fenced_delete(SlotPerKey)), ["1", "2", "bot"]);
}

#[test]
#[ignore = "takes 70 s"]
fn the_fenced_store_is_linearisable_with_more_calls() {
    for bound in [bound(3, 2, 1), bound(1, 2, 3)] {
        let report = checked("kvstore", "fenced-delete", &bound);
        assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
    }
    let report = checked("kvstore", "fenced-delete", &bound(2, 1, 2));
    assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
    assert_snapshot!("kvstore_concretisation", concretisation(&report));
}

#[test]
fn broken_stores_forget_or_invent() {
    are_broken(&[("no-ack", bound(2, 2, 1))]);
}

#[test]
#[ignore = "takes 30 s"]
fn stores_without_fence_or_lock_forget_or_invent() {
    are_broken(&[("ack-first", bound(3, 2, 1)), ("no-fence", bound(2, 2, 1)), ("no-index-lock", bound(2, 1, 1))]);
}

fn are_broken(variants: &[(&str, Bound)]) {
    for (variant, bound) in variants {
        let report = checked("kvstore", variant, bound);
        assert_eq!(report.verdict(), "unsound", "{variant}");
        assert_snapshot!(format!("kvstore_{variant}"), refuted(&report));
    }
}

/// Returns the outcomes of a client over an implementation.
fn outcomes(text: &str, variant: impl Implementation + 'static) -> Vec<String> {
    let test = parse("the test", text).expect("a litmus test");
    let answer = solve(&test, &[Arc::new(variant)], Limits::default());
    assert!(answer.explored.stop.is_none());
    answer.outcomes.keys().map(|row| row[0].to_string()).collect()
}

/// A slot is used again for another key, while a lookup has the old place of the first.
#[test]
fn counters_keep_the_values_of_two_keys_apart() {
    let text = "RDMA_WAIT reuse { kvstore m = (7, bot); }
 P1@1                | P2@2             | P3@2    ;
 m.delete(0)         | a := m.lookup(0) | m.serve ;
 m.insert(1, 1)      |                  | m.serve ;
forbidden (a=1)";
    assert_eq!(outcomes(text, fenced_delete(KvstoreOverLoco)), ["7", "bot"]);
    assert_eq!(outcomes(text, no_counter()), ["1", "7", "bot"]);
}
