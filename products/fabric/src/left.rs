//! The files in shared memory: one for each endpoint of the provider `shm`, and one for words that processes map. A process that is
//! killed leaves its files there.
//!
//! A name contains the PID namespace of the process, its number, and the time of its first name. So a later process
//! with the same number does not clash with a file that was left. The file can be removed once its process has ended.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The folder of shared memory.
const FOLDER: &str = "/dev/shm";

/// The number of MiB that libfabric wants to be free there before it makes an endpoint.
const ROOM: u64 = 32;

/// Returns the reason why no endpoint can be made, if it is the room there.
pub(crate) fn lacks_room() -> Option<String> {
    too_little(rustix::fs::statvfs(FOLDER).map(|of| of.f_bavail * of.f_frsize).ok()? >> 20)
}

fn too_little(free: u64) -> Option<String> {
    let why = format!(
        "{FOLDER} has {free} MiB left, and an endpoint needs {ROOM}: remove files there, or mount it with more"
    );
    (free < ROOM).then_some(why)
}

/// Returns the path of a new file.
pub(crate) fn path() -> String {
    format!("{FOLDER}/{}", name())
}

/// Checks that the folder exists.
pub(crate) fn check() -> Result<(), String> {
    if Path::new(FOLDER).is_dir() { Ok(()) } else { Err(format!("memory: there is no folder {FOLDER}")) }
}

/// Describes the reason why a file there cannot be made or mapped.
pub(crate) fn refused(why: &std::io::Error) -> String {
    let advice = match why.kind() {
        std::io::ErrorKind::StorageFull => "it is full: remove files there, or mount it with more room",
        std::io::ErrorKind::NotFound => "let all processes run on one machine",
        _ => "processes of one machine and of one user share memory there",
    };
    format!("memory: {FOLDER}: {why}; {advice}")
}

/// Returns the prefix of all names in this PID namespace, or of those of one process.
fn prefix(pid: Option<u32>) -> String {
    let system = std::fs::read_link("/proc/self/ns/pid").map_or(String::new(), |link| link.display().to_string());
    let system: String = system.chars().filter(char::is_ascii_digit).collect();
    format!("mowgli-{system}-{}", pid.map_or(String::new(), |pid| format!("{pid}-")))
}

/// Returns a new name, which no other process and no other network of this process ever has. The first call removes the
/// files of processes that have ended.
pub(crate) fn name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", process(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns the name of this process.
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

/// Removes the files of a process that has ended.
pub(crate) fn clear(pid: u32) {
    remove(&prefix(Some(pid)), |_| true);
}

/// Removes the files with this prefix, if the next part of their name satisfies `is_over`. Files of other users stay,
/// because the system does not let this process remove them.
fn remove(prefix: &str, is_over: impl Fn(&str) -> bool) {
    for file in std::fs::read_dir(FOLDER).into_iter().flatten().flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let next = name.strip_prefix(prefix).and_then(|rest| rest.split('-').next());
        if next.is_some_and(&is_over) {
            _ = std::fs::remove_file(file.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_folder_is_named() {
        assert!(too_little(20).is_some_and(|why| why.starts_with("/dev/shm has 20 MiB left")));
        assert_eq!(too_little(ROOM), None);
    }
}
