//! The papers' litmus tests and the whole outcome sets of random programs, exactly.

use std::collections::BTreeSet;
use std::path::Path;

use mowgli::litmus::parse::parse;
use mowgli::litmus::run::{Engine, solve_with};
use mowgli_core::search::problem::Limits;
use mowgli_core::search::solver::Stats;
use mowgli_tests::{Known, files, known, litmus, outcomes, papers, solved};

/// Runs every test of a folder. Returns their number, and the statistics of the search.
fn every_verdict(folder: &Path) -> (usize, Stats) {
    let mut run = 0;
    let mut stats = Stats::default();
    for path in files(folder) {
        let text = std::fs::read_to_string(&path).unwrap();
        let (test, answer) = solved(&path.display().to_string(), &text).unwrap();
        run += 1;
        stats += answer.explored.stats;
        assert!(answer.explored.stop.is_none(), "{}: {:?}", test.name, answer.explored.stop);
        let all_hold = answer.holds.iter().all(|&h| h == Some(true));
        assert!(all_hold, "{}: {:?} {:?}", test.name, answer.holds, answer.outcomes);
    }
    (run, stats)
}

/// Tests of our own, each for an error that once occurred.
#[test]
fn every_verdict_of_our_own() {
    let (run, _) = every_verdict(&litmus());
    assert_eq!(run, 28, "tests that were run");
}

#[test]
fn every_verdict_of_the_papers() {
    let (run, stats) = every_verdict(&litmus().join("papers"));
    assert_eq!(run, 55, "tests that were run");
    assert!(stats.leaves * 10 <= stats.classes * 11, "more than 1.1 leaves per class: {stats:?}");
}

fn all_equal(file: &str, engine: Engine, programs: usize) {
    let mut run = 0;
    for Known { name, litmus, outcomes: expected } in known(file) {
        let test = parse(&name, &litmus).unwrap();
        let answer = solve_with(engine, &test, Limits::default()).unwrap();
        let row = |o: std::collections::BTreeMap<String, String>| {
            let pairs = o.into_iter().map(|(k, v)| format!("{k}={v}"));
            pairs.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
        };
        let expected: BTreeSet<String> = expected.into_iter().map(row).collect();
        assert_eq!(outcomes(&test, &answer), expected, "{litmus}");
        run += 1;
    }
    assert_eq!(run, programs, "programs that were run");
}

#[test]
fn whole_outcome_sets_of_rdma_wait() {
    all_equal("wait.jsonl", Engine::Declarative, 150);
}

#[test]
fn whole_outcome_sets_with_libraries() {
    all_equal("mixed.jsonl", Engine::Declarative, 200);
}

#[test]
fn whole_outcome_sets_of_rdma_tso() {
    all_equal("tso.jsonl", Engine::Declarative, 150);
    all_equal("tso.jsonl", Engine::Operational, 150);
}

/// The papers' tests for polls, on both engines.
#[test]
fn the_machine_has_the_verdicts_of_the_papers() {
    let mut run = 0;
    for (name, text) in papers() {
        if text.starts_with("RDMA_TSO") {
            let answer = solve_with(Engine::Both, &parse(&name, &text).unwrap(), Limits::default()).unwrap();
            assert!(answer.holds.iter().all(|&h| h == Some(true)), "{text}");
            run += 1;
        }
    }
    assert_eq!(run, 23, "tests that were run");
}
