//! Progress: variants that never end are caught, and published implementations end within the bounds of these tests.

use mowgli::check::{CheckOptions, Checked, check};
use mowgli_core::term::bound::Bound;
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_libraries::entry::{Entry, Expected, Memory, Variant, bound, variant};
use mowgli_libraries::prelude::*;
use mowgli_libraries::trylock::{self, TRYLOCK, Trylock};
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

/// Returns the verdict of `check` on each variant that blocks or is stuck, and whose name is chosen.
fn caught(is_chosen: fn(&str, &str) -> bool) -> Vec<String> {
    let mut caught = Vec::new();
    for entry in catalogue() {
        let never =
            |v: &&Variant| matches!(v.expected, Expected::Blocks | Expected::Stuck) && is_chosen(entry.name, v.name);
        for variant in entry.variants.iter().filter(never) {
            let checked = found(&entry, variant, &variant.bounds);
            assert_eq!(checked.is_expected(), Some(true), "{}: {}", checked.title(), checked.progress());
            caught.push(format!("{} {}: {}", entry.name, variant.name, checked.progress()));
        }
    }
    caught
}

fn takes_long(library: &str, variant: &str) -> bool {
    library == "rbl-weak" || variant == "busy-server"
}

#[test]
fn what_never_ends_is_caught() {
    let caught = caught(|library, variant| !takes_long(library, variant));
    let wanted = [
        "wlock no-broadcast: blocks",
        "wlock broadcast-first: stuck",
        "bal exact-count: stuck",
        "kvstore silent: blocks",
    ];
    assert!(wanted.iter().all(|w| caught.iter().any(|c| c == w)), "{caught:?}");
}

#[test]
#[ignore = "takes half a minute"]
fn servers_with_calls_of_their_own_and_weak_rings_never_end() {
    assert!(caught(takes_long).contains(&"kvstore busy-server: blocks".to_owned()));
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

methods! {
    /// Calls that do something alone.
    enum Method of ALONE = "alone" {
        /// Does it from one side.
        fn here = Here(x: Object);
        /// Does it from the other side.
        fn there = There(x: Object);
    }
}

fn nothing() -> Spec {
    Spec::default()
}

/// Returns the bodies that take two locks, each in its order, and release them.
fn with_two(take: impl Fn(Expr) -> Body, is_opposite: bool) -> Over<Method> {
    let lock = |x: Expr, part: &'static str| x.part(part, []);
    let release = |x: Expr, part: &'static str| body! { trylock::Method::rel(lock(x, part)) };
    let both = |x: Expr, [first, second]: [&'static str; 2]| {
        body! { take(lock(x, first)); (take(lock(x, second))); (release(x, second)); (release(x, first)) }
    };
    let there = if is_opposite { ["b", "a"] } else { ["a", "b"] };
    let bodies = bodies! { Method: Here { x } => { (both(x, ["a", "b"])) } There { x } => { (both(x, there)) } };
    Over::<Method>::terms(bodies).with_parts(parts! { x =>
        x.part("a", []) => ObjectTerm::new(TRYLOCK).at(1);
        x.part("b", []) => ObjectTerm::new(TRYLOCK).at(1);
    })
}

/// Threads that take two locks in opposite orders wait for each other, in calls or in attempts.
#[test]
fn threads_that_take_locks_in_opposite_orders_are_stuck() {
    let shapes = shapes! { Method: Here { .. } => { aMF } There { .. } => { aMF } };
    let verdict = |bodies: Over<Method>| {
        let below = Libraries::over(to).with(Trylock);
        let variants = vec![variant("published", "two locks", Expected::Sound, bodies, &[(2, 1, 1)])];
        let entry = Entry::new(Memory::rdma_wait(), Simple::<Method>::new(shapes, nothing), below, variants);
        found(&entry, &entry.variants[0], &[bound(2, 1, 1)]).verdict()
    };
    let waits = |lock: Expr| body! { trylock::Method::acq(lock) };
    let tries = |lock: Expr| body! { loop { let taken = trylock::Method::try_acq(lock); if (taken) { break } } };
    assert_eq!([verdict(with_two(waits, false)), verdict(with_two(waits, true))], ["sound", "stuck"]);
    assert_eq!([verdict(with_two(tries, false)), verdict(with_two(tries, true))], ["sound", "stuck"]);
}
