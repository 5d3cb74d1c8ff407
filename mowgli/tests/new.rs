//! The files that `new` writes, and its messages about bad names and places.

use std::path::Path;
use std::process::Command;

use mowgli::new::{Example, Sources, new};

fn mowgli(args: &[&str]) -> (Option<i32>, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(args).output().expect("the command runs");
    (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned() + &String::from_utf8_lossy(&ran.stdout))
}

/// `proofs/tests/new_crate` runs the tests that it writes, and `mowgli/tests/own.rs` the command.
#[test]
fn a_new_crate_is_written_whole() {
    let folder = tempfile::tempdir().unwrap();
    for (example, library) in [("latch", "latch"), ("ticketlock", "ticket"), ("stack", "stack"), ("counter", "tally")] {
        let made = folder.path().join(format!("{example}-of-mine"));
        let (code, said) = mowgli(&["new", &made.display().to_string(), "--example", example]);
        assert!(code == Some(0) && said.contains("cargo test"), "{said}");
        let test = format!("{example}.litmus");
        let text = |file: &str| std::fs::read_to_string(made.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let files =
            ["Cargo.toml", "src/lib.rs", "src/tests.rs", &test, "command/Cargo.toml", "command/main.rs", "README.md"];
        for file in files {
            let text = text(file);
            let mut marks = text.split('@').skip(1);
            assert!(!marks.any(|m| m.starts_with(|c: char| c.is_ascii_uppercase())), "{file}: {text}");
            assert!(!text.contains("my_library") && !text.contains("\n\n\n"), "{file}: {text}");
        }
        let source = text("src/lib.rs");
        assert!(source.contains("pub fn entry()") && source.ends_with("\n#[cfg(test)]\nmod tests;\n"), "{source}");
        assert!(!source.contains("main"), "{source}");
        // The text that the README replaces to break the library occurs once.
        let readme = text("README.md");
        match readme.split_once("Break it: in `src/lib.rs` ") {
            Some((_, edit)) => {
                let from = edit.split('`').nth(if edit.starts_with("leave out") { 1 } else { 3 }).unwrap();
                assert_eq!(source.matches(from).count(), 1, "{from}");
            }
            None => {
                assert!(readme.contains("See it broken: `cargo run -- check tally --variant no-lock`."), "{readme}")
            }
        }
        assert!(text("command/main.rs").contains(&format!("mowgli::main!({example}_of_mine::entry());")));
        assert!(text("README.md").contains(&format!("cargo run -- check {library} ")));
        for manifest in [text("Cargo.toml"), text("command/Cargo.toml")] {
            for path in manifest.split('"').filter(|part| part.starts_with('/')) {
                assert!(Path::new(path).join("Cargo.toml").exists(), "{path}");
            }
        }
    }
}

/// A package is unpacked beside others, whose folders have their versions in their names.
#[test]
fn an_installed_command_writes_versions_and_a_checkout_paths() {
    let folder = tempfile::tempdir().unwrap();
    let unpacked = folder.path().join("mowgli-0.1.0");
    std::fs::create_dir_all(&unpacked).unwrap();
    assert_eq!(Sources::around(&unpacked), Sources::Registry);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    assert_eq!(Sources::of_this_build(), Sources::Checkout(root.clone()));
    let manifests = |name: &str, sources: &Sources| {
        let made = folder.path().join(name);
        new(&made, sources, Example::Counter).unwrap();
        ["Cargo.toml", "command/Cargo.toml"].map(|file| std::fs::read_to_string(made.join(file)).unwrap()).concat()
    };
    let (installed, checkout) =
        (manifests("installed", &Sources::Registry), manifests("checkout", &Sources::of_this_build()));
    let crates = [
        ("mowgli-core", "mowgli-core"),
        ("mowgli-libraries", "libraries"),
        ("mowgli-proofs", "proofs"),
        ("mowgli", "mowgli"),
    ];
    for (name, folder) in crates {
        let version = format!("\n{name} = \"{}\"\n", env!("CARGO_PKG_VERSION"));
        assert!(installed.contains(&version), "{installed}");
        let path = format!("\n{name} = {{ path = \"{}\" }}\n", root.join(folder).display());
        assert!(checkout.contains(&path), "{checkout}");
    }
    assert!(!installed.contains(&root.display().to_string()), "{installed}");
}

#[test]
fn a_new_crate_begins_with_a_latch() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("my-library");
    assert_eq!(mowgli(&["new", &made.display().to_string()]).0, Some(0));
    assert!(made.join("latch.litmus").exists());
}

#[test]
fn bad_names_and_places() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("taken")).unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for (args, said) in [
        (vec!["new".to_owned(), at("My Library")], "use small letters"),
        (vec!["new".to_owned(), at("taken")], "exists already"),
        (vec!["new".to_owned(), at("x"), "--example".to_owned(), "queue".to_owned()], "ticketlock"),
        (vec!["new".to_owned(), at("x"), "--mowgli".to_owned(), at("nothing")], "say where"),
        (vec!["new".to_owned(), at("x"), "--mowgli".to_owned(), folder.path().display().to_string()], "has no Mowgli"),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let (code, message) = mowgli(&args);
        assert!(code == Some(2) && message.contains(said), "{args:?}: {message}");
    }
}
