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
            assert_eq!(variant.thorough, std::slice::from_ref(&large), "{library} {}", variant.name);
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

#[test]
#[ignore = "takes a minute"]
fn the_default_bounds_catch_a_broadcast_to_the_first_target_only() {
    mowgli_proofs::assert_unsound!("sv", "first-target-only");
}
