//! The litmus tests below a folder.

use std::path::{Path, PathBuf};

/// All of them, in order.
pub fn litmus_files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(litmus_files(&path));
        } else if path.extension().is_some_and(|x| x == "litmus") {
            all.push(path);
        }
    }
    all.sort();
    all
}
