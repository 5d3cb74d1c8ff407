//! The language of litmus tests: branches, loops, awaits, assumptions, arrays, and the errors for slips. Random
//! programs are printed, parsed again, and solved in two ways that share nothing but the program.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use mowgli::litmus::condition::{Comparison, Condition};
use mowgli::litmus::parse::parse;
use mowgli::litmus::print;
use mowgli::litmus::run::{Answer, Engine, explore, libraries, solve, solve_with, walk, with_problem};
use mowgli::litmus::test::{Arg, Claim, Liveness, Observable, RegisterCondition, Sign, Statement, Test};
use mowgli::litmus::x86::to_herd;
use mowgli::robust::robust;
use mowgli_core::ids::{Loc, Name};
use mowgli_core::search::problem::Limits;
use mowgli_core::search::runs::Stop;
use mowgli_core::value::Val;
use mowgli_tests::{files, litmus, outcomes, papers, solved};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Rows of two threads on node 1, over words x and y on it and z on node 2, and an array w of three words.
fn text(model: &str, rows: &str) -> String {
    let declared = "{ nodes 2; x@1 = 0; y@1 = 0; z@2 = 0; w@1[3] = (5, 6, 7); }";
    format!("{model} t\n{declared}\n P1@1 | P2@1 ;\n{rows}")
}

fn of(model: &str, rows: &str) -> Test {
    parse("t.litmus", &text(model, rows)).unwrap()
}

/// Returns the outcomes of rows of RDMA_TSO, on which the axioms and the machine agree.
fn both(rows: &str) -> BTreeSet<String> {
    let test = of("RDMA_TSO", rows);
    let answer = solve_with(Engine::Both, &test, Limits::default()).unwrap();
    assert_eq!(answer.explored.stop, None, "{rows}");
    outcomes(&test, &answer)
}

fn set<const N: usize>(all: [&str; N]) -> BTreeSet<String> {
    all.map(str::to_owned).into()
}

#[test]
fn a_branch_is_taken_where_its_condition_holds() {
    let rows = " x := 1 | a := x ;\n | if a = 1 { ;\n | b := 2 ;\n | } else { ;\n | b := 3 ;\n | } ;\n";
    assert_eq!(both(rows), set(["a=0 b=3", "a=1 b=2"]));
    let rows = " x := 1 | a := x ;\n y := 1 | if a = 1 { b := y } ;\n";
    assert_eq!(both(rows), set(["a=0 b=0", "a=1 b=0", "a=1 b=1"]));
    let one_cell = " x := 2 | a := x ;\n | if a = 1 { b := 1 } else if a = 2 { b := 4 } else { b := 9 } ;\n";
    assert_eq!(both(one_cell), set(["a=0 b=9", "a=2 b=4"]));
    let nested =
        " x := 1 | a := x ;\n y := 1 | if a = 1 { ;\n | b := y ;\n | if b = a { ;\n | c := 7 ;\n | } ;\n | } ;\n";
    assert_eq!(both(nested), set(["a=0 b=0 c=0", "a=1 b=0 c=0", "a=1 b=1 c=7"]));
}

#[test]
fn comparisons_by_order_are_of_integers() {
    let rows = |guard: &str| format!(" x := 1 | a := x ;\n x := 2 | if {guard} {{ b := 1 }} ;\n");
    assert_eq!(both(&rows("a < 1")), set(["a=0 b=1", "a=1 b=0", "a=2 b=0"]));
    assert_eq!(both(&rows("a <= 1")), set(["a=0 b=1", "a=1 b=1", "a=2 b=0"]));
    assert_eq!(both(&rows("a > 1")), set(["a=0 b=0", "a=1 b=0", "a=2 b=1"]));
    assert_eq!(both(&rows("a >= 1")), set(["a=0 b=0", "a=1 b=1", "a=2 b=1"]));
    assert_eq!(both(" x := 1 | a := await x >= 1 ;\n x := 2 | ;\n"), set(["a=1", "a=2"]));
    assert_eq!(
        both(" a := bot | ;\n if a < 1 \\/ a >= 1 { b := 1 } | ;\n if a != 1 { c := 1 } | ;\n"),
        set(["a=bot b=0 c=1"])
    );
    let test = of("RDMA_TSO", " x := 1 | a := x ;\nforall (a <= 1 /\\ 0 <= a)\nforall (a < 1)\nallowed (a >= x)\n");
    assert_eq!(solve(&test, &[], Limits::default()).holds, [Some(true), Some(false), Some(true)]);
}

/// Solves rows of RDMA_TSO by the machine.
fn operational(rows: &str) -> Answer {
    solve_with(Engine::Operational, &of("RDMA_TSO", rows), Limits::default()).unwrap()
}

/// An element of an array and a number are the element so many places behind it. The difference of two is a number.
#[test]
fn sums_with_an_element_are_elements() {
    let behind = " a := &w[0] | ;\n b := a + 1 | ;\n c := b - 1 | ;\n d := b - a | ;\n *b := 4 | ;\n e := w[1] | ;\n i := 1 | ;\n f := i + b | ;\n";
    assert_eq!(both(behind), set(["a=w[0] b=w[1] c=w[0] d=1 e=4 f=w[2] i=1"]));
    let sent = " a := &w[0] | ;\n put(z, a + 2) | ;\n if a + 1 = a { b := 1 } | ;\n c := a - a | ;\nlocations [z;]\n";
    assert_eq!(both(sent), set(["a=w[0] b=0 c=0 z=w[2]"]));
    // Behind the array there is nothing to write.
    let past = of("RDMA_TSO", " a := &w[2] | ;\n b := a + 1 | ;\n *b := 1 | ;\n");
    let why = solve(&past, &[], Limits::default()).stop().expect("w[3] is no word").to_string();
    assert!(why.contains("w[3] is not declared"), "{why}");
    for sum in ["b := a + 1", "b := a - c", "b := d - c"] {
        let wrong = format!(" a := &x | ;\n c := &w[0] | ;\n d := 1 | ;\n {sum} | ;\n");
        assert!(solve(&of("RDMA_TSO", &wrong), &[], Limits::default()).stop().is_some(), "{sum}");
    }
}

/// An atomic addition to an element goes to the next one, and to a value without a sum it is an error.
#[test]
fn atomic_additions_to_locations() {
    let text = |init: &str, row: &str| {
        format!(
            "RDMA_TSO t\n{{ y@1 = 7; w@1[3] = 0; o@1 = 0; p@2 = {init}; q@1 = {init}; }}\n P1@1 ;\n {row} ;\nlocations [p; q;]\nallowed (true)\n"
        )
    };
    for (row, shown) in [("rfaa(o, p, 1)", "p=w[1]"), ("o := faa(q, 1)", "q=w[1]")] {
        let row = row.replace("o := faa", "a := faa");
        let test = parse("t.litmus", &text("&w[0]", &row)).unwrap();
        let answer = solve_with(Engine::Both, &test, Limits::default()).unwrap();
        assert_eq!(answer.stop(), None, "{row}");
        let shown_there = outcomes(&test, &answer);
        assert!(shown_there.iter().all(|o| o.contains(shown)) && shown_there.len() == 1, "{shown_there:?}");
        let wrong = parse("t.litmus", &text("&y", &row)).unwrap();
        for engine in [Engine::Declarative, Engine::Operational] {
            let answer = solve_with(engine, &wrong, Limits::default()).unwrap();
            let why = answer.stop().expect("y is no array").to_string();
            assert!(why.contains("which is &y: only numbers have sums"), "{why}");
        }
    }
    let x86 = "X86_TSO t\n{ w[2] = 0; p = &w[0]; }\n P1 ;\n a := faa(p, 1) ;\n b := p ;\n *b := 8 ;\nlocations [w[1];]\nforall (w[1]=8)\n";
    let test = parse("t.litmus", x86).unwrap();
    assert_eq!(solve(&test, &[], Limits::default()).verdict(&test).text(), "holds");
}

