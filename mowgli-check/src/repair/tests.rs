//! Repairs of small programs are those that brute force finds.

use std::collections::BTreeSet;
use std::sync::Arc;

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, Wid};
use mowgli_core::rewrite::repair::{Offer, Repairable};
use mowgli_core::value::Val;
use mowgli_rdma::wait::WAIT;

use super::edits::{GapInsertion, GapPlace, ThreadEdit};
use super::*;
use crate::error::InputError;
use crate::litmus::parse::parse;
use crate::litmus::print::statement;
use crate::litmus::run::{Answer as Solved, solve};

#[allow(dead_code, reason = "what other tests use")]
#[path = "../../../mowgli-check/tests/random/mod.rs"]
mod branches;

/// A random program of a model, of two threads that write to each other, which forbids one of its outcomes.
fn random(model: Model, random: &mut fastrand::Rng) -> Option<(Test, String)> {
    let (words, statements): (&str, [&[&str]; 2]) = match model {
        Model::X86Tso => ("x = 0; y = 0;", [&["x := 1", "y := 2", "R := x", "R := y"]; 2]),
        Model::RDMA_WAIT => (
            "x@1 = 0; p@1 = 5; y@2 = 0; q@2 = 6;",
            [&["x := 1", "R := x", "p := 3", "put(y, p)", "get(p, y)"], &["y := 2", "R := y", "put(x, q)", "q := 4"]],
        ),
        _ => (
            "x@1 = 0; p@1 = 5; y@2 = 0; q@2 = 6;",
            [
                &["x := 1", "R := x", "p := 3", "put(y, p)", "get(p, y)"],
                &["y := 2", "R := y", "put(x, q)", "get(q, x)"],
            ],
        ),
    };
    let heads = if model == Model::X86Tso { ["P1", "P2"] } else { ["P1@1", "P2@2"] };
    let column = |(t, head): (usize, &&str), random: &mut fastrand::Rng| {
        let row = |n: usize| statements[t][random.usize(..statements[t].len())].replace('R', &format!("r{t}{n}"));
        [(*head).to_owned()].into_iter().chain((0..3).map(row)).collect::<Vec<_>>()
    };
    let columns = heads.iter().enumerate().map(|c| column(c, random)).collect();
    let text = format!("{model} t {{ {words} }}\n{}", table(columns));
    let test = parse("t", &format!("{text}{}", "locations [x; y;]\n")).unwrap();
    let outcomes: Vec<Vec<Val>> = solve(&test, &[], Limits::default()).outcomes.into_keys().collect();
    if outcomes.len() < 2 {
        return None;
    }
    let condition =
        |values: &[Val]| test.shown.iter().zip(values).map(|((name, _), v)| format!("{name}={v}")).join(" /\\ ");
    let at = random.usize(..outcomes.len());
    let [bad, good] = [at, (at + 1) % outcomes.len()].map(|i| condition(&outcomes[i]));
    let text = format!("{text}locations [x; y;]\nforbidden ({bad})\nallowed ({good})\n");
    Some((parse("t", &text).unwrap(), text))
}

fn is_as_by_force(program: &EditableTest<'_>, text: &str) -> usize {
    let limits = Limits::default();
    let mut question = RepairQuestion::new(Catalogue::builtin(), program, limits);
    let costs = program.costs();
    let found = Repairs::of(&mut question, &costs, Limit { insertions: costs.len(), ..Limit::default() });
    let all: Vec<Insertions> =
        (0..1_u32 << costs.len()).map(|bits| (0..costs.len()).filter(|i| bits >> i & 1 == 1).collect()).collect();
    let good: Vec<&Insertions> = all.iter().filter(|set| question.is_wrong(set) == Ok(false)).collect();
    let minimal = good.iter().filter(|s| !good.iter().any(|o| o.is_subset(s) && o != *s));
    let wanted: BTreeSet<&Insertions> = minimal.filter(|set| question.keeps(set) == Ok(true)).copied().collect();
    assert_eq!(found.minimal.iter().collect::<BTreeSet<_>>(), wanted, "{text}");
    assert_eq!((found.hopeless, found.open), (good.is_empty(), None), "{text}");
    found.minimal.len()
}

