//! SYNC Theorem 4: the implementation of sequentially consistent words over the node lock is sound.

use insta::assert_snapshot;
use mowgli_proofs::{assert_unsound, bound, checked, concretisation, refuted};

#[test]
fn holds_within_the_bound() {
    for (threads, nodes, calls) in [(3, 2, 1), (2, 1, 2)] {
        let report = checked("sc-rmw", "published", &bound(threads, nodes, calls));
        assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
        assert_snapshot!("sc_rmw_concretisation", concretisation(&report));
    }
}

#[test]
fn broken_variants_are_not_sequentially_consistent() {
    for variant in ["read-no-wait", "write-no-lock", "cas-as-read-write"] {
        assert_snapshot!(format!("sc_rmw_{variant}"), refuted(&assert_unsound!("sc-rmw", variant)));
    }
}
