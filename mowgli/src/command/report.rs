//! The `report` command.

use std::path::PathBuf;

use clap::Args;

use super::bounds::Placement;
use super::network::On;
use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::reporting::ReportRequest;

/// The sources of a page.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli report bal bal:no-fence --out page\n  mowgli report tests/litmus --out page\n  mowgli report sv --network cxi --repair --out page"
)]
pub(super) struct ReportArgs {
    /// Libraries as bal, or bal:no-fence for a variant; litmus tests; findings that `check --out` kept; reviewed snapshots of
    /// executions, .snap; folders of tests or snapshots. If nothing is named, the libraries of your own, or
    /// else all.
    what: Vec<String>,
    /// The folder for the page, index.html.
    #[arg(long, value_name = "DIR", required_unless_present = "json")]
    out: Option<PathBuf>,
    /// Print what a page would show as one JSON object.
    #[arg(long)]
    json: bool,
    /// Every variant of the libraries, not only the published implementations.
    #[arg(long)]
    variants: bool,
    /// Beside each counterexample the least to insert, as `mowgli repair` finds it, within as many seconds again.
    #[arg(long)]
    repair: bool,
    /// The accesses of clients to memory of their own node in the search for a wrong outcome.
    #[arg(long, value_enum, default_value = "any")]
    placement: Placement,
    #[command(flatten)]
    on: On,
    /// Seconds for each implementation and each test.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
}

/// Writes the page. Returns the exit code.
pub(super) fn report(args: &ReportArgs, catalogue: Catalogue) -> Result<u8, InputError> {
    let request = ReportRequest {
        catalogue: &args.on.of(catalogue)?,
        network: args.on.network,
        what: &args.what,
        out: args.out.as_deref(),
        is_json: args.json,
        variants: args.variants,
        repair: args.repair,
        loopback: args.placement == Placement::Any,
        timeout: args.timeout,
        title: "Mowgli",
        links: "",
    };
    request.print()
}
