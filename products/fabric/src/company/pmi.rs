//! The process manager interface (PMI), version 1: lines by which processes exchange values through their launcher.
//!
//! MPICH's `mpiexec` and Slurm's `srun --mpi=pmi2` speak it. The launcher gives each process a connection, whose number
//! is in `PMI_FD`.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

/// The connection to the launcher.
pub(super) struct Pmi {
    lines: BufReader<File>,
    /// The launcher's name for the values of this company.
    space: String,
}

/// The name under which the first process publishes its address.
const KEY: &str = "mowgli-meet";

impl Pmi {
    /// Opens the protocol on the connection of this number.
    pub(super) fn open(number: &str) -> Result<Self, String> {
        let file = inherited(number).map_err(|why| format!("the environment says PMI_FD={number}: {why}"))?;
        let mut pmi = Self { lines: BufReader::new(file), space: String::new() };
        pmi.asks("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        let named = pmi.asks("cmd=get_my_kvsname", "my_kvsname")?;
        pmi.space = field(&named, "kvsname").ok_or_else(|| strange(&named))?.to_owned();
        Ok(pmi)
    }

    /// Publishes `own`, if this is the first process, and returns the published address. All processes have to make the
    /// call, because it contains a barrier.
    pub(super) fn said_by_first(&mut self, own: Option<&str>) -> Result<String, String> {
        let space = self.space.clone();
        if let Some(own) = own {
            self.asks(&format!("cmd=put kvsname={space} key={KEY} value={own}"), "put_result")?;
        }
        self.asks("cmd=barrier_in", "barrier_out")?;
        let got = self.asks(&format!("cmd=get kvsname={space} key={KEY}"), "get_result")?;
        field(&got, "value").map(str::to_owned).ok_or_else(|| strange(&got))
    }

    /// Sends a line, and returns the answer, which has to be of this kind.
    fn asks(&mut self, line: &str, kind: &str) -> Result<String, String> {
        let lost = |e: std::io::Error| format!("the launcher does not answer to `{line}`: {e}");
        self.lines.get_mut().write_all(format!("{line}\n").as_bytes()).map_err(lost)?;
        let mut answer = String::new();
        self.lines.read_line(&mut answer).map_err(lost)?;
        let is_good = field(&answer, "cmd") == Some(kind) && matches!(field(&answer, "rc"), None | Some("0"));
        if is_good { Ok(answer) } else { Err(strange(&answer)) }
    }
}

impl Drop for Pmi {
    fn drop(&mut self) {
        _ = self.asks("cmd=finalize", "finalize_ack");
    }
}

/// Duplicates the file of this number that the process has inherited.
#[cfg(target_os = "linux")]
fn inherited(number: &str) -> Result<File, String> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let number = number.parse::<i32>().map_err(|_| "that is no number".to_owned())?;
    let own = pidfd_open(getpid(), PidfdFlags::empty()).map_err(|e| e.to_string())?;
    pidfd_getfd(own, number, PidfdGetfdFlags::empty()).map(File::from).map_err(|e| e.to_string())
}

/// Other systems have no safe function for this.
#[cfg(not(target_os = "linux"))]
fn inherited(_: &str) -> Result<File, String> {
    Err("that is understood on Linux only; say by MOWGLI_MEET where processes meet".to_owned())
}

/// Returns the value of a field in a line.
fn field<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

fn strange(answer: &str) -> String {
    format!("the launcher's answer makes no sense: {}", answer.trim())
}
