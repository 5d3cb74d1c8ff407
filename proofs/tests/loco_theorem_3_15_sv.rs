//! LOCO Theorem 3.15: the implementation of shared variables over RDMA-WAIT is locally sound.

use insta::assert_snapshot;
use mowgli_proofs::{accepted, assert_unsound, bound, checked, concretisation, refuted};

/// The proof maps a broadcast to the Put's halves, and every aGF of a fence to the Wait's aWT (LOCO-X Theorem H.1).
#[test]
fn holds_with_the_concretisation_of_the_proof() {
    for (threads, nodes, calls) in [(2, 2, 1), (1, 3, 2), (2, 1, 2)] {
        let report = checked("sv", "published", &bound(threads, nodes, calls));
        assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
        assert_snapshot!("sv_concretisation", concretisation(&report));
    }
}

#[test]
fn an_execution_of_the_implementation() {
    let test = "RDMA_WAIT accepted { nodes 2; svar x = 0; }
 P1@1              | P2@2        ;
 x.write(1)        | a := x.read ;
 x.bcast({2}, d)   |             ;
 sv.wait(d)        |             ;
 gf({2})           |             ;
allowed (a=1)";
    assert_snapshot!("sv_execution", accepted("sv", test));
}

#[test]
fn a_fence_of_puts_is_no_fence() {
    assert_snapshot!("sv_fence_of_puts", refuted(&assert_unsound!("sv", "fence-of-puts")));
}

#[test]
#[ignore = "takes 25 s"]
fn a_broadcast_reaches_all_targets() {
    let report = checked("sv", "first-target-only", &bound(2, 2, 2));
    assert_eq!(report.verdict(), "unsound");
    assert_snapshot!("sv_first_target_only", refuted(&report));
}
