//! The verdict on a test is the same in every command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::ask::ask;
use crate::kinds::{KINDS, text};
use crate::lsp::Editor;
use crate::ran::{file, is_bad, mowgli, tells};
use crate::served::served;

/// Returns the objects that a command prints, one a line.
fn lines(args: &[&str]) -> Vec<Value> {
    let ran = mowgli(args);
    assert_ne!(ran.code, 2, "{args:?}: {}", ran.err);
    ran.out.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

/// Returns the text of a field.
fn of(line: &Value, field: &str) -> String {
    line[field].as_str().unwrap_or_else(|| panic!("{line}")).to_owned()
}

#[test]
fn commands_agree_on_each_kind_of_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let (served, mut editor) = (served(&[]), Editor::start());
    for (number, (name, code, verdict, rows)) in KINDS.into_iter().enumerate() {
        let text = text(name, rows);
        let test = file(folder.path(), &format!("{name}.litmus"), &text);
        let page = folder.path().join("page.html").display().to_string();
        for args in [
            &["litmus", &test][..],
            &["networks", "--network", "rc", &test],
            &["networks", "--network", "rc", "--json", &test],
            &["networks", "--network", "rc", "--html", &page, &test],
            &["networks", "--network", "rc", "--repair", &test],
            &["report", "--json", &test],
            &["explain", &test],
            &["explain", "--json", &test],
        ] {
            let ran = mowgli(args);
            assert_eq!(i64::from(ran.code), code, "{args:?}: {}{}", ran.out, ran.err);
        }
        let repaired = mowgli(&["repair", &test]);
        let of_repair = if verdict == "stuck" { 1 } else { code };
        assert_eq!(i64::from(repaired.code), of_repair, "{name}: {}{}", repaired.out, repaired.err);
        assert_eq!(of(&lines(&["litmus", "--json", &test])[0], "verdict"), verdict, "{name}");
        let on_network = &lines(&["networks", "--network", "rc", "--json", &test])[0];
        assert_eq!((of(on_network, "verdict").as_str(), &on_network["code"]), (verdict, &code.into()), "{name}");
        assert_eq!(of(&lines(&["report", "--json", &test])[0]["tests"][0], "verdict"), verdict, "{name}");
        let question = json!({ "test": text }).to_string();
        let answer = ask(&served, "POST", "/answer", &format!("localhost:{}", served.port), &question);
        assert!(answer.contains(&format!("\"verdict\":\"{verdict}\"")), "{answer}");
        assert!(editor.solved(&text, number == 0).ends_with(&format!("Verdict {name} {verdict}\n")), "{name}");
    }
}

/// A limit on the reasons of an outcome does not change the verdict on it. A test that asserts nothing has an object, too.
#[test]
fn explanations_have_the_code_of_the_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let open = "RDMA_TSO open\n{ x@1 = 1; y@1 = 1; z@2 = 0; }\n P1@1 | P2@2 ;\n rfaa(x, z, 1) | b := 0 ;\n put(z, y) | while b != 1 { ;\n \
                | b := z ;\n | if b = 2 { ;\n | z := 1 ;\n | } ;\n | } ;\nforbidden (b=5)\n";
    let test = file(folder.path(), "open.litmus", open);
    for args in [&["litmus"][..], &["explain", "--json"], &["report", "--json"]] {
        tells(&[args, &[&test]].concat(), 0, &[]);
    }
    tells(&["explain", &test], 0, &["why was not found before a loop with effects reached the bound"]);
    for (name, rows, vacuous) in
        [("silent", "x := 1", false), ("hangs", "poll(1)", true), ("assumes", "a := x ;\n assume a = 2", true)]
    {
        let text = format!("RDMA_TSO {name}\n{{ x@1 = 0; }}\n P1@1 ;\n {rows} ;\n");
        let test = file(folder.path(), &format!("{name}.litmus"), &text);
        let ran = tells(&["explain", "--json", &test], mowgli(&["litmus", &test]).code, &[]);
        let line: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((&line["vacuous"], line["execution"].is_object()), (&vacuous.into(), name == "hangs"), "{line}");
    }
    let silent = folder.path().join("silent.litmus").display().to_string();
    let kept = folder.path().join("kept.ron").display().to_string();
    tells(&["explain", &silent, "--out", &kept], 0, &[]);
    tells(&["explain", &kept], 0, &["silent: no execution is stuck"]);
}