#[test]
fn sums_are_of_registers_and_numbers() {
    let sums = " a := x | x := 5 ;\n b := 2 | ;\n c := a + b | ;\n d := a - b + 1 - c | ;\n";
    assert_eq!(both(sums), set(["a=0 b=2 c=2 d=-3", "a=5 b=2 c=7 d=-3"]));
    let everywhere = " a := 1 | ;\n x := a + a | ;\n i := w[a + a] | ;\n put(z, i - a) | ;\n if i - a = 6 { b := 1 } | ;\n \
                      await x = a + b | ;\nlocations [z;]\n";
    assert_eq!(both(everywhere), set(["a=1 b=1 i=7 z=6"]));
    for sum in ["c := a + b", "c := b - a", "c := b + 1 + a", "put(z, a + b)", "if a + 1 = b { c := 1 }", "x := a + 1"]
    {
        let wrong = format!(" a := bot | ;\n b := 1 | ;\n {sum} | ;\n");
        let sum = sum.split(" {").next().expect("a statement");
        for answer in [solve(&of("RDMA_TSO", &wrong), &[], Limits::default()), operational(&wrong)] {
            let why = answer.stop().expect("it has no sum").to_string();
            assert!(
                why.contains(&format!("`{sum}")) && why.contains("in line 6") && why.contains("numbers have sums"),
                "{why}"
            );
        }
    }
    assert_eq!(both(" a := bot | ;\n b := a + 0 | ;\n"), set(["a=bot b=bot"]), "no number is added");
    let wraps = " a := 9223372036854775807 | ;\n b := a + a | ;\n c := b - a | ;\n";
    assert_eq!(both(wraps), set(["a=9223372036854775807 b=-2 c=9223372036854775807"]));
}

/// The number of an element is a number of its own array: no location, and no word behind the last one.
#[test]
fn elements_have_numbers() {
    let head = "RDMA_TSO t\n{ w@1[3] = (7, 8, 9); v@1[3] = 0; l@1 = 0; r@2 = 0; }\n P1@1 ;\n a := &w[1] ;\n b := 3 ;\n";
    for (row, element) in [
        ("c := v[a]", "w[1] is the number of no element of v"),
        ("c := w[a]", "w[1] is the number of no element of w"),
        ("w[a + 1] := 1", "w[2] is the number of no element of w"),
        ("get(l, v[a])", "w[1] is the number of no element of v"),
        ("c := &v[a]", "w[1] is the number of no element of v"),
        ("await v[a] = 1", "w[1] is the number of no element of v"),
        ("a := &w[2] ;\n d := a + 1 ;\n c := *d", "w[3] is not declared"),
        ("*b := 1", "3 is no location"),
        ("a := &r ;\n c := *a", "r is on node 2, and P1 on node 1"),
        ("c := v[b]", "v[3] is not declared"),
        ("v[b - 4] := 1", "v[-1] is not declared"),
    ] {
        let test = parse("t.litmus", &format!("{head} {row} ;\n")).unwrap();
        for engine in [Engine::Declarative, Engine::Operational] {
            let why = solve_with(engine, &test, Limits::default()).unwrap().stop().expect(row).to_string();
            let line = format!("in line {}", 6 + row.matches('\n').count());
            assert!(why.contains(element) && why.contains(&line), "{row}: {why}");
        }
    }
}

/// A value that a lock, a barrier, a store or a poll forbids has no element, and no execution has it. One that is allowed is an error,
/// also if other threads then wait for ever.
#[test]
fn elements_count_in_executions() {
    let polls = "RDMA_TSO t\n{ k@2 = 9; z@2 = 0; s@1 = 0; w@2[2] = 0; }\n P1@1 | P2@2 ;\n put(k, s) | get(k, z) ;\n ";
    let both = "RDMA_WAIT t\n{ barrier b = {P1, P2}; weak lock l at 1; kvstore m = (7, bot); x@1 = 9; w@1[2] = 0; }\n P1@1 | P2@1 ;\n ";
    for (head, rows, wanted) in [
        (polls, "| poll(2) ;\n | c := k ;\n | w[c] := 1", Ok("c=0")),
        (polls, "| c := k ;\n | w[c] := 1", Err("w[9] is not declared")),
        (both, "x := 1 | bar(b) ;\n bar(b) | c := x ;\n | w[c] := 4", Ok("c=1")),
        (both, "x := 1 | bar(b) ;\n bar(b) | c := x ;\n bar(b) | w[c] := 4 ;\n | bar(b)", Ok("c=1")),
        (both, "bar(b) | bar(b) ;\n x := 1 | c := x ;\n bar(b) | w[c] := 4 ;\n | bar(b)", Err("w[9] is not declared")),
        (
            both,
            "acq(l) | acq(l) ;\n x := 2 | c := x ;\n x := 0 | assume c != 9 ;\n rel(l) | w[c] := 4 ;\n | rel(l)",
            Ok("c=0"),
        ),
        (both, "acq(l) | acq(l) ;\n x := 1 | c := x ;\n rel(l) | w[c] := 4 ;\n | rel(l)", Err("w[9] is not declared")),
        (both, "acq(l) | acq(l) ;\n | c := x ;\n | w[c] := 4 ;\n | rel(l)", Err("w[9] is not declared")),
        (
            both,
            "x := 1 | d := m.lookup(0) ;\n e := m.update(0, 8) | c := x ;\n | assume d = 8 ;\n | w[c] := 1",
            Ok("c=1 d=8 e=true"),
        ),
        (
            both,
            "x := 1 | d := m.lookup(0) ;\n e := m.update(0, 8) | c := x ;\n | assume d = 7 ;\n | w[c] := 1",
            Err("w[9] is not declared"),
        ),
    ] {
        let test = parse("t.litmus", &format!("{head}{rows} ;\n")).unwrap();
        let answer = solve(&test, &[], Limits::default());
        match wanted {
            Ok(outcome) => assert_eq!((outcomes(&test, &answer), answer.stop()), (set([outcome]), None), "{rows}"),
            Err(why) => {
                assert!(answer.stop().is_some_and(|stop| stop.to_string().contains(why)), "{rows}: {:?}", answer.stop())
            }
        }
    }
}

