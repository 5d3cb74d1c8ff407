//! Executions of litmus tests that are stuck: by the axioms, by a simulation of locks and barriers, and case by case.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use itertools::Itertools;
use mowgli_check::catalogue::Catalogue;
use mowgli_check::litmus::parse::{parse, parse_in};
use mowgli_check::litmus::print::{self, Dialect, OwnLibrary};
use mowgli_check::litmus::run::{Answer, Engine, TestVerdict, replaced, solve, solve_in, solve_with};
use mowgli_check::litmus::stuck::{self, StuckKind};
use mowgli_check::litmus::test::{Arg, Model, Statement, Test};
use mowgli_core::search::problem::Limits;
use mowgli_core::simple::Simple;
use mowgli_core::soundness::client::Client;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::Returns;
use mowgli_libraries::prelude::*;

mod liveness;
#[allow(dead_code, reason = "what other tests use")]
mod random;

use random::{CRASHES, LOCKS_BY_HAND, MESSAGES, POLLS, parsed, random_columns, text_of};

fn solved(text: &str) -> (Test, Answer) {
    let test = parsed(text);
    let answer = solve(&test, &[], Limits::default());
    assert_eq!(answer.stop(), None, "{text}");
    (test, answer)
}

/// Prints the stuck executions as the command does, without the reasons.
fn reported(test: &Test, answer: &Answer) -> Vec<String> {
    let text = stuck::text(test, answer.kinds());
    text.lines().map(|line| line.split(": ").next().expect("a line has a beginning").to_owned()).collect()
}

/// A thread that reads nothing repeats its effects for ever, alone and beside others. Where others see them, an execution is over when
/// the others have ended.
#[test]
fn effects_without_a_read_are_repeated_for_ever() {
    let text =
        |server: &str, rows: &str| format!("RDMA_TSO t {{ x@1 = 0; y@2 = 0; {server} }}\n P1@1 | P2@1 ;\n{rows}");
    for (rows, stuck) in [
        (" while true { | ;\n x := 1 | ;\n } | ;\n", &["Stuck ", "P1 at line 3, while true {"][..]),
        (
            " a := 1 | ;\n while a = 1 { | ;\n put(y, x) | ;\n poll(2) | ;\n } | ;\n",
            &["Stuck a=1;", "P1 at line 4, while a = 1 {"],
        ),
        (" if true { while true { | ;\n x := 1 | ;\n } } | ;\n", &["Stuck ", "P1 at line 3, while true {"]),
        (" while true { | await x = 1 ;\n x := 1 | ;\n } | ;\n", &["Stuck ", "P1 at line 3, while true {"]),
    ] {
        let test = parsed(&text("", rows));
        let answer = solve(&test, &[], Limits::default());
        assert_eq!(
            reported(&test, &answer).iter().map(|line| line.trim()).collect_vec(),
            stuck.iter().map(|s| s.trim()).collect_vec(),
            "{rows}"
        );
    }
    let two = "RDMA_TSO+messages t { x@1 = 0; y@2 = 0; }\n P1@1 | P2@2 ;\n";
    for (rows, kinds) in [
        // Each further round sends a message, so the second receive returns.
        (" while true { | a := recv() ;\n send(2, 7) | b := recv() ;\n } | ;\n", 0),
        // The second round reads what the first one wrote.
        (" while true { | ;\n rxchg(x, y, 1) | ;\n poll(2) | ;\n } | ;\n", 1),
    ] {
        let test = parsed(&format!("{two}{rows}"));
        let answer = solve(&test, &[], Limits::default());
        let waits = reported(&test, &answer).concat();
        assert!(answer.kinds().len() == kinds && !waits.contains("recv"), "{rows}: {waits}");
    }
    // Each round adds, so no round is the last one.
    let counts = parsed(&format!("{two} while true {{ | ;\n rfaa(x, y, 1) | ;\n poll(2) | ;\n }} | ;\nends\n"));
    assert_eq!(solve(&counts, &[], Limits::default()).liveness, [None]);
    let served = parsed(&text("server(P1);", " while true { | await x = 1 ;\n x := 1 | ;\n } | ;\nforall (x=1)\n"));
    assert_eq!(solve(&served, &[], Limits::default()).outcomes.len(), 1);
}

/// A server loops for ever: an execution is over when its clients have ended, and not before.
#[test]
fn servers_need_not_end() {
    let text = |server: &str, rows: &str| {
        format!(
            "RDMA_TSO t {{ x@1 = 1; z@2 = 0; q@2 = 0; s@1 = 0; {server} }}\n P1@1 | P2@2 ;\n put(z, x) | while true {{ ;\n \
             b := await s != 0 | a := await z != 0 ;\n | q := a + a ;\n | z := 0 ;\n | put(s, q) ;\n{rows} | }} ;\n\
             forbidden (b != 2)\n"
        )
    };
    let test = parsed(&text("server(P2);", ""));
    for engine in [Engine::Declarative, Engine::Operational] {
        let answer = solve_with(engine, &test, Limits::default()).unwrap();
        assert_eq!((answer.outcomes.len(), answer.kinds().len(), answer.verdict(&test)), (1, 0, TestVerdict::Holds));
    }
    let answer = solved(&text("", "")).1;
    assert_eq!((answer.outcomes.len(), answer.kinds().len()), (0, 1));
    // The client waits for a second answer to one question.
    let (test, answer) = solved(&text("server(P2);", " s := 0 | ;\n await s = 7 | ;\n"));
    assert_eq!((answer.outcomes.len(), answer.verdict(&test)), (0, TestVerdict::Vacuous));
    assert_eq!(answer.kinds().len(), 1, "{:?}", answer.kinds());
    assert!(parse("t", &text("server(P1, P2);", "")).unwrap_err().to_string().contains("all are servers"));
    assert_eq!(print::test(&parsed(&print::test(&test))), print::test(&test));
}

/// Two that take two locks in opposite orders: each may end, and both may wait for each other.
#[test]
fn locks_in_opposite_orders() {
    for lock in ["weak lock", "strong lock", "node lock"] {
        let (test, answer) = solved(&format!(
            "RDMA_WAIT t {{ {lock} l@1; {lock} m@1; }}\n P1@1 | P2@1 ;\n l.acq | m.acq ;\n m.acq | l.acq ;\n a := 1 | b := 1 ;\n \
             m.rel | l.rel ;\n l.rel | m.rel ;\n"
        ));
        assert_eq!(answer.outcomes.len(), 1);
        assert_eq!(reported(&test, &answer), ["Stuck a=0; b=0;", "  P1 at line 4, m.acq", "  P2 at line 4, l.acq"]);
        assert!(answer.is_stuck(&test));
    }
}

#[test]
fn a_lock_that_is_not_released() {
    let (test, answer) = solved(
        "RDMA_WAIT t { strong lock l@1; x@1 = 0; }\n P1@1 | P2@1 ;\n l.acq | l.acq ;\n x := 1 | b := x ;\n | l.rel ;\n",
    );
    assert_eq!(reported(&test, &answer), ["Stuck b=0;", "  P2 at line 3, l.acq"]);
    let text = stuck::text(&test, answer.kinds());
    assert!(text.contains("P1 does not make rel(l), as it has ended"), "{text}");
}

