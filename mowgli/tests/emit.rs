//! Implementations as C and Rust. `equipped.rs` compiles and runs the C that is written here.

use std::path::Path;
use std::process::Command;

use mowgli::emit::{C_PORT, RUST_PORT, in_rust};
use mowgli_libraries::catalogue::catalogue;

use crate::ran::{file, is_bad, mowgli, tells};

#[test]
fn the_barrier_in_c_has_the_statements_of_its_body() {
    let printed = tells(&["emit", "c", "bal"], 0, &[]);
    let (_, barrier) = printed.out.split_once("/* bal, as").expect("the barrier");
    insta::assert_snapshot!(barrier);
}

/// A `break` inside a loop over a tuple leaves the loop around it.
#[test]
fn a_break_leaves_the_loop_of_the_body() {
    tells(&["emit", "c", "alock:published"], 2, &[]);
    let printed = mowgli(&["emit", "c", "wlock"]);
    let acquire =
        printed.out.split("wlock_acq").nth(1).and_then(|text| text.split("\n}\n").next()).expect("a function");
    assert!(acquire.contains("if (passed_on == v) {\n\t\t\t\treturn;"), "{acquire}");
}

#[test]
fn what_has_no_form_is_refused_by_name() {
    for (name, why) in [
        ("msw:sum", "msw: sum(initial(x)) has no form in C or Rust"),
        ("msw:guard-backward", "msw: the part x.word[size(x) + 1] has an index that goes through no set"),
        ("ticketlock", "ticketlock: x86-tso is a memory model that has no form in C or Rust"),
        ("rbl:two-queue-pairs", "rbl: Submit: an operation by another queue pair has no form in C or Rust"),
        ("spinlock", "spinlock: x86-tso is a memory model that has no form in C or Rust"),
        ("bal:no-fences", "no variant no-fences"),
        ("bla", "no library bla"),
    ] {
        for language in ["c", "rust"] {
            is_bad(&["emit", language, name], &[why]);
        }
    }
}

/// A library that is named has its variant below another one, too, in any order, and no second variant.
#[test]
fn a_library_has_the_variant_that_is_named() {
    for names in [["slock", "wlock:broadcast-first"], ["wlock:broadcast-first", "slock"]] {
        for language in ["c", "rust"] {
            let printed = tells(&["emit", language, names[0], names[1]], 0, &["wlock:broadcast-first"]).out;
            let (_, wlock) = printed.split_once("as its variant `broadcast-first`").expect("the variant that is named");
            assert!(wlock.contains("slock"), "{printed}");
        }
    }
    is_bad(&["emit", "c", "bal", "bal:no-fence"], &["bal: it is named as two variants, published and no-fence"]);
}

#[test]
fn a_folder_gets_the_operations_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("made");
    tells(&["emit", "c", "slock", "sv", "--out", &out.display().to_string()], 0, &[]);
    let text = std::fs::read_to_string(out.join("slock-sv.h")).expect("the libraries");
    assert_eq!(text.matches("MW_FN void sv_new(").count(), 1, "{text}");
    assert!(out.join("mowgli_port.h").is_file());
}

#[test]
fn the_barrier_in_rust_has_the_statements_of_its_body() {
    let printed = tells(&["emit", "rust", "bal"], 0, &[]);
    let (_, barrier) = printed.out.split_once("/// `bal`, as").expect("the barrier");
    insta::assert_snapshot!(barrier);
}

/// A `break` inside a loop over a tuple leaves the loop around it.
#[test]
fn a_break_in_rust_leaves_the_loop_of_the_body() {
    tells(&["emit", "rust", "wlock"], 0, &["'found_1: loop {", "break 'found_1"]);
}

/// Compiles Rust, and returns the errors and warnings.
fn compiled(main: &Path, flags: &[&str]) -> String {
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-D", "warnings", "--out-dir"]).arg(main.parent().expect("a folder"));
    let output = rustc.args(flags).arg(main).output().expect("rustc runs");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The flags for the check of a crate that other crates use.
const CHECK: [&str; 4] = ["--crate-type", "lib", "--emit", "metadata"];

/// Every implementation that has a form in Rust, in every variant, compiles without a warning.
#[test]
fn emitted_rust_compiles() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join(RUST_PORT.0), RUST_PORT.1).expect("it is written");
    let (mut modules, mut refused) = (String::from("pub mod mowgli_port;\n"), Vec::new());
    let entries = catalogue();
    for (entry, variant) in entries.iter().flat_map(|entry| entry.variants.iter().map(move |variant| (entry, variant)))
    {
        let Ok(text) = in_rust(&entries, &[(entry, variant)]) else {
            refused.push(format!("{}:{}", entry.name, variant.name));
            continue;
        };
        let module = format!("{}_{}", entry.name, variant.name).replace('-', "_");
        std::fs::write(at.join(format!("{module}.rs")), text).expect("it is written");
        modules += &format!("pub mod {module};\n");
    }
    refused.retain(|name| name.ends_with(":published"));
    assert!(refused.is_empty(), "{refused:?}");
    assert!(modules.lines().count() > 30, "{modules}");
    let main = at.join("lib.rs");
    std::fs::write(&main, modules).expect("it is written");
    assert_eq!(compiled(&main, &CHECK), "");
    // Something that would warn is noticed.
    std::fs::write(&main, "pub fn wrong() { let unused = 1; }").expect("it is written");
    assert!(compiled(&main, &CHECK).contains("unused variable"));
}

/// The program that docs/emit.md names has emitted code and `mowgli_port.rs` as modules, and nothing else.
#[test]
fn a_program_of_emitted_rust_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    assert_eq!(mowgli(&["emit", "rust", "slock", "bal", "--out", &out]).code, 0);
    file(folder.path(), "memory.rs", include_str!("emitted/memory.rs"));
    let main = file(folder.path(), "program.rs", include_str!("emitted/program.rs"));
    assert_eq!(compiled(Path::new(&main), &[]), "");
    let ran = Command::new(folder.path().join("program")).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "[3000, 3000, 3000]\n");
}

/// A plain access would be the same instruction here, so no outcome would show it. The compiler may merge plain accesses.
#[test]
fn accesses_of_the_port_in_c_are_atomic() {
    let (_, port) = C_PORT;
    let accesses: Vec<&str> = port.lines().filter(|line| line.contains("mw_at(")).collect();
    let is_address = |line: &str| line.contains("*mw_at(const struct mw") || line.contains(".addr = (uintptr_t)mw_at(");
    let plain: Vec<&&str> = accesses.iter().filter(|line| !line.contains("__atomic_") && !is_address(line)).collect();
    assert!(accesses.len() > 6 && plain.is_empty(), "{plain:?}");
}