/// A map has one key, bottom stands for no value in maps and in queues, and a store serves the messages of other nodes.
#[test]
fn keys_and_values_of_objects() {
    for (row, fault) in [
        ("a := s.insert(1, 5)", "1 is no key of s: there is 1, from 0"),
        ("a := s.lookup(bot)", "bot is no key of s: there is 1, from 0"),
        ("a := s.update(0, bot)", "bot is no value of s: it stands for none"),
        ("a := q.enq(bot)", "bot is no value of q: it stands for room"),
        ("a := m.insert(0, bot)", "bot is no value of m: it stands for none"),
        ("a := r.submit(true)", "true is no message of r: a message is an integer, or a tuple of at least two"),
        ("a := r.submit((1, &x))", "is no message of r"),
        ("a := r.submit((5))", "is no message of r"),
        ("m.serve", "m has no messages: no thread is on another node"),
        ("a := m.tryserve", "m has no messages: no thread is on another node"),
    ] {
        let objects = "map s@1; queue q@1; kvstore m = (7); ring r = P1 -> {P1}; x@1 = 0;";
        let text = format!("RDMA_WAIT t {{ {objects} }}\n P1@1 ;\n {row} ;\n");
        let why = parse("t.litmus", &text).expect_err(row).to_string();
        assert!(why.contains(fault) && why.contains("t.litmus:3:2"), "{row}: {why}");
    }
}

/// A thread that writes again and again has ever more in its store buffer.
#[test]
fn a_run_that_does_not_end_is_given_up_after_some_steps() {
    let test = of("RDMA_TSO", " while true { | x := 1 ;\n x := 0 | ;\n a := x | ;\n } | ;\n");
    let walked = (0..4).map(|seed| walk(&test, seed, &|| false).unwrap());
    let unended: Vec<String> = walked.filter(|walked| walked.unended).map(|walked| walked.text()).collect();
    let said = |text: &String| text.contains("The run has not ended after 500 steps: another --seed");
    assert!(!unended.is_empty() && unended.iter().all(said));
}

/// The first value of a word breaks the assumption, but the thread's own write before it does not.
#[test]
fn an_assumption_holds_of_what_the_thread_wrote_itself() {
    assert_eq!(both(" x := 1 | ;\n a := x | ;\n assume a = 1 | ;\n"), set(["a=1"]));
    assert_eq!(both(" x := 1 | b := y ;\n a := x | ;\n assume a > 0 | ;\n y := a | ;\n"), set(["a=1 b=0", "a=1 b=1"]));
}

#[test]
fn an_await_is_the_read_that_ends_it() {
    assert_eq!(both(" x := 1 | await y = 1 ;\n y := 1 | a := x ;\n"), set(["a=1"]));
    assert_eq!(both(" x := 1 | a := await x != 0 ;\n x := 2 | ;\n"), set(["a=1", "a=2"]));
    assert_eq!(both(" await y = 1 | y := 1 ;\n await x = 1 | x := 1 ;\n"), set([""]));
    // A waiting thread's own write satisfies the other thread that waits for it.
    assert_eq!(both(" x := 2 | await x = 2 ;\n await x = 1 | x := 1 ;\n"), set([""]));
    // It waits for ever: no execution ends.
    assert_eq!(both(" await y = 1 | a := x ;\n"), set([]));
    // A lock: one of the two has the word at a time.
    let lock = " await cas(y, 0, 1) = 0 | await cas(y, 0, 1) = 0 ;\n a := x | b := x ;\n x := 1 | x := 2 ;\n c := x | d := x ;\n y := 0 | y := 0 ;\n";
    assert_eq!(both(lock), set(["a=0 b=1 c=1 d=2", "a=2 b=0 c=1 d=2"]));
    // The network is waited for too.
    assert_eq!(both(" put(x, x) | ;\n x := 1 | ;\n").len(), 1);
    let put = " x := 1 | await x = 1 ;\n put(z, x) | get(y, z) ;\n poll(2) | poll(2) ;\n | a := y ;\n";
    assert_eq!(both(put), set(["a=0", "a=1"]));
}

#[test]
fn a_loop_has_rounds_until_its_condition_fails() {
    let spins = " x := 1 | a := 0 ;\n y := 1 | while a != 1 { ;\n | a := y ;\n | } ;\n | b := x ;\n";
    assert_eq!(both(spins), set(["a=1 b=1"]));
    let counts = " i := 0 | ;\n while i != 3 { | ;\n s := w[i] | ;\n i := i + 1 | ;\n } | ;\n";
    assert_eq!(both(counts), set(["i=3 s=7"]));
    let never = " a := 1 | b := x ;\n while a = 1 { | ;\n a := 1 | ;\n } | ;\n";
    assert_eq!(both(never), set([]));
    let not_begun = " a := 1 | ;\n while a = 0 { x := 1 } | b := x ;\n";
    assert_eq!(both(not_begun), set(["a=1 b=0"]));
    // A value that was read in an earlier iteration is kept, if it is shown.
    let remembers = " x := 1 | a := 0 ;\n x := 2 | while a != 2 { ;\n | a := x ;\n | if a = 1 { b := 1 } ;\n | } ;\n";
    assert_eq!(both(remembers), set(["a=2 b=0", "a=2 b=1"]));
    let nested = " x := 1 | a := 0 ;\n y := 1 | while a = 0 { ;\n | a := x ;\n | await y = 1 ;\n | } ;\n";
    assert_eq!(both(nested), set(["a=1"]));
}

/// If the iterations of a loop begin with other values each time, or have effects, the machine stops at the limit. The
/// answer reports that.
#[test]
fn a_loop_without_end_is_cut_and_the_answer_says_so() {
    let grows = " a := 0 | x := 1 ;\n b := 0 | ;\n while b = 0 { | ;\n b := x | ;\n a := a + 1 | ;\n } | ;\n";
    let acts = " b := 0 | await y = 1 ;\n while b = 0 { | x := 1 ;\n y := 1 | ;\n b := x | ;\n } | ;\n";
    for rows in [grows, acts] {
        let test = of("RDMA_TSO", rows);
        for rounds in [0, 1, 2] {
            let limits = Limits { rounds, ..Limits::default() };
            let machine = explore(&test, limits).unwrap().0;
            assert!(matches!(machine.explored.stop, Some(Stop::Rounds(_))), "{:?}", machine.explored.stop);
            let axioms = solve(&test, &[], limits);
            assert!(machine.outcomes.keys().all(|o| axioms.outcomes.contains_key(o)), "{rows}");
            if rows == grows {
                let stop = axioms.explored.stop;
                assert!(matches!(stop, Some(Stop::Rounds(_))), "{stop:?}");
                assert_eq!(axioms.outcomes.len(), rounds + 1);
            }
        }
    }
}

#[test]
fn what_is_assumed_takes_executions_away() {
    assert_eq!(both(" x := 1 | a := x ;\n | b := x ;\n | assume a != b ;\n"), set(["a=0 b=1"]));
    assert_eq!(both(" x := 1 | a := x ;\n | assume a = 0 /\\ ~(a = 1) \\/ a = 7 ;\n"), set(["a=0"]));
    assert_eq!(both(" a := x | assume true ;\n assume a = 5 | ;\n"), set([]));
}