/// An execution is over when only servers wait: `explain` finds it, and `repair` keeps it.
#[test]
fn servers_are_explained_and_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let text = "RDMA_TSO served\n{ x@1 = 1; z@2 = 0; q@2 = 0; s@1 = 0; m@1 = 1; server(P2); }\n P1@1 | P2@2 ;\n put(z, x) | while true { ;\n \
                put@q2(q, m) | await q = 1 ;\n await s = 1 | a := z ;\n | rfaa(q, s, 1) ;\n | q := 0 ;\n | } ;\nforbidden (a=0)\nallowed (a=1)\nends\n";
    let test = file(folder.path(), "served.litmus", text);
    let explained = tells(&["explain", &test], 1, &["outcome a=0 is that of", "outcome a=1 is that of"]);
    assert!(explained.out.ends_with("ends\nserved: no execution is stuck\n"), "{}", explained.out);
    tells(&["repair", "--fix", &test], 1, &["minimal repair"]);
    let fixed = folder.path().join("served.fixed.litmus").display().to_string();
    assert!(std::fs::read_to_string(&fixed).unwrap().contains("server(P2);"));
    for command in ["litmus", "repair", "explain"] {
        let ran = tells(&[command, &fixed], 0, &[]);
        assert!(command != "explain" || ran.out.contains("The specifications forbid it."), "{}", ran.out);
    }
    let what = "all threads end, and not server(...)";
    is_bad(&["robust", &test], &[what, "let the server make as many rounds as the others need"]);
}

/// A sum of values that have none is an error of the test, in every command, with its line.
#[test]
fn statements_without_a_meaning_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        ("rfaa(r, p, 1) ;\n poll(2)", 4, "P1 cannot make `rfaa(r, p, 1)`: it adds to p, which is &y"),
        ("a := faa(q, 1)", 4, "P1 cannot make `a := faa(q, 1)`: it adds to q, which is &y"),
        ("a := &y ;\n b := a + 1", 5, "P1 cannot make `b := a + 1`: numbers have sums"),
        ("a := true ;\n q := a + 1", 5, "P1 cannot make `q := a + 1`: numbers have sums"),
        ("a := q ;\n if a + 1 = 2 { r := 1 }", 5, "P1 cannot make `if a + 1 = 2 {`: numbers have sums"),
        ("a := 5 ;\n w[a] := 1", 5, "P1 cannot make `w[a] := 1`: w[5] is not declared"),
    ];
    for (at, (row, line, why)) in rows.into_iter().enumerate() {
        let text = format!(
            "RDMA_TSO t\n{{ y@1 = 7; r@1 = 0; p@2 = &y; q@1 = &y; w@1[2] = 0; }}\n P1@1 ;\n {row} ;\nforall (r=0)\n"
        );
        let test = file(folder.path(), &format!("t{at}.litmus"), &text);
        for command in ["litmus", "explain", "repair", "robust", "walk", "networks", "report --json"] {
            let ran = mowgli(&[&command.split(' ').collect::<Vec<_>>()[..], &[&test]].concat());
            let all = ran.out + &ran.err;
            assert!(ran.code == 2 && !all.contains("panicked"), "{command} {row}: {}: {all}", ran.code);
            // The machine names the call, and no line.
            assert!(all.contains(why) || command == "walk" && all.contains("P1 calls"), "{command}: {all}");
            assert!(command == "walk" || all.contains(&format!("{test}:{line}:2")), "{command}: {all}");
        }
        let json: Value = serde_json::from_str(mowgli(&["litmus", "--json", &test]).out.trim()).unwrap();
        assert_eq!(
            (&json["line"], &json["column"], &json["file"]),
            (&line.into(), &2.into(), &test.as_str().into()),
            "{json}"
        );
        assert!(json["message"].as_str().unwrap().starts_with("t: P1 cannot make"), "{json}");
    }
}

/// A wrong access that only networks without an order of writes have is an error there, and not a network on which the test is not
/// defined.
#[test]
fn a_wrong_access_on_one_network_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let text = "RDMA_TSO t\n{ k@2 = 9; s@1 = 0; z@2 = 0; v@2[2] = 0; o@1 = 1; }\n P1@1 | P2@2 ;\n put(k, s) | await z = 1 ;\n \
                put(z, o) | a := k ;\n | v[a] := 1 ;\nforbidden (a=9)\n";
    let test = file(folder.path(), "t.litmus", text);
    for (network, code) in [("rc", 0), ("rc-relaxed", 2)] {
        for command in ["litmus", "networks"] {
            let ran = mowgli(&[command, "--network", network, &test]);
            assert_eq!(ran.code, code, "{command} {network}: {}{}", ran.out, ran.err);
        }
    }
    let both = mowgli(&["networks", &test]);
    assert!(both.code == 2 && both.out.contains("ill-defined"), "{}{}", both.out, both.err);
}

