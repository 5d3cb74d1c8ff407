//! Random programs whose operations stand in branches, and what waits for them outside: no outcome is lost.
//!
//! A thread that waits for ever still writes before it waits, and other threads, or the same thread on another branch, may
//! read that. So a program has outcomes whose values come from beginnings of threads that have no end.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_check::litmus::parse::parse;
use mowgli_check::litmus::run::{Answer, Engine, libraries, solve, solve_with, with_problem};
use mowgli_check::litmus::test::Test;
use mowgli_core::denote::{Trace, Unfolder};
use mowgli_core::enumerate::consistent;
use mowgli_core::event::{Cell, Shape};
use mowgli_core::outcome::{Outcome, Outcomes};
use mowgli_core::problem::{Limits, Problem};
use mowgli_core::runs::Run;
use mowgli_core::value::Val;
use mowgli_rdma::Stamp;

/// Programs of one kind: the waits that stand outside of branches, and the declarations that they need.
struct Kind {
    model: &'static str,
    declarations: &'static str,
    /// Statements at the beginning of P1, which give what others wait for.
    first: &'static [&'static str],
    /// Operations of the card; `L` and `R` stand for a local and a remote word, `N` for the remote node.
    operations: &'static [&'static str],
    /// Statements that may wait for ever. `r` stands for a fresh register.
    waits: &'static [&'static str],
}

const POLLS: Kind = Kind {
    model: "RDMA_TSO",
    declarations: "",
    first: &[],
    operations: &["put(R, L)", "get(L, R)", "rfaa(L, R, 1)"],
    waits: &["poll(N)", "poll(N)", "poll(N)", "r := pollany()", "await L = 1"],
};

const LOCKS_BY_HAND: Kind = Kind {
    model: "RDMA_TSO",
    declarations: "",
    first: &[],
    operations: &["put(R, L)", "get(L, R)", "L := 0"],
    waits: &["poll(N)", "await cas(L, 0, 1) = 0", "await L != 0"],
};

const MESSAGES: Kind = Kind {
    model: "RDMA_TSO+messages",
    declarations: "",
    first: &["send(1, 1)", "send(2, 2)"],
    operations: &["put(R, L)", "send(N, 1)", "send(N, 2)"],
    waits: &["r := recv()", "r := recv()", "poll(N)"],
};

const WAITS: Kind = Kind {
    model: "RDMA_WAIT",
    declarations: "",
    first: &[],
    operations: &["put(R, L, d)", "get(L, R, d)", "rfaa(L, R, 1, d)"],
    waits: &["wait(d)", "wait(d)", "await L = 1"],
};

const BARRIERS: Kind = Kind {
    model: "RDMA_WAIT",
    declarations: "barrier b = {P1, P2}; ",
    first: &[],
    operations: &["put(R, L, d)", "bar(b)"],
    waits: &["bar(b)", "bar(b)", "wait(d)"],
};

const LOCKS: Kind = Kind {
    model: "RDMA_WAIT",
    declarations: "strong lock l@1; ",
    first: &[],
    operations: &["put(R, L, d)", "acq(l)", "rel(l)"],
    waits: &["acq(l)", "rel(l)", "wait(d)"],
};

/// A random litmus test of a kind, the same for the same seed.
fn random(kind: &Kind, seed: u64) -> String {
    let (nodes, columns) = random_columns(kind, seed);
    text_of(kind, seed, &nodes, &columns)
}

/// The node of each thread, and the statements of each, one column for each thread.
fn random_columns(kind: &Kind, seed: u64) -> (Vec<u8>, Vec<Vec<String>>) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut nodes = vec![1u8];
    if rng.u8(..4) > 0 || !kind.declarations.is_empty() {
        nodes.push(rng.u8(1..3));
    }
    let first = |t: usize| if t == 0 { kind.first } else { &[] };
    let columns = nodes.iter().enumerate().map(|(t, &node)| statements(kind, first(t), node, &mut rng)).collect();
    (nodes, columns)
}