#[test]
fn a_barrier_to_which_a_participant_does_not_come() {
    let (test, answer) = solved(
        "RDMA_WAIT t { barrier b = {P1, P2}; }\n P1@1 | P2@2 ;\n bar(b) | bar(b) ;\n bar(b) | ;\n a := 1 | c := 1 ;\n",
    );
    assert_eq!(
        (answer.outcomes.len(), reported(&test, &answer)),
        (0, vec!["Stuck a=0; c=1;".into(), "  P1 at line 4, bar(b)".into()])
    );
}

/// A thread waits in one of two executions, and its register shows in which.
#[test]
fn a_poll_without_an_operation_on_that_branch() {
    let text = "RDMA_TSO t { x@1 = 0; z@2 = 0; }\n P1@1 | P2@1 ;\n a := x | x := 1 ;\n if a = 1 { put(z, x) } | ;\n poll(2) | ;\n";
    let (test, answer) = solved(text);
    assert_eq!(
        (answer.outcomes.len(), reported(&test, &answer)),
        (1, vec!["Stuck a=0;".into(), "  P1 at line 5, poll(2)".into()])
    );
    let claims = |claim: &str| solved(&format!("{text}{claim}\n")).1.liveness;
    assert_eq!(claims("ends\nmay hang"), [Some(false), Some(true)]);
    assert_eq!(claims("stuck (a=0)\nstuck (a=1)"), [Some(true), Some(false)]);
    assert_eq!(
        claims("hangs (P1 at line 5)\nhangs (P1 at line 4)\nhangs (P2)"),
        [Some(true), Some(false), Some(false)]
    );
}

/// A message for two that receive: one of them waits.
#[test]
fn a_receive_without_a_message() {
    let (test, answer) =
        solved("RDMA_TSO+messages t { nodes 2; }\n P1@1 | P2@2 | P3@2 ;\n send(2, 1) | a := recv() | b := recv() ;\n");
    let expected = ["Stuck a=1; b=0;", "  P3 at line 3, b", "Stuck a=0; b=1;", "  P2 at line 3, a"];
    assert_eq!(reported(&test, &answer).iter().map(|l| l.split(" :=").next().unwrap()).collect_vec(), expected);
}

/// The owner of a lock by hand may crash with it.
#[test]
fn an_owner_that_crashed() {
    let text = "RDMA_TSO+crashes t { crash(P2); l@1 = 0; }\n P1@1 | P2@1 ;\n await cas(l, 0, 1) = 0 | await cas(l, 0, 1) = 0 ;\n \
                a := 1 | l := 0 ;\n l := 0 | ;\n";
    let test = parsed(text);
    let answer = solve_with(Engine::Both, &test, Limits::default()).unwrap();
    assert_eq!(reported(&test, &answer), ["Stuck a=0;", "  P1 at line 3, await cas(l, 0, 1) = 0"]);
}

/// A thread that sleeps until a completion comes may sleep for ever if the completion has come before it asked for the event. Looking
/// again after that is the repair.
#[test]
fn sleeping_after_the_last_completion() {
    let both = |rows: &str| {
        let head =
            "RDMA_TSO+events t { x@1 = 1; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n a := trypoll(2) ;\n if a = false {\n";
        let test = parsed(&format!("{head}{rows} }} ;\n"));
        let answer = solve_with(Engine::Both, &test, Limits::default()).unwrap();
        (answer.outcomes.len(), reported(&test, &answer))
    };
    let asleep = vec!["Stuck a=false;".to_owned(), "  P1 at line 7, event".to_owned()];
    assert_eq!(both(" arm ;\n event ;\n poll(2) ;\n"), (2, asleep));
    assert_eq!(both(" arm ;\n a := trypoll(2) ;\n if a = false { event ;\n poll(2) }\n").1, Vec::<String>::new());
    // A request is answered once, and without one there is no event.
    let twice = both(" arm ;\n a := trypoll(2) ;\n if a = false { event ;\n event }\n").1;
    assert_eq!(twice, ["Stuck a=false;", "  P1 at line 9, event"]);
    assert_eq!(both(" event ;\n").1, ["Stuck a=false;", "  P1 at line 6, event"]);
}

/// Errors name the switch that a statement needs, and the switches that cannot be on together with it.
#[test]
fn events_are_of_a_switch() {
    let says = |model: &str, nodes: u8, row: &str, said: &str| {
        let text = format!("{model} t {{ nodes {nodes}; x@1 = 1; z@2 = 0; }}\n P1@1 ;\n {row} ;\n");
        let error = parse("t", &text).expect_err(&text);
        assert!(error.to_string().contains(said), "{error}");
    };
    for (row, name) in
        [("arm", "arm"), ("event", "event"), ("a := trypoll(2)", "trypoll"), ("a := trypollany", "trypollany")]
    {
        says("RDMA_TSO", 2, row, &format!("{name} is a statement of RDMA_TSO+events, and this test is of RDMA_TSO"));
    }
    says("RDMA_WAIT+events", 2, "arm", "the switch events is of RDMA_TSO, where threads poll");
    says("RDMA_TSO+events+crashes", 2, "arm", "events and crashes cannot be on together");
    says("RDMA_TSO+messages+events", 2, "arm", "messages and events cannot be on together");
    says("RDMA_TSO+events", 9, "arm", "may use 9 queue pairs to 9 nodes: the model distinguishes at most 8");
}

/// A loop that tries until a completion is there ends, and one without an operation does not.
#[test]
fn trying_until_a_completion_is_there() {
    let both = |first: &str| {
        let rows = format!(" {first} a := false ;\n while a = false {{ a := trypoll(2) }} ;\n");
        let test = parsed(&format!("RDMA_TSO+events t {{ x@1 = 1; z@2 = 0; }}\n P1@1 ;\n{rows}"));
        let answer = solve_with(Engine::Both, &test, Limits::default()).unwrap();
        assert_eq!(answer.stop(), None, "{rows}");
        (answer.outcomes.len(), answer.kinds().len())
    };
    assert_eq!(both("put(z, x) ;\n"), (1, 0));
    assert_eq!(both(""), (0, 1));
}

/// A loop that gets a word until it has a value is decided, whatever the bound on rounds.
#[test]
fn loops_that_look_remotely() {
    let text = |written: u8| {
        format!(
            "RDMA_TSO t {{ x@1 = 0; z@2 = 0; }}\n P1@1 | P2@2 ;\n a := 0 | z := {written} ;\n while a != 1 {{ | ;\n get(x, z) | ;\n \
             poll(2) | ;\n a := x | ;\n }} | ;\n"
        )
    };
    for rounds in [1, 3] {
        let limits = Limits { rounds, ..Limits::default() };
        let both = |text: &str| {
            let test = parsed(text);
            let answer = solve_with(Engine::Both, &test, limits).unwrap();
            assert_eq!(answer.stop(), None, "{text}");
            (answer.outcomes.len(), reported(&test, &answer))
        };
        assert_eq!(both(&text(1)), (1, Vec::new()));
        assert_eq!(both(&text(2)), (0, vec!["Stuck a=2;".into(), "  P1 at line 4, while a != 1 {".into()]));
    }
}

