//! The place where an example runs: threads of this process, or a process for each node.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use mowgli_fabric::{Company, Fabric, Fault, Group, Provider, Thread};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::among::among;

/// The fabric that an example runs over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Over {
    /// The machine of RDMA-TSO-RMW.
    Machine,
    /// Threads with shared memory.
    Local,
    /// A process for each node, over TCP.
    Tcp,
    /// A process for each node, over shared memory by libfabric.
    Shm,
    /// A process for each node, over memory that all map.
    Memory,
}

/// The reason why an example ends early.
pub enum End {
    /// A check has failed.
    Wrong(String),
    /// The example cannot continue.
    Fault(Fault),
}

impl From<Fault> for End {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The place where an example runs.
pub struct Place {
    over: Over,
    company: Option<Company>,
    ticks: AtomicU64,
}

/// The longest time for which processes wait for each other.
const LIMIT: Duration = Duration::from_secs(60);

impl Place {
    /// Makes a place with so many nodes. Over libfabric, this process starts those of the other nodes, if no launcher
    /// has done so.
    ///
    /// # Errors
    /// If libfabric is missing, or the processes do not meet.
    pub fn new(over: Over, nodes: u8) -> Result<Self, Fault> {
        let among = || match Company::joined(LIMIT) {
            Some(company) => company,
            None => Company::start(nodes.into(), &std::env::args().skip(1).collect::<Vec<_>>(), LIMIT),
        };
        let company = match over.provider() {
            Some(provider) => {
                provider.check()?;
                Some(among()?)
            }
            None => None,
        };
        Ok(Self { over, company, ticks: AtomicU64::new(0) })
    }

    /// Runs `body` in every thread, and returns the results in the order of the threads.
    ///
    /// # Errors
    /// If a thread does not end, the fabric fails, or a process has gone.
    pub fn run<R: Send + Serialize + DeserializeOwned>(
        &self,
        group: &Group,
        seed: u64,
        body: impl Fn(&mut Thread<'_>) -> Result<R, Fault> + Sync,
    ) -> Result<Vec<R>, Fault> {
        match (self.over.provider(), &self.company) {
            (Some(provider), Some(company)) => among(company, provider, group, body),
            _ if self.has_time() => group.run(Fabric::Local, body),
            _ => group.run(Fabric::Machine { seed }, body),
        }
    }

    /// Returns the time in nanoseconds, by a clock that all processes of a computer share. Over the machine, returns a
    /// number that grows with each call.
    pub fn now(&self) -> u64 {
        match self.has_time() {
            true => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64),
            false => self.ticks.fetch_add(1, SeqCst),
        }
    }

    /// Prints a line in one process, if times mean something here.
    pub fn says(&self, reported: &str) {
        if self.speaks() && self.has_time() {
            println!("{reported}");
        }
    }

    /// Whether `is_so` is true in the first process. Every process has to make the call.
    ///
    /// # Errors
    /// If a process has gone.
    #[allow(dead_code, reason = "the store alone goes on until a time is up")]
    pub fn agrees(&self, is_so: bool) -> Result<bool, Fault> {
        let Some(company) = &self.company else { return Ok(is_so) };
        Ok(company.gather(if is_so { "yes" } else { "no" })?[0] == "yes")
    }

    /// Whether times mean something. Over the machine they do not.
    pub fn has_time(&self) -> bool {
        self.over != Over::Machine
    }

    /// True in the one process that prints.
    pub fn speaks(&self) -> bool {
        self.company.as_ref().is_none_or(|company| company.rank() == 0)
    }
}

impl Over {
    fn provider(self) -> Option<Provider> {
        match self {
            Self::Tcp => Some(Provider::Tcp),
            Self::Shm => Some(Provider::Shm),
            Self::Memory => Some(Provider::Memory),
            Self::Machine | Self::Local => None,
        }
    }
}

/// Prints the reason if an example has ended early, and returns its exit code.
pub fn ended(ran: Result<(), End>) -> ExitCode {
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(End::Wrong(wrong)) => {
            println!("{wrong}");
            ExitCode::FAILURE
        }
        Err(End::Fault(fault)) => {
            eprintln!("{fault}");
            ExitCode::from(2)
        }
    }
}
