//! The `new` command: a small crate with a library of one's own, its specification, implementation and checks.

use std::path::{Path, PathBuf};

/// The example of the README, which the new crate begins with.
const EXAMPLE: &str = include_str!("../../examples/flag.rs");
const MANIFEST: &str = include_str!("Cargo.toml.in");
const TESTS: &str = include_str!("bounded.rs");
const README: &str = include_str!("README.md.in");

/// Writes the crate into a folder that does not exist yet; the files that were written.
///
/// # Errors
/// If the name is none for a crate, the folder exists, or it cannot be written.
pub fn new(folder: &Path, mowgli: &Path) -> Result<Vec<PathBuf>, String> {
    let name = folder.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
    if !is_name {
        return Err(format!("{name:?} is no name for a crate: use small letters, digits and -, as my-library"));
    }
    if folder.exists() {
        return Err(format!("{} exists already", folder.display()));
    }
    if !mowgli.join("mowgli-core/Cargo.toml").exists() {
        return Err(format!("{} has no Mowgli; say where its sources are with --mowgli DIR", mowgli.display()));
    }
    let (library, _) = EXAMPLE.split_once("fn main()").expect("the example has a main function");
    let library = library.trim_end().replacen("use mowgli::check::{Options, check};\n", "", 1) + "\n";
    let path = mowgli.display().to_string().replace('\\', "/");
    let fill = |text: &str| {
        text.replace("@NAME@", name).replace("my_library", &name.replace('-', "_")).replace("@MOWGLI@", &path)
    };
    let files = [
        ("Cargo.toml", fill(MANIFEST)),
        ("src/lib.rs", library),
        ("tests/bounded.rs", fill(TESTS)),
        ("README.md", fill(README)),
    ];
    let mut written = Vec::new();
    for (file, text) in files {
        let path = folder.join(file);
        let parent = path.parent().expect("it is in the folder");
        let done = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
        done.map_err(|e| format!("{}: {e}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}