/// The search guesses values if libraries do not exclude thin air. It still knows the calls that may wait.
#[test]
fn locks_among_objects_of_x86() {
    let with = |first: &str| {
        solved(&format!(
            "X86_TSO t {{ treiber s; mcslock l; }}\n P1 | P2 ;\n s.push(1) | acq(l) ;\n {first} | a := s.pop ;\n | rel(l) ;\n"
        ))
    };
    let (test, answer) = with("");
    assert_eq!((answer.outcomes.len(), reported(&test, &answer).len()), (2, 0));
    let (test, answer) = with("acq(l)");
    assert_eq!(reported(&test, &answer)[..2], ["Stuck a=0;", "  P2 at line 3, acq(l)"]);
}

/// A round that leaves objects as they were is left out, also if its calls write: what it reads, and the sections that it closes.
#[test]
fn loops_that_leave_objects_as_they_were_are_decided() {
    let looks = [
        ("RDMA_WAIT", "counter c@1;", "0", "a := c.get", "b := c.inc"),
        ("RDMA_WAIT", "queue q@1;", "bot", "a := q.deq", "b := q.enq(1)"),
        ("RDMA_WAIT", "map m@1;", "bot", "a := m.lookup(0)", "b := m.insert(0, 1)"),
        ("RDMA_WAIT", "map m@1;", "false", "a := m.update(0, 2)", "b := m.insert(0, 1)"),
        ("X86_TSO", "treiber s;", "bot", "a := s.pop", "s.push(1)"),
        ("X86_TSO", "msqueue s;", "bot", "a := s.deq", "s.enq(1)"),
    ];
    let cases = looks.map(|(model, object, first, look, change)| {
        let rows =
            |change: &str| format!(" a := {first} | {change} ;\n while a = {first} {{ | ;\n {look} | ;\n }} | ;\n");
        (model, object, [rows(change), rows("")])
    });
    for (model, object, [changes, stays]) in &cases {
        let head = if *model == "X86_TSO" { "P1 | P2" } else { "P1@1 | P2@1" };
        let verdict = |rows: &str, assertion: &str| {
            let (test, answer) = solved(&format!("{model} t {{ {object} }}\n {head} ;\n{rows}{assertion}\n"));
            answer.verdict(&test)
        };
        assert_eq!(verdict(changes, "ends"), TestVerdict::Holds, "{changes}");
        assert_eq!(verdict(stays, "vacuous\nhangs (P1)"), TestVerdict::Holds, "{stays}");
    }
}

/// A loop that takes and releases a lock never ends, and neither does one that awaits a value again and again.
#[test]
fn loops_that_release_what_they_take_do_not_end() {
    let sections = " while true { | ;\n acq(l) | ;\n rel(l) | ;\n } | ;\n";
    let nested = " while true { | while true { ;\n await x = 1 | x := 1 ;\n } | x := 2 ;\n | } ;\n";
    for (head, rows) in [
        ("X86_TSO t { spinlock l; }\n P1 | P2 ;", sections),
        ("RDMA_WAIT t { weak lock l@1; }\n P1@1 | P2@1 ;", sections),
        ("RDMA_TSO t { x@1 = 0; }\n P1@1 | P2@1 ;", nested),
    ] {
        let test = parsed(&format!("{head}\n{rows}ends\n"));
        let answer = solve(&test, &[], Limits::default());
        assert_ne!(answer.verdict(&test), TestVerdict::Holds, "{head}\n{rows}");
    }
}

/// A thread that tries for ever to take a lock hangs, also if its rounds do more than look.
#[test]
fn attempts_with_effects_hang_while_the_lock_is_held() {
    let verdict = |rest: &str| {
        let test = parsed(&format!(
            "RDMA_WAIT t {{ try lock m@1; z@1 = 0; }}\n P1@1 | P2@1 ;\n b := false | m.acq ;\n while b = false {{ | {rest} ;\n \
             b := m.tryacq | ;\n z := 7 | ;\n }} | ;\n c := m.rel | ;\nends\n"
        ));
        let answer = solve(&test, &[], Limits::default());
        (answer.liveness[0], reported(&test, &answer).concat())
    };
    let (ends, waits) = verdict("await z = 9 ;\n | d := m.rel");
    assert!(ends == Some(false) && waits.contains("P1 at line 4, while b = false {"), "{ends:?} {waits}");
    assert_eq!(verdict("d := m.rel"), (Some(true), String::new()));
    // The bound on rounds leaves the answer open if another thread reads them.
    let (ends, waits) = verdict("await z = 7 ;\n | d := m.rel");
    assert!(ends != Some(false) && waits.is_empty(), "{waits}");
}

/// A thread that waits for one of the values which loops write in turn finds it. Where it may then go round an outer loop, or needs
/// several rounds, the answer is open. No answer is wrong, whether constants, sums or copies write the values.
#[test]
fn values_in_turn_are_found_or_undecided() {
    let turns = ["x := 1", "x := 2"];
    let sums = ["x := 1", "a := faa(x, 1)"];
    let copies = ["put(x, s, d)", "wait(d)", "put(x, t, d)", "wait(d)"];
    let liveness = |rounds: &[&str], waits: &[&str]| {
        let node = if rounds.len() == 4 { 2 } else { 1 };
        let head = format!("RDMA_WAIT t {{ x@1 = 0; s@2 = 1; t@2 = 2; }}\n P1@{node} | P2@1 ;");
        let columns = [[&["while true {"], rounds, &["}"]].concat(), waits.to_vec()];
        let text = in_columns(&head, &columns.map(|all| all.into_iter().map(ToOwned::to_owned).collect()));
        let test = parsed(&format!("{text}hangs (P1)\nhangs (P2)\n"));
        let liveness = solve(&test, &[], Limits::default()).liveness;
        assert_ne!(liveness[0], Some(false), "{text}");
        liveness[1]
    };
    let b_is = |n: u8| format!("if b = {n} {{");
    for rounds in [&turns[..], &sums, &copies] {
        let once = ["await x = 1", "await x = 2"].map(|wait| liveness(rounds, &[wait]));
        let is_right = if rounds == turns { once == [Some(false); 2] } else { !once.contains(&Some(true)) };
        assert!(is_right, "{rounds:?}: {once:?}");
        assert_eq!(liveness(rounds, &["await x = 3"]), Some(true), "{rounds:?}");
        let alternate = ["await x = 2", "await x = 1", "await x = 2", "await x = 1"];
        assert_ne!(liveness(rounds, &alternate), Some(true), "{rounds:?}");
        // One iteration that ends the loop reads both values twice, so others write for two rounds meanwhile.
        let reads = ["b := 0", "while b != 4 {", "b := x", &b_is(1), "b := x", &b_is(2), "b := x", &b_is(1), "b := x"];
        let leaves = [&b_is(2), "b := 4", "}", "}", "}", "}", "}"];
        assert_ne!(liveness(rounds, &[&reads[..], &leaves].concat()), Some(true), "{rounds:?}");
        let nested = ["while true {", "await x = 1", "await x = 2", "}"];
        assert_ne!(liveness(rounds, &nested), Some(false), "{rounds:?}");
        assert_eq!(liveness(rounds, &["b := 0", "while b != 3 {", "b := x", "}"]), Some(true), "{rounds:?}");
    }
    // Each iteration of the second thread makes 2, and its next one may find that before the first thread writes again.
    let own = ["b := 0", "while b != 2 {", "b := faa(x, 1)", "}"];
    assert_ne!(liveness(&["x := 1", "mfence"], &own), Some(true));
    // Two loops write a value each.
    let two = "RDMA_WAIT t { x@1 = 0; }\n P1@1 | P2@1 | P3@1 ;\n while true { | while true { | await x = 1 ;\n x := 1 | x := 2 | ;\n \
               } | } | ;\nhangs (P3)\n";
    assert_ne!(solve(&parsed(two), &[], Limits::default()).liveness, [Some(true)]);
}

