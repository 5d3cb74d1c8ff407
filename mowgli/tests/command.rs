//! The command from outside: its output, its exit codes, and its messages about bad input.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::ran::{Ran, command_names, file, is_bad, mowgli, tells};

#[test]
fn usual_slips_in_litmus_tests_are_reported_how_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let says = |from: &str, to: &str, help: &str| {
        let text =
            "RDMA_TSO t\n{ x@1 = 0; y@2 = 0; }\n P1@1 ;\n put(y, x) ;\n x := 1 ;\nallowed (x=1)\n".replace(from, to);
        is_bad(&["litmus", &file(folder.path(), "slip.litmus", &text)], &[help]);
    };
    says("x := 1 ;", "x = 1 ;", "help: an assignment is written with :=");
    says("x := 1 ;", "x := 1", "help: each row of the table ends with a semicolon");
    says("put(y, x) ;", "put(y, x)", "help: each row of the table ends with a semicolon");
    // It is missing at the end of the line, and not where the next one begins.
    says("put(y, x) ;", "put(y, x)", "slip.litmus:4:11\n");
    says("x@1 = 0;", "x@1 = 0", "help: a declaration is written as x@1 = 0;");
    says("(x=1)", "(x=1 && y=1)", "there is no && in a condition: it is written as /\\");
    says("(x=1)", "!(x=1)", "there is no ! in a condition: it is written as ~");
    says("allowed", "never", "did you mean forbidden?");
    says("(x=1)", "x=1", "help: an assertion has its condition in parentheses");
    says("put(y, x)", "put y, x", "help: a call has its arguments in parentheses");
    says("y@2 = 0; }", "y@2 = 0;", "help: the declarations end with }");
    says("(x=1)", "(x=1 /\\)", "help: a condition stands on both sides of /\\");
    let whole = |text: &str, says: &str| is_bad(&["litmus", &file(folder.path(), "whole.litmus", text)], &[says]);
    whole("RDMA_WAIT t\n{ barrier z = {}; }\n P1@1 ;\n bar(z) ;\nends\n", "an object has at least one thread");
    whole("", "help: a test begins with its model and its name");
}

/// The parser recurses, so it refuses what would take all of its stack.
#[test]
fn deep_brackets_and_negations_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let repeated = |open: &str, close: &str| {
        let (open, close) = (open.repeat(20_000), close.repeat(20_000));
        format!("RDMA_TSO t\n{{ x@1 = 0; }}\n P1@1 ;\n x := 1 ;\nallowed ({open}x=1{close})\n")
    };
    for text in [repeated("(", ")"), repeated("~", ""), repeated("~ (", ")")] {
        is_bad(
            &["litmus", &file(folder.path(), "deep.litmus", &text)],
            &["more than 200 brackets, blocks or ~", "deep.litmus:5:"],
        );
    }
    let row = |word: &str| format!(" {word} ;\n").repeat(20_000);
    let blocks = format!("RDMA_TSO t\n{{ x@1 = 0; }}\n P1@1 ;\n{}{}", row("if a = 1 {"), row("}"));
    is_bad(&["litmus", &file(folder.path(), "deep.litmus", &blocks)], &["more than 200 brackets, blocks or ~"]);
    let herd =
        format!("X86_64 t\n{{ }}\n P0 ;\n movl $1,(x) ;\nexists ({}x=1{})\n", "(".repeat(20_000), ")".repeat(20_000));
    is_bad(
        &["convert", "--to", "mowgli", &file(folder.path(), "herd.litmus", &herd)],
        &["more than 200 brackets, blocks or ~"],
    );
}

/// Store buffering has an execution that no interleaving has. It comes with its cycle.
#[test]
fn an_explained_execution_shows_why_it_is_weak() {
    let folder = tempfile::tempdir().unwrap();
    let explained = |outcome: &str| {
        let text = format!(
            "RDMA_TSO sb\n{{ x@1 = 0; y@1 = 0; }}\n P1@1 | P2@1 ;\n x := 1 | y := 1 ;\n a := y | b := x ;\nallowed ({outcome})\n"
        );
        mowgli(&["explain", &file(folder.path(), "sb.litmus", &text)]).out
    };
    let cycle = "  It is not sequentially consistent, as this cycle shows:\n    P1 Write(x, 1) comes before P1 Read(y) = 0  (po)\n    \
        P1 Read(y) = 0 reads a value older than that of P2 Write(y, 1)  (rb)\n    P2 Write(y, 1) comes before P2 Read(x) = 0  (po)\n    \
        P2 Read(x) = 0 reads a value older than that of P1 Write(x, 1)  (rb)\n";
    assert!(explained("a=0 /\\ b=0").ends_with(cycle), "{}", explained("a=0 /\\ b=0"));
    assert!(!explained("a=1 /\\ b=0").contains("sequentially consistent"));
}

/// A library is printed with its objects, methods, own relations and bodies; a variant with its edits.
#[test]
fn a_library_is_shown_as_the_papers_write_it() {
    let shown = tells(&["show", "bal:no-fence"], 0, &[]);
    for part in [
        "barrier x = {P1, P2}",
        "BAR(x: object)",
        "      for n in nodes(members(x)) {\n        aGF(n)\n      }\n      aCR\n",
        "let round = [aGF]; same-barrier-and-round; [aCR]",
        "edited: without Sv::GF { .. }",
        "sv::Bcast(x.count[me], _, nodes(members(x)) \\ {here})",
        "loop {}",
    ] {
        assert!(shown.out.contains(part), "{part} is not in\n{}", shown.out);
    }
    assert!(!shown.out.contains("let ppo"), "{}", shown.out);
    let latex = mowgli(&["show", "bal", "--latex"]).out;
    for part in [
        "\\paragraph{Subevents}\n\\begin{alltt}\nBAR(x):\n",
        "\\mathit{round} &\\triangleq [\\mathsf{aGF}] \\mathbin{;}",
        "x.count[t] for t in members(x): sv",
        "sv::GF(nodes(members(x)));",
    ] {
        assert!(latex.contains(part), "{part} is not in\n{latex}");
    }
    is_bad(&["show", "bal:nothing"], &["bal has no variant nothing; there are published"]);
}

/// Statements of other languages, or with another meaning, get other messages than misspelt ones.
#[test]
fn statements_that_there_are_not_are_reported_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let says = |statement: &str, said: &[&str]| {
        let text = format!(
            "RDMA_TSO t\n{{ x@1 = 0; p@1 = 0; z@2 = 0; }}\n P1@1 | P2@1 ;\n a := p | ;\n {statement} | x := 1 ;\n"
        );
        is_bad(&["litmus", &file(folder.path(), "odd.litmus", &text)], &[&["odd.litmus:5:"], said].concat());
    };
    says("while p = 0", &["odd.litmus:5:2", "while is written as while a != 1 {"]);
    says("while (p = 0) {}", &["p is declared, and a statement compares registers", "read it first, as a := p"]);
    says("if a = 1 then x := 1", &["if is written as if a = 1 {"]);
    says("while(p)", &["while is written as"]);
    says("for a = 1", &["there is no for"]);
    says("whiles p = 0", &["arguments, as (x, y), or + or -"]);
    says("get(a, z)", &["a is a register, and this is to be a word of memory"]);
    says("put(a, x)", &["a is a register, and this is to be a word of memory"]);
    says("put(z, b)", &["b is not declared"]);
}

/// The message about a statement of a switch names the switch. Other messages name arguments in the wrong order, or too
/// many of them.
#[test]
fn messages_name_what_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let says = |model: &str, declared: &str, rows: &str, said: &[&str]| {
        let text = format!("{model} t\n{{ x@1 = 1; z@2 = 0; w@2 = 0; {declared} }}\n P1@1 | P2@1 ;\n{rows}\n");
        is_bad(&["litmus", &file(folder.path(), "odd.litmus", &text)], said);
    };
    let messages = "RDMA_WAIT+messages and RDMA_TSO+messages, and this test is of RDMA_TSO; name the switch";
    says("RDMA_TSO", "", " a := recv() | ;", &["odd.litmus:4:7", "recv is a statement of", messages]);
    says("RDMA_TSO", "", " send(2, 1) | ;", &["send is a statement of", messages]);
    says("RDMA_TSO", "", " a := recv | ;", &["recv is a statement of", messages]);
    says("RDMA_WAIT", "", " dead(P2) | ;", &["dead is a statement of RDMA_WAIT+crashes and RDMA_TSO+crashes"]);
    says("RDMA_TSO+crashes", "crash(P1);", " dead(P1) | ;", &["let another thread call dead(P1)"]);
    let swapped = "x and z have changed places: put is written as put(remote, local, d), and z is on node 2";
    says("RDMA_WAIT", "", " put(x, z, d) | ;", &["odd.litmus:4:2", swapped, "write put(z, x, d)"]);
    says("RDMA_TSO", "", " get@q2(z, x) | ;", &["x and z have changed places", "write get@q2(x, z)"]);
    says("RDMA_TSO", "", " rfaa(x, z, 1, 2) | ;", &["it takes 3 arguments, and 4 are given"]);
    says("RDMA_TSO", "", " put(z, x, d) | ;", &["poll(node) takes the oldest"]);
    says(
        "RDMA_TSO+messages",
        "",
        " await recv() = 2 | ;",
        &["await may not make it again", "a := recv()", "b := recv()"],
    );
    let core =
        mowgli(&["litmus", &file(folder.path(), "core.litmus", "CORE_RMA t\n{ z@2 = 0; }\n P1@1 ;\n r := get(z) ;\n")]);
    assert!(
        core.code == 2 && core.err.contains("r is not declared, and x := get(z) writes into a word"),
        "{}",
        core.err
    );
    assert!(core.err.contains("declare r@1 = 0;"), "{}", core.err);
}

/// An outcome that was not searched is not reported as absent.
#[test]
fn an_undecided_search_says_never_of_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let text = "RDMA_TSO t\n{ x@1 = 0; }\n P1@1 ;\n a := 0 ;\n while a != 5 { ;\n a := a + 1 ;\n x := a ;\n } ;\n\
                allowed (a=5)\nforbidden (a=4)\n";
    let test = file(folder.path(), "t.litmus", text);
    let ran = tells(&["litmus", "--loops", "2", &test], 3, &[]);
    // A random run has a=5, so this is allowed; nothing says that a=4 is not.
    assert!(ran.out.contains("Ok\nCondition allowed (a=5)\nObservation t Undecided 1 0"), "{}", ran.out);
    assert!(
        ran.out.contains("Undecided\nCondition forbidden (a=4)") && ran.out.contains("States at least 1"),
        "{}",
        ran.out
    );
    let seed =
        ran.out.split("Seen in a random run: `mowgli walk FILE --seed ").nth(1).and_then(|rest| rest.split('`').next());
    let walked = mowgli(&["walk", &test, "--seed", seed.expect("a run")]);
    assert!(walked.out.lines().last().unwrap().contains("a=5;"), "{}", walked.out);
    assert!(!ran.out.contains("Never") && !ran.out.contains("Always"), "{}", ran.out);
    // Without time nothing is found, which says nothing about the number of outcomes.
    let none = mowgli(&["litmus", "--timeout", "0", &test]).out;
    assert!(none.contains("States unknown: the search ended before it found an outcome\nUndecided\n"), "{none}");
    let whole = mowgli(&["litmus", "--loops", "9", &test]).out;
    assert!(whole.contains("Observation t Always 1 0") && whole.contains("Observation t Never 0 1"), "{whole}");
    assert!(whole.contains("States 1\n"), "{whole}");
}

/// A replaced library's object keeps its value in words of the implementation. So its last value cannot be shown, and a
/// test that shows it is rejected.
#[test]
fn the_last_value_of_a_replaced_object_is_not_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let shared = "RDMA_WAIT t\n{ svar s = 0; }\n P1@1 ;\n s.write(3) ;\nlocations [s@1;]\n";
    let test = file(folder.path(), "t.litmus", shared);
    let whole = mowgli(&["litmus", &test]).out;
    assert!(whole.contains("s@1=3;"), "{whole}");
    let said = "the last value of s on node 1 is shown, and --implemented replaces sv";
    is_bad(&["litmus", "--implemented", "sv", &test], &[said, "read it by a last call of a thread"]);
    let asserted = file(folder.path(), "a.litmus", &format!("{shared}allowed (s@1=3)\n"));
    is_bad(&["explain", "--implemented", "sv", &asserted], &[said]);
    let beside = file(
        folder.path(),
        "b.litmus",
        &shared.replace("{ svar s = 0;", "{ svar s = 0; x@1 = 2;").replace("s@1;", "x;"),
    );
    tells(&["litmus", "--implemented", "sv", &beside], 0, &["x=2;"]);
}

