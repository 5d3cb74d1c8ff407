//! Checks that each variant has the verdict that the gallery and the page of the book give, and keeps the findings for
//! review. The litmus tests hold, with the specifications and with the published implementations.

use std::path::{Path, PathBuf};
use std::process::Command;

use itertools::Itertools as _;
use mowgli::catalogue::Catalogue;
use mowgli::distinguish::{bounds, distinguish};
use mowgli::interrupt::Deadline;
use mowgli::litmus::parse::parse_in;
use mowgli::properties::specifications;
use mowgli_core::algebra::{Spec, SubView, hb, reads, same, writes};
use mowgli_core::ids::Name;
use mowgli_core::term::bound::Bound;
use mowgli_core::value::Val;
use mowgli_gallery::entries;
use mowgli_libraries::entry::{Entry, Expected};
use mowgli_proofs::{Checkable as _, cycle};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Prints a bound as on the page: threads, nodes, calls.
fn said(b: &Bound) -> String {
    let total = b.total.map_or_else(String::new, |total| format!(", at most {total} calls in all"));
    let crashes = if b.crashes == 0 { String::new() } else { format!(", crashes {}", b.crashes) };
    format!("({}, {}, {}){total}{crashes}", b.threads, b.nodes, b.calls)
}

/// Checks a variant, up to the first bound at which it is not sound. Returns its row of the page, and the finding.
fn found(entry: &Entry, name: &str) -> (String, String) {
    let variant = entry.variant(name).expect("a variant");
    let mut text = format!("{} {name}: {}\n", entry.name, variant.about);
    let mut says = "sound".to_owned();
    for bound in &variant.bounds {
        let checked = entry.checked(name, bound);
        let (verdict, progress) = (checked.verdict(), checked.progress());
        text += &format!("{}: {verdict}", said(bound));
        if ["sound", "no-wrong-outcome", "stuck"].contains(&verdict) {
            says = verdict.to_owned();
            assert_eq!(verdict == "stuck", variant.expected == Expected::Stuck, "{}", checked.explanation());
            let progress = if verdict == progress { String::new() } else { format!(", {progress}") };
            text += &format!("{progress}\n  {}\n", checked.concretisation().join("\n  "));
            continue;
        }
        assert_eq!((verdict, variant.expected), ("unsound", Expected::Unsound), "{}", checked.explanation());
        let row = format!("| `{}` | `{name}` | unsound | {} |", entry.name, said(bound));
        let client = checked.litmus().expect("a counterexample");
        return (row, format!("{text}\n{client}\n{}", cycle(&checked).unwrap_or_default()));
    }
    assert_ne!(variant.expected, Expected::Unsound, "{name} of {} is not caught", entry.name);
    let bounds: Vec<String> = variant.bounds.iter().map(said).collect();
    (format!("| `{}` | `{name}` | {says} | {} |", entry.name, bounds.join("; ")), text)
}

/// Variants whose first bound takes nearly a second or more.
const LONG: [(&str, &str); 15] = [
    ("log", "no-wait"),
    ("alock", "short-budget"),
    ("rmarw", "published"),
    ("rmarw", "flushed"),
    ("sherman", "no-lock"),
    ("takeover", "published"),
    ("takeover", "unmarked"),
    ("seal", "published"),
    ("seal", "unsealed"),
    ("seal", "by-put"),
    ("takeover", "by-put"),
    ("spin", "by-faa"),
    ("alock", "one-queue"),
    ("pilaf", "published"),
    ("mcs", "hands-over"),
];

#[test]
fn variants_are_as_expected_at_their_first_bound() {
    let (mut unsound, catalogue) = (0, catalogue());
    for entry in entries() {
        for variant in entry.variants.iter().filter(|v| !LONG.contains(&(entry.name, v.name))) {
            let checked = entry.checked(variant.name, &variant.bounds[0]);
            checked.litmus().iter().for_each(|text| is_read_again(&catalogue, text));
            assert_eq!(checked.is_expected(), Some(true), "{}: {}", checked.title(), checked.explanation());
            unsound += usize::from(checked.verdict() == "unsound");
        }
    }
    assert!(unsound >= 30, "{unsound}");
}

fn catalogue() -> Catalogue {
    Catalogue::with(entries()).expect("the names of the gallery are free")
}

