//! The table of verdicts on networks, for libraries and for litmus tests.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use clap::Args;
use itertools::Itertools;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::entry::Entry;
use mowgli_libraries::error::Error;
use mowgli_prove::prove::{EXECUTIONS, ProofOptions};
use mowgli_prove::smt::solve::{SolverLimit, SolverProgram};
use mowgli_rdma::Network;
use mowgli_rdma::presets::PRESETS;

use super::cases::{self, NetworkCase};
use super::shown::{Shown, grouped, is_good, repairs, table};
use super::{TableCell, TableRequest, decide};
use crate::args::bounds::{Within, for_libraries};
use crate::args::share::ShareToFile;
use crate::catalogue::Catalogue;
use crate::check::CheckOptions;
use crate::error::{Code, InputError};
use crate::interrupt::{self, Deadline, SECOND};
use crate::out::{files, is_path, json, save, text_of, worst};
use crate::prove::solvers;
use crate::report::{Made, MatrixCell, Page, VerdictTable};
use crate::shards::identity::Hash;
use crate::shards::log::{ShardLog, is_shard};
use crate::terminal::columns;

/// Seconds for one library or test on one network.
pub(crate) const LIMIT: u64 = 60;

#[derive(Args, Default)]
#[command(
    after_help = "Examples:\n  mowgli networks\n  mowgli networks --list\n  mowgli networks sv slock --network rc --network cxi\n  mowgli networks bal --calls 2 --json\n  mowgli networks sv rbl --repair --html networks.html\n  mowgli networks mp.litmus --repair\n\nExit codes: of tests those of `mowgli litmus`. Of libraries 0 if each verdict is known, right or wrong, and 3 otherwise."
)]
pub(crate) struct NetworksArgs {
    /// The libraries over RDMA, and litmus tests or folders of them; all libraries, your own among them, if not given.
    pub(crate) names: Vec<String>,
    /// The networks; all presets if not given.
    #[arg(long, value_name = "NAME", value_parser = Network::named)]
    pub(crate) network: Vec<Network>,
    #[command(flatten)]
    pub(crate) within: Within,
    /// Compare outcomes of the whole stack, down to the network, with the specification.
    #[arg(long)]
    pub(crate) through: bool,
    /// Find the cheapest repair of what is not right, as `mowgli repair` does, and check it once more.
    #[arg(long)]
    pub(crate) repair: bool,
    /// Prove for every client what is sound within the bound, and repaired bodies.
    #[arg(long, conflicts_with = "through")]
    pub(crate) prove: bool,
    /// Write a page on which a cell opens what is wrong, and its repair.
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub(crate) html: Option<PathBuf>,
    /// Print one table that is as wide as its cells.
    #[arg(long)]
    pub(crate) wide: bool,
    /// Print the networks and their sources, and check nothing.
    #[arg(long)]
    pub(crate) list: bool,
    /// Print one JSON object for each library or test and network, one per line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Steps of the search for one library or test on one network, and for a repair of one body.
    #[arg(long, value_name = "N", default_value_t = LIMIT * SECOND)]
    pub(crate) steps: u64,
    /// Seconds after which each of these is cancelled.
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<u64>,
    #[command(flatten)]
    pub(crate) shared: ShareToFile,
}

/// A table of verdicts.
pub(crate) struct NetworkTable<'a> {
    args: &'a NetworksArgs,
    networks: Vec<Network>,
    /// The links above the page.
    links: &'static str,
}

impl<'a> NetworkTable<'a> {
    /// Returns the table that the arguments describe, with these links above its page.
    pub(crate) fn new(args: &'a NetworksArgs, links: &'static str) -> Self {
        let all = || PRESETS.map(|(network, _)| network).to_vec();
        let chosen = || args.network.iter().copied().unique_by(|network| network.name).collect();
        Self { args, networks: if args.network.is_empty() { all() } else { chosen() }, links }
    }

    /// Returns the bounds of a library. Two threads on two nodes make as many calls each as it takes to say anything, or twice as many.
    fn bounds(&self, entry: &Entry) -> Vec<Bound> {
        self.args.within.limited(if self.args.through { vec![entry.through()] } else { entry.on_networks() })
    }

    /// Splits the names into paths of tests and names of libraries.
    ///
    /// # Errors
    /// If a name is neither.
    fn split(&self, catalogue: &Catalogue) -> Result<(Vec<&'a String>, Vec<&'a String>), InputError> {
        let (paths, names): (Vec<&'a String>, Vec<&'a String>) =
            self.args.names.iter().partition(|name| is_path(catalogue, name));
        match names.iter().find(|name| !catalogue.names().contains(&name.as_str())) {
            Some(unknown) => Err(catalogue.neither(unknown)),
            None => Ok((paths, names)),
        }
    }

    /// True if the table has the entry.
    fn has(&self, entry: &Entry) -> bool {
        self.args.names.is_empty() || self.args.names.iter().any(|name| *name == entry.name)
    }

    /// Prints a cell, if the output is JSON. A share prints nothing.
    fn print(&self, cell: &impl serde::Serialize, log: Option<&ShardLog>) {
        if self.args.json && !is_shard(log) {
            println!("{}", json(cell));
        }
    }

