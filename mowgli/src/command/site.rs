//! The `site` command: the playground as one file, which needs no server.

use std::path::PathBuf;

use clap::Args;

use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::report::{Page, Playground};

/// The bytes with which every file of WebAssembly begins.
const MAGIC: &[u8] = b"\0asm";

/// The folder, and the solver.
#[derive(Args)]
#[command(
    after_help = "Example:\n  cargo build --profile web --target wasm32-unknown-unknown -p mowgli-web\n  mowgli site --solver target/wasm32-unknown-unknown/web/mowgli_web.wasm --out site"
)]
pub(super) struct SiteArgs {
    /// The folder for the page, index.html.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The WebAssembly of the crate `mowgli-web`.
    #[arg(long, value_name = "FILE")]
    solver: PathBuf,
    /// Seconds for one test.
    #[arg(long, default_value_t = 30, value_name = "S")]
    timeout: u64,
}

/// Writes the playground, which solves tests in the browser.
pub(super) fn site(args: &SiteArgs, catalogue: &Catalogue) -> Result<u8, InputError> {
    let solver = std::fs::read(&args.solver).map_err(|e| InputError::file(&args.solver, e))?;
    if !solver.starts_with(MAGIC) {
        let error = InputError::new(Code::File, format!("{} is not WebAssembly", args.solver.display()));
        return Err(error.help("build it: cargo build --profile web --target wasm32-unknown-unknown -p mowgli-web"));
    }
    let playground = Some(Playground::new(catalogue, args.timeout));
    let page = Page { title: "Mowgli: a litmus test".to_owned(), playground, ..Page::default() };
    let file = args.out.join("index.html");
    let written = std::fs::create_dir_all(&args.out).and_then(|()| std::fs::write(&file, page.html_with(&solver)));
    written.map_err(|e| InputError::file(&file, e))?;
    eprintln!("written to {}", file.display());
    Ok(0)
}
