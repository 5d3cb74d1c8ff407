//! The command `mowgli-fabric`: litmus tests, run over a fabric.
//!
//! A crate with libraries of its own has the command, too:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     mowgli_fabric::command::main_with([mowgli_libraries::x86::treiber::entry()])
//! }
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use mowgli::catalogue::Catalogue;
use mowgli::command::network::On;
use mowgli::command::out::{all_files, json, parsed, reported, reported_in, worst};
use mowgli::error::{Code, InputError};
use mowgli::interrupt::{self, Deadline};
use mowgli_check::guard::guarded;
use mowgli_libraries::entry::Entry;

use crate::litmus::{RunRequest, run};

/// Run litmus tests over memory, and over a machine that is as late as the model allows.
#[derive(Parser)]
#[command(name = "mowgli fabric", version, about, max_term_width = 100)]
struct FabricCli {
    #[command(subcommand)]
    command: FabricCommand,
}

#[derive(Subcommand)]
enum FabricCommand {
    /// Run litmus tests many times, with the bodies of the libraries that they call, and hold what is seen against the model.
    Run(RunArgs),
}

/// The command with the user's libraries beside those that are built in.
pub fn main_with(own: impl IntoIterator<Item = Entry>) -> ExitCode {
    let FabricCli { command: FabricCommand::Run(args) } = FabricCli::parse();
    mowgli::command::stop_on_interrupt();
    // A reader that has seen enough, such as `head`, ends the command quietly.
    sigpipe::reset();
    ExitCode::from(match Catalogue::with(own.into_iter().collect::<Vec<_>>()) {
        Ok(catalogue) => ran(&args, &catalogue),
        Err(error) => reported(Err(error)),
    })
}

/// The fabrics over which a test can run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FabricArg {
    /// Threads with shared memory: fast, and nothing weak is seen.
    Local,
    /// The machine of RDMA_TSO with a seed: as adverse as it can be, and each run can be had again.
    Machine,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli fabric run mp.litmus\n  mowgli fabric run tests/ --times 10000\n  mowgli fabric run barrier.litmus --variant bal:no-fence\n  mowgli fabric run barrier.litmus --seed 17 --times 1\n\nExit codes: 1 the model forbids what was seen, 2 bad input, else that of `mowgli litmus`."
)]
struct RunArgs {
    /// Files ending in .litmus, or directories with such files. Calls of libraries are run by their published bodies, or by the first sound variant where those are unsound.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The fabric to run over.
    #[arg(long, value_enum, default_value_t = FabricArg::Machine)]
    fabric: FabricArg,
    /// The number of runs of each test.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    times: u64,
    /// The seed of the first run over the machine; each has the next one.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Another implementation of a library than the default one, such as bal:no-fence.
    #[arg(long, value_name = "LIBRARY:VARIANT")]
    variant: Vec<String>,
    /// Seconds for one test.
    #[arg(long, value_name = "S", default_value_t = 60)]
    timeout: u64,
    /// One JSON object a line and test.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    on: On,
}

fn ran(args: &RunArgs, catalogue: &Catalogue) -> u8 {
    let variants = match args.variant.iter().map(|text| variant(text)).collect::<Result<BTreeMap<_, _>, _>>() {
        Ok(variants) => variants,
        Err(error) => return reported_in(args.json, Err(error)),
    };
    let mut code = 0;
    for file in all_files(&args.paths, &mut code) {
        let own = if interrupt::requested() {
            eprintln!("interrupted: {} was not run", file.display());
            3
        } else {
            let solve = || one(&file, args, &variants, catalogue);
            reported_in(args.json, guarded(&file.display().to_string(), solve))
        };
        code = worst(code, own);
    }
    code
}

fn variant(text: &str) -> Result<(String, String), InputError> {
    let parts = text.split_once(':').filter(|(library, variant)| !library.is_empty() && !variant.is_empty());
    let (library, variant) = parts.ok_or_else(|| {
        InputError::new(Code::Argument, format!("--variant {text}: write it as LIBRARY:VARIANT, as in bal:no-fence"))
    })?;
    Ok((library.to_owned(), variant.to_owned()))
}

fn one(
    path: &Path,
    args: &RunArgs,
    variants: &BTreeMap<String, String>,
    catalogue: &Catalogue,
) -> Result<u8, InputError> {
    let test = parsed(catalogue, path, &args.on.text_of(path)?)?;
    let in_file = |e: InputError| e.about(&path.display());
    let ask = RunRequest {
        machine: (args.fabric == FabricArg::Machine).then_some(args.seed),
        times: args.times,
        variants,
        limit: Duration::from_secs(args.timeout.min(10)),
        deadline: Deadline::after(Some(args.timeout)),
    };
    let ran = run(catalogue, &test, &ask).map_err(in_file)?;
    println!("{}", if args.json { json(&ran) } else { ran.text() });
    Ok(ran.code())
}