/// All commands that solve tests, on all tests of this repository.
#[test]
fn commands_agree_on_every_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let all = ["tests/litmus", "products/gallery/litmus", "mowgli/src/new", "mowgli-web/src/report"];
    let tests = all.iter().flat_map(|folder| walkdir(&root.join(folder)));
    // Those are read with an error, and those are over libraries of the gallery.
    let tests = tests.filter(|path| !path.to_string_lossy().contains("litmus/broken"));
    let (served, mut editor) = (served(&[]), Editor::start());
    let folder = tempfile::tempdir().unwrap();
    let mut compared = BTreeMap::new();
    for path in tests {
        let text = std::fs::read_to_string(&path).unwrap();
        let path = path.display().to_string();
        let solved = mowgli(&["litmus", "--json", &path]);
        let line: Value = solved.out.lines().next().map_or(Value::Null, |line| serde_json::from_str(line).unwrap());
        let Some(verdict) = line["verdict"].as_str() else { continue };
        let model = line["model"].as_str().unwrap();
        let code = |args: &[&str]| {
            let ran = mowgli(&[args, &[&path]].concat());
            (ran.code, format!("{args:?} {path}: {}{}", ran.out, ran.err), ran.out)
        };
        let mut agrees = |args: &[&str], may_refuse: bool| {
            let (own, all, out) = code(args);
            // A command that does not know the model or a statement says so. An implementation that waits for a server that
            // the test does not have is worse than its specification.
            if may_refuse && (own == 2 && all.contains("unsupported") || own == 1 && all.contains("that is forbidden"))
            {
                return String::new();
            }
            assert_eq!(own, solved.code, "{all}");
            *compared.entry(args[0].to_owned()).or_insert(0) += 1;
            out
        };
        agrees(&["explain"], false);
        if model != "CORE_RMA" {
            agrees(&["explain", "--json"], false);
        }
        let page = folder.path().join("page.html").display().to_string();
        let with_network = ["RDMA_TSO", "RDMA_WAIT"].contains(&model);
        for args in [&["--json"][..], &["--html", &page], &["--repair"]].iter().filter(|_| with_network) {
            agrees(&[&["networks", "--network", "rc"], *args].concat(), false);
        }
        let report: Value = serde_json::from_str(&agrees(&["report", "--json"], false)).unwrap();
        assert_eq!(report["tests"][0]["verdict"], verdict, "{path}");
        let (of_repair, said, _) = code(&["repair"]);
        assert!(of_repair == solved.code || model == "CORE_RMA" || verdict == "stuck" && of_repair == 1, "{said}");
        let question = json!({ "test": text }).to_string();
        let answer = ask(&served, "POST", "/answer", &format!("localhost:{}", served.port), &question);
        assert!(answer.contains(&format!("\"verdict\":\"{verdict}\"")), "{path}: {answer}");
        let in_editor = editor.solved(&text, compared["report"] == 1);
        assert!(in_editor.ends_with(&format!(" {verdict}\n")), "{path}: {in_editor}");
    }
    assert!(compared["explain"] > 250 && compared["networks"] > 250, "{compared:?}");
}

/// Returns all tests below a folder.
fn walkdir(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { walkdir(&path) } else { vec![path] };
    all.flat_map(below).filter(|path| path.extension().is_some_and(|x| x == "litmus")).collect()
}

#[test]
fn a_model_that_no_test_has_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let test = file(folder.path(), "t.litmus", &text("t", KINDS[10].3));
    is_bad(&["litmus", "--model", "NOPE", &test], &["no model NOPE; there are RDMA_WAIT"]);
    is_bad(&["litmus", "--model", "CORE_RMA", &test], &["--model CORE_RMA: none of the tests here is of this model"]);
    assert_eq!(mowgli(&["litmus", "--model", "RDMA_TSO", &test]).code, 0);
}

