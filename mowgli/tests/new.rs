//! What `new` writes, and what it says of bad names and places.

use std::path::Path;
use std::process::Command;

fn mowgli(args: &[&str]) -> (Option<i32>, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(args).output().expect("the command runs");
    (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned() + &String::from_utf8_lossy(&ran.stdout))
}

/// `proofs/tests/new_crate.rs` runs what it writes.
#[test]
fn a_new_crate_is_written_whole() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("ring-of-mine");
    let (code, said) = mowgli(&["new", &made.display().to_string()]);
    assert!(code == Some(0) && said.contains("cargo test"), "{said}");
    for file in ["Cargo.toml", "src/lib.rs", "tests/bounded.rs", "README.md"] {
        let text = std::fs::read_to_string(made.join(file)).unwrap();
        assert!(
            !text.contains("@NAME@") && !text.contains("@MOWGLI@") && !text.contains("my_library"),
            "{file}: {text}"
        );
    }
    let library = std::fs::read_to_string(made.join("src/lib.rs")).unwrap();
    assert!(library.contains("pub fn entry()") && !library.contains("fn main"), "{library}");
    let manifest = std::fs::read_to_string(made.join("Cargo.toml")).unwrap();
    let sources = manifest.split('"').find(|part| part.ends_with("/proofs")).expect("a path");
    assert!(Path::new(sources).join("Cargo.toml").exists(), "{sources}");
}

#[test]
fn bad_names_and_places() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("taken")).unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for (args, said) in [
        (vec!["new".to_owned(), at("My Library")], "use small letters"),
        (vec!["new".to_owned(), at("taken")], "exists already"),
        (vec!["new".to_owned(), at("x"), "--mowgli".to_owned(), at("nothing")], "say where"),
        (vec!["new".to_owned(), at("x"), "--mowgli".to_owned(), folder.path().display().to_string()], "has no Mowgli"),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let (code, message) = mowgli(&args);
        assert!(code == Some(2) && message.contains(said), "{args:?}: {message}");
    }
}
