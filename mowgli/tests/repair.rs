//! Repairs of litmus tests and of libraries, and weakenings.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::ran::{file, is_bad, mowgli, tells};

/// Returns the programs of published algorithms that are broken on purpose.
fn broken() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/litmus/broken");
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    all
}

#[test]
fn published_algorithms_that_were_broken_are_repaired() {
    let mut said = String::new();
    for path in broken() {
        let begin = Instant::now();
        let ran = tells(&["repair", path.to_str().unwrap()], 1, &["minimal repair"]);
        // A second where it is optimised.
        assert!(begin.elapsed() < Duration::from_secs(30), "{}: {:?}", path.display(), begin.elapsed());
        said.push_str(&ran.out);
    }
    insta::assert_snapshot!(said);
}

/// The repaired test holds, and `repair` finds nothing more to do.
#[test]
fn repaired_tests_hold_and_need_no_repair() {
    for path in broken() {
        let folder = tempfile::tempdir().unwrap();
        let test = file(folder.path(), "t.litmus", &std::fs::read_to_string(&path).unwrap());
        let fixed = folder.path().join("t.fixed.litmus").display().to_string();
        assert_eq!(mowgli(&["repair", "--fix", &test]).code, 1, "{}", path.display());
        for args in [&["litmus", &fixed][..], &["repair", &fixed]] {
            tells(args, 0, &[]);
        }
    }
}

/// In a thread that may crash, explanations name each statement by its own text. An event before the statements belongs
/// to none of them.
#[test]
fn crashes_are_repaired_and_explained_in_words_of_the_test() {
    let folder = tempfile::tempdir().unwrap();
    let text = "RDMA_TSO+crashes t\n{ crash(P1); x@1 = 1; z@2 = 0; w@2 = 0; }\n P1@1      ;\n put(z, x) ;\n put(w, x) ;\n \
                a := 1    ;\nlocations [z; w;]\nforbidden (a=1 /\\ z=0)\n";
    let test = file(folder.path(), "t.litmus", text);
    tells(&["repair", "--fix", &test], 1, &["poll(2) waits until put(z, x) was sent"]);
    let fixed = folder.path().join("t.fixed.litmus").display().to_string();
    tells(&["explain", &fixed], 0, &["poll(2) waits until put(z, x) was sent"]);
}

const SB: &str = "X86_TSO sb\n{ x = 0; y = 0; }\n P1 | P2 ;\n x := 1 | y := 1 ;\n a := y | b := x ;\n";

#[test]
fn what_is_more_than_needed_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let text = "RDMA_TSO t\n{ x@1 = 1; y@2 = 0; }\n P1@1 ;\n put(y, x) ;\n poll(2) ;\n mfence ;\n x := 2 ;\n\
                locations [y;]\nallowed (y=1)\nforbidden (y=2)\n";
    let test = file(folder.path(), "t.litmus", text);
    let ran = tells(&["repair", "--weaken", "--fix", &test], 1, &[]);
    assert!(ran.out.contains("without P1: mfence (line 6)") && !ran.out.contains("without P1: poll"), "{}", ran.out);
    let fixed = folder.path().join("t.fixed.litmus").display().to_string();
    tells(&["repair", "--weaken", &fixed], 0, &["nothing can be left out"]);
    // Without the poll, the index of an access may be one that the array lacks.
    let text = "RDMA_TSO weak\n{ i@1 = 7; y@2 = 1; w@1[2] = 0; }\n P1@1 ;\n get(i, y) ;\n poll(2) ;\n a := i ;\n b := w[a] ;\nforbidden (a=7)\n";
    let weak = file(folder.path(), "weak.litmus", text);
    tells(&["repair", "--weaken", &weak], 0, &["nothing can be left out"]);
}