#[test]
fn arrays_are_words_by_number() {
    assert_eq!(both(" i := x | x := 1 ;\n a := w[i] | x := 2 ;\n"), set(["a=5 i=0", "a=6 i=1", "a=7 i=2"]));
    assert_eq!(both(" i := 1 | ;\n w[i + 1] := i | ;\n a := w[2] | ;\n b := w[i - 1] | ;\n"), set(["a=1 b=5 i=1"]));
    assert_eq!(
        both(" put(z, w[1]) | ;\n poll(2) | ;\n get(w[0], z) | ;\n poll(2) | ;\n a := w[0] | ;\n"),
        set(["a=6"])
    );
    assert_eq!(both(" i := 1 | ;\n put(z, w[i]) | ;\n poll(2) | ;\nlocations [z; w[2];]\n"), set(["i=1 w[2]=7 z=6"]));
    let outside = of("RDMA_TSO", " i := 3 | ;\n a := w[i] | ;\n");
    for answer in [solve(&outside, &[], Limits::default()), explore(&outside, Limits::default()).unwrap().0] {
        let said = answer.explored.stop.map(|stop| stop.to_string()).unwrap_or_default();
        assert!(said.contains("w[3] is not declared"), "{said}");
    }
    let all = "CORE_RMA t { v@1[2] = 3; u@2 = 0; }\n P1@1 ;\n v[0] := 4 ;\n put(u, v[1]) ;\n flush(2) ;\nforall (u=3 /\\ v[0] = 4)\n";
    let (test, answer) = solved("t", all).unwrap();
    assert_eq!((answer.holds, test.observed.len()), (vec![Some(true)], 2));
}

#[test]
fn locations_are_values_that_registers_hold() {
    let x86 = |rows: &str| {
        let text = format!("X86_TSO t {{ p = &w[1]; w[3] = (5, 6, 7); x = 0; }}\n P1 | P2 ;\n{rows}");
        let (test, answer) = solved("t", &text).unwrap();
        outcomes(&test, &answer)
    };
    assert_eq!(x86(" a := p | ;\n b := *a | ;\n"), set(["a=w[1] b=6"]));
    let moves =
        " i := x | x := 2 ;\n p := &w[i] | ;\n a := p | ;\n *a := 9 | ;\n b := w[i] | ;\nlocations [w[0]; w[2];]\n";
    assert_eq!(x86(moves), set(["a=w[0] b=9 i=0 w[0]=9 w[2]=7", "a=w[2] b=9 i=2 w[0]=5 w[2]=9"]));
    let far = "RDMA_TSO t { p@1 = &z; y@2 = 4; z@2 = 3; l@1 = 0; }\n P1@1 | P2@1 ;\n a := p | p := &y ;\n get(l, *a) | ;\n poll(2) | ;\n b := l | ;\n";
    let test = parse("t", far).unwrap();
    let answer = solve_with(Engine::Both, &test, Limits::default()).unwrap();
    assert_eq!(outcomes(&test, &answer), set(["a=y b=4", "a=z b=3"]));
    let here = of("RDMA_TSO", " a := &z | ;\n b := *a | ;\n");
    for answer in [solve(&here, &[], Limits::default()), explore(&here, Limits::default()).unwrap().0] {
        let said = answer.explored.stop.map(|stop| stop.to_string()).unwrap_or_default();
        assert!(said.contains("z is on node 2, and P1 on node 1"), "{said}");
    }
    assert_eq!(x86(" a := &x | x := 1 ;\n await *a = 1 | ;\n if a = &x { b := 3 } | ;\n"), set(["a=x b=3"]));
}

/// A put of a register sends the register's value at that moment, whatever is written later.
#[test]
fn a_register_can_be_put() {
    let rows = " a := x | x := 2 ;\n put(z, a + 1) | ;\n a := 7 | ;\n poll(2) | ;\n get(y, z) | ;\n poll(2) | ;\n b := y | ;\n";
    assert_eq!(both(rows), set(["a=7 b=1", "a=7 b=3"]));
    let branch = " a := x | x := 1 ;\n if a = 1 { put(z, a) } | ;\nlocations [z;]\n";
    assert_eq!(both(branch), set(["a=0 z=0", "a=1 z=1"]));
    let test = of("RDMA_TSO", rows);
    assert_eq!(test.texts()[0].len(), 7);
    assert_eq!(robust(&test, None, &|| false).unwrap().is_robust(), Some(true));
}

/// A register can stand anywhere in a tuple: in a message, a put, a comparison, an assertion.
#[test]
fn registers_stand_in_tuples() {
    let ring = |rows: &str| {
        let head = "RDMA_WAIT t { ring q = P1 -> {P2} size 4; x@1 = 4; }\n P1@1 | P2@2 ;\n a := x | ;\n";
        let test = parse("t", &format!("{head}{rows}")).unwrap_or_else(|e| panic!("{e}"));
        let answer = solve(&test, &[], Limits::default());
        (outcomes(&test, &answer), answer.holds)
    };
    let rows =
        " submit(q, (a, a + 1, a)) | b := await receive(q) != bot ;\nforall (b = (4, 5, 4))\nforall (b = (a, 5, a))\n";
    assert_eq!(ring(rows), (set(["a=4 b=(4, 5, 4)"]), vec![Some(true), Some(true)]));
    let rows = " submit(q, (a, 1)) | c := 4 ;\n | b := await receive(q) != bot ;\n | if b = (c, 1) { d := (b, c) } ;\n";
    assert_eq!(ring(rows).0, set(["a=4 b=(4, 1) c=4 d=((4, 1), 4)"]));
    assert_eq!(both(" x := (7, 1) | c := 7 ;\n | await x = (c, 1) ;\n"), set(["c=7"]));
    assert_eq!(
        both(" a := x | ;\n put(z, (a, 2)) | ;\n x := (1, a) | ;\nlocations [x; z;]\n"),
        set(["a=0 x=(1, 0) z=(0, 2)"])
    );
    let rows = " a := x | ;\n put(z, (a, 1)) | if true { b := (7, 1) } ;\nforbidden (z = (a, 1))\n";
    is_printed(&of("RDMA_TSO", rows));
}

/// A call of a user's library prints computed arguments as data too.
#[test]
fn registers_are_printed_as_data() {
    let test = parse("t", "X86_TSO t { treiber s; }\n P1 ;\n a := 1 ;\n s.push((a, a + 1)) ;\n s.push(a) ;\n").unwrap();
    assert!(print::test(&test).contains(" s.push((a, a + 1)) ;\n s.push(a)"), "{}", print::test(&test));
}

#[test]
fn conditions_compare_what_is_shown() {
    let with = |condition: &str| {
        let rows = format!(" x := 1 | a := x ;\n | b := x ;\nforall ({condition})\n");
        let test = of("RDMA_TSO", &rows);
        solve(&test, &[], Limits::default()).holds[0]
    };
    assert_eq!(with("a = b \\/ b = x"), Some(true));
    assert_eq!(with("a != b"), Some(false));
    assert_eq!(with("P2:b != 0 \\/ P2:a = P2:b"), Some(true));
    assert_eq!(with("1 = x"), Some(true));
}

/// Branches and loops work with calls of libraries with implementations too.
#[test]
fn branches_and_loops_are_for_all_libraries() {
    let sv = "RDMA_WAIT t { svar s = 0; x@2 = 0; }\n P1@1 | P2@2 ;\n s.write(1) | await s.read = 1 ;\n s.bcast({2}, d) | x := 1 ;\nforall (s@2 = 1)\n";
    let (test, answer) = solved("t", sv).unwrap();
    assert_eq!((answer.holds, answer.outcomes.len()), (vec![Some(true)], 1), "{}", test.name);
    let ring = "RDMA_WAIT t { ring q = P1 -> {P2} size 4; }\n P1@1 | P2@2 ;\n submit(q, 3) | a := await receive(q) != bot ;\n | if a = 3 { b := 1 } ;\nforall (a = 3 /\\ b = 1)\n";
    let (test, answer) = solved("t", ring).unwrap();
    assert_eq!(
        (answer.holds, outcomes(&test, &solve(&test, &[], Limits::default()))),
        (vec![Some(true)], set(["a=3 b=1"]))
    );
}

