//! The command with the user's libraries, like that of a crate that `mowgli new` writes.
//!
//! With the environment variable [`OWN`] this program is that command; without it, it tests that command.

use std::path::PathBuf;
use std::process::{Command, ExitCode, Output};
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use mowgli_core::expr::Opaque;
use mowgli_libraries::prelude::*;
use mowgli_libraries::sequential::{self, Case, Sequential};

#[allow(dead_code, missing_docs, reason = "an example of its own")]
#[path = "../examples/counter.rs"]
mod counter;
#[allow(dead_code, missing_docs, reason = "an example of its own")]
#[path = "../examples/latch.rs"]
mod latch;
#[allow(dead_code, missing_docs, reason = "an example of its own")]
#[path = "../examples/stack.rs"]
mod stack;
#[allow(dead_code, missing_docs, reason = "an example of its own")]
#[path = "../examples/ticketlock.rs"]
mod ticketlock;

/// The environment variable that names the command's own libraries. Without it this program runs the tests.
const OWN: &str = "LIBRARIES_OF_ONES_OWN";

fn main() -> ExitCode {
    match std::env::var(OWN) {
        Ok(which) => mowgli::main_with(std::iter::once_with(|| own(&which)).flatten()),
        Err(_) => {
            let trial = |(name, test): (&str, fn())| {
                Trial::test(name, move || {
                    test();
                    Ok(())
                })
            };
            libtest_mimic::run(&Arguments::from_args(), TESTS.into_iter().map(trial).collect()).exit_code()
        }
    }
}

fn own(which: &str) -> Vec<Entry> {
    match which {
        "examples" => {
            vec![latch::entry(), counter::entry(), ticketlock::entry(), stack::entry()]
        }
        "latch" => vec![latch::entry()],
        "built in" => vec![latch::entry(), sv::entry()],
        "two of one name" => vec![latch::entry(), latch::entry()],
        "a bell" => vec![bell()],
        "a gong" => vec![gong("hung")],
        "a foreign part" => vec![gong("foreign")],
        "panics" => vec![gong("panics"), latch::entry()],
        "a box" => vec![post()],
        "a box of zeros" => vec![Entry { specification: Libraries::over(to).with(letters()), ..post() }],
        "another name" => vec![Entry { name: "lache", ..latch::entry() }],
        "a part without a sentence" => vec![specified(|| {
            spec! {
                let rf = reads_from(reads, writes);
                let later = rf; po;
                so = later;
            }
        })],
        "a part of hb" => vec![specified(|| {
            spec! {
                let rf = reads_from(reads, writes);
                let later = hb & same_thread;
                say later = "{a} is before {b}";
                so = rf | later;
            }
        })],
        "two choices of one name" => vec![specified(|| {
            spec! {
                let _rf, first, _rb = coherence;
                let mo = order(writes, CELL);
                say mo = "{a} is before {b}";
                so = first | mo;
            }
        })],
        "two sources" => vec![specified(|| {
            spec! {
                let rf, mo, rb = coherence;
                let _rg = reads_from(reads, writes);
                so = rf | mo | rb;
            }
        })],
        "copies" => vec![Entry { specification: Libraries::over(to).with(copies()), ..post() }],
        "a missing word" => vec![sequential::entry(&(Arc::new(Words(3)) as _))],
        "an index" => vec![sequential::entry(&(Arc::new(Words(9)) as _))],
        other => panic!("there are no libraries {other}"),
    }
}

methods! {
    enum Method of BELL = "bell" {
        /// Rings it.
        fn ring = Ring(x: Object), looks;
    }
}

/// Returns a bell whose method table is wrong: `Ring` writes, although the table says that it only looks.
fn bell() -> Entry {
    let shapes = shapes! { Method: Ring { x } => { aCW: writes x at here, 1 } };
    let bodies = bodies! { Method: Ring { x } => { Shared::write(x.part("rung", []), 1) } };
    let over = Over::<Method>::terms(bodies).part("rung", sv::variable());
    Entry::rdma(Simple::<Method>::new(shapes, Spec::default), Sv).published(over, &[(2, 2, 1)])
}

