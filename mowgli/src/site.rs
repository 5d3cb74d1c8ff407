//! A site: the playground, the book, reports and the table of networks as files, which need no server.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use mowgli_libraries::entry::Entry;

use crate::book;
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::interrupt::SECOND;
use crate::networks::run::{LIMIT, NetworkTable, NetworksArgs};
use crate::out::worst;
use crate::report::{EDITOR, Page, Playground, SCRIPT, STYLE, solver_script};
use crate::reporting::{ReportArgs, ReportRequest};

/// The bytes with which every file of WebAssembly begins.
const MAGIC: &[u8] = b"\0asm";

/// The pages that take minutes: the folder, the title, and the command that adds it.
const LONG_PAGES: [(&str, &str, &str); 3] = [
    ("report", "The libraries", "mowgli site --report"),
    ("networks", "The networks", "mowgli site --networks"),
    ("gallery", "The gallery", "mowgli gallery site --report"),
];

/// The links above a page in a folder of its own.
const BACK: &str =
    "<nav aria-label=\"The site\"><a href=\"../index.html\">Playground</a> <a href=\"../book.html\">The book</a></nav>";

/// The folder, and the solver.
#[derive(Args)]
#[command(
    group(ArgGroup::new("checks").args(["report", "networks"]).multiple(true)),
    after_help = "Example:\n  cargo rustc --profile web --target wasm32-unknown-unknown -p mowgli-web --crate-type cdylib\n  mowgli site --solver target/wasm32-unknown-unknown/web/mowgli_web.wasm --out site"
)]
pub(crate) struct SiteArgs {
    /// The folder for the site: the playground is its index.html, the contents of the book are its book.html.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// The WebAssembly of the crate `mowgli-web`.
    #[arg(long, value_name = "FILE")]
    pub(crate) solver: PathBuf,
    /// Check all libraries, too, and write the report about them to report/, and that about libraries of your own to gallery/.
    #[arg(long)]
    pub(crate) report: bool,
    /// Check the libraries on all networks, too, and write the table to networks/.
    #[arg(long)]
    pub(crate) networks: bool,
    /// The libraries for --report and --networks; all if not given.
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "checks")]
    pub(crate) only: Vec<String>,
    /// The public address of the playground, for links: the page's own address otherwise.
    #[arg(long, value_name = "URL", value_parser = public_address)]
    pub(crate) address: Option<String>,
    /// The steps for one test, in seconds that they usually take. Ten times as many seconds cancel it.
    #[arg(long, default_value_t = 30, value_name = "S")]
    pub(crate) timeout: u64,
}

/// Reads an address that other people can open; links append a fragment to it.
pub(crate) fn public_address(text: &str) -> Result<String, InputError> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    if host.is_none_or(|host| host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '#')) {
        let error = InputError::new(Code::Argument, format!("{text} is not the address of a page"));
        return Err(error.help("give one as https://example.org/mowgli/, without #"));
    }
    Ok(text.to_owned())
}

impl SiteArgs {
    /// Returns the names of those of the entries that the pages are about.
    ///
    /// # Errors
    /// If a name is no library.
    fn chosen(&self, catalogue: &Catalogue, entries: &[&Entry]) -> Result<Vec<String>, InputError> {
        if let Some(unknown) = self.only.iter().find(|name| !catalogue.names().contains(&name.as_str())) {
            return Err(catalogue.no_library(unknown).into());
        }
        let names = entries.iter().map(|entry| entry.name.to_owned());
        Ok(names.filter(|name| self.only.is_empty() || self.only.contains(name)).collect())
    }

    /// Returns the libraries for each page of [`LONG_PAGES`]; none for a page that is not to be written.
    fn subjects(&self, catalogue: &Catalogue) -> Result<[Vec<String>; 3], InputError> {
        let (own, builtin) = catalogue.entries().split_at(catalogue.own().len());
        let on_networks = catalogue.entries().iter().filter(|entry| entry.memory.switches.is_some());
        let of = |is_asked: bool, entries: Vec<&Entry>| self.chosen(catalogue, if is_asked { &entries } else { &[] });
        let on_networks = of(self.networks, on_networks.collect())?;
        if self.networks && on_networks.is_empty() {
            let error = InputError::new(Code::Argument, "no library of --only is over RDMA, so none has networks");
            return Err(error.help("leave out --networks, or name another library"));
        }
        Ok([of(self.report, builtin.iter().collect())?, on_networks, of(self.report, own.iter().collect())?])
    }

