//! Tests of the CPU alone keep their outcomes on the way to herd's X86_64 syntax and back.

use std::collections::BTreeSet;

use mowgli::litmus::parse::parse;
use mowgli::litmus::run::{Answer, solve};
use mowgli::litmus::test::{Observable, Test};
use mowgli::litmus::x86::{from_herd, to_herd};
use mowgli_core::search::problem::Limits;
use mowgli_core::value::Val;
use mowgli_tests::{known, papers};

const NAMES: [&str; 12] = ["rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14"];

/// Returns the outcomes of `back`, as far as `test` shows them.
fn projected(test: &Test, back: &Test, answer: &Answer) -> BTreeSet<Vec<Val>> {
    let position = |o: &Observable| match *o {
        Observable::Register(t, position) => {
            let own = back.threads[t].registers.iter().position(|r| r.text() == NAMES[position]).expect("it is set");
            back.shown.iter().position(|(_, o)| *o == Observable::Register(t, own)).expect("it is shown")
        }
        Observable::Final(position) => {
            let loc = test.observed[position].loc;
            let own = back.observed.iter().position(|cell| cell.loc == loc).expect("it is observed");
            back.shown.iter().position(|(_, o)| *o == Observable::Final(own)).expect("it is shown")
        }
    };
    let positions: Vec<usize> = test.shown.iter().map(|(_, o)| position(o)).collect();
    answer.outcomes.keys().map(|o| positions.iter().map(|&p| o[p]).collect()).collect()
}

/// Returns true if a test can be converted, and checks that it is the same test afterwards.
fn is_kept(name: &str, litmus: &str) -> bool {
    let test = parse(name, litmus).unwrap();
    let Ok(herd) = to_herd(&test) else { return false };
    let back = from_herd(name, &herd).unwrap_or_else(|e| panic!("{herd}\n{e}"));
    let back = parse(name, &back).unwrap_or_else(|e| panic!("{back}\n{e}"));
    let (there, again) = (solve(&test, &[], Limits::default()), solve(&back, &[], Limits::default()));
    let expected: BTreeSet<Vec<Val>> = there.outcomes.keys().cloned().collect();
    assert_eq!(projected(&test, &back, &again), expected, "{litmus}\n{herd}");
    assert_eq!(again.holds.first(), there.holds.first().or(Some(&Some(true))), "{herd}");
    true
}

#[test]
fn the_papers_tests_of_the_cpu() {
    let papers = papers();
    for name in ["tso-mp", "tso-sb", "tso-sb-mf", "sync-cas-atomic"] {
        assert!(is_kept(name, &papers[name]), "{name}");
    }
    assert!(!is_kept("loco-fig2a", &papers["loco-fig2a"]));
}

#[test]
fn read_modify_writes_are_kept() {
    let cas =
        "RDMA_TSO t { x@1 = 0; }\n P1@1 | P2@1 ;\n a := cas(x, 0, 1) | b := cas(x, 1, 2) ;\nallowed (a=0 /\\ b=1)\n";
    assert!(is_kept("cas", cas));
    assert!(is_kept("xchg", &cas.replace("cas(x, 1, 2)", "xchg(x, 2)").replace("b=1", "b=0")));
    let herd = to_herd(&parse("cas", cas).unwrap()).unwrap();
    assert!(herd.contains("lock cmpxchgl (x),%r15d"), "{herd}");
}

#[test]
fn threads_of_random_programs_on_one_node() {
    // Keeps only the CPU's part of a program, all on one node and without the network.
    let only_cpu = |litmus: &str| {
        let lines = litmus.lines().filter(|l| !l.contains("allowed") && !l.contains("forbidden"));
        let cell = |cell: &str| {
            let is_remote = ["put", "get(", "rcas", "rfaa", "wait", "poll", "rfence"].iter().any(|r| cell.contains(r));
            if is_remote { " ".repeat(cell.len()) } else { cell.to_owned() }
        };
        let line = |line: &str| {
            let ended = line.trim_end().strip_suffix(';');
            match ended {
                Some(cells) if !line.contains('=') || line.contains(":=") || line.contains('|') => {
                    cells.split('|').map(cell).collect::<Vec<_>>().join("|") + ";"
                }
                _ => line.to_owned(),
            }
        };
        lines.map(line).collect::<Vec<_>>().join("\n").replace("@2", "@1").replace("@3", "@1")
    };
    let mut kept = 0;
    for k in known("tso.jsonl").into_iter().chain(known("wait.jsonl")) {
        let litmus = only_cpu(&k.litmus);
        kept += usize::from(parse(&k.name, &litmus).is_ok() && is_kept(&k.name, &litmus));
    }
    assert!(kept > 100, "{kept} programs");
}
