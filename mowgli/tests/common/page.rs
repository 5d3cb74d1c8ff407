//! The page that `report` writes.

use std::path::Path;
use std::process::Command;

/// Writes a page; its text.
pub fn page(folder: &Path, what: &[&str]) -> String {
    let out = folder.join("page").display().to_string();
    let args = [&["report"], what, &["--out", &out]].concat();
    let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(&args).output().expect("the command runs");
    // The page may show tests that fail.
    assert_ne!(ran.status.code(), Some(2), "{}", String::from_utf8_lossy(&ran.stderr));
    std::fs::read_to_string(folder.join("page/index.html")).expect("a page")
}
