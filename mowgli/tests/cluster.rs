//! A run on a cluster: a Slurm of two nodes, both on this machine. Where there is none, or it cannot be started, the test is
//! reported as ignored.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    // Without a configuration `sbatch` does not even say its version.
    let is_there = ["slurmctld", "slurmd"].iter().all(|program| says(program, &["-V"]).is_some());
    let is_there = is_there && says("which", &["sbatch"]).is_some();
    let is_root = says("id", &["-u"]).is_some_and(|id| id.trim() == "0");
    let folder = tempfile::tempdir().unwrap();
    let cluster = if is_there && is_root { Cluster::start(folder.path()) } else { None };
    if cluster.is_none() {
        eprintln!("1 test is ignored: it needs Slurm, which root can start");
    }
    let is_ignored = cluster.is_none();
    let test = move || {
        what_a_cluster_finds_is_what_one_process_finds(folder.path(), &cluster.expect("it was started"));
        Ok(())
    };
    let trial = Trial::test("what_a_cluster_finds_is_what_one_process_finds", test)
        .with_kind("needs Slurm")
        .with_ignored_flag(is_ignored);
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}

/// What a program prints, if it is there and does as it is told.
fn says(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok().filter(|o| o.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// A Slurm with two nodes, and nothing but what is in its folder.
struct Cluster {
    conf: PathBuf,
    daemons: Vec<Child>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

impl Cluster {
    /// Starts it; `None` if its nodes are not there after a minute.
    fn start(folder: &Path) -> Option<Self> {
        // All at once, so that they differ.
        let listeners: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = listeners.iter().map(|l| l.local_addr().unwrap().port()).collect();
        drop(listeners);
        let (host, at) = (says("hostname", &[]).unwrap().trim().to_owned(), folder.display());
        let mut text = format!(
            "ClusterName=test\nSlurmctldHost={host}\nAuthType=auth/none\nCredType=cred/none\nSlurmUser=root\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nReturnToService=2\nSlurmdParameters=config_overrides\n\
             SlurmctldPort={}\nStateSaveLocation={at}/state\nSlurmdSpoolDir={at}/spool.%n\n\
             SlurmctldPidFile={at}/ctld.pid\nSlurmdPidFile={at}/slurmd.%n.pid\n",
            ports[0]
        );
        for (name, port) in ["n1", "n2"].iter().zip(&ports[1..]) {
            std::fs::create_dir_all(folder.join(format!("spool.{name}"))).unwrap();
            text += &format!(
                "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=16000\n"
            );
        }
        text += "PartitionName=all Nodes=n1,n2 Default=YES State=UP\n";
        std::fs::create_dir_all(folder.join("state")).unwrap();
        let conf = folder.join("slurm.conf");
        std::fs::write(&conf, text).unwrap();
        std::fs::write(folder.join("cgroup.conf"), "CgroupPlugin=cgroup/v1\n").unwrap();
        let daemon = |program: &str, args: &[&str]| {
            let log = File::create(folder.join(format!("{program}{}.log", args.join("")))).unwrap();
            let mut command = Command::new(program);
            command.arg("-D").arg("-f").arg(&conf).args(args).stdin(Stdio::null());
            command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
        };
        let daemons = vec![daemon("slurmctld", &[]), daemon("slurmd", &["-N", "n1"]), daemon("slurmd", &["-N", "n2"])];
        let cluster = Self { conf, daemons };
        let start = Instant::now();
        while !cluster.says("sinfo", &["-h", "-o", "%T %D"]).contains("idle 2") {
            if start.elapsed() > Duration::from_secs(60) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(cluster)
    }

    fn says(&self, program: &str, args: &[&str]) -> String {
        let output = Command::new(program).args(args).env("SLURM_CONF", &self.conf).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(300), "it does not come about that {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The process that looks at a shard, which its command line tells.
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

/// What was printed, without the last column, which has times.
fn timeless(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.rsplit_once(['┆', '┬', '╪', '┴']).map_or(line, |(rest, _)| rest)).collect()
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
