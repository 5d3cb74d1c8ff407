//! The `networks` command: the verdict on each library on each network.
//!
//! **Computes**: a [`TableCell`] for each library and each network, within the bounds of each library.
//! **Example**: SV on `cxi` is unsound. Its global fence gets a word from each node, and there a read may pass a write.
//! **Correct because**: a cell is the verdict of [`check`] on the entry that [`Entry::move_to`] has moved.
//! A repair is checked once more, like a cell, with the repaired bodies in place of the own ones.
//! **Cost**: one check for each cell; networks with the same promises share one. A repair costs a check for each set of
//! insertions that no known client refutes.

pub mod cases;
pub(crate) mod run;
pub mod shown;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::rewrite::repair::Limit;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_rdma::Network;
use serde::{Deserialize, Serialize};

use crate::check::CheckQuestion::{Soundness, Through};
use crate::check::{CheckOptions, Checked, check};
use crate::error::{Code, InputError};
use crate::interrupt::{self, Failure};
use crate::prove;
use crate::repair::Costs;
use crate::repair::bodies::{BodyRepair, BodyRepairRequest, repair};
use crate::report::{CheckRow, RepairRow};
use crate::shards::log::RunPart;

use self::shown::{CheapestRepair, Shown, StaticText, head, is_good, some_text, text};

/// The verdict on a library on a network.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableCell {
    /// The library.
    #[serde(deserialize_with = "text")]
    pub library: StaticText,
    /// The variant of its implementation.
    #[serde(deserialize_with = "text")]
    pub variant: StaticText,
    /// The network.
    #[serde(deserialize_with = "text")]
    pub network: StaticText,
    /// The verdict in one word, with the one on termination if calls do not return.
    pub verdict: String,
    /// The bounds, as arguments of `check`. Of a wrong or open verdict it is the one that shows it.
    pub bound: String,
    /// The smallest client that shows why it is unsound, as a litmus test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The limit that kept the verdict from being known, or the reason why the library is not defined here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The prover's verdict for every client; `None` if it was not asked.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "some_text")]
    pub proved: Option<StaticText>,
    /// The obligations that the prover left open.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub open: Vec<String>,
    /// The cheapest repair if it is not right, if it was searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<CheapestRepair>,
    /// The check on a page, if it found something wrong.
    #[serde(skip)]
    pub row: Option<CheckRow>,
}

impl TableCell {
    /// True if a client shows that the library is not sound here, or LOCO Def. 3.13 fails.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        is_good(&self.verdict) == Some(false)
    }

    /// Adds a repair to the check on a page.
    fn draw(&mut self, repair: &CheapestRepair) {
        let CheapestRepair { cost, insert, text, verdict, .. } = repair;
        let end = if cost.is_some() { format!("With it: {verdict}") } else { verdict.clone() };
        let row = RepairRow::of_one(&end, *cost, insert, text);
        self.row.iter_mut().for_each(|check| check.repair = Some(row.clone()));
    }

    /// Returns what a table shows of it.
    #[must_use]
    pub fn shown(&self) -> Shown<'_> {
        let (network, repair) = (self.network, self.repair.as_ref());
        Shown { network, name: self.library, verdict: &self.verdict, proved: self.proved, repair }
    }

    fn of(entry: &Entry, network: Network, bounds: &[Bound], checked: Result<Checked, InputError>) -> Self {
        let variant = entry.variants.first().map_or("", |v| v.name);
        let bound = match &checked {
            Ok(checked) if is_good(checked.verdict()) != Some(true) => crate::check::arguments(&checked.bound),
            _ => bounds.iter().map(crate::check::arguments).join("; "),
        };
        let cell = Self {
            library: entry.name,
            variant,
            network: network.name,
            verdict: "not defined".to_owned(),
            bound,
            client: None,
            reason: None,
            proved: None,
            open: Vec::new(),
            repair: None,
            row: None,
        };
        match checked {
            Ok(checked) => {
                let also = checked.stuck().filter(|_| checked.report.violation.is_some());
                let progress = also.map(|_| format!(", {}", checked.progress())).unwrap_or_default();
                let reason = checked.stop().map(ToString::to_string);
                // A limit may stop the search for a wrong outcome after local soundness has failed.
                let verdict = match checked.report.violation {
                    Some(_) if reason.is_some() => "not-locally-sound",
                    _ => checked.verdict(),
                };
                let cell = Self { verdict: verdict.to_owned() + &progress, reason, ..cell };
                let row = cell.is_wrong().then(|| CheckRow::new(&checked));
                Self { client: checked.litmus(), row, ..cell }
            }
            Err(error) => Self { reason: Some(error.to_string()), ..cell },
        }
    }
}

