//! The documents say what is there: paths exist, the README's example is the example, layers hold.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The Rust sources below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    all.sort();
    let (folders, files): (Vec<_>, Vec<_>) = all.into_iter().partition(|p| p.is_dir());
    let rust = files.into_iter().filter(|p| p.extension().is_some_and(|x| x == "rs"));
    rust.chain(folders.iter().flat_map(|f| sources(f))).collect()
}

#[test]
fn paths_in_documents_exist() {
    for document in ["ARCHITECTURE.md", "PAPER.md", "README.md", "CONTRIBUTING.md"] {
        let text = text(document);
        let quoted = text.split('`').skip(1).step_by(2);
        let paths = quoted.filter(|q| !q.contains(' ') && (q.ends_with(".rs") || q.ends_with('/')) && q.contains('/'));
        for path in paths {
            assert!(root().join(path).exists(), "{document} names {path}");
        }
    }
}

#[test]
fn the_readme_has_the_example_whole() {
    assert!(text("README.md").contains(&text("mowgli/examples/flag.rs")));
}

#[test]
fn every_file_says_what_it_is() {
    for crate_ in ["mowgli-core", "mowgli-rdma", "libraries", "proofs", "mowgli", "tests"] {
        for file in sources(&root().join(crate_)) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.starts_with("//!"), "{} does not begin with //!", file.display());
        }
    }
}

#[test]
fn the_core_knows_no_rdma_and_the_judge_no_search() {
    for file in sources(&root().join("mowgli-core/src")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for word in ["rdma", "aNLR", "aNRW", "Bcast"] {
            assert!(!text.contains(word), "{} mentions {word}", file.display());
        }
    }
    assert!(!text("mowgli-core/src/judge.rs").contains("crate::search"));
}

/// The pages of the book.
fn pages() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("docs")).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|n| n.into_string().unwrap()).filter(|n| n.ends_with(".md")).collect();
    names.sort();
    names
}

/// The targets of the links in a text.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

#[test]
fn the_book_has_every_page_and_its_links_lead_somewhere() {
    let summary = text("docs/SUMMARY.md");
    for page in pages() {
        assert!(page == "SUMMARY.md" || links(&summary).any(|l| l == page), "SUMMARY.md does not have {page}");
        let text = text(&format!("docs/{page}"));
        for link in links(&text).filter(|l| !l.starts_with("http")) {
            assert!(root().join("docs").join(link).exists(), "docs/{page} links to {link}");
        }
    }
}

#[test]
fn every_litmus_test_of_the_book_holds() {
    let mut run = 0;
    for page in pages() {
        let text = text(&format!("docs/{page}"));
        for block in text.split("```litmus\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
            let (test, answer) = mowgli_tests::solved(&page, block).unwrap();
            assert!(answer.holds.iter().all(|h| *h == Some(true)), "{page}: {}: {:?}", test.name, answer.holds);
            run += 1;
        }
    }
    assert!(run >= 7, "{run} tests");
}
