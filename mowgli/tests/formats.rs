//! The formats of other tools that `litmus` and `check` print: the record of each verdict, well-formed output, and
//! escaped user input.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::ran::{Ran, file, is_bad, tells};

const FORMATS: [&str; 4] = ["github", "junit", "sarif", "markdown"];

/// A folder with a test for each verdict. The names of files and texts hold characters that the formats write in another way.
fn tests() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = "{ x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x, d) ;\n x := 1 ;\n";
    let all = [
        ("1-holds.litmus", format!("RDMA_WAIT holds\n{put}allowed (z=1)\n")),
        ("2-fails.litmus", format!("RDMA_WAIT fails\n{put}allowed (z=2)\nforbidden (z=1 \\/ z=2)\nforall (z=1)\n")),
        ("3-stuck.litmus", "RDMA_WAIT stuck\n{ x@1 = 0; }\n P1@1 | P2@1 ;\n await x = 1 | x := 1 ;\n | x := 2 ;\n".to_owned()),
        ("4-limit.litmus", "RDMA_TSO limit\n{ x@1 = 0; }\n P1@1 ;\n a := 0 ;\n while a != 5 { ;\n a := a + 1 ;\n x := a ;\n } ;\nallowed (a=5)\n".to_owned()),
        ("5-vacuous.litmus", format!("RDMA_TSO vacuous\n{}forbidden (z=1)\n", put.replace(", d)", ")").replace("x := 1", "poll(2) ;\n poll(2)"))),
        ("6 <&|%,\".litmus", "RDMA_WAIT bad\n{ x@1 = 0; }\n P1@1 ;\n put(é, x) ;\n".to_owned()),
        ("7-warned.litmus", format!("RDMA_WAIT warned\n{}allowed (z=0)\n", put.replace("x := 1", "wait(e)"))),
    ];
    for (name, text) in all {
        file(folder.path(), name, &text);
    }
    folder
}

/// Runs the command in a folder.
fn within(folder: &Path, args: &[&str]) -> Ran {
    let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(args).current_dir(folder).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ran { code: ran.status.code().expect("no signal"), out: text(ran.stdout), err: text(ran.stderr) }
}

/// A text without what differs from run to run: the times, which have two digits or more behind the point, and the version.
fn without_times(text: &str) -> String {
    let is_time =
        |word: &str| word.split_once('.').is_some_and(|(_, digits)| digits.len() >= 2 && !digits.contains('.'));
    let text = text.replace(&format!("\"{}\"", env!("CARGO_PKG_VERSION")), "\"VERSION\"");
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !(c.is_ascii_digit() || c == '.')) {
        let number = word.trim_end_matches(|c: char| !(c.is_ascii_digit() || c == '.'));
        out.push_str(if is_time(number) { "TIME" } else { number });
        out.push_str(&word[number.len()..]);
    }
    out
}

#[test]
fn every_verdict_on_a_litmus_test_is_in_every_format() {
    let folder = tests();
    for format in FORMATS {
        let ran = within(folder.path(), &["litmus", ".", "--loops", "2", "--format", format]);
        assert_eq!(ran.code, 2, "bad input outweighs all else: {}", ran.err);
        insta::assert_snapshot!(format!("litmus_{format}"), without_times(&ran.out));
    }
}

#[test]
fn every_verdict_on_a_library_is_in_every_format() {
    let small = ["--threads", "1", "--nodes", "1", "--calls", "2"];
    let checks: [(&str, i32, &[&str]); 4] = [
        ("bal", 0, &["bal"]),
        ("as expected", 0, &["bal", "--variant", "no-fence", "--threads", "2", "--nodes", "2", "--calls", "1"]),
        ("expected blocks", 1, &["wlock", "--variant", "no-broadcast"]),
        ("undecided", 3, &["bal", "--timeout", "0"]),
    ];
    for (said, code, args) in checks {
        for format in FORMATS {
            let small = if args.contains(&"--threads") { &[][..] } else { &small };
            let ran = tells(&[&["check", "--format", format], args, small].concat(), code, &[]);
            // These two list findings, and an expected verdict is none.
            let is_silent = code == 0 && ["junit", "sarif"].contains(&format);
            assert!(ran.out.contains(said) || is_silent, "{args:?}: {}", ran.out);
        }
    }
    for format in FORMATS {
        tells(&["check", "nothing", "--format", format], 2, &["no library nothing"]);
    }
}

