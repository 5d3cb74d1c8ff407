//! The fingerprint of the sources of this crate. The build script computes it.

use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};

/// Computes the fingerprint of these files and folders: the 64-bit FNV-1a hash of paths and contents, the same on each machine.
pub fn fingerprint(root: &Path, parts: &[&str]) -> Result<String> {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for part in parts {
        for file in files(&root.join(part))? {
            let name = file.strip_prefix(root).expect("below it");
            name.iter().for_each(|step| add(step.as_encoded_bytes()));
            add(&fs::read(&file)?);
        }
    }
    Ok(format!("{hash:016x}"))
}

/// Lists the files at a path, in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut inside = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    inside.sort();
    Ok(inside.iter().map(|path| files(path)).collect::<Result<Vec<_>>>()?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any change of any source counts, also of its name.
    #[test]
    fn the_fingerprint_is_that_of_all_sources() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let parts = ["src", "shim", "build.rs"];
        assert_eq!(fingerprint(root, &parts).unwrap(), env!("MOWGLI_SOURCES"), "build again");
        let copy = tempfile::tempdir().unwrap();
        let all = files(root).unwrap();
        let sources = || {
            all.iter()
                .filter_map(|file| file.strip_prefix(root).ok())
                .filter(|file| parts.iter().any(|part| file.starts_with(part)))
        };
        for file in sources() {
            fs::create_dir_all(copy.path().join(file).parent().unwrap()).unwrap();
            fs::copy(root.join(file), copy.path().join(file)).unwrap();
        }
        let now = || fingerprint(copy.path(), &parts).unwrap();
        assert_eq!(now(), env!("MOWGLI_SOURCES"));
        for file in sources() {
            let place = copy.path().join(file);
            let text = fs::read_to_string(&place).unwrap();
            fs::write(&place, format!("{text} ")).unwrap();
            assert_ne!(now(), env!("MOWGLI_SOURCES"), "{}", file.display());
            fs::write(&place, text).unwrap();
        }
        fs::rename(copy.path().join("src/local.rs"), copy.path().join("src/locam.rs")).unwrap();
        assert_ne!(now(), env!("MOWGLI_SOURCES"));
    }
}
