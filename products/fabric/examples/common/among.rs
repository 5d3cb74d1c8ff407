//! Examples whose nodes are processes.

use mowgli_fabric::{Company, Fault, Group, Provider, Thread};
use serde::Serialize;
use serde::de::DeserializeOwned;

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
    let text = serde_json::to_string(&own).expect("numbers");
    let mut all: Vec<R> = Vec::new();
    for text in company.gather(&text)? {
        let of_node: Vec<R> = serde_json::from_str(&text).map_err(|e| Fault::Gone(e.to_string()))?;
        all.extend(of_node);
    }
    Ok(all)
}