#[test]
fn a_format_is_for_verdicts_only() {
    is_bad(&["check", "bal", "--json", "--format", "junit"], &["cannot be used with"]);
    is_bad(&["necessity", "bal", "--format", "junit"], &["unexpected argument '--format'"]);
    is_bad(&["litmus", "x.litmus", "--format", "html"], &["possible values: github, junit, sarif, markdown"]);
}

/// Shards keep what the formats need.
#[test]
fn shards_are_merged_in_the_format_that_was_asked_for() {
    let folder = tests();
    let run =
        |args: &[&str]| within(folder.path(), &[&["litmus", ".", "--loops", "2", "--format", "github"], args].concat());
    let whole = run(&[]);
    for shard in ["1", "2"] {
        let ran = run(&["--shard", &format!("{shard}/2"), "--out", &format!("{shard}.shard")]);
        assert_eq!(ran.out, "", "{}", ran.err);
    }
    let merged = within(folder.path(), &["merge", "1.shard", "2.shard"]);
    assert_eq!((merged.code, merged.out), (whole.code, whole.out), "{}", merged.err);
}

#[test]
fn junit_is_well_formed_and_its_counts_are_right() {
    let folder = tests();
    let ran = within(folder.path(), &["litmus", ".", "--loops", "2", "--format", "junit"]);
    let tags = tags(ran.out.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect("a declaration"));
    let count = |name: &str| tags.iter().filter(|tag| tag.split(' ').next() == Some(name)).count();
    assert_eq!((count("testcase"), count("failure"), count("error")), (7, 1, 4), "{}", ran.out);
    assert!(tags[1].contains("tests=\"7\" failures=\"1\" errors=\"4\""), "{}", tags[1]);
}

/// The opening tags of a document, each with its attributes. Fails where tags are not closed, or a character is not escaped.
fn tags(xml: &str) -> Vec<String> {
    let (mut all, mut open) = (Vec::new(), Vec::new());
    let mut pieces = xml.split('<');
    assert_eq!(pieces.next().map(str::trim), Some(""), "text before the first tag");
    for piece in pieces {
        let (tag, text) = piece.split_once('>').unwrap_or_else(|| panic!("<{piece} is not closed"));
        assert!(!text.contains('>'), "{text}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        for reference in piece.split('&').skip(1) {
            assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|r| reference.starts_with(r)), "&{reference}");
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let name = tag.split(' ').next().unwrap_or_default().to_owned();
        if !tag.ends_with('/') {
            open.push(name);
        }
        all.push(tag.to_owned());
    }
    assert!(open.is_empty(), "{open:?} are not closed");
    all
}

/// The properties that SARIF 2.1.0 requires, and the levels, places and rules that results refer to.
#[test]
fn sarif_has_what_its_schema_requires() {
    let folder = tests();
    let ran = within(folder.path(), &["litmus", ".", "--loops", "2", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&log["version"], log["runs"].as_array().map(Vec::len)), (&"2.1.0".into(), Some(1)));
    let driver = &log["runs"][0]["tool"]["driver"];
    assert_eq!(driver["name"], "mowgli");
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 8, "{results:#?}");
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("a number")).unwrap();
        assert_eq!(driver["rules"][index]["id"], result["ruleId"]);
        assert!(["warning", "error"].contains(&result["level"].as_str().unwrap_or_default()), "{result}");
        assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()), "{result}");
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().expect("a reference");
        assert!(uri.bytes().all(|b| b.is_ascii_alphanumeric() || b"%-._~/".contains(&b)), "{uri}");
        assert!(place["region"]["startLine"].as_u64() >= Some(1) && place["region"]["startColumn"].as_u64() >= Some(1));
    }
}