/// Makes an edit that inserts calls before a statement.
fn inserted(thread: usize, before: usize, offer: Offer) -> ThreadEdit {
    ThreadEdit { thread, before, what: GapInsertion::Calls(offer), takes: None, cost: 1 }
}

/// Computes the outcomes of a test with one call before a statement.
fn outcomes(test: &Test, thread: usize, before: usize, call: Option<Call>) -> BTreeSet<Vec<Val>> {
    let edits = call.map(|c| inserted(thread, before, Offer::call("fence", c))).into_iter().collect();
    let program = EditableTest { test, gone: BTreeSet::new(), edits };
    let inserted = program.with(&(0..program.edits.len()).collect()).test;
    solve(&inserted, &[], Limits::default()).outcomes.into_keys().collect()
}

/// All first threads of three statements, in which writes can be late, and the network card reads and writes.
fn programs(model: Model) -> Vec<Vec<&'static str>> {
    let remote: &[&str] = if model == Model::X86Tso { &[] } else { &["put(z, p)", "get(p, z)"] };
    let statements = [&["x := 1", "x := 3", "a := y"], remote].concat();
    // A register is written once.
    let is_one = |all: &Vec<&str>| all.iter().filter(|s| **s == "a := y").count() == 1;
    (0..3).map(|_| statements.clone()).multi_cartesian_product().filter(is_one).collect()
}

/// A fence that is not offered in a place does nothing there, or the same as in a place where it is offered. If only
/// the best places are offered, it does no more there than in one of these.
#[test]
fn a_fence_that_is_not_offered_is_of_no_more_use_than_one_that_is() {
    let (mut moved, mut useless) = (0, 0);
    let models = [Model::X86Tso, Model::RDMA_TSO, Model::RDMA_WAIT, Model::RdmaSc];
    for (model, of_first) in models.into_iter().flat_map(|m| programs(m).into_iter().map(move |p| (m, p))) {
        let is_x86 = model == Model::X86Tso;
        let words = if is_x86 { "x = 0; y = 0;" } else { "x@1 = 0; y@1 = 0; p@1 = 5; z@2 = 0;" };
        let column = |(head, all): (&str, Vec<&str>)| {
            let head = if is_x86 { head.to_owned() } else { format!("{head}@1") };
            [head].into_iter().chain(all.into_iter().map(ToOwned::to_owned)).collect()
        };
        let columns = [("P1", of_first), ("P2", vec!["y := 2", "mfence", "b := x"])].map(column);
        let text = format!("{model} t {{ {words} }}\n{}locations [x;]\n", table(columns.into()));
        let test = parse("t", &text).unwrap();
        let remedies = remedies(model);
        let library = match model {
            Model::X86Tso => mowgli_x86::tso::X86,
            Model::RDMA_WAIT => WAIT,
            _ => mowgli_rdma::tso::TSO,
        };
        let nodes = if model == Model::X86Tso { Vec::new() } else { test.world.all_nodes().iter().collect() };
        let rfences = nodes.into_iter().map(|n| Call::new(library, "Rfence", &[n.into()]));
        let as_it_is = outcomes(&test, 0, 0, None);
        for (fence, thread) in rfences.chain([Call::new(library, "Mfence", &[])]).cartesian_product(0..2) {
            let places = 0..test.threads[thread].statements.len();
            let with = places.clone().map(|at| outcomes(&test, thread, at, Some(fence.clone()))).collect_vec();
            for is_everywhere in [true, false] {
                let is_offered = |at: usize| {
                    let all = GapPlace { test: &test, remedies: &remedies, thread, at }.offers(is_everywhere);
                    all.iter().any(|o| (o.calls)(&[]) == [fence.clone()])
                };
                let (offered, others): (Vec<usize>, Vec<usize>) = places.clone().partition(|at| is_offered(*at));
                let does_as =
                    |at: usize, o: &usize| with[at] == with[*o] || !is_everywhere && with[at].is_superset(&with[*o]);
                for at in others {
                    let is_moved = offered.iter().any(|o| does_as(at, o));
                    let where_ = format!("{} before {at} of {thread}", statement(&fence));
                    assert!(is_moved || with[at] == as_it_is, "{where_}, {is_everywhere}: {text}");
                    moved += usize::from(with[at] != as_it_is);
                    useless += usize::from(with[at] == as_it_is);
                }
            }
        }
    }
    assert!(moved > 5 && useless > 50, "{moved} moved, {useless} useless");
}

