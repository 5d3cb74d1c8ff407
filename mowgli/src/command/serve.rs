//! The `serve` command, and the one that it starts for each test.

use clap::Args;

use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::serve::{self, Bounds};
use crate::site::public_address;

#[derive(Args)]
#[command(after_help = "Example:\n  mowgli serve --port 7373    and open http://localhost:7373")]
pub(super) struct ServeArgs {
    /// The port, on the loopback address: other machines cannot reach it.
    #[arg(long, default_value_t = 7373, value_name = "P")]
    port: u16,
    /// The most tests that are solved at once; others wait.
    #[arg(long, value_name = "N", default_value_t = cores(), value_parser = clap::value_parser!(u8).range(1..))]
    jobs: u8,
    /// The public address of a playground, for links: this server's address otherwise.
    #[arg(long, value_name = "URL", value_parser = public_address)]
    address: Option<String>,
    #[command(flatten)]
    bounds: Bounds,
}

fn cores() -> u8 {
    std::thread::available_parallelism().map_or(1, |cores| u8::try_from(cores.get()).unwrap_or(u8::MAX))
}

#[derive(Args)]
pub(super) struct SolveArgs {
    #[command(flatten)]
    bounds: Bounds,
}

/// Serves until it is stopped.
pub(super) fn serve(args: &ServeArgs, catalogue: &Catalogue) -> Result<u8, InputError> {
    serve::serve(args.port, args.jobs, args.address.clone(), args.bounds, catalogue)
}

/// Solves the test on standard input.
pub(super) fn solve_for_page(args: &SolveArgs, catalogue: &Catalogue) -> Result<u8, InputError> {
    serve::solve_for_page(args.bounds, catalogue)
}