/// A request for a table.
#[derive(Clone, Copy)]
pub struct TableRequest<'a> {
    /// True for the entries to check; the others may stand below them.
    pub is_chosen: &'a dyn Fn(&Entry) -> bool,
    /// The networks.
    pub networks: &'a [Network],
    /// The bounds of an entry.
    pub bounds: &'a dyn Fn(&Entry) -> Vec<Bound>,
    /// Whether the whole stack is compared, down to the network, and not the implementation over the specifications
    /// below it.
    pub through: bool,
    /// Whether to search for the cheapest repair of what is not right.
    pub repair: bool,
    /// The options for a proof for every client of what is sound within the bound, and of repaired bodies.
    pub prove: Option<&'a mowgli_prove::prove::ProofOptions>,
    /// The options of the check of one cell.
    pub options: &'a dyn Fn() -> CheckOptions<'static>,
    /// The share of the cells that this process decides, and the results of others; `None` if it decides all.
    pub share: Option<&'a RunPart<'a>>,
}

/// Decides a cell for each network and each chosen entry, and visits it as soon as it is known. It skips those that
/// another process decides.
pub fn decide(entries: &mut [Entry], ask: &TableRequest<'_>, visit: &mut dyn FnMut(TableCell)) {
    let mut known: BTreeMap<(&str, Network), Option<TableCell>> = BTreeMap::new();
    for &network in ask.networks {
        let moved: Vec<Result<(), InputError>> = entries.iter_mut().map(|entry| Ok(entry.move_to(network)?)).collect();
        for (at, moved) in moved.into_iter().enumerate() {
            let entry = &entries[at];
            if entry.memory.switches.is_none() || !(ask.is_chosen)(entry) {
                continue;
            }
            // The libraries and their clients have no puts that are delivered.
            let key = (entry.name, Network { name: "", delivers: false, ..network });
            let number = known.len();
            let cell = known.entry(key).or_insert_with(|| {
                let find = || cell(entries, at, (network, moved), ask);
                match ask.share {
                    Some(share) => share.unit(number, &interrupt::requested, find),
                    None => Some(find()),
                }
            });
            cell.iter().for_each(|cell| visit(TableCell { network: network.name, ..cell.clone() }));
        }
    }
}

/// Decides the cell of an entry that was moved to a network. It asks for the bounds of an entry once, because they may come from an
/// enumeration of its clients.
fn cell(
    entries: &mut [Entry],
    at: usize,
    (network, moved): (Network, Result<(), InputError>),
    ask: &TableRequest<'_>,
) -> TableCell {
    let known = RefCell::new(BTreeMap::new());
    let bounds = |entry: &Entry| -> Vec<Bound> {
        known.borrow_mut().entry(entry.name).or_insert_with(|| (ask.bounds)(entry)).clone()
    };
    let ask = &TableRequest { bounds: &bounds, ..*ask };
    let checked = moved.and_then(|()| checked(entries, at, ask));
    let mut cell = TableCell::of(&entries[at], network, &(ask.bounds)(&entries[at]), checked);
    if ask.repair && cell.is_wrong() {
        let repair = mended(entries, at, ask);
        cell.draw(&repair);
        cell.repair = Some(repair);
    } else if cell.verdict == "sound" {
        match for_every_client(&entries[at], ask) {
            Ok((word, open)) => (cell.proved, cell.open) = (word, open),
            Err(failure) => cell.reason = Some(failure.to_string()),
        }
    }
    cell
}

/// Returns the first variant of an entry.
fn first(entry: &Entry) -> Result<&Variant, InputError> {
    entry.variants.first().ok_or_else(|| InputError::new(Code::Library, "it has no implementation"))
}

/// Checks the first variant of an entry within its bounds. Returns the first check that finds something wrong, or else one that is open.
fn checked(entries: &[Entry], at: usize, ask: &TableRequest<'_>) -> Result<Checked, InputError> {
    let entry = &entries[at];
    let (to, loopback) = if ask.through { (Through, false) } else { (Soundness, true) };
    let options = CheckOptions { ask: to, loopback, entries, ..(ask.options)() };
    let variant = first(entry)?;
    let mut found: Option<Checked> = None;
    for bound in (ask.bounds)(entry) {
        let checked = check(entry, variant, &bound, &options)?;
        if is_good(checked.verdict()) == Some(false) {
            return Ok(checked);
        }
        if found.as_ref().is_none_or(|known| is_good(known.verdict()) == Some(true)) {
            found = Some(checked);
        }
    }
    Ok(found.expect("an entry has a bound"))
}

