//! Runs of litmus tests over shared memory and over the machine.

use std::path::Path;
use std::time::Duration;

use mowgli::catalogue::Catalogue;
use mowgli::interrupt::Deadline;
use mowgli::litmus::machine::answered;
use mowgli::litmus::parse::{parse, parse_in};
use mowgli_core::search::problem::Limits;
use mowgli_fabric::litmus::{RunRequest, run};
use serde_json::Value;

use crate::explore::counter;
use crate::kinds::{KINDS, text};
use crate::ran::{fabric, file, is_bad};
use crate::walk::litmus_files;

const SENT: &str = "RDMA_WAIT sent\n{ svar x = 0; barrier b = {P1, P2}; }\n P1@1        | P2@2   ;\n x.write(1)  | bar(b) ;\n \
                    x.bcast({2}) | a := x.read ;\n bar(b)      |        ;\n x.write(2)  |        ;\nforbidden (a=2)\nallowed (a=1)\n";

/// Runs of the papers' tests show only outcomes that the model allows, and many of them.
#[test]
fn the_papers_tests_run_as_their_models_say() {
    let papers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/litmus/papers");
    for over in ["machine", "local"] {
        let ran = fabric(&["run", papers, "--times", "40", "--fabric", over, "--json"]);
        assert_eq!(ran.code, 0, "{over}: {}{}", ran.out, ran.err);
        let all: Vec<Value> = ran.out.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
        let rows = || all.iter().flat_map(|test| test["outcomes"].as_array().unwrap());
        let weak = rows().filter(|row| row["seen"] != 0).count();
        assert!(all.len() > 50 && (weak > all.len() || over == "local"), "{over}: {} of {}", weak, rows().count());
    }
}

/// The machine shows outcomes that are allowed but rare.
#[test]
fn the_machine_is_adverse() {
    let folder = tempfile::tempdir().unwrap();
    let test = "RDMA_WAIT late\n{ x@1 = 1; y@2 = 0; }\n P1@1 | P2@2 ;\n put(y, x) | a := y ;\n x := 2 | b := y ;\n\
                allowed (a=0 /\\ b=2)\nallowed (a=1 /\\ b=1)\nallowed (a=2 /\\ b=2)\nallowed (a=0 /\\ b=0)\n";
    let test = file(folder.path(), "t.litmus", test);
    let ran = fabric(&["run", &test]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("  5 of 5 allowed outcomes were seen, and 0 forbidden"), "{}", ran.out);
}

/// One put is later than two threads, another card, and a second write of its own thread, which is quick, late, and
/// quick again. Seed 48124 is the first that shows this. If the pace of a part lasted for a number of steps, none of
/// 100,000 seeds would show it.
#[test]
fn what_is_quick_late_and_quick_again_is_seen() {
    let test = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/litmus/papers/loco-fig9c.litmus");
    let ran = fabric(&["run", test, "--seed", "48000", "--times", "200"]);
    let is_seen = |line: &str| line.ends_with(":> a=1; c=1; b=2;") && !line.trim().starts_with("0 ");
    assert!(ran.code == 0 && ran.out.lines().any(is_seen), "{}", ran.out);
}

#[test]
fn a_broken_barrier_is_seen_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let test = file(folder.path(), "sent.litmus", SENT);
    assert_eq!(fabric(&["run", &test]).code, 0);
    let broken = fabric(&["run", &test, "--variant", "bal:no-fence"]);
    assert_eq!(broken.code, 1, "{}{}", broken.out, broken.err);
    let (_, replay) = broken.out.split_once("forbidden, as with ").unwrap();
    let replay: Vec<&str> = replay.lines().next().unwrap().split(' ').collect();
    let again = fabric(&[&["run", &test, "--variant", "bal:no-fence"], &replay[..]].concat());
    assert!(again.code == 1 && again.out.contains("1 *> a=2;  forbidden"), "{replay:?}: {}", again.out);
}

