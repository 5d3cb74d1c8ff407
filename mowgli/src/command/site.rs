//! The `site` command: the playground, the book and a report as files, which need no server.

use std::path::PathBuf;

use clap::Args;

use super::report::{ReportArgs, report};
use crate::book;
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::report::{EDITOR, Page, Playground, SCRIPT, STYLE, solver_script};

/// The bytes with which every file of WebAssembly begins.
const MAGIC: &[u8] = b"\0asm";

/// The page that `--report` writes.
const REPORT: &str = "report/index.html";

/// The pages of other commands that a site links to if its folder has them.
const PAGES: [(&str, &str); 3] =
    [(REPORT, "The libraries"), ("networks.html", "The networks"), ("gallery/index.html", "The gallery")];

/// The folder, and the solver.
#[derive(Args)]
#[command(
    after_help = "Example:\n  cargo build --profile web --target wasm32-unknown-unknown -p mowgli-web\n  mowgli site --solver target/wasm32-unknown-unknown/web/mowgli_web.wasm --out site"
)]
pub(super) struct SiteArgs {
    /// The folder for the site: the playground is its index.html, the contents of the book are its book.html.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The WebAssembly of the crate `mowgli-web`.
    #[arg(long, value_name = "FILE")]
    solver: PathBuf,
    /// Check all libraries, too, and write the report about them to report/.
    #[arg(long)]
    report: bool,
    /// The public address of the playground, for links: the page's own address otherwise.
    #[arg(long, value_name = "URL", value_parser = public_address)]
    address: Option<String>,
    /// Seconds for one test.
    #[arg(long, default_value_t = 30, value_name = "S")]
    timeout: u64,
}

/// Reads an address that other people can open; links append a fragment to it.
pub(super) fn public_address(text: &str) -> Result<String, InputError> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    if host.is_none_or(|host| host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '#')) {
        let error = InputError::new(Code::Argument, format!("{text} is not the address of a page"));
        return Err(error.help("give one as https://example.org/mowgli/, without #"));
    }
    Ok(text.to_owned())
}

/// Writes the site. Its pages solve tests in the browser.
pub(super) fn site(args: &SiteArgs, catalogue: Catalogue) -> Result<u8, InputError> {
    let solver = std::fs::read(&args.solver).map_err(|e| InputError::file(&args.solver, e))?;
    if !solver.starts_with(MAGIC) {
        let error = InputError::new(Code::File, format!("{} is not WebAssembly", args.solver.display()));
        return Err(error.help("build it: cargo build --profile web --target wasm32-unknown-unknown -p mowgli-web"));
    }
    let playground = Some(Playground::new(&catalogue, args.timeout, args.address.clone()));
    let page = Page { title: "Mowgli: a litmus test".to_owned(), playground, ..Page::default() };
    let is_there = |page: &str| args.out.join(page).exists() || (args.report && page == REPORT);
    let links = PAGES.iter().filter(|(page, _)| is_there(page));
    let links = links.map(|(page, title)| format!(" <a href=\"{page}\">{title}</a>")).collect::<String>();
    let links = format!("<nav aria-label=\"The site\"><a href=\"book.html\">The book</a>{links}</nav>");
    let write = |name: &str, text: &str| {
        let file = args.out.join(name);
        std::fs::write(&file, text).map_err(|e| InputError::file(&file, e))
    };
    std::fs::create_dir_all(&args.out).map_err(|e| InputError::file(&args.out, e))?;
    write("index.html", &page.html_in_site(&links))?;
    write("solver.js", &solver_script(&solver))?;
    write("editor.js", EDITOR)?;
    write("page.css", STYLE)?;
    write("page.js", SCRIPT)?;
    for (name, text) in book::files(args.timeout) {
        write(&name, &text)?;
    }
    eprintln!("written to {}", args.out.join("index.html").display());
    if args.report { report(&ReportArgs::of_all(args.out.join("report")), catalogue) } else { Ok(0) }
}
