//! Checks that the documents are true: paths exist, the book's example is the example, layers hold.

use std::path::{Path, PathBuf};

use mowgli::error::Code;

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the text of a file of the project.
pub(crate) fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Returns the folders of all crates: those of the workspace, from the manifest, and the products.
pub(crate) fn crates() -> Vec<String> {
    let manifest = text("Cargo.toml");
    let members = manifest.lines().find_map(|line| line.strip_prefix("members = ")).expect("the members in one line");
    let members = members.split('"').skip(1).step_by(2).map(ToOwned::to_owned);
    members.chain(products()).collect()
}

/// Returns the folders of the products, each a workspace of its own.
fn products() -> Vec<String> {
    let folders = entries(&root().join("products")).0;
    folders.iter().map(|folder| format!("products/{}", folder.file_name().unwrap().to_string_lossy())).collect()
}

/// Returns the folders and the files in a folder.
fn entries(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    all.sort();
    all.into_iter().partition(|p| p.is_dir())
}

/// Returns the files below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let (folders, files) = entries(folder);
    files.into_iter().chain(folders.iter().flat_map(|f| below(f))).collect()
}

/// Returns the Rust sources below a folder.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    below(folder).into_iter().filter(|p| p.extension().is_some_and(|x| x == "rs")).collect()
}

/// A verdict rests on counts, so that a busy machine does not change it. The clock is read to say how long something took, and to cancel.
#[test]
fn only_what_shows_or_cancels_reads_the_clock() {
    let readers = [
        ("mowgli-check/src/check.rs", 2),
        ("mowgli-check/src/interrupt.rs", 2),
        ("mowgli-check/src/properties.rs", 1),
        ("mowgli-prove/src/prove.rs", 1),
        ("mowgli-prove/src/smt/solve.rs", 4),
        ("mowgli-prove/src/theorems/mod.rs", 1),
    ];
    let mut found = Vec::new();
    for name in
        ["mowgli-judge", "mowgli-core", "mowgli-rdma", "mowgli-x86", "libraries", "mowgli-check", "mowgli-prove"]
    {
        for file in sources(&root().join(name).join("src")) {
            let path = file.strip_prefix(root()).expect("it is below").to_string_lossy().into_owned();
            let text = text(&path);
            let times = text.matches("Instant::now").count() + text.matches("SystemTime").count();
            found.extend((times > 0).then_some((path, times)));
        }
    }
    let found: Vec<(&str, usize)> = found.iter().map(|(path, times)| (&**path, *times)).collect();
    assert_eq!(found, readers, "use a count of steps, or add the file with its reason");
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

/// Returns the last cell of each row of the tables in a text, as the texts between backticks.
fn last_cells(text: &str) -> Vec<Vec<&str>> {
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let last = rows.filter_map(|line| line.strip_suffix(" |").and_then(|row| row.rsplit(" | ").next()));
    last.map(|cell| cell.split('`').skip(1).step_by(2).collect()).collect()
}

/// Checks that the paths in the last cells of tables exist, and that the other texts between backticks there are items
/// in these files.
fn items_are_there(document: &str, tables: &str) {
    for spans in last_cells(tables) {
        let (paths, items): (Vec<&str>, Vec<&str>) = spans.into_iter().partition(|span| span.contains('/'));
        for path in &paths {
            assert!(root().join(path).exists(), "{document} names {path}");
        }
        let files: Vec<String> = paths.iter().filter(|path| path.ends_with(".rs")).map(|path| text(path)).collect();
        for item in items {
            let name = item.trim_end_matches('!');
            let is_in = |file: &String| file.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|w| w == name);
            assert!(files.iter().any(is_in), "{document}: {item} is not in {paths:?}");
        }
    }
}

#[test]
fn the_glossary_names_files_and_items_that_exist() {
    let glossary = text("docs/glossary.md");
    items_are_there("docs/glossary.md", glossary.split("## Words that we do not use").next().unwrap());
}

#[test]
fn each_invariant_names_a_test_that_exists() {
    let architecture = text("ARCHITECTURE.md");
    let invariants = architecture.split("## Invariants").nth(1).unwrap().split("\n## ").next().unwrap();
    items_are_there("ARCHITECTURE.md", invariants);
    assert!(invariants.matches("_").count() > 20, "the invariants are gone");
}

#[test]
fn the_book_has_the_example_whole() {
    assert!(text("docs/library.md").contains(&text("mowgli/examples/latch.rs")));
}

