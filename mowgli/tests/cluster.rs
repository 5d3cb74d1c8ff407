//! A run on a cluster: a Slurm of two nodes, both on this machine. If Slurm is missing or cannot be started, the test
//! is reported as ignored.

use std::path::Path;
use std::time::{Duration, Instant};

use libtest_mimic::{Completion, Trial};

use crate::ran::file;
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
    let row = |line: &str| line.trim_end().rfind(' ').filter(|at| line[*at..].trim().parse::<f64>().is_ok());
    let end = |line: &str| verdict(line).or_else(|| row(line)).unwrap_or(line.len());
    text.lines().map(|line| &line[..end(line)]).collect()
}

/// Returns the script of an array of jobs that docs/scale.md prints, for a folder and the built command.
fn script(folder: &Path) -> String {
    let page = include_str!("../../docs/scale.md");
    let (_, rest) = page.split_once("#!/usr/bin/env bash").expect("the page has a script");
    let (script, _) = rest.split_once("```").expect("the script ends");
    let here = format!("#!/usr/bin/env bash\n#SBATCH --chdir={}", folder.display());
    here + &script.replace(" mowgli ", &format!(" {} ", env!("CARGO_BIN_EXE_mowgli")))
}

fn what_a_cluster_finds_is_what_one_process_finds(folder: &Path, cluster: &Cluster) {
    let (array, third) = (file(folder, "array.sbatch", &script(folder)), folder.join("3.shard"));
    let job = cluster.says("sbatch", &["--parsable", &array]);
    assert!(job.trim().parse::<u32>().is_ok(), "{job}");
    let mut victim = None;
    until("the third shard is at work", || {
        victim = process("3.shard").filter(|_| std::fs::read(&third).is_ok_and(|lines| lines.len() > 10_000));
        victim.is_some()
    });
    cluster.says("kill", &["-9", &victim.unwrap()]);
    cluster.says("scontrol", &["update", "nodename=n2", "state=drain", "reason=test"]);
    until("the second node is drained", || cluster.says("sinfo", &["-h", "-n", "n2", "-o", "%T"]).contains("drain"));
    std::thread::sleep(Duration::from_secs(3));
    cluster.says("scontrol", &["update", "nodename=n2", "state=resume"]);
    until("the jobs are done", || cluster.says("squeue", &["-h"]).trim().is_empty());
    let merged = says(env!("CARGO_BIN_EXE_mowgli"), &["merge", &folder.display().to_string()]);
    let one = says(env!("CARGO_BIN_EXE_mowgli"), &["check", "rbl", "--variant", "fenced"]);
    let [merged, one] = [merged, one].map(|text| text.expect("it is sound"));
    assert_eq!(timeless(&merged), timeless(&one));
    let log = std::fs::read_to_string(folder.join("3.log")).unwrap();
    assert!(log.contains("Killed") && log.contains("shard 3/16 is done"), "{log}");
}
