//! The command on tests of x86-TSO: outcomes, explanations, and messages about statements of other machines.

use crate::ran::{file, is_bad, mowgli, tells};

const SB: &str = "X86_TSO sb\n{ x = 0; y = 0; }\n P1 | P2 ;\n x := 1 | y := 1 ;\n a := y | b := x ;\nallowed (a=0 /\\ b=0)\nforbidden (a=2)\n";

#[test]
fn outcomes_are_printed_as_for_other_models() {
    let folder = tempfile::tempdir().unwrap();
    let sb = file(folder.path(), "sb.litmus", SB);
    let ran = tells(&["litmus", &sb], 0, &[]);
    assert!(ran.out.starts_with("Test sb Allowed\nStates 4\na=0; b=0;\n"), "{}", ran.out);
    let json = mowgli(&["litmus", "--json", &sb]).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!(json["model"], "X86_TSO");
    assert_eq!(json["outcomes"].as_array().map(Vec::len), Some(4));
    let fenced = file(folder.path(), "fenced.litmus", &SB.replace("1 ;\n a", "1 ;\n mfence | mfence ;\n a"));
    assert_eq!(mowgli(&["litmus", &fenced]).code, 1);
}

#[test]
fn an_execution_and_a_cycle_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let mp = "X86_TSO mp\n{ x = 0; y = 0; }\n P1 | P2 ;\n x := 1 | a := y ;\n y := 1 | b := x ;\nallowed (a=1 /\\ b=1)\nforbidden (a=1 /\\ b=0)\n";
    let mp = file(folder.path(), "mp.litmus", mp);
    let ran = tells(&["explain", &mp], 0, &[]);
    for text in ["Write(x, 1)  [W wrote 1]", "Read(y) = 1  [R read 1]", "P1 Write(y, 1) -> P2 Read(y) = 1"] {
        assert!(ran.out.contains(text), "{text}: {}", ran.out);
    }
    let cycle = "    x := 1 keeps its place before y := 1 in its thread, as W does before W  (ppo)\n    a := y read 1, which y := 1 wrote  (rf)\n";
    assert!(ran.out.contains(cycle), "{}", ran.out);
    assert!(
        ran.out.contains("b := x read 0, before x := 1 wrote  (rb)\n    back to the first event: a cycle\n"),
        "{}",
        ran.out
    );
    // Coherence is a demand.
    let coherence = "X86_TSO c\n{ x = 0; }\n P1 ;\n x := 1 ;\n a := x ;\nforbidden (a=0)\n";
    let ran = mowgli(&["explain", &file(folder.path(), "c.litmus", coherence)]);
    assert!(ran.out.contains("which x86-tso excludes (uniproc)"), "{}", ran.out);
}

/// `explain` and `report` read the finding that `explain --out` has kept, and judge it again.
#[test]
fn a_finding_is_kept_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let (sb, kept) = (file(folder.path(), "sb.litmus", SB), folder.path().join("kept.ron").display().to_string());
    let reported = mowgli(&["explain", "--assertion", "1", "--out", &kept, &sb]);
    let again = mowgli(&["explain", &kept]);
    assert_eq!((again.code, &again.out), (0, &reported.out), "{}", again.err);
    let json = mowgli(&["explain", "--json", &kept]).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!(json["execution"]["subs"][0]["sub"]["stamp"], "W", "{json}");
    assert!(mowgli(&["explain", "--dot", &kept]).out.starts_with("digraph execution {"));
    tells(&["report", "--json", &kept, &sb], 0, &[r#""stamp":"W""#, r#""model":"X86_TSO""#]);
}

#[test]
fn what_another_machine_has_is_reported_with_place_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let says = |from: &str, to: &str, said: &[&str]| {
        let text = "X86_TSO t\n{ x = 0; y = 0; }\n P1 | P2 ;\n x := 1 | a := x ;\nallowed (a=1)\n";
        let changed = text.replacen(from, to, 1);
        assert_ne!(text, changed, "{from}");
        is_bad(&["litmus", &file(folder.path(), "t.litmus", &changed)], said);
    };
    let there_are = "there are cas, faa, xchg, mfence, acq, rel; what goes through a network";
    for remote in ["put(x, y, d)", "get(x, y)", "rcas(x, y, 0, 1)", "rfaa(x, y, 1)", "wait(d)", "poll(1)", "rfence(1)"]
    {
        let name = remote.split('(').next().unwrap();
        says("x := 1", remote, &["t.litmus:4:2", &format!("{name} is no statement of X86_TSO"), there_are]);
    }
    says("x := 1", "bar(x)", &["t.litmus:4:2", "bar is no statement of X86_TSO"]);
    says(
        "y = 0",
        "svar y = 0",
        &["t.litmus:2:10", "there is no kind of object svar; X86_TSO has memory words, as x = 0, and mcslock x"],
    );
    says("y = 0", "y@2 = 0", &["t.litmus:2:12", "X86_TSO is one machine, node 1; leave the node out"]);
    says("| P2", "| P2@2", &["t.litmus:3:10", "X86_TSO is one machine"]);
    says("y = 0", "nodes 2", &["t.litmus:2:10", "X86_TSO is one machine; leave this out"]);
    says("x := 1", "x := y", &["t.litmus:4:7", "read into a register first"]);
    says("x := 1", "x := &z", &["t.litmus:4:8", "z is not declared"]);
    says("x := 1", "*p := 1", &["t.litmus:4:3", "p is neither declared nor a register"]);
    says("x := 1", "cas(*p, 0, 1)", &["t.litmus:4:7", "p is neither declared nor a register"]);
    says("x := 1", "faa(x)", &["t.litmus:4:2", "expected faa(x, k)"]);
}

