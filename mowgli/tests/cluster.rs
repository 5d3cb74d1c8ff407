//! A run on a cluster: a Slurm of two nodes, both on this machine. If Slurm is missing or cannot be started, the test
//! is reported as ignored.

use std::path::Path;
use std::time::{Duration, Instant};

use libtest_mimic::{Completion, Trial};

use crate::slurm::{self, Cluster, says};

/// The test.
pub fn trial() -> Trial {
    let test = || {
        let folder = tempfile::tempdir().unwrap();
        let Some(cluster) = Cluster::start(folder.path()) else { return slurm::NEED.unmet("it does not start") };
        what_a_cluster_finds_is_what_one_process_finds(folder.path(), &cluster);
        Ok(Completion::Completed)
    };
    Trial::ignorable_test("what_a_cluster_finds_is_what_one_process_finds", test)
        .with_kind("needs Slurm")
        .with_ignored_flag(true)
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(300), "it does not come about that {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Finds the process that writes this file of a shard, by its command line.
fn process(file: &str) -> Option<String> {
    let mowgli = Path::new(env!("CARGO_BIN_EXE_mowgli")).canonicalize().ok()?;
    let is_it = |process: &Path| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let is_named = line.split(|b| *b == 0).any(|word| word == file.as_bytes());
        is_named && std::fs::read_link(process.join("exe")).is_ok_and(|exe| exe == mowgli)
    };
    let mut processes = std::fs::read_dir("/proc/").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    Some(processes.find(|process| is_it(process))?.file_name()?.to_str()?.to_owned())
}

/// The output without its last column and without the ends of verdicts, because these have times.
fn timeless(text: &str) -> Vec<&str> {
    let verdict = |line: &str| line.ends_with(" s").then(|| line.rfind(" in ")).flatten();
    let end = |line: &str| verdict(line).or_else(|| line.rfind(['┆', '┬', '╪', '┴'])).unwrap_or(line.len());
    text.lines().map(|line| &line[..end(line)]).collect()
}

fn what_a_cluster_finds_is_what_one_process_finds(folder: &Path, cluster: &Cluster) {
    let run = folder.join("run").display().to_string();
    let command = ["check", "rbl", "--variant", "fenced"];
    let submitted = cluster.says(
        env!("CARGO_BIN_EXE_mowgli"),
        &[&["submit", "slurm", "--shards", "16", "--dir", &run, "--run", "--"], &command[..]].concat(),
    );
    assert!(submitted.contains("what one process would have said goes to"), "{submitted}");
    let third = format!("{run}/3.shard");
    let mut victim = None;
    until("the third shard is at work", || {
        victim = process(&third).filter(|_| std::fs::read(&third).is_ok_and(|lines| lines.len() > 10_000));
        victim.is_some()
    });
    cluster.says("kill", &["-9", &victim.unwrap()]);
    cluster.says("scontrol", &["update", "nodename=n2", "state=drain", "reason=test"]);
    until("the second node is drained", || cluster.says("sinfo", &["-h", "-n", "n2", "-o", "%T"]).contains("drain"));
    std::thread::sleep(Duration::from_secs(3));
    cluster.says("scontrol", &["update", "nodename=n2", "state=resume"]);
    let watched = cluster.says(env!("CARGO_BIN_EXE_mowgli"), &["merge", "--watch", &run]);
    let one = says(env!("CARGO_BIN_EXE_mowgli"), &command).expect("it is sound");
    assert_eq!(timeless(&watched), timeless(&one));
    until("the jobs are done", || cluster.says("squeue", &["-h"]).trim().is_empty());
    let merged = std::fs::read_to_string(format!("{run}/merged.txt")).unwrap();
    assert_eq!(timeless(&merged), timeless(&one));
    let log = std::fs::read_to_string(format!("{run}/3.log")).unwrap();
    assert!(log.contains("Killed") && log.contains("shard 3/16 is done"), "{log}");
}