/// To await that a call is true is to await that it is not false, for each method with a truth value.
#[test]
fn truth_values_are_awaited_in_two_ways() {
    let tries = [
        ("RDMA_WAIT", "try lock l@1;", "l.tryacq", "l.rel"),
        ("RDMA_WAIT", "try lock l@1;", "l.rel", "l.rel"),
        ("RDMA_WAIT", "ring q = P1 -> {P2} size 4;", "submit(q, 1)", ""),
        ("RDMA_WAIT", "kvstore m = (0, bot);", "m.insert(1, 4)", ""),
        ("RDMA_WAIT", "kvstore m = (0, bot);", "m.update(1, 4)", ""),
        ("RDMA_WAIT", "kvstore m = (0, bot);", "m.delete(1)", ""),
        ("RDMA_WAIT", "kvstore m = (0, bot);", "m.tryserve", ""),
        ("RDMA_WAIT", "table m@1 = (0, 0, 0);", "m.insert(1, (4))", ""),
        ("RDMA_WAIT", "table m@1 = (0, 0, 0);", "m.update(1, (4))", ""),
        ("RDMA_WAIT", "table m@1 = (0, 0, 0);", "m.delete(1)", ""),
        ("RDMA_WAIT", "queue q@1;", "q.enq(1)", ""),
        ("RDMA_WAIT", "map m@1;", "m.insert(0, 1)", ""),
        ("RDMA_WAIT", "map m@1;", "m.update(0, 1)", ""),
        ("RDMA_WAIT", "map m@1;", "m.delete(0)", ""),
        ("RDMA_TSO+events", "x@1 = 1; z@2 = 0;", "trypoll(2)", ""),
    ];
    let names = tries.map(|(.., call, _)| call.split('(').next().unwrap().rsplit('.').next().unwrap());
    let libraries = Catalogue::builtin().entries().iter().map(|entry| entry.library().unwrap());
    for method in libraries.flat_map(|library| library.methods()).filter(|m| m.returns == Returns::Bool) {
        assert!(names.contains(&method.statement().as_str()), "{} is not tried", method.name);
    }
    for (model, declared, call, after) in tries {
        let answer = |awaited: &str| {
            let text = format!(
                "{model} t {{ nodes 2; {declared} }}\n P1@1 | P2@2 ;\n await {call} {awaited} | ;\n {after} | ;\n"
            );
            let test = parsed(&text);
            let answer = solve(&test, &[], Limits::default());
            (answer.outcomes.clone(), answer.kinds().keys().cloned().collect_vec(), answer.stop().cloned())
        };
        assert_eq!(answer("= true"), answer("!= false"), "{call}");
    }
}

/// A round that writes is followed by one that reads what it wrote: that it read the last value is a coincidence here.
#[test]
fn rounds_that_write() {
    let text =
        "RDMA_TSO t { x@1 = 0; }\n P1@1 | P2@1 ;\n a := 0 | x := 0 ;\n while a = 0 {\n a := cas(x, 0, 1)\n } | ;\n";
    let answer = solve_with(Engine::Both, &parsed(text), Limits::default()).unwrap();
    assert_eq!((answer.stop(), answer.outcomes.len(), answer.kinds().len()), (None, 1, 0));
}

/// A poll takes the completion in the first iteration. The thread waits in the second poll, and not in the loop.
#[test]
fn iterations_whose_calls_do_not_return_again() {
    let text = "RDMA_TSO t { x@1 = 0; y@1 = 0; z@2 = 0; }\n P1@1 | P2@1 ;\n y := 1 | put(z, x) ;\n | await y = 1 ;\n \
                | while true {\n poll(2)\n } ;\n";
    let test = parsed(text);
    let answer = solve_with(Engine::Both, &test, Limits::default()).unwrap();
    assert_eq!(reported(&test, &answer), ["Stuck ", "  P2 at line 6, poll(2)"]);
}

/// If the first call of a loop is in an inner loop, the outer loop is the one that repeats. Leaving the inner loop does
/// not leave it.
#[test]
fn loops_that_begin_with_a_loop() {
    let text = "RDMA_TSO t { x@1 = 0; }\n P1@1 ;\n a := 0 ;\n while true {\n if a = 1 {\n await x = 1\n } ;\n a := cas(x, 0, 1)\n } ;\n";
    let answer = solve_with(Engine::Both, &parsed(text), Limits::default()).unwrap();
    assert_eq!((answer.stop(), answer.kinds().len()), (None, 1));
}

/// Executions in which an assumption does not hold are neither outcomes nor stuck.
#[test]
fn what_is_assumed_does_not_hang() {
    let text = "RDMA_TSO t { x@1 = 0; }\n P1@1 | P2@1 ;\n a := x | x := 1 ;\n assume a = 1 | ;\n";
    let answer = solve_with(Engine::Both, &parsed(text), Limits::default()).unwrap();
    assert_eq!((answer.outcomes.len(), answer.kinds().len()), (1, 0));
}

/// A statement that changes nothing changes nothing that is stuck.
#[test]
fn an_assignment_changes_nothing_that_is_stuck() {
    let mut with_stuck = 0;
    for kind in [&POLLS, &LOCKS_BY_HAND, &MESSAGES, &CRASHES] {
        for seed in 0..60 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let (nodes, mut columns) = random_columns(kind, seed);
            let of = |columns: &[Vec<String>]| -> BTreeSet<(Vec<Option<String>>, String)> {
                let test = parsed(&text_of(kind, seed, &nodes, columns));
                let answer = solve(&test, &[], Limits::default());
                let kinds = answer.kinds().keys().map(|kind| {
                    let waits = (0..nodes.len()).map(|t| kind.statement(&test, t).map(|(_, text)| text.to_owned()));
                    let shown = test.shown.iter().zip(&kind.shown).filter(|((name, _), _)| name != "q");
                    (waits.collect(), shown.map(|((name, _), v)| format!("{name}={v}")).join(" "))
                });
                kinds.collect()
            };
            let before = of(&columns);
            let place = rng.usize(..=columns[0].len());
            columns[0].insert(place, "q := 7".to_owned());
            assert_eq!(before, of(&columns), "{}", text_of(kind, seed, &nodes, &columns));
            with_stuck += usize::from(!before.is_empty());
        }
    }
    assert!(with_stuck > 60, "{with_stuck} have an execution that is stuck");
}

/// A call of a program of locks and barriers alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Acquire(usize),
    Release(usize),
    Meet,
}

impl Step {
    fn text(self) -> String {
        match self {
            Self::Acquire(lock) => format!("acq(l{lock})"),
            Self::Release(lock) => format!("rel(l{lock})"),
            Self::Meet => "bar(b)".to_owned(),
        }
    }
}