#[test]
fn costs_are_what_is_said_and_answers_are_three_valued() {
    let folder = tempfile::tempdir().unwrap();
    let sb = file(folder.path(), "sb.litmus", &format!("{SB}forbidden (a=0 /\\ b=0)\n"));
    let line = |args: &[&str]| {
        let ran = mowgli(&[&["repair", "--json"], args].concat());
        (ran.code, serde_json::from_str::<serde_json::Value>(&ran.out).unwrap())
    };
    let (code, found) = line(&["--cost", "mfence=7", &sb]);
    assert_eq!((code, &found["repairs"][0]["cost"]), (1, &14.into()), "{found}");
    assert_eq!(found["repairs"].as_array().unwrap().len(), 1);
    let (code, found) = line(&["--most", "1", &sb]);
    assert!(code == 3 && found["undecided"].is_string() && found["repairs"] == serde_json::json!([]), "{found}");
    tells(&["repair", "--most", "1", &sb], 3, &["  there may be one: "]);
    let (code, found) = line(&["--timeout", "0", &sb]);
    assert!(code == 3 && found["is_done"].is_null(), "{found}");
    let hopeless = file(folder.path(), "all.litmus", &format!("{SB}forbidden (a=1 /\\ b=1)\n"));
    tells(&["repair", &hopeless], 1, &["possible with everything inserted everywhere"]);
    let both = file(folder.path(), "both.litmus", &format!("{SB}forbidden (a=0 /\\ b=0)\nallowed (a=0 /\\ b=0)\n"));
    tells(&["repair", &both], 1, &["would forbid what is to be allowed"]);
}

/// Tests, each with texts of the answer, and a text that it lacks.
#[rustfmt::skip]
const PLACES: [(&str, &[&str], &str); 13] = [
    // A message is repaired as a put is, and operations of several words as those of one.
    ("RDMA_TSO+messages t\n{ x@1 = 1; z@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | a := recv() ;\n \
      send@q2(2, 7) | b := z ;\nforbidden (a=7 /\\ b=0)\n", &["cost 10"], ""),
    ("RDMA_TSO t\n{ x@1[2] = (1, 1); z@2[2] = 0; }\n P1@1 ;\n put(z, x, 2) ;\n x[1] := 5 ;\nlocations [z[1];]\n\
      forbidden (z[1]=5)\n", &["poll(2) waits until put(z, x, 2) was sent"], ""),
    // After both writes the fence is too much; between them it is not.
    ("X86_TSO two-writes\n{ x = 0; y = 0; z = 0; }\n P1     | P2     ;\n x := 1 | z := 1 ;\n y := 1 | mfence ;\n \
      a := z | b := x ;\n        | c := y ;\nallowed (a=0 /\\ c=0)\nforbidden (a=0 /\\ b=0)\n",
     &["P1: mfence before y := 1 (line 5)", "would forbid what is to be allowed: P1: mfence before a := z (line 6)"], ""),
    // Two polls of one get: the forbidden outcome does not happen, because no execution ends.
    ("RDMA_TSO t\n{ x@1 = 0; z@1 = 0; y@2 = 0; }\n P1@1 ;\n get(x, y) ;\n a := z ;\n b := z ;\nforbidden (a=0)\n",
     &["that forbid the one let no execution end", "these would let no execution end: P1: poll(2) before a := z"], ""),
    // A poll after a branch gives the wanted order, but waits for ever if the branch did not make the operation.
    (BRANCH, &["these would make some execution wait for ever: P1: poll(2) before buf := 2"],
     "    P1: poll(2) before buf := 2"),
    // `buf := 2` stays behind the put of `buf`.
    (BRANCH, &[], "move buf := 2"),
    // A poll before the loop waits once, and one in the loop waits in each iteration.
    ("RDMA_TSO t\n{ x@1 = 0; buf@1 = 1; z@2 = 0; }\n P1@1 | P2@1 ;\n put(z, buf) | x := 1 ;\n a := 0 | ;\n while a = 0 { | ;\n \
      buf := 2 | ;\n a := 1 | ;\n } | ;\n b := x | ;\nforbidden (z=2)\n",
     &["cost 5\n    P1: poll(2) before while a = 0 { (line 6)"], ""),
    // A put of a register is one operation, though the register is written to memory before: one poll takes it.
    ("RDMA_TSO t\n{ w@2 = 0; f@3 = 0; c@3 = 9; }\n P1@1 | P3@3 ;\n a := 1 | r := f ;\n put(w, a) | get(c, w) ;\n \
      put(f, 1) | poll(2) ;\n | b := c ;\nforbidden (r=1 /\\ b=0)\n",
     &["get(dummy_P1_2, dummy_P1_2_there); poll(2); poll(2) before put(f, 1) (line 6)"], ""),
    // A poll that comes too late is moved, which no insertion can do: with one more the last would wait for ever.
    ("RDMA_TSO t\n{ buf@1 = 1; z@2 = 0; }\n P1@1 ;\n put(z, buf) ;\n buf := 2 ;\n poll(2) ;\nlocations [z;]\n\
      forbidden (z=2)\nallowed (z=1)\n", &["cost 1\n    P1: move poll(2) (line 6) before buf := 2 (line 5)"], ""),
    // Two accesses change places if they have no word in common.
    ("X86_TSO t\n{ x = 0; y = 0; }\n P1 | P2 ;\n y := 1 | a := y ;\n x := 1 | b := x ;\nforbidden (a=1 /\\ b=0)\n\
      allowed (a=1 /\\ b=1)\n", &["cost 15\n    P1: move x := 1 (line 5) before y := 1 (line 4)"], ""),
    // With relaxed ordering no write passes an atomic: one in place of a put, or one that adds 0.
    ("RDMA_TSO+relaxed-ordering t\n{ x@1 = 1; o@1 = 1; z@2 = 0; f@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | a := f ;\n \
      put(f, o) | b := z ;\nallowed (a=1 /\\ b=1)\nforbidden (a=1 /\\ b=0)\n",
     &["cost 8\n    P1: rcas(dummy_P1_2, f, 0, 1) in place of put(f, o) (line 5)",
       "cost 8\n    P1: rfaa(dummy_P1_2, dummy_P1_2_there, 0) before put(f, o) (line 5)"], ""),
    // If the word changes, the value of the put cannot be predicted.
    ("RDMA_TSO+relaxed-ordering t\n{ x@1 = 1; o@1 = 1; z@2 = 0; f@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | a := f ;\n \
      put(f, o) | b := z ;\n o := 2 | ;\nallowed (a=1 /\\ b=1)\nforbidden (a=1 /\\ b=0)\n", &[], "in place of put(f, o)"),
    // The end of a block is a place, and the repaired test has the poll before the brace.
    ("RDMA_TSO t\n{ has@1 = 0; buf@1 = 1; z@2 = 0; }\n P1@1 | P2@1 ;\n a := has | has := 1 ;\n if a = 1 { | ;\n \
      put(z, buf) | ;\n } | ;\n buf := 2 | ;\nforbidden (z=2)\nallowed (a=0)\n",
     &["cost 5\n    P1: poll(2) at the end of if a = 1 { ... } (line 7)", "waits until P1: put(z, buf) was sent"], ""),
];