    /// Hashes the tests, the networks, and the libraries with their published implementations.
    ///
    /// # Errors
    /// If a test cannot be read, or a name is neither a path nor a library.
    pub(crate) fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        let mut hash = Hash::default();
        let (paths, _) = self.split(catalogue)?;
        self.networks.iter().for_each(|network| hash.add(&format!("{network:?}")));
        for path in texts(&paths)? {
            hash.add(&path.display().to_string());
            hash.add(&text_of(&path)?);
        }
        // The other libraries may stand below the chosen ones.
        let mut published = catalogue.entries().iter().filter_map(|entry| Some((entry, entry.variants.first()?)));
        published.try_for_each(|(entry, variant)| hash.add_library(entry, variant, &self.bounds(entry)))?;
        Ok(hash)
    }

    /// Prints the verdicts; `log` holds the results of other processes. Returns 0 if all are known, 2 for bad arguments, 3 if
    /// a limit stopped one. For tests it returns the worst code of `litmus`.
    ///
    /// # Errors
    /// If a test cannot be read, a name is neither a path nor a library, or a library has no networks. Also if only tests are named, and
    /// an option is for libraries.
    pub(crate) fn print_verdicts(&self, catalogue: Catalogue, log: Option<&ShardLog>) -> Result<u8, InputError> {
        let (paths, names) = self.split(&catalogue)?;
        if !paths.is_empty() && names.is_empty() {
            let Self { args: NetworksArgs { within, through, prove, .. }, .. } = self;
            for_libraries(within.is_given() || *through || *prove, "bounds as --threads, --through and --prove")?;
        }
        let of_tests = self.tests(&catalogue, &paths, log)?;
        let is_named = |entry: &Entry| names.iter().any(|name| *name == entry.name);
        let mut entries = catalogue.into_entries();
        if let Some(local) = entries.iter().find(|entry| is_named(entry) && entry.memory.switches.is_none()) {
            return Err(InputError::of(Code::Argument, Error::NoNetwork(local.name)));
        }
        let limit = SolverLimit::of(LIMIT * SolverLimit::SECOND);
        let prover = |solvers| ProofOptions {
            solvers,
            limit,
            executions: EXECUTIONS,
            confirms: true,
            keep: false,
            diagnoses: true,
        };
        let prover = self.args.prove.then(|| solvers(&[SolverProgram::Z3]).map(prover)).transpose()?;
        let part = log.map(|log| log.part("libraries".to_owned()));
        let ask = TableRequest {
            is_chosen: &|entry| self.has(entry),
            networks: &self.networks,
            bounds: &|entry| self.bounds(entry),
            through: self.args.through,
            repair: self.args.repair,
            prove: prover.as_ref(),
            options: &|| CheckOptions {
                deadline: Deadline::after(self.args.timeout).within(self.args.steps),
                ..CheckOptions::default()
            },
            share: part.as_ref(),
        };
        let mut cells = Vec::new();
        decide(&mut entries, &ask, &mut |cell| {
            self.print(&cell, log);
            cells.push(cell);
        });
        if is_shard(log) {
            return Ok(0);
        }
        let shown = of_tests.iter().map(NetworkCase::shown).chain(cells.iter().map(TableCell::shown)).collect_vec();
        let of_cells = cells.iter().map(|cell| if cell.verdict == "undecided" { 3 } else { 0 });
        let code = of_tests.iter().map(|case| case.code).chain(of_cells).fold(0, worst);
        if !self.args.json {
            print!("{}{}{}", table(&shown, (!self.args.wide).then(columns)), within(&cells), repairs(&shown));
        }
        if let Some(file) = &self.args.html {
            save(file, &Page { links: self.links, ..page(&of_tests, &cells) }.html())?;
            eprintln!("written to {}", file.display());
        }
        Ok(code)
    }

    /// Decides the litmus tests.
    fn tests(
        &self,
        catalogue: &Catalogue,
        paths: &[&String],
        log: Option<&ShardLog>,
    ) -> Result<Vec<NetworkCase>, InputError> {
        let mut all = Vec::new();
        let part = log.map(|log| log.part("tests".to_owned()));
        for (number, file) in texts(paths)?.into_iter().enumerate() {
            let ask = cases::CaseRequest {
                catalogue,
                networks: &self.networks,
                repair: self.args.repair,
                rows: self.args.html.is_some(),
                deadline: &|| Deadline::after(self.args.timeout).within(self.args.steps),
            };
            let (text, wrong) = (text_of(&file)?, RefCell::new(None));
            let find =
                || cases::decide(&file, &text, &ask).map_err(|error| wrong.replace(Some(error))).unwrap_or_default();
            let is_partial = || interrupt::requested() || wrong.borrow().is_some();
            let found = match &part {
                Some(part) => part.unit(number, &is_partial, find).unwrap_or_default(),
                None => find(),
            };
            if let Some(error) = wrong.into_inner() {
                return Err(error);
            }
            found.iter().for_each(|case| self.print(case, log));
            all.extend(found);
        }
        Ok(all)
    }
}

/// Prints the bounds within which libraries have their verdicts.
fn within(cells: &[TableCell]) -> String {
    let known = cells.iter().filter(|cell| cell.verdict != "not defined");
    let of = |(cells, (verdict, bound)): (Vec<&TableCell>, (String, String))| {
        format!("{} {verdict} within {bound}\n", cells.iter().map(|cell| cell.library).unique().join(", "))
    };
    grouped(known, |cell| (cell.verdict.clone(), cell.bound.clone())).into_iter().map(of).collect()
}

/// Lists the files of litmus tests.
fn texts(paths: &[&String]) -> Result<Vec<PathBuf>, InputError> {
    let found: Vec<Vec<PathBuf>> = paths.iter().map(|path| files(Path::new(path), &["litmus"])).try_collect()?;
    Ok(found.concat())
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
