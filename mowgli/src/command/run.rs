//! `mowgli run`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use mowgli_check::guard::guarded;
use mowgli_fabric::{Company, Provider};

use super::c::{self, NodeCommands, Random};
use super::network::On;
use super::out::{all_files, json, parsed, reported_in, worst};
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::interrupt::{self, Deadline};
use crate::litmus::test::Test;
use crate::run::{RunOver, RunRequest, run, stack};

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
    fn random(&self) -> Random {
        let Self { times, seed, timeout, json, races, .. } = *self;
        Random { times, seed, timeout, json, races, network: self.on.network }
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout) + MEETING
    }
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli run mp.litmus\n  mowgli run tests/ --times 10000\n  mowgli run mp.litmus --fabric tcp\n  mowgli run barrier.litmus --variant bal:no-fence\n  mowgli run barrier.litmus --seed 17 --times 1\n\nExit codes: 1 the model forbids what was seen, 2 bad input or a process that has gone, else that of `mowgli litmus`."
)]
pub(super) struct RunArgs {
    /// Files ending in .litmus, directories with such files, or programs that `mowgli cc` has made. Calls of libraries are run by their published bodies, or by the first sound variant where those are unsound.
    #[arg(required_unless_present = "node")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    nodes: NodeCommands,
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
    /// Report races of programs, too: see `mowgli explore --races`.
    #[arg(long)]
    races: bool,
    /// One JSON object a line and test.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    on: On,
}

pub(super) fn ran(args: &RunArgs, catalogue: &Catalogue) -> u8 {
    if args.nodes.any() {
        let program = args.paths.first().map(PathBuf::as_path);
        return reported_in(args.json, c::ran(program, &args.nodes, &args.random()));
    }
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

/// True for programs: files in the format ELF.
fn is_program(path: &Path) -> bool {
    let mut start = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"\x7fELF"
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
    if is_program(path) {
        return c::ran(Some(path), &NodeCommands::default(), &args.random());
    }
    let test = parsed(catalogue, path, &args.on.text_of(path)?)?;
    if args.races {
        let why = "--races is for programs that `mowgli cc` has made; a litmus test has no plain accesses";
        return Err(InputError::new(Code::Argument, why).about(&path.display()));
    }
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
