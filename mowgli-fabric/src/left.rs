//! Names of what the provider `shm` has in shared memory, a file for each endpoint: a process that is killed leaves it there.
//!
//! A name says in which system the process is (that in which its number means something), its number, and when it began. So what is left
//! is in nobody's way, even if a later process gets the number, and it is known when it can be removed.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where shared memory is.
const FOLDER: &str = "/dev/shm";

/// How names of the processes of this system begin, and one with this number, if one is said.
fn prefix(pid: Option<u32>) -> String {
    let system = std::fs::read_link("/proc/self/ns/pid").map_or(String::new(), |link| link.display().to_string());
    let system: String = system.chars().filter(char::is_ascii_digit).collect();
    format!("mowgli-{system}-{}", pid.map_or(String::new(), |pid| format!("{pid}-")))
}

/// A new name for something of this process. No other process ever has it, and no other network of this one. When the first is asked for,
/// what is left of others is removed.
pub(crate) fn name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", process(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The name of this process.
fn process() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        if Path::new("/proc/self").exists() {
            remove(&prefix(None), |pid| !Path::new("/proc").join(pid).exists());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        format!("{}{now:x}", prefix(Some(std::process::id())))
    })
}

/// Removes what is left of a process that has ended.
pub(crate) fn clear(pid: u32) {
    remove(&prefix(Some(pid)), |_| true);
}

/// Removes the files whose names begin so, where this is so of what comes next in them. What belongs to somebody else stays.
fn remove(prefix: &str, is_over: impl Fn(&str) -> bool) {
    for file in std::fs::read_dir(FOLDER).into_iter().flatten().flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let next = name.strip_prefix(prefix).and_then(|rest| rest.split('-').next());
        if next.is_some_and(&is_over) {
            _ = std::fs::remove_file(file.path());
        }
    }
}
