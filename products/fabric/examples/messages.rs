//! Messages of 64 bytes from one process to another, through a ring buffer.
//!
//! `cargo run -p mowgli-fabric --example messages -- shm` starts the other process on this machine. `... -- tcp` and `... -- memory` run
//! over other providers.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use mowgli_fabric::{Company, Fault, Group, Provider};

/// The longest time for which processes wait for each other.
const LIMIT: Duration = Duration::from_secs(60);

/// Sends messages from node 2 to node 1. Returns the number of those that this process has received.
pub fn received(company: &Company, provider: Provider, messages: usize) -> Result<usize, Fault> {
    let mut group = Group::new(&[1, 2]);
    let ring = group.message_ring("ring", 1, &[0], 1024);
    let received = group.run_among(company, provider, |thread| {
        for number in 0..messages {
            let message = format!("{number:>64}");
            if thread.node().0 == 2 {
                thread.until(|thread| Ok(ring.submit(thread, message.as_bytes())?.then_some(())))?;
            } else {
                let next = thread.until(|thread| ring.receive(thread))?;
                assert_eq!(next, message.as_bytes());
            }
        }
        Ok(if thread.node().0 == 1 { messages } else { 0 })
    })?;
    Ok(received.iter().sum())
}

/// Joins the processes that a launcher has started, or starts another one.
fn company(provider: Provider) -> Result<Company, Fault> {
    provider.check()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    Company::joined(LIMIT).unwrap_or_else(|| Company::start(2, &arguments, LIMIT))
}

/// Sends 10,000 messages of 64 bytes from one process to another.
#[derive(Parser)]
struct Args {
    /// The way from one process to the other: memory, shm or tcp.
    provider: Provider,
}

impl Args {
    fn run(&self) -> Result<(), Fault> {
        let company = company(self.provider)?;
        let begun = Instant::now();
        let all = received(&company, self.provider, 10_000)?;
        if company.rank() == 0 {
            println!("received {all} messages of 64 bytes in {:.3} s", begun.elapsed().as_secs_f64());
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    if let Err(fault) = Args::parse().run() {
        eprintln!("{fault}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}
