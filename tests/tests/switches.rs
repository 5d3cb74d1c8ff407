//! Switches of the models: the outcomes that each removes and adds, by the axioms and by the machine.

use std::collections::BTreeSet;

use mowgli::litmus::parse::parse;
use mowgli::litmus::run::{Engine, solve, solve_with};
use mowgli::litmus::test::{Model, Test};
use mowgli_core::search::problem::Limits;
use mowgli_core::world::{Crashes, World};
use mowgli_tests::{files, litmus};

/// Returns the tests of switches and of the ways in which calls are made, each with the name of its file.
fn all() -> Vec<(String, Test)> {
    let read = |path: &std::path::PathBuf| {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).expect("text");
        let test = parse(&name, &text).unwrap_or_else(|e| panic!("{e}"));
        (name, test)
    };
    ["switches", "ways", "words", "messages", "crashes", "events"]
        .iter()
        .flat_map(|folder| files(&litmus().join(folder)))
        .map(|path| read(&path))
        .collect()
}

/// Checks that all assertions hold, by both engines if the model has a machine.
#[test]
fn the_tests_of_switches_hold() {
    for (name, test) in all() {
        let engine = if matches!(test.model, Model::RdmaTso(_)) { Engine::Both } else { Engine::Declarative };
        let answer = solve_with(engine, &test, Limits::default()).unwrap_or_else(|e| panic!("{e}"));
        assert!(answer.holds.iter().all(|h| *h == Some(true)), "{name}: {:?}", answer.holds);
    }
}

