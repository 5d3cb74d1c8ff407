//! herd7 runs the models that are written for it, on tests that are converted to LISA, and finds the outcomes that the search
//! finds. Without a herd7 on the path those tests are reported as ignored, not as passed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Trial;
use mowgli::cat::for_herd;
use mowgli::cat::lisa::to_lisa;
use mowgli::catalogue::Catalogue;
use mowgli::litmus::parse::parse;
use mowgli::litmus::run::solve;
use mowgli::litmus::test::{Model, Test};
use mowgli_core::search::problem::Limits;
use serde_json::Value;

use crate::needs::{self, Layer, Need};
use crate::ran::{file, is_bad, mowgli, tells};
use crate::walk::litmus_files;

/// Lists the tests that need herd7.
pub fn trials() -> Vec<Trial> {
    let with_herd: [(&str, fn()); 6] = [
        ("the_corpus_has_the_same_outcomes", the_corpus_has_the_same_outcomes),
        ("random_programs_with_waits_have_the_same_outcomes", random_programs_with_waits_have_the_same_outcomes),
        ("random_programs_with_polls_have_the_same_outcomes", random_programs_with_polls_have_the_same_outcomes),
        ("what_lisa_says_in_another_way_has_the_same_outcomes", what_lisa_says_in_another_way_has_the_same_outcomes),
        ("a_model_that_lacks_a_relation_is_distinguished", a_model_that_lacks_a_relation_is_distinguished),
        ("the_command_that_is_printed_runs", the_command_that_is_printed_runs),
    ];
    let without: [(&str, fn()); 4] = [
        ("a_test_is_written_with_its_marks", a_test_is_written_with_its_marks),
        ("what_lisa_cannot_say_is_named", what_lisa_cannot_say_is_named),
        ("what_herd_cannot_be_given_is_named", what_herd_cannot_be_given_is_named),
        ("dartagnan_is_given_no_with", dartagnan_is_given_no_with),
    ];
    let missing = || {
        let has_herd = Command::new("herd7").arg("-version").output().is_ok_and(|o| o.status.success());
        (!has_herd).then(|| "there is none on the path".to_owned())
    };
    let herd = Need { tool: "herd7", in_ci: false, missing };
    let needs = |(name, test): (&'static str, fn())| needs::trial(name, Layer::Long, herd.clone(), test);
    let trial = |(name, test): (&'static str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    with_herd.into_iter().map(needs).chain(without.into_iter().map(trial)).collect()
}

/// Outcomes, each with the value of all that the test shows.
type Outcomes = BTreeSet<Vec<String>>;

/// Returns the tests on which herd7 and the search differ, with the outcomes of both, and the number of tests that were
/// compared.
fn compared(texts: &[String], change: impl Fn(&str, String) -> String) -> (BTreeMap<String, [Outcomes; 2]>, usize) {
    let tests = texts.iter().map(|text| parse("t.litmus", text).unwrap());
    let mut of_model: BTreeMap<String, Vec<Test>> = BTreeMap::new();
    for test in tests.filter(|test| to_lisa(test).is_ok()) {
        of_model.entry(test.model.to_string()).or_default().push(test);
    }
    let (mut differ, mut count) = (BTreeMap::new(), 0);
    for (model, tests) in of_model {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in for_herd(Catalogue::builtin(), &model).unwrap() {
            let text = change(&name, text);
            file(folder.path(), &name, &text);
        }
        let by_herd = of_herd(folder.path(), &model, &tests);
        for test in &tests {
            let answer = solve(test, &[], Limits::default());
            assert_eq!(answer.explored.stop, None, "{}", test.name);
            let row = |values: &Vec<_>| values.iter().map(ToString::to_string).collect();
            let by_search: Outcomes = answer.outcomes.keys().map(row).collect();
            if by_herd[&test.name] != by_search {
                differ.insert(test.name.clone(), [by_herd[&test.name].clone(), by_search]);
            }
        }
        count += tests.len();
    }
    (differ, count)
}

/// Runs herd7 on tests of one model; returns the outcomes by the name of the test.
fn of_herd(folder: &Path, model: &str, tests: &[Test]) -> BTreeMap<String, Outcomes> {
    let mut herd = Command::new("herd7");
    let of = |ending: &str| folder.join(format!("{model}.{ending}"));
    herd.arg("-I").arg(folder).arg("-bell").arg(of("bell")).arg("-model").arg(of("cat"));
    let mut shown = BTreeMap::new();
    for (i, test) in tests.iter().enumerate() {
        let lisa = to_lisa(test).unwrap();
        herd.arg(file(folder, &format!("{i}.litmus"), &lisa.text));
        assert_eq!(shown.insert(test.name.clone(), lisa.shown), None, "two tests have one name");
    }
    let ran = herd.output().unwrap();
    let (out, err) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    assert!(ran.status.success() && err.is_empty(), "{err}");
    let mut found = BTreeMap::new();
    let mut lines = out.lines();
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix("Test ") else { continue };
        let name = head.split(' ').next().unwrap();
        let states = lines.next().and_then(|l| l.strip_prefix("States ")).unwrap().parse().unwrap();
        let row = |state: &str| {
            let pairs = state.split(';').filter_map(|pair| pair.trim().split_once('='));
            let all: BTreeMap<&str, &str> = pairs.map(|(n, v)| (n.trim_matches(['[', ']']), v)).collect();
            shown[name].iter().map(|n| all[n.as_str()].to_owned()).collect()
        };
        found.insert(name.to_owned(), lines.by_ref().take(states).map(row).collect());
    }
    assert!(shown.keys().all(|name| found.contains_key(name)), "{out}");
    found
}

#[track_caller]
fn all_agree(texts: &[String], expected: usize) {
    let (differ, count) = compared(texts, |_, text| text);
    assert!(differ.is_empty(), "herd7 and the search differ: {differ:#?}");
    assert_eq!(count, expected);
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

/// Returns the texts of the repository's tests that are of models for herd7.
fn corpus() -> Vec<String> {
    let texts = litmus_files(&tests().join("litmus")).into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    texts.filter(|text| !text.starts_with("CORE_RMA")).collect()
}

fn random(file: &str) -> Vec<String> {
    let lines = std::fs::read_to_string(tests().join("outcomes").join(file)).unwrap();
    let text = |line: &str| serde_json::from_str::<Value>(line).unwrap()["litmus"].as_str().unwrap().to_owned();
    lines.lines().map(text).collect()
}

fn the_corpus_has_the_same_outcomes() {
    all_agree(&corpus(), 65);
}

fn random_programs_with_waits_have_the_same_outcomes() {
    all_agree(&random("wait.jsonl"), 150);
}

fn random_programs_with_polls_have_the_same_outcomes() {
    all_agree(&random("tso.jsonl"), 150);
}

const DECLARED: &str = "{ nodes 2; x@1 = 0; y@1 = 0; r1@1 = 5; z@2 = 0; }\n P1@1 | P2@1 ;\n";

/// Branches are jumps, awaits and assumptions are filters, what is sent is written before, and locked instructions and
/// operations on remote words are spelled out.
fn what_lisa_says_in_another_way_has_the_same_outcomes() {
    let rows = [
        " x := 1 | a := x ;\n | if a = 1 { ;\n | b := 2 ;\n | } else { ;\n | b := 3 ;\n | } ;\n",
        " x := 1 | a := x ;\n y := 1 | if a = 1 /\\ ~(a = 7) { b := y } ;\n",
        " x := 2 | a := x ;\n | if a = 1 { b := 1 } else if a = 2 \\/ a = 3 { b := 4 } else { b := 9 } ;\n",
        " x := 1 | a := await x != 0 ;\n x := 2 | ;\n",
        " await y = 1 | y := 1 ;\n await x = 1 | x := 1 ;\n",
        " x := 1 | a := x ;\n | b := x ;\n | assume a != b ;\n",
        " a := cas(x, 0, 1) | b := cas(x, 0, 2) ;\n c := y | d := xchg(y, 3) ;\n",
        " x := 1 | y := 1 ;\n a := cas(x, 0, 3) | b := cas(y, 0, 3) ;\n c := y | d := x ;\n",
        " put(z, 1) | put(z, 2) ;\n a := r1 | put(z, r1) ;\nlocations [z;]\n",
        " a := 3 | get(y, z) ;\n put(z, a + 1) | b := y ;\n r1 := a | ;\nlocations [z; r1;]\n",
        " rfaa(x, z, 2) | rcas(y, z, 0, 1) ;\n a := x | b := y ;\nlocations [x; y; z;]\n",
    ];
    let of = |model: &str| {
        let text = |(i, rows): (usize, &&str)| format!("{model} t{i}\n{DECLARED}{rows}");
        rows.iter().enumerate().map(text).collect::<Vec<_>>()
    };
    let without_remote_updates = of("RDMA_SC").into_iter().filter(|text| !text.contains("rcas")).collect();
    all_agree(&[of("RDMA_WAIT"), of("RDMA_TSO"), without_remote_updates].concat(), 3 * rows.len() - 1);
    let x86 = "X86_TSO faa\n{ x = 1; y = 0; }\n P1 | P2 ;\n a := faa(x, 2) | y := 1 ;\n b := y | c := x ;\n";
    all_agree(&[x86.to_owned()], 1);
}

/// Each relation that is left out is missed by some test of the corpus.
fn a_model_that_lacks_a_relation_is_distinguished() {
    let of =
        |model: &str| corpus().into_iter().filter(|text| text.starts_with(&format!("{model} "))).collect::<Vec<_>>();
    let distinguished = |model: &str, relation: &str| {
        let change = |name: &str, text: String| {
            if name != format!("{model}.cat") {
                return text;
            }
            let line = text.lines().find(|l| l.starts_with(&format!("let {relation} = "))).unwrap().to_owned();
            text.replace(&line, &format!("let {relation} = 0"))
        };
        let (differ, _) = compared(&of(model), change);
        assert!(!differ.is_empty(), "nothing differs without {relation} in {model}");
        // A model with fewer relations allows more.
        assert!(differ.values().all(|[by_herd, by_search]| by_herd.is_superset(by_search)), "{model}, {relation}");
    };
    distinguished("RDMA_WAIT", "pfg");
    distinguished("RDMA_WAIT", "iso");
    distinguished("RDMA_TSO", "pfp");
    distinguished("X86_TSO", "rb");
}

fn the_command_that_is_printed_runs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("models").display().to_string();
    let said = tells(&["cat", "rdma-wait", "--for", "herd", "--out", &at], 0, &[]);
    let test = file(folder.path(), "put.litmus", PUT);
    let lisa = file(folder.path(), "lisa.litmus", &mowgli(&["convert", &test, "--to", "lisa"]).out);
    let words: Vec<&str> = said.out.split_whitespace().map(|w| if w == "TEST" { &lisa } else { w }).collect();
    let ran = Command::new(words[0]).args(&words[1..]).output().unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    assert!(out.starts_with("Test put Allowed\nStates 2\n") && out.contains("\nOk\n"), "{out}");
}

const PUT: &str = "RDMA_WAIT put\n{ x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x, d) ;\n x := 1 ;\nallowed (z=1)\n";

fn a_test_is_written_with_its_marks() {
    let folder = tempfile::tempdir().unwrap();
    let ran = mowgli(&["convert", &file(folder.path(), "put.litmus", PUT), "--to", "lisa"]);
    let expected = "LISA put\n{ v_x=0; v_z=0; }\n P0                      ;\n r[aNLR,n2,d1,e1] r0 v_x ;\n w[aNRW,n2,d1,e1] v_z r0 ;\n w[aCW] v_x 1            ;\nlocations [v_z;]\nexists (v_z=1)\n";
    assert_eq!((ran.code, ran.out.as_str()), (0, expected), "{}", ran.err);
}

fn what_lisa_cannot_say_is_named() {
    let says = |text: &str, said: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        is_bad(&["convert", &file(folder.path(), "t.litmus", text), "--to", "lisa"], said);
    };
    let rows = |rows: &str| format!("RDMA_TSO t\n{DECLARED}{rows}");
    says(&rows(" a := x | ;\n while a = 0 { a := x } | ;\n"), &["line 5: while", "a loop"]);
    says(&rows(" a := x | ;\n if a < 1 { a := x } | ;\n"), &["line 5: if a < 1", "herd compares with = and != only"]);
    says(&rows(" a := x | ;\n b := a - a | ;\n"), &["line 5: b := a - a", "a register that is subtracted"]);
    says(&rows(" a := x | ;\nforbidden (a < 1)\n"), &["herd compares with = and != only"]);
    says(&rows(" poll(2) | ;\n"), &["line 4: poll(2)", "no operation that it could take"]);
    says(&rows(" a := x | ;\n if a = 0 { put(z, x) } | ;\n poll(2) | ;\n"), &["poll(2)", "beside a branch"]);
    says("RDMA_WAIT t\n{ svar s = 0; }\n P1@1 ;\n a := s.read ;\n", &["t: line 4: a := s.read", "a call of sv"]);
    says("CORE_RMA t\n{ x@1 = 0; }\n P1@1 ;\n a := x ;\n", &["CORE_RMA has no form for herd7"]);
    says(
        "X86_TSO t\n{ x[1] = (0); x_0_ = 0; }\n P1 ;\n x[0] := 1 ;\n",
        &["would have the name of another word, v_x_0_"],
    );
    let many: String = (0..9).map(|d| format!(" wait(d{d}) ;\n")).collect();
    says(
        &format!("RDMA_WAIT t\n{{ x@1 = 0; }}\n P1@1 ;\n{many}"),
        &["line 12: wait(d8)", "the bell file has 8 identifiers"],
    );
}