#[test]
fn slips_are_reported_with_place_and_remedy() {
    let says = |rows: &str, said: &[&str]| {
        let error = parse("t.litmus", &text("RDMA_TSO", rows)).expect_err(rows);
        said.iter().for_each(|s| assert!(error.to_string().contains(s), "{rows} does not say {s:?} but\n{error}"));
    };
    says(
        " a := x | ;\n if a = 1 { | ;\n x := 1 | ;\n",
        &["t.litmus:5:2", "this block is not closed", "write } in a later row"],
    );
    says(" a := x | } ;\n", &["t.litmus:4:11", "this } closes nothing"]);
    says(" a := x | ;\n if a == 1 { | ;\n } | ;\n", &["t.litmus:5:", "there is no =="]);
    says(" a := x | ;\nforbidden (a == 1)\n", &["t.litmus:5:", "there is no =="]);
    says(
        " a := x | ;\n while x = 1 { | ;\n } | ;\n",
        &["t.litmus:5:8", "x is declared", "read it first, as a := x", "await x = 1"],
    );
    says(" if a = 1 { | ;\n } | ;\n", &["t.litmus:4:5", "a is neither declared nor a register that was set before"]);
    says(
        " a := x | ;\n while a = 1 { | ;\n put(z, a) | ;\n } | ;\n",
        &["t.litmus:6:9", "w@1 = 0", "write w := a before the put"],
    );
    says(" a := x | ;\n if a = 1 | ;\n", &["t.litmus:5:2", "if is written as if a = 1 {"]);
    says(" a := x | ;\n } else { | ;\n", &["this else belongs to no if"]);
    says(" a := x | ;\n while a = 1 { | ;\n } else { | ;\n } | ;\n", &["this else belongs to no if"]);
    says(" a := x | ;\n if a = 1 { } else { } else { } | ;\n", &["this else belongs to no if"]);
    says(" else { | ;\n", &["else is written as } else {"]);
    says(" for i = 1 | ;\n", &["t.litmus:4:2", "there is no for", "while a != 1 {"]);
    says(" await x | ;\n", &["await is written as await x = 1"]);
    says(" await x == 1 | ;\n", &["there is no =="]);
    says(" await x => 1 | ;\n", &["at least as >="]);
    says(" a := x | ;\n if a =< 1 { b := 1 } | ;\n", &["t.litmus:5:2", "at most is written as <="]);
    says(" a := 1 | ;\n b := a + x | ;\n", &["t.litmus:5:11", "read into a register first"]);
    says(" a := 1 | ;\n b := a + c | ;\n", &["t.litmus:5:11", "c is neither declared nor a register"]);
    says(" a := 1 | ;\nforbidden (a + a = 2)\n", &["an assertion has no sums", "b := a + 1"]);
    says(" a := 1 | ;\n await a = 1 | ;\n", &["await reads memory", "a register does not change"]);
    says(" await mfence() = 1 | ;\n", &["this returns nothing"]);
    says(" await xchg(x, 1) = 0 | ;\n", &["xchg(x, 1) does more than look"]);
    says(" await cas(x, 0, 1) = 1 | ;\n", &["does more than look"]);
    says(" assume x = 1 | ;\n", &["x is declared"]);
    says(" a := 1 | assume a = 1 ;\n", &["t.litmus:4:18", "a is neither"]);
    says(" a := 1 | ;\n assume P1:a = 1 | ;\n", &["its own registers only"]);
    says(" a := (1, x) | ;\n", &["t.litmus:4:11", "one statement accesses memory once"]);
    says(" put(z, (1, x)) | ;\n", &["t.litmus:4:13", "one statement accesses memory once"]);
    says(
        " a := x | ;\n while a = 1 { | ;\n put(z, (a, 1)) | ;\n } | ;\n",
        &["(a, 1) is made of registers", "write w := (a, 1)"],
    );
    says(" a := w[3] | ;\n", &["w has 3 words, w[0] to w[2]"]);
    says(" a := x[0] | ;\n", &["x is no array; one is declared as x@1[2] = 0;"]);
    says(" v[0] := 1 | ;\n", &["v is no array"]);
    says(" i := 0 | ;\n a := x[i] | ;\n", &["x is no array"]);
    says(" i := 0 | ;\n z := w[i] | ;\n", &["one statement reads or writes memory"]);
    let declares = |declared: &str, said: &str| {
        let error = parse("t", &format!("RDMA_TSO t {{ {declared} }}\n P1@1 ;\n mfence ;\n")).expect_err(declared);
        assert!(error.to_string().contains(said), "{declared}: {error}");
    };
    declares("v@1[0] = 0;", "an array has from 1 to 64 words");
    declares("v@1[2] = (0, 0, 0);", "one value, or a tuple of 2");
    declares("v@1[2];", "an array is declared as x@1[2] = 0;");
    declares("v@1[2] = 0; v@1 = 0;", "v is declared twice");
    declares("v@1 = 0; v@1[2] = 0;", "v is declared twice");
    for row in ["if a = 1 {", "await x = 1", "assume a = 1", "a := v[a]", "a := a + a"] {
        let text = format!("CORE_RMA t {{ x@1 = 0; v@1[2] = 0; }}\n P1@1 ;\n a := x ;\n {row} ;\n");
        let error = parse("t", &text).expect_err(row);
        assert!(error.to_string().contains("CORE_RMA"), "{row}: {error}");
    }
}

/// Every consumer of tests has an answer, or names the statement that it does not support.
#[test]
fn what_other_languages_and_theories_lack_is_reported() {
    let rows = " x := 1 | await y = 1 ;\n y := 1 | a := x ;\n | if a = 1 { b := 2 } ;\n | while b = 7 { b := x } ;\nforbidden (a=0)\n";
    let test = of("RDMA_TSO", rows);
    let herd = to_herd(&of("RDMA_TSO", " x := 1 | await y = 1 ;\n")).unwrap_err();
    assert!(herd.to_string().contains("line 4: await y = 1 has no counterpart"), "{herd}");
    let herd = to_herd(&of("RDMA_TSO", " a := x | a := x ;\nforbidden (P1:a = P2:a)\n")).unwrap_err();
    assert!(herd.to_string().contains("an equation that is not between a name and a value"), "{herd}");
    let sum = to_herd(&of("RDMA_TSO", " a := x | ;\n b := 1 | ;\n a := b + a | ;\n")).unwrap();
    let added = ["movl %ecx,%r15d", "addl %ebx,%r15d", "movl %r15d,%ebx"];
    let rows: Vec<&str> = sum.lines().map(|row| row.split('|').next().unwrap_or_default().trim()).collect();
    assert!(rows.windows(3).any(|three| three == added), "{sum}");
    let herd = to_herd(&of("RDMA_TSO", " a := x | b := x ;\nforbidden (P1:a < 1)\n")).unwrap_err();
    assert!(herd.to_string().contains("a comparison by order"), "{herd}");
    let found = robust(&test, None, &|| false).unwrap();
    assert_eq!(found.is_robust(), Some(true));
    assert!(found.text().contains("without if, while, await, assume"), "{}", found.text());
    let buffers = " x := 1 | y := 1 ;\n a := y | b := x ;\n if a = 1 { x := 2 } | ;\n";
    let buffers = of("RDMA_TSO", buffers);
    let found = robust(&buffers, None, &|| false).unwrap();
    assert_eq!(found.is_robust(), Some(false));
    assert_eq!(found.fixed("").unwrap(), None);
}