/// Relaxed ordering and crashes only add outcomes. Global atomics, unsignalled operations and an order of addresses
/// only remove some. Each does so in some of the tests.
#[test]
fn switches_change_outcomes_in_one_direction() {
    let mut changed = BTreeSet::new();
    // Without its switch, a test can contain neither a death, nor a message, nor an event, so such tests are left out.
    let is_new = |text: &str| ["dead", "send", "recv", "arm"].iter().any(|call| text.contains(call));
    let tells = |test: &Test| test.threads.iter().flat_map(|t| &t.source).any(|(_, text)| is_new(text));
    for (name, test) in all().into_iter().filter(|(_, test)| !tells(test)) {
        let model = test.model.to_string();
        let world = World { crashes: Crashes::default(), ..test.world.clone() };
        let published = Test { model: test.model.published(), world, ..test.clone() };
        let [with, without] = [&test, &published].map(|t| solve(t, &[], Limits::default()).outcomes);
        let more = with.keys().any(|o| !without.contains_key(o));
        let fewer = without.keys().any(|o| !with.contains_key(o));
        assert!(!more || model.contains("relaxed-ordering") || model.contains("crashes"), "{name}: more");
        let takes_away = ["global-atomics", "unsignalled", "increasing-addresses"].iter().any(|s| model.contains(s));
        assert!(!fewer || takes_away, "{name}: fewer");
        changed.extend((more || fewer).then(|| format!("{model} {}", if more { "more" } else { "fewer" })));
    }
    let expected = [
        "RDMA_TSO+crashes more",
        "RDMA_TSO+global-atomics fewer",
        "RDMA_TSO+increasing-addresses fewer",
        "RDMA_TSO+increasing-addresses+crashes more",
        "RDMA_TSO+relaxed-ordering more",
        "RDMA_TSO+relaxed-ordering+global-atomics fewer",
        "RDMA_TSO+unsignalled fewer",
        "RDMA_WAIT+crashes more",
        "RDMA_WAIT+global-atomics fewer",
        "RDMA_WAIT+increasing-addresses fewer",
        "RDMA_WAIT+relaxed-ordering more",
        "RDMA_WAIT+unsignalled fewer",
    ];
    assert_eq!(changed.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_switch_that_there_is_not_is_an_error_at_its_place() {
    let said = |model: &str| {
        parse("t.litmus", &format!("{model} t\n{{ x@1 = 0; }}\n P1@1 ;\n x := 1 ;\n")).unwrap_err().to_string()
    };
    let unknown = said("RDMA_TSO+fast");
    assert!(unknown.contains("t.litmus:1:1"), "{unknown}");
    assert!(unknown.contains("no switch fast; there are relaxed-ordering, global-atomics"), "{unknown}");
    let of_cpu = said("RDMA_SC+relaxed-ordering");
    assert!(of_cpu.contains("RDMA_SC has no switches; those are of RDMA_WAIT and RDMA_TSO"), "{of_cpu}");
}

#[test]
fn what_knows_no_ways_says_so() {
    let text = "RDMA_TSO t\n{ x@1 = 1; z@2 = 0; }\n P1@1 ;\n put@q2(z, x) ;\n poll@q2(2) ;\nallowed (z=1)\n";
    let test = parse("t.litmus", text).expect("a test");
    let robust = mowgli::robust::robust(&test, None, &|| false).err().expect("no answer");
    let why = |what| {
        format!(
            "t: line 4: put@q2(z, x): {what} knows one queue pair to each node, and operations of one word with a completion and no flag"
        )
    };
    assert_eq!(robust.to_string(), why("robustness"));
    let fenced = parse("t.litmus", &text.replace("put@q2", "put@fence").replace("poll@q2", "poll")).expect("a test");
    let lisa = mowgli::cat::lisa::to_lisa(&fenced).expect("a test").text;
    assert!(lisa.contains("f[aRF,n2]") && lisa.find("f[aRF,n2]") < lisa.find("r[aNLR,"), "{lisa}");
    assert_eq!(mowgli::cat::lisa::to_lisa(&test).expect_err("no test").to_string(), why("LISA"));
}

#[test]
fn ways_that_there_are_not_are_errors_at_their_place() {
    let said = |call: &str| {
        let text = format!("RDMA_TSO t\n{{ x@1 = 1; z@2 = 0; }}\n P1@1 ;\n {call} ;\n");
        parse("t.litmus", &text).unwrap_err().to_string()
    };
    for (call, why) in [
        (
            "put@fast(z, x)",
            "@fast says of no call how it is made; there are @q2, @unsignalled and @q2,unsignalled, @fence",
        ),
        ("put@q12(z, x)", "q12 is not a queue pair; queue pairs are q1 to q9"),
        ("put@unsignalled(z, x)", "unsignalled operations are of RDMA_WAIT+unsignalled and RDMA_TSO+unsignalled"),
        ("cas@q2(x, 0, 1)", "cas is made in one way only"),
    ] {
        let said = said(call);
        assert!(said.contains("t.litmus:4:") && said.contains(why), "{said}");
    }
    let with = |call: &str| {
        parse("t", &format!("RDMA_WAIT+unsignalled t\n{{ x@1 = 1; z@2 = 0; }}\n P1@1 ;\n {call} ;\n"))
            .unwrap_err()
            .to_string()
    };
    assert!(with("put@unsignalled(z, x, d)").contains("no completion of its own, and so no identifier d"));
    assert!(with("rfence@unsignalled(2)").contains("only operations are unsignalled"));
    assert!(with("rfence@fence(2)").contains("only operations have the fence flag"));
}

#[test]
fn crashes_that_there_are_not_are_errors_at_their_place() {
    let said = |model: &str, crash: &str, call: &str| {
        let text = format!("{model} t\n{{ {crash}; x@1 = 1; }}\n P1@1 | P2@1 ;\n x := 2 | {call} ;\n");
        parse("t.litmus", &text).unwrap_err().to_string()
    };
    let plain = said("RDMA_TSO", "crash(P1)", "x := 3");
    assert!(plain.contains("t.litmus:2:9") && plain.contains("crashes are of RDMA_WAIT+crashes"), "{plain}");
    let nobody = said("RDMA_TSO+crashes", "crash(P3)", "x := 3");
    assert!(nobody.contains("there is no thread P3"), "{nobody}");
    let alive = said("RDMA_TSO+crashes", "crash(P1)", "dead(P2)");
    assert!(alive.contains("t.litmus:4:") && alive.contains("P2 makes no call after its own end"), "{alive}");
    let number = said("RDMA_TSO+crashes", "crash(P1)", "dead(1)");
    assert!(number.contains("a thread is expected here, as P1"), "{number}");
    let unknown = said("RDMA_TSO+relaxed-ordering", "x9@1 = 0", "dead(P1)");
    assert!(unknown.contains("dead is"), "{unknown}");
    let inner = said("RDMA_TSO+crashes", "crash(P1)", "stop");
    assert!(inner.contains("this is no statement"), "{inner}");
}

#[test]
fn what_knows_no_crashes_says_so() {
    let text =
        "RDMA_TSO+crashes t\n{ crash(P1); x@1 = 1; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n poll(2) ;\nallowed (z=0)\n";
    let test = parse("t.litmus", text).expect("a test");
    let lisa = mowgli::cat::lisa::to_lisa(&test).expect_err("no test");
    assert!(lisa.to_string().contains("a thread of LISA makes all its calls"), "{lisa}");
    let robust = mowgli::robust::robust(&test, None, &|| false).err().expect("no answer");
    assert_eq!(robust.to_string(), "t: robustness is asked of models as they are published, not of RDMA_TSO+crashes");
}

#[test]
fn models_without_queue_pairs_refuse_ways() {
    let core = parse("t", "CORE_RMA t\n{ x@1 = 1; z@2 = 0; }\n P1@1 ;\n put@q2(z, x) ;\n").unwrap_err().to_string();
    assert!(core.contains("calls of CORE_RMA are made in one way"), "{core}");
    let x86 = parse("t", "X86_TSO t\n{ x = 0; }\n P1 ;\n a := cas@q2(x, 0, 1) ;\n").unwrap_err().to_string();
    assert!(x86.contains("cas is made in one way only"), "{x86}");
    let sc =
        parse("t", "RDMA_SC t\n{ x@1 = 1; z@2 = 0; }\n P1@1 ;\n put@unsignalled(z, x) ;\n").unwrap_err().to_string();
    assert!(sc.contains("unsignalled operations are of RDMA_WAIT+unsignalled"), "{sc}");
}

/// Printed tests are parsed to the same statements.
#[test]
fn ways_are_printed_as_they_are_read() {
    for (name, test) in all() {
        let printed = mowgli::litmus::print::test(&test);
        let again = parse(&name, &printed).unwrap_or_else(|e| panic!("{e}"));
        let statements = |t: &Test| t.threads.iter().map(|t| t.statements.clone()).collect::<Vec<_>>();
        assert_eq!(statements(&test), statements(&again), "{printed}");
    }
}

#[test]
fn words_that_there_are_not_are_errors_at_their_place() {
    let said = |call: &str| {
        let text = format!("RDMA_TSO t\n{{ x@1[2] = 0; y@1 = 0; z@2[3] = 0; }}\n P1@1 ;\n a := y ;\n {call} ;\n");
        parse("t.litmus", &text).unwrap_err().to_string()
    };
    for (call, why) in [
        ("put(z, x, 3)", "x has 2 words, x[0] to x[1], and 3 from x on are meant"),
        ("put(z[2], x, 2)", "z has 3 words, z[0] to z[2], and 2 from z[2] on are meant"),
        ("put(z, x, 0)", "an operation is of one word or more, and not of 0"),
        ("put(z[9223372036854775807], x, 2)", "and 2 from z[9223372036854775807] on are meant"),
        ("put(z, y, 1)", "y is no array; one is declared as y@1[1] = 0;"),
        ("put(z[a], x, 2)", "the first of several words is a number here, as z[1]"),
        ("put(x, z, 2)", "z[0] is on node 2, and P1 on node 1"),
        ("put(z, x, d, 2)", "expected put@way(remote, local, k)"),
        ("put@q12(z, x, 2)", "q12 is not a queue pair; queue pairs are q1 to q9"),
    ] {
        let said = said(call);
        assert!(said.contains("t.litmus:5:") && said.contains(why), "{said}");
    }
    let nine = "RDMA_TSO t\n{ x@1[9] = 0; z@2[9] = 0; }\n P1@1 ;\n put(z, x, 9) ;\n";
    assert!(parse("t", nine).unwrap_err().to_string().contains("an operation is of 1 to 8 words, and this one of 9"));
}

#[test]
fn messages_that_there_are_not_are_errors_at_their_place() {
    let said = |model: &str, call: &str| {
        parse("t.litmus", &format!("{model} t\n{{ x@1 = 0; nodes 2; }}\n P1@1 ;\n {call} ;\n")).unwrap_err().to_string()
    };
    let plain = said("RDMA_TSO", "send(2, 1)");
    assert!(plain.contains("t.litmus:4:") && plain.contains("name the switch in its first line"), "{plain}");
    let nowhere = said("RDMA_TSO+messages", "send(3, 1)");
    assert!(nowhere.contains("there are only 2 nodes"), "{nowhere}");
    for (other, why) in
        [("crashes", "where it is cut off"), ("efa", "it needs writes of a queue pair that arrive in order")]
    {
        let both = said(&format!("RDMA_TSO+{other}+messages"), "send(2, 1)");
        assert!(both.contains("t.litmus:1:1") && both.contains(why), "{both}");
    }
}

#[test]
fn what_knows_no_switches_says_so() {
    let text = "RDMA_TSO+relaxed-ordering t\n{ x@1 = 1; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n poll(2) ;\nallowed (z=1)\n";
    let test = parse("t.litmus", text).expect("a test");
    let robust = mowgli::robust::robust(&test, None, &|| false).err().expect("no answer");
    assert_eq!(
        robust.to_string(),
        "t: robustness is asked of models as they are published, not of RDMA_TSO+relaxed-ordering"
    );
}