/// On small programs the search finds the minimal repairs that a check of all subsets of insertions finds.
#[test]
fn minimal_repairs_are_those_that_brute_force_finds() {
    let mut rng = fastrand::Rng::with_seed(17);
    let (mut repaired, mut asked) = (0, 0);
    for model in [Model::X86Tso, Model::RDMA_TSO, Model::RDMA_WAIT, Model::RdmaSc].into_iter().cycle().take(120) {
        let Some((test, text)) = random(model, &mut rng) else { continue };
        let remedies = remedies(model);
        let program =
            EditableTest::insertions(&test, &remedies, &Costs::default().of(&remedies, &[MOVE, SWAP]).unwrap(), false);
        if program.edits.len() > 6 {
            continue;
        }
        asked += 1;
        repaired += match model {
            Model::X86Tso => is_as_by_force(&program, &text),
            _ => is_as_by_force(&program, &text),
        };
    }
    assert!(asked > 40 && repaired > 5, "{asked} programs, {repaired} repairs");
}

/// Returns a straight program in which some puts send registers or literals, to two nodes. The thread on the third node
/// reads the delivered values.
fn sending(rng: &mut fastrand::Rng) -> String {
    let model = ["RDMA_TSO", "RDMA_TSO+relaxed-ordering", "RDMA_SC", "RDMA_WAIT"][rng.usize(..4)];
    let mut rows = vec!["P1@1".to_owned(), format!("a := {}", rng.u8(1..3))];
    for n in 0..rng.usize(2..4) {
        let [x, to] = [["x", "y"][rng.usize(..2)], ["z", "f"][rng.usize(..2)]];
        rows.push(match rng.u8(..8) {
            0 | 1 => format!("put({to}, a)"),
            2 => format!("put({to}, {})", rng.u8(1..4)),
            3 | 4 => format!("put({to}, {x})"),
            5 => format!("get({x}, {to})"),
            6 => format!("{x} := {}", rng.u8(1..3)),
            _ => format!("s{n} := {x}"),
        });
    }
    let looks = if model == "RDMA_WAIT" { ["get(c, z, d)", "wait(d)"] } else { ["get(c, z)", "poll(2)"] };
    let looking = ["P3@3", "r := f", looks[0], looks[1], "t := c"].map(ToOwned::to_owned).to_vec();
    let words = "x@1 = 1; y@1 = 2; z@2 = 0; f@3 = 0; c@3 = 9;";
    format!("{model} t {{ {words} }}\n{}locations [x; y; z; f;]\n", table(vec![rows, looking]))
}

