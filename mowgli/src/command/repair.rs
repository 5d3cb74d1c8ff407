//! The `repair` command.

use std::path::{Path, PathBuf};

use clap::Args;
use mowgli_core::outcome::Limits;
use mowgli_core::repair::Limit;

use super::{all_files, at_least_one, parsed, text_of, told, worst};
use crate::catalogue::Catalogue;
use crate::interrupt::{self, Deadline};
use crate::repair::{Ask, Costs, repair};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli repair mp.litmus\n  mowgli repair --cost mfence=20,wait=2 --fix mp.litmus\n  mowgli repair --weaken locked.litmus\n\nExit codes: 0 nothing is to be done, 1 something is, or nothing can be, 2 bad input, 3 undecided."
)]
pub(super) struct RepairArgs {
    /// Files ending in .litmus, or directories with such files.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// What an insertion costs, in place of the model's own costs, as mfence=1,wait=5.
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
    /// One JSON object a line and test.
    #[arg(long)]
    json: bool,
    /// Seconds for one test.
    #[arg(long, value_name = "S", default_value_t = 60)]
    timeout: u64,
}

pub(super) fn repaired(args: &RepairArgs) -> u8 {
    let costs = match Costs::read(&args.cost) {
        Ok(costs) => costs,
        Err(message) => return told(Err(message)),
    };
    let mut code = 0;
    for file in all_files(&args.paths, &mut code) {
        let own = if interrupt::requested() {
            eprintln!("interrupted: {} was not looked at", file.display());
            3
        } else {
            told(one(&file, args, &costs))
        };
        code = worst(code, own);
    }
    code
}

fn one(path: &Path, args: &RepairArgs, costs: &Costs) -> Result<u8, String> {
    let text = text_of(path)?;
    let test = parsed(Catalogue::builtin(), path, &text)?;
    let deadline = Deadline::after(Some(args.timeout));
    let expired = || deadline.expired();
    let ask = Ask {
        costs,
        weaken: args.weaken,
        limit: Limit { insertions: args.most as usize, ..Limit::default() },
        limits: Limits { expired: &expired, ..Limits::default() },
    };
    let found = repair(&test, &text, &ask).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("{}", if args.json { found.json() } else { found.text() });
    if let (true, Some(cheapest)) = (args.fix, found.repairs.first()) {
        let to = path.with_extension("fixed.litmus");
        std::fs::write(&to, &cheapest.fixed).map_err(|e| format!("{}: {e}", to.display()))?;
        if !args.json {
            println!("  written to {}", to.display());
        }
    }
    Ok(found.code())
}
