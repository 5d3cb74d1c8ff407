//! The `site` command.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::site::SiteRequest;

/// The folder, and the solver.
#[derive(Args)]
#[command(
    group(ArgGroup::new("checks").args(["report", "networks"]).multiple(true)),
    after_help = "Example:\n  cargo rustc --profile web --target wasm32-unknown-unknown -p mowgli-web --crate-type cdylib\n  mowgli site --solver target/wasm32-unknown-unknown/web/mowgli_web.wasm --out site"
)]
pub(super) struct SiteArgs {
    /// The folder for the site: the playground is its index.html, the contents of the book are its book.html.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The WebAssembly of the crate `mowgli-web`.
    #[arg(long, value_name = "FILE")]
    solver: PathBuf,
    /// Check all libraries, too, and write the report about them to report/, and that about libraries of your own to gallery/.
    #[arg(long)]
    report: bool,
    /// Check the libraries on all networks, too, and write the table to networks/.
    #[arg(long)]
    networks: bool,
    /// The libraries for --report and --networks; all if not given.
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "checks")]
    only: Vec<String>,
    /// The public address of the playground, for links: the page's own address otherwise.
    #[arg(long, value_name = "URL", value_parser = public_address)]
    address: Option<String>,
    /// The steps for one test, in seconds that they usually take. Ten times as many seconds cancel it.
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
    let request = SiteRequest {
        out: &args.out,
        solver: &args.solver,
        report: args.report,
        networks: args.networks,
        only: &args.only,
        address: args.address.as_deref(),
        timeout: args.timeout,
    };
    request.write(catalogue)
}