#[test]
fn what_this_machine_has_is_reported_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let says = |text: &str, said: &[&str]| is_bad(&["litmus", &file(folder.path(), "t.litmus", text)], said);
    says("RDMA_TSO t\n{ x = 0; }\n P1@1 ;\n x := 1 ;\n", &["t.litmus:2:3", "say on which one this is, as x@1 = 0"]);
    says("RDMA_WAIT t\n{ x@1 = 0; }\n P1 ;\n x := 1 ;\n", &["t.litmus:3:2", "say on which one this is, as P1@1"]);
}

/// An access to an object that is not a word is an error in the program, and not a program without executions.
#[test]
fn a_dangling_dereference_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let text = "X86_TSO t\n{ p = 0; }\n P1 ;\n a := p ;\n b := *a ;\nallowed (b=0)\n";
    is_bad(&["litmus", &file(folder.path(), "t.litmus", text)], &["0 is no location"]);
}

/// An implementation that makes an erroneous call is not well defined, which is an error. The pool of this
/// stack has too few nodes, so the stack uses a node that does not exist.
#[test]
fn an_implementation_with_a_fault_has_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let pushes = " s.push(1) | ;\n".repeat(4);
    let text =
        format!("X86_TSO pool\n{{ treiber s; }}\n P1 | P2 ;\n{pushes} s.push(1) | a := s.pop ;\nforbidden (a=7)\n");
    let pool = file(folder.path(), "pool.litmus", &text);
    assert_eq!(mowgli(&["litmus", &pool]).code, 0);
    let implemented = |args: &[&str]| {
        let ran = tells(&[args, &["--implemented", "treiber", &pool]].concat(), 2, &[]);
        let said = ran.out.clone() + &ran.err;
        let call = "P1, in the body of Push(s, 1) of treiber, calls Write(s.record_P1_5.value, 1) of x86-tso";
        assert!(said.contains(call) && said.contains("s.record_P1_5.value is not declared"), "{said}");
    };
    implemented(&["litmus"]);
    implemented(&["litmus", "--json"]);
    implemented(&["explain"]);
    implemented(&["explain", "--json"]);
}

#[test]
fn libraries_are_checked_listed_and_shown() {
    let list = mowgli(&["check", "--list"]).out;
    let over = |name: &str, over: &str| {
        assert!(list.contains(&format!("{name} over {over}\n  published            sound: ")), "{list}");
    };
    ["spinlock", "ticketlock", "mcslock"].iter().for_each(|lock| over(lock, "x86-tso"));
    ["treiber", "msqueue"].iter().for_each(|container| over(container, "x86-pool, x86-tso"));
    tells(&["check", "spinlock", "--wide"], 0, &["g(Acq, F) = U of the CAS"]);
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept.ron").display().to_string();
    // A read of the flags of others passes the thread's write of its own flag.
    tells(
        &["check", "spinlock", "--variant", "flags", "--out", &kept],
        0,
        &["X86_TSO spinlock-flags\n{\n  spinlock l;\n  px = 0;"],
    );
    tells(&["explain", &kept], 0, &["The specifications forbid it:"]);
    tells(&["report", "--json", "spinlock:flags"], 0, &[r#""verdict":"unsound""#, r#""stamp":"W""#]);
    tells(&["cat", "spinlock"], 0, &[]);
    tells(&["spec", "spinlock", "--threads", "2", "--calls", "2"], 0, &[]);
    assert_eq!(mowgli(&["distinguish", "spinlock", "ticketlock", "--calls", "2"]).code, 0);
    is_bad(&["distinguish", "spinlock", "wlock"], &["are over different memory models"]);
    let unknown = mowgli(&["check", "spin"]);
    assert!(unknown.code == 2 && unknown.err.contains("no library spin\n = help: there are sv, "), "{}", unknown.err);
    assert!(unknown.err.contains("kvstore, table, spinlock, ticketlock, mcslock, treiber, msqueue"), "{}", unknown.err);
}

#[test]
fn objects_have_statements() {
    let folder = tempfile::tempdir().unwrap();
    let text = "X86_TSO t\n{ treiber s; msqueue q; mcslock l; }\n P1 | P2 ;\n s.push(1) | acq(l) ;\n s.push(2) | q.enq(1) ;\n a := s.pop | b := q.deq ;\n | rel(l) ;\nforall (a=2 /\\ b=1)\n";
    tells(&["litmus", &file(folder.path(), "t.litmus", text)], 0, &[]);
    tells(
        &[
            "litmus",
            "--implemented",
            "treiber",
            &file(
                folder.path(),
                "s.litmus",
                "X86_TSO s\n{ treiber s; }\n P1 | P2 ;\n s.push(1) | a := s.pop ;\nallowed (a=1)\nallowed (a=bot)\n",
            ),
        ],
        0,
        &[],
    );
}

/// Commands about networks and other machines reject the test with the reason.
#[test]
fn commands_for_other_models_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let sb = file(folder.path(), "sb.litmus", SB);
    let says = |args: &[&str], said: &str| is_bad(args, &[said]);
    says(&["compare", "--model", "X86_TSO", "--model", "RDMA_TSO"], "X86_TSO has none");
    says(&["generate", "--model", "x86-tso"], "X86_TSO has none");
    says(&["robust", &sb], "robustness is asked of programs with polls");
    says(&["walk", &sb], "X86_TSO has no machine");
    says(&["litmus", "--engine", "both", &sb], "X86_TSO has no machine");
    let herd = tells(&["convert", &sb, "--to", "herd"], 0, &[]);
    assert!(herd.out.starts_with("X86_64 sb\n") && herd.out.contains("movl $1,(x)"), "{}", herd.out);
    tells(&["cat", "X86_TSO"], 0, &["uniproc"]);
}
