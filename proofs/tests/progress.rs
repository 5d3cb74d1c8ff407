//! Progress: variants that never end are caught, and published implementations end within the bounds of these tests.

use mowgli::check::{CheckOptions, Checked, check};
use mowgli_core::term::bound::Bound;
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_libraries::entry::{Entry, Expected, Variant};
use mowgli_proofs::explanation;

/// Checks a variant, up to the first of its bounds at which it fails, and returns the last check.
fn found(entry: &Entry, variant: &Variant, bounds: &[Bound]) -> Checked {
    let mut last = None;
    for bound in bounds {
        let checked = check(entry, variant, bound, &CheckOptions::default()).expect("an entry of the catalogue");
        let failed = checked.has_failed();
        last = Some(checked);
        if failed {
            break;
        }
    }
    last.expect("a variant has bounds")
}

#[test]
fn what_never_ends_is_caught() {
    let mut caught = Vec::new();
    for entry in catalogue() {
        let never = |v: &&Variant| matches!(v.expected, Expected::Blocks | Expected::Stuck);
        for variant in entry.variants.iter().filter(never) {
            let checked = found(&entry, variant, &variant.bounds);
            assert_eq!(checked.is_expected(), Some(true), "{}: {}", checked.title(), checked.progress());
            caught.push(format!("{} {}: {}", entry.name, variant.name, checked.progress()));
        }
    }
    let wanted = [
        "wlock no-broadcast: blocks",
        "wlock broadcast-first: stuck",
        "bal exact-count: stuck",
        "kvstore silent: blocks",
        "kvstore busy-server: blocks",
    ];
    assert!(wanted.iter().all(|w| caught.iter().any(|c| c == w)), "{caught:?}");
}

#[test]
fn published_implementations_end() {
    let ends = |name: &str, variant: &str, bound: Bound| {
        let all = catalogue();
        let entry = named(&all, name).expect("a library of the catalogue");
        let checked = found(entry, entry.variant(variant).expect("a variant"), &[bound]);
        assert_eq!((checked.verdict(), checked.progress()), ("sound", "ends"), "{}", checked.title());
    };
    let bound = |threads, nodes, calls| Bound { threads, nodes, calls, ..Bound::default() };
    let small = ["sv", "sc-rmw", "counter", "queue", "map"];
    small.into_iter().for_each(|name| ends(name, "published", bound(2, 2, 1)));
    ends("msw", "published", Bound { objects: 2, ..bound(2, 2, 1) });
    ends("bal", "published", bound(3, 3, 1));
    ends("bal-transitive", "published", bound(2, 2, 2));
    ends("bal-puts", "published", bound(3, 3, 1));
    ["slock", "wlock", "nlock"].into_iter().for_each(|name| ends(name, "published", bound(2, 2, 4)));
    ["rbl", "rbl-weak"].into_iter().for_each(|name| ends(name, "fenced", bound(2, 2, 1)));
    ends("kvstore", "fenced-delete", bound(2, 2, 1));
}

/// Returns the client that does not end, and what each thread waits for, without the events before that.
fn waiting(checked: &Checked) -> String {
    let text = explanation(checked);
    let (waiting, _) = text.split_once("\nwith the events").expect("a stuck execution");
    assert!(waiting.lines().count() <= 25, "{waiting}");
    waiting.to_owned()
}

#[test]
fn a_stuck_barrier() {
    let all = catalogue();
    let entry = named(&all, "bal").expect("the barrier");
    let variant = entry.variant("exact-count").expect("a variant");
    let bound = Bound { threads: 2, nodes: 1, calls: 2, ..Bound::default() };
    insta::assert_snapshot!(waiting(&found(entry, variant, &[bound])));
}

#[test]
fn a_lock_that_blocks() {
    let all = catalogue();
    let entry = named(&all, "wlock").expect("the lock");
    let variant = entry.variant("no-broadcast").expect("a variant");
    insta::assert_snapshot!(waiting(&found(entry, variant, &variant.bounds)));
}
