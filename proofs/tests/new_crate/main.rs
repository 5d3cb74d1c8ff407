//! The crates that `mowgli new` writes, their tests as they are written there.

mod counter;
mod latch;
mod stack;
mod ticketlock;

/// The first lines of Rust that a visitor reads are those of the latch and its tests, and the README shows its counterexample.
#[test]
fn the_readme_shows_the_latch_as_it_is() {
    let readme = include_str!("../../../README.md");
    let sources =
        [include_str!("../../../mowgli/examples/latch.rs"), include_str!("../../../mowgli/src/new/tests/latch.rs")];
    let blocks = |language: &str| -> Vec<&str> {
        readme.split(language).skip(1).map(|rest| rest.split("\n```").next().unwrap_or_default()).collect()
    };
    assert_eq!(blocks("```rust,ignore\n").len(), 2);
    for line in blocks("```rust,ignore\n").into_iter().flat_map(str::lines).filter(|line| line.trim() != "// ...") {
        assert!(sources.iter().any(|source| source.lines().any(|known| known == line)), "not of the latch: {line}");
    }
    let accepted = blocks("```text\n").into_iter().find(|block| block.starts_with("accepted")).expect("it is shown");
    for line in accepted.lines() {
        assert!(sources[1].lines().any(|known| known.trim() == line.trim()), "not of the accepted execution: {line}");
    }
    let checked = mowgli_proofs::assert_unsound!(latch::example_entry(), "no-fence");
    let found = mowgli_proofs::explanation(&checked);
    let shown = blocks("```text\n").into_iter().find(|block| block.contains("latch-no-fence")).expect("it is shown");
    for line in shown.lines() {
        assert!(found.lines().any(|known| known == line), "not of the counterexample: {line}");
    }
}