/// Returns the program of a thread: well-bracketed sections, of which some are not closed, and barriers.
fn random_steps(rng: &mut fastrand::Rng) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut held = Vec::new();
    for _ in 0..rng.usize(1..6) {
        match rng.u8(..4) {
            0 => steps.push(Step::Meet),
            1 if !held.is_empty() => steps.push(Step::Release(held.swap_remove(rng.usize(..held.len())))),
            _ => {
                let lock = rng.usize(..2);
                if !held.contains(&lock) {
                    held.push(lock);
                    steps.push(Step::Acquire(lock));
                }
            }
        }
    }
    steps
}

/// Interleaves the calls of both threads in every order, and returns the positions at which no call returns.
fn simulated(threads: &[Vec<Step>; 2]) -> BTreeSet<[usize; 2]> {
    let mut last = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut todo = vec![[0, 0]];
    while let Some(at) = todo.pop() {
        if !seen.insert(at) {
            continue;
        }
        let holds = |t: usize, lock: usize| {
            let own = threads[t][..at[t]]
                .iter()
                .rev()
                .find(|s| matches!(s, Step::Acquire(l) | Step::Release(l) if *l == lock));
            matches!(own, Some(Step::Acquire(_)))
        };
        let next = |t: usize| threads[t].get(at[t]).copied();
        let mut moves = Vec::new();
        for t in 0..2 {
            match next(t) {
                Some(Step::Acquire(lock)) if !holds(1 - t, lock) => moves.push(t),
                Some(Step::Release(_)) => moves.push(t),
                _ => {}
            }
        }
        let moved = |t: usize| if t == 0 { [at[0] + 1, at[1]] } else { [at[0], at[1] + 1] };
        todo.extend(moves.iter().map(|&t| moved(t)));
        if [next(0), next(1)] == [Some(Step::Meet); 2] {
            todo.push([at[0] + 1, at[1] + 1]);
        } else if moves.is_empty() {
            last.insert(at);
        }
    }
    last
}

/// Locks and barriers as their specifications have them are stuck where a simulation of them is, and end where it does.
#[test]
fn locks_and_barriers_agree_with_a_simulation() {
    let mut rng = fastrand::Rng::with_seed(42);
    let mut with_stuck = 0;
    for _ in 0..500 {
        let threads = [(); 2].map(|()| random_steps(&mut rng));
        if threads.iter().any(Vec::is_empty) {
            continue;
        }
        let rows = threads[0].len().max(threads[1].len());
        let cell = |t: usize, row: usize| threads[t].get(row).map_or_else(String::new, |step| step.text());
        let table: String = (0..rows).map(|row| format!(" {} | {} ;\n", cell(0, row), cell(1, row))).collect();
        let text = format!(
            "RDMA_WAIT t {{ strong lock l0@1; strong lock l1@2; barrier b = {{P1, P2}}; }}\n P1@1 | P2@2 ;\n{table}"
        );
        let (test, answer) = solved(&text);
        let place = |(t, at): (usize, &Option<usize>)| at.unwrap_or(threads[t].len());
        let found: BTreeSet<[usize; 2]> = answer
            .kinds()
            .keys()
            .map(|kind| {
                let places = kind.waits.iter().enumerate().map(place).collect_vec();
                [places[0], places[1]]
            })
            .collect();
        let ends = [threads[0].len(), threads[1].len()];
        let mut expected = simulated(&threads);
        let ended = expected.remove(&ends);
        assert_eq!(expected, found, "{text}");
        // The converse does not hold: the specification of a lock says nothing of outcomes in which a thread still
        // holds it.
        if ended {
            assert!(!answer.outcomes.is_empty(), "{text}");
        }
        with_stuck += usize::from(!found.is_empty());
        let _ = &test;
    }
    assert!(with_stuck > 150, "{with_stuck} have an execution that is stuck");
}

/// Solves a test by axioms and machine, which agree on what is stuck.
fn verdict_of_both(text: &str) -> &'static str {
    let (test, answer) = solved_by_both(text);
    answer.verdict(&test).text()
}