/// Repairs an entry, and checks it once more. Of a whole stack this repairs each library over the specifications below it,
/// the lowest one first. The entries keep their implementations.
fn mended(entries: &mut [Entry], at: usize, ask: &TableRequest<'_>) -> CheapestRepair {
    let all = if ask.through { stack(entries, at) } else { vec![at] };
    let mut before: Vec<(usize, Arc<dyn Implementation>)> = Vec::new();
    let (mut cost, mut insert, mut text, mut reason) = (0, Vec::new(), Vec::new(), None);
    for &part in &all {
        let entry = &entries[part];
        let of = |line: &String| if all.len() > 1 { format!("{}: {line}", entry.name) } else { line.clone() };
        match cheapest(entry, ask) {
            Ok(None) => {}
            Ok(Some(reported)) => {
                let own = &entry.variants[0].implementation;
                cost += reported.cost;
                insert.extend(reported.insert.iter().map(of));
                text.extend(reported.changed(&**own).iter().map(of));
                before.push((part, mem::replace(&mut entries[part].variants[0].implementation, reported.with)));
            }
            Err(why) => {
                reason = Some(CheapestRepair { verdict: of(&why.verdict), ..*why });
                break;
            }
        }
    }
    let again = if before.is_empty() { None } else { Some(checked(entries, at, ask)) };
    let proved = again.as_ref().map_or(Ok(ProverVerdict::default()), |_| for_every_client(&entries[at], ask));
    before.into_iter().for_each(|(part, own)| entries[part].variants[0].implementation = own);
    match (reason, again) {
        (Some(reason), _) => reason,
        (None, None) => CheapestRepair::none("no body of the stack is wrong over the specifications below it"),
        (None, Some(Err(error))) => CheapestRepair::none(error.to_string()),
        (None, Some(Ok(checked))) => {
            let (proved, open) = match proved {
                Ok(proof) => proof,
                Err(failure) => return CheapestRepair::none(failure.to_string()),
            };
            let is_right = is_good(checked.verdict()) == Some(true);
            let verdict = checked.verdict().to_owned();
            CheapestRepair { cost: is_right.then_some(cost), is_open: false, insert, text, verdict, proved, open }
        }
    }
}

/// The prover's verdict, and what it left open.
type ProverVerdict = (Option<&'static str>, Vec<String>);

/// Returns the prover's verdict on the first variant of an entry; `None` if it is not asked. It is not asked about stacks,
/// because a proof is one over the specifications below.
fn for_every_client(entry: &Entry, ask: &TableRequest<'_>) -> Result<ProverVerdict, Failure> {
    let (Some(options), false) = (ask.prove, ask.through) else { return Ok(ProverVerdict::default()) };
    let (verdict, open) = prove::for_every_client(entry, first(entry)?, options)?;
    Ok((Some(verdict.text()), open))
}

/// Returns the entries of a stack: an entry and all below it, each behind those that it is implemented over.
fn stack(entries: &[Entry], at: usize) -> Vec<usize> {
    let below = entries[at].below.names().filter_map(|name| entries.iter().position(|e| e.name == name.text()));
    below.flat_map(|below| stack(entries, below)).chain([at]).unique().collect()
}

/// Returns the cheapest repair of an implementation over the specifications below it; `None` if nothing is to be changed.
fn cheapest(entry: &Entry, ask: &TableRequest<'_>) -> Result<Option<BodyRepair>, Box<CheapestRepair>> {
    let not_found = |is_open, why: String| Box::new(CheapestRepair::not_found(is_open, why));
    let failed = |why: Failure| not_found(matches!(why, Failure::Undecided(_)), why.to_string());
    let variant = first(entry).map_err(|why| failed(why.into()))?;
    let options = (ask.options)();
    let costs = Costs::default();
    let limit = Limit { repairs: 1, ..Limit::default() };
    let ask = BodyRepairRequest { limit, ..BodyRepairRequest::new(&costs, &options, (ask.bounds)(entry)) };
    let found = repair(entry, variant, &ask).map_err(failed)?;
    let (is_open, why) = (found.code() == 3, head(&found.text()));
    match (found.is_done, found.repairs.into_iter().next()) {
        (Some(true), _) => Ok(None),
        (_, Some(reported)) => Ok(Some(reported)),
        (_, None) => Err(not_found(is_open, why)),
    }
}