/// Broken assumptions, and calls of threads without that role, are in the first line.
#[test]
fn tests_outside_of_a_specification_are_reported_first() {
    let folder = tempfile::tempdir().unwrap();
    let lock = "RDMA_WAIT t { weak lock l at 1; x@1 = 0; }\n P1@1 | P2@1 ;\n acq(l) | acq(l) ;\n x := 1 | a := x ;\n x := 2 | rel(l) ;\n\
                forbidden (a=1)\n";
    let ring = "RDMA_WAIT t\n{ ring q = P1 -> {P2} size 4; }\n P1@1 | P2@2 ;\n a := submit(q, 1) | b := receive(q) ;\n \
                c := receive(q) | ;\nallowed (a=true)\n";
    let barrier =
        "RDMA_WAIT t\n{ barrier z = {P1, P2}; }\n P1@1 | P2@2 | P3@1 ;\n bar(z) | bar(z) | bar(z) ;\nallowed (true)\n";
    let branch = "RDMA_WAIT t { weak lock l at 1; x@1 = 0; }\n P1@1 ;\n a := x ;\n acq(l) ;\n if a = 1 { rel(l) } ;\nallowed (a=0)\n";
    let computed = "RDMA_WAIT t\n{ ring q = P1 -> {P2} size 4; x@2 = 0; }\n P1@1 | P2@2 ;\n a := submit(q, 1) | a := x ;\n \
                    | submit(q, a + 1) ;\nallowed (P1:a=true)\n";
    let taken = "RDMA_WAIT t\n{ barrier z = {P1, P2}; x@1 = 0; }\n P1@1 | P2@1 | P3@1 ;\n bar(z) | bar(z) | a := x ;\n | | if a = 1 { bar(z) } ;\n\
                 allowed (a=0)\n";
    for (text, why) in [
        (taken, "P3 may not call bar(z) (line 5), and waits there for ever if it comes there: only P1, P2 may"),
        (lock, "the test breaks the assumption of wlock (every Acq is released, and every Rel has an Acq)"),
        (ring, "P1 may not call c := receive(q) (line 5), and waits there for ever: only P2 may"),
        (barrier, "P3 may not call bar(z) (line 4), and waits there for ever: only P1, P2 may"),
        (branch, "the test breaks the assumption of wlock"),
        (computed, "P2 may not call submit(q, a + 1) (line 5), and waits there for ever: only P1 may"),
    ] {
        let test = file(folder.path(), "t.litmus", text);
        let first = format!("Outside of the specification: {why}");
        assert!(mowgli(&["litmus", &test]).out.starts_with(&first), "{}", mowgli(&["litmus", &test]).out);
        assert!(mowgli(&["report", "--json", &test]).out.contains(&format!("\"outside\":[\"{why}")), "{why}");
        let explained = mowgli(&["explain", &test]);
        assert!(explained.out.starts_with(&first), "{}{}", explained.out, explained.err);
    }
    let fine = "RDMA_WAIT t { weak lock l at 1; }\n P1@1 ;\n acq(l) ;\n rel(l) ;\n a := 1 ;\nallowed (a=1)\n";
    assert!(!mowgli(&["litmus", &file(folder.path(), "t.litmus", fine)]).out.contains("Outside"));
}

/// An error names what to write in place of what is there.
#[test]
fn errors_name_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let mut said = |text: &str, why: &str| {
        let ran = mowgli(&["litmus", &file(folder.path(), "t.litmus", text)]);
        wrong.extend((ran.code != 2 || !ran.err.contains(why)).then(|| format!("{why}: {}", ran.err)));
    };
    let rows =
        |row: &str| format!("RDMA_TSO t\n{{ x@1 = 1; z@2 = 0; }}\n P1@1 ;\n {row} ;\n a := x ;\nallowed (a=1)\n");
    said(&rows("put(z, x"), "a parenthesis is open here: each ( has its )");
    said(&rows("b := cas(z, 0, 1)"), "use rcas for remote memory");
    said(&rows("b := faa(z, 1)"), "use rfaa for remote memory");
    said(&rows("b := z"), "use put or get for remote memory");
    said(
        "X86 SB\n{ x=0; y=0; }\n P0 | P1 ;\n MOV [x],1 | MOV [y],1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0)\n",
        "mowgli convert FILE --to mowgli",
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let out = folder.path().join("out").display().to_string();
    is_bad(&["check", "sv", "--shard", "4/3", "--out", &out], &["`4/3` is no share", "and there are at most "]);
    assert!(!mowgli(&["check", "sv", "--shard", "4/3", "--out", &out]).err.contains("MOST"));
}