fn solved_by_both(text: &str) -> (Test, Answer) {
    let test = parsed(text);
    let answer = solve_with(Engine::Both, &test, Limits::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    (test, answer)
}

/// A thread that may crash need not. If it waits for ever, who waits for its end does too.
#[test]
fn who_waits_for_the_end_of_a_thread_that_waits_is_stuck() {
    for wait in ["poll(2)", "await y = 5", "a := await y = 5"] {
        let text = format!(
            "RDMA_TSO+crashes t\n{{ nodes 2; crash(P1); y@1 = 0; }}\n P1@1 | P2@1 ;\n {wait} | dead(P1) ;\n | y := 1 ;\n\
             locations [y;]\nhangs (P1 at line 4 /\\ P2 at line 4)\nallowed (y=1)\n"
        );
        assert_eq!(verdict_of_both(&text), "holds", "{text}");
    }
    // Who ends, or crashes, is dead.
    let ends = "RDMA_TSO+crashes t\n{ crash(P1); y@1 = 0; }\n P1@1 | P2@1 ;\n y := 2 | dead(P1) ;\n | y := 1 ;\nends\n";
    assert_eq!(verdict_of_both(ends), "holds");
}

/// A poll for an operation to a node that has crashed never returns.
#[test]
fn a_poll_to_a_node_that_may_crash_may_last_for_ever() {
    for operation in ["put(z, x)", "get(x, z)", "rfaa(x, z, 1)", "put@q2(z, x)"] {
        let poll = if operation.contains("@q2") { "poll@q2(2)" } else { "poll(2)" };
        let text = |assertion: &str, crash: &str| {
            format!(
                "RDMA_TSO+crashes t\n{{ {crash} x@1 = 1; z@2 = 0; }}\n P1@1 ;\n {operation} ;\n {poll} ;\n a := 1 ;\n{assertion}\nallowed (a=1)\n"
            )
        };
        assert_eq!(verdict_of_both(&text("hangs (P1 at line 5)", "crash(@2);")), "holds", "{operation}");
        assert_eq!(verdict_of_both(&text("ends", "crash(@2);")), "fails", "{operation}");
        assert_eq!(verdict_of_both(&text("ends", "")), "holds", "{operation}");
    }
    let says = |model: &str, rows: &str| {
        let head = format!("{model}+crashes t\n{{ crash(@2); x@1 = 1; y@1 = 1; z@2 = 0; w@1 = 0; }}\n P1@1 ;\n");
        let (test, answer) = solved(&(head + rows));
        stuck::text(&test, answer.kinds())
    };
    let why = says("RDMA_TSO", " put(w, y) ;\n put(z, x) ;\n poll(2) ;\n");
    assert!(why.contains("poll(2): waits for ever: put(z, x) does not complete, because node 2 has crashed"), "{why}");
    let why = says("RDMA_WAIT", " put(z, x, d) ;\n wait(d) ;\n");
    assert!(
        why.contains("wait(d): waits for ever: put(z, x, d) does not complete, because node 2 has crashed"),
        "{why}"
    );
    // A node whose thread waits has not crashed.
    let alive = "RDMA_TSO+crashes t\n{ crash(@2); x@1 = 1; z@2 = 0; g@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | await g = 1 ;\n \
                 poll(2) | ;\nhangs (P1 /\\ P2)\n";
    assert_eq!(verdict_of_both(alive), "fails");
    let (_, answer) = solved(
        "RDMA_WAIT+crashes t\n{ crash(@2); x@1 = 1; z@2 = 0; }\n P1@1 ;\n put(z, x, d) ;\n wait(d) ;\n a := 1 ;\n\
         hangs (P1 at line 5)\n",
    );
    assert_eq!(answer.liveness, [Some(true)]);
}

/// A long straight thread beside one that waits is explored, not guessed.
#[test]
fn a_thread_waits_beside_many_writes() {
    let rows = (1..=140)
        .map(|v| if v == 1 { format!(" x := {v} | a := await x >= 50 ;\n") } else { format!(" x := {v} | ;\n") });
    let text = format!("X86_TSO t {{ x = 0; }}\n P1 | P2 ;\n{}ends\n", rows.collect::<String>());
    assert_eq!(solved(&text).1.liveness, [Some(true)]);
}

/// A node crashes with all its threads. So who waits is on a node that has not, and its neighbours and the operations to it go on.
#[test]
fn a_node_whose_thread_waits_has_not_crashed() {
    let verdicts = |head: &str, rows: &str, assertions: &[&str]| {
        let text = |assertion: &&str| format!("{head}\n{rows}\n{assertion}\n");
        assertions.iter().map(|a| verdict_of_both(&text(a))).collect::<Vec<_>>()
    };
    let head = "RDMA_TSO+crashes t\n{ crash(@1); y@1 = 0; z@2 = 2; }\n P1@1 | P2@2 ;";
    assert_eq!(verdicts(head, " await y != 0 | put(y, z) ;", &["ends"]), ["holds"]);
    assert_eq!(
        verdicts(head, " await y != 0 | put(y, z) ;\n | poll(1) ;", &["hangs (P1)", "hangs (P2)"]),
        ["fails", "holds"]
    );
    let stuck = ["locations [y;]\nstuck (y=0)", "locations [y;]\nstuck (y=2)"];
    assert_eq!(verdicts(head, " await y = 5 | put(y, z) ;", &stuck), ["fails", "holds"]);
    let waits =
        "RDMA_WAIT+crashes t\n{ crash(@1); y@1 = 0; z@2 = 2; }\n P1@1 | P2@2 ;\n await y = 2 | put(y, z) ;\nends\n";
    assert_eq!(solved(waits).1.liveness, [Some(true)]);
    let head = "RDMA_TSO+crashes t\n{ crash(@1); nodes 2; x@1 = 0; }\n P1@1 | P2@1 | P3@2 ;";
    assert_eq!(verdicts(head, " x := 1 | await x = 1 | ;", &["ends"]), ["holds"]);
    let rows = " x := 1 | await x = 1 | dead(P1) ;\n | await x = 2 | ;";
    assert_eq!(
        verdicts(head, rows, &["stuck (x=0)", "stuck (x=1)", "hangs (P2 at line 4)"]),
        ["fails", "holds", "fails"]
    );
}

/// A thread stops after its last call, too, also if it goes round in a loop without one.
#[test]
fn a_thread_in_a_loop_without_a_call_may_crash() {
    for (body, before) in [("d := 1", "x := 1"), ("if a = 1 { d := x }", "x := 1"), ("d := 1", "b := 2")] {
        let (_, answer) = solved_by_both(&format!(
            "RDMA_TSO+crashes t\n{{ crash(P1); x@1 = 0; y@1 = 0; }}\n P1@1 | P2@1 ;\n a := 0 ; {before} | dead(P1) ;\n \
             while a = 0 {{ {body} }} | y := 1 ;\nlocations [x; y;]\nallowed (x={} /\\ y=1)\n",
            i32::from(before == "x := 1")
        ));
        assert_eq!(answer.holds, [Some(true)], "{body}");
    }
}

/// An assertion may ask for a register of a thread that waits, although nothing reads the register later.
#[test]
fn registers_of_threads_that_wait_have_all_their_values() {
    let text = |head: &str, assertions: &str| {
        format!(
            "RDMA_TSO t {{ z@1 = 0; {head}}}\n P1@1 | P2@1 ;\n z := 1 | b := 0 ;\n z := 0 | while b != 2 {{ ;\n | await z = 1 ;\n \
             | b := 1 ;\n | }} ;\nlocations [z;]\n{assertions}\n"
        )
    };
    let (_, answer) = solved_by_both(&text("", "stuck (b=0 /\\ z=0)\nstuck (b=1 /\\ z=0)"));
    assert_eq!(answer.liveness, [Some(true); 2]);
    let (_, answer) = solved_by_both(&text("server(P2); ", "allowed (b=0 /\\ z=0)\nallowed (b=1 /\\ z=0)"));
    assert_eq!(answer.holds, [Some(true); 2]);
}

/// A receive returns the next message that its thread has not taken, and each message once. So a thread waits for ever for a message
/// that nobody sends, and never for one that is there.
#[test]
fn messages_of_rings_are_taken_once() {
    for ring in ["ring", "weak ring"] {
        let kinds = |rest: &str, columns: &str| {
            let text = format!("RDMA_WAIT t {{ {ring} q = P1 -> {{P2}} size 8; k@1 = 0; {rest} }}\n{columns}\n");
            let (test, answer) = solved(&text);
            (answer.outcomes.len(), reported(&test, &answer))
        };
        let wait = " b := await receive(q) != bot";
        // A plain receive may take the only message. Then the second one waits.
        let first = format!(" P1@1 | P2@2 ;\n a := submit(q, 5) | d := receive(q) ;\n assume a = true | {wait} ;\n");
        let stuck = vec!["Stuck a=true; d=5; b=bot;".to_owned(), "  P2 at line 4, b := await receive(q) != bot".into()];
        assert_eq!(kinds("", &first), (1, stuck));
        // Of two that wait, the second one does so for ever.
        let second = format!(
            " P1@1 | P2@2 ;\n a := submit(q, 5) | {wait} ;\n assume a = true | c := await receive(q) != bot ;\n"
        );
        assert_eq!(kinds("", &second).0, 0);
        assert_eq!(kinds("", &second).1, ["Stuck a=true; b=5; c=bot;", "  P2 at line 4, c := await receive(q) != bot"]);
        // Two messages are enough for two, whichever is the last one.
        let both = format!(
            " P1@1 | P2@2 ;\n a := submit(q, 5) | {wait} ;\n assume a = true | c := await receive(q) != bot ;\n \
             d := submit(q, 6) | ;\n assume d = true | ;\n"
        );
        assert_eq!(kinds("", &both), (1, Vec::new()));
        // A server receives, by `await` or without.
        let tries = " b := receive(q) ;\n assume a = true | if b != bot { k := 1 }".to_owned();
        for serve in [format!("{wait} ;\n assume a = true | k := 1"), tries] {
            let rows =
                format!(" P1@1 | P2@1 ;\n | while true {{ ;\n a := submit(q, 5) | {serve} ;\n await k = 1 | }} ;\n");
            assert_eq!(kinds("server(P2);", &rows).1, Vec::<String>::new(), "{rows}");
            let again = rows.replace("await k = 1 | }", "await k = 1 | } ;\n await k = 2 | ");
            assert_eq!(kinds("server(P2);", &again).0, 0, "{again}");
            assert!(!kinds("server(P2);", &again).1.is_empty(), "{again}");
        }
    }
}

/// The releases that threads owe return in every way, so a lock that was taken is free again.
#[test]
fn locks_that_a_thread_may_try_to_take() {
    let kinds = |columns: &str| {
        let (test, answer) = solved(&format!("RDMA_WAIT t {{ try lock l@1; }}\n{columns}\n"));
        (answer.outcomes.is_empty(), reported(&test, &answer))
    };
    let none = || (false, Vec::new());
    assert_eq!(kinds(" P1@1 | P2@1 ;\n l.acq | b := l.tryacq ;\n c := l.rel | e := l.rel ;\n"), none());
    assert_eq!(kinds(" P1@1 | P2@1 ;\n l.acq | l.acq ;\n c := l.rel | e := l.rel ;\n"), none());
    assert_eq!(kinds(" P1@1 ;\n b := l.tryacq ;\n e := l.rel ;\n l.acq ;\n c := l.rel ;\n"), none());
    // A lock that nobody took is released: nothing is promised then, and the thread still waits.
    let (test, answer) =
        solved("RDMA_WAIT t { weak lock l@1; x@1 = 0; }\n P1@1 ;\n l.rel ;\n await x = 1 ;\n a := 1 ;\n");
    assert_eq!(reported(&test, &answer), ["Stuck a=0;", "  P1 at line 4, await x = 1"]);
    // An attempt that fails only looks, so a loop of attempts is a wait.
    let attempts = "a := false | b := false ;\n while a != true { | while b != true { ;\n a := l.tryacq | b := l.tryacq ;\n } | } ;\n";
    assert_eq!(kinds(&format!(" P1@1 | P2@1 ;\n {attempts} c := l.rel | d := l.rel ;\n")), none());
    let kept = kinds(&format!(" P1@1 | P2@1 ;\n {attempts} c := l.rel | ;\n"));
    assert_eq!(
        kept,
        (false, vec!["Stuck a=false; c=0; b=true;".to_owned(), "  P1 at line 4, while a != true {".into()])
    );
    // Who keeps the lock lets nobody in, whether it waited for the lock or not.
    let kept = kinds(" P1@1 | P2@1 ;\n l.acq | b := l.tryacq ;\n c := l.rel | ;\n");
    assert_eq!(kept, (false, vec!["Stuck c=0; b=true;".to_owned(), "  P1 at line 3, l.acq".into()]));
    let kept = kinds(" P1@1 | P2@1 ;\n l.acq | l.acq ;\n c := l.rel | ;\n");
    assert_eq!(kept, (false, vec!["Stuck c=0;".to_owned(), "  P1 at line 3, l.acq".into()]));
    // Who waits for a lock that it has taken itself waits for ever.
    let itself = |columns: &str| kinds(&format!("{columns} l.acq ;\n c := l.rel ;\n"));
    let waits = |of: &str, line: u8| vec![format!("Stuck {of}c=0;"), format!("  P1 at line {line}, l.acq")];
    assert_eq!(itself(" P1@1 ;\n a := l.tryacq ;\n"), (false, waits("a=true; ", 4)));
    assert_eq!(itself(" P1@1 ;\n a := await l.tryacq = true ;\n"), (true, waits("a=true; ", 4)));
    // A second attempt fails, and its release leaves the lock taken.
    let twice = " P1@1 ;\n a := await l.tryacq = true ;\n b := l.tryacq ;\n d := l.rel ;\n";
    assert_eq!(itself(twice), (true, waits("a=true; b=false; d=false; ", 6)));
}

/// Executions that are stuck over an implementation are stuck over its specification. Threads wait in the same statements over
/// both, if no call may fail for no reason.
#[test]
fn what_is_stuck_over_implementations_is_stuck_over_specifications() {
    let mut waiting = [0; 2];
    for seed in 0..seeds(60) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (text, implemented) = if seed % 2 == 0 { random_rings(&mut rng) } else { random_locks(&mut rng) };
        let test = parsed(&text);
        let kinds = |chain: &[Arc<dyn Implementation>]| {
            let answer = solve(&test, chain, Limits::default());
            assert_eq!(answer.stop(), None, "{text}");
            answer.kinds().keys().cloned().collect::<BTreeSet<_>>()
        };
        let chain = replaced(Catalogue::builtin(), &test, &[implemented.to_owned()]).unwrap();
        let (specified, made) = (kinds(&[]), kinds(&chain));
        assert!(made.is_subset(&specified), "{text}{implemented}: {made:?} {specified:?}");
        let places = |kinds: &BTreeSet<StuckKind>| kinds.iter().map(|kind| kind.waits.clone()).collect::<BTreeSet<_>>();
        if !text.contains("tryacq") {
            assert_eq!(places(&made), places(&specified), "{text}{implemented}");
        }
        waiting[usize::from(specified.is_empty())] += 1;
    }
    assert!(waiting.iter().all(|&count| count > 9), "{waiting:?}");
}

