//! A report: libraries, litmus tests and findings, checked and put on a page.

use std::path::{Path, PathBuf};

use clap::Args;
use mowgli_core::search::problem::Limits;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_rdma::Network;

use crate::args::bounds::Placement;
use crate::args::network::On;
use crate::catalogue::Catalogue;
use crate::check::{CheckOptions, Checked};
use crate::error::{Code, InputError};
use crate::explain;
use crate::interrupt::{self, Deadline, Failure, SECOND};
use crate::out::{files, is_path, on, parsed, reported, text_of, worst};
use crate::repair::Costs;
use crate::repair::bodies::{BodyRepairRequest, repair};
use crate::report::{CheckRow, Drawn, FindingRow, Made, Page, RepairRow, TestRow};
use crate::stages::check_bounds;

/// The sources of a page.
#[derive(Args, Default)]
#[command(
    after_help = "Examples:\n  mowgli report bal bal:no-fence --out page\n  mowgli report tests/litmus --out page\n  mowgli report sv --network cxi --repair --out page"
)]
pub(crate) struct ReportArgs {
    /// Libraries as bal, or bal:no-fence for a variant; litmus tests; findings that `check --out` kept; reviewed snapshots of
    /// executions, .snap; folders of tests or snapshots. If nothing is named, the libraries of your own, or
    /// else all.
    pub(crate) what: Vec<String>,
    /// The folder for the page, index.html.
    #[arg(long, value_name = "DIR", required_unless_present = "json")]
    pub(crate) out: Option<PathBuf>,
    /// Print what a page would show as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Every variant of the libraries, not only the published implementations.
    #[arg(long)]
    pub(crate) variants: bool,
    /// Beside each counterexample the least to insert, as `mowgli repair` finds it, within as many seconds again.
    #[arg(long)]
    pub(crate) repair: bool,
    /// The accesses of clients to memory of their own node in the search for a wrong outcome.
    #[arg(long, value_enum, default_value = "any")]
    pub(crate) placement: Placement,
    #[command(flatten)]
    pub(crate) on: On,
    /// Seconds for each implementation and each test.
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<u64>,
}

/// A request for a page, of libraries on a network.
pub(crate) struct ReportRequest<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) args: &'a ReportArgs,
    pub(crate) title: &'static str,
    /// The links above the page.
    pub(crate) links: &'static str,
}

