//! The page of assumptions has each definition of the model, as its text in cat has them, and tests that exist.

use mowgli_core::cat::cat;
use mowgli_libraries::entry::Memory;
use mowgli_rdma::wait::WAIT;

/// Returns the text of all sources below a folder.
fn sources_of(folder: &std::path::Path) -> String {
    let of = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        if path.is_dir() { sources_of(&path) } else { std::fs::read_to_string(path).unwrap() }
    };
    std::fs::read_dir(folder).unwrap().map(of).collect()
}

#[test]
fn the_page_of_assumptions_has_every_definition_of_the_model() {
    let page = include_str!("../assumptions.md");
    let model = Memory::rdma_wait();
    let text = cat("RDMA_WAIT", &model.libraries, WAIT).unwrap();
    let (_, axioms) = text.split_once("let W").expect("definitions");
    // What only helps to write the others down.
    let helps = ["rao-line", "same-queue-pair", "same-target", "same-wid", "same-event", "each-word"];
    let names = axioms.lines().filter_map(|line| line.strip_prefix("let ")?.split([' ', '=', '(']).next());
    let names: Vec<&str> = names.filter(|name| !helps.contains(name)).collect();
    assert!(names.len() > 10, "{names:?}");
    let missing: Vec<&&str> = names.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}\n{text}");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = ["src", "tests"].map(|folder| sources_of(&root.join(folder))).concat();
    let tests: Vec<&str> =
        page.split('`').filter(|word| word.matches('_').count() > 2 && !word.contains(' ')).collect();
    assert!(tests.len() > 20, "{tests:?}");
    let is_there = |test: &str| sources.contains(&format!("\"{test}\"")) || sources.contains(&format!("fn {test}("));
    let absent: Vec<&&str> = tests.iter().filter(|test| !is_there(test)).collect();
    assert!(absent.is_empty(), "{absent:?}");
}