methods! {
    enum Struck of GONG = "gong" {
        /// Returns how often the gong was struck.
        fn struck = Struck(x: Object) -> Value, looks;
    }
}

/// A gong whose parts, and whose places, are Rust functions.
struct Function {
    bodies: Bodies,
    count: Box<Made<Loc>>,
}

/// A function of an object in a world.
type Made<T> = dyn Fn(&World, Loc) -> T + Send + Sync;

impl Implementation for Function {
    fn target(&self) -> Name {
        GONG
    }

    fn declare(&self, world: &mut World) {
        let counts: Vec<_> =
            world.locations(GONG).into_iter().map(|x| ((self.count)(world, x), sv::variable())).collect();
        world.objects.extend(counts);
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(&self.bodies)
    }
}

/// Returns a gong whose shape does not say which subevent reads its result. The implementation of a `foreign` gong
/// makes a variable whose name a client can use. The body of a gong that `panics` does so in a world of three nodes.
fn gong(which: &str) -> Entry {
    let unread = shapes! { Struck: Struck { x } => { aCR: reads x at here } };
    let is_foreign = which == "foreign";
    let panics = which == "panics";
    let place = Opaque::new(move |args| {
        // Clients of two nodes do not show the panic.
        let homes = vec![args[0]; if panics { 2 } else { 4 }];
        homes[args[1].nodes().expect("a set").iter().count() - 1]
    });
    let bodies = bodies! { Struck:
        Struck { x } => { Shared::read(Expr::opaque("place", place, [x.part("count", []), all_nodes()])) }
    };
    let count = move |_: &World, x: Loc| if is_foreign { Loc::new("count") } else { x.part("count") };
    let library = Simple::<Struck>::new(if is_foreign || panics { read() } else { unread }, Spec::default);
    let over = Function { bodies, count: Box::new(count) };
    Entry::rdma(library, Sv).published(over, if panics { &[(1, 3, 1)] } else { &[(1, 1, 1)] })
}

/// Returns the shape of a call that reads how often the gong was struck.
fn read() -> &'static Shapes {
    shapes! { Struck: Struck { x } => { aCR: reads x at here, ret() } }
}

methods! {
    enum Letter of POST = "post" {
        /// Leaves a letter.
        fn leave = Leave(x: Object, v: Value);
        /// The letter, or bottom where there is none.
        fn look = Look(x: Object) -> Value, looks;
    }
}

fn letter_shapes() -> &'static Shapes {
    shapes! { Letter:
        Leave { x, v } => { aCW: writes x at here, v }
        Look { x } => { aCR: reads x at here, ret() }
    }
}

fn letters() -> Simple<Letter> {
    Simple::new(letter_shapes(), || {
        let mut c = Spec::default();
        c.reads_from("rf", reads(), writes());
        c
    })
}

/// Returns the box with another consistency predicate.
fn specified(spec: fn() -> Spec) -> Entry {
    let library = Simple::<Letter>::new(letter_shapes(), spec).init(Val::Bot);
    Entry { specification: Libraries::over(to).with(library), ..post() }
}

/// Returns letters of which each node has a copy, all with one stamp.
fn copies() -> Simple<Letter> {
    let shapes = shapes! { Letter:
        Leave { x, v } => { for n in (all_nodes()) { aCW: writes x at n, v } }
        Look { x } => { aCR: reads x at here, ret() }
    };
    Simple::new(shapes, || spec! { let rf, mo, rb = coherence; so = rf | mo | rb; }).init(Val::Bot)
}

/// One word, of which a call changes the word with a number that is too large. From 9 on it also reads that word.
struct Words(usize);