/// An answer writes calls in one notation, and each pair of numbers with its meaning.
#[test]
fn explanations_have_one_notation_and_no_raw_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let text = "RDMA_TSO t\n{ x@1 = 1; z@2 = 0; y@1 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | a := z ;\n put@q2(z, x) | ;\n \
                poll(2) | ;\n b := pollany() | ;\nallowed (a=1)\n";
    let explained = mowgli(&["explain", &file(folder.path(), "t.litmus", text)]).out;
    assert!(explained.contains("Poll(2), completes operation 1 to node 2  ["), "{explained}");
    assert!(explained.contains("operation 1 to node 2 by queue pair 2  ["), "{explained}");
    assert!(explained.contains("PollAny(), completes an operation to node 2 by queue pair 2"), "{explained}");
    assert!(!explained.contains(") = ("), "{explained}");
    let branch = "RDMA_TSO t\n{ x@1 = 0; y@1 = 0; }\n P1@1 | P2@1 ;\n x := 1 | a := y ;\n y := 1 | if a = 1 { ;\n | b := x ;\n | } ;\n\
                  forbidden (a=1 /\\ b=0)\n";
    let explained = mowgli(&["explain", &file(folder.path(), "b.litmus", branch)]).out;
    let reasons = explained.split("The specifications forbid it").nth(1).expect("reasons");
    assert!(!reasons.contains("Read(") && !reasons.contains("Write("), "{explained}");
}