/// A thread that puts on one branch, and then uses the buffer again on both.
const BRANCH: &str = "RDMA_TSO t\n{ has@1 = 0; buf@1 = 1; z@2 = 0; }\n P1@1 | P2@1 ;\n a := has | has := 1 ;\n if a = 1 { | ;\n \
                      put(z, buf) | ;\n } | ;\n buf := 2 | ;\nforbidden (z=2)\n";

/// A repaired test holds, and `repair` finds nothing more to do.
#[test]
fn each_repair_is_in_a_place_where_it_helps() {
    for (text, said, lacks) in PLACES {
        let folder = tempfile::tempdir().unwrap();
        let ran = tells(&["repair", "--fix", &file(folder.path(), "t.litmus", text)], 1, said);
        assert!(lacks.is_empty() || !ran.out.contains(lacks), "{}", ran.out);
        let fixed = folder.path().join("t.fixed.litmus");
        assert_eq!(fixed.exists(), ran.out.contains("minimal repair"), "{}", ran.out);
        if fixed.exists() {
            let fixed = fixed.display().to_string();
            tells(&["litmus", &fixed], 0, &[]);
            tells(&["repair", &fixed], 0, &[]);
        }
    }
}

/// A poll may only let the next poll take the next operation. The reasons say that no cycle goes through it.
#[test]
fn reasons_go_through_what_was_inserted_or_say_that_they_do_not() {
    let test = broken().into_iter().find(|p| p.ends_with("slot.litmus")).unwrap();
    let ran = mowgli(&["repair", test.to_str().unwrap()]);
    assert!(ran.out.contains("no cycle that was found goes through this repair"), "{}{}", ran.out, ran.err);
}

/// A claim that there is no repair names the edits that were searched. Hopeless places take one line for each harm.
#[test]
fn no_repair_is_a_claim_about_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let text = "RDMA_TSO t\n{ x@1 = 0; z@1 = 0; y@2 = 0; }\n P1@1 ;\n get(x, y) ;\n a := z ;\n b := z ;\n c := z ;\nforbidden (a=0)\n";
    let test = file(folder.path(), "t.litmus", text);
    let ran = mowgli(&["repair", &test]);
    assert!(
        ran.out.contains("  searched: insertions: 3, up to 3 at once; moves, swaps and atomics: 1, each alone"),
        "{}",
        ran.out
    );
    assert_eq!(ran.out.lines().filter(|line| line.contains("these would")).count(), 1, "{}", ran.out);
    let ran = mowgli(&["repair", "--json", &test]);
    let found: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(found["searched"].is_string() && found["endless"].as_array().unwrap().len() > 1, "{found}");
}

