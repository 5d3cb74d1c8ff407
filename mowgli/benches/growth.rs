//! Growth of the search: two families of tests for which an enumerator of orders takes n! steps, and checks of the
//! barrier.
//!
//! The counts come first, because they can be compared between versions: states and leaves of the search, classes of
//! executions, and outcomes. The times below them depend on the machine.

use comfy_table::Table;
use divan::Bencher;
use itertools::Itertools;
use mowgli::check::{CheckOptions, check};
use mowgli::core_rma::table::{TABLE_6, make};
use mowgli::interrupt::Deadline;
use mowgli::litmus::parse::parse;
use mowgli::litmus::run::{Answer, explore, solve};
use mowgli::litmus::test::Test;
use mowgli_core::search::problem::Limits;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::catalogue::catalogue;
use mowgli_rdma::core_rma::generate::programs;

const COHERENCE: std::ops::RangeInclusive<usize> = 5..=9;
const RING: std::ops::RangeInclusive<usize> = 4..=14;
const PUTS: std::ops::RangeInclusive<usize> = 1..=4;

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

/// A thread that puts n words to another node and polls for each, while a thread there reads the first and the last.
fn puts(n: usize) -> Test {
    let words = (1..=n).map(|i| format!("x{i}@1 = 1; z{i}@2 = 0;")).join(" ");
    let rows = (1..=n).map(|i| format!("put(z{i}, x{i}) | {}", if i == 1 { format!("a := z{n}") } else { "".into() }));
    let polls = (1..=n).map(|i| format!("poll(2) | {}", if i == 1 { "b := z1" } else { "" }));
    let rows = rows.chain(polls).map(|row| format!(" {row} ;")).join("\n");
    parse("puts", &format!("RDMA_TSO puts {{ {words} }}\n P1@1 | P2@2 ;\n{rows}\n")).expect("a litmus test")
}

/// The machine of RDMA-TSO-RMW beside its axioms.
fn engines() -> Table {
    let mut table = Table::new();
    table.set_header([
        "puts",
        "outcomes",
        "states of the search",
        "states of the machine",
        "bytes a state",
        "states a second",
    ]);
    for n in PUTS {
        let test = puts(n);
        let start = std::time::Instant::now();
        let (machine, runs) = explore(&test, Limits::default()).expect("a test for the machine");
        let rate = runs.states as f64 / start.elapsed().as_secs_f64();
        let axioms = answer(&test);
        assert!(axioms.outcomes.keys().eq(machine.outcomes.keys()));
        let row =
            [n, axioms.outcomes.len(), axioms.explored.stats.nodes as usize, runs.states, runs.bytes, rate as usize];
        table.add_row(row.map(|c| c.to_string()));
    }
    table
}

#[divan::bench(args = PUTS)]
fn puts_by_axioms(bencher: Bencher<'_, '_>, n: usize) {
    let test = puts(n);
    bencher.bench(|| answer(&test));
}

#[divan::bench(args = PUTS)]
fn puts_by_machine(bencher: Bencher<'_, '_>, n: usize) {
    let test = puts(n);
    bencher.bench(|| explore(&test, Limits::default()));
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
    bencher.bench(|| check(barrier, &barrier.variants[0], &bound, &CheckOptions::default()).map(|c| c.verdict()));
}

/// A row of CORERMA Table 6, with all outputs of its tests.
#[divan::bench(args = [0, 3, 8, 23], sample_count = 3)]
fn row_of_table_6(bencher: Bencher<'_, '_>, row: usize) {
    bencher.bench(|| make(TABLE_6[row].row(), &Deadline::default(), None, &|_, _| {}).tests.len());
}

/// Counts the programs that the generator enumerates and the tests that it keeps, for some rows of CORERMA Table 6.
fn generated() -> Table {
    let mut table = Table::new();
    table.set_header(["row of Table 6", "programs", "tests", "outputs"]);
    for published in [0, 3, 8, 23].map(|row| TABLE_6[row]) {
        let made = make(published.row(), &Deadline::default(), None, &|_, _| {});
        let title = format!("{} {} {}", published.rule, published.processes, published.size);
        let row = [programs(published.row(), &|| false).so_far().0.len(), made.tests.len(), made.outputs()];
        table.add_row([title].into_iter().chain(row.map(|c| c.to_string())));
    }
    table
}

fn main() {
    println!("{}", counts());
    println!("{}", engines());
    println!("{}", generated());
    divan::main();
}