/// If a broken variant is not caught, or mutants survive, the bound may be too small. So the message names a larger
/// one.
#[test]
fn a_missed_mistake_names_a_larger_bound() {
    let small = ["--threads", "1", "--nodes", "1", "--calls", "2"];
    tells(
        &[&["check", "wlock", "--variant", "no-broadcast"], &small[..]].concat(),
        1,
        &[
            "wlock (no-broadcast) is expected to be wrong, and no client within threads 1",
            "try mowgli check wlock --variant no-broadcast --threads 2 --nodes 2",
        ],
    );
    let ran = mowgli(&[&["check", "wlock", "--variant", "no-broadcast", "--json"], &small[..]].concat());
    assert!(ran.out.contains(r#""advice":"wlock (no-broadcast) is expected"#), "{}", ran.out);
    let sound = mowgli(&[&["check", "wlock"], &small[..]].concat());
    assert!(sound.code == 0 && !sound.out.contains("try mowgli"), "{}", sound.out);
}

/// The numbers beside a verdict are those of the largest world.
#[test]
fn a_bound_says_what_was_covered() {
    let ran = mowgli(&["check", "sv", "--objects", "4", "--threads", "1", "--nodes", "1", "--calls", "1", "--json"]);
    let line: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((ran.code, &line["bound"]["objects"]), (0, &4.into()), "{line}");
    // Clients differ in their object, so more objects give more clients.
    let of = |objects: &str| {
        let ran =
            mowgli(&["check", "sv", "--objects", objects, "--threads", "1", "--nodes", "1", "--calls", "1", "--json"]);
        serde_json::from_str::<serde_json::Value>(&ran.out).expect("JSON")["clients"].as_u64().expect("a count")
    };
    assert!(of("3") < of("4") && of("4") < of("5"));
    let x86 = mowgli(&["check", "spinlock", "--threads", "1", "--nodes", "2", "--calls", "2", "--json"]);
    let line: serde_json::Value = serde_json::from_str(&x86.out).expect("JSON");
    assert_eq!(line["bound"]["nodes"], 1, "it is one machine: {line}");
}

/// Threads that branch and loop, and every command that takes a test.
#[test]
fn every_command_has_an_answer_for_tests_with_branches_and_loops() {
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str, rows: &str| {
        let text = format!("RDMA_TSO t\n{{ x@1 = 0; y@1 = 0; }}\n P1@1 | P2@1 ;\n{rows}");
        file(folder.path(), name, &text)
    };
    let rows = " x := 1 | a := y ;\n y := 1 | if a = 1 { ;\n | b := x ;\n | } ;\nforbidden (a=1 /\\ b=0)\n";
    let branch = with("branch.litmus", rows);
    let ran = |args: &[&str], code: i32, said: &str| {
        tells(args, code, &[said]);
    };
    ran(&["litmus", "--engine", "both", &branch], 0, "a=1; b=1;");
    ran(&["explain", &branch], 0, "P2: y = 1 keeps its place before P2: x = 0");
    ran(&["report", "--json", &branch], 0, r#""holds":true"#);
    ran(&["robust", "--fix", &branch], 0, "robust, by search");
    ran(&["walk", &branch], 0, "The end: ");
    is_bad(&["convert", &branch, "--to", "herd"], &["line 5: if a = 1 { has no counterpart in herd's X86_64 syntax"]);
    let acts = " b := 0 | await y = 1 ;\n while b = 0 { | x := 1 ;\n y := 1 | ;\n b := x | ;\n } | ;\nforall (b=1)\n";
    let acts = with("acts.litmus", acts);
    ran(&["litmus", &acts], 3, "Incomplete: a loop with effects reached the bound on rounds (P1: a loop of 4");
    ran(&["litmus", "--loops", "1", &acts], 3, "P1: a loop of 2");
    let waits = with("waits.litmus", " await y = 1 | a := x ;\nforbidden (a=1)\n");
    ran(&["walk", &waits], 0, "P1 at line 4, await y = 1: it goes round");
    let assumes = with("assumes.litmus", " a := y | y := 1 ;\n assume a = 2 | ;\nvacuous\n");
    ran(&["walk", &assumes], 0, "The run does not count, because an assumption is false.");
    // A loop that only writes fills the store buffer for ever.
    let writes = with("writes.litmus", " while true { | a := y ;\n x := 1 | ;\n } | ;\nforbidden (a=1)\n");
    let late = mowgli(&["walk", &writes, "--timeout", "1"]);
    assert!(late.code == 3 && late.err.contains("limit of steps or time"), "{}{}", late.out, late.err);
    ran(&["robust", &waits], 3, "vacuous: no execution ends: a thread waits for what never happens");
    let partly = " x := 1 | b := x ;\n await y = 1 | if b = 1 { ;\n | y := 1 ;\n | } ;\n";
    let partly = with("partly.litmus", partly);
    ran(&["robust", &partly], 3, "and executions of 1 kind are stuck");
    ran(&["robust", "--json", &partly], 3, r#""robust":null,"by":null,"vacuous":false,"stuck":1"#);
    let sv = "RDMA_WAIT t\n{ svar s = 0; x@2 = 0; }\n P1@1 | P2@2 ;\n s.write(1) | await s.read = 1 ;\n s.bcast({2}) | x := 1 ;\nallowed (x=1)\n";
    let sv = file(folder.path(), "sv.litmus", sv);
    ran(&["litmus", "--implemented", "sv", &sv], 0, "x=1;");
}

#[test]
fn an_execution_is_explained_in_the_names_of_the_test() {
    let folder = tempfile::tempdir().unwrap();
    let test = "RDMA_WAIT t { _1@4 = 7; x@4 = 0; }\n P2@2 | P4@4 ;\n put(x, 1, d) | a := x ;\n wait(d) | b := x ;\nallowed (a=1)\nforbidden (a=1 /\\ b=0)\n";
    let test = file(folder.path(), "t.litmus", test);
    let ran = tells(&["explain", &test], 0, &[]);
    for text in [
        "  P2 on node 2\n    Put(x, 1, d)  [",
        "  P4 on node 4\n",
        "    P2 Put(x, 1, d) aNRW_4 -> P4 Read(x) = 1 (1st of 2)\n",
    ] {
        assert!(ran.out.contains(text), "{text}: {}", ran.out);
    }
    assert!(!ran.out.contains("P1") && !ran.out.contains("Put(x, _"), "{}", ran.out);
    let dot = mowgli(&["explain", "--dot", "--assertion", "1", &test]).out;
    assert!(dot.contains("P4 on node 4") && dot.contains("P2: Put(x, 1, d)"), "{dot}");
    let page = mowgli(&["report", "--json", &test]).out;
    assert!(page.contains(r#""name":"P4""#) && !page.contains(r#""name":"P1""#), "{page}");
    assert!(page.contains(r#""label":"put(x, 1, d)""#) && !page.contains("ut(x, _"), "{page}");
}

#[test]
fn a_call_of_a_library_has_no_counterpart_in_other_languages() {
    let folder = tempfile::tempdir().unwrap();
    let fence = "RDMA_WAIT t\n{ nodes 3; x@1 = 0; }\n P1@1 ;\n x := 1 ;\n gf({2, 3}) ;\n";
    let fence = file(folder.path(), "fence.litmus", fence);
    let said = "t: line 5: gf({2, 3}) has no counterpart in";
    is_bad(&["convert", &fence, "--to", "herd"], &[said, "herd's X86_64 syntax"]);
}

const GOOD: &str = "RDMA_WAIT good { x@1 = 0; }\n P1@1 ;\n x := 1 ;\n a := x ;\nallowed (a=1)\nforbidden (a=0)\n";

#[test]
fn bad_litmus_input_names_place_cause_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let litmus = |name: &str, text: &str| file(folder.path(), name, text);
    let remote = litmus("remote.litmus", "RDMA_WAIT t { x@2 = 0; }\n P1@1 ;\n x := 1 ;\n");
    is_bad(&["litmus", &remote], &["remote.litmus", ":3:", "x := 1", "use put or get"]);
    let undeclared = litmus("undeclared.litmus", "RDMA_WAIT t { x@1 = 0; }\n P1@1 ;\n put(xx, x) ;\n");
    is_bad(&["litmus", &undeclared], &["undeclared.litmus", ":3:", "xx is not declared", "did you mean x?"]);
    let kind = litmus("kind.litmus", "RDMA_WAIT t { svar y; }\n P1@1 ;\n a := y.read ;\n");
    is_bad(&["litmus", &kind], &["kind.litmus:1:15", "such an object is declared as svar x = 0;"]);
    let foreign = litmus("foreign.litmus", "RDMA_WAIT t { x@1 = 0; }\n P1@1 ;\n put(é, x) ;\n");
    is_bad(&["litmus", &foreign], &["foreign.litmus", ":3:"]);
    let brace = litmus("brace.litmus", "RDMA_WAIT t { x@1 = 0;\n P1@1 ;\n x := 1 ;\n");
    is_bad(&["litmus", &brace], &["brace.litmus"]);
    let empty = litmus("empty.litmus", "");
    is_bad(&["litmus", &empty], &["empty.litmus"]);
    std::fs::write(folder.path().join("bytes.litmus"), [0xff, 0xfe]).unwrap();
    is_bad(&["litmus", &folder.path().join("bytes.litmus").display().to_string()], &["bytes.litmus", "UTF-8"]);
    is_bad(&["litmus", "no-such-file.litmus"], &["no-such-file.litmus"]);
    let none = folder.path().join("none");
    std::fs::create_dir(&none).unwrap();
    is_bad(&["litmus", &none.display().to_string()], &["none", "no file ending in .litmus"]);
    let good = litmus("good.litmus", GOOD);
    is_bad(&["litmus", "--implemented", "nothing", &good], &["no library nothing", "sv"]);
    is_bad(&["litmus", "--implemented", "bal:nothing", &good], &["bal has no variant nothing", "no-fence"]);
}

#[test]
fn a_wait_for_nothing_is_reported_of_with_place_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let declared = "{ nodes 2; x@1 = 0; z@2 = 0; svar s = 0; msw m@2[2] = (0, 0); msw r@1[2] = (0, 0); }";
    let with =
        |rows: &str| file(folder.path(), "w.litmus", &format!("RDMA_WAIT t\n{declared}\n P1@1 | P2@1 ;\n{rows}"));
    let warns = |rows: &str, said: &str| {
        let test = with(rows);
        let ran = mowgli(&["litmus", &test]);
        let line = rows.lines().count() + 3;
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(ran.err.starts_with("warning:") && ran.err.contains(&format!("w.litmus:{line}:2\n")), "{}", ran.err);
        assert!(ran.err.contains(said), "{rows} does not say {said:?} but:\n{}", ran.err);
        let json: serde_json::Value = serde_json::from_str(&mowgli(&["litmus", "--json", &test]).out).expect("JSON");
        let warning = &json["warnings"][0];
        assert_eq!((&warning["line"], &warning["column"]), (&line.into(), &2.into()), "{json}");
        assert!(warning["message"].as_str().is_some_and(|m| m.contains(said)), "{json}");
    };
    let of_library =
        |op: &str, library: &str, wait: &str| format!("d is of {op} (line 4), an operation of {library}; write {wait}");
    warns(" r.get(m, d) | ;\n wait(d) | ;\n", &of_library("r.get(m, d)", "msw", "msw.wait(d)"));
    warns(" put(z, x, d) | ;\n sv.wait(d) | ;\n", &of_library("put(z, x, d)", "rdma-wait-rmw", "wait(d)"));
    warns(" s.bcast({2}, d) | ;\n msw.wait(d) | ;\n", &of_library("s.bcast({2}, d)", "sv", "sv.wait(d)"));
    warns(
        " put(z, x, e) | ;\n wait(d) | ;\n",
        "no operation has the identifier d; give it to the one that is meant, as put(z, x, d)",
    );
    warns(" put(z, x) | ;\n wait(_) | ;\n", "_ is no identifier");
    warns(
        " x := 1 | put(z, x, d) ;\n wait(d) | ;\n",
        "d is of put(z, x, d) (line 4) in P2, and a wait is for operations of its own thread",
    );
    let later = with(" wait(d) | ;\n put(z, x, d) | ;\nallowed (z=1)\n");
    let ran = mowgli(&["litmus", &later]);
    assert!(ran.code == 1 && ran.err.contains("w.litmus:4:2\n") && ran.err.contains("comes after it"), "{}", ran.err);
    assert!(mowgli(&["explain", &later]).err.contains("warning:"));
    assert!(mowgli(&["report", "--json", &later]).out.contains(r#""warnings":[{"line":4,"column":2,"message":"#));
    for meant in [
        " put(z, x, d) | ;\n wait(d) | ;\n",
        " r.get(m, d) | ;\n msw.wait(d) | ;\n",
        " s.bcast({2}, d) | ;\n sv.wait(d) | ;\n",
    ] {
        let test = with(meant);
        assert_eq!(mowgli(&["litmus", &test]).err, "", "{meant}");
        assert!(mowgli(&["litmus", "--json", &test]).out.contains(r#""warnings":[]"#));
    }
}

#[test]
fn other_files_are_still_run() {
    let folder = tempfile::tempdir().unwrap();
    let good = file(folder.path(), "good.litmus", GOOD);
    tells(&["litmus", "no-such-file.litmus", &good], 2, &["Test good Allowed\nStates 1\na=1;\nOk\n"]);
}

#[test]
fn a_failed_assertion_is_1_and_a_limit_is_3() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = file(folder.path(), "wrong.litmus", &GOOD.replace("forbidden (a=0)", "forbidden (a=1)"));
    assert_eq!(mowgli(&["litmus", &wrong]).code, 1);
    let good = file(folder.path(), "good.litmus", GOOD);
    assert_eq!(mowgli(&["litmus", &good]).code, 0);
    tells(&["litmus", "--timeout", "0", "--json", &good], 3, &["\"complete\":false", "limit of steps or time"]);
}

/// A call that its library forbids is bad input, not an open question. Other files are solved.
#[test]
fn a_call_with_a_fault_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let good = file(folder.path(), "good.litmus", GOOD);
    let of = |method: &str| {
        let text = format!("RDMA_WAIT far\n{{ msw m@2[2] = (0, 0); msw n@1[2] = (0, 0); }}\n P4@1 ;\n {method} ;\n");
        file(folder.path(), "far.litmus", &text)
    };
    let place =
        ["m is on node 2, and P4 on node 1", "let m be declared on node 1", "a thread on node 2", "a put or a get"];
    for (method, at) in [("m.write((1, 2))", "4:2"), ("a := m.tryread", "4:2"), ("n.put(m, d)", "4:2")] {
        let far = of(method);
        is_bad(&["litmus", &far], &[&[method, &format!("far.litmus:{at}")], &place[..]].concat());
        let both = tells(&["litmus", "--json", &far, &good], 2, &[]);
        let lines: Vec<serde_json::Value> = both.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let [error, answer] = &lines[..] else { panic!("{}", both.out) };
        assert!(error["file"] == far && place.iter().all(|p| error["error"].as_str().unwrap().contains(p)), "{error}");
        assert!(answer["complete"] == true && both.err.contains("far.litmus:4:2"), "{answer}{}", both.err);
    }
    let near = of("n.write((1, 2))");
    assert_eq!(mowgli(&["litmus", &near]).code, 0);
}

/// With `--json` every command that fails prints the error as an object.
#[test]
fn errors_have_fields_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = file(folder.path(), "wrong.litmus", &GOOD.replace("forbidden (a=0)", "forbidden (aa=0)"));
    let on_test = [&["litmus"][..], &["explain"], &["walk"], &["robust"], &["repair"]];
    for command in on_test {
        let ran = tells(&[command, &["--json", &wrong]].concat(), 2, &[]);
        let error: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let line = GOOD.lines().position(|line| line.starts_with("forbidden")).unwrap() + 1;
        assert_eq!((&error["file"], &error["line"]), (&wrong.as_str().into(), &line.into()), "{error}");
        assert_eq!((&error["column"], &error["code"]), (&12.into(), &"unknown-name".into()), "{error}");
        assert_eq!(error["message"], "aa is neither a register nor declared", "{error}");
        assert_eq!(error["help"], "did you mean a?", "{error}");
    }
    for command in ["check", "prove", "networks", "spec"] {
        let ran = mowgli(&[command, "--json", "bla"]);
        let error: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let help = error["help"].as_str().unwrap_or_default();
        assert!(error["code"] == "unknown-name" && help.starts_with("did you mean bal? there are"), "{error}");
        assert!(ran.code == 2 && error["line"].is_null(), "{error}");
    }
}

/// Methods that do not exist, lists of arguments that are too short, values that do not fit: every command shows the
/// call and the error.
#[test]
fn a_call_that_cannot_be_is_bad_input_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page").display().to_string();
    let calls = [
        ("m.wriet((1, 2))", "msw has no wriet; it has m.write(values), m.tryread"),
        ("m.write", "expected m.write(values)"),
        ("m.write((1, 2, 3))", "(1, 2, 3) is no tuple of 2 words, which m has"),
        ("m.write(1)", "1 is no tuple of 2 words, which m has"),
        ("m.put(n, d)", "m has 2 words, and n has 3"),
        ("o.put(m)", "o has 3 words, and m has 2"),
        ("put(x)", "expected put(remote, local, d)"),
        ("bar(m)", "m is an object of msw, and one of bal is expected"),
        ("k.insert(1)", "expected k.insert(key, v)"),
        ("k.insert(2, 1)", "2 is no key of k: there are 2, from 0"),
        ("k.insert(255, 1)", "255 is no key of k: there are 2, from 0"),
        ("k.update(-1, 1)", "-1 is no key of k: there are 2, from 0"),
        ("k.serve", "P1 does not serve k, but P2, the last thread of node 1"),
    ];
    for (call, why) in calls {
        let text = format!(
            "RDMA_WAIT t\n{{ msw m@1[2] = (0, 0); msw n@1[3] = (0, 0, 0); msw o@2[3] = (0, 0, 0); kvstore k = (7, bot); \
             x@1 = 0; }}\n P1@1 | P2@1 \
             ;\n {call} | ;\nforbidden (x=1)\n"
        );
        let test = file(folder.path(), "t.litmus", &text);
        let commands: [&[&str]; 5] = [
            &["litmus"],
            &["litmus", "--implemented", "msw,kvstore"],
            &["explain"],
            &["robust"],
            &["report", "--out", &page],
        ];
        for command in commands {
            is_bad(&[command, &[&test]].concat(), &["t.litmus:4:", call, why]);
        }
    }
}

#[test]
fn bad_checks() {
    is_bad(&["check", "nothing"], &["no library nothing", "sv, bal, bal-transitive, bal-puts, msw"]);
    is_bad(&["check", "bal", "--threads", "0"], &["a bound of 0 covers nothing"]);
    is_bad(&["check", "bal", "--threads", "-1"], &["invalid value '-1' for '--threads <T>'"]);
    is_bad(&["check", "bal", "--variant", "nothing"], &["bal has no variant nothing", "no-fence"]);
    is_bad(&["check", "bal", "--threads", "many"], &["--threads"]);
    tells(&["check", "bal", "--threads", "1", "--timeout", "18446744073709551615"], 0, &["sound"]);
}

#[test]
fn further_questions_have_answers_and_errors() {
    is_bad(&["spec", "nothing"], &["no specification nothing", "rdma-wait-rmw"]);
    is_bad(&["distinguish", "bal"], &["name the two specifications"]);
    is_bad(&["distinguish", "bal", "rbl"], &["different methods"]);
    is_bad(&["distinguish", "bal", "nothing"], &["no library nothing"]);
    is_bad(&["necessity", "bal", "--variant", "no-fence"], &["unsound", "ask about an implementation that is"]);
    is_bad(&["check", "--necessity", "--through", "bal"], &["unexpected argument '--through'"]);
    let small = ["spinlock", "--threads", "1", "--calls", "1", "--json"];
    for (option, command) in [("--spec", "spec"), ("--through", "through"), ("--mutate-spec", "worth")] {
        let former = mowgli(&[&["check", option], &small[..]].concat());
        let now = mowgli(&[&[command], &small[..]].concat());
        let without_time = |out: &str| out.split("\"seconds\"").next().unwrap_or_default().to_owned();
        assert_eq!((without_time(&former.out), former.code), (without_time(&now.out), now.code), "{option}");
        let warning = format!("`mowgli check {option}` is `mowgli {command}` now");
        assert!(former.err.contains(&warning), "{}", former.err);
    }
    let spec = mowgli(&["spec", "nlock", "--json"]);
    assert!(
        spec.code == 0 && spec.out.starts_with(r#"{"spec":"nlock","monotone":true,"decomposable":true"#),
        "{}",
        spec.out
    );
    // A property that follows from the form of a specification needs no search.
    let form = mowgli(&["spec", "rbl-weak", "--timeout", "0", "--json"]);
    let line: serde_json::Value = serde_json::from_str(&form.out).expect("JSON");
    assert!(line["in_every_size"]["monotone"] == true && line["monotone"] == true, "{line}");
    assert!(line["complete"] == false && line["satisfiable"].is_null(), "{line}");
    let needed = tells(&["necessity", "bal", "--json"], 0, &[]);
    assert!(needed.out.lines().all(|l| l.starts_with(r#"{"library":"bal","variant":"published","operation":"BAR: "#)));
    assert_eq!(needed.out.lines().filter(|l| l.contains(r#""needed":"yes""#)).count(), 4);
    let mutants = mowgli(&["mutants", "ticketlock"]);
    for said in [
        "Acq: FAA                 left out                   caught",
        "Acq: FAA                 k + 1                      blocks: clients no longer end",
        "Acq: FAA                 after what follows it      equivalent: there is nothing to change",
        "Rel: Write               made twice                 caught: an execution is stuck",
        "12 of 14 mutants are caught, 2 survive, 0 are undecided; 4 are equivalent",
        "try mowgli mutants ticketlock --threads 2 --nodes 1 --calls 5",
    ] {
        assert!(mutants.code == 0 && mutants.out.contains(said), "{}", mutants.out);
    }
    let of_another = mowgli(&["mutants", "spinlock"]);
    let said = "try mowgli mutants spinlock --threads 2 --nodes 1 --calls 4 --objects 2";
    assert!(of_another.code == 0 && of_another.out.contains(said), "{}", of_another.out);
    tells(&["distinguish", "bal", "bal-transitive", "--json"], 0, &[r#""allowed_by":"bal""#]);
    tells(&["through", "bal"], 0, &["no-wrong-outcome"]);
    tells(&["through", "bal", "--timeout", "0"], 3, &["the tower was not checked whole: the limit of"]);
    // A thread that crashes within a call of the lock below makes none of the calls after it.
    let crashed = mowgli(&["through", "counter", "--crashes", "1", "--threads", "2", "--nodes", "1", "--calls", "1"]);
    let said = ["crashes 1: stuck", "stuck: an execution of this client never ends"];
    assert!(crashed.code == 1 && said.iter().all(|s| crashed.out.contains(s)), "{}", crashed.out);
    tells(&["worth", "nlock"], 0, &["no longer caught: no-rfence"]);
}

#[test]
fn cells_of_the_stamp_order_are_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let good = file(
        folder.path(),
        "good.litmus",
        "RDMA_WAIT w { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x, d) ;\n wait(d) ;\n x := 1 ;\nforbidden (z=1)\n",
    );
    let ran = tells(&["litmus", "--mutate-to", &good], 0, &["aWT   before aCW   w\n"]);
    assert!(ran.out.ends_with("1 of 100 cells are noticed by one of 1 tests\n"), "{}", ran.out);
}

#[test]
fn checks_have_the_codes_that_they_document() {
    let small = ["--threads", "2", "--nodes", "2", "--calls", "1"];
    let sound = tells(&[&["check", "bal"][..], &small].concat(), 0, &[]);
    assert!(sound.out.contains("sound") && !sound.out.contains("g(BAR, aCR)"), "{}", sound.out);
    assert!(sound.out.lines().all(|line| line.chars().count() <= 80), "{}", sound.out);
    let wide = mowgli(&[&["check", "bal", "--wide"][..], &small].concat());
    assert!(wide.out.contains("g(BAR, aCR) = aCR of the last Read"), "{}", wide.out);
    tells(&[&["check", "bal", "--variant", "no-fence"][..], &small].concat(), 0, &["The specifications forbid it"]);
    tells(&["check", "sv", "--timeout", "0", "--json"], 3, &["\"verdict\":\"undecided\"", "limit of steps or time"]);
}

/// `sv` takes long, so `spinlock` is checked first, and its verdict is there while `sv` is searched.
#[test]
fn a_verdict_is_printed_as_soon_as_it_is_known() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mowgli"));
    let mut child = command.args(["check", "sv", "spinlock"]).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("text");
    let is_running = child.try_wait().expect("it can be asked").is_none();
    child.kill().and_then(|()| child.wait()).expect("it ends");
    assert!(is_running && line.starts_with("spinlock 3x1x2: sound in "), "{line}");
}

#[test]
fn an_expected_mistake_is_marked_and_explained_below_the_verdicts() {
    let small = ["--threads", "2", "--nodes", "2", "--calls", "1"];
    let out = mowgli(&[&["check", "bal", "--variant", "no-fence"][..], &small].concat()).out;
    let (first, rest) = out.split_once('\n').expect("lines");
    assert!(first.starts_with("bal (no-fence) 2x2x1: unsound, as expected in "), "{out}");
    let (details, table) = rest.rsplit_once("\n\n").expect("a table");
    assert!(table.trim_end().ends_with("\nvalues {1}, loops 1: bal:no-fence"), "{out}");
    let row = table.lines().rev().nth(1).expect("a row").split_whitespace().collect::<Vec<_>>();
    assert!(
        row.starts_with(&["bal:no-fence", "2x2x1"]) && row[row.len() - 3..row.len() - 1] == ["unsound", "-"],
        "{out}"
    );
    assert!(table.lines().count() == 4 && details.contains("// finding"), "{out}");
    let missed =
        mowgli(&["check", "wlock", "--variant", "no-broadcast", "--threads", "1", "--nodes", "1", "--calls", "2"]);
    assert!(missed.out.contains(": sound (expected blocks) in "), "{}", missed.out);
}

/// The variant may stand behind the library, as for `report` and `litmus`.
#[test]
fn a_variant_is_named_in_either_form() {
    let of = |args: &[&str]| {
        let ran = mowgli(&[&["check"], args, &["--threads", "1", "--nodes", "1", "--calls", "1"]].concat());
        (
            ran.code,
            ran.out.lines().skip(1).filter(|line| !line.contains(" 1x1x1 ")).collect::<Vec<_>>().join("\n"),
            ran.err,
        )
    };
    assert_eq!(of(&["bal:no-fence"]), of(&["bal", "--variant", "no-fence"]));
    let (code, _, err) = of(&["bal:nofence"]);
    assert!(code == 2 && err.contains("did you mean no-fence?"), "{err}");
    let (code, _, err) = of(&["bal:no-fence", "--variant", "published"]);
    assert!(code == 2 && err.contains("bal:no-fence and --variant name two variants"), "{err}");
}

/// The clients of 50 calls cannot be listed. The reason for the verdict stands above the table, and its row is one line.
#[test]
fn a_timeout_holds_while_clients_are_listed() {
    let start = std::time::Instant::now();
    let ran = mowgli(&["check", "sv", "--calls", "50", "--timeout", "1"]);
    assert!(start.elapsed().as_secs() < 40, "{:?}", start.elapsed());
    assert!(ran.code == 3 && ran.out.contains(": undecided: the limit of steps or time was reached"), "{}", ran.out);
    let (_, table) = ran.out.rsplit_once("\n\n").expect("a table");
    assert!(table.lines().count() == 4, "{}", ran.out);
}

/// Every client within the bound is accounted for.
#[test]
fn stats_say_what_was_looked_at_and_what_was_dropped() {
    let args = ["check", "msqueue", "--threads", "2", "--nodes", "1", "--calls", "2", "--values", "1,2", "--stats"];
    let ran = mowgli(&args);
    // Enq(1), Enq(2), Deq: 3 + 9 clients of one thread, 12 * 12 of two.
    assert!(ran.code == 0 && ran.err.contains("clients: 156, less "), "{}{}", ran.out, ran.err);
    for said in ["that are symmetric, or differ only by equal values: ", " searched; 0 never end", " leaves per class"]
    {
        assert!(ran.err.contains(said), "{said}: {}", ran.err);
    }
    let line = mowgli(&[&args[..], &["--json"]].concat()).out;
    let json: serde_json::Value = serde_json::from_str(line.trim()).unwrap();
    let of = |name: &str| json["stats"][name].as_u64().unwrap();
    assert_eq!(of("generated"), 156);
    assert_eq!((of("ill_formed"), of("not_asked")), (0, 0));
    assert_eq!(json["clients"].as_u64().unwrap(), 156);
    // A thread's calls up to a renaming of values: with one call two, with two E1 E1, E1 E2, E1 D, D E1, D D. With two
    // threads, half of those that enqueue something are others by values alone, and most of what is left is another by
    // threads, too.
    assert!(of("renamed") > 156 / 2 && of("renamed") < 156, "{line}");
    assert!(of("leaves") >= of("classes") && json["leaves_per_class"].as_f64().unwrap() >= 1.0);
    let locks = mowgli(&["check", "nlock", "--threads", "1", "--nodes", "1", "--calls", "2", "--stats"]);
    assert!(
        locks.err.contains("clients: 6, less 5 that the specification says nothing of: 1 searched"),
        "{}",
        locks.err
    );
    let few = ["--threads", "1", "--nodes", "1", "--calls", "2", "--values", "1,2,1"];
    let caught = mowgli(&[&["check", "sc-rmw", "--variant", "faa-adds-one", "--stats"], &few[..]].concat());
    assert!(caught.err.contains(" left when the check ended: "), "{}", caught.err);
    assert!(caught.out.contains("values {1, 2}"), "{}", caught.out);
}

fn without_times(json: &str) -> Vec<serde_json::Value> {
    let lines = json.lines().map(|line| {
        let mut value: serde_json::Value = serde_json::from_str(line).expect("one object a line");
        value.as_object_mut().expect("an object").remove("seconds");
        value
    });
    lines.collect()
}

#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    are_independent_of_jobs(&["check", "sv", "--variant", "fence-of-puts", "--json"]);
}

#[test]
#[ignore = "takes ten seconds"]
fn results_about_many_clients_do_not_depend_on_the_number_of_jobs() {
    are_independent_of_jobs(&["check", "bal", "bal-transitive", "--json"]);
    let bound = ["--threads", "2", "--nodes", "2", "--calls", "2"];
    are_independent_of_jobs(&[&["check", "bal", "--variant", "no-fence", "--json"][..], &bound].concat());
}

fn are_independent_of_jobs(args: &[&str]) {
    let run = |jobs| without_times(&mowgli(&[args, &["--jobs", jobs]].concat()).out);
    assert_eq!(run("1"), run("8"), "{args:?}");
}

/// Reasons name the flags of operations, and executions the flushes.
#[test]
fn flags_are_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let explained = |model: &str, last: &str, outcome: &str| {
        let words = "{ x@1 = 1; o@1 = 0; z@2 = 0; f@2 = 0; }";
        let rows = format!(" P1@1 | P2@2 ;\n put(z, x) | a := f ;\n {last} | b := z ;\n");
        let test = file(folder.path(), "t.litmus", &format!("{model} t\n{words}\n{rows}{outcome}\n"));
        mowgli(&["explain", &test]).out
    };
    for (model, last, outcome, reason) in [
        ("RDMA_TSO+efa", "rfaa@weak(o, f, 1)", "forbidden (a=1 /\\ b=0)", "rfaa@weak(o, f, 1) signals put(z, x)"),
        (
            "RDMA_TSO+relaxed-ordering",
            "put@strict(f, x)",
            "forbidden (a=1 /\\ b=0)",
            "put@strict(f, x) is by a strict key, and does not pass put(z, x)",
        ),
        ("RDMA_TSO", "flush(z)", "allowed (b=0)", "Flush(z)"),
    ] {
        let out = explained(model, last, outcome);
        assert!(out.contains(reason), "{out}");
    }
}

#[test]
fn a_kept_counterexample_is_judged_and_explained_again() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept.ron").display().to_string();
    let check = ["check", "bal", "--variant", "no-fence", "--threads", "2", "--nodes", "2", "--calls", "1"];
    assert_eq!(mowgli(&[&check[..], &["--out", &kept]].concat()).code, 0);
    tells(&["explain", &kept], 0, &["The specifications forbid it"]);
    assert!(mowgli(&["explain", &kept, "--dot"]).out.starts_with("digraph"));
    assert!(mowgli(&["explain", &kept, "--svg"]).out.contains("<svg"));

    let text = std::fs::read_to_string(&kept).unwrap();
    let half = file(folder.path(), "half.ron", &text[..text.len() / 2]);
    is_bad(&["explain", &half], &["half.ron:", "mowgli check --out"]);
    // The program cannot have the execution with any value changed.
    let changed = text.replacen("read: Some(Int(0))", "read: Some(Int(7))", 1);
    assert_ne!(changed, text);
    is_bad(&["explain", &file(folder.path(), "changed.ron", &changed)], &["changed.ron", "judge"]);
    let other = text.replacen("ret: Int(0)", "ret: Int(7)", 1);
    assert_ne!(other, text);
    is_bad(&["explain", &file(folder.path(), "other.ron", &other)], &["other.ron", "not one of the finding's program"]);
}

#[test]
fn a_litmus_test_is_explained_assertion_by_assertion() {
    let folder = tempfile::tempdir().unwrap();
    let good = file(folder.path(), "good.litmus", GOOD);
    tells(
        &["explain", &good],
        0,
        &["good: (a=1) is possible", "good: (a=0) is impossible", "a := x read 0, before x := 1 wrote  (rb)"],
    );
    is_bad(&["explain", &good, "--assertion", "3"], &["no assertion 3: the test has 2"]);
    is_bad(&["explain", &good, "--assertion", "2", "--dot"], &["no execution to draw"]);
    // The cycle of a forbidden outcome is drawn, with its sentences.
    for (form, relation) in [("--svg", "data-step=\"0\""), ("--tikz", "\\mowgliStep{")] {
        tells(&["explain", &good, "--assertion", "2", form], 0, &[relation, "a := x read 0, before x := 1 wrote"]);
    }
    is_bad(&["explain", &good, "--svg", "--tikz"], &["cannot be used with"]);
    // Without LaTeX the command says what to install.
    let mut alone = Command::new(env!("CARGO_BIN_EXE_mowgli"));
    let ran = alone.args(["explain", &good, "--pdf", "never.pdf"]).env("PATH", "").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.code() == Some(2) && said.contains("--pdf needs pdflatex") && said.contains("texlive"),
        "{said}"
    );
}

/// Statements that occur several times in a thread are distinguished, in straight threads and in threads that branch.
#[test]
fn what_occurs_twice_in_a_thread_is_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let explained = |reader: [&str; 5]| {
        let writer = ["y := 1", "x := 1", "y := 1", "", ""];
        let rows: String = writer.iter().zip(reader).map(|(w, r)| format!(" {w} | {r} ;\n")).collect();
        let text = format!("X86_TSO twice\n{{ x = 0; y = 0; }}\n P1 | P2 ;\n{rows}forbidden (a=1 /\\ b=0)\n");
        let ran = tells(&["explain", &file(folder.path(), "twice.litmus", &text)], 0, &[]);
        ran.out
    };
    let plain = explained(["a := x", "b := y", "c := x", "", ""]);
    assert!(plain.contains("b := y read 0, before y := 1 (P1, 1st of 2) wrote  (rb)"), "{plain}");
    assert!(plain.contains("if c := x reads from x := 1:"), "{plain}");
    let branching = explained(["a := x", "if a = 1 {", "b := y", "c := x", "}"]);
    assert!(branching.contains("P2: x = 1 (1st of 2) read 1, which x := 1 wrote  (rf)"), "{branching}");
    assert!(branching.contains(" (2nd of 2) reads from x := 1:"), "{branching}");
    assert!(branching.contains(" read 0, before y := 1 (P1, 1st of 2) wrote  (rb)"), "{branching}");
    // A put of a register is one statement, though it writes the private word that it sends.
    let sends = "RDMA_TSO sent\n{ z@2 = 0; }\n P1@1 ;\n a := 1 ;\n put(z, a) ;\n poll(2) ;\nforbidden (z=0)\n";
    let sends = mowgli(&["explain", &file(folder.path(), "sent.litmus", sends)]).out;
    assert!(sends.contains("put(z, a)") && !sends.contains("of 2)"), "{sends}");
}

const PUT_THEN_WRITE: &str =
    "RDMA_TSO pw\n{ x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n x := 1 ;\nallowed (z=1)\nallowed (z=0)\n";

/// `report` reads the program that a text marks, whatever else the text contains.
#[test]
fn a_kept_explanation_is_drawn_by_the_program_that_it_marks() {
    let folder = tempfile::tempdir().unwrap();
    let test = "RDMA_WAIT kept { nodes 3; x@3 = 0; r@2 = 9; barrier z = {P1, P2, P3}; }\n P1@1 | P2@2 | P3@3 ;\n put(x, 1) | bar(z) | bar(z) ;\n bar(z) | get(r, x, d) | ;\n | wait(d) | ;\n | a := r | ;\nallowed (a=1)\nallowed (a=0)\n";
    let test = file(folder.path(), "kept.litmus", test);
    let wrong = mowgli(&["explain", &test, "--implemented", "bal:no-fence", "--assertion", "2"]).out;
    let mark = r#"// finding (implemented:["bal:no-fence"],assertion:2)"#;
    assert!(wrong.contains(&format!("{mark}\nRDMA_WAIT kept")) && wrong.contains("\n// end of finding\n"), "{wrong}");
    let drawn = |text: &str| {
        let kept = file(folder.path(), "kept.snap", text);
        let ran = mowgli(&["report", "--json", &kept]);
        let page: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
        (ran, page["findings"][0].clone())
    };
    let prose = "---\nsource: x\n---\nRDMA_WAIT is a model.\nThe outcome a=1 is that of this execution of sv:\n\n";
    let (ran, finding) = drawn(&format!("{prose}{wrong}"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(finding["graph"]["title"], "kept: (a=0) is possible by bal:no-fence", "{finding}");
    assert!(!finding["explanation"].as_str().is_some_and(|text| text.contains("another execution")), "{finding}");
    let (_, finding) = drawn(&wrong.replace("Put(x, 1, _)", "Put(x, 2, _)"));
    assert!(finding["explanation"].as_str().is_some_and(|text| text.contains("another execution")), "{finding}");
    let (ran, finding) = drawn(&wrong.replace("// finding", "// a finding"));
    assert!(ran.code == 0 && finding["graph"].is_null(), "{finding}");
    for (from, to, said) in [
        ("assertion:2", "assertion:3", "has no assertion 3"),
        ("assertion:2", "assertions:2", "nexpected field"),
        ("bal:no-fence\"]", "bal:nothing\"]", "bal has no variant nothing"),
        ("put(x, 1)", "putt(x, 1)", "putt is no statement"),
    ] {
        let (ran, _) = drawn(&wrong.replacen(from, to, 1));
        assert!(ran.code == 2 && ran.err.contains("kept.snap") && ran.err.contains(said), "{said}: {}", ran.err);
    }
}

/// A writer that reads breaks the ring buffer at its first bound, and the barrier without a fence breaks at its only
/// one. The valid-first store passes its first.
#[test]
#[ignore = "takes 30 s"]
fn a_mistake_need_not_show_at_a_variants_first_bounds() {
    let bound = ["--threads", "2", "--nodes", "2", "--calls", "2"];
    let asked = mowgli(&[&["check", "kvstore", "--variant", "valid-first", "--json"], &bound[..]].concat());
    let line: serde_json::Value = serde_json::from_str(asked.out.lines().next().unwrap()).unwrap();
    assert_eq!((line["verdict"].as_str(), asked.code), (Some("sound"), 0), "{}", asked.out);
}

#[test]
fn an_execution_is_printed_json() {
    let folder = tempfile::tempdir().unwrap();
    let good = file(folder.path(), "good.litmus", GOOD);
    let ran = mowgli(&["explain", "--json", &good]);
    let lines: Vec<serde_json::Value> = ran.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((lines.len(), ran.code), (2, 0), "{}", ran.err);
    assert!(lines[0]["execution"]["events"].is_array() && lines[1]["execution"].is_null(), "{}", ran.out);
}

#[test]
fn completions_and_manual_pages_are_written() {
    let script = mowgli(&["completions", "bash"]).out;
    let of_check = script.split("mowgli__subcmd__check)").nth(1).expect("the command check");
    let of_check = of_check.split(";;\n        mowgli__").next().expect("its options");
    for name in [" bal ", " kvstore ", "no-fence"] {
        assert!(of_check.contains(name), "{name}: {of_check}");
    }
    assert!(script.contains(" bal:no-fence "), "{script}");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("man").display().to_string();
    assert_eq!(mowgli(&["man", "--out", &out]).code, 0);
    assert!(Path::new(&out).join("mowgli-check.1").exists());
    is_bad(&["completions", "cmd"], &["possible values"]);
    is_bad(&["man", "--out", &file(folder.path(), "taken", "")], &["taken"]);
}

#[test]
fn help_fits_into_a_hundred_columns() {
    let commands = mowgli(&["--help"]).out;
    let names = command_names(&commands);
    let helps = names.iter().map(|name| mowgli(&[name, "--help"]).out);
    let helps: Vec<String> = helps.chain([commands.clone()]).collect();
    assert!(helps.len() > 25, "{commands}");
    for line in helps.iter().flat_map(|help| help.lines()) {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn polls_have_two_engines_and_a_walk() {
    let folder = tempfile::tempdir().unwrap();
    let test = file(folder.path(), "pw.litmus", PUT_THEN_WRITE);
    for engine in ["declarative", "operational", "both"] {
        tells(&["litmus", "--engine", engine, &test], 0, &["States 2"]);
    }
    let walk = mowgli(&["walk", &test, "--seed", "1"]);
    assert!(walk.out.contains("\n    memory x@1="), "{}", walk.out);
    let renamed = file(folder.path(), "p3.litmus", &PUT_THEN_WRITE.replace("P1", "P3"));
    assert!(mowgli(&["walk", &renamed, "--seed", "1"]).out.starts_with("P3: "), "threads keep their names");
    assert_eq!(walk.out, mowgli(&["walk", &test, "--seed", "1"]).out);
    assert!(walk.out.contains("(rule 2)") && walk.out.contains("The end: z="), "{}", walk.out);
    let outcomes: BTreeSet<String> = (0..20)
        .map(|seed| mowgli(&["walk", &test, "--seed", &seed.to_string()]).out.lines().last().unwrap().to_owned())
        .collect();
    assert_eq!(outcomes.len(), 2, "walks see both outcomes");

    let wait = file(folder.path(), "wait.litmus", GOOD);
    is_bad(&["litmus", "--engine", "both", &wait], &["RDMA_WAIT has no machine", "RDMA_TSO"]);
    is_bad(&["walk", &wait], &["RDMA_WAIT has no machine"]);
    let poll = "RDMA_TSO p { x@1 = 0; }\n P1@1 ;\n poll(1) ;\n";
    let poll = file(folder.path(), "poll.litmus", poll);
    assert!(mowgli(&["litmus", &poll]).out.contains("Vacuous: no execution ends"));
    assert!(mowgli(&["walk", &poll]).out.contains("Stuck"));
    let identifier = "RDMA_TSO p { x@1 = 0; }\n P1@1 ;\n put(x, 1, d) ;\n";
    is_bad(&["litmus", &file(folder.path(), "id.litmus", identifier)], &[":3:", "poll(node) takes the oldest"]);
    let rmw = "RDMA_SC p { x@1 = 0; }\n P1@1 ;\n rfaa(x, x, 1) ;\n";
    is_bad(&["litmus", &file(folder.path(), "rmw.litmus", rmw)], &[":3:", "rcas, rfaa and rxchg are of RDMA_TSO"]);
}

/// Runs the command; its exit code and the first line of its output, as JSON.
fn json(args: &[&str]) -> (i32, serde_json::Value) {
    let ran = mowgli(args);
    let line = ran.out.lines().next().unwrap_or_default();
    (ran.code, serde_json::from_str(line).expect("JSON"))
}

/// A claim about all executions is vacuous if none ends: it does not hold then unless the test expects this.
#[test]
fn a_test_no_execution_of_which_ends_is_vacuous() {
    let folder = tempfile::tempdir().unwrap();
    let stuck = "RDMA_TSO stuck { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n poll(2) ;\n poll(2) ;\n";
    let with = |name: &str, assertions: &str| file(folder.path(), name, &format!("{stuck}{assertions}"));
    let test = with("stuck.litmus", "forbidden (z=0)\nforall (z=1)\n");
    for engine in ["declarative", "operational", "both"] {
        let ran = tells(&["litmus", "--engine", engine, &test], 3, &[]);
        assert!(ran.out.contains("Vacuous\nCondition forbidden (z=0)") && !ran.out.contains("Ok"), "{}", ran.out);
        assert!(ran.out.contains("Vacuous: no execution ends: a thread"), "{}", ran.out);
    }
    let (code, line) = json(&["litmus", "--json", &test]);
    assert_eq!((code, &line["vacuous"], &line["complete"]), (3, &true.into(), &true.into()), "{line}");
    assert!(line["assertions"].as_array().is_some_and(|all| all.iter().all(|a| a["holds"].is_null())), "{line}");
    assert_eq!(mowgli(&["litmus", &with("bare.litmus", "")]).code, 3);
    // An `allowed` assertion is false, as ever; but the test is vacuous, so it does not fail.
    for says in ["allowed", "exists"] {
        tells(&["litmus", &with("allowed.litmus", &format!("{says} (z=0)\n"))], 3, &["No\nCondition allowed (z=0)"]);
    }
    let explained = tells(&["explain", &test], 3, &["\nVacuous: no execution of the program ends"]);
    assert!(!explained.out.contains("nothing writes these values"), "{}", explained.out);
    let (code, line) = json(&["explain", "--json", &test]);
    assert_eq!((code, &line["vacuous"], &line["title"]), (3, &true.into(), &"stuck: (z=0) is impossible".into()));
    tells(&["robust", &test], 3, &["stuck (RDMA_TSO): vacuous: no execution ends"]);
    let (code, line) = json(&["robust", "--json", &test]);
    assert!(code == 3 && line["vacuous"] == true && line["robust"].is_null(), "{line}");
    let (_, page) = json(&["report", "--json", &test]);
    assert!(page["tests"][0]["verdict"] == "vacuous" && page["tests"][0]["assertions"][0]["holds"].is_null(), "{page}");
}

#[test]
fn a_test_can_say_that_no_execution_of_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let stuck = "RDMA_TSO stuck { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n poll(2) ;\n poll(2) ;\nvacuous\nforbidden (z=0)\n";
    let test = file(folder.path(), "stuck.litmus", stuck);
    tells(
        &["litmus", &test],
        0,
        &["Ok\nCondition vacuous\n", "Ok\nCondition forbidden (z=0)", "Vacuous: no execution ends, as the test says"],
    );
    let json = mowgli(&["litmus", "--json", &test]).out;
    assert!(json.contains(r#"{"kind":"vacuous","condition":"true","holds":true}"#), "{json}");
    assert_eq!(mowgli(&["explain", &test]).code, 0);
    assert_eq!(mowgli(&["robust", &test]).code, 0);
    // A test that expects no end fails if an execution ends.
    let ends = file(folder.path(), "ends.litmus", &stuck.replacen(" poll(2) ;\n", "", 1));
    tells(&["litmus", &ends], 1, &["No\nCondition vacuous\n"]);
    let misplaced = stuck.replacen("vacuous", "vacuous (z=0)", 1);
    is_bad(&["litmus", &file(folder.path(), "misplaced.litmus", &misplaced)], &["misplaced.litmus:6:"]);
}

#[test]
fn programs_that_never_end_are_counted_where_models_are_compared() {
    let ran =
        mowgli(&["compare", "--model", "RDMA_TSO", "--model", "RDMA_SC", "--threads", "1", "--calls", "1", "--json"]);
    let line: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    let (vacuous, programs) = (line["vacuous"].as_u64().expect("a count"), line["programs"].as_u64().expect("a count"));
    assert!(ran.code == 0 && vacuous > 0 && vacuous < programs, "{line}");
}

#[test]
fn robustness_has_reasons_and_repairs() {
    let folder = tempfile::tempdir().unwrap();
    let test = file(folder.path(), "pw.litmus", PUT_THEN_WRITE);
    let ran = tells(&["robust", "--fix", &test], 1, &[]);
    for text in ["not robust", "(Def. 7)", "line 4", "rf", "P1: poll(2) before x := 1"] {
        assert!(ran.out.contains(text), "{text}: {}", ran.out);
    }
    let fixed = folder.path().join("pw.fixed.litmus").display().to_string();
    let json = tells(&["robust", "--json", &fixed], 0, &[]);
    let line: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&line["robust"], &line["by"], &line["ldrf"]), (&true.into(), &"theorem".into(), &true.into()));
    assert_eq!(mowgli(&["litmus", &fixed]).code, 1, "z=1 is no longer allowed");

    let sb = "RDMA_TSO sb { x@1 = 0; y@1 = 0; }\n P1@1 | P2@1 ;\n x := 1 | y := 1 ;\n a := y | b := x ;\n";
    let sb = file(folder.path(), "sb.litmus", sb);
    tells(&["robust", &sb], 1, &["P1: mfence before a := y"]);
    assert_eq!(mowgli(&["robust", "--model", "sc", &sb]).code, 0);
    let wait = file(folder.path(), "wait.litmus", GOOD);
    is_bad(&["robust", &wait], &["robustness is asked of programs with polls"]);
}

#[test]
fn models_are_compared_on_the_smallest_programs() {
    tells(
        &["compare", "--model", "RDMA_TSO", "--model", "rdma-sc", "--threads", "2", "--nodes", "1"],
        0,
        &["RDMA_TSO has outcomes that RDMA_SC has not", "none of these programs has an outcome under RDMA_SC"],
    );
    let same =
        mowgli(&["compare", "--model", "RDMA_SC", "--model", "RDMA_SC", "--threads", "1", "--nodes", "1", "--json"]);
    let line: serde_json::Value = serde_json::from_str(&same.out).unwrap();
    assert_eq!((line["differences"].as_array().unwrap().len(), same.code), (0, 0));
    is_bad(&["compare", "--model", "RDMA_TSO"], &["a comparison is of two models", "write --model RDMA_TSO --model"]);
    is_bad(&["compare", "--model", "RDMA_TSO", "--model", "x86"], &["no model x86", "RDMA_WAIT"]);
    is_bad(&["compare", "--model", "RDMA_TSO", "--model", "RDMA_SC", "--rmw"], &["leave --rmw out"]);
}

const FIG_6: &str = "CORE_RMA fig6 { x@1 = 1; y@2 = 0; }\n P0@1 | P1@2 ;\n a := x | put(x, y) ;\n | y := get(x) ;\n | flush(1) ;\n | b := y ;\nforall (b=0)\n";

#[test]
fn tests_of_core_rma_are_solved_under_the_rules_of_a_network() {
    let folder = tempfile::tempdir().unwrap();
    let fig6 = file(folder.path(), "fig6.litmus", FIG_6);
    tells(&["litmus", &fig6], 0, &["States 2"]);
    tells(&["litmus", "--network", "infiniband", &fig6], 1, &["get-get"]);
    assert_eq!(mowgli(&["litmus", "--without", "IR", &fig6]).code, 1);
    is_bad(&["litmus", "--network", "mpi", &fig6], &["no preset mpi", "infiniband"]);
    is_bad(&["litmus", "--without", "R9", &fig6], &["no rule R9", "CAS-F"]);
    is_bad(&["litmus", "--engine", "both", &fig6], &["CORE_RMA has no machine"]);
    let explained = mowgli(&["explain", &fig6]);
    assert!(explained.out.contains("y := get(x)  [er read"), "{}", explained.out);
    let forbidden = file(folder.path(), "forbidden.litmus", &FIG_6.replace("forall (b=0)", "forbidden (b=1)"));
    let explained = mowgli(&["explain", &forbidden]);
    assert!(explained.out.contains("each of these rules is needed for that: R1, IR"), "{}", explained.out);
    is_bad(&["explain", "--dot", &fig6], &["of CORE_RMA there are texts and pictures only"]);
    assert!(mowgli(&["explain", "--svg", &fig6]).out.contains("IR (core-rma)"));
    is_bad(&["explain", "--assertion", "2", &fig6], &["no assertion 2: the test has 1"]);
    is_bad(&["robust", &fig6], &["programs with polls"]);
    let with = |statement: &str| {
        file(folder.path(), "bad.litmus", &FIG_6.replace("y := get(x)", statement).replace("forall (b=0)\n", ""))
    };
    is_bad(&["litmus", &with("wait(d)")], &[":4:", "wait is no statement of CORE_RMA", "flush(node)"]);
    is_bad(&["litmus", &with("y := get(x, d)")], &[":4:", "expected x := get(z)"]);
    is_bad(&["litmus", &with("y := bot")], &[":4:", "bot is no integer"]);
    is_bad(&["litmus", &with("put(x, 1)")], &[":4:", "a variable is expected"]);
    is_bad(&["litmus", &with("c.n := y")], &[":4:", "only declared variables are atomic or not"]);
    let two = file(folder.path(), "two.litmus", "CORE_RMA t { x@1 = 0; }\n P1@1 | P2@1 ;\n x := 1 | a := x ;\n");
    is_bad(&["litmus", &two], &[":2:", "one process a node"]);
    let suffix = file(folder.path(), "suffix.litmus", "RDMA_TSO t { x@1 = 0; }\n P1@1 ;\n x.n := 1 ;\n");
    is_bad(&["litmus", &suffix], &[":3:", "only CORE_RMA distinguishes"]);
    let long = format!("CORE_RMA t {{ x@1 = 0; }}\n P1@1 ;\n{}", " x := 1 ;\n".repeat(70));
    is_bad(&["litmus", &file(folder.path(), "long.litmus", &long)], &["at most 64 actions"]);
}

#[test]
fn generated_tests_hold() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().display().to_string();
    let row = ["generate", "--pivot", "IR", "--actions", "9", "--out", &folder];
    let made = mowgli(&row);
    assert!(made.code == 0 && made.err.contains("40 tests with 124 outputs"), "{}{}", made.out, made.err);
    assert_eq!(mowgli(&["litmus", &folder]).code, 0);
    let json = mowgli(&["generate", "--pivot", "LO", "--procs", "1", "--actions", "5", "--emit", "json"]);
    let lines: Vec<serde_json::Value> = json.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(!lines.is_empty() && lines.iter().all(|l| l["pivot"] == "LO"), "{}", json.out);
    let part = ["generate", "--model", "rdma-tso", "--pivot", "to:aCW-aNLR", "--procs", "1", "--actions", "3"];
    let made = mowgli(&[&part[..], &["--out", &folder]].concat());
    assert!(made.code == 0 && made.err.contains("1 of 1 parts have a test"), "{}{}", made.out, made.err);
    assert_eq!(mowgli(&["litmus", &folder]).code, 0);
    let none = mowgli(&["generate", "--pivot", "F2", "--out", &format!("{folder}/none")]);
    assert!(
        none.code == 1 && none.err.contains("nothing was written") && none.err.contains("--actions"),
        "{}",
        none.err
    );
    assert!(!Path::new(&folder).join("none").exists());
    is_bad(&["generate", "--pivot", "R7"], &["no rule R7"]);
    is_bad(&["generate", "--model", "rdma-tso", "--pivot", "to:a-b"], &["has no part to:a-b", "ib:rf"]);
    is_bad(&["generate", "--actions", "40"], &["13 actions"]);
}

#[test]
fn core_rma_is_compared_with_programs_of_polls() {
    tells(
        &["compare", "--model", "CORE_RMA", "--model", "RDMA_SC"],
        0,
        &["CORE_RMA has outcomes that RDMA_SC has not"],
    );
    is_bad(&["compare", "--model", "CORE_RMA", "--model", "RDMA_WAIT"], &["not with waits"]);
}

#[test]
fn tests_of_the_cpu_are_converted_to_herds_syntax_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let sb = "RDMA_TSO sb { x@1 = 0; y@1 = 0; }\n P1@1 | P2@1 ;\n x := 1 | y := 1 ;\n a := y | b := x ;\nallowed (a=0 /\\ b=0)\n";
    let sb = file(folder.path(), "sb.litmus", sb);
    let herd = mowgli(&["convert", &sb, "--to", "herd"]);
    assert!(herd.out.contains("movl (y),%ebx") && herd.out.contains("exists (0:rbx=0 /\\ 1:rbx=0)"), "{}", herd.out);
    let herd = file(folder.path(), "herd.litmus", &herd.out);
    let back = mowgli(&["convert", &herd, "--to", "mowgli"]);
    assert!(back.out.contains("P0@1") && back.out.contains("allowed (P0:rbx=0 /\\ P1:rbx=0)"), "{}", back.out);
    let remote = file(folder.path(), "remote.litmus", FIG_6);
    is_bad(&["convert", &remote, "--to", "herd"], &["several nodes"]);
    is_bad(&["convert", &sb, "--to", "mowgli"], &["sb.litmus", "1:1"]);
    let odd = file(folder.path(), "odd.litmus", "X86_64 t\n{ }\n P0 ;\n xaddl %eax,(x) ;\nexists (x=1)\n");
    is_bad(
        &["convert", &odd, "--to", "mowgli"],
        &["odd.litmus:4:2", "xaddl %eax,(x) has no form here", "lock cmpxchg"],
    );
}

/// Every command that searches, with a clock that is always late, on input that has a definite answer otherwise. Each
/// reports that the time was up, and claims nothing that only a complete search can show.
#[test]
fn a_clock_that_is_always_late_is_never_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let litmus = |name: &str, text: &str| file(folder.path(), name, text);
    let wait = litmus("good.litmus", GOOD);
    let tso = litmus("tso.litmus", PUT_THEN_WRITE);
    let sc = litmus("sc.litmus", &PUT_THEN_WRITE.replace("RDMA_TSO", "RDMA_SC"));
    let core = litmus("core.litmus", FIG_6);
    let rmw = litmus("rmw.litmus", "RDMA_TSO t { x@1 = 0; z@2 = 0; }\n P1@1 ;\n rfaa(x, z, 1) ;\n");
    let small = ["--threads", "2", "--nodes", "2", "--calls", "1"];
    let kept = folder.path().join("kept.ron").display().to_string();
    assert_eq!(mowgli(&[&["check", "bal", "--variant", "no-fence", "--out", &kept][..], &small].concat()).code, 0);
    let impossible = folder.path().join("none.ron").display().to_string();
    let second = ["explain", &wait, "--assertion", "2", "--out", &impossible];
    assert_eq!(mowgli(&second).code, 0);
    let snap = litmus("kept.snap", &mowgli(&["explain", &wait]).out);
    let none = folder.path().join("none").display().to_string();
    let models = |a, b| ["compare", "--model", a, "--model", b, "--threads", "2", "--nodes", "1", "--calls", "1"];
    let commands: Vec<Vec<&str>> = vec![
        vec!["litmus", &wait],
        vec!["litmus", "--implemented", "sv", &wait],
        vec!["litmus", &tso],
        vec!["litmus", "--engine", "operational", &tso],
        vec!["litmus", "--engine", "both", &tso],
        vec!["litmus", &sc],
        vec!["litmus", &core],
        vec!["litmus", "--network", "infiniband", &core],
        vec!["litmus", "--mutate-to", &wait],
        vec!["explain", &wait],
        vec!["explain", &tso],
        vec!["explain", &kept],
        vec!["explain", &impossible],
        vec!["explain", &core],
        [&["check", "bal"][..], &small].concat(),
        [&["check", "bal", "--variant", "no-fence"][..], &small].concat(),
        vec!["through", "bal"],
        vec!["spec", "nlock"],
        vec!["necessity", "bal"],
        vec!["worth", "nlock"],
        vec!["distinguish", "bal", "bal-transitive"],
        vec!["robust", &tso],
        vec!["robust", &rmw],
        models("RDMA_TSO", "RDMA_SC").to_vec(),
        models("CORE_RMA", "RDMA_SC").to_vec(),
        models("RDMA_WAIT", "RDMA_TSO").to_vec(),
        vec!["generate", "--pivot", "LO", "--procs", "1", "--actions", "5"],
        vec!["generate", "--pivot", "LO", "--procs", "1", "--actions", "5", "--emit", "json"],
        vec!["generate", "--pivot", "LO", "--procs", "1", "--actions", "5", "--out", &none],
        vec!["generate", "--model", "rdma-tso", "--pivot", "to:aCW-aNLR", "--procs", "1"],
        vec!["generate", "table6"],
        vec!["report", "bal", "--json"],
        vec!["report", &wait, "--json"],
        vec!["report", &core, "--json"],
        vec!["report", &kept, "--json"],
        vec!["report", &snap, "--json"],
        vec!["walk", &tso],
    ];
    let answers = [
        "Ok\n",
        "No\n",
        "impossible",
        "┆ sound",
        "\"sound\"",
        "robust, by",
        "not robust",
        "no difference",
        "none of these",
        "0 tests",
        "in no program",
        "Vacuous",
        "\"vacuous\":true",
        "nothing writes",
        "No execution",
        "all variants are still",
        "no test notices",
        "not needed",
        "satisfiable   yes",
        "\"distinct\":false",
        "\"robust\":true",
        "\"holds\":true",
        "\"complete\":true",
    ];
    for limited in [["robust", &tso, "--steps", "0"], ["networks", &tso, "--steps", "0"]] {
        tells(&limited, 3, &[]);
    }
    let forms: [&[&str]; 2] = [&[], &["--json"]];
    for command in commands {
        for form in forms {
            let has_json = match command[0] {
                "litmus" | "check" | "compare" | "robust" | "walk" => true,
                "explain" => command[1] != core,
                "generate" => command[1] == "table6",
                _ => false,
            };
            if !form.is_empty() && !has_json {
                continue;
            }
            let args = [&command[..], form, &["--timeout", "0"]].concat();
            let ran = mowgli(&args);
            let said = format!("{}{}", ran.out, ran.err);
            assert_eq!(ran.code, 3, "{args:?}: {said}");
            assert!(said.contains("the limit of steps or time was reached"), "{args:?}: {said}");
            if !form.is_empty() {
                assert!(ran.out.contains("the limit of steps or time was reached"), "{args:?}: {said}");
                let lines = ran.out.lines().map(serde_json::from_str::<serde_json::Value>);
                assert!(lines.collect::<Result<Vec<_>, _>>().is_ok_and(|all| !all.is_empty()), "{args:?}");
            }
            for answer in answers {
                assert!(!said.contains(answer), "{args:?} says {answer:?}: {said}");
            }
        }
    }
    assert!(!Path::new(&none).exists(), "nothing is written where nothing is known");
}

/// Commands check the clock while they enumerate very many clients, or the worlds of clients.
#[test]
fn clients_without_end_are_not_waited_for() {
    are_stopped(&[
        &["check", "bal", "--threads", "30", "--nodes", "1", "--calls", "1"],
        &["spec", "bal", "--threads", "30", "--nodes", "1"],
    ]);
}

#[test]
#[ignore = "takes half a minute"]
fn more_clients_without_end_are_not_waited_for() {
    are_stopped(&[
        &["check", "rbl", "--threads", "20", "--nodes", "1", "--calls", "1", "--objects", "3"],
        &["check", "sv", "--threads", "1", "--nodes", "40", "--calls", "1"],
        &["check", "wlock", "--threads", "1", "--nodes", "2", "--calls", "2", "--objects", "60"],
        &["check", "sv", "--threads", "2", "--nodes", "2", "--calls", "12"],
        &["check", "sv", "--threads", "9", "--nodes", "9", "--calls", "1"],
        &["through", "sv", "--calls", "12"],
        &["necessity", "sv", "--threads", "9", "--nodes", "9"],
        &["distinguish", "rbl", "rbl-weak", "--threads", "20", "--nodes", "1", "--objects", "3"],
    ]);
}

/// Asserts that a limit of one second stops these commands within half a minute.
fn are_stopped(commands: &[&[&str]]) {
    for args in commands {
        let start = std::time::Instant::now();
        tells(&[*args, &["--timeout", "1"]].concat(), 3, &[]);
        assert!(start.elapsed().as_secs() < 30, "{args:?}");
    }
}

/// The conditions of the theorems need no search, so a verdict by theorem needs no time.
#[test]
fn what_a_theorem_says_needs_no_time() {
    let folder = tempfile::tempdir().unwrap();
    let polled = PUT_THEN_WRITE.replace(" x := 1 ;", " poll(2) ;\n x := 1 ;");
    tells(&["robust", "--timeout", "0", &file(folder.path(), "polled.litmus", &polled)], 0, &["robust, by theorem"]);
}

/// Starts the command, interrupts it once it catches the signal, and waits for its output.
#[cfg(target_os = "linux")]
fn interrupted(args: &[&str]) -> Ran {
    let piped = || Stdio::piped();
    let mut child = Command::new(env!("CARGO_BIN_EXE_mowgli"))
        .args(args)
        // Drivers that come with libfabric catch signals from the moment they are loaded, until the command does so itself.
        .envs([("HFI_NO_BACKTRACE", "1"), ("IPATH_NO_BACKTRACE", "1")])
        .stdout(piped())
        .stderr(piped())
        .spawn()
        .expect("the command runs");
    let status = format!("/proc/{}/status", child.id());
    let listens = || {
        let status = std::fs::read_to_string(&status).expect("it runs");
        let caught = status.lines().find_map(|l| l.strip_prefix("SigCgt:")).expect("signals that are caught");
        u64::from_str_radix(caught.trim(), 16).expect("a mask") >> 1 & 1 == 1
    };
    while child.try_wait().expect("it can be asked").is_none() && !listens() {
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is kill");
    assert!(sent.success());
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ran { code: status.code().expect("no signal"), out: text(stdout), err: text(stderr) }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_long_work_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    // Each thread writes, copies and reads again and again, in many orders.
    let heads = (1..=6).map(|t| format!("P{t}@1")).collect::<Vec<_>>().join(" | ");
    let row = |of: &dyn Fn(usize) -> String| format!(" {} ;\n", (1..=6).map(of).collect::<Vec<_>>().join(" | "));
    let rows = |r: usize| {
        row(&|t| format!("x := {t}")) + &row(&|_| "put(z, x)".to_owned()) + &row(&|t| format!("a{t}{r} := x"))
    };
    let rows: String = (0..4).map(rows).collect();
    let large = format!("RDMA_TSO large {{ x@1 = 0; z@2 = 0; }}\n {heads} ;\n{rows}allowed (x=7)\n");
    let large = file(folder.path(), "large.litmus", &large);
    let commands: [&[&str]; 6] = [
        &["litmus", &large],
        &["robust", &large],
        &["check", "sv"],
        &["spec", "msw"],
        &["distinguish", "rbl", "rbl-weak"],
        &["compare", "--model", "RDMA_TSO", "--model", "RDMA_SC", "--calls", "5"],
    ];
    for args in commands {
        let ran = interrupted(args);
        assert_eq!(ran.code, 3, "{args:?}: {}{}", ran.out, ran.err);
        assert!((ran.out + &ran.err).contains("interrupted"), "{args:?}");
    }
}

/// A client that never ends is a finding like others: `--out` keeps it, and `explain` shows why it does not end.
#[test]
fn clients_that_never_end_are_kept_and_explained() {
    let folder = tempfile::tempdir().unwrap();
    for (library, variant, why) in
        [("wlock", "no-broadcast", "goes round in a loop"), ("bal", "exact-count", "z.count_P")]
    {
        let kept = folder.path().join("kept.ron").display().to_string();
        tells(&["check", library, "--variant", variant, "--out", &kept], 0, &[]);
        let explained = mowgli(&["explain", &kept]);
        let name = format!("RDMA_WAIT {library}-{variant}");
        for part in [name.as_str(), "\nends\n", why] {
            assert!(explained.out.contains(part), "{part} is not in\n{}{}", explained.out, explained.err);
        }
        assert!(mowgli(&["explain", &kept, "--svg"]).out.starts_with("<svg"));
        let (_, line) = json(&["explain", "--json", &kept]);
        assert!(line["execution"].is_object() && line["litmus"].as_str().is_some_and(|text| text.contains("ends")));
    }
}

/// A test that only speaks of stuck executions has a finding, as one about outcomes has.
#[test]
fn stuck_executions_are_findings() {
    let folder = tempfile::tempdir().unwrap();
    let waits = file(folder.path(), "waits.litmus", "RDMA_TSO waits\n{ x@1 = 0; }\n P1@1 ;\n await x = 1 ;\nends\n");
    let (code, line) = json(&["explain", "--json", &waits]);
    assert_eq!((code, line["title"].as_str()), (3, Some("waits: an execution is stuck")), "{line}");
    let kept = folder.path().join("kept.ron").display().to_string();
    assert!(mowgli(&["explain", &waits, "--out", &kept]).out.contains("P1"));
    assert!(mowgli(&["explain", &kept]).out.contains("an execution is stuck"));
    let over = file(folder.path(), "over.litmus", "RDMA_TSO over\n{ x@1 = 0; }\n P1@1 ;\n x := 1 ;\nends\n");
    let (code, line) = json(&["explain", "--json", &over]);
    assert_eq!((code, line["execution"].is_null()), (0, true), "{line}");
}

#[test]
fn every_command_has_an_example_in_its_help() {
    let help = mowgli(&["--help"]).out;
    let names = command_names(&help);
    assert!(help.lines().all(|line| line.len() <= 100), "{help}");
    let completions = mowgli(&["completions", "bash"]).out;
    let all = completions.lines().filter_map(|l| l.trim().strip_prefix("mowgli,")?.strip_suffix(')'));
    // The page of the site asks by a hidden command.
    let all: BTreeSet<&str> = all.filter(|name| !["help", "solve-for-page"].contains(name)).collect();
    assert!(all.len() >= 13 && all == names.iter().copied().collect(), "{all:?} are not {names:?}");
    for name in names {
        let help = mowgli(&[name, "--help"]).out;
        assert!(help.contains("Example") && help.contains(&format!("  mowgli {name}")), "{help}");
    }
}

#[test]
fn lists_walks_and_reports_have_a_form_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let list = mowgli(&["check", "--list", "--json"]);
    let lines: Vec<serde_json::Value> = list.out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert!(lines.iter().any(|l| l["library"] == "bal" && l["variant"] == "no-fence" && l["expected"] == "unsound"));
    let polls = "RDMA_TSO t { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n poll(2) ;\nallowed (z=0)\n";
    let polls = file(folder.path(), "polls.litmus", polls);
    let walk: serde_json::Value = serde_json::from_str(&mowgli(&["walk", &polls, "--json"]).out).expect("JSON");
    assert!(walk["steps"].as_array().is_some_and(|s| s.len() > 2) && walk["end"].is_array(), "{walk}");
    let report = mowgli(&["report", &polls, "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report.out).expect("JSON");
    assert_eq!(report["tests"][0]["outcomes"][0]["values"][0], "0", "{report}");
    is_bad(&["report", &polls], &["--out"]);
}

#[test]
fn prove_says_what_is_missing() {
    is_bad(&["prove", "nothing"], &["no library or theorem nothing"]);
    is_bad(&["prove", "slock", "--over", "nlock"], &["slock is not implemented over nlock, but over sv, wlock"]);
    is_bad(&["prove", "--over", "nlock,wlock"], &["no library is implemented over nlock and wlock", "check --list"]);
    is_bad(&["prove", "robust-sc", "--over", "nlock"], &["robust-sc is about no implementation"]);
    let folder = tempfile::tempdir().unwrap();
    for (solver, install) in [("z3", "apt-get install z3"), ("cvc5", "apt-get install cvc5")] {
        let Output { status, stderr, .. } = Command::new(env!("CARGO_BIN_EXE_mowgli"))
            .args(["prove", "sv", "--solver", solver])
            .env("PATH", folder.path())
            .output()
            .expect("the command runs");
        let said = String::from_utf8_lossy(&stderr).into_owned();
        assert_eq!(status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("there is no {solver} on the path")) && said.contains(install), "{said}");
    }
}

/// Two locks in opposite orders: the outcomes are not the whole answer.
#[test]
fn executions_that_are_stuck_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let text = "RDMA_WAIT t\n{ weak lock l@1; weak lock m@1; }\n P1@1 | P2@1 ;\n l.acq | m.acq ;\n m.acq | l.acq ;\n a := 1 | b := 1 ;\n \
                m.rel | l.rel ;\n l.rel | m.rel ;\n";
    let test = |more: &str| file(folder.path(), "t.litmus", &format!("{text}{more}"));
    let ran = mowgli(&["litmus", &test("forall (a=1)\n")]);
    let why = "Stuck a=0; b=0;\n  P1 at line 5, m.acq: waits for ever: P2 does not make rel(m), as it waits itself\n";
    assert!(ran.code == 3 && ran.out.contains(why), "{}{}", ran.out, ran.err);
    let ran = mowgli(&["litmus", "--json", &test("forall (a=1)\n")]);
    let line: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let expected =
        serde_json::json!({ "line": 5, "statement": "m.acq", "why": line["stuck"][0]["threads"]["P1"]["why"] });
    assert_eq!((line["stuck"].as_array().map(Vec::len), &line["stuck"][0]["threads"]["P1"]), (Some(1), &expected));
    assert_eq!(line["stuck"][0]["values"], serde_json::json!({ "a": "0", "b": "0" }));
    for (claims, code) in
        [("may hang", 0), ("hangs (P1 at line 5)", 0), ("stuck (a=0)", 0), ("ends", 1), ("hangs (P1 at line 4)", 1)]
    {
        assert_eq!(mowgli(&["litmus", &test(&format!("{claims}\n"))]).code, code, "{claims}");
    }
    is_bad(&["litmus", &test("hangs (P1 at line 1)\n")], &["P1 has no statement at line 1"]);
    is_bad(&["convert", "--to", "herd", &test("ends\n")], &["ends: herd does not speak of executions that are stuck"]);
    tells(&["explain", "--stuck", &test("may hang\n")], 0, &["P1 on node 1\n    Acq(l)"]);
    assert!(mowgli(&["explain", "--stuck", "--dot", &test("may hang\n")]).out.starts_with("digraph"));
    assert!(mowgli(&["explain", "--stuck", "--svg", &test("may hang\n")]).out.contains(": stuck</title>"));
}

/// A sentence that wraps has its number beside its first line.
#[test]
fn numbers_of_sentences_stand_at_their_first_lines() {
    let folder = tempfile::tempdir().unwrap();
    let text = "RDMA_WAIT t\n{ a_word_with_a_long_name@1 = 1; its_flag_at_the_source@1 = 1; a_word_at_the_target@2 = 0; the_flag_at_the_target@2 = 0; }\n \
                P1@1 | P2@2 ;\n put(a_word_at_the_target, a_word_with_a_long_name) | a := the_flag_at_the_target ;\n \
                put(the_flag_at_the_target, its_flag_at_the_source) | b := a_word_at_the_target ;\nforbidden (a=1 /\\ b=0)\n";
    let drawn = mowgli(&["explain", "--svg", &file(folder.path(), "t.litmus", text)]).out;
    let height = |text: &str| text.split_once(" y=\"").expect("a place").1.split('"').next().map(str::to_owned);
    let mut wrapped = 0;
    for sentence in drawn.split("class=\"caption\"").nth(1).expect("a caption").split("class=\"number\"").skip(1) {
        let lines: Vec<&str> = sentence.split("<text x=\"36.0\"").skip(1).collect();
        let begins = |line: &str| [">put(", ">a := ", ">b := "].iter().any(|statement| line.contains(statement));
        assert!(height(sentence) == height(lines[0]) && begins(lines[0]), "{sentence}");
        wrapped += usize::from(lines.len() > 1 && !lines[1].contains("Back to"));
    }
    assert!(wrapped > 0, "{drawn}");
}

/// A network that is named twice has one column.
#[test]
fn a_network_that_is_named_twice_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let test = file(folder.path(), "tso.litmus", PUT_THEN_WRITE);
    let once = tells(&["networks", &test, "--network", "rc"], 0, &[]).out;
    assert_eq!(tells(&["networks", &test, "--network", "rc", "--network", "rc"], 0, &[]).out, once);
}

/// The rules of coreRMA are of no other model, as the networks of the others are not of coreRMA.
#[test]
fn rules_are_for_tests_of_core_rma() {
    let folder = tempfile::tempdir().unwrap();
    let test = file(folder.path(), "tso.litmus", PUT_THEN_WRITE);
    for rules in [["--network", "infiniband"], ["--network", "core"], ["--without", "IR"]] {
        let texts = ["RDMA_TSO has no rules to choose", "infiniband", "CORE_RMA"];
        is_bad(&[&["litmus", &test][..], &rules].concat(), &texts);
    }
}

/// Bounds and proofs are for libraries: tests have none.
#[test]
fn options_for_libraries_are_not_for_tests() {
    let folder = tempfile::tempdir().unwrap();
    let test = file(folder.path(), "tso.litmus", PUT_THEN_WRITE);
    let text = "are for libraries, and only tests are named";
    let of_networks: [&[&str]; 5] =
        [&["--threads", "2"], &["--crashes", "1"], &["--loops", "2"], &["--prove"], &["--through"]];
    for option in of_networks {
        is_bad(&[&["networks", &test], option].concat(), &[text]);
    }
    for option in [&["--threads", "2"][..], &["--everywhere"]] {
        is_bad(&[&["repair", &test], option].concat(), &[text]);
    }
}

/// The statements are a page, and have no form in JSON.
#[test]
fn statements_have_no_json() {
    is_bad(&["litmus", "--statements", "--json"], &["--json"]);
}

/// An implementation of a library of which the test has no object changes nothing.
#[test]
fn an_implementation_that_changes_nothing_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let test = file(folder.path(), "good.litmus", GOOD);
    for command in ["litmus", "explain"] {
        let ran = mowgli(&[command, "--implemented", "bal", &test]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("bal changes nothing: the test has no object of this library"), "{}", ran.err);
    }
}

/// A library that is replaced before those that are implemented over it lacks their objects.
#[test]
fn implementations_are_named_from_top_to_bottom() {
    let folder = tempfile::tempdir().unwrap();
    let text = "RDMA_WAIT t\n{ map m at 1; }\n P1@1 ;\n a := m.insert(0, 1) ;\nallowed (a=true)\n";
    let test = file(folder.path(), "map.litmus", text);
    is_bad(&["litmus", "--implemented", "nlock,map", &test], &["replaces nlock before", "from top to bottom"]);
    tells(&["litmus", "--implemented", "map,nlock", &test], 0, &[]);
}

/// A library of x86 has no network, and a word that names no file is meant for a library.
#[test]
fn names_of_libraries_have_messages_of_libraries() {
    let text = "spinlock is over a memory model without a network";
    is_bad(&["check", "spinlock", "--network", "cxi"], &[text]);
    is_bad(&["check", "bal", "spinlock", "--network", "cxi"], &[text]);
    is_bad(&["repair", "nosuchlib"], &["nosuchlib is neither a file nor a library", "there are sv"]);
    is_bad(&["networks", "missing.litmus"], &["missing.litmus is neither a file nor a library"]);
    is_bad(&["repair", "none.litmus"], &["none.litmus: No such file"]);
}

/// A message about an argument that is no number says which numbers there are.
#[test]
fn numbers_are_asked_for_in_words() {
    for threads in ["two", "-1", "99999999999999999999"] {
        is_bad(&["check", "bal", "--threads", threads], &["write a number from 1 to "]);
    }
    is_bad(&["check", "bal", "--timeout", "two"], &["invalid value 'two' for '--timeout <S>': write a number, as 2"]);
    is_bad(&["check", "bal", "--timeout", "-1"], &["write a number from 0"]);
    is_bad(&["check", "bal", "--timeout", "99999999999999999999"], &["this number is too large"]);
}

/// A sum begins with a register, also where an address is added to.
#[test]
fn a_sum_of_an_address_has_help() {
    let folder = tempfile::tempdir().unwrap();
    let sum = "RDMA_TSO t\n{ w@1[3] = 0; p@1 = 0; }\n P1@1 ;\n p := &w[1] + 1 ;\nends\n";
    is_bad(&["litmus", &file(folder.path(), "sum.litmus", sum)], &["a sum begins with a register"]);
}

/// A barrier has each of its threads once.
#[test]
fn a_barrier_names_a_thread_once() {
    let folder = tempfile::tempdir().unwrap();
    let twice = "RDMA_WAIT t\n{ barrier b = {P1, P1}; }\n P1@1 ;\n bar(b) ;\nends\n";
    is_bad(&["litmus", &file(folder.path(), "twice.litmus", twice)], &["twice.litmus:2:20", "P1 is named twice"]);
}

/// A loop of registers has no read to report, and the points at which a thread may crash are not statements of its program.
#[test]
fn loops_are_reported_by_what_they_do() {
    let folder = tempfile::tempdir().unwrap();
    let idle = "RDMA_TSO t\n{ x@1 = 0; }\n P1@1 ;\n a := 1 ;\n while a = 1 { ;\n a := 1 ;\n } ;\nmay hang\n";
    let why = "no round reads memory, so nothing that others do ends it";
    for text in [idle.to_owned(), idle.replace("TSO t\n{", "TSO+crashes t\n{ crash(P1);")] {
        let ran = mowgli(&["litmus", &file(folder.path(), "idle.litmus", &text)]);
        assert!(ran.out.contains(why), "{}{}", ran.out, ran.err);
    }
    let counts = "RDMA_TSO+crashes t\n{ crash(P1); x@1 = 0; }\n P1@1 | P2@1 ;\n d := 0 | dead(P1) ;\n x := 1 | ;\n while true { | ;\n \
                  d := d + 1 | ;\n } | ;\nends\n";
    let ran = tells(&["litmus", &file(folder.path(), "counts.litmus", counts)], 3, &["after Write(x, 1)"]);
    assert!(!ran.out.contains("Goes"), "{}", ran.out);
}

/// A model and itself are equal, and so are a specification and itself, so this needs no search.
#[test]
fn what_is_compared_with_itself_is_equal() {
    for args in [
        &["compare", "--model", "RDMA_TSO", "--model", "RDMA_TSO"][..],
        &["compare", "--model", "RDMA_WAIT", "--network", "cxi", "--network", "cxi"],
        &["distinguish", "rbl", "rbl"],
    ] {
        tells(&[args, &["--timeout", "0"]].concat(), 0, &["is compared with itself"]);
    }
}
