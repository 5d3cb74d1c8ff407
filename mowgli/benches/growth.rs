//! How the search grows: two families for which enumerators of orders take n! steps, and the checks of the barrier.
//!
//! The counts come first. They are what to compare between versions: states looked at, leaves of the search, classes of
//! executions, and outcomes. The times below them depend on the machine.

use comfy_table::Table;
use divan::Bencher;
use itertools::Itertools;
use mowgli::check::{Options, check};
use mowgli::litmus::parse::parse;
use mowgli::litmus::run::{Answer, solve};
use mowgli::litmus::test::Test;
use mowgli_core::outcome::Limits;
use mowgli_core::soundness::client::Bound;
use mowgli_libraries::catalogue::catalogue;

const COHERENCE: std::ops::RangeInclusive<usize> = 5..=9;
const RING: std::ops::RangeInclusive<usize> = 4..=14;

fn test(name: &str, declarations: &str, threads: usize, rows: [Vec<String>; 2]) -> Test {
    let heads = (1..=threads).map(|t| format!("P{t}@1")).join(" | ");
    let [first, second] = rows.map(|row| row.join(" | "));
    let text = format!("RDMA_WAIT {name} {{ {declarations} }}\n {heads} ;\n {first} ;\n {second} ;\n");
    parse(name, &text).expect("a litmus test")
}

/// n threads write one word, one thread reads it twice.
fn coherence(n: usize) -> Test {
    let first = (1..=n).map(|i| format!("x := {i}")).chain(["a := x".to_owned()]);
    let second = (1..=n).map(|_| String::new()).chain(["b := x".to_owned()]);
    test("coherence", "x@1 = 0;", n + 1, [first.collect(), second.collect()])
}

/// n threads in a ring: each writes its word, then reads the next one's.
fn ring(n: usize) -> Test {
    let words = (1..=n).map(|i| format!("x{i}@1 = 0;")).join(" ");
    let first = (1..=n).map(|i| format!("x{i} := 1"));
    let second = (1..=n).map(|i| format!("a{i} := x{}", i % n + 1));
    test("ring", &words, n, [first.collect(), second.collect()])
}

fn answer(test: &Test) -> Answer {
    let answer = solve(test, &[], Limits::default());
    assert!(answer.explored.stop.is_none());
    answer
}

fn counts() -> Table {
    let mut table = Table::new();
    table.set_header(["family", "n", "states", "leaves", "classes", "outcomes"]);
    let tests = COHERENCE.map(|n| ("coherence", n, coherence(n))).chain(RING.map(|n| ("ring", n, ring(n))));
    for (family, n, test) in tests {
        let Answer { outcomes, explored, .. } = answer(&test);
        let stats = explored.stats;
        let row = [n as u64, stats.nodes, stats.leaves, stats.classes, outcomes.len() as u64];
        table.add_row([family.to_owned()].into_iter().chain(row.map(|c| c.to_string())));
    }
    table
}

#[divan::bench(args = COHERENCE)]
fn coherence_outcomes(bencher: Bencher<'_, '_>, n: usize) {
    let test = coherence(n);
    bencher.bench(|| answer(&test));
}

#[divan::bench(args = RING)]
fn ring_outcomes(bencher: Bencher<'_, '_>, n: usize) {
    let test = ring(n);
    bencher.bench(|| answer(&test));
}

/// Threads, nodes and calls of the clients.
#[divan::bench(args = [(3, 3, 1), (2, 2, 2)], sample_count = 10)]
fn check_barrier(bencher: Bencher<'_, '_>, (threads, nodes, calls): (usize, u8, usize)) {
    let all = catalogue();
    let barrier = all.iter().find(|e| e.name == "bal").expect("the barrier is in the catalogue");
    let bound = Bound { threads, nodes, calls, objects: 1, loops: 3, values: vec![1], ..Bound::default() };
    bencher.bench(|| check(barrier, &barrier.variants[0], &bound, &Options::default()).verdict());
}

fn main() {
    println!("{}", counts());
    divan::main();
}
