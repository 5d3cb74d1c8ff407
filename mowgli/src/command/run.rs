//! `mowgli run`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use mowgli_check::guard::guarded;

use super::out::{all_files, parsed, text_of, told, worst};
use crate::catalogue::Catalogue;
use crate::interrupt::{self, Deadline};
use crate::run::{Ask, run};

/// What a test runs over.
#[derive(Clone, Copy, ValueEnum)]
enum Over {
    /// Threads with shared memory: fast, and nothing weak is seen.
    Local,
    /// The machine of RDMA_TSO with a seed: as adverse as it can be, and each run can be had again.
    Machine,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli run mp.litmus\n  mowgli run tests/ --times 10000\n  mowgli run barrier.litmus --variant bal:no-fence\n  mowgli run barrier.litmus --seed 17 --times 1\n\nExit codes: 0 what was seen is allowed, 1 something forbidden was seen, 2 bad input, 3 undecided."
)]
pub(super) struct RunArgs {
    /// Files ending in .litmus, or directories with such files. Calls of libraries are run by their published bodies.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// What it runs over.
    #[arg(long, value_enum, default_value_t = Over::Machine)]
    fabric: Over,
    /// How often each test is run.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    times: u64,
    /// The seed of the first run over the machine; each has the next one.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Another implementation of a library than the published one, as bal:no-fence.
    #[arg(long, value_name = "LIBRARY:VARIANT")]
    variant: Vec<String>,
    /// Seconds for one test.
    #[arg(long, value_name = "S", default_value_t = 60)]
    timeout: u64,
    /// One JSON object a line and test.
    #[arg(long)]
    json: bool,
}

pub(super) fn ran(args: &RunArgs, catalogue: &Catalogue) -> u8 {
    let variants = match args.variant.iter().map(|text| variant(text)).collect::<Result<BTreeMap<_, _>, _>>() {
        Ok(variants) => variants,
        Err(message) => return told(Err(message)),
    };
    let mut code = 0;
    for file in all_files(&args.paths, &mut code) {
        let own = if interrupt::requested() {
            eprintln!("interrupted: {} was not run", file.display());
            3
        } else {
            told(guarded(&file.display().to_string(), || one(&file, args, &variants, catalogue)))
        };
        code = worst(code, own);
    }
    code
}

fn variant(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once(':').filter(|(library, variant)| !library.is_empty() && !variant.is_empty());
    let (library, variant) = parts.ok_or_else(|| format!("--variant {text}: write it as bal:no-fence"))?;
    Ok((library.to_owned(), variant.to_owned()))
}

fn one(path: &Path, args: &RunArgs, variants: &BTreeMap<String, String>, catalogue: &Catalogue) -> Result<u8, String> {
    let test = parsed(catalogue, path, &text_of(path)?)?;
    let ask = Ask {
        seed: matches!(args.fabric, Over::Machine).then_some(args.seed),
        times: args.times,
        variants,
        limit: Duration::from_secs(args.timeout.min(10)),
        deadline: Deadline::after(Some(args.timeout)),
    };
    let ran = run(catalogue, &test, &ask).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("{}", if args.json { serde_json::to_string(&ran).expect("strings and numbers") } else { ran.text() });
    Ok(ran.code())
}