/// Parses a program that was printed.
fn is_read_again(catalogue: &Catalogue, text: &str) {
    parse_in(catalogue, "printed", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
}

/// Clients that `spec` and `distinguish` print declare objects as tests do: with roles and members, for example.
#[test]
fn printed_clients_of_specifications_are_read_again() {
    let form = |entry: &Entry| entry.library().ok()?.object();
    let (catalogue, mut printed) = (catalogue(), 0);
    for entry in entries().into_iter().unique_by(|entry| format!("{:?}", form(entry).map(|form| form.parts))) {
        let bound = Bound { threads: 2, nodes: 2, calls: 2, total: Some(2), ..bounds(&entry)[0].clone() };
        let respecified = |edit: fn(&mut Spec)| {
            let all = entries().into_iter().find(|e| e.name == entry.name).expect("an entry");
            let specification = all.specification.clone().respecified(Name::literal(entry.name), edit);
            Entry { specification, ..all }
        };
        let weak = respecified(|spec| spec.so.clear());
        let compared = distinguish(&entry, &weak, &bounds(&entry), &Deadline::default(), &|_, _| {});
        let difference = compared.expect("one library").difference.expect("a difference").litmus();
        is_read_again(&catalogue, &difference);
        // What is consistent with a larger hb is not with a smaller one, so it is not monotone.
        let strict = respecified(|spec| {
            spec.so.clear();
            let all = same(|_: &SubView| Some(Val::Unit));
            spec.empty("before", &(all.between(&writes(), &reads()) - hb()));
        });
        for specification in specifications(vec![strict]).into_iter().filter(|s| s.name == entry.name) {
            let text = specification.check(vec![bound.clone()], &Deadline::default(), &|_, _| {}).text();
            for part in text.split("in an execution of\n\n").skip(1) {
                let (program, _) = part.split_once("\nwith the events").expect("events");
                is_read_again(&catalogue, program);
                printed += 1;
            }
        }
    }
    assert!(printed > 0);
}

#[test]
#[ignore = "takes two minutes"]
fn every_variant_is_as_the_page_says() {
    let page = std::fs::read_to_string(root().join("README.md")).expect("the page");
    for entry in entries() {
        let all = entry.variants.iter().map(|v| found(&entry, v.name)).collect::<Vec<_>>();
        let missing: Vec<&str> = all.iter().map(|(row, _)| row.as_str()).filter(|row| !page.contains(row)).collect();
        assert!(missing.is_empty(), "README.md is to have\n{}", missing.join("\n"));
        let findings: Vec<&str> = all.iter().map(|(_, text)| text.trim_end()).collect();
        insta::assert_snapshot!(entry.name, findings.join("\n\n"));
    }
}

#[test]
fn who_holds_an_ordinary_lock_and_dies_keeps_it() {
    let spin = mowgli_gallery::spin::entry();
    let bound = Bound { threads: 2, nodes: 1, calls: 2, crashes: 1, ..Bound::default() };
    let checked = spin.checked("published", &bound);
    assert_eq!((checked.verdict(), checked.progress()), ("stuck", "stuck"), "{}", checked.explanation());
}

fn is_solved(test: &Path, implemented: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mowgli-gallery"));
    let ran = command.arg("litmus").arg(test).args(implemented).output().expect("the command runs");
    let printed = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{} {implemented:?}\n{printed}", test.display());
}

#[test]
fn the_litmus_tests_hold() {
    let all = std::fs::read_dir(root().join("litmus")).expect("litmus tests").map(|file| file.expect("a file").path());
    let all: Vec<PathBuf> = all.collect();
    assert!(all.len() >= entries().len());
    all.iter().for_each(|test| is_solved(test, &[]));
}

#[test]
fn the_litmus_tests_hold_of_the_implementations() {
    for (library, variant) in [
        ("signal", "signal"),
        ("log", "log"),
        ("spin", "spin"),
        ("alock", "alock"),
        ("farm", "farm"),
        ("dslr", "dslr"),
        ("mcs", "mcs"),
        ("pilaf", "pilaf"),
        ("derecho", "derecho:waits"),
    ] {
        is_solved(&root().join(format!("litmus/{library}.litmus")), &["--implemented", variant]);
    }
}

#[test]
#[ignore = "takes half a minute"]
fn the_longest_litmus_test_holds_of_its_implementation() {
    is_solved(&root().join("litmus/rmarw.litmus"), &["--implemented", "rmarw:flushed"]);
}

/// Names of objects do not run out, and the printed default bounds are those that a check covers.
#[test]
fn the_largest_worlds_have_what_is_printed() {
    for entry in entries() {
        for bound in entry.variants.iter().flat_map(|v| &v.bounds) {
            let covered = entry.covered(bound, &|| false);
            assert_eq!(covered, Bound { words: covered.words, ..bound.clone() }, "{}", entry.name);
            let more = Bound { threads: 2, nodes: 2, objects: 4, homes: vec![1], ..bound.clone() };
            assert_eq!(entry.covered(&more, &|| false).objects, 4, "{}", entry.name);
        }
    }
}