impl ReportRequest<'_> {
    /// Writes the page. Returns 0 on success, 2 if something could not be shown, 3 if a limit left something open. For tests it returns
    /// the worst code of `litmus`.
    ///
    /// # Errors
    /// If the page cannot be written.
    pub(crate) fn print(&self) -> Result<u8, InputError> {
        let mut page =
            Page { title: self.title.to_owned(), made: Some(Made::now()), links: self.links, ..Page::default() };
        let mut code = 0;
        let names = if self.args.what.is_empty() {
            self.catalogue.usual().map(str::to_owned).collect()
        } else {
            self.args.what.clone()
        };
        for name in names {
            if interrupt::requested() {
                page.errors.push(format!("interrupted before {name}"));
                code = worst(code, 3);
                continue;
            }
            let added = if is_path(self.catalogue, &name) {
                self.add_files(&mut page, Path::new(&name))
            } else {
                self.add_library(&mut page, &name)
            };
            for failure in added.err().unwrap_or_default() {
                page.errors.push(failure.to_string());
                code = worst(code, reported(Err(failure)));
            }
        }
        if page.is_stopped() {
            code = worst(code, 3);
        }
        code = page.tests.iter().map(|row| row.verdict().code()).fold(code, worst);
        if self.args.json {
            println!("{}", page.json());
        }
        // A page of nothing but wrong names would be no report.
        let is_empty = code == 2 && page.checks.is_empty() && page.tests.is_empty() && page.findings.is_empty();
        if let Some(out) = self.args.out.as_deref().filter(|_| !is_empty) {
            let file = out.join("index.html");
            let written = std::fs::create_dir_all(out).and_then(|()| std::fs::write(&file, page.html()));
            written.map_err(|e| InputError::file(&file, e))?;
            eprintln!("written to {}", file.display());
        }
        Ok(code)
    }

    fn add_files(&self, page: &mut Page, path: &Path) -> Result<(), Vec<Failure>> {
        let files = files(path, &["litmus", "snap"]).map_err(|message| vec![message.into()])?;
        let failed: Vec<Failure> = files.iter().filter_map(|file| self.add_file(page, file).err()).collect();
        if failed.is_empty() { Ok(()) } else { Err(failed) }
    }

    fn add_file(&self, page: &mut Page, file: &Path) -> Result<(), Failure> {
        let name = file.display().to_string();
        let text = text_of(file)?;
        let is_test = file.extension().is_some_and(|x| x == "litmus");
        if let Some(network) = self.args.on.network.filter(|network| !is_test && *network != Network::RC) {
            let error = InputError::new(Code::Argument, format!("{name} is an execution on a network of its own"));
            return Err(error.help(format!("leave out --network {network}")).into());
        }
        let deadline = Deadline::after(self.args.timeout);
        let expired = || deadline.expired();
        let limits = Limits { expired: &expired, ..Limits::default() };
        if file.extension().is_some_and(|x| x == "ron") {
            let finding = explain::read(self.catalogue, &text).map_err(|e| e.within(&name))?;
            let explained = explain::explain(self.catalogue, finding, limits).map_err(|e| e.within(&name))?;
            page.findings.push(FindingRow::new(&explained));
            return Ok(());
        }
        if file.extension().is_some_and(|x| x == "snap") {
            let row = FindingRow::of_snapshot(self.catalogue, &name, &text, limits).map_err(|e| e.within(&name))?;
            page.findings.push(row);
            return Ok(());
        }
        let text = on(file, &text, self.args.on.network)?;
        let test = parsed(self.catalogue, file, &text)?;
        let row = TestRow::new(self.catalogue, &test, &text, &[], Drawn::All, limits, &mut |_| {})?;
        let more = Deadline::after(self.args.timeout);
        let limits = Limits { expired: &|| more.expired(), ..limits };
        page.tests.push(if self.args.repair && row.verdict().is_wrong() {
            row.with_repair(self.catalogue, &test, &[], limits)
        } else {
            row
        });
        Ok(())
    }

    fn add_library(&self, page: &mut Page, name: &str) -> Result<(), Vec<Failure>> {
        let (library, variant) = name.split_once(':').map_or((name, None), |(l, v)| (l, Some(v)));
        let added = match named(self.catalogue.entries(), library) {
            Ok(entry) => self.add_checks(page, entry, variant),
            Err(_) => Err(self.catalogue.neither(name).into()),
        };
        added.map_err(|failure| vec![failure])
    }

    fn add_checks(&self, page: &mut Page, entry: &Entry, variant: Option<&str>) -> Result<(), Failure> {
        let variants: Vec<&Variant> = match variant {
            Some(variant) => vec![entry.variant(variant)?],
            None if self.args.variants => entry.variants.iter().collect(),
            None => vec![&entry.variants[0]],
        };
        for variant in variants {
            let loopback = self.args.placement == Placement::Any;
            let options =
                CheckOptions { deadline: Deadline::after(self.args.timeout), loopback, ..CheckOptions::default() };
            let first = page.checks.len();
            let mut each = |checked: Checked| page.checks.push(CheckRow::new(&checked));
            check_bounds(entry, variant, &variant.bounds, &options, None, &mut each)?;
            let wrong = page.checks[first..].iter_mut().find(|row| row.is_wrong());
            if let Some(row) = wrong.filter(|row| row.is_small() && loopback) {
                // Without network accesses to the own node a counterexample needs more threads, so it is more typical.
                let options = CheckOptions { deadline: Deadline::after(self.args.timeout), loopback: false, ..options };
                check_bounds(entry, variant, &variant.bounds, &options, None, &mut |checked| {
                    row.add_typical(&checked)
                })?;
            }
            let wrong = page.checks[first..].iter_mut().find(|row| row.is_wrong());
            if let Some(row) = wrong.filter(|_| self.args.repair) {
                let options =
                    CheckOptions { deadline: Deadline::after(self.args.timeout).within(600 * SECOND), ..options };
                let costs = Costs::default();
                let ask = BodyRepairRequest::new(&costs, &options, variant.bounds.clone());
                let found = repair(entry, variant, &ask)?;
                let ways = found.repairs.iter().map(|way| (way.cost, &way.insert[..], &way.because[..]));
                row.repair = Some(RepairRow::of_bodies(&found.text(), found.undecided.as_deref(), ways));
            }
        }
        Ok(())
    }
}