#[test]
fn a_walk_passes_rounds_that_only_look() {
    let test = of("RDMA_TSO", " x := 1 | await y = 1 ;\n y := 1 | a := x ;\n");
    for seed in 0..20 {
        let walked = walk(&test, seed, &|| false).unwrap();
        assert_eq!(walked.end, Some(vec![("a".to_owned(), "1".to_owned())]));
    }
    let waits = " x := 1 | a := 0 ;\n | while a != 2 { ;\n | a := y ;\n | a := x ;\n | } ;\n";
    for seed in 0..20 {
        assert_eq!(walk(&of("RDMA_TSO", waits), seed, &|| false).unwrap().end, None);
    }
}

fn register(name: &str) -> Name {
    Name::new(name)
}

fn guard() -> impl Strategy<Value = RegisterCondition> {
    let arg = || {
        prop_oneof![
            (0..3_i64).prop_map(|i| Arg::Val(Val::Int(i))),
            Just(Arg::Register(register("a"), 0)),
            Just(Arg::Register(register("b"), 0)),
            Just(Arg::Register(register("b"), 1)),
            Just(Arg::Sum(Box::new(Arg::Register(register("b"), 0)), Sign::Minus, register("a"))),
        ]
    };
    let left = prop_oneof![Just("a"), Just("b")].prop_map(|r| Arg::Register(register(r), 0));
    let comparison = prop::sample::select(&Comparison::ALL[..]);
    let compare = (left, comparison, arg()).prop_map(|(left, by, right)| Condition::Compare(left, by, right));
    compare.prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|c| Condition::Not(Box::new(c))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Condition::And(vec![a, b])),
            (inner.clone(), inner).prop_map(|(a, b)| Condition::Or(vec![a, b])),
        ]
    })
}

/// Chooses a statement of a model, as it is written.
fn plain(words: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    prop::sample::select(words).prop_map(|s| vec![s.to_owned()])
}

/// Prints a condition.
fn shown(guard: &RegisterCondition) -> String {
    let side = |arg: &Arg| match arg {
        Arg::Val(v) => v.to_string(),
        Arg::Register(r, 0) => r.to_string(),
        Arg::Register(r, k) => format!("{r} + {k}"),
        Arg::Sum(b, sign, r) => format!("{} {sign} {r}", b.registers()[0]),
        Arg::Element(..) | Arg::Tuple(_) | Arg::Sent(..) => unreachable!("guards have none"),
    };
    match guard {
        Condition::Compare(a, by, b) => format!("{} {by} {}", side(a), side(b)),
        Condition::Not(c) => format!("~({})", shown(c)),
        Condition::And(all) => format!("({}) /\\ ({})", shown(&all[0]), shown(&all[1])),
        Condition::Or(all) => format!("({}) \\/ ({})", shown(&all[0]), shown(&all[1])),
    }
}

/// Generates blocks of these statements.
fn block(words: &'static [&'static str], depth: u32) -> BoxedStrategy<Vec<String>> {
    let one = if depth == 0 {
        plain(words).boxed()
    } else {
        let inner = || block(words, depth - 1);
        prop_oneof![
            5 => plain(words),
            1 => guard().prop_map(|g| vec![format!("assume {}", shown(&g))]),
            2 => (guard(), inner()).prop_map(|(g, yes)| [vec![format!("if {} {{", shown(&g))], yes, vec!["}".to_owned()]].concat()),
            1 => (guard(), inner(), inner()).prop_map(|(g, yes, no)| {
                [vec![format!("if {} {{", shown(&g))], yes, vec!["} else {".to_owned()], no, vec!["}".to_owned()]].concat()
            }),
            2 => (guard(), inner()).prop_map(|(g, body)| {
                [vec![format!("while {} {{", shown(&g))], body, vec!["}".to_owned()]].concat()
            }),
        ]
        .boxed()
    };
    prop::collection::vec(one, 1..=3).prop_map(|all| all.concat()).boxed()
}