/// Returns the number of seeds: so many, or those that `MOWGLI_SEEDS` asks for.
fn seeds(usual: u64) -> u64 {
    std::env::var("MOWGLI_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(usual)
}

/// Returns the text of a test with these statements in columns.
fn in_columns(head: &str, columns: &[Vec<String>]) -> String {
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let row = |r: usize| columns.iter().map(|c| c.get(r).map_or("", String::as_str)).join(" | ");
    format!("{head}\n{}", (0..rows).map(|r| format!(" {} ;\n", row(r))).collect::<String>())
}

/// One thread submits messages, which always succeeds, and another one receives them.
fn random_rings(rng: &mut fastrand::Rng) -> (String, &'static str) {
    let (weak, far) = (rng.bool(), rng.bool());
    let submits =
        (0..rng.usize(1..=2)).flat_map(|n| [format!("a{n} := submit(q, {})", 5 + n), format!("assume a{n} = true")]);
    let mut first = submits.collect_vec();
    let mut second = Vec::new();
    for n in 0..rng.usize(1..=3) {
        second.push(match rng.usize(0..3) {
            0 => format!("r{n} := receive(q)"),
            _ => format!("r{n} := await receive(q) != bot"),
        });
    }
    let server = !far && rng.bool();
    if server {
        first.push("await k = 1".to_owned());
        second.push("k := 1".to_owned());
        if rng.bool() {
            // A round without a wait writes again and again, which is beyond any bound.
            second
                .iter_mut()
                .filter(|s| s.ends_with("receive(q)"))
                .for_each(|s| *s = s.replace(":=", ":= await") + " != bot");
            second = [vec!["while true {".to_owned()], second, vec!["}".to_owned()]].concat();
        }
    }
    let ring = if weak { "weak ring" } else { "ring" };
    let head =
        format!("RDMA_WAIT t {{ {ring} q = P1 -> {{P2}} size 8; k@1 = 0; }}\n P1@1 | P2@{} ;", if far { 2 } else { 1 });
    (in_columns(&head, &[first, second]), if weak { "rbl-weak:fenced" } else { "rbl:fenced" })
}

/// Two threads take locks, and may keep the last one.
fn random_locks(rng: &mut fastrand::Rng) -> (String, &'static str) {
    let (lock, implemented) = *rng.choice(&[("try lock", "trylock"), ("node lock", "nlock")]).expect("two");
    let mut column = |registers: [&str; 4]| {
        let mut statements = Vec::new();
        for n in 0..2 {
            let rel = if lock == "try lock" { format!("{} := l.rel", registers[2 + n]) } else { "l.rel".to_owned() };
            let tries = lock == "try lock" && rng.bool();
            statements.push(if tries { format!("{} := l.tryacq", registers[n]) } else { "l.acq".to_owned() });
            if !tries || rng.usize(0..3) > 0 {
                statements.push(rel);
            }
            if rng.bool() {
                break;
            }
        }
        if rng.usize(0..3) == 0 {
            statements.pop();
        }
        statements
    };
    let columns = [column(["a", "b", "c", "d"]), column(["e", "f", "g", "h"])];
    (in_columns(&format!("RDMA_WAIT t {{ {lock} l@1; }}\n P1@1 | P2@1 ;"), &columns), implemented)
}

/// A server of a store waits for a message for ever if it has had all.
#[test]
fn servers_of_stores_receive_each_message_once() {
    let answer = |head: &str| {
        let test = parsed(&format!(
            "RDMA_WAIT t {{ kvstore m = (0, bot); {head} }}\n P1@1 | P2@2 ;\n a := m.insert(1, 4) | m.serve ;\n b := m.lookup(1) | m.serve ;\n"
        ));
        let chain = replaced(Catalogue::builtin(), &test, &["kvstore:fenced-delete".to_owned()]).unwrap();
        let answer = solve(&test, &chain, Limits::default());
        (answer.outcomes.len(), reported(&test, &answer))
    };
    assert_eq!(answer("server(P2);"), (1, Vec::new()));
    assert_eq!(answer(""), (0, vec!["Stuck a=true; b=4;".to_owned(), "  P2 at line 4, m.serve".into()]));
}

methods! {
    /// Calls of a gate.
    pub enum OfGate of GATE = "gate" {
        /// Opens it.
        fn open = Open(x: Object, v: Value);
        /// Waits for a 1.
        fn accept = Accept(x: Object);
        /// Takes what was given, and waits for it.
        fn take = Take(x: Object) -> Value;
    }
}

/// A gate whose `take` reads only what somebody wrote, by a demand.
fn gate() -> Simple<OfGate> {
    let shapes = shapes! { OfGate:
        Open { x, v } => { aCW: writes x at here, v }
        Accept { x } => { aCR: reads x at here, 1 }
        Take { x } => { aCR: reads x at here, ret() }
    };
    let spec = || {
        spec! {
            let rf, mo, rb = coherence;
            empty given = [calls(&["Take"])] - (rf^-1; rf);
            so = rf | mo | rb;
        }
    };
    Simple::new(shapes, spec)
}

/// A library that does not say which of its calls wait: a constant that is read, and a demand, say so.
#[test]
fn calls_of_own_libraries_wait() {
    let catalogue = Catalogue::with([Entry::rdma(gate(), Sv)]).unwrap();
    let kinds = |columns: &str| {
        let test = parse_in(&catalogue, "t", &format!("RDMA_WAIT t {{ gate g; }}\n{columns}\n")).unwrap();
        let answer = solve_in(&catalogue, &test, &[], Limits::default());
        (answer.outcomes.is_empty(), reported(&test, &answer))
    };
    let stuck = |head: &str, rows: &[&str]| [head].iter().chain(rows).map(|&row| row.to_owned()).collect_vec();
    let waits = stuck("Stuck ", &["  P1 at line 3, g.accept"]);
    assert_eq!(kinds(" P1@1 ;\n g.accept ;\n"), (true, waits));
    assert_eq!(kinds(" P1@1 | P2@1 ;\n g.accept | g.open(1) ;\n"), (false, vec![]));
    let waits = stuck("Stuck ", &["  P1 at line 3, g.accept"]);
    assert_eq!(kinds(" P1@1 | P2@1 ;\n g.accept | g.open(2) ;\n"), (true, waits));
    let waits = stuck("Stuck a=0;", &["  P1 at line 3, a := g.take"]);
    assert_eq!(kinds(" P1@1 ;\n a := g.take ;\n"), (true, waits));
    assert_eq!(kinds(" P1@1 | P2@1 ;\n a := g.take | g.open(2) ;\n"), (false, vec![]));
}

/// A location that is data of an own library is printed as the parser reads it.
#[test]
fn calls_of_own_libraries_are_read_as_they_were() {
    let catalogue = Catalogue::with([Entry::rdma(gate(), Sv)]).unwrap();
    let text = "RDMA_WAIT t { x@1 = 0; gate g; }\n P1@1 ;\n g.open(&x) ;\n";
    let test = parse_in(&catalogue, "t", text).unwrap();
    let [Statement::Call { library, method, args, .. }] = &test.threads[0].statements[..] else { panic!("one call") };
    let args = args.iter().map(|arg| if let Arg::Val(v) = arg { *v } else { panic!("{text}") }).collect_vec();
    let client = Client { threads: vec![vec![Call::new(*library, method, &args)]] };
    let dialect = Dialect::with(Model::RDMA_WAIT, OwnLibrary::of(&gate()));
    let printed = print::client(dialect, "t", &test.world, &client, &[]);
    let again = parse_in(&catalogue, "t", &printed).unwrap_or_else(|error| panic!("{printed}{error}"));
    assert_eq!(again.threads[0].statements, test.threads[0].statements, "{printed}");
}

/// Whether threads of random looping tests wait for ever is as an explorer of their states says, or undecided.
#[test]
fn random_loops_wait_for_ever_as_in_an_explorer() {
    let (mut decided, mut hanging, mut all) = (0, 0, 0);
    for seed in 0..seeds(150) {
        let random = liveness::random(seed);
        let Some(waiting) = random.waiting() else { continue };
        let text = random.text();
        let test = parsed(&text);
        let steps = Cell::new(0);
        let expired = || {
            steps.set(steps.get() + 1);
            steps.get() > STEPS
        };
        let answer = solve(&test, &[], Limits { expired: &expired, ..Limits::default() });
        let is_asked = |set: usize| waiting.iter().any(|waiting| waiting & set == set);
        let expected = std::iter::once(waiting.is_empty()).chain(liveness::sets(random.threads()).map(is_asked));
        for ((claim, found), expected) in test.liveness.iter().zip(&answer.liveness).zip(expected) {
            assert!(found.is_none_or(|found| found == expected), "{seed}: {} is {found:?}\n{text}", claim.text);
        }
        assert!(answer.kinds().is_empty() || !waiting.is_empty(), "{seed}\n{text}");
        all += 1;
        decided += usize::from(answer.liveness[0].is_some());
        hanging += usize::from(answer.liveness[0] == Some(false));
    }
    assert!(2 * decided > all && 4 * hanging > all, "{all} tests, {decided} decided, {hanging} of them hang");
}

/// The steps after which a random test counts as undecided.
const STEPS: usize = 2_000;
