//! `mowgli networks`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use clap::Args;
use itertools::Itertools;
use mowgli_core::search::problem::Limits;
use mowgli_core::soundness::client_log::Shard;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::entry::Entry;
use mowgli_libraries::error::Error;
use mowgli_prove::prove::{EXECUTIONS, ProofOptions};
use mowgli_prove::solve::{SolverLimit, SolverProgram};
use mowgli_rdma::Network;
use mowgli_rdma::presets::PRESETS;

use super::bounds::Within;
use super::out::{files, is_path, json, reported_in, save, text_of, worst};
use super::sharded::{Sharded, ShareToFile, is_shard};
use crate::catalogue::Catalogue;
use crate::check::CheckOptions;
use crate::error::{Code, InputError};
use crate::interrupt::{self, Deadline, SECOND};
use crate::networks::cases::{self, NetworkCase};
use crate::networks::shown::{Shown, is_good, repairs, table};
use crate::networks::{TableCell, TableRequest, decide};
use crate::prove::solvers;
use crate::report::{Made, MatrixCell, Page, VerdictTable};
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;
use crate::terminal::columns;

/// Seconds for one library or test on one network.
const LIMIT: u64 = 60;

#[derive(Args, Default)]
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
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    html: Option<PathBuf>,
    /// Print one table that is as wide as its cells.
    #[arg(long)]
    wide: bool,
    /// Print the networks and their sources, and check nothing.
    #[arg(long)]
    list: bool,
    /// Print one JSON object for each library or test and network, one per line.
    #[arg(long)]
    json: bool,
    /// Steps of the search for one library or test on one network, and for a repair of one body.
    #[arg(long, value_name = "N", default_value_t = LIMIT * SECOND)]
    steps: u64,
    /// Seconds after which each of these is cancelled.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    #[command(flatten)]
    shared: ShareToFile,
    /// The links above the page.
    #[arg(skip)]
    links: &'static str,
}

impl NetworksArgs {
    /// Returns the arguments for a page about these libraries, with links above it.
    pub(super) fn page_of(names: Vec<String>, html: PathBuf, links: &'static str) -> Self {
        Self { names, html: Some(html), links, steps: LIMIT * SECOND, ..Self::default() }
    }

    fn networks(&self) -> Vec<Network> {
        if self.network.is_empty() { PRESETS.map(|(network, _)| network).to_vec() } else { self.network.clone() }
    }

    /// Returns the bound of an entry: two threads on two nodes, with as many calls each as it takes to say anything.
    fn bound(&self, entry: &Entry) -> Bound {
        self.within.limited(vec![entry.through()]).swap_remove(0)
    }

    /// Splits the names into paths of tests and names of libraries.
    ///
    /// # Errors
    /// If a name is neither.
    fn split(&self, catalogue: &Catalogue) -> Result<(Vec<&String>, Vec<&String>), InputError> {
        let (paths, names): (Vec<&String>, Vec<&String>) = self.names.iter().partition(|name| is_path(catalogue, name));
        match names.iter().find(|name| !catalogue.names().contains(&name.as_str())) {
            Some(unknown) => Err(catalogue.no_library(unknown).into()),
            None => Ok((paths, names)),
        }
    }

    /// True if the table has the entry.
    fn has(&self, entry: &Entry) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| *name == entry.name)
    }

    /// Prints a cell, if the output is JSON. A share prints nothing.
    fn print(&self, cell: &impl serde::Serialize) {
        if self.json && self.share().is_none() {
            println!("{}", json(cell));
        }
    }
}

impl Sharded for NetworksArgs {
    fn share(&self) -> Option<(Shard, PathBuf)> {
        self.shared.share()
    }

    /// Returns nothing: a limit holds for one verdict.
    fn timeout(&self) -> Option<u64> {
        None
    }

    /// Hashes the tests, the networks, and the libraries with their published implementations.
    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        let mut hash = Hash::default();
        let (paths, _) = self.split(catalogue)?;
        self.networks().iter().for_each(|network| hash.add(&format!("{network:?}")));
        for path in texts(&paths)? {
            hash.add(&path.display().to_string());
            hash.add(&text_of(&path)?);
        }
        // The other libraries may stand below the chosen ones.
        let mut published = catalogue.entries().iter().filter_map(|entry| Some((entry, entry.variants.first()?)));
        published.try_for_each(|(entry, variant)| hash.add_library(entry, variant, &[self.bound(entry)]))?;
        Ok(hash)
    }

    fn run(&self, catalogue: Catalogue, _: &Deadline, log: Option<&ShardLog>) -> u8 {
        reported_in(self.json, networks(self, catalogue, log))
    }
}

