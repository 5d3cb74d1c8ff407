//! Random programs with operations in branches, and waits for them outside: the search loses no outcome.
//!
//! A thread that waits for ever still writes before it waits, and other threads, or the same thread on another branch, may
//! read that. So a program has outcomes whose values come from beginnings of threads that have no end.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_check::litmus::run::{Answer, Engine, libraries, solve, solve_with, with_problem};
use mowgli_check::litmus::test::Test;
use mowgli_core::event::{Cell, Shape};
use mowgli_core::search::denote::{Trace, Unfolder};
use mowgli_core::search::enumerate::consistent;
use mowgli_core::search::outcome::{Outcome, Outcomes};
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::search::runs::Run;
use mowgli_core::value::Val;

mod random;

use random::{
    ATOMICS, BARRIERS, CRASHES, GLOBAL_ATOMICS, Kind, LOCKS, LOCKS_BY_HAND, MESSAGES, POLLS, SUMS, WAITS, parsed,
    random, random_columns, random_events, text_of,
};

/// Asserts that each way to find values has the same outcomes, if both searches are complete. Returns whether they are.
fn values_agree(test: &Test, text: &str) -> bool {
    let limits = Limits { rounds: 2, ..Limits::default() };
    with_problem(&libraries(test.model), test, &[], limits, |problem| {
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

/// Returns the outcomes of a test, each as text.
fn outcomes(test: &Test, answer: &Answer) -> BTreeSet<String> {
    let row = |values: &Vec<Val>| test.shown.iter().zip(values).map(|((name, _), v)| format!("{name}={v}")).join(" ");
    answer.outcomes.keys().map(row).collect()
}

/// Asserts that the axioms and the machine agree on outcomes and on stuck executions, for random programs of a kind.
/// Nearly all of them must be complete.
fn agrees_with_the_machine(kind: &Kind, cases: u64) {
    agree_with_the_machine(&|seed| random(kind, seed), cases);
}

/// Asserts the same for programs that `program` makes from seeds.
fn agree_with_the_machine(program: &dyn Fn(u64) -> String, cases: u64) {
    let mut complete = 0;
    let (mut with_outcomes, mut with_stuck) = (0, 0);
    for seed in 0..cases {
        let text = program(seed);
        let test = parsed(&text);
        let answer = solve_with(Engine::Both, &test, Limits::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        complete += u64::from(answer.explored.stop.is_none() && values_agree(&test, &text));
        with_outcomes += u64::from(!answer.outcomes.is_empty());
        with_stuck += u64::from(!answer.kinds().is_empty());
    }
    assert!(with_stuck * 4 >= cases, "{with_stuck} of {cases} have an execution that is stuck");
    assert!(complete * 20 >= cases * 19, "{complete} of {cases} are complete");
    assert!(with_outcomes * 4 >= cases, "{with_outcomes} of {cases} have an outcome");
}

#[test]
fn polls_outside_the_branch_of_their_operation() {
    agrees_with_the_machine(&POLLS, 250);
}

#[test]
fn locks_by_hand_behind_a_branch() {
    agrees_with_the_machine(&LOCKS_BY_HAND, 100);
}

#[test]
fn locks_by_hand_whose_owner_may_crash() {
    agrees_with_the_machine(&CRASHES, 60);
}

#[test]
fn receives_outside_the_branch_of_the_message() {
    agrees_with_the_machine(&MESSAGES, 100);
}

#[test]
#[ignore = "takes half a minute"]
fn more_operations_in_a_branch() {
    for (kind, cases) in [(&POLLS, 900), (&LOCKS_BY_HAND, 300), (&CRASHES, 200), (&MESSAGES, 300)] {
        agrees_with_the_machine(kind, cases);
    }
    for (kind, cases) in [(&WAITS, 200), (&BARRIERS, 150), (&LOCKS, 150)] {
        agrees_with_enumeration(kind, cases);
    }
}

#[test]
fn sums_and_comparisons_by_order() {
    agrees_with_the_machine(&SUMS, 60);
}

#[test]
#[ignore = "takes half a minute"]
fn more_sums_and_comparisons_by_order() {
    agrees_with_the_machine(&SUMS, 300);
}

#[test]
fn atomic_operations_of_card_and_cpu() {
    agrees_with_the_machine(&ATOMICS, 40);
    agrees_with_the_machine(&GLOBAL_ATOMICS, 40);
}

#[test]
#[ignore = "takes half a minute"]
fn more_atomic_operations_of_card_and_cpu() {
    agrees_with_the_machine(&ATOMICS, 300);
    agrees_with_the_machine(&GLOBAL_ATOMICS, 200);
}

#[test]
fn completions_and_events() {
    agree_with_the_machine(&random_events, 120);
}

#[test]
#[ignore = "takes a minute"]
fn more_completions_and_events() {
    agree_with_the_machine(&random_events, 1000);
}

/// Returns every outcome whose values come from a fixed set, by every run and every candidate execution; `None` if
/// there are too many.
fn by_enumeration(problem: &Problem<'_>, values: &[Val]) -> Option<BTreeSet<Outcome>> {
    let Problem { libraries, implementations, world, .. } = *problem;
    let unfolder = Unfolder { libraries, implementations, world, rounds: 1, limit: 500, expired: &|| false };
    let mut threads: Vec<Vec<Run>> = Vec::new();
    for (thread, program) in world.tids().zip(problem.programs) {
        let unfolding = unfolder.unfold(thread, program, &|_| values.to_vec());
        let shaped = |trace: Trace| {
            let shapes = trace.events.iter().map(|e| libraries.of(&e.call).shapes(world, e));
            let all: Vec<Vec<Shape>> = shapes.multi_cartesian_product().collect();
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

fn initial(problem: &Problem<'_>, cell: Cell) -> Val {
    let library = problem.world.objects[&cell.loc].library;
    problem.libraries.get(library).expect("a declared library").init(problem.world, cell)
}

/// Asserts that the axioms agree with the enumeration of all candidates on random programs of a kind.
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
        with_problem(&libraries(test.model), &test, &[], limits, |problem| {
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
    agrees_with_enumeration(&WAITS, 80);
}

#[test]
fn barriers_behind_a_branch() {
    agrees_with_enumeration(&BARRIERS, 50);
}

#[test]
fn locks_behind_a_branch() {
    agrees_with_enumeration(&LOCKS, 50);
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