    /// Returns the links above the playground, and the commands that add the pages which are missing.
    fn links(&self, subjects: &[Vec<String>; 3]) -> String {
        let (mut here, mut missing) = (vec!["<a href=\"book.html\">The book</a>".to_owned()], Vec::new());
        for ((folder, title, command), subjects) in LONG_PAGES.iter().zip(subjects) {
            let page = format!("{folder}/index.html");
            if subjects.is_empty() && !self.out.join(&page).exists() {
                missing.push(format!("<li>{title}: <code>{command}</code></li>"));
            } else {
                here.push(format!("<a href=\"{page}\">{title}</a>"));
            }
        }
        let missing = match missing.concat() {
            none if none.is_empty() => none,
            list => {
                format!("<details><summary>What this site lacks, and what adds it</summary><ul>{list}</ul></details>")
            }
        };
        format!("<nav aria-label=\"The site\">{}{missing}</nav>", here.join(" "))
    }

    /// Writes the pages of [`LONG_PAGES`] that have subjects. Returns 3 if a limit left something open.
    fn write_long_pages(&self, subjects: [Vec<String>; 3], catalogue: Catalogue) -> Result<u8, InputError> {
        let mut code = 0;
        let [libraries, on_networks, own] = subjects;
        for (what, (folder, title, _)) in [(libraries, LONG_PAGES[0]), (own, LONG_PAGES[2])] {
            if !what.is_empty() {
                let args = ReportArgs { what, out: Some(self.out.join(folder)), ..ReportArgs::default() };
                let report = ReportRequest { catalogue: &catalogue, args: &args, title, links: BACK };
                code = worst(code, report.print()?);
            }
        }
        if !on_networks.is_empty() {
            let folder = self.out.join("networks");
            std::fs::create_dir_all(&folder).map_err(|e| InputError::file(&folder, e))?;
            let (html, steps) = (Some(folder.join("index.html")), LIMIT * SECOND);
            let args = NetworksArgs { names: on_networks, html, steps, ..NetworksArgs::default() };
            let table = NetworkTable::new(&args, BACK);
            code = worst(code, table.print_verdicts(catalogue, None)?);
        }
        Ok(code)
    }

    /// Writes the site. Its pages solve tests in the browser.
    pub(crate) fn write(&self, catalogue: Catalogue) -> Result<u8, InputError> {
        let solver = std::fs::read(&self.solver).map_err(|e| InputError::file(&self.solver, e))?;
        if !solver.starts_with(MAGIC) {
            let error = InputError::new(Code::File, format!("{} is not WebAssembly", self.solver.display()));
            return Err(error.help(
                "build it: cargo rustc --profile web --target wasm32-unknown-unknown -p mowgli-web --crate-type cdylib",
            ));
        }
        let playground = Some(Playground::new(&catalogue, self.timeout, self.address.clone()));
        let page = Page { title: "Mowgli: a litmus test".to_owned(), playground, ..Page::default() };
        let subjects = self.subjects(&catalogue)?;
        let write = |name: &str, text: &str| {
            let file = self.out.join(name);
            std::fs::write(&file, text).map_err(|e| InputError::file(&file, e))
        };
        std::fs::create_dir_all(&self.out).map_err(|e| InputError::file(&self.out, e))?;
        write("index.html", &page.html_in_site(&self.links(&subjects)))?;
        write("solver.js", &solver_script(&solver))?;
        write("editor.js", EDITOR)?;
        write("page.css", STYLE)?;
        write("page.js", SCRIPT)?;
        for (name, text) in book::files(self.timeout) {
            write(&name, &text)?;
        }
        eprintln!("written to {}", self.out.join("index.html").display());
        self.write_long_pages(subjects, catalogue)
    }
}
