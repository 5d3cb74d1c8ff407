//! The `networks` command: the verdict on each library on each network.
//!
//! **Computes**: a [`Cell`] for each library and each network, within one bound of each library.
//! **Example**: SV on `cxi` is unsound. Its global fence gets a word from each node, and there a read may pass a write.
//! **Correct because**: a cell is the verdict of [`check`] on the entry that [`Entry::move_to`] has moved.
//! **Cost**: one check for each cell; networks with the same promises share one.

use std::collections::BTreeMap;

use itertools::Itertools;
use mowgli_core::soundness::client::Bound;
use mowgli_libraries::entry::Entry;
use mowgli_rdma::Network;
use serde::Serialize;

use crate::check::Ask::{Soundness, Through};
use crate::check::{Checked, Options, check};

/// The verdict on a library on a network.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The library.
    pub library: &'static str,
    /// The variant of its implementation.
    pub variant: &'static str,
    /// The network.
    pub network: &'static str,
    /// The verdict in one word, with the one on termination if calls do not return.
    pub verdict: String,
    /// The bound, as arguments of `check`.
    pub bound: String,
    /// The smallest client that shows why it is unsound, as a litmus test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The limit that kept the verdict from being known, or the reason why the library is not defined here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Cell {
    fn of(entry: &Entry, network: Network, bound: &Bound, checked: Result<Checked, String>) -> Self {
        let variant = entry.variants.first().map_or("", |v| v.name);
        let bound = crate::check::arguments(bound);
        let cell = Self {
            library: entry.name,
            variant,
            network: network.name,
            verdict: "not defined".to_owned(),
            bound,
            client: None,
            reason: None,
        };
        match checked {
            Ok(checked) => {
                let progress = checked.stuck().map(|_| format!(", {}", checked.progress())).unwrap_or_default();
                let reason = checked.stop().map(ToString::to_string);
                // A limit may stop the search for a wrong outcome after local soundness has failed.
                let verdict = match checked.report.violation {
                    Some(_) if reason.is_some() => "not-locally-sound",
                    _ => checked.verdict(),
                };
                Self { verdict: verdict.to_owned() + &progress, client: checked.litmus(), reason, ..cell }
            }
            Err(reason) => Self { reason: Some(reason), ..cell },
        }
    }
}

/// A request for a table.
pub struct Ask<'a> {
    /// True for the entries to check; the others may stand below them.
    pub is_chosen: &'a dyn Fn(&Entry) -> bool,
    /// The networks.
    pub networks: &'a [Network],
    /// The bound of an entry.
    pub bound: &'a dyn Fn(&Entry) -> Bound,
    /// Whether the whole stack is compared, down to the network, and not the implementation over the specifications
    /// below it.
    pub through: bool,
    /// The options of the check of one cell.
    pub options: &'a dyn Fn() -> Options<'static>,
}

/// Decides a cell for each network and each chosen entry, and visits it as soon as it is known.
pub fn decide(entries: &mut [Entry], ask: &Ask<'_>, visit: &mut dyn FnMut(Cell)) {
    let mut known: BTreeMap<(&str, Network), Cell> = BTreeMap::new();
    for &network in ask.networks {
        let moved: Vec<Result<(), String>> = entries.iter_mut().map(|entry| entry.move_to(network)).collect();
        let chosen = entries.iter().zip(moved).filter(|(e, _)| e.memory.switches.is_some() && (ask.is_chosen)(e));
        for (entry, moved) in chosen {
            // The libraries and their clients have no puts that are delivered.
            let promises = Network { name: "", delivers: false, ..network };
            let cell = known.entry((entry.name, promises)).or_insert_with(|| {
                let bound = (ask.bound)(entry);
                let (to, loopback) = if ask.through { (Through, false) } else { (Soundness, true) };
                let options = Options { ask: to, loopback, entries: &*entries, ..(ask.options)() };
                let checked = moved.and_then(|()| {
                    let variant = entry.variants.first().ok_or("it has no implementation")?;
                    check(entry, variant, &bound, &options)
                });
                Cell::of(entry, network, &bound, checked)
            });
            visit(Cell { network: network.name, ..cell.clone() });
        }
    }
}

/// Prints cells as a table: a row for each network, a column for each library.
#[must_use]
pub fn table(cells: &[Cell]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::ASCII_MARKDOWN);
    let networks = cells.iter().map(|cell| cell.network).unique().collect_vec();
    table.set_header(["network"].into_iter().chain(cells.iter().map(|cell| cell.library).unique()));
    for network in networks {
        let row = cells.iter().filter(|cell| cell.network == network).map(|cell| cell.verdict.as_str());
        table.add_row([network].into_iter().chain(row));
    }
    table.to_string() + "\n"
}