/// Some crates have their tests in one program. A file that does not belong to it would silently not run.
#[test]
fn every_test_file_runs() {
    for (crate_, program) in [("tests", "all.rs"), ("proofs", "theorems.rs"), ("mowgli-core", "all.rs")] {
        let (manifest, program) = (text(&format!("{crate_}/Cargo.toml")), text(&format!("{crate_}/tests/{program}")));
        for file in
            entries(&root().join(crate_).join("tests")).1.iter().filter(|p| p.extension().is_some_and(|x| x == "rs"))
        {
            let name = file.file_stem().unwrap().to_string_lossy();
            let is_part = program.contains(&format!("mod {name};"));
            assert!(is_part || manifest.contains(&format!("tests/{name}.rs")), "{} does not run", file.display());
        }
    }
}

/// The page of statements has the text of the method tables.
#[test]
fn the_page_of_statements_is_that_of_the_method_tables() {
    let said = mowgli::litmus::reference(mowgli::catalogue::Catalogue::builtin());
    let page = text("docs/statements.md");
    assert!(
        page.ends_with(&said),
        "the end of docs/statements.md is to be what `mowgli litmus --statements` prints:\n{said}"
    );
}

/// Returns the paths of a text that begin at the root of a file system.
fn absolute(text: &str) -> impl Iterator<Item = &str> {
    let folders = ["bin", "dev", "etc", "home", "mnt", "opt", "proc", "root", "srv", "tmp", "usr", "var"];
    let begins = |before: &str| !before.ends_with(|c: char| c.is_alphanumeric() || "_.-~)}".contains(c));
    let is_root =
        move |path: &str| folders.iter().any(|f| path[1..].split('/').next() == Some(f) && path.len() > f.len() + 1);
    let of = |i: usize| text[i..].split(|c: char| !(c.is_alphanumeric() || "/._-".contains(c))).next().unwrap();
    text.match_indices('/')
        .filter(move |(i, _)| begins(&text[..*i]))
        .map(move |(i, _)| of(i))
        .filter(move |p| is_root(p))
}

/// Returns the paths of a text that lead upwards.
fn upwards(text: &str) -> impl Iterator<Item = &str> {
    let of = |i: usize| text[i..].split(|c: char| !(c.is_alphanumeric() || "/._-".contains(c))).next().unwrap();
    let starts = text.match_indices("../").map(|(i, _)| i).filter(|&i| !text[..i].ends_with("../"));
    starts.map(of).filter(|path| path.ends_with(|c: char| c.is_alphanumeric()))
}

/// Pages of a site, as its pages in folders name them.
const OF_A_SITE: [&str; 2] = ["../index.html", "../book.html"];

/// A crate of the reader's own, beside the checkout.
const BESIDE: &str = "../my-library";

/// Places on a machine that the project may name: those that every system has, and those into which users put the
/// output of Mowgli.
const KNOWN_PLACES: [&str; 9] = [
    "/usr/bin/env",
    "/dev/null",
    "/proc/",
    // Processes of one machine share memory there.
    "/dev/shm",
    "/etc/bash_completion.d/mowgli",
    "/usr/local/share/man/man1",
    // These are in the container.
    "/usr/local/bin/mowgli",
    "/var/lib/apt/lists/",
    // `serve` refuses to send this one.
    "/etc/passwd",
];

/// True if a path that leads upwards, taken from a folder, ends at something in the project.
fn stays(folder: &Path, path: &str) -> bool {
    let target = folder.join(path).canonicalize();
    target.is_ok_and(|t| t.starts_with(root().canonicalize().unwrap()))
}

#[test]
fn no_file_names_a_path_outside_of_the_project() {
    let folders = crates().into_iter().chain(["docs", ".ci"].map(ToOwned::to_owned)).map(|f| root().join(f));
    let at_root = entries(&root()).1.into_iter().filter(|f| f.file_name().is_some_and(|n| n != ".git"));
    for file in folders.flat_map(|f| below(&f)).chain(at_root) {
        let bytes = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let text = String::from_utf8_lossy(&bytes);
        let strange = absolute(&text).find(|p| !KNOWN_PLACES.iter().any(|known| p.starts_with(known)));
        assert_eq!(strange, None, "{} names it", file.display());
        // Paths begin at the folder of the file, or at that of its crate.
        let folders: Vec<&Path> = file.ancestors().skip(1).filter(|f| f.join("Cargo.toml").exists()).take(1).collect();
        for path in upwards(&text) {
            let is_here = OF_A_SITE.contains(&path)
                || path == BESIDE
                || folders.iter().chain(&[file.parent().unwrap()]).any(|f| stays(f, path));
            assert!(is_here, "{} names {path}", file.display());
        }
    }
}

