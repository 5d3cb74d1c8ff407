//! SYNC §5, last remark: a node lock linearises any sequential object.

use insta::assert_snapshot;
use mowgli_proofs::{bound, checked, concretisation, refuted};

const OBJECTS: [&str; 3] = ["counter", "queue", "map"];

#[test]
fn wrapped_objects_are_linearisable() {
    for object in OBJECTS {
        let report = checked(object, "published", &bound(2, 2, 1));
        assert_eq!(report.verdict(), "sound", "{}", report.title());
        // The snapshots show the subevents that stand for the calls of an object.
        assert_snapshot!(format!("{object}_concretisation"), concretisation(&report));
    }
}

#[test]
fn what_is_not_wholly_under_the_lock_shows() {
    for object in OBJECTS {
        for variant in ["no-lock", "no-wait", "release-first"] {
            let report = checked(object, variant, &bound(2, 2, 1));
            assert_eq!(report.verdict(), "unsound", "{}", report.title());
        }
    }
    assert_snapshot!("queue_release_first", refuted(&checked("queue", "release-first", &bound(2, 2, 1))));
}