/// Generates tests of two threads that begin with their registers at 0.
fn programs(model: &'static str, words: &'static [&'static str]) -> impl Strategy<Value = String> {
    (block(words, 2), block(words, 2)).prop_map(move |(p, q)| {
        let column = |head: &str, rows: Vec<String>| {
            [vec![head.to_owned(), "a := 0".to_owned(), "b := 0".to_owned()], rows].concat()
        };
        let table = print::table(vec![column("P1@1", p), column("P2@1", q)]);
        format!("{model} t\n{{ nodes 2; x@1 = 0; y@1 = 0; z@2 = 0; w@1[2] = (0, 1); }}\n{table}locations [x; y;]\n")
    })
}

const ALIKE: &[&str] = &[
    "a := x",
    "b := y",
    "a := a + 1",
    "b := a + b",
    "x := 1",
    "y := 1",
    "x := a",
    "y := b + 1",
    "x := a - b",
    "a := cas(x, 0, 1)",
    "b := b",
    "await x = 1",
    "b := await y != 0",
    "await x > 0",
    "await cas(y, 0, 2) = 0",
    "a := w[1]",
    "w[1] := a",
    "mfence",
];

const OF_TSO: &[&str] = &[
    "a := x",
    "b := y",
    "a := a + 1",
    "a := a + b - 1",
    "x := 1",
    "y := 1",
    "x := a",
    "a := cas(x, 0, 1)",
    "await x = 1",
    "await x >= 1",
    "b := await y != 0",
    "mfence",
    "put(z, x)",
    "get(y, z)",
    "poll(2)",
    "await cas(y, 0, 2) = 0",
];

const OF_WAIT: &[&str] = &[
    "a := x",
    "b := y",
    "a := a + 1",
    "a := a + b - 1",
    "x := 1",
    "y := 1",
    "x := a",
    "a := cas(x, 0, 1)",
    "await x = 1",
    "await x >= 1",
    "b := await y != 0",
    "put(z, x, d)",
    "get(y, z, d)",
    "wait(d)",
    "put(z, 1, e)",
];

/// Runs so many cases, the same each time.
fn runner(cases: u32) -> TestRunner {
    TestRunner::new_with_rng(
        Config { cases, failure_persistence: None, max_global_rejects: 100_000, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    )
}

/// Returns the parts of a test that printing and parsing have to preserve.
fn same(test: &Test) -> impl PartialEq + std::fmt::Debug {
    let conditions: Vec<_> = test.assertions.iter().map(|a| (a.quantifier, a.condition.clone())).collect();
    let threads: Vec<_> = test.threads.iter().map(|t| (t.name, t.statements.clone(), t.registers.clone())).collect();
    (
        test.model,
        test.name.clone(),
        test.description.clone(),
        test.world.clone(),
        threads,
        test.observed.clone(),
        conditions,
    )
}

/// Returns the assertions of a test on stuck executions, without lines.
fn claims(test: &Test) -> Vec<String> {
    let claim = |l: &Liveness| match &l.claim {
        Claim::Hangs(waiters) => waiters.iter().map(|(thread, line)| format!("{thread} {}", line.is_some())).join(" "),
        _ => l.text.clone(),
    };
    test.liveness.iter().map(claim).collect()
}

fn is_printed(test: &Test) {
    let printed = print::test(test);
    let again = parse("printed", &printed).unwrap_or_else(|e| panic!("{printed}\n{e}"));
    assert_eq!((same(test), claims(test)), (same(&again), claims(&again)), "{printed}");
}

/// Assertions on stuck executions are printed, too. The printed ones name the lines of the printed statements.
#[test]
fn assertions_on_hangs_are_printed() {
    for (rows, holds) in [
        (
            " x := 1 | await x = 2 ;\nstuck (x=1)\nhangs (P2 at line 4)\nends\nmay hang\nhangs (P1 /\\ P2)\n",
            [1, 1, 0, 1, 0],
        ),
        (
            " a := 1 | b := 0 while b != 1 { b := y } ;\n | c := 1 ;\nstuck (a=1)\nhangs (P2 at line 4)\nends\nhangs (P2 at line 5)\nmay hang\n",
            [1, 1, 0, 0, 1],
        ),
    ] {
        let test = of("RDMA_TSO", rows);
        is_printed(&test);
        let printed = parse("printed", &print::test(&test)).unwrap();
        for test in [test, printed] {
            assert_eq!(solve(&test, &[], Limits::default()).liveness, holds.map(|holds| Some(holds == 1)), "{rows}");
        }
    }
}

#[test]
fn what_is_printed_is_read_as_the_same_test() {
    let own = files(&litmus()).into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    for text in own.chain(papers().into_values()) {
        is_printed(&parse("t", &text).unwrap());
    }
    for rows in [
        " i := 0 | a := x ;\n w[i + 1] := i | if a = 1 { b := 2 } else if a = 2 { b := 3 } ;\n put(z, w[i]) | while a != 1 { } ;\n",
        " put(z, 1) | put(z, 2) ;\nforall (x != y /\\ true)\n",
        " a := 1 | b := await x >= 1 ;\n w[a + a] := a - a - 2 | if b < b + b { b := w[b - b] } ;\nforall (a <= b)\n",
        " rxchg(x, z, 1) | a := faa(x, 1) ;\n rxchg@q2(x, z, 1) | b := xchg(x, a + a) ;\n",
    ] {
        is_printed(&of("RDMA_TSO", rows));
    }
    is_printed(&of(
        "RDMA_TSO+events",
        " arm | a := trypoll(2) ;\n event | b := trypollany() ;\n | if a = true { arm } ;\n",
    ));
    let x86 = "X86_TSO t { p = &w[1]; w[2] = (&w[0], 1); }\n A | B ;\n a := p | ;\n b := *a | ;\n *a := &w[0] | ;\n p := &w[b] | ;\n";
    is_printed(&parse("t", x86).unwrap());
    for words in [ALIKE, OF_TSO] {
        runner(400)
            .run(&programs("RDMA_TSO", words), |text| {
                is_printed(&parse("t", &text).unwrap());
                Ok(())
            })
            .unwrap();
    }
}

/// Checks that both ways agree on all programs. Returns the number of those with an answer that no limit cut short.
fn agreeing(cases: u32, of: impl Strategy<Value = String>, agree: impl Fn(&Test) -> Result<bool, String>) -> u32 {
    let complete = std::cell::Cell::new(0);
    let result = runner(cases).run(&of, |text| {
        let test = parse("t", &text).map_err(|e| TestCaseError::fail(format!("{text}\n{e}")))?;
        let is_complete = agree(&test).map_err(|e| TestCaseError::fail(format!("{text}\n{e}")))?;
        complete.set(complete.get() + u32::from(is_complete));
        Ok(())
    });
    result.unwrap_or_else(|e| panic!("{e}"));
    complete.get()
}

/// A thread of the interpreter: its position, and its registers.
type Running = (usize, BTreeMap<Name, Val>);

/// An interpreter of a sequentially consistent CPU. It works statement by statement, without programs, unrolled loops,
/// and engines.
struct Interleaved<'a> {
    test: &'a Test,
}

impl Interleaved<'_> {
    fn value(registers: &BTreeMap<Name, Val>, arg: &Arg) -> Val {
        let of = |r: &Name| registers.get(r).copied().unwrap_or(Val::Int(0));
        match arg {
            Arg::Tuple(all) => Val::tuple(&all.iter().map(|arg| Self::value(registers, arg)).collect::<Vec<_>>()),
            Arg::Val(v) => *v,
            Arg::Register(r, k) => of(r).plus(*k).unwrap(),
            Arg::Sum(to, sign, r) => {
                let k = of(r).int().unwrap();
                let k = if *sign == Sign::Plus { k } else { k.wrapping_neg() };
                Self::value(registers, to).plus(k).unwrap()
            }
            Arg::Element(x, number) => Loc::new(&format!("{x}[{}]", Self::value(registers, number))).into(),
            Arg::Sent(..) => unreachable!("nothing is sent"),
        }
    }

    /// Returns the position behind the first statement after `from` that closes a block at its depth. With `other`, an
    /// `else` closes it too.
    fn after(all: &[Statement], from: usize, other: bool) -> usize {
        let mut depth = 0;
        for (at, s) in all.iter().enumerate().skip(from + 1) {
            match s {
                Statement::If(_) | Statement::While(_) => depth += 1,
                Statement::End if depth == 0 => return at + 1,
                Statement::Else if depth == 0 && other => return at + 1,
                Statement::End => depth -= 1,
                _ => {}
            }
        }
        unreachable!("blocks are closed")
    }

    /// Returns the statement that opened the block that ends at `end`.
    fn opening(all: &[Statement], end: usize) -> usize {
        let is_own = |at: &usize| all[*at].opens() && Self::after(all, *at, false) == end + 1;
        (0..end).find(is_own).unwrap()
    }

    /// Makes a call, and returns its result.
    fn call(statement: &Statement, registers: &BTreeMap<Name, Val>, memory: &mut BTreeMap<Loc, Val>) -> Val {
        let Statement::Call { method, args, .. } = statement else { unreachable!("a call") };
        let args: Vec<Val> = args.iter().map(|arg| Self::value(registers, arg)).collect();
        let word = || args[0].loc().unwrap();
        match *method {
            "Read" => memory[&word()],
            "Write" => memory.insert(word(), args[1]).map_or(Val::Unit, |_| Val::Unit),
            "CAS" => {
                let old = memory[&word()];
                if old == args[1] {
                    memory.insert(word(), args[2]);
                }
                old
            }
            "Mfence" => Val::Unit,
            other => unreachable!("{other}"),
        }
    }

    /// Makes one step of a thread. Returns `None` if it has ended, or if an assumption fails.
    fn step(&self, t: usize, (at, registers): &Running, memory: &mut BTreeMap<Loc, Val>) -> Option<Running> {
        let all = &self.test.threads[t].statements;
        let holds = |guard: &RegisterCondition| guard.is_true(&|arg| Self::value(registers, arg));
        let to = |at: usize| Some((at, registers.clone()));
        let with = |register: Option<Name>, v: Val| {
            let mut registers = registers.clone();
            register.map(|r| registers.insert(r, v));
            Some((at + 1, registers))
        };
        match all.get(*at)? {
            Statement::Set(r, arg) => with(Some(*r), Self::value(registers, arg)),
            call @ Statement::Call { register, .. } => {
                let v = Self::call(call, registers, memory);
                with(*register, v)
            }
            Statement::Await { call, until, value } => {
                let v = Self::call(call, registers, memory);
                if until.holds(v, Self::value(registers, value)) { with(call.register(), v) } else { to(*at) }
            }
            Statement::Assume(guard) => {
                if holds(guard) {
                    to(at + 1)
                } else {
                    None
                }
            }
            Statement::If(guard) | Statement::While(guard) if holds(guard) => to(at + 1),
            Statement::If(_) => to(Self::after(all, *at, true)),
            Statement::While(_) => to(Self::after(all, *at, false)),
            Statement::Else => to(Self::after(all, *at, false)),
            Statement::End => {
                let opening = Self::opening(all, *at);
                to(if matches!(all[opening], Statement::While(_)) { opening } else { at + 1 })
            }
        }
    }

    fn outcomes(&self) -> Option<BTreeSet<Vec<Val>>> {
        let memory: BTreeMap<Loc, Val> = self.test.world.objects.iter().map(|(x, o)| (*x, o.init)).collect();
        let threads: Vec<Running> = vec![(0, BTreeMap::new()); self.test.threads.len()];
        let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
        let mut todo = vec![(threads, memory)];
        while let Some((threads, memory)) = todo.pop() {
            if seen.len() > 20_000 {
                return None;
            }
            if !seen.insert((threads.clone(), memory.clone())) {
                continue;
            }
            if threads.iter().zip(&self.test.threads).all(|((at, _), t)| *at == t.statements.len()) {
                found.insert(
                    self.test
                        .shown
                        .iter()
                        .map(|(_, o)| match *o {
                            Observable::Register(t, r) => {
                                threads[t].1.get(&self.test.threads[t].registers[r]).copied().unwrap_or(Val::Int(0))
                            }
                            Observable::Final(cell) => memory[&self.test.observed[cell].loc],
                        })
                        .collect(),
                );
            }
            for t in 0..threads.len() {
                let mut memory = memory.clone();
                if let Some(after) = self.step(t, &threads[t], &mut memory) {
                    let mut threads = threads.clone();
                    threads[t] = after;
                    todo.push((threads, memory));
                }
            }
        }
        Some(found)
    }
}