#[test]
fn what_cannot_be_run_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let test = file(folder.path(), "sent.litmus", SENT);
    is_bad(&["run", &test, "--variant", "bal"], &["--variant bal: write it as LIBRARY:VARIANT, as in bal:no-fence"]);
    is_bad(&["run", &test, "--variant", "bal:nothing"], &["no variant nothing", "no-fence"]);
    is_bad(&["run", &test, "--variant", "baal:no-fence"], &["baal"]);
    is_bad(&["run", &test, "--times", "0"], &["0"]);
    let x86 = file(folder.path(), "x86.litmus", "X86_TSO sb\n{ x = 0; }\n P1 ;\n x := 1 ;\nallowed (x=1)\n");
    is_bad(&["run", &x86], &["RDMA_WAIT and RDMA_TSO, not of X86_TSO"]);
    // A run in which an assumption does not hold has no outcome.
    let waits =
        file(folder.path(), "w.litmus", "RDMA_WAIT w\n{ x@1 = 0; }\n P1@1 ;\n a := x ;\n assume a = 1 ;\nvacuous\n");
    let ran = fabric(&["run", &waits, "--times", "3"]);
    assert!(ran.code == 0 && ran.out.contains("3 runs do not count"), "{}{}", ran.out, ran.err);
    // A run that waits for ever has no outcome either, and the machine detects at once that it does.
    let loops = [
        ("{ x@1 = 0; }", " P1@1 ;\n await x = 1 ;\n"),
        ("{ x@1 = 0; z@2 = 0; }", " P1@1 ;\n a := 0 ;\n while a != 1 { ;\n get(x, z) ;\n poll(2) ;\n a := x ;\n } ;\n"),
        ("{ nodes 2; x@1 = 0; }", " P1@1 | P2@1 ;\n await x = 1 | poll(2) ;\n"),
    ];
    for (declarations, rows) in loops {
        let test = file(folder.path(), "w.litmus", &format!("RDMA_TSO w\n{declarations}\n{rows}vacuous\n"));
        let ran = fabric(&["run", &test, "--times", "300"]);
        let expected = "300 runs are stuck, as executions of the model are";
        assert!(ran.code == 0 && ran.out.contains(expected), "{rows}{}{}", ran.out, ran.err);
    }
}

#[test]
fn runs_have_the_verdict_of_each_kind() {
    let folder = tempfile::tempdir().unwrap();
    for (name, code, verdict, rows) in KINDS {
        let test = file(folder.path(), &format!("{name}.litmus"), &text(name, rows));
        let ran = fabric(&["run", "--json", "--times", "5", &test]);
        let line: Value = serde_json::from_str(ran.out.lines().next().expect("a line")).unwrap();
        assert_eq!((i64::from(ran.code), line["verdict"].as_str()), (code, Some(verdict)), "{name}: {}", ran.err);
    }
}

/// Runs of all tests of this repository have the exit code of the verdict, unless the fabric has no such test.
#[test]
fn runs_have_the_verdict_of_every_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all =
        ["tests/litmus", "mowgli/src/new", "mowgli-web/src/report"].map(|folder| litmus_files(&root.join(folder)));
    let mut compared = 0;
    // Those are read with an error, or are over libraries that this command lacks.
    for path in all.concat().iter().filter(|path| !path.to_string_lossy().contains("litmus/broken")) {
        let text = std::fs::read_to_string(path).unwrap();
        let Ok(test) = parse("t", &text) else { continue };
        let code = answered(Catalogue::builtin(), &test, &[], Limits::default()).verdict(&test).code();
        let ran = fabric(&["run", "--times", "2", &path.display().to_string()]);
        let said = format!("{}: {}{}", path.display(), ran.out, ran.err);
        // A command that does not know the model or a statement says so. An implementation that waits for a server that the test
        // does not have is worse than its specification.
        if ran.code == 2 && said.contains("unsupported") || ran.code == 1 && said.contains("that is forbidden") {
            continue;
        }
        assert_eq!(ran.code, i32::from(code), "{said}");
        compared += 1;
    }
    assert!(compared > 75, "{compared}");
}

/// A thread that waits for one whose assumption fails is not stuck: the run does not count.
#[test]
fn runs_whose_assumptions_fail_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let test = "RDMA_TSO t\n{ x@1 = 0; y@1 = 0; }\n P1@1 | P2@1 | P3@1 ;\n await y = 1 | a := x | x := 1 ;\n | assume a = 1 | ;\n \
                | y := 1 | ;\nends\nforall (a=1)\n";
    let ran = fabric(&["run", "--times", "100", &file(folder.path(), "t.litmus", test)]);
    assert!(ran.code == 0 && ran.out.contains(" runs do not count") && !ran.out.contains("are stuck"), "{}", ran.out);
}

/// A user's library runs by the bodies that `check` checks, so a broken variant shows a forbidden outcome.
#[test]
fn libraries_of_ones_own_run_by_their_own_bodies() {
    let catalogue = Catalogue::with([counter::entry()].into_iter().collect::<Vec<_>>()).unwrap();
    let text = include_str!("../../../mowgli/src/new/counter.litmus");
    let test = parse_in(&catalogue, "counter", text).unwrap();
    for (variant, code) in [("published", 0), ("no-lock", 1)] {
        let variants = [("tally".to_owned(), variant.to_owned())].into_iter().collect();
        let (limit, deadline) = (Duration::from_secs(9), Deadline::after(Some(60)));
        let ask = RunRequest { machine: Some(0), times: 300, variants: &variants, limit, deadline };
        assert_eq!(run(&catalogue, &test, &ask).unwrap().code(), code, "{variant}");
    }
}
