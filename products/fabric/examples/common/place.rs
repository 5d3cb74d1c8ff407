//! The place where an example runs: threads of this process, or a process for each node.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mowgli_fabric::{Company, Fabric, Fault, Group, Provider, Thread};
use serde::Serialize;
use serde::de::DeserializeOwned;

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
    /// The processes and their provider, if each node is one.
    company: Option<(Company, Provider)>,
    is_machine: bool,
    ticks: AtomicU64,
}

/// The longest time for which processes wait for each other.
const LIMIT: Duration = Duration::from_secs(60);

impl Place {
    /// Makes a place with so many nodes, by its name: `machine`, `local`, or a provider. Then this process starts those of the other
    /// nodes, if nothing else has done so.
    ///
    /// # Errors
    /// If there is no such place, libfabric is missing, or the processes do not meet.
    pub fn new(over: &str, nodes: u8) -> Result<Self, Fault> {
        let company = match over {
            "machine" | "local" => None,
            provider => {
                let provider: Provider = provider.parse()?;
                provider.check()?;
                let arguments: Vec<String> = std::env::args().skip(1).collect();
                let company = Company::joined(LIMIT).unwrap_or_else(|| Company::start(nodes.into(), &arguments, LIMIT));
                Some((company?, provider))
            }
        };
        Ok(Self { company, is_machine: over == "machine", ticks: AtomicU64::new(0) })
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
        match &self.company {
            Some((company, provider)) => among(company, *provider, group, body),
            None if self.is_machine => group.run(Fabric::Machine { seed }, body),
            None => group.run(Fabric::Local, body),
        }
    }

    /// Returns the time in nanoseconds, by a clock that all processes of a computer share. Over the machine, returns a
    /// number that grows with each call.
    pub fn now(&self) -> u64 {
        if self.is_machine { self.ticks.fetch_add(1, SeqCst) } else { nanoseconds() }
    }

    /// Prints a line in one process, if times mean something here.
    #[allow(dead_code, reason = "the converter alone has times")]
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
        let Some((company, _)) = &self.company else { return Ok(is_so) };
        Ok(company.gather(if is_so { "yes" } else { "no" })?[0] == "yes")
    }

    /// Whether times mean something. Over the machine they do not.
    #[allow(dead_code, reason = "the converter alone has times")]
    pub fn has_time(&self) -> bool {
        !self.is_machine
    }

    /// True in the one process that prints.
    pub fn speaks(&self) -> bool {
        self.company.as_ref().is_none_or(|(company, _)| company.rank() == 0)
    }
}

/// Returns the time since 1970.
pub fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

/// Runs `body` in each thread of the own node, and returns the results of all processes, in the order of the threads.
/// All processes have to make the call.
///
/// # Errors
/// If the fabric fails, or a process has gone.
pub fn among<R: Send + Serialize + DeserializeOwned>(
    company: &Company,
    provider: Provider,
    group: &Group,
    body: impl Fn(&mut Thread<'_>) -> Result<R, Fault> + Sync,
) -> Result<Vec<R>, Fault> {
    let own = group.run_among(company, provider, body)?;
    let all = company.gather(&serde_json::to_string(&own).expect("numbers"))?;
    let of_node = |text: &String| serde_json::from_str(text).map_err(|e| Fault::Gone(e.to_string()));
    Ok(all.iter().map(of_node).collect::<Result<Vec<Vec<R>>, Fault>>()?.into_iter().flatten().collect())
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