fn text_of(kind: &Kind, seed: u64, nodes: &[u8], columns: &[Vec<String>]) -> String {
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let row = |i: usize| columns.iter().map(|c| c.get(i).map_or("", String::as_str)).join(" | ");
    let names = nodes.iter().enumerate().map(|(t, node)| format!("P{}@{node}", t + 1)).join(" | ");
    let table = (0..rows).map(|i| format!(" {} ;\n", row(i))).collect::<String>();
    let words = "nodes 3; x@1 = 1; y@1 = 0; z@2 = 0; w@2 = 1;";
    let (model, declarations) = (kind.model, kind.declarations);
    format!("{model} random-{seed}\n{{ {declarations}{words} }}\n {names} ;\n{table}locations [x; y; z; w;]\n")
}

/// Statements with at least one operation in a branch, and behind it one that may wait.
fn statements(kind: &Kind, first: &[&str], node: u8, rng: &mut fastrand::Rng) -> Vec<String> {
    let mut registers = 0;
    let mut all: Vec<String> = first.iter().map(ToString::to_string).collect();
    all.push(simple(node, &mut registers, rng));
    all.push(read(node, &mut registers, rng));
    let guard = format!("if r{} {} {} {{", registers, ["=", "!="][rng.usize(..2)], rng.u8(..3));
    all.push(format!("{guard} {} }}", operation(kind, node, rng)));
    if rng.bool() {
        all.push(simple(node, &mut registers, rng));
    }
    let wait = kind.waits[rng.usize(..kind.waits.len())];
    registers += usize::from(wait.starts_with("r :="));
    all.push(filled(&wait.replacen("r :=", &format!("r{registers} :="), 1), node, rng));
    if rng.u8(..3) == 0 {
        all.push(read(node, &mut registers, rng));
    }
    all
}

fn simple(node: u8, registers: &mut usize, rng: &mut fastrand::Rng) -> String {
    if rng.u8(..3) == 0 { read(node, registers, rng) } else { filled(&format!("L := {}", rng.u8(..3)), node, rng) }
}

fn read(node: u8, registers: &mut usize, rng: &mut fastrand::Rng) -> String {
    *registers += 1;
    filled(&format!("r{registers} := L"), node, rng)
}

fn operation(kind: &Kind, node: u8, rng: &mut fastrand::Rng) -> String {
    filled(kind.operations[rng.usize(..kind.operations.len())], node, rng)
}

/// The statement with words of the node, and of the other one, in place of `L`, `R` and `N`.
fn filled(text: &str, node: u8, rng: &mut fastrand::Rng) -> String {
    let (own, other) = if node == 1 { (["x", "y"], ["z", "w"]) } else { (["z", "w"], ["x", "y"]) };
    let text = text.replace('L', own[rng.usize(..2)]).replace('R', other[rng.usize(..2)]);
    text.replace('N', if node == 1 { "2" } else { "1" })
}

