//! The `repair` command.

use std::path::{Path, PathBuf};

use clap::Args;

use super::bounds::Within;
use super::network::On;
use super::size::at_least_one;
use crate::catalogue::Catalogue;
use crate::interrupt;
use crate::out::{all_files, reported_in, worst};
use crate::repair::Costs;
use crate::repairing::RepairSettings;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli repair mp.litmus\n  mowgli repair --cost mfence=20,wait=2 --fix mp.litmus\n  mowgli repair --weaken locked.litmus\n  mowgli repair rbl --threads 2 --nodes 2 --calls 1\n  mowgli repair bal --variant no-fence\n  mowgli repair bal --weaken\n\nExit codes: 0 nothing is to be done, 1 something is, or nothing can be, 2 bad input, 3 undecided, or no execution ends."
)]
pub(super) struct RepairArgs {
    /// Files ending in .litmus, directories with such files, or libraries, as rbl.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// A variant of the implementation, as no-fence.
    #[arg(long, conflicts_with = "fix")]
    variant: Option<String>,
    /// The cost of each insertion, move, swap or atomic of a kind, in place of the default: mfence=1,wait=5,move=1.
    #[arg(long, value_delimiter = ',', value_name = "KIND=COST")]
    cost: Vec<String>,
    /// Find what is more than needed: waits and fences that can be left out, or be cheaper ones.
    #[arg(long)]
    weaken: bool,
    /// Write the test with its cheapest repair beside it, to NAME.fixed.litmus.
    #[arg(long)]
    fix: bool,
    /// At most this many insertions.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = at_least_one)]
    most: u64,
    /// The most repairs of a library, each of which takes a check of all clients.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    first: u64,
    /// For a library: ask about the same insertions in every place, not only in the first that is enough.
    #[arg(long)]
    everywhere: bool,
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    on: On,
    /// One JSON object a line and test or library.
    #[arg(long)]
    json: bool,
    /// Steps of the search for one test, 6000000 if not given, or for one library. If not given that is 60000000, and no more than ten
    /// times what the check of the first repair takes.
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Seconds after which the search is cancelled.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
}

pub(super) fn repaired(args: &RepairArgs, catalogue: Catalogue) -> u8 {
    match (args.on.of(catalogue), Costs::read(&args.cost)) {
        (Ok(catalogue), Ok(costs)) => printed(args, &catalogue, costs),
        (Err(error), _) | (_, Err(error)) => reported_in(args.json, Err(error)),
    }
}

/// Prints the repairs of all libraries, and then those of all tests.
fn printed(args: &RepairArgs, catalogue: &Catalogue, costs: Costs) -> u8 {
    let ask = RepairSettings {
        costs,
        variant: args.variant.as_deref(),
        weaken: args.weaken,
        fix: args.fix,
        most: args.most as usize,
        first: args.first as usize,
        everywhere: args.everywhere,
        bounds: &|variant| args.within.limited(variant.bounds.clone()),
        is_json: args.json,
        steps: args.steps,
        timeout: args.timeout,
    };
    let is_library = |path: &Path| !path.exists() && catalogue.names().iter().any(|name| Path::new(name) == path);
    let (names, paths): (Vec<PathBuf>, Vec<PathBuf>) =
        args.paths.iter().cloned().partition(|p| args.variant.is_some() || is_library(p));
    let of = |name: &PathBuf| reported_in(args.json, ask.print_library(&name.to_string_lossy(), catalogue));
    let mut code = names.iter().map(of).fold(0, worst);
    for file in all_files(&paths, &mut code) {
        let own = if interrupt::requested() {
            eprintln!("interrupted: {} was not looked at", file.display());
            3
        } else {
            let text = args.on.text_of(&file);
            reported_in(args.json, text.and_then(|text| ask.print_test(&file, &text, catalogue)))
        };
        code = worst(code, own);
    }
    code
}