impl Sequential for Words {
    fn name(&self) -> &'static str {
        POST.text()
    }

    fn methods(&self) -> &'static [mowgli_core::term::method::Method] {
        Letter::TABLE
    }

    fn start(&self) -> Vec<Val> {
        vec![Val::Bot]
    }

    fn cases(&self, method: &str, words: &[Expr], args: &[Expr]) -> Vec<Case> {
        let read = words[if self.0 == 9 { 9 } else { 0 }];
        vec![if method == "Leave" {
            Case::new(true, &[(self.0, args[1])], Val::Unit)
        } else {
            Case::new(true, &[], read)
        }]
    }
}

/// Returns a box for letters, which is empty at the beginning.
fn post() -> Entry {
    let slot = |x: Expr| x.part("slot", []);
    let bodies = bodies! { Letter:
        Leave { x, v } => { Shared::write(slot(x), v) }
        Look { x } => { let v = Shared::read(slot(x)); if (v == 0) { Val::Bot } else { v } }
    };
    let over = Over::<Letter>::terms(bodies).part("slot", sv::variable());
    Entry::rdma(letters().init(Val::Bot), Sv).published(over, &[(2, 1, 1)])
}

const TESTS: [(&str, fn()); 17] = [
    ("errors_in_a_definition_are_errors_of_the_library", errors_in_a_definition_are_errors_of_the_library),
    ("subevents_of_one_stamp_are_exchanged_with_their_cells", subevents_of_one_stamp_are_exchanged_with_their_cells),
    ("what_cells_begin_with_can_be_read", what_cells_begin_with_can_be_read),
    (
        "a_panic_is_reported_with_its_place_and_ends_nothing_else",
        a_panic_is_reported_with_its_place_and_ends_nothing_else,
    ),
    ("one_is_listed_where_it_is_named", one_is_listed_where_it_is_named),
    ("what_is_wrong_with_an_entry_is_reported_with_its_place", what_is_wrong_with_an_entry_is_reported_with_its_place),
    ("they_are_listed_before_those_that_are_built_in", they_are_listed_before_those_that_are_built_in),
    ("they_are_checked_where_nothing_is_named", they_are_checked_where_nothing_is_named),
    ("variants_are_caught_and_their_findings_explained", variants_are_caught_and_their_findings_explained),
    ("litmus_tests_have_their_objects_and_statements", litmus_tests_have_their_objects_and_statements),
    ("litmus_tests_run_their_implementations", litmus_tests_run_their_implementations),
    ("loops_wait_by_calls_that_only_look", loops_wait_by_calls_that_only_look),
    ("other_commands_know_them", other_commands_know_them),
    ("slips_are_reported_what_there_is", slips_are_reported_what_there_is),
    ("names_that_clash_are_errors", names_that_clash_are_errors),
    ("a_call_that_writes_does_not_only_look", a_call_that_writes_does_not_only_look),
    ("stacks_go_down_through_them", stacks_go_down_through_them),
];

/// Runs the command with these libraries. Returns its exit code, its output, and its standard error.
fn with(which: &str, args: &[&str]) -> (i32, String, String) {
    let own = std::env::current_exe().expect("this program");
    let ran = Command::new(own).env(OWN, which).args(args).output();
    let Output { status, stdout, stderr } = ran.expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code().expect("no signal"), text(stdout), text(stderr))
}

fn ran(args: &[&str]) -> (i32, String, String) {
    with("examples", args)
}

/// Returns the path of the litmus test of an example.
fn litmus(example: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/new");
    folder.join(format!("{example}.litmus")).display().to_string()
}

/// Writes a litmus test to a file.
fn file(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("test.litmus");
    std::fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    (folder, path)
}

fn they_are_listed_before_those_that_are_built_in() {
    let (code, out, _) = ran(&["check", "--list"]);
    assert_eq!(code, 0);
    let heads: Vec<&str> = out.lines().filter(|l| !l.starts_with(' ')).collect();
    let own =
        ["latch over sv", "tally over nlock, rdma-wait-rmw", "ticket over x86-tso", "stack over x86-pool, x86-tso"];
    assert_eq!(heads[..5], [&own[..], &["sv over rdma-wait-rmw"]].concat(), "{out}");
    assert!(heads.contains(&"spinlock over x86-tso"), "{out}");
}

