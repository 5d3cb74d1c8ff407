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
use mowgli::litmus::test::Test;
use mowgli_check::guard::guarded;
use mowgli_libraries::entry::Entry;

use crate::litmus::{RunOver, RunRequest, run, stack};
use crate::{Company, Provider};

/// Run litmus tests over memory, over networks, and over a machine that is as late as the model allows.
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
#[derive(Clone, Copy, ValueEnum)]
enum FabricArg {
    /// Threads with shared memory: fast, and nothing weak is seen.
    Local,
    /// The machine of RDMA_TSO with a seed: as adverse as it can be, and each run can be had again.
    Machine,
    /// A process for each node, over libfabric with sockets.
    Tcp,
    /// A process for each node, over libfabric with memory that they share.
    Shm,
    /// A process for each node, over libfabric with InfiniBand or RoCE (untried).
    Verbs,
    /// A process for each node, over libfabric with the Elastic Fabric Adapter (untried).
    Efa,
    /// A process for each node, over libfabric with Slingshot (untried).
    Cxi,
    /// As tcp, without any order of the provider.
    Unordered,
}

impl FabricArg {
    fn provider(self) -> Option<Provider> {
        match self {
            Self::Local | Self::Machine => None,
            Self::Tcp => Some(Provider::Tcp),
            Self::Shm => Some(Provider::Shm),
            Self::Verbs => Some(Provider::Verbs),
            Self::Efa => Some(Provider::Efa),
            Self::Cxi => Some(Provider::Cxi),
            Self::Unordered => Some(Provider::Unordered),
        }
    }
}

/// The time that processes wait for each other, beside the time for a test.
const MEETING: Duration = Duration::from_secs(30);

impl RunArgs {
    fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout) + MEETING
    }
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli fabric run mp.litmus\n  mowgli fabric run tests/ --times 10000\n  mowgli fabric run mp.litmus --fabric tcp\n  mowgli fabric run barrier.litmus --variant bal:no-fence\n  mowgli fabric run barrier.litmus --seed 17 --times 1\n\nExit codes: 1 the model forbids what was seen, 2 bad input or a process that has gone, else that of `mowgli litmus`."
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
    // `Some` if another process or a launcher has started this process for one node of a test.
    let joined = args.fabric.provider().and_then(|_| Company::joined(args.patience())).transpose();
    let joined = match joined {
        Ok(joined) => joined,
        Err(fault) => return reported_in(args.json, Err(InputError::of(Code::Tool, fault))),
    };
    let mut code = 0;
    for file in all_files(&args.paths, &mut code) {
        let own = if interrupt::requested() {
            eprintln!("interrupted: {} was not run", file.display());
            3
        } else {
            let solve = || one(&file, args, &variants, joined.as_ref(), catalogue);
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
    joined: Option<&Company>,
    catalogue: &Catalogue,
) -> Result<u8, InputError> {
    let test = parsed(catalogue, path, &args.on.text_of(path)?)?;
    let in_file = |e: InputError| e.about(&path.display());
    let started;
    let over = match (args.fabric, args.fabric.provider(), joined) {
        (_, Some(provider), Some(company)) => RunOver::Processes(company, provider),
        (_, Some(provider), None) => {
            // Checks the implementations here, so that an error is reported once and not by each process.
            stack(catalogue, &test, variants).map_err(in_file)?;
            started = company(path, args, &test, provider).map_err(in_file)?;
            RunOver::Processes(&started, provider)
        }
        (FabricArg::Machine, ..) => RunOver::Machine(args.seed),
        _ => RunOver::Local,
    };
    let ask = RunRequest {
        over,
        times: args.times,
        variants,
        limit: Duration::from_secs(args.timeout.min(10)),
        deadline: Deadline::after(Some(args.timeout)),
    };
    let Some(ran) = run(catalogue, &test, &ask).map_err(in_file)? else { return Ok(0) };
    println!("{}", if args.json { json(&ran) } else { ran.text() });
    Ok(ran.code())
}

/// Starts processes for the nodes of a test; this process is the first of them. The others run the same command for
/// this file alone.
fn company(path: &Path, args: &RunArgs, test: &Test, provider: Provider) -> Result<Company, InputError> {
    provider.check().map_err(|fault| InputError::of(Code::Tool, fault))?;
    let none = || InputError::new(Code::File, "a name of a file that is no text cannot be passed to other processes");
    let path = path.to_str().ok_or_else(none)?;
    let numbers = [("--times", args.times), ("--timeout", args.timeout)];
    let mut all: Vec<String> = ["run", path, "--fabric", provider.name()].map(str::to_owned).into();
    all.extend(numbers.into_iter().flat_map(|(flag, number)| [flag.to_owned(), number.to_string()]));
    all.extend(args.on.network.iter().flat_map(|network| ["--network".to_owned(), network.to_string()]));
    all.extend(args.variant.iter().flat_map(|variant| ["--variant".to_owned(), variant.clone()]));
    Company::start(usize::from(test.world.nodes), &all, args.patience())
        .map_err(|fault| InputError::of(Code::Tool, fault))
}
