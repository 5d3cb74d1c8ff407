//! SYNC Theorems 1, 2 and 3: the implementations of the weak, the strong and the node lock are sound.

use insta::assert_snapshot;
use mowgli_core::term::bound::Bound;
use mowgli_proofs::{accepted, bound, checked, concretisation, explained, refuted};

#[test]
fn theorem_1_the_weak_lock() {
    let report = checked("wlock", "published", &bound(3, 2, 2));
    assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
    assert_snapshot!("wlock_concretisation", concretisation(&report));
}

#[test]
fn theorem_2_the_strong_lock() {
    let report = checked("slock", "published", &bound(3, 3, 2));
    assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
    assert_snapshot!("slock_concretisation", concretisation(&report));
}

#[test]
fn theorem_3_the_node_lock() {
    let report = checked("nlock", "published", &bound(3, 2, 2));
    assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
    assert_snapshot!("nlock_concretisation", concretisation(&report));
}

#[test]
fn an_execution_of_the_weak_lock() {
    let test = "RDMA_WAIT accepted { nodes 2; weak lock l at 1; x@1 = 0; }
 P1@1   | P2@1   ;
 acq(l) | acq(l) ;
 x := 1 | a := x ;
 rel(l) | rel(l) ;
allowed (a=1)";
    assert_snapshot!("wlock_execution", accepted("wlock", test));
}

#[test]
fn broken_locks_let_two_threads_in_or_release_too_early() {
    for (lock, variant) in [
        ("wlock", "no-wait"),
        ("wlock", "cpu-rmw"),
        ("slock", "no-fence"),
        ("slock", "fence-after"),
        ("nlock", "no-rfence"),
        ("nlock", "release-by-write"),
    ] {
        let report = checked(lock, variant, &Bound { loops: 1, ..bound(2, 2, 2) });
        assert_eq!(report.verdict(), "unsound", "{lock} {variant}");
        assert_snapshot!(format!("{lock}_{variant}"), refuted(&report));
    }
}

/// The specification promises nothing to a client that does not alternate Acq and Rel.
#[test]
fn an_ill_formed_client_may_do_anything() {
    let test = "RDMA_WAIT ill-formed { weak lock l at 1; x@1 = 0; }
 P1@1   | P2@1   ;
 acq(l) | acq(l) ;
 x := 1 | a := x ;
 x := 2 | rel(l) ;
allowed (a=1)";
    assert!(explained(test, &[]).contains("is possible"));
    let well_formed = test.replace(" x := 2 | rel(l) ;", " x := 2 | rel(l) ;\n rel(l) |        ;");
    assert!(explained(&well_formed, &[]).contains("is impossible"));
}