/// Prints the verdicts; `log` holds the results of other processes. Returns 0 if all are known, 2 for bad arguments, 3 if
/// a limit stopped one. For tests it returns the worst code of `litmus`.
pub(super) fn networks(args: &NetworksArgs, catalogue: Catalogue, log: Option<&ShardLog>) -> Result<u8, InputError> {
    if args.list {
        PRESETS.iter().for_each(|(network, source)| println!("{network}: {source}"));
        return Ok(0);
    }
    let (paths, names) = args.split(&catalogue)?;
    let of_tests = tests(args, &catalogue, &paths, log)?;
    let is_named = |entry: &Entry| names.iter().any(|name| *name == entry.name);
    let mut entries = catalogue.into_entries();
    if let Some(local) = entries.iter().find(|entry| is_named(entry) && entry.memory.switches.is_none()) {
        return Err(InputError::of(Code::Argument, Error::NoNetwork(local.name)));
    }
    let limit = SolverLimit::of(LIMIT * SolverLimit::SECOND);
    let prover = |solvers| ProofOptions { solvers, limit, executions: EXECUTIONS, confirms: true, keep: false };
    let prover = args.prove.then(|| solvers(&[SolverProgram::Z3]).map(prover)).transpose()?;
    let part = log.map(|log| log.part("libraries".to_owned()));
    let ask = TableRequest {
        is_chosen: &|entry| args.has(entry),
        networks: &args.networks(),
        bound: &|entry| args.bound(entry),
        through: args.through,
        repair: args.repair,
        prove: prover.as_ref(),
        options: &|| CheckOptions {
            deadline: Deadline::after(args.timeout).within(args.steps),
            ..CheckOptions::default()
        },
        share: part.as_ref(),
    };
    let mut cells = Vec::new();
    decide(&mut entries, &ask, &mut |cell| {
        args.print(&cell);
        cells.push(cell);
    });
    if is_shard(log) {
        return Ok(0);
    }
    let shown = of_tests.iter().map(NetworkCase::shown).chain(cells.iter().map(TableCell::shown)).collect_vec();
    let of_cells = cells.iter().map(|cell| if cell.verdict == "undecided" { 3 } else { 0 });
    let code = of_tests.iter().map(|case| case.code).chain(of_cells).fold(0, worst);
    if !args.json {
        print!("{}{}", table(&shown, (!args.wide).then(columns)), repairs(&shown));
    }
    if let Some(file) = &args.html {
        save(file, &Page { links: args.links, ..page(&of_tests, &cells) }.html())?;
        eprintln!("written to {}", file.display());
    }
    Ok(code)
}

/// Lists the files of litmus tests.
fn texts(paths: &[&String]) -> Result<Vec<PathBuf>, InputError> {
    let found: Vec<Vec<PathBuf>> = paths.iter().map(|path| files(Path::new(path), &["litmus"])).try_collect()?;
    Ok(found.concat())
}

/// Decides the litmus tests.
fn tests(
    args: &NetworksArgs,
    catalogue: &Catalogue,
    paths: &[&String],
    log: Option<&ShardLog>,
) -> Result<Vec<NetworkCase>, InputError> {
    let mut all = Vec::new();
    let part = log.map(|log| log.part("tests".to_owned()));
    for (number, file) in texts(paths)?.into_iter().enumerate() {
        let deadline = Deadline::after(args.timeout).within(args.steps);
        let ask = cases::CaseRequest {
            catalogue,
            networks: &args.networks(),
            repair: args.repair,
            rows: args.html.is_some(),
            limits: Limits { expired: &|| deadline.expired(), ..Limits::default() },
        };
        let (text, wrong) = (text_of(&file)?, RefCell::new(None));
        let find = || cases::decide(&file, &text, &ask).map_err(|error| wrong.replace(Some(error))).unwrap_or_default();
        let is_partial = || interrupt::requested() || wrong.borrow().is_some();
        let found = match &part {
            Some(part) => part.unit(number, &is_partial, find).unwrap_or_default(),
            None => find(),
        };
        if let Some(error) = wrong.into_inner() {
            return Err(error);
        }
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