/// Without names `check` checks the user's libraries only, because the built-in ones take five minutes.
fn they_are_checked_where_nothing_is_named() {
    let (code, out, err) = with("latch", &["check", "--json"]);
    assert_eq!(code, 0, "{err}");
    let names: Vec<String> = out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .map(|json| format!("{} {}", json["library"], json["verdict"]))
        .collect();
    assert_eq!(names, ["\"latch\" \"sound\""]);
}

fn variants_are_caught_and_their_findings_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    for (library, variant, statement) in
        [("ticket", "two-steps", "l.acq"), ("stack", "push-writes", "s.push(1)"), ("tally", "no-lock", "l.add(1)")]
    {
        let (code, out, err) = ran(&["check", library, "--variant", variant, "--nodes", "1", "--calls", "2"]);
        assert_eq!(code, 0, "{library}: {out}{err}");
        assert!(out.contains(statement) && out.contains(&format!("  {library} ")), "{out}");
    }
    let kept = folder.path().join("why.ron").display().to_string();
    let (code, _, err) = ran(&["check", "latch", "--variant", "no-fence", "--out", &kept]);
    assert_eq!(code, 0, "{err}");
    let (code, out, err) = ran(&["explain", &kept]);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("  latch x;\n") && out.contains("x.raise") && out.contains("keeps its place before x.raise"),
        "{out}"
    );
    let (code, _, err) = with("latch", &["report", &kept, "--json"]);
    assert_eq!(code, 0, "{err}");
}

fn litmus_tests_have_their_objects_and_statements() {
    for example in ["latch", "counter", "ticketlock", "stack"] {
        let (code, out, err) = ran(&["litmus", &litmus(example)]);
        assert_eq!(code, 0, "{example}: {out}{err}");
        let (code, out, err) = ran(&["explain", &litmus(example)]);
        assert_eq!(code, 0, "{example}: {err}");
        assert!(out.contains("The specifications forbid it"), "{example}: {out}");
    }
}

/// An author's definition may panic before there is an entry. That is an error of the library, for every command.
fn errors_in_a_definition_are_errors_of_the_library() {
    let wrong = [
        ("a part without a sentence", "later is a part of so and has no sentence"),
        ("a part of hb", "so part later mentions hb"),
        ("two choices of one name", "two choices with the name mo"),
        ("two sources", "a read of Look(x) two sources, rf and _rg"),
        ("a missing word", "a case changes word 3, and there are 1, from word 0 on"),
        ("an index", "index out of bounds"),
    ];
    for (which, why) in wrong {
        for command in [&["check", "--list"][..], &["prove", "sv"], &["check", "post"]] {
            let (code, out, err) = with(which, command);
            assert!(
                code == 2 && err.starts_with("error[library]: ") && err.contains(why),
                "{which}: {code}\n{out}{err}"
            );
            assert!(!err.contains("RUST_BACKTRACE") && err.contains("own.rs:"), "{which}: {err}");
        }
    }
}

/// Two nodes may change places although the writes on them have one stamp.
fn subevents_of_one_stamp_are_exchanged_with_their_cells() {
    let (code, out, err) = with("copies", &["check", "--list"]);
    assert_eq!(code, 0, "{out}{err}");
}

fn litmus_tests_run_their_implementations() {
    for (example, implemented, code) in [
        ("latch", "latch", 0),
        ("latch", "latch,sv", 0),
        ("latch", "latch:no-fence", 1),
        ("ticketlock", "ticket", 0),
        ("ticketlock", "ticket:two-steps", 1),
        ("stack", "stack", 0),
        ("counter", "tally", 0),
        ("counter", "tally:no-lock", 1),
    ] {
        let (found, out, err) = ran(&["litmus", &litmus(example), "--implemented", implemented]);
        assert_eq!(found, code, "{implemented}: {out}{err}");
    }
}

