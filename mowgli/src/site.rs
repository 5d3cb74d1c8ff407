//! A site: the playground, the book, reports and the table of networks as files, which need no server.

use std::path::Path;

use mowgli_libraries::entry::Entry;

use crate::book;
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::interrupt::SECOND;
use crate::networks::run::{LIMIT, NetworkTable};
use crate::out::worst;
use crate::report::{EDITOR, Page, Playground, SCRIPT, STYLE, solver_script};
use crate::reporting::ReportRequest;

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

/// A request for a site.
pub(crate) struct SiteRequest<'a> {
    /// The folder.
    pub(crate) out: &'a Path,
    /// The WebAssembly of the crate `mowgli-web`.
    pub(crate) solver: &'a Path,
    /// True if the reports are wanted.
    pub(crate) report: bool,
    /// True if the table of networks is wanted.
    pub(crate) networks: bool,
    /// The libraries of these; all if empty.
    pub(crate) only: &'a [String],
    /// The public address of the playground.
    pub(crate) address: Option<&'a str>,
    /// The seconds that the steps for one test usually take.
    pub(crate) timeout: u64,
}

impl SiteRequest<'_> {
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
                let out = self.out.join(folder);
                let report = ReportRequest {
                    catalogue: &catalogue,
                    network: None,
                    what: &what,
                    out: Some(&out),
                    is_json: false,
                    variants: false,
                    repair: false,
                    loopback: true,
                    timeout: None,
                    title,
                    links: BACK,
                };
                code = worst(code, report.print()?);
            }
        }
        if !on_networks.is_empty() {
            let folder = self.out.join("networks");
            std::fs::create_dir_all(&folder).map_err(|e| InputError::file(&folder, e))?;
            let html = folder.join("index.html");
            let table = NetworkTable {
                names: &on_networks,
                networks: NetworkTable::all(),
                bound: &Entry::through,
                through: false,
                repair: false,
                prove: false,
                html: Some(&html),
                links: BACK,
                wide: false,
                is_json: false,
                steps: LIMIT * SECOND,
                timeout: None,
            };
            code = worst(code, table.print_verdicts(catalogue, None)?);
        }
        Ok(code)
    }

    /// Writes the site. Its pages solve tests in the browser.
    pub(crate) fn write(&self, catalogue: Catalogue) -> Result<u8, InputError> {
        let solver = std::fs::read(self.solver).map_err(|e| InputError::file(self.solver, e))?;
        if !solver.starts_with(MAGIC) {
            let error = InputError::new(Code::File, format!("{} is not WebAssembly", self.solver.display()));
            return Err(error.help(
                "build it: cargo rustc --profile web --target wasm32-unknown-unknown -p mowgli-web --crate-type cdylib",
            ));
        }
        let playground = Some(Playground::new(&catalogue, self.timeout, self.address.map(str::to_owned)));
        let page = Page { title: "Mowgli: a litmus test".to_owned(), playground, ..Page::default() };
        let subjects = self.subjects(&catalogue)?;
        let write = |name: &str, text: &str| {
            let file = self.out.join(name);
            std::fs::write(&file, text).map_err(|e| InputError::file(&file, e))
        };
        std::fs::create_dir_all(self.out).map_err(|e| InputError::file(self.out, e))?;
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