#[test]
fn programs_do_what_their_statements_say() {
    random_programs_do_what_their_statements_say(300);
}

#[test]
#[ignore = "takes a quarter of a minute"]
fn more_programs_do_what_their_statements_say() {
    random_programs_do_what_their_statements_say(1500);
}

/// Compares the programs that are made of statements with an interpreter of the statements themselves. On one node
/// RDMA-SC is sequential consistency.
fn random_programs_do_what_their_statements_say(cases: u32) {
    let agree = |test: &Test| {
        let answer = solve(test, &[], Limits { rounds: 4, ..Limits::default() });
        let Some(interleaved) = (Interleaved { test }).outcomes() else { return Ok(false) };
        let found: BTreeSet<Vec<Val>> = answer.outcomes.into_keys().collect();
        match answer.explored.stop {
            None if found != interleaved => Err(format!("{found:?}\n{interleaved:?}")),
            Some(_) if !found.is_subset(&interleaved) => Err(format!("more: {found:?}\n{interleaved:?}")),
            stop => Ok(stop.is_none()),
        }
    };
    let complete = agreeing(cases, programs("RDMA_SC", ALIKE), agree);
    assert!(complete > cases / 3 * 2, "{complete}");
}

/// Compares the axioms of RDMA-TSO-RMW with its machine, on programs with branches and loops.
#[test]
fn axioms_and_machine_agree_on_branches_and_loops() {
    let limits = Limits { rounds: 2, ..Limits::default() };
    let agree =
        |test: &Test| Ok(solve_with(Engine::Both, test, limits).map_err(|e| e.to_string())?.explored.stop.is_none());
    let complete =
        agreeing(500, programs("RDMA_TSO", ALIKE), agree) + agreeing(500, programs("RDMA_TSO", OF_TSO), agree);
    assert!(complete > 600, "{complete}");
}

/// Compares the search that lets values flow with its twin that guesses them, on programs with branches and loops.
#[test]
fn flow_and_guesses_agree_on_branches_and_loops() {
    let limits = Limits { rounds: 2, traces: 20_000, ..Limits::default() };
    let libraries = libraries(of("RDMA_WAIT", "").model);
    let agree = |test: &Test| {
        with_problem(&libraries, test, &[], limits, |problem| {
            let flowing = problem.outcomes_by_flow().ok_or("a value comes out of nowhere")?;
            let guessed = problem.outcomes_by_guessing();
            let is_complete = flowing.explored.stop.is_none() && guessed.explored.stop.is_none();
            if is_complete && flowing.so_far().0 != guessed.so_far().0 {
                return Err(format!("{:?}\n{:?}", flowing.so_far().0, guessed.so_far().0));
            }
            Ok(is_complete)
        })
    };
    let complete = agreeing(500, programs("RDMA_WAIT", OF_WAIT), agree);
    assert!(complete > 250, "{complete}");
}

/// A later iteration begins with the registers of the one before. The thread has these where it stops, and no others.
#[test]
fn a_thread_that_stops_in_a_later_iteration_has_its_registers() {
    let text = "RDMA_TSO+crashes t { crash(P1); x@1 = 0; y@1 = 0; }
 P1@1 ; a := x ; b := 0 ; x := 2 ; while b = 0 { ; a := x ; y := 1 ; } ;
locations [y;]
";
    let test = parse("t", text).unwrap();
    for engine in [Engine::Declarative, Engine::Operational] {
        let found = outcomes(&test, &solve_with(engine, &test, Limits::default()).unwrap());
        let expected = ["a=0 b=0 y=0", "a=2 b=0 y=0", "a=2 b=0 y=1"].map(str::to_owned);
        assert_eq!(found, BTreeSet::from(expected), "{engine:?}");
    }
}

/// A loop that counts and makes no call ends where its condition says so, or it is a limit.
#[test]
fn loops_that_count_end_or_are_a_limit() {
    let text =
        |until: &str| format!("RDMA_TSO t {{ x@1 = 0; }}\n P1@1 ; a := x ; while {until} {{ ; a := a + 1 ; }} ;\n");
    for engine in [Engine::Declarative, Engine::Operational] {
        let solved = |until: &str| {
            let test = parse("t", &text(until)).unwrap();
            let answer = solve_with(engine, &test, Limits { rounds: 900, ..Limits::default() }).unwrap();
            (outcomes(&test, &answer), answer.explored.stop)
        };
        assert_eq!(solved("a < 600"), (BTreeSet::from(["a=600".to_owned()]), None), "{engine:?}");
        let (found, stop) = solved("a >= 0");
        assert!(found.is_empty() && matches!(stop, Some(Stop::Rounds(_))), "{engine:?}: {stop:?}");
    }
    let test = parse("t", &text("a >= 0")).unwrap();
    assert!(walk(&test, 1, &|| false).is_err(), "the run has no end");
}
