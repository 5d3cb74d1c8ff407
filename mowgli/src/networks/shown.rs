//! The table of verdicts by network, and the repairs below it.

use itertools::Itertools;
use mowgli_core::ids::Name;
use serde::{Deserialize, Deserializer, Serialize};

/// A text that a shard has written, or a constant.
pub(super) type StaticText = &'static str;

/// Reads a text that a shard has written.
pub(super) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<StaticText, D::Error> {
    String::deserialize(from).map(|text| Name::new(&text).text())
}

/// The same for a text that may be missing.
pub(super) fn some_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<StaticText>, D::Error> {
    text(from).map(Some)
}

/// The cheapest repair of a library or a test that is wrong on a network.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CheapestRepair {
    /// The cost of all insertions; `None` if there is no repair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    /// True if a limit stopped the search, so that it is undecided whether there is a repair.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_open: bool,
    /// The insertions.
    pub insert: Vec<String>,
    /// The repaired test, or the bodies that the insertions change.
    pub text: Vec<String>,
    /// The verdict of a new check with the insertions. If no repair was found, this is the reason.
    pub verdict: String,
    /// The prover's verdict for every client on the repaired bodies; `None` if it was not asked.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "some_text")]
    pub proved: Option<StaticText>,
    /// The obligations that the prover left open.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub open: Vec<String>,
}

impl CheapestRepair {
    /// Returns a note that there is no repair, with the reason.
    pub(super) fn none(reason: impl Into<String>) -> Self {
        Self { verdict: reason.into(), ..Self::default() }
    }

    /// Returns a note that no repair was found, with the reason. A limit may have left it open.
    pub(super) fn not_found(is_open: bool, reason: impl Into<String>) -> Self {
        Self { is_open, ..Self::none(reason) }
    }
}

/// The verdict on a library or a test on a network.
pub struct Shown<'a> {
    /// The network.
    pub network: &'a str,
    /// The name of the library or the test.
    pub name: &'a str,
    /// The verdict.
    pub verdict: &'a str,
    /// The prover's verdict for every client, if it was asked.
    pub proved: Option<&'a str>,
    /// Its cheapest repair, if it was searched.
    pub repair: Option<&'a CheapestRepair>,
}

impl Shown<'_> {
    /// Returns the text of the cell.
    #[must_use]
    pub fn text(&self) -> String {
        let repaired = self.repair.map(|repair| match repair.cost {
            Some(cost) => format!("repaired for {cost}"),
            None if repair.is_open => "repair undecided".to_owned(),
            None => "no repair".to_owned(),
        });
        let proved = self.proved.or(self.repair.and_then(|repair| repair.proved)).filter(|word| *word == "proved");
        [self.verdict.to_owned()].into_iter().chain(repaired).chain(proved.map(str::to_owned)).join(", ")
    }
}

/// Whether a verdict is good or bad, if it is one of the two.
#[must_use]
pub fn is_good(verdict: &str) -> Option<bool> {
    match verdict {
        "sound" | "no-wrong-outcome" | "holds" => Some(true),
        "fails" | "blocks" | "stuck" | "vacuous" => Some(false),
        other => (other.starts_with("unsound") || other.starts_with("not-locally-sound")).then_some(false),
    }
}

/// The room for the names of networks in a narrow table.
const NETWORKS: usize = 26;

/// Prints verdicts as tables that fit so many columns of text. A table has a column for each library or test, and a row
/// for the networks with the same verdicts. Libraries that do not fit beside each other are in several tables.
#[must_use]
pub fn table(cells: &[Shown<'_>], columns: Option<u16>) -> String {
    let width = |name: &str| {
        let texts = cells.iter().filter(|cell| cell.name == name).map(|cell| cell.text().len());
        texts.chain([name.len()]).max().unwrap_or(0) + 3
    };
    let room = columns.map_or(usize::MAX, |columns| usize::from(columns).saturating_sub(NETWORKS));
    let mut parts: Vec<(usize, Vec<&str>)> = Vec::new();
    for name in cells.iter().map(|cell| cell.name).unique() {
        match parts.last_mut().filter(|(used, _)| used.saturating_add(width(name)) <= room) {
            Some((used, names)) => {
                *used += width(name);
                names.push(name);
            }
            None => parts.push((width(name), vec![name])),
        }
    }
    parts.iter().map(|(_, names)| table_of(names, cells, columns)).join("\n")
}

/// Prints the verdicts on some of the libraries or tests as one table.
fn table_of(names: &[&str], cells: &[Shown<'_>], columns: Option<u16>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::ASCII_MARKDOWN);
    if let Some(columns) = columns {
        table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic).set_width(columns);
    }
    table.set_header(["network"].iter().chain(names));
    let row = |network: &&str| {
        let own = cells.iter().filter(|cell| cell.network == *network && names.contains(&cell.name));
        own.map(|cell| (cell.name, cell.text(), cell.repair.map(|repair| &repair.insert))).collect_vec()
    };
    for (networks, row) in grouped(cells.iter().map(|cell| cell.network).unique(), row) {
        let texts = row.into_iter().map(|(_, text, _)| text);
        table.add_row([networks.join(", ")].into_iter().chain(texts));
    }
    table.to_string() + "\n"
}

/// Prints each repair, with the networks on which it is the cheapest one.
#[must_use]
pub fn repairs(cells: &[Shown<'_>]) -> String {
    let mended = cells.iter().filter_map(|cell| Some((cell, cell.repair?)));
    let text = |(cell, repair): &(&Shown<'_>, &CheapestRepair)| {
        let lines = repair.insert.iter().map(|line| format!("  {line}\n"));
        let end = match repair.cost {
            Some(cost) => format!("cost {cost}, then {}\n{}", repair.verdict, lines.format("")),
            None => format!("{}\n", repair.verdict),
        };
        (cell.name.to_owned(), end)
    };
    let all = grouped(mended, text).into_iter().map(|(of, (name, end))| {
        let networks = of.iter().map(|(cell, _)| cell.network).join(", ");
        format!("{name} on {networks}: {end}")
    });
    all.format("").to_string()
}

/// Groups items by a key, in the order of the first item with each key.
pub(super) fn grouped<T, K: PartialEq>(all: impl Iterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<(Vec<T>, K)> {
    let mut groups: Vec<(Vec<T>, K)> = Vec::new();
    for item in all {
        let own = key(&item);
        match groups.iter_mut().find(|(_, known)| *known == own) {
            Some((items, _)) => items.push(item),
            None => groups.push((vec![item], own)),
        }
    }
    groups
}

/// Returns the first line of an answer about repairs, without the name of what it is about.
pub(super) fn head(answer: &str) -> String {
    let line = answer.lines().next().unwrap_or_default();
    line.split_once("): ").map_or(line, |(_, rest)| rest).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repair_that_a_limit_stopped_is_undecided() {
        let text = |repair: CheapestRepair| {
            Shown { network: "cxi", name: "rbl", verdict: "unsound", proved: None, repair: Some(&repair) }.text()
        };
        assert_eq!(text(CheapestRepair::not_found(true, "")), "unsound, repair undecided");
        assert_eq!(text(CheapestRepair::not_found(false, "")), "unsound, no repair");
    }
}
