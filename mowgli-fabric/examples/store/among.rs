//! A store whose nodes are processes of one machine.

use std::time::{SystemTime, UNIX_EPOCH};

use mowgli_fabric::{Company, Fault, Group, Map, Provider};

use crate::history::Done;
use crate::load::Load;

/// Runs the clients of each process on its node; all processes have to do the same. Gives the calls of all of them.
///
/// # Errors
/// If the fabric fails, or a process has gone.
pub fn among(
    (load, group, map): (Load, &Group, Map),
    company: &Company,
    provider: Provider,
    seed: u64,
) -> Result<Vec<Done>, Fault> {
    let own = group.run_among(company, provider, |thread| load.run(map, thread, seed, nanoseconds))?;
    let text = serde_json::to_string(&own.concat()).expect("numbers");
    let mut all: Vec<Done> = Vec::new();
    for text in company.gather(&text)? {
        let of_node: Vec<Done> = serde_json::from_str(&text).map_err(|e| Fault::Gone(e.to_string()))?;
        all.extend(of_node);
    }
    Ok(all)
}

/// The time, by a clock that all processes of a machine share.
fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}
