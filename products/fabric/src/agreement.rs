//! Agreement of processes on their group, before one of them accesses a word of another. Operations name words by
//! places, which depend on the whole group.

use crate::company::Company;
use crate::made::fingerprint;
use crate::port::Fault;
use crate::provider::Provider;

/// Checks that all processes have equal descriptions of their groups. Every process has to make the call.
///
/// # Errors
/// If the groups differ, or a process has gone.
pub(crate) fn check(company: &Company, provider: Provider, group: &[String]) -> Result<(), Fault> {
    let group: Vec<String> =
        [format!("words over {}", provider.name())].into_iter().chain(group.iter().cloned()).collect();
    let own = fingerprint(&group);
    if company.gather(&own)?.iter().all(|other| *other == own) {
        return Ok(());
    }
    let all = company.gather(&serde_json::to_string(&group).expect("strings"))?;
    let all: Vec<Vec<String>> = all.iter().map(|text| serde_json::from_str(text).unwrap_or_default()).collect();
    let other = all.iter().position(|other| *other != all[0]).unwrap_or(0);
    let alone = |rank: usize, than: usize| {
        let lines: Vec<&str> = all[rank].iter().filter(|line| !all[than].contains(line)).map(String::as_str).collect();
        shortened(rank, &lines)
    };
    Err(Fault::Wrong(format!(
        "node 1 and node {} have declared different groups{}{}; let every process declare the same",
        other + 1,
        alone(0, other),
        alone(other, 0)
    )))
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
