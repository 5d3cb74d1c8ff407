//! The bounds of `check --thorough` have the verdicts that `check` had there before they were too slow for it.

use mowgli_core::soundness::client::Bound;
use mowgli_libraries::catalogue::catalogue;
use mowgli_proofs::{bound, checked};

/// The bound of four calls with two threads, as `sv` and `sc-rmw` have it.
fn four_calls(values: &[i64]) -> Bound {
    Bound { loops: 1, values: values.to_vec(), ..bound(2, 2, 2) }
}

#[test]
fn the_large_bounds_are_thorough_and_not_default() {
    for (library, large) in [("sv", four_calls(&[1, 2])), ("sc-rmw", four_calls(&[1]))] {
        let all = catalogue();
        let entry = all.iter().find(|entry| entry.name == library).expect("a library of the catalogue");
        for variant in &entry.variants {
            assert!(variant.thorough.contains(&large), "{library} {}", variant.name);
            assert!(!variant.bounds.contains(&large), "{library} {}", variant.name);
        }
    }
}

/// Also the wrong variants, so that each is caught where it was.
#[test]
#[ignore = "takes minutes"]
fn the_thorough_bounds_have_the_expected_verdicts() {
    for library in ["sv", "sc-rmw"] {
        let all = catalogue();
        let entry = all.iter().find(|entry| entry.name == library).expect("a library of the catalogue");
        for variant in &entry.variants {
            // With the value 1 alone, an FAA that adds 1 always is right.
            let is_right = variant.expected.is_correct() || variant.name == "faa-adds-one";
            let expected = if is_right { "sound" } else { "unsound" };
            for bound in &variant.thorough {
                assert_eq!(checked(library, variant.name, bound).verdict(), expected, "{library} {}", variant.name);
            }
        }
    }
}

/// No variant needs the large bounds: each is caught at one of the default ones.
#[test]
fn the_default_bounds_catch_each_variant_of_sv_and_sc_rmw() {
    for (library, variants) in [
        ("sv", &["fence-of-puts"][..]),
        (
            "sc-rmw",
            &["read-no-wait", "write-no-lock", "cas-as-read-write", "cas-writes-two", "cas-with-zero", "faa-adds-one"],
        ),
    ] {
        for variant in variants {
            mowgli_proofs::assert_unsound!(library, variant);
        }
    }
}

/// A published implementation has smaller bounds than its broken variants. So a mistake that a user makes in it is caught as theirs are.
#[test]
fn the_bounds_of_the_published_catch_each_broken_variant() {
    caught_within_the_published_bounds("sc-rmw", |_| true);
    caught_within_the_published_bounds("trylock", |variant| variant != "no-mark");
}

#[test]
#[ignore = "takes a minute"]
fn the_bounds_of_the_published_catch_the_other_broken_variants() {
    caught_within_the_published_bounds("trylock", |_| true);
    caught_within_the_published_bounds("msw", |_| true);
    // These two need four calls of one thread.
    caught_within_the_published_bounds("table", |variant| !["forget-removed", "take-first"].contains(&variant));
}

fn caught_within_the_published_bounds(library: &str, is_asked: impl Fn(&str) -> bool) {
    let all = catalogue();
    let entry = all.iter().find(|entry| entry.name == library).expect("a library of the catalogue");
    let (published, broken) = entry.variants.split_first().expect("variants");
    for variant in broken.iter().filter(|variant| is_asked(variant.name)) {
        let is_caught = |bound| checked(library, variant.name, bound).verdict() == "unsound";
        assert!(published.bounds.iter().any(is_caught), "{library} {}", variant.name);
    }
}

#[test]
#[ignore = "takes a minute"]
fn the_default_bounds_catch_a_broadcast_to_the_first_target_only() {
    mowgli_proofs::assert_unsound!("sv", "first-target-only");
}