fn what_herd_cannot_be_given_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display().to_string();
    let says = |name: &str, said: &[&str]| is_bad(&["cat", name, "--for", "herd", "--out", &at], said);
    says("bal", &["bal is a library", "memory models"]);
    says("CORE_RMA", &["CORE_RMA"]);
    says("RDMA_TSO+global-atomics", &["RDMA_TSO+global-atomics has no form for herd7", "gao"]);
    says("nothing", &["no model nothing"]);
    is_bad(&["cat", "RDMA_TSO", "--for", "herd"], &["--for herd writes three files", "--out DIR"]);
    let unwritable = file(folder.path(), "file", "");
    is_bad(&["cat", "RDMA_TSO", "--for", "herd", "--out", &unwritable], &[&unwritable]);
    assert_eq!(Model::ALL.into_iter().filter(|m| for_herd(Catalogue::builtin(), &m.to_string()).is_ok()).count(), 4);
}

fn dartagnan_is_given_no_with() {
    let ran = tells(&["cat", "RDMA_WAIT", "--for", "dat3m"], 0, &[]);
    assert!(ran.out.lines().all(|line| !line.starts_with("with ")), "{}", ran.out);
    let order = "let nfo-line = newRelation() & (nfo-pairs | nfo-pairs^-1)+\nlet nfo = nfo-line & (nfo-pairs | nfo-pairs^-1)\nacyclic nfo as nfo-is-acyclic\nempty nfo-pairs \\ (nfo | nfo^-1) as nfo-is-total\n";
    assert!(ran.out.contains(order), "{}", ran.out);
    assert!(ran.out.contains("let rao-line = newRelation() & (aNAR * aNAR) & same-target\n"), "{}", ran.out);
    is_bad(&["cat", "RDMA_WAIT", "--for", "dat3m", "--out", "x"], &["leave --out away"]);
}