fn parsed(text: &str) -> Test {
    parse("random", text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The outcomes by each way to find values agree, where both searches are complete. Returns whether they are.
fn values_agree(test: &Test, text: &str) -> bool {
    let limits = Limits { rounds: 2, ..Limits::default() };
    with_problem(&libraries::<Stamp>(test.model), test, &[], limits, |problem| {
        let all = |of: Outcomes| of.all().ok().map(|found| found.into_keys().collect::<BTreeSet<_>>());
        let by_default = all(problem.outcomes());
        let by_flow = problem.outcomes_by_flow().and_then(all);
        let by_guessing = all(problem.outcomes_by_guessing());
        for other in [by_flow, by_guessing].into_iter().flatten() {
            if let Some(expected) = &by_default {
                assert_eq!(expected, &other, "{text}");
            }
        }
        by_default.is_some()
    })
}

/// The outcomes of a test, each as text.
fn outcomes(test: &Test, answer: &Answer) -> BTreeSet<String> {
    let row = |values: &Vec<Val>| test.shown.iter().zip(values).map(|((name, _), v)| format!("{name}={v}")).join(" ");
    answer.outcomes.keys().map(row).collect()
}

/// The axioms and the machine agree on so many random programs of a kind; nearly all of them are complete.
fn agrees_with_the_machine(kind: &Kind, cases: u64) {
    let mut complete = 0;
    let mut with_outcomes = 0;
    for seed in 0..cases {
        let text = random(kind, seed);
        let test = parsed(&text);
        let answer = solve_with(Engine::Both, &test, Limits::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        complete += u64::from(answer.explored.stop.is_none() && values_agree(&test, &text));
        with_outcomes += u64::from(!answer.outcomes.is_empty());
    }
    assert!(complete * 20 >= cases * 19, "{complete} of {cases} are complete");
    assert!(with_outcomes * 4 >= cases, "{with_outcomes} of {cases} have an outcome");
}

#[test]
fn polls_outside_the_branch_of_their_operation() {
    agrees_with_the_machine(&POLLS, 900);
}

#[test]
fn locks_by_hand_behind_a_branch() {
    agrees_with_the_machine(&LOCKS_BY_HAND, 300);
}

#[test]
fn receives_outside_the_branch_of_the_message() {
    agrees_with_the_machine(&MESSAGES, 300);
}

/// Every outcome whose values come from a fixed set, by every run and every candidate execution. `None`: too many.
fn by_enumeration(problem: &Problem<'_, Stamp>, values: &[Val]) -> Option<BTreeSet<Outcome>> {
    let Problem { libraries, implementations, world, .. } = *problem;
    let unfolder = Unfolder { libraries, implementations, world, rounds: 1, limit: 500, expired: &|| false };
    let mut threads: Vec<Vec<Run<Stamp>>> = Vec::new();
    for (thread, program) in world.tids().zip(problem.programs) {
        let unfolding = unfolder.unfold(thread, program, &|_| values.to_vec());
        let shaped = |trace: Trace| {
            let shapes = trace.events.iter().map(|e| libraries.of(&e.call).shapes(world, e));
            let all: Vec<Vec<Shape<Stamp>>> = shapes.multi_cartesian_product().collect();
            all.into_iter().map(move |shapes| Run { trace: trace.clone(), shapes })
        };
        threads.push(unfolding.traces.into_iter().flat_map(shaped).collect());
    }
    if threads.iter().map(Vec::len).product::<usize>() > 500 {
        return None;
    }
    let mut found = BTreeSet::new();
    for runs in threads.iter().map(|t| t.iter()).multi_cartesian_product() {
        for execution in consistent(libraries, world, &runs, 500)? {
            let last = |cell| execution.last(libraries, cell).unwrap_or_else(|| initial(problem, cell));
            let finals = problem.observed.iter().map(|&cell| last(cell)).collect();
            found.insert(Outcome { outputs: execution.outputs.clone(), finals });
        }
    }
    Some(found)
}

fn initial(problem: &Problem<'_, Stamp>, cell: Cell) -> Val {
    let library = problem.world.objects[&cell.loc].library;
    problem.libraries.get(library).expect("a declared library").init(problem.world, cell)
}

/// The axioms agree with the enumeration of all candidates on random programs of a kind.
fn agrees_with_enumeration(kind: &Kind, cases: u64) {
    let mut compared = 0;
    let mut with_outcomes = 0;
    for seed in 0..cases {
        let text = random(kind, seed);
        let test = parsed(&text);
        if !values_agree(&test, &text) {
            continue;
        }
        let limits = Limits { rounds: 2, ..Limits::default() };
        with_problem(&libraries::<Stamp>(test.model), &test, &[], limits, |problem| {
            let Some(expected) = by_enumeration(problem, &[0, 1, 2, 3].map(Val::Int)) else { return };
            let found: BTreeSet<Outcome> = problem.outcomes().so_far().0.keys().cloned().collect();
            assert_eq!(expected, found, "{text}");
            compared += 1;
            with_outcomes += u64::from(!found.is_empty());
        });
    }
    assert!(compared * 2 >= cases, "{compared} of {cases} are compared");
    assert!(with_outcomes * 4 >= compared, "{with_outcomes} of {compared} have an outcome");
}

#[test]
fn waits_outside_the_branch_of_their_operation() {
    agrees_with_enumeration(&WAITS, 200);
}

#[test]
fn barriers_behind_a_branch() {
    agrees_with_enumeration(&BARRIERS, 150);
}

#[test]
fn locks_behind_a_branch() {
    agrees_with_enumeration(&LOCKS, 150);
}

/// A thread that hangs on one branch loses the outcomes of that branch and no others: what it wrote before counts.
#[test]
fn a_branch_that_hangs_loses_its_own_outcomes_only() {
    let mut lost = 0;
    for kind in [&POLLS, &LOCKS_BY_HAND, &MESSAGES] {
        for seed in 0..100 {
            let (nodes, mut columns) = random_columns(kind, seed);
            let plain = parsed(&text_of(kind, seed, &nodes, &columns));
            // No operation goes to node 3.
            columns[0].push(format!("if r1 = {} {{ poll(3) }}", seed % 3));
            let text = text_of(kind, seed, &nodes, &columns);
            let hanging = parsed(&text);
            let of = |test: &Test| outcomes(test, &solve(test, &[], Limits::default()));
            let (mut expected, found) = (of(&plain), of(&hanging));
            let before = expected.len();
            let hangs = [format!("r1={}", seed % 3), format!("P1:r1={}", seed % 3)];
            expected.retain(|outcome| !outcome.split(' ').any(|value| hangs.contains(&value.to_owned())));
            lost += before - expected.len();
            assert_eq!(expected, found, "{text}");
        }
    }
    assert!(lost > 50, "{lost} outcomes are those of branches that hang");
}

/// A poll outside the branch of its operation: the value that leads to the operation is found.
#[test]
fn a_thread_that_would_wait_for_ever_has_written_before() {
    let one = "{ x@1 = 1; z@2 = 0; }\n P1@1 ;\n x := 0 ;\n a := x ;\n if a = 0 { put(z, x) } ;\n poll(2) ;\n";
    for model in ["RDMA_TSO", "RDMA_SC"] {
        let test = parsed(&format!("{model} t {one}"));
        assert_eq!(outcomes(&test, &solve(&test, &[], Limits::default())), BTreeSet::from(["a=0".to_owned()]));
    }
    let two = "RDMA_TSO t { x@1 = 0; y@1 = 0; z@2 = 0; }\n P1@1 | P2@1 ;\n x := 1 | await x = 1 ;\n a := y | y := 1 ;\n \
               if a = 1 { put(z, x) } ;\n poll(2) ;\n";
    let test = parsed(two);
    assert_eq!(outcomes(&test, &solve(&test, &[], Limits::default())), BTreeSet::from(["a=1".to_owned()]));
}

/// A loop that receives until a certain message comes ends when all messages are taken.
#[test]
fn a_loop_of_receives_is_complete() {
    let text = "RDMA_TSO+messages t { nodes 2; }\n P1@1 | P2@2 ;\n send(2, 1) | a := recv() ;\n \
                send(2, 2) | while a != 2 { ;\n | a := recv() ;\n | } ;\n";
    let test = parsed(text);
    let answer = solve_with(Engine::Both, &test, Limits::default()).unwrap();
    assert_eq!(answer.explored.stop, None);
    assert_eq!(outcomes(&test, &answer), BTreeSet::from(["a=2".to_owned()]));
}