/// A random test that forbids one of its outcomes and allows another, with threads that branch or send registers.
fn fuzzed(seed: u64) -> Option<(Test, String)> {
    use branches::{BARRIERS, CRASHES, LOCKS, LOCKS_BY_HAND, MESSAGES, POLLS, WAITS};
    let mut rng = fastrand::Rng::with_seed(seed);
    let kinds = [&POLLS, &LOCKS_BY_HAND, &CRASHES, &MESSAGES, &WAITS, &BARRIERS, &LOCKS];
    let text = if rng.bool() { sending(&mut rng) } else { branches::random(kinds[rng.usize(..kinds.len())], seed) };
    // A flush polls for all open operations. The search has no flush that leaves its own completion to a later
    // `pollany`.
    if text.contains("pollany") {
        return None;
    }
    let test = parse("t", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let outcomes = solve(&test, &[], Limits::default()).outcomes.into_keys().collect_vec();
    let condition =
        |values: &[Val]| test.shown.iter().zip(values).map(|((name, _), v)| format!("{name}={v}")).join(" /\\ ");
    let bad = rng.usize(..outcomes.len().max(1));
    let text = match outcomes.len() {
        0 => return None,
        // A test need not have an `allowed` assertion.
        1 => format!("{text}forbidden ({})\n", condition(&outcomes[0])),
        n => {
            let good = (bad + rng.usize(1..n)) % n;
            let allowed =
                if rng.bool() { format!("allowed ({})\n", condition(&outcomes[good])) } else { String::new() };
            format!("{text}forbidden ({})\n{allowed}", condition(&outcomes[bad]))
        }
    };
    Some((parse("t", &text).unwrap(), text))
}

/// Returns the insertions of all fences and flushes of a model, before every statement. One to three polls follow a
/// get, because up to two other operations could be open.
fn anything(test: &Test) -> Vec<ThreadEdit> {
    let library = test.model.memory();
    let (here, there) = (|t: usize| Loc::new(&format!("here{t}")), |n: Node| Loc::new(&format!("there{n}")));
    let word = |node| if library == WAIT { mowgli_rdma::wait::word(node) } else { mowgli_rdma::tso::word(node) };
    let id = Val::Wid(Wid(Name::new("fuzz")));
    let mut all = Vec::new();
    for (t, thread) in test.threads.iter().enumerate() {
        let call = |method, args: &[Val]| Call::new(library, method, args);
        let mut calls = vec![vec![call("Mfence", &[])]];
        for n in test.world.all_nodes().iter().filter(|n| *n != test.world.threads[t]) {
            calls.push(vec![call("Rfence", &[n.into()])]);
            let get = [here(t).into(), there(n).into()];
            if library == WAIT {
                calls.push(vec![call("Get", &[&get[..], &[id]].concat()), call("Wait", &[id])]);
                continue;
            }
            let poll = call("Poll", &[n.into()]);
            calls.push(vec![poll.clone()]);
            calls.extend((1..4).map(|polls| [vec![call("Get", &get)], vec![poll.clone(); polls]].concat()));
        }
        let objects =
            test.world.all_nodes().iter().map(|n| (there(n), word(n))).chain([(here(t), word(test.world.threads[t]))]);
        let objects = objects.collect_vec();
        for (before, calls) in (0..thread.statements.len()).cartesian_product(calls) {
            let objects = if calls.len() > 1 { objects.clone() } else { Vec::new() };
            all.push(inserted(
                t,
                before,
                Offer { kind: "any", calls: Arc::new(move |_| calls.clone()), named: None, objects, in_place: false },
            ));
        }
    }
    all
}

/// The result of fuzzing one test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fuzzed {
    Repaired,
    NoRepair,
    Open,
}

/// Repairs a test, checks each repair by itself, and confirms by brute force that there is none.
///
/// # Errors
/// The repair that is wrong, or that was not found.
fn confirmed(test: &Test, text: &str) -> Result<Fuzzed, String> {
    let costs = Costs::default();
    let ask = RepairRequest {
        catalogue: Catalogue::builtin(),
        costs: &costs,
        weaken: false,
        limit: Limit::default(),
        limits: Limits::default(),
    };
    let found = repair(test, text, &ask).map_err(|e| e.to_string())?;
    for reported in &found.repairs {
        recheck(test, &reported.fixed)?;
    }
    let has_none = found.repairs.is_empty() && found.undecided.is_none();
    let remedies = remedies(test.model);
    let prices = costs.of(&remedies, &[MOVE, SWAP]).map_err(|e| e.to_string())?;
    for is_everywhere in [false, true] {
        let program = EditableTest::insertions(test, &remedies, &prices, is_everywhere);
        let mut question = RepairQuestion::new(Catalogue::builtin(), &program, Limits::default());
        for set in Repairs::of(&mut question, &program.costs(), Limit::default()).minimal {
            let parts = set.iter().copied().powerset().filter(|part| part.len() < set.len());
            none_repairs(&mut question, parts.map(|part| part.into_iter().collect()))?;
        }
        if has_none {
            let pairs = (0..program.edits.len()).combinations(2).map(|pair| pair.into_iter().collect());
            none_repairs(&mut question, pairs)?;
        }
    }
    if !has_none {
        return Ok(if found.repairs.is_empty() { Fuzzed::Open } else { Fuzzed::Repaired });
    }
    let program = EditableTest { test, gone: BTreeSet::new(), edits: anything(test) };
    let mut question = RepairQuestion::new(Catalogue::builtin(), &program, Limits::default());
    none_repairs(&mut question, (0..program.edits.len()).map(|i| Insertions::from([i])))?;
    Ok(Fuzzed::NoRepair)
}

