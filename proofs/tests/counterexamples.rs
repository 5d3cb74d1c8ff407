//! Each variant of a library of the papers that is unsound has its smallest client and the cycle as a snapshot (LOCO Def. 3.10).
//!
//! Those that the theorem of their library shows are there. The others are here.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::Expected;
use mowgli_proofs::{assert_unsound, refuted};

/// Libraries that are not in the papers.
const OTHERS: [&str; 2] = ["table", "trylock"];

/// Returns the names of the snapshots of other files, with `_` for each `-`.
fn shown_elsewhere() -> BTreeSet<String> {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots")).expect("the snapshots");
    let names = files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
    let others = names.filter(|name| name.ends_with(".snap") && !name.contains("__counterexamples__"));
    others.filter_map(|name| Some(name.rsplit_once("__")?.1.trim_end_matches(".snap").replace('-', "_"))).collect()
}

/// Those that take more than a second.
const SLOW: [&str; 13] = [
    "msw_sum",
    "sc-rmw_faa-adds-one",
    "rbl_hashed-early",
    "rbl-weak_hashed-early",
    "rbl-weak_no-wait",
    "rbl_published",
    "rbl_hash-without-end",
    "rbl_hash-of-first-word",
    "rbl-weak_published",
    "rbl-weak_hash-without-end",
    "rbl-weak_hash-of-first-word",
    "kvstore_published",
    "kvstore_valid-first",
];

fn are_refuted(is_slow: bool) {
    let elsewhere = shown_elsewhere();
    for entry in catalogue().iter().filter(|entry| !OTHERS.contains(&entry.name)) {
        for variant in entry.variants.iter().filter(|variant| variant.expected == Expected::Unsound) {
            let name = format!("{}_{}", entry.name, variant.name);
            if !elsewhere.contains(&name.replace('-', "_")) && SLOW.contains(&&*name) == is_slow {
                assert_snapshot!(name, refuted(&assert_unsound!(entry, variant.name)));
            }
        }
    }
}

#[test]
fn each_unsound_variant_has_a_smallest_client_and_a_cycle() {
    are_refuted(false);
}

#[test]
#[ignore = "takes a minute"]
fn the_slow_ones_have_them_too() {
    are_refuted(true);
}
