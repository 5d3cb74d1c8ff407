//! Checks names: sections and tests that comments name exist, and no two types share a name. `.ci/style` counts words.

use std::collections::BTreeMap;

use crate::tidy::{crates, root, sources, text};

/// Returns the texts of all sources.
fn all_sources() -> Vec<String> {
    let files = crates().into_iter().flat_map(|crate_| sources(&root().join(crate_)));
    files.map(|file| std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))).collect()
}

/// Returns the text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("//")?;
    Some(rest.strip_prefix(['/', '!']).unwrap_or(rest).trim())
}

/// Returns the paragraphs in the comments of a source, each on one line. Code in comments is left out, and so are tables.
fn paragraphs(source: &str) -> Vec<String> {
    let (mut all, mut now, mut is_code) = (Vec::new(), String::new(), false);
    for line in source.lines() {
        let text = comment(line);
        let is_fence = text.is_some_and(|text| text.starts_with("```"));
        is_code = text.is_some() && (is_code != is_fence);
        let is_prose = !is_code && !is_fence && text.is_some_and(|text| !text.is_empty() && !text.starts_with('|'));
        if !is_prose || text.is_some_and(|text| text.starts_with("- ")) {
            all.push(std::mem::take(&mut now));
        }
        if let Some(text) = text.filter(|_| is_prose) {
            now.push_str(text);
            now.push(' ');
        }
    }
    all.push(now);
    all.retain(|paragraph| !paragraph.is_empty());
    all
}

/// Returns the sections of pages that a paragraph of a comment refers to, as in: see docs/search.md, "Loops".
fn sections(paragraph: &str) -> Vec<(&str, &str)> {
    let references = paragraph.split("docs/").skip(1).filter_map(|rest| rest.split_once(".md, \""));
    let references = references.filter(|(page, _)| page.chars().all(|c| c.is_alphanumeric() || c == '-'));
    references.filter_map(|(page, rest)| Some((page, rest.split_once('"')?.0))).collect()
}

/// A proof that a header refers to is of no use if the reader does not find it.
#[test]
fn sections_and_tests_named_in_comments_exist() {
    let sources = all_sources();
    let mut found = [0, 0];
    for paragraph in sources.iter().flat_map(|source| paragraphs(source)) {
        for (page, title) in sections(&paragraph) {
            let text = text(&format!("docs/{page}.md"));
            let is_there = ["## ", "### ", "**"].iter().any(|mark| text.contains(&format!("{mark}{title}")));
            assert!(is_there, "docs/{page}.md has no section {title}");
            found[0] += 1;
        }
        let proof = paragraph.split("**Correct because**").nth(1).unwrap_or_default();
        let names = proof.split('`').skip(1).step_by(2).filter(|name| !name.contains(['/', '(', ' ', ':', '.']));
        for name in names.filter(|name| name.matches('_').count() >= 3) {
            let test = format!("fn {name}(");
            assert!(sources.iter().any(|source| source.contains(&test)), "no test {name}");
            found[1] += 1;
        }
    }
    assert!(found[0] >= 10 && found[1] >= 5, "{found:?}");
}

/// Names that types of several files share. `Error` is the idiom of Rust. A `Map` is the specification, or the object that
/// runs.
const SHARED_NAMES: [&str; 2] = ["Error", "Map"];

/// Returns the names of the types and traits that a source defines outside of functions and tests.
fn types<'s>(source: &'s str) -> Vec<&'s str> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let name = |line: &'s str| {
        let line = ["pub ", "pub(crate) ", "pub(super) ", "pub(in super::super) "]
            .iter()
            .fold(line, |line, visibility| line.strip_prefix(visibility).unwrap_or(line));
        let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
        let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
        rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
    };
    source.lines().filter_map(name).collect()
}

/// A name that stands for several things cannot be searched for, and a reader takes one for another.
#[test]
fn each_name_of_a_type_has_one_meaning() {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in crates().into_iter().flat_map(|crate_| sources(&root().join(crate_).join("src"))) {
        // Emitted code has a module for each library.
        if file.iter().any(|folder| folder == "emitted") {
            continue;
        }
        let source = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        for name in types(&source) {
            files.entry(name.to_owned()).or_default().push(file.display().to_string());
        }
    }
    assert!(files.len() > 500, "{} types", files.len());
    let twice = |(name, files): &(&String, &Vec<String>)| files.len() > 1 && !SHARED_NAMES.contains(&name.as_str());
    let twice: Vec<_> = files.iter().filter(twice).collect();
    assert!(twice.is_empty(), "name them for their subjects: {twice:#?}");
}

#[test]
fn paragraphs_and_types_are_found() {
    let source =
        "//! One\n//! two.\n//!\n//! ```\n//! code\n//! ```\n//! three\nlet x = 1; // no\n    // four\n// - five\n";
    assert_eq!(paragraphs(source), ["One two. ", "three ", "four ", "- five "]);
    let source =
        "pub struct A;\nfn f() {\n    struct B;\n}\npub(super) type C<T> = T;\n#[cfg(test)]\nmod tests {\nenum D {}\n}";
    assert_eq!(types(source), ["A", "C"]);
    assert_eq!(
        sections("It holds (docs/search.md, \"Loops\"). See docs/x.md and docs/y.md, \"A\"."),
        [("search", "Loops"), ("y", "A")]
    );
}
