//! Each crate builds from its package, and has what a registry shows of it.

use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The crates that are published, as cargo describes them: those of the workspace, and the products.
fn published() -> Vec<Value> {
    let products = ["fabric", "gallery", "verbs"].map(|name| root().join("products").join(name));
    let packages = [root()].into_iter().chain(products).flat_map(|workspace| packages_of(&workspace));
    packages.filter(|p| p["publish"].is_null()).collect()
}

/// The crates of a workspace.
fn packages_of(workspace: &Path) -> Vec<Value> {
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let ran = Command::new(cargo).args(arguments).current_dir(workspace).output().expect("cargo");
    let metadata: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

#[test]
fn every_crate_has_the_metadata_of_a_release() {
    let published = published();
    assert_eq!(published.len(), 13);
    for package in published {
        for key in ["description", "license", "repository", "readme", "documentation", "rust_version"] {
            assert!(package[key].is_string(), "{}: {key}", package["name"]);
        }
        for key in ["keywords", "categories"] {
            let count = package[key].as_array().map_or(0, Vec::len);
            assert!((1..=5).contains(&count), "{}: {key}", package["name"]);
        }
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            assert_ne!(dependency["req"], "*", "{} needs a version of {}", package["name"], dependency["name"]);
        }
    }
}

/// The paths that a source includes, each from the folder from which it counts.
fn included<'t>(text: &'t str, file: &'t Path, crate_: &'t Path) -> impl Iterator<Item = PathBuf> + 't {
    let own = file.parent().expect("a folder");
    let macros =
        [("include_str!(\"", own), ("include_bytes!(\"", own), ("include_dir!(\"$CARGO_MANIFEST_DIR/", crate_)];
    let paths = move |(name, from): (&'static str, &'t Path)| {
        let paths = text.split(name).skip(1).filter_map(|rest| rest.split('"').next());
        paths.map(move |path| from.join(path))
    };
    macros.into_iter().flat_map(paths)
}

/// Resolves `..` without asking the file system: a package has files in place of links.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut all, part| {
        if part == Component::ParentDir {
            all.pop();
        } else {
            all.push(part);
        }
        all
    })
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path());
    let below = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|x| x == "rs")).collect()
}

#[test]
fn sources_include_only_files_of_their_package() {
    let mut count = 0;
    for package in published() {
        let manifest = PathBuf::from(package["manifest_path"].as_str().expect("a path"));
        let crate_ = manifest.parent().expect("a folder");
        for file in sources(&crate_.join("src")) {
            let text = std::fs::read_to_string(&file).expect("text");
            for path in included(&text, &file, crate_) {
                assert!(plain(&path).starts_with(crate_), "{} includes {}", file.display(), path.display());
                assert!(path.exists(), "{} includes {}", file.display(), path.display());
                count += 1;
            }
        }
    }
    assert!(count >= 20, "{count} inclusions");
}

#[test]
fn the_oldest_rust_is_the_same_everywhere() {
    let manifest = text("Cargo.toml");
    let oldest = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'));
    let oldest = oldest.expect("a version");
    assert!(text("README.md").contains(&format!("Rust {oldest} or later")));
    assert!(text("Dockerfile").contains(&format!("FROM rust:{oldest}-")));
    assert!(text(".github/workflows/ci.yml").contains("cargo \"+$msrv\" check --workspace --all-targets --locked"));
}