#[test]
fn paths_are_found_in_texts() {
    // The escapes keep this file itself free of such paths.
    let text = "see \"\u{2f}usr/a.b\", docs/usr/b, https://x.org/usr/c and (\u{2f}home/d)";
    assert_eq!(absolute(text).collect::<Vec<_>>(), ["\u{2f}usr/a.b", "\u{2f}home/d"]);
    let text = "join(\".\u{2e}/.\u{2e}/a\"), [b](.\u{2e}/b.md), ...";
    assert_eq!(upwards(text).collect::<Vec<_>>(), [".\u{2e}/.\u{2e}/a", ".\u{2e}/b.md"]);
}

#[test]
fn the_core_knows_no_rdma_and_the_judge_no_search() {
    for folder in ["mowgli-judge/src", "mowgli-core/src"] {
        for file in sources(&root().join(folder)) {
            let text = std::fs::read_to_string(&file).unwrap();
            for word in ["rdma", "aNLR", "aNRW", "Bcast", "Instant", "SystemTime"] {
                assert!(!text.contains(word), "{} mentions {word}", file.display());
            }
        }
    }
    assert!(!text("mowgli-judge/Cargo.toml").contains("mowgli-core"), "the search depends on the judge");
}

/// A file of a command chooses and shows; the work is elsewhere.
#[test]
fn files_of_commands_are_short() {
    for file in sources(&root().join("mowgli/src/command")) {
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 100, "{} has {lines} lines", file.display());
    }
}

/// A model without axioms is behind one seam: its folders have its name, and these files list what models have. Examples in the help of
/// commands may name it, too.
#[test]
fn one_model_is_named_in_its_folders_and_in_lists() {
    let lists = [
        "mowgli-check/src/litmus/model.rs",
        "mowgli-check/src/litmus/semantics_of_models.rs",
        "mowgli/src/semantics.rs",
    ];
    let words = ["corerma", "core_rma", "core-rma"];
    let names = |line: &str| words.iter().any(|word| line.to_lowercase().contains(word));
    let is_allowed =
        |line: &&str| line.trim().trim_start_matches("pub ") == "mod core_rma;" || line.contains("after_help");
    for member in crates().iter().filter(|member| !member.starts_with("products/")) {
        for file in sources(&root().join(member).join("src")) {
            let path = file.strip_prefix(root()).unwrap().display().to_string();
            if lists.contains(&path.as_str()) || path.contains("/core_rma/") {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let named = text.lines().filter(|line| !is_allowed(line)).find(|line| names(line));
            assert_eq!(named, None, "{path}");
        }
    }
}

/// No verdict depends on a clock. These files read one to cancel a search, or to say how long something took. These commands have a
/// default limit in seconds: for programs that run, for a process that serves a browser, and to cancel a solver.
#[test]
fn searches_end_by_counts() {
    let reads = ["mowgli-check/src/check.rs", "mowgli-check/src/interrupt.rs", "mowgli-check/src/properties.rs"];
    let reads = [
        &reads[..],
        &["mowgli-prove/src/prove.rs", "mowgli-prove/src/smt/solve.rs", "mowgli-prove/src/theorems/mod.rs"],
    ]
    .concat();
    let crates = ["mowgli-check", "mowgli-prove", "mowgli-rdma", "mowgli-x86", "libraries", "products/gallery"];
    for file in crates
        .iter()
        .flat_map(|folder| below(&root().join(folder)))
        .filter(|f| f.extension().is_some_and(|e| e == "rs"))
    {
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        let is_read = std::fs::read_to_string(&file).unwrap().contains("Instant::now");
        assert!(
            !is_read || reads.contains(&&*name) || name.contains("/tests/") || name.contains("/benches/"),
            "{name} reads a clock"
        );
    }
    let limits = ["c.rs", "prove.rs", "run.rs", "serve.rs", "site.rs"];
    for file in sources(&root().join("mowgli/src/command")) {
        let (text, name) =
            (std::fs::read_to_string(&file).unwrap(), file.file_name().unwrap().to_str().unwrap().to_owned());
        assert!(!text.contains("timeout: u64") || limits.contains(&&*name), "{name} has a limit in seconds by default");
    }
}

/// Returns the pages of the book.
pub(crate) fn pages() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("docs")).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|n| n.into_string().unwrap()).filter(|n| n.ends_with(".md")).collect();
    names.sort();
    names
}