#[test]
fn what_cannot_be_repaired_is_reported_why() {
    let folder = tempfile::tempdir().unwrap();
    let with = |more: &str| file(folder.path(), "t.litmus", &format!("{SB}{more}"));
    for (more, code, why) in [
        ("", 0, "nothing has to be inserted"),
        ("allowed (a=1)\n", 0, "nothing has to be inserted"),
        (
            "forbidden (a=0)\nallowed (a=7)\n",
            1,
            "no repair: allowed (a=7) is false, and insertions only take executions",
        ),
        ("hangs (P1)\n", 1, "no repair: hangs (P1) is false"),
    ] {
        let ran = mowgli(&["repair", &with(more)]);
        assert!(ran.code == code && ran.out.contains(why), "{more}: {}{}", ran.out, ran.err);
    }
    is_bad(&["repair", "--weaken", &with("allowed (a=1)\n")], &["say what must not happen, as `forbidden (a=1)`"]);
    is_bad(&["repair", "--weaken", &with("forbidden (a=0)\n")], &["without --weaken"]);
    is_bad(&["repair", "--cost", "wait=1", &with("forbidden (a=0)\n")], &["what can be inserted here is mfence"]);
    is_bad(&["repair", "--cost", "mfence", &with("forbidden (a=0)\n")], &["a cost is written as mfence=1"]);
    let twice = ["repair", "--cost", "mfence=3", "--cost", "mfence=4", &with("forbidden (a=0)\n")];
    is_bad(&twice, &["--cost mfence=4: this kind has another cost already"]);
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/litmus/corerma-fig6.litmus");
    is_bad(&["repair", core.to_str().unwrap()], &["nothing can be inserted into tests of CORE_RMA"]);
}

#[test]
fn robust_hands_over_where_its_theorems_say_nothing() {
    let wait = broken().into_iter().find(|p| p.ends_with("ticket.litmus")).unwrap();
    is_bad(&["robust", wait.to_str().unwrap()], &["`mowgli repair FILE` finds what to insert"]);
    let rmw = broken().into_iter().find(|p| p.ends_with("batched-lock.litmus")).unwrap();
    let ran = mowgli(&["robust", rmw.to_str().unwrap()]);
    assert!(ran.out.contains("`mowgli repair FILE`"), "{}{}", ran.out, ran.err);
}

