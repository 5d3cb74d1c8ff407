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
    for crate_ in ["mowgli-judge", "mowgli-core", "mowgli-rdma", "libraries", "proofs", "mowgli", "tests"] {
        for file in sources(&root().join(crate_)) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.starts_with("//!"), "{} does not begin with //!", file.display());
        }
    }
}

#[test]
fn the_core_knows_no_rdma_and_the_judge_no_search() {
    for folder in ["mowgli-judge/src", "mowgli-core/src"] {
        for file in sources(&root().join(folder)) {
            let text = std::fs::read_to_string(&file).unwrap();
            for word in ["rdma", "aNLR", "aNRW", "Bcast"] {
                assert!(!text.contains(word), "{} mentions {word}", file.display());
            }
        }
    }
    assert!(!text("mowgli-judge/Cargo.toml").contains("mowgli-core"), "the search depends on the judge");
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

/// The lines of a text that say something, as they are written wherever it is indented to.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|l| !l.is_empty()).collect()
}

#[test]
fn rust_in_the_book_is_that_of_the_project() {
    let folders = ["libraries/src", "mowgli-rdma/src", "mowgli/examples"];
    let files: Vec<PathBuf> = folders.iter().flat_map(|f| sources(&root().join(f))).collect();
    let all: Vec<String> = files.iter().map(|f| std::fs::read_to_string(f).unwrap()).collect();
    let mut found = 0;
    for page in pages() {
        let text = text(&format!("docs/{page}"));
        for block in text.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
            let block = lines(block);
            let is_there = all.iter().any(|source| lines(source).windows(block.len()).any(|w| w == block));
            assert!(is_there, "docs/{page} has code that is nowhere in {folders:?}:\n{}", block.join("\n"));
            found += 1;
        }
    }
    assert!(found >= 20, "{found} blocks");
}

/// The pages of HTML below a folder.
fn html(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    entries.filter(|p| p.extension().is_some_and(|x| x == "html")).collect()
}

#[test]
fn the_book_can_be_built_and_its_pages_link_to_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut book = mdbook_driver::MDBook::load(root()).expect("book.toml and docs/SUMMARY.md");
    book.config.build.build_dir = folder.path().to_owned();
    book.build().expect("a book");
    let built = html(folder.path());
    // Beside the pages there are the first one as index.html, one to print, one for what is not found, one with the contents.
    assert!(built.len() >= pages().len(), "{built:?}");
    for page in &built {
        let text = std::fs::read_to_string(page).unwrap();
        for link in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let target = link.split('#').next().unwrap();
            let is_elsewhere = target.contains("://") || target.is_empty() || target.starts_with('/');
            assert!(is_elsewhere || folder.path().join(target).exists(), "{} links to {link}", page.display());
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
