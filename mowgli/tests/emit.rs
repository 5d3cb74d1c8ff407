//! Implementations as C. `equipped.rs` compiles and runs what is written here.

use crate::ran::mowgli;

#[test]
fn the_barrier_in_c_has_the_statements_of_its_body() {
    let printed = mowgli(&["emit", "c", "bal"]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let (_, barrier) = printed.out.split_once("/* bal, as").expect("the barrier");
    insta::assert_snapshot!(barrier);
}

/// A `break` inside a loop over a tuple leaves the loop around it.
#[test]
fn a_break_leaves_the_loop_of_the_body() {
    let printed = mowgli(&["emit", "c", "alock:published"]);
    assert_eq!(printed.code, 2, "the gallery is not in this command");
    let printed = mowgli(&["emit", "c", "wlock"]);
    let acquire =
        printed.out.split("wlock_acq").nth(1).and_then(|text| text.split("\n}\n").next()).expect("a function");
    assert!(acquire.contains("if (passed_on == v) {\n\t\t\t\treturn;"), "{acquire}");
}

#[test]
fn what_has_no_form_in_c_is_refused_by_name() {
    for (name, why) in [
        ("msw", "msw: an object of several words has no form in C"),
        ("kvstore", "msw: an object of several words has no form in C"),
        ("ticketlock", "ticketlock: x86-tso is a memory model that has no form in C over verbs"),
        ("bal:no-fences", "no variant no-fences"),
        ("bla", "no library bla"),
    ] {
        let refused = mowgli(&["emit", "c", name]);
        assert!(refused.code == 2 && refused.err.contains(why), "{name}: {}", refused.err);
    }
}

#[test]
fn a_folder_gets_the_operations_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("made");
    let printed = mowgli(&["emit", "c", "slock", "sv", "--out", &out.display().to_string()]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let text = std::fs::read_to_string(out.join("slock-sv.h")).expect("the libraries");
    assert_eq!(text.matches("MW_FN void sv_new(").count(), 1, "{text}");
    assert!(out.join("mowgli_port.h").is_file());
}
