//! `mowgli networks`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use itertools::Itertools;
use mowgli_core::problem::Limits;
use mowgli_core::soundness::client::Bound;
use mowgli_libraries::entry::Entry;
use mowgli_libraries::error::Error;
use mowgli_prove::solve::SolverProgram;
use mowgli_rdma::Network;
use mowgli_rdma::presets::PRESETS;

use super::bounds::Within;
use super::out::{files, save, text_of, worst};
use crate::catalogue::Catalogue;
use crate::check::CheckOptions;
use crate::error::{Code, InputError};
use crate::interrupt::Deadline;
use crate::networks::cases::{self, NetworkCase};
use crate::networks::shown::{Shown, is_good, repairs, table};
use crate::networks::{TableCell, TableRequest, decide};
use crate::prove::solvers;
use crate::report::{Made, MatrixCell, Page, VerdictTable};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli networks\n  mowgli networks --list\n  mowgli networks sv slock --network rc --network cxi\n  mowgli networks bal --calls 2 --json\n  mowgli networks sv rbl --repair --html networks.html\n  mowgli networks mp.litmus --repair"
)]
pub(super) struct NetworksArgs {
    /// The libraries over RDMA, and litmus tests or folders of them; all libraries, your own among them, if not given.
    names: Vec<String>,
    /// The networks; all presets if not given.
    #[arg(long, value_name = "NAME", value_parser = Network::named)]
    network: Vec<Network>,
    #[command(flatten)]
    within: Within,
    /// Compare outcomes of the whole stack, down to the network, with the specification.
    #[arg(long)]
    through: bool,
    /// Find the cheapest repair of what is not right, as `mowgli repair` does, and check it once more.
    #[arg(long)]
    repair: bool,
    /// Prove for every client what is sound within the bound, and repaired bodies.
    #[arg(long, conflicts_with = "through")]
    prove: bool,
    /// Write a page on which a cell opens what is wrong, and its repair.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the networks and their sources, and check nothing.
    #[arg(long)]
    list: bool,
    /// Print one JSON object for each library or test and network, one per line.
    #[arg(long)]
    json: bool,
    /// Seconds for one library or test on one network, and for a repair of one body.
    #[arg(long, value_name = "S", default_value_t = 60)]
    timeout: u64,
}

impl NetworksArgs {
    /// True if the command prints JSON.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    fn networks(&self) -> Vec<Network> {
        if self.network.is_empty() { PRESETS.map(|(network, _)| network).to_vec() } else { self.network.clone() }
    }

    /// Returns the bound of an entry: two threads on two nodes, with as many calls each as it takes to say anything.
    fn bound(&self, entry: &Entry) -> Bound {
        self.within.limited(vec![entry.through()]).swap_remove(0)
    }

    /// Prints a cell, if the output is JSON.
    fn print(&self, cell: &impl serde::Serialize) {
        if self.json {
            println!("{}", serde_json::to_string(cell).expect("strings"));
        }
    }
}

/// Prints the verdicts. Returns 0 if all are known, 2 for bad arguments, 3 if a limit stopped one.
pub(super) fn networks(args: &NetworksArgs, catalogue: Catalogue) -> Result<u8, InputError> {
    if args.list {
        PRESETS.iter().for_each(|(network, source)| println!("{network}: {source}"));
        return Ok(0);
    }
    let (paths, names): (Vec<&String>, Vec<&String>) = args.names.iter().partition(|name| Path::new(name).exists());
    if let Some(unknown) = names.iter().find(|name| !catalogue.names().contains(&name.as_str())) {
        return Err(catalogue.no_library(unknown).into());
    }
    let of_tests = tests(args, &catalogue, &paths)?;
    let is_named = |entry: &Entry| names.iter().any(|name| *name == entry.name);
    let mut entries = catalogue.into_entries();
    if let Some(local) = entries.iter().find(|entry| is_named(entry) && entry.memory.switches.is_none()) {
        return Err(InputError::of(Code::Argument, Error::NoNetwork(local.name)));
    }
    let limit = Duration::from_secs(args.timeout);
    let prover = |solvers| mowgli_prove::prove::ProofOptions { solvers, limit, executions: limit, keep: false };
    let prover = args.prove.then(|| solvers(&[SolverProgram::Z3]).map(prover)).transpose()?;
    let ask = TableRequest {
        is_chosen: &|entry| args.names.is_empty() || is_named(entry),
        networks: &args.networks(),
        bound: &|entry| args.bound(entry),
        through: args.through,
        repair: args.repair,
        prove: prover.as_ref(),
        options: &|| CheckOptions { deadline: Deadline::after(Some(args.timeout)), ..CheckOptions::default() },
    };
    let mut cells = Vec::new();
    decide(&mut entries, &ask, &mut |cell| {
        args.print(&cell);
        cells.push(cell);
    });
    let shown = of_tests.iter().map(NetworkCase::shown).chain(cells.iter().map(TableCell::shown)).collect_vec();
    let code = shown.iter().map(|cell| if cell.verdict == "undecided" { 3 } else { 0 }).fold(0, worst);
    if !args.json {
        print!("{}{}", table(&shown), repairs(&shown));
    }
    if let Some(file) = &args.html {
        save(file, &page(&of_tests, &cells).html())?;
        eprintln!("written to {}", file.display());
    }
    Ok(code)
}

/// Decides the litmus tests.
fn tests(args: &NetworksArgs, catalogue: &Catalogue, paths: &[&String]) -> Result<Vec<NetworkCase>, InputError> {
    let mut all = Vec::new();
    let found: Vec<Vec<PathBuf>> = paths.iter().map(|path| files(Path::new(path), &["litmus"])).try_collect()?;
    for file in found.concat() {
        let deadline = Deadline::after(Some(args.timeout));
        let ask = cases::CaseRequest {
            catalogue,
            networks: &args.networks(),
            repair: args.repair,
            rows: args.html.is_some(),
            limits: Limits { expired: &|| deadline.expired(), ..Limits::default() },
        };
        let found = cases::decide(&file, &text_of(&file)?, &ask)?;
        found.iter().for_each(|case| args.print(case));
        all.extend(found);
    }
    Ok(all)
}

/// Returns a page with the table, what is wrong, and the repairs.
fn page(tests: &[NetworkCase], cells: &[TableCell]) -> Page {
    let mut page = Page { title: "Networks".to_owned(), made: Some(Made::now()), ..Page::default() };
    let mut all: Vec<(Shown<'_>, MatrixCell)> = Vec::new();
    for case in tests {
        let test = case.row.as_ref().map(|_| page.tests.len());
        page.tests.extend(case.row.clone());
        all.push((case.shown(), MatrixCell { test, ..MatrixCell::default() }));
    }
    for cell in cells {
        let check = cell.row.as_ref().map(|_| page.checks.len());
        page.checks.extend(cell.row.clone());
        all.push((cell.shown(), MatrixCell { check, ..MatrixCell::default() }));
    }
    let columns = all.iter().map(|(shown, _)| shown.name.to_owned()).unique().collect();
    let row = |network: &str| {
        let own = all.iter().filter(|(shown, _)| shown.network == network);
        let cell = |(shown, cell): &(Shown<'_>, MatrixCell)| MatrixCell {
            text: shown.text(),
            is_good: is_good(shown.verdict),
            ..cell.clone()
        };
        (network.to_owned(), own.map(cell).collect())
    };
    let rows = all.iter().map(|(shown, _)| shown.network).unique().map(row).collect();
    page.matrix = VerdictTable { columns, rows };
    page
}
