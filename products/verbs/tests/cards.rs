//! Litmus tests as programs for cards: the statements in C, and what has no form.

use libtest_mimic::Trial;
use mowgli::litmus::parse::parse;
use mowgli::litmus::run::solve;
use mowgli_core::search::problem::Limits;
use mowgli_verbs::cards;

/// Lists the tests.
pub fn trials() -> Vec<Trial> {
    let tests: [(&str, fn()); 3] = [
        ("statements_have_their_form_in_c", statements_have_their_form_in_c),
        ("what_has_no_form_in_c_is_named", what_has_no_form_in_c_is_named),
        ("fences_of_an_operation_are_fences_before_it", fences_of_an_operation_are_fences_before_it),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    tests.map(trial).into()
}

/// Returns the program of a test, or the error.
fn program(text: &str) -> Result<String, String> {
    let test = parse("t", text).unwrap_or_else(|e| panic!("{e}"));
    cards::program(&test, &solve(&test, &[], Limits::default())).map_err(|e| e.to_string())
}

/// Returns a test of two threads with these rows.
fn of(rows: &str) -> String {
    format!("RDMA_TSO t {{ x@1 = 0; y@1 = 0; z@2 = 0; }}\n P1@1 | P2@1 ;\n{rows}")
}

fn statements_have_their_form_in_c() {
    for (rows, lines) in [
        (" a := x | ;\n put(z, a + 1) | ;\n", &["(cpu_write(0, c->reg[0] + 1), 0), 0);"][..]),
        (
            " a := x | await x > 0 ;\n if a + a <= a - a { faa(x, a) } | ;\nforbidden (a >= 3)\n",
            &["if (c->reg[0] + c->reg[0] <= c->reg[0] - c->reg[0]) {", "cpu_faa(", " <= 0) waits(c);", ">= 3"],
        ),
        (
            " x := 1 | await y = 1 ;\n y := 1 | a := x ;\n | if a = 1 { b := 2 } ;\n | while b = 7 { b := x } ;\n",
            &["while (cpu_read(1) != 1) waits(c);", "if (c->reg[0] == 1) {", "while (c->reg[1] == 7) {", "\t}\n"],
        ),
    ] {
        let c = program(&of(rows)).unwrap();
        lines.iter().for_each(|line| assert!(c.contains(line), "{line}: {c}"));
    }
}

fn what_has_no_form_in_c_is_named() {
    let far =
        "RDMA_TSO t { p@1 = &z; y@2 = 4; z@2 = 3; l@1 = 0; }\n P1@1 | P2@1 ;\n a := p | p := &y ;\n get(l, *a) | ;\n";
    let [queue, relaxed] = ["RDMA_TSO", "RDMA_TSO+relaxed-ordering"].map(|model| {
        format!("{model} t\n{{ x@1 = 1; z@2 = 0; }}\n P1@1 ;\n put@q2(z, x) ;\n poll@q2(2) ;\nallowed (z=1)\n")
    });
    for (text, why) in [
        (far, "an outcome has the location"),
        (
            &of(" a := x | ;\n put(z, (a, 1)) | if true { b := (7, 1) } ;\nforbidden (z = (a, 1))\n"),
            "it is several numbers",
        ),
        (&of(" rxchg(x, z, 1) | ;\n"), ": rxchg(x, z, 1)"),
        (&of(" rxchg(x, z, 1) | ;\n"), "no exchange"),
        (&of(" a := x | ;\n assume a = 0 | ;\n"), ": assume a = 0"),
        (&queue, "line 4: put@q2(z, x): c-verbs knows one queue pair to each node, and operations of one word"),
        (&relaxed, "c-verbs is for models as they are published: RDMA_TSO, not RDMA_TSO+relaxed-ordering"),
    ] {
        let error = program(text).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

/// A fence of its own stands for the fence flag.
fn fences_of_an_operation_are_fences_before_it() {
    let text = "RDMA_TSO t\n{ x@1 = 1; z@2 = 0; }\n P1@1 ;\n put@fence(z, x) ;\n poll(2) ;\nallowed (z=1)\n";
    let c = program(text).unwrap();
    assert!(c.contains("rdma_fence(c, 1);") && c.find("rdma_fence(c, 1);") < c.find("rdma_put(c, "), "{c}");
}
