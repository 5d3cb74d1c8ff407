//! The theorems of the papers as bounded checks: one test file for each, in `tests/`.
//!
//! A file checks the published implementation, compares the concretisation found with the one in the paper's proof, and
//! checks that each broken variant is caught. The snapshots beside it are for reading: the g found, one execution that
//! the implementation has, and each counterexample.
//!
//! ```
//! use mowgli_proofs::{bound, checked};
//!
//! let report = checked("bal", "published", &bound(2, 2, 1));
//! assert_eq!(report.verdict(), "sound");
//! ```

use mowgli::check::{Checked, Options, check};
use mowgli::explain::{explain, of_test};
use mowgli::litmus::parse::parse;
use mowgli::necessity::{self, Row};
use mowgli_core::soundness::client::Bound;
use mowgli_libraries::catalogue::{catalogue, named};

/// At most so many threads, nodes, and calls of each thread; one object, three rounds of loops, the value 1.
#[must_use]
pub fn bound(threads: usize, nodes: u8, calls: usize) -> Bound {
    Bound { threads, nodes, calls, objects: 1, loops: 3, values: vec![1], ..Bound::default() }
}

/// The check of a library's implementation, with probes that go through the network to their own node too.
///
/// # Panics
/// If there is no such library or variant.
#[must_use]
pub fn checked(library: &str, variant: &str, bound: &Bound) -> Checked {
    run(library, variant, bound, true)
}

/// As [`checked`], with probes that use the network for other nodes only, as the papers' examples do.
///
/// # Panics
/// If there is no such library or variant.
#[must_use]
pub fn checked_remotely(library: &str, variant: &str, bound: &Bound) -> Checked {
    run(library, variant, bound, false)
}

fn run(library: &str, variant: &str, bound: &Bound, loopback: bool) -> Checked {
    let all = catalogue();
    let entry = named(&all, library).expect("a library of the catalogue");
    let variant = entry.variant(variant).expect("a variant of the library");
    check(entry, variant, bound, &Options { loopback, ..Options::default() })
}

/// The explanation of a litmus test's first assertion, with these libraries replaced by their implementations.
///
/// # Panics
/// If the test cannot be read or solved.
#[must_use]
pub fn explained(litmus: &str, implemented: &[&str]) -> String {
    let test = parse("the test", litmus).expect("a litmus test");
    let implemented: Vec<String> = implemented.iter().map(ToString::to_string).collect();
    let finding = of_test(&test, litmus, &implemented).expect("a finding").remove(0);
    explain(finding).expect("judge and search agree").text()
}

/// Which operations of an implementation are needed, at the default bounds.
///
/// # Panics
/// If there is no such library or variant, or it is not sound.
#[must_use]
pub fn necessity(library: &str, variant: &str) -> Vec<Row> {
    let all = catalogue();
    let entry = named(&all, library).expect("a library of the catalogue");
    let variant = entry.variant(variant).expect("a variant of the library");
    let found = necessity::necessity(entry, variant, necessity::bounds(entry), &Options::default(), &mut |_| {});
    found.expect("a sound implementation").rows
}