/// Returns the targets of the links in a text.
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

/// A crate that is not compiled for unit tests must not have any.
#[test]
fn unit_tests_are_run_where_there_are_some() {
    for member in crates().iter().filter(|member| text(&format!("{member}/Cargo.toml")).contains("[lib]\n")) {
        let manifest = text(&format!("{member}/Cargo.toml"));
        let is_run = !manifest
            .split("[lib]\n")
            .nth(1)
            .is_some_and(|lib| lib.lines().take_while(|line| !line.is_empty()).any(|line| line == "test = false"));
        let is_test = |path: &PathBuf| std::fs::read_to_string(path).unwrap().contains("#[test]");
        let some = sources(&root().join(member).join("src")).into_iter().find(is_test);
        assert!(is_run || some.is_none(), "{member}/Cargo.toml: delete `test = false`, {some:?} has tests");
    }
}

/// The README begins with `cargo mowgli` and `cargo test`: the command, and the checks of libraries and theorems.
#[test]
fn the_first_commands_are_the_command_and_the_checks() {
    let manifest = text("Cargo.toml");
    let members = manifest.lines().find_map(|l| l.strip_prefix("default-members = ")).expect("default members");
    assert_eq!(members, r#"["libraries", "proofs"]"#);
    assert!(text(".cargo/config.toml").contains("mowgli = \"run --release -p mowgli --\"\n"));
    let pages = pages().into_iter().map(|page| format!("docs/{page}")).chain(["README.md".to_owned()]);
    for page in pages {
        // No default member has a binary, so this says nothing to cargo.
        assert!(!text(&page).contains("cargo run --release -- "), "{page}: write cargo mowgli");
    }
}

/// Removes the layout of a piece of Rust, and the sentences by which relations are explained.
fn code(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("say "));
    lines.flat_map(str::split_whitespace).collect()
}

#[test]
fn rust_in_the_book_is_that_of_the_project() {
    let folders = ["libraries/src", "mowgli-rdma/src", "mowgli/examples"];
    let files: Vec<PathBuf> = folders.iter().flat_map(|f| sources(&root().join(f))).collect();
    let all: Vec<String> = files.iter().map(|f| code(&std::fs::read_to_string(f).unwrap())).collect();
    let mut found = 0;
    for page in pages() {
        let text = text(&format!("docs/{page}"));
        for block in text.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
            let is_there = all.iter().any(|source| source.contains(&code(block)));
            assert!(is_there, "docs/{page} has code that is nowhere in {folders:?}:\n{block}");
            found += 1;
        }
    }
    assert!(found >= 15, "{found} blocks");
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

#[test]
fn every_code_of_an_error_is_documented() {
    let page = text("docs/commands.md");
    let missing: Vec<&str> =
        Code::ALL.map(Code::name).into_iter().filter(|c| !page.contains(&format!("`{c}`"))).collect();
    assert_eq!(missing, [""; 0]);
}

/// The versions of what a product depends on are those of the workspace: cargo compiles a crate once for all of them.
#[test]
fn products_have_the_versions_of_the_workspace() {
    let versions = |folder: &str| -> Vec<(String, String)> {
        let lock = text(&format!("{folder}Cargo.lock"));
        let packages = lock.split("[[package]]\n").skip(1).filter(|package| package.contains("\nsource = "));
        let field = |package: &str, name: &str| {
            package.split(&format!("{name} = \"")).nth(1)?.split('"').next().map(str::to_owned)
        };
        packages.filter_map(|package| Some((field(package, "name")?, field(package, "version")?))).collect()
    };
    let own = versions("");
    let oldest = text("Cargo.toml").lines().find(|line| line.starts_with("rust-version")).unwrap().to_owned();
    for product in products() {
        assert!(text(&format!("{product}/Cargo.toml")).contains(&oldest), "{product} has another rust-version");
        for (name, version) in versions(&format!("{product}/")) {
            let known: Vec<&str> = own.iter().filter(|(own, _)| *own == name).map(|(_, v)| v.as_str()).collect();
            assert!(known.is_empty() || known.contains(&&*version), "{product}: {name} {version}, and not {known:?}");
        }
    }
}
