//! Agreement of processes on their group, before one of them accesses a word of another. Operations name words by
//! places, which depend on the whole group.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::company::Company;
use crate::compiled::fingerprint;
use crate::port::Fault;

/// Exchanges what processes say of their parts of a network, as JSON, after a check that their groups agree.
///
/// # Errors
/// If the groups differ, or a process has gone or sends something else.
pub(crate) fn exchanged<T: Serialize + DeserializeOwned>(
    company: &Company,
    group: &[String],
    said: &T,
) -> Result<Vec<T>, Fault> {
    let own = fingerprint(group);
    let all = company.gather(&serde_json::to_string(&(&own, said)).expect("strings and numbers"))?;
    let unknown = |rank| Fault::Gone(format!("node {}: its part of the network is not understood", rank + 1));
    let read = |(rank, text): (usize, &String)| serde_json::from_str(text).map_err(|_| unknown(rank));
    let all = all.iter().enumerate().map(read).collect::<Result<Vec<(String, T)>, _>>()?;
    if all.iter().any(|(fingerprint, _)| *fingerprint != own) {
        return Err(difference(company, group));
    }
    Ok(all.into_iter().map(|(_, said)| said).collect())
}

/// Describes how the groups of processes differ. Every process has to make the call, with the description of its group.
fn difference(company: &Company, group: &[String]) -> Fault {
    let all = match company.gather(&serde_json::to_string(group).expect("strings")) {
        Ok(all) => all,
        Err(fault) => return fault,
    };
    let all: Vec<Vec<String>> = all.iter().map(|text| serde_json::from_str(text).unwrap_or_default()).collect();
    let other = all.iter().position(|other| *other != all[0]).unwrap_or(0);
    let alone = |rank: usize, than: usize| {
        let lines: Vec<&str> = all[rank].iter().filter(|line| !all[than].contains(line)).map(String::as_str).collect();
        shortened(rank, &lines)
    };
    Fault::Wrong(format!(
        "node 1 and node {} have declared different groups{}{}; let every process declare the same",
        other + 1,
        alone(0, other),
        alone(other, 0)
    ))
}

/// Prints the first of the lines that only the process of this rank has.
fn shortened(rank: usize, lines: &[&str]) -> String {
    const MOST: usize = 4;
    let shown = lines[..lines.len().min(MOST)].join("; ");
    match lines.len() {
        0 => String::new(),
        1..=MOST => format!("; node {} alone has {shown}", rank + 1),
        all => format!("; node {} alone has {shown}; and {} more", rank + 1, all - MOST),
    }
}