/// Checks the text of a repaired test: what is forbidden is gone, what is allowed is there, and what is stuck shows what was stuck.
fn recheck(test: &Test, fixed: &str) -> Result<(), String> {
    let [before, after] =
        [Ok(test.clone()), parse("fixed", fixed)].map(|t| t.map(|t| solve(&t, &[], Limits::default())));
    let said = |e: InputError| e.to_string();
    let (before, after) = (before.map_err(said)?, after.map_err(said)?);
    let shown = |answer: &Solved| answer.kinds().keys().map(|kind| kind.shown.clone()).collect::<BTreeSet<_>>();
    let is_right = after.holds.iter().all(|holds| *holds == Some(true)) && shown(&after).is_subset(&shown(&before));
    if is_right { Ok(()) } else { Err(format!("this is no repair: {fixed}")) }
}

/// Finds out that none of these sets is a repair.
fn none_repairs(question: &mut RepairQuestion<'_>, sets: impl Iterator<Item = Insertions>) -> Result<(), String> {
    for set in sets {
        if question.is_wrong(&set) == Ok(false) && question.keeps(&set) == Ok(true) {
            return Err(format!("this is a repair: {}", set.iter().map(|&i| question.program.text(i)).join("; ")));
        }
    }
    Ok(())
}

/// The answers about so many random tests.
fn fuzz(count: usize) -> Vec<Fuzzed> {
    let tests = (0..).filter_map(|seed| Some((seed, fuzzed(seed)?))).take(count);
    let confirmed = |(seed, (test, text)): (u64, (Test, String))| {
        confirmed(&test, &text).map_err(|e| format!("{seed}: {e}\n{text}"))
    };
    let (right, wrong): (Vec<Fuzzed>, Vec<String>) = tests.map(confirmed).partition_result();
    assert!(wrong.is_empty(), "{} are wrong: {}", wrong.len(), wrong.join("\n"));
    right
}

/// A small part of the random tests.
#[test]
fn random_tests_have_the_repairs_that_are_found() {
    let all = fuzz(20);
    assert!(all.contains(&Fuzzed::NoRepair), "{all:?}");
}

#[test]
#[ignore = "takes minutes"]
fn three_hundred_random_tests_have_the_repairs_that_are_found() {
    let all = fuzz(300);
    let count = |one| all.iter().filter(|fuzzed| **fuzzed == one).count();
    let (repaired, none) = (count(Fuzzed::Repaired), count(Fuzzed::NoRepair));
    assert!(repaired > 20 && none > 60, "{repaired} repaired, {none} not");
}

/// Searches for repairs of a test with the usual costs.
fn repaired(text: &str, weaken: bool) -> Result<TestRepairs, InputError> {
    let costs = Costs::default();
    let limits = Limits::default();
    let ask = RepairRequest { catalogue: Catalogue::builtin(), costs: &costs, weaken, limit: Limit::default(), limits };
    repair(&parse("t", text)?, text, &ask)
}

/// Two puts, of a location and of a flag. If the second one may come first, the receiver writes through 0.
fn passed_location(model: &str) -> String {
    format!(
        "{model} t {{ x@2 = 0; p@2 = 0; f@2 = 0; q@1 = &x; one@1 = 1; }}\n P1@1 | P2@2 ;\n put(p, q, d) | await f = 1 ;\n \
         put(f, one, e) | a := p ;\n | *a := 5 ;\n | mfence ;\nlocations [x;]\nforall (x=5)\n"
    )
}

