//! A Slurm of two nodes, both on this machine.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::needs::Need;

/// A Slurm that a test starts; CI does not have to be able to.
pub const NEED: Need = Need { tool: "Slurm, which root can start", in_ci: false, missing: || None };

/// Returns the output of a program; `None` if it is missing or fails.
pub fn says(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok().filter(|o| o.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// A Slurm with two nodes, and nothing but what is in its folder.
pub struct Cluster {
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
    /// Starts the cluster; `None` if there is no Slurm, this is not root, or its nodes are not there after a minute.
    pub fn start(folder: &Path) -> Option<Self> {
        // Without a configuration `sbatch` does not even say its version.
        let is_there = ["slurmctld", "slurmd"].iter().all(|program| says(program, &["-V"]).is_some());
        let is_there = is_there && says("which", &["sbatch"]).is_some();
        if !is_there || says("id", &["-u"]).is_none_or(|id| id.trim() != "0") {
            return None;
        }
        // All ports are opened at once, so that they differ.
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

    /// Returns the output of a program of this cluster.
    pub fn says(&self, program: &str, args: &[&str]) -> String {
        let output = Command::new(program).args(args).env("SLURM_CONF", &self.conf).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }
}