/// A loop that only waits has as many iterations as it needs. They do not count towards the bound.
fn loops_wait_by_calls_that_only_look() {
    for waits in [" await x.check = 1 | ;\n", " a := x.check | ;\n while a != 1 { | ;\n a := x.check | ;\n } | ;\n"] {
        let world = "RDMA_WAIT t\n{ one@2 = 1; z@1 = 0; latch x; }\n P1@1 | P2@2 ;\n";
        let text = format!("{world}{waits} b := z | put(z, one) ;\n | x.raise ;\nforall (b=1)\n");
        let (_folder, path) = file(&text);
        for implemented in [&[][..], &["--implemented", "latch"]] {
            let (code, out, err) = ran(&[&["litmus", &path, "--json"], implemented].concat());
            assert!(code == 0 && out.contains("\"complete\":true"), "{text}{out}{err}");
        }
    }
    let (_folder, path) = file("RDMA_WAIT t { tally y; }\n P1@1 ;\n await y.add(1) = 1 ;\n");
    let (code, _, err) = ran(&["litmus", &path]);
    assert!(
        code == 2
            && err
                .contains("in the method table which calls only look, as fn check = Check(x: Object) -> Value, looks;"),
        "{err}"
    );
}

fn other_commands_know_them() {
    let (code, out, err) = ran(&["cat", "latch"]);
    assert!(code == 0 && out.contains("seen"), "{out}{err}");
    let (code, out, err) = ran(&["spec", "latch"]);
    assert!(code == 0 && out.contains("decomposable  yes"), "{out}{err}");
    let (code, out, err) = ran(&["worth", "latch"]);
    assert!(code == 0 && out.contains("without seen of so"), "{out}{err}");
    let (code, out, err) = ran(&["report", "latch", &litmus("latch"), "--json"]);
    assert!(code == 0 && out.contains("\"library\":\"latch\"") && out.contains("x.raise"), "{out}{err}");
    let head = "RDMA_WAIT t { latch l; x@1 = 0; z@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x, d) | a := l.check ;\n";
    let (_folder, late) = file(&format!("{head} x := 1 | b := z ;\n l.raise | ;\nforbidden (z=1)\n"));
    let (code, out, err) = ran(&["repair", &late]);
    assert!(code == 1 && out.contains("wait(d) before"), "{out}{err}");
    for (args, said) in [
        (vec!["walk", &late], "has no machine"),
        (vec!["robust", &late], "programs with polls"),
        (vec!["convert", &late, "--to", "herd"], "herd"),
    ] {
        let (code, out, err) = ran(&args);
        assert!(code == 2 && err.contains(said) && !err.contains("there is no kind"), "{args:?}: {out}{err}");
    }
}

fn slips_are_reported_what_there_is() {
    let (code, _, err) = ran(&["check", "latc"]);
    assert!(code == 2 && err.contains("help: did you mean latch? there are latch, tally, ticket, stack, sv"), "{err}");
    let (code, out, err) = ran(&["check", "latch:no-fence"]);
    assert!(code == 0 && out.contains("latch (no-fence) ") && out.contains("unsound, as expected"), "{out}{err}");
    let of = |statement: &str, said: &str| {
        let (_folder, path) = file(&format!("RDMA_WAIT t {{ latch x; tally y; }}\n P1@1 ;\n {statement} ;\n"));
        let (code, _, err) = ran(&["litmus", &path]);
        assert!(code == 2 && said.split("; ").all(|part| err.contains(part)), "{statement}: {err}");
    };
    of("x.rais", "latch has no rais; it has x.raise, x.check");
    of("x.raise(1)", "expected x.raise");
    of("a := x.raise", "this method returns nothing");
    of("y.add", "expected y.add(v)");
    of("z.raise", "z is not declared");
    of("raise(x)", "a call of an object is written as x.raise");
    let kind = "RDMA_WAIT t { lacht x; }\n P1@1 ;\n x.raise ;\n";
    let (_folder, path) = file(kind);
    let (code, _, err) = ran(&["litmus", &path]);
    assert!(
        code == 2
            && err.contains("there is no kind of object lacht")
            && err.contains("help: RDMA_WAIT has memory words, as x@1 = 0, and latch x at 1, tally x at 1"),
        "{err}"
    );
    let (_folder, path) = file("X86_TSO t { latch x; }\n P1 ;\n x.raise ;\n");
    let (code, _, err) = ran(&["litmus", &path]);
    assert!(code == 2 && err.contains("X86_TSO has memory words, as x = 0, and stack x, ticket x, mcslock x"), "{err}");
}