/// A test in which a thread may make a wrong access is repaired as one with a wrong outcome.
#[test]
fn wrong_accesses_are_repaired() {
    let found = repaired(&passed_location("RDMA_WAIT+efa"), false).unwrap();
    let cheapest = found.repairs.first().unwrap_or_else(|| panic!("{}", found.text()));
    let answer = solve(&parse("t", &cheapest.fixed).unwrap(), &[], Limits::default());
    assert_eq!((answer.stop(), &answer.holds[..]), (None, &[Some(true)][..]), "{}", cheapest.fixed);
    // No insertion makes a number a location.
    let error =
        repaired("RDMA_WAIT t { x@1 = 0; }\n P1@1 ;\n a := 7 ;\n *a := 5 ;\nlocations [x;]\nforall (x=5)\n", false);
    assert!(error.unwrap_err().message.contains("P1 cannot make `*a := 5`: 7 is no location"));
}

/// A weaker test in which a thread may make a wrong access is no candidate, and is counted.
#[test]
fn weaker_tests_with_wrong_accesses_are_left_out() {
    let text = "RDMA_WAIT t { x@1 = 0; y@1 = 0; z@2 = &x; }\n P1@1 ;\n get(y, z, d) ;\n wait(d) ;\n a := y ;\n *a := 1 ;\n mfence ;\n\
                locations [x;]\nforall (x=1)\n";
    let found = repaired(text, true).unwrap();
    let [weaker] = &found.repairs[..] else { panic!("{}", found.text()) };
    assert_eq!((&found.undecided, &weaker.leave_out[..]), (&None, &["P1: mfence (line 7)".to_owned()][..]));
    assert!(found.ill_defined > 0 && found.text().contains("left out: "), "{}", found.text());
}

/// Edits name numbers as the test does, and not the words that hold them. No two repairs are one test.
#[test]
fn repairs_are_written_as_the_test_is() {
    let mut changed = 0;
    for network in ["efa", "cxi", "rc-relaxed"] {
        for (model, puts, polls) in [
            ("RDMA_TSO", ["put(z, 1)", "put(f, a)"], ["", ""]),
            ("RDMA_WAIT", ["put(z, 1, d)", "put(f, a, e)"], ["wait(d)", "wait(e)"]),
        ] {
            let [first, second] = puts;
            let text = format!(
                "{model}+{network} t {{ z@2 = 0; f@2 = 0; }}\n P1@1 | P2@2 ;\n a := 1 | b := f ;\n {first} | c := z ;\n {second} | ;\n \
                 {} | ;\n {} | ;\nforbidden (b=1 /\\ c=0)\n",
                polls[0], polls[1]
            );
            let found = repaired(&text, false).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let fixed = found.repairs.iter().map(|repair| &repair.fixed).collect_vec();
            for (repair, text) in found.repairs.iter().zip(&fixed) {
                let all = repair.insert.concat() + text;
                assert!([", _", "put(f, 1"].iter().all(|word| !all.contains(word)), "{all}");
                changed += usize::from(all.contains("(z, 1"));
                let answer = solve(&parse("t", text).unwrap(), &[], Limits::default());
                assert_eq!(answer.holds, [Some(true)], "{text}");
            }
            assert!(fixed.iter().all_unique(), "{}", found.text());
        }
    }
    assert!(changed > 3, "{changed}");
}

/// A put within branches is replaced where it stands, and once: not at the braces around it.
#[test]
fn puts_within_branches_are_replaced_once() {
    let text = "RDMA_TSO+efa t { z@2 = 0; f@2 = 0; }\n P1@1 | P2@2 ;\n a := 1 | b := f ;\n if a = 1 { | c := z ;\n if a = 1 { | ;\n \
                put(z, 1) | ;\n } | ;\n } | ;\n put(f, 1) | ;\nforbidden (b=1 /\\ c=0)\n";
    let found = repaired(text, false).unwrap();
    let [one] = &found.repairs[..] else { panic!("{}", found.text()) };
    assert_eq!(one.insert, ["P1: put@delivered(z, 1); poll(2) in place of put(z, 1) (line 6)"]);
}
