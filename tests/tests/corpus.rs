//! The papers' litmus tests and the whole outcome sets of random programs, exactly.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mowgli_core::search::solver::Stats;
use mowgli_tests::{Known, known, outcomes, shared, solved};

/// Libraries and models that the parser does not know yet make a test unavailable; everything else must be right.
fn is_unavailable(message: &str) -> bool {
    message.contains("is not available")
}

/// Runs every test of a folder; how many there were, and what the search did.
fn every_verdict(folder: PathBuf) -> (usize, Stats) {
    let mut run = 0;
    let mut stats = Stats::default();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        match solved(&path.display().to_string(), &text) {
            Ok((test, answer)) => {
                run += 1;
                stats += answer.explored.stats;
                assert!(answer.explored.stop.is_none(), "{}: {:?}", test.name, answer.explored.stop);
                assert!(
                    answer.holds.iter().all(|&h| h == Some(true)),
                    "{}: {:?} {:?}",
                    test.name,
                    answer.holds,
                    answer.outcomes
                );
            }
            Err(message) => assert!(is_unavailable(&message), "{message}"),
        }
    }
    (run, stats)
}

/// Tests of our own: what once went wrong.
#[test]
fn every_verdict_of_our_own() {
    let (run, _) = every_verdict(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("litmus"));
    assert_eq!(run, 11, "tests that were run");
}

#[test]
fn every_verdict_of_the_papers() {
    let (run, stats) = every_verdict(shared("litmus"));
    assert_eq!(run, 32, "tests that were run");
    assert!(stats.leaves * 10 <= stats.classes * 11, "more than 1.1 leaves per class: {stats:?}");
}

fn all_equal(file: &str, available: usize) {
    let mut run = 0;
    for Known { name, litmus, outcomes: expected } in known(file) {
        match solved(&name, &litmus) {
            Ok((test, answer)) => {
                run += 1;
                let row = |o: std::collections::BTreeMap<String, String>| {
                    let pairs = o.into_iter().map(|(k, v)| format!("{k}={v}"));
                    pairs.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
                };
                let expected: BTreeSet<String> = expected.into_iter().map(row).collect();
                assert_eq!(outcomes(&test, &answer), expected, "{litmus}");
            }
            Err(message) => assert!(is_unavailable(&message), "{message}"),
        }
    }
    assert_eq!(run, available, "programs that were run");
}

#[test]
fn whole_outcome_sets_of_rdma_wait() {
    all_equal("wait.jsonl", 150);
}

#[test]
fn whole_outcome_sets_with_libraries() {
    all_equal("mixed.jsonl", 200);
}