/// Repairs a library; returns the exit code and the answer in JSON.
fn of_library(args: &[&str]) -> (i32, serde_json::Value) {
    let ran = mowgli(&[&["repair", "--json"], args].concat());
    (ran.code, serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{args:?}: {e}: {}{}", ran.out, ran.err)))
}

/// Returns the insertions of each repair as one line.
fn inserted(found: &serde_json::Value) -> Vec<String> {
    let texts = |repair: &serde_json::Value| {
        let all = repair["insert"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
        all.collect::<Vec<_>>().join("; ")
    };
    found["repairs"].as_array().unwrap().iter().map(texts).collect()
}

/// Variants that lack something: the search finds the missing insertion unaided.
#[test]
fn what_implementations_lack_is_found() {
    repairs_are_found(&[
        (
            &["bal", "--variant", "no-fence", "--threads", "2", "--nodes", "2", "--calls", "1"],
            &[
                "BAR: a global fence of the own node before Read of count",
                "BAR: a global fence of the other nodes before Read of count",
            ],
        ),
        (
            &["slock", "--variant", "no-fence", "--threads", "2", "--nodes", "2"],
            &["Rel: a global fence of the own node before Rel", "Rel: a global fence of the other nodes before Rel"],
        ),
        (
            &["nlock", "--variant", "no-rfence", "--threads", "2", "--nodes", "2"],
            &["Rel: a remote fence of its node before Put of released"],
        ),
    ]);
}

#[test]
#[ignore = "takes a quarter of a minute"]
fn what_rings_lack_is_found() {
    repairs_are_found(&[
        (
            &["rbl", "--variant", "no-wait", "--threads", "2", "--nodes", "2", "--calls", "2"],
            &["Submit: a wait for Bcast of head before"],
        ),
        (
            &["rbl", "--threads", "2", "--nodes", "2", "--calls", "2", "--timeout", "300"],
            &["Submit: a global fence of the own node before Bcast of head"],
        ),
    ]);
}

/// Asserts that some repair of each library, for these bounds, has all of these insertions.
fn repairs_are_found(cases: &[(&[&str], &[&str])]) {
    for (args, wanted) in cases {
        let (code, found) = of_library(args);
        let all = inserted(&found);
        assert_eq!(code, 1, "{args:?}: {found}");
        assert!(all.iter().any(|repair| wanted.iter().all(|w| repair.contains(w))), "{args:?}: {all:#?}");
    }
}

/// The same insertions in other places are not listed as other repairs. A set with one more insertion is not called
/// minimal because of that.
#[test]
fn what_is_not_asked_about_makes_nothing_minimal() {
    let bounds = ["bal", "--variant", "no-fence", "--threads", "2", "--nodes", "2", "--calls", "1"];
    let (_, found) = of_library(&bounds);
    assert_eq!((inserted(&found).len(), found["undecided"].is_string()), (1, true), "{found}");
}

#[test]
fn what_is_sound_needs_no_repair() {
    let (code, found) = of_library(&["slock", "--threads", "2", "--nodes", "2"]);
    assert_eq!((code, &found["is_done"], &found["repairs"]), (0, &true.into(), &serde_json::json!([])), "{found}");
}

/// A fence after the release of a lock is too late, and can change places with it.
#[test]
fn an_operation_in_the_wrong_place_is_moved() {
    let (code, found) = of_library(&["slock", "--variant", "fence-after", "--threads", "2", "--nodes", "2"]);
    assert_eq!((code, &found["repairs"][0]["cost"]), (1, &1.into()), "{found}");
    assert!(inserted(&found)[0].contains("after what follows it"), "{found}");
}

#[test]
fn what_a_body_has_more_than_it_needs_can_be_left_out() {
    let bounds = ["--threads", "2", "--nodes", "2", "--calls", "1"];
    let (code, found) = of_library(&[&["bal", "--weaken"], &bounds[..]].concat());
    // Each part of its fence is needed.
    assert_eq!((code, &found["is_done"]), (0, &true.into()), "{found}");
    // The Wait of SV is one wait: without it the body is empty, which is an answer and not an open question.
    let (code, found) =
        of_library(&[&["sv", "--weaken"], &["--threads", "1", "--nodes", "2", "--calls", "2"][..]].concat());
    assert_eq!((code, &found["is_done"], &found["undecided"]), (0, &true.into(), &serde_json::Value::Null), "{found}");
    is_bad(
        &[&["repair", "bal", "--variant", "no-fence", "--weaken"], &bounds[..]].concat(),
        &["repair it first, without --weaken"],
    );
}

#[test]
fn a_library_that_cannot_be_repaired_is_reported_why() {
    is_bad(&["repair", "--variant", "no-fence", "baal"], &["baal"]);
    is_bad(&["repair", "bal", "--variant", "nothing"], &["no variant nothing"]);
    is_bad(&["repair", "bal", "--fix"], &["--fix writes litmus tests"]);
    is_bad(&["repair", "bal", "--cost", "poll=3"], &["what can be inserted here is gf, move, wait"]);
    let (code, found) = of_library(&["bal", "--variant", "no-fence", "--timeout", "0"]);
    assert!(code == 3 && found["is_done"].is_null() && found["undecided"].is_string(), "{found}");
}

/// A handshake in which a credit may overtake what it gives back, so that a thread waits for ever.
const HANDSHAKE: &str = "RDMA_TSO t\n{ c@1 = 0; m@1 = 1; n@1 = 0; r@2 = 0; o@2 = 0; }\n P1@1 | P2@2 ;\n await c = 1 | rfaa(o, c, 1) ;\n \
                         put(c, n) | await r >= 1 ;\n put(r, m) | rfaa(o, c, 1) ;\n await c = 1 | ;\n a := 1 | ;\n";

/// Executions that are stuck are repaired, if the test says `ends` or nothing. What is written ends.
#[test]
fn executions_that_are_stuck_are_repaired() {
    let folder = tempfile::tempdir().unwrap();
    for assertion in ["ends\n", "forbidden (a=0)\n", "forbidden (a=0)\nends\n", ""] {
        let test = file(folder.path(), "t.litmus", &format!("{HANDSHAKE}{assertion}"));
        assert_ne!(mowgli(&["litmus", &test]).code, 0, "{assertion}");
        let ran = tells(&["repair", "--fix", &test], 1, &[]);
        assert!(
            ran.out.contains("minimal repair") && ran.out.contains("get(") || ran.out.contains("flush"),
            "{}",
            ran.out
        );
        let fixed = folder.path().join("t.fixed.litmus").display().to_string();
        for args in [&["litmus", &fixed][..], &["repair", &fixed]] {
            tells(args, 0, &[]);
        }
        let fixed = std::fs::read_to_string(fixed).unwrap();
        let weak = file(folder.path(), "weak.litmus", &fixed);
        if !assertion.is_empty() && assertion.contains("forbidden") {
            tells(&["repair", "--weaken", &weak], 0, &["nothing can be left out"]);
        }
    }
    // Nothing that is inserted ends a lost signal, and the data are repaired nevertheless.
    let lost = "RDMA_TSO t\n{ x@1 = 1; z@2 = 0; g@2 = 0; f@2 = 9; m@1 = 1; }\n P1@1 | P2@2 | P3@2 ;\n put(z, x) | await g = 1 | f := 0 ;\n \
                put@q2(g, m) | a := z | await f = 1 ;\n put@q3(f, m) | | ;\nforbidden (a=0)\nends\n";
    tells(&["repair", &file(folder.path(), "lost.litmus", lost)], 1, &["get(", "executions stay stuck"]);
    let alone = lost.replace("forbidden (a=0)\n", "");
    let ran = mowgli(&["repair", &file(folder.path(), "alone.litmus", &alone)]);
    assert!(ran.out.contains("no repair: executions are stuck with everything inserted"), "{}{}", ran.out, ran.err);
    let explained = mowgli(&["explain", &file(folder.path(), "lost.litmus", lost)]);
    assert!(explained.out.contains("\nends\nStuck") && explained.out.contains("await f = 1"), "{}", explained.out);
    let explained = mowgli(&["explain", &file(folder.path(), "alone.litmus", &alone)]);
    assert!(explained.out.starts_with("ends\nStuck"), "{}{}", explained.out, explained.err);
}

/// Repairs of one cost with the same insertions are one line, whatever their places.
#[test]
fn equal_repairs_in_other_places_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = "RDMA_TSO t\n{ x@2 = 0; y@3 = 0; f@2 = 0; g@3 = 0; }\n P1@1 | P2@2 | P3@3 ;\n put(x, 1) | await f = 1 | await g = 1 ;\n \
                put(y, 1) | a := x | b := y ;\n put@q2(f, 1) | | ;\n put@q2(g, 1) | | ;\nforbidden (a=0)\nforbidden (b=0)\n";
    let ran = tells(&["repair", &file(folder.path(), "t.litmus", text)], 1, &[]);
    let others = ran
        .out
        .lines()
        .filter_map(|line| line.trim().strip_prefix("or the same in ")?.split(' ').next()?.parse::<usize>().ok());
    let (printed, others) = (ran.out.matches("  cost ").count(), others.sum::<usize>());
    let json = mowgli(&["repair", "--json", &folder.path().join("t.litmus").display().to_string()]);
    let found: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let all = found["repairs"].as_array().unwrap().len();
    assert!(others > 0 && printed + others + ran.out.matches("    or before").count() == all, "{all}: {}", ran.out);
}

/// A search for the cheapest repair that ends early prints one that need not be the cheapest.
#[test]
fn a_search_that_ends_early_has_some_repair() {
    let folder = tempfile::tempdir().unwrap();
    let text = "RDMA_TSO ring\n{ x@1 = 0; y@2 = 0; z@3 = 0; a@1 = 0; b@2 = 0; c@3 = 0; d@1 = 0; e@2 = 0; f@3 = 0; }\n \
                P1@1 | P2@2 | P3@3 ;\n put(z, 1) | put(x, 1) | put(y, 1) ;\n put(b, 1) | put(c, 1) | put(a, 1) ;\n \
                await a = 1 | await b = 1 | await c = 1 ;\n put(e, 1) | put(f, 1) | put(d, 1) ;\n \
                await d = 1 | await e = 1 | await f = 1 ;\n r := x | s := y | t := z ;\nforall (r=1 /\\ s=1 /\\ t=1)\n";
    let test = file(folder.path(), "t.litmus", text);
    tells(&["repair", "--most", "1", "--fix", &test], 3, &["1 minimal repair\n  cost ", "there may be others"]);
    let fixed = folder.path().join("t.fixed.litmus").display().to_string();
    assert_eq!(mowgli(&["litmus", &fixed]).code, 0);
}