fn names_that_clash_are_errors() {
    for (which, said) in [
        ("built in", "sv is built in, and a library of your own has this name too"),
        ("two of one name", "two libraries of your own have the name latch"),
        ("another name", "the entry lache specifies no library of that name, but latch"),
    ] {
        let (code, _, err) = with(which, &["check", "--list"]);
        assert!(code == 2 && err.contains(said), "{which}: {err}");
    }
}

fn one_is_listed_where_it_is_named() {
    let (code, out, _) = ran(&["check", "ticket", "--list"]);
    assert!(code == 0 && out.starts_with("ticket over x86-tso\n") && !out.contains("latch"), "{out}");
    let (code, _, err) = ran(&["check", "tikcet", "--list"]);
    assert!(code == 2 && err.contains("help: did you mean ticket? there are latch"), "{err}");
}

fn what_is_wrong_with_an_entry_is_reported_with_its_place() {
    let of = |which: &str, said: &[&str]| {
        let (code, _, err) = with(which, &["check"]);
        assert!(code == 2 && said.iter().all(|s| err.contains(s)) && !err.contains("panicked"), "{which}: {err}");
    };
    of(
        "a gong",
        &[
            "the shape of Struck(x) of gong: ",
            "--> mowgli/tests/own.rs:",
            "no subevent reads it: one is to be `stamp: reads x",
        ],
    );
    of(
        "a foreign part",
        &["the implementation of gong makes count, which a client could name: make parts by `x.part(..)`"],
    );
}

fn a_panic_is_reported_with_its_place_and_ends_nothing_else() {
    let (code, out, err) = with("panics", &["check", "--wide"]);
    assert!(
        code == 2 && err.contains("gong: a function panicked: ") && err.contains("--> mowgli/tests/own.rs:"),
        "{out}{err}"
    );
    assert!(err.contains("out of bounds") && out.contains("latch   ┆ sv ") && out.contains("sound"), "{out}{err}");
}

fn what_cells_begin_with_can_be_read() {
    let (code, out, err) = with("a box", &["check"]);
    assert!(code == 0 && out.contains("sound"), "{out}{err}");
    let (code, out, err) = with("a box of zeros", &["check"]);
    assert!(
        code == 1 && out.contains("a call reads only what a call writes, or what a cell begins with"),
        "{out}{err}"
    );
}

fn a_call_that_writes_does_not_only_look() {
    let (_folder, path) = file("RDMA_WAIT t { bell x; }\n P1@1 ;\n x.ring ;\n");
    for args in [&["check", "bell"][..], &["litmus", &path]] {
        let (code, _, err) = with("a bell", args);
        assert!(code == 2 && err.contains("--> mowgli/tests/own.rs:"), "{err}");
        assert!(
            err.contains(
                "the method table of bell says that Ring(x) only looks, and in its shape it writes x on node 1"
            ),
            "{err}"
        );
        assert!(err.contains("help: take `, looks` out of the table"), "{err}");
    }
}

fn stacks_go_down_through_them() {
    let args = ["through", "latch", "--threads", "2", "--nodes", "2", "--calls", "1"];
    let (code, out, err) = with("latch", &args);
    assert!(code == 0 && out.contains("no-wrong-outcome"), "{out}{err}");
}
