//! The commands: compile, explore, run and replay programs, and convert litmus tests to programs for cards.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use itertools::Itertools;
use mowgli::catalogue::Catalogue;
use mowgli::command::network::On;
use mowgli::command::out::{files, parsed, printed, reported, reported_in, save, text_of, with_header};
use mowgli::error::{Code, InputError};
use mowgli::interrupt::{Deadline, Failure};
use mowgli::litmus::run::solve;
use mowgli_core::search::problem::Limits;
use mowgli_rdma::{Network, Switches};
use mowgli_verbs::{Ask, Error, ProgramCommand, Toolchain, cards};

use crate::printed::{as_json, is_fine, litmus, ran_json, ran_text, text};

#[derive(Args)]
#[command(
    after_help = "The program calls mowgli_node to start the threads of nodes; see README.md of mowgli-verbs.\n\nExamples:\n  mowgli verbs cc -o pingpong pingpong.c\n  mowgli verbs cc -o app main.c queue.cc -- -O2 -Iinclude"
)]
pub(crate) struct CcArgs {
    /// C and C++ files, and objects and libraries to link.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The program to write.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// More arguments for the compiler, behind `--`. Without any, it does not optimise.
    #[arg(last = true)]
    flags: Vec<OsString>,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli verbs explore ./pingpong\n  mowgli verbs explore ./pingpong --network rc-relaxed -- 4 8\n  mowgli verbs explore ./pingpong --litmus > pingpong.litmus\n  mowgli verbs explore --races --node './server 1' --node './client 2'\n\nExit codes: 0 nothing is wrong, 1 a failure, a wrong use of verbs, a race or a stuck execution, 2 bad input, 3 a limit left that open."
)]
pub(crate) struct ExploreArgs {
    /// A program that `mowgli verbs cc` has made.
    #[arg(required_unless_present = "node")]
    program: Option<PathBuf>,
    #[command(flatten)]
    nodes: NodeCommands,
    /// The arguments of the program, behind `--`.
    #[arg(last = true)]
    args: Vec<String>,
    /// Seconds.
    #[arg(long, value_name = "S", default_value_t = 60)]
    timeout: u64,
    /// The largest number of states.
    #[arg(long, value_name = "N", default_value_t = 5_000_000)]
    states: usize,
    /// Report races, too: accesses of a word in either order, one of which is neither atomic nor volatile.
    #[arg(long)]
    races: bool,
    /// Print a shortest execution of each outcome.
    #[arg(long)]
    executions: bool,
    /// Print the execution of the first failure as a litmus test, for `mowgli explain` and `mowgli report`.
    #[arg(long)]
    litmus: bool,
    /// Write the execution of the first failure to a file, for `mowgli verbs replay`.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    on: On,
}

/// Programs that are started once per node.
#[derive(Args, Default)]
pub(crate) struct NodeCommands {
    /// A program that is one node, with its arguments in one text: --node './server 1' --node './client 2'. They exchange addresses by TCP.
    #[arg(long, value_name = "COMMAND")]
    node: Vec<String>,
}

impl NodeCommands {
    /// Returns the commands: those of the nodes, or else the program.
    ///
    /// # Errors
    /// If there are both, or neither, or a command is empty.
    fn commands(&self, program: Option<&Path>, args: &[String]) -> Result<Vec<ProgramCommand>, InputError> {
        let wrong = |why: &str| InputError::new(Code::Argument, why);
        match program {
            Some(_) if !self.node.is_empty() => Err(wrong("--node names the programs, so there is no other program")),
            Some(program) => Ok(vec![ProgramCommand { program: program.to_owned(), args: args.to_owned() }]),
            None if !args.is_empty() => Err(wrong("the arguments of a node are in its --node, as in './server 1'")),
            None if self.node.is_empty() => Err(wrong("name a program, or one for each node by --node")),
            None => self.node.iter().map(|text| command(text)).collect(),
        }
    }

    /// True if programs are started once per node.
    fn any(&self) -> bool {
        !self.node.is_empty()
    }
}

fn command(text: &str) -> Result<ProgramCommand, InputError> {
    let mut words = text.split_whitespace().map(str::to_owned);
    let program = words.next().ok_or_else(|| InputError::new(Code::Argument, "--node without a program"))?;
    Ok(ProgramCommand { program: program.into(), args: words.collect() })
}

/// Returns the names of programs, each once.
fn names(commands: &[ProgramCommand]) -> String {
    let name =
        |c: &ProgramCommand| c.program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    commands.iter().map(name).dedup().join(" and ")
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli verbs explore ./pingpong --trace failure\n  mowgli verbs replay ./pingpong failure\n  gdb -ex 'set follow-fork-mode child' --args mowgli verbs replay ./pingpong failure --thread 2"
)]
pub(crate) struct ReplayArgs {
    /// A program that `mowgli verbs cc` has made, unless there is --node, and an execution that `mowgli verbs explore --trace` has written.
    #[arg(required = true, num_args = 1..=2)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    nodes: NodeCommands,
    /// Run only this thread, from 1, for example under gdb.
    #[arg(long, value_name = "N")]
    thread: Option<usize>,
    /// The arguments of the program, behind `--`.
    #[arg(last = true)]
    args: Vec<String>,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli verbs run ./pingpong\n  mowgli verbs run ./pingpong --times 10000 --seed 17\n  mowgli verbs run --node './server 1' --node './client 2'\n\nExit codes: 1 a failure, a race or a stuck run was seen, 2 bad input, 3 a limit, or something unseen."
)]
pub(crate) struct ProgramRunArgs {
    /// A program that `mowgli verbs cc` has made.
    #[arg(required_unless_present = "node")]
    program: Option<PathBuf>,
    #[command(flatten)]
    nodes: NodeCommands,
    /// The arguments of the program, behind `--`.
    #[arg(last = true)]
    args: Vec<String>,
    /// The number of runs.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    times: u64,
    /// The seed of the first run; each has the next one.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Seconds.
    #[arg(long, value_name = "S", default_value_t = 60)]
    timeout: u64,
    /// Report races, too: see `mowgli verbs explore --races`.
    #[arg(long)]
    races: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    on: On,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli verbs convert put.litmus > put.c\n  mowgli generate --model rdma-tso --out tests && mowgli verbs convert tests --out programs"
)]
pub(crate) struct CardArgs {
    /// Litmus tests: files ending in .litmus, or directories with such files.
    #[arg(required = true)]
    tests: Vec<PathBuf>,
    /// The folder for one program for each test, with a header and a Makefile. Without it one test goes to standard output.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seconds for all outcomes of the tests, which a program has to know.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
}

fn input(error: Error) -> InputError {
    let code = match &error {
        Error::File { .. } => Code::File,
        Error::Tool { .. } => Code::Tool,
        Error::Unsupported { .. } => Code::Unsupported,
        Error::Program(_) | Error::MainTakesPart | Error::Late(_) => Code::Argument,
    };
    InputError::of(code, error)
}

/// Returns the switches of the machine on a network.
fn switches(network: Option<Network>) -> Switches {
    Switches { network: network.unwrap_or(Network::RC), ..Switches::OFF }
}

/// Compiles a program.
pub(crate) fn compiled(args: &CcArgs) -> Result<u8, InputError> {
    let of = |name: &str, usual: &str| std::env::var_os(name).unwrap_or_else(|| usual.into());
    let (cc, cxx) = (of("CC", "cc"), of("CXX", "c++"));
    let toolchain = Toolchain::new(&cc, &cxx).map_err(input)?;
    let unseen = toolchain.compile(&args.files, &args.out, &args.flags).map_err(input)?;
    if !unseen.is_empty() {
        eprintln!("note: nothing is seen of what these functions read and write: {}", unseen.join(", "));
        eprintln!(
            "note: `mowgli verbs explore` names those that a thread calls; what `main` calls while it sets up does no harm"
        );
    }
    Ok(0)
}

/// Explores a program and prints what was found.
pub(crate) fn explored(args: &ExploreArgs) -> u8 {
    reported_in(args.json, explore(args))
}

fn explore(args: &ExploreArgs) -> Result<u8, InputError> {
    let programs = args.nodes.commands(args.program.as_deref(), &args.args)?;
    let ask = Ask {
        programs: &programs,
        per_node: args.nodes.any(),
        switches: switches(args.on.network),
        states: args.states,
        time: Duration::from_secs(args.timeout),
        executions: args.executions,
        races: args.races,
    };
    let explored = match mowgli_verbs::explore(&ask) {
        // Before the threads begin there is nothing to show.
        Err(Error::Late(why)) => {
            eprintln!("not complete: {why}");
            return Ok(3);
        }
        explored => explored.map_err(input)?,
    };
    let first = explored.failures.iter().find(|failure| !failure.execution.steps.is_empty());
    if let (Some(path), Some(failure)) = (&args.trace, first) {
        save(path, &failure.execution.trace)?;
    }
    let name = names(&programs);
    match first {
        _ if args.json => println!("{}", as_json(&name, &explored)),
        Some(failure) if args.litmus => {
            print!("{}", litmus(&name, &explored, failure, switches(Some(explored.network)))?)
        }
        _ => print!("{}", text(&name, &explored, args.races)),
    }
    let is_wrong = !is_fine(&explored);
    Ok(if is_wrong { 1 } else { 3 * u8::from(explored.stop.is_some() || !explored.unseen.is_empty()) })
}

/// Runs one execution again, and prints where each thread ends.
pub(crate) fn replayed(args: &ReplayArgs) -> Result<u8, InputError> {
    let (trace, program) = args.files.split_last().expect("one at least");
    let trace = text_of(trace)?;
    let programs = args.nodes.commands(program.first().map(PathBuf::as_path), &args.args)?;
    for line in mowgli_verbs::replay(&programs, args.nodes.any(), &trace, args.thread).map_err(input)? {
        println!("{line}");
    }
    Ok(0)
}

/// Runs a program with random schedules, and prints what was seen.
pub(crate) fn ran(args: &ProgramRunArgs) -> u8 {
    reported_in(args.json, run(args))
}

fn run(args: &ProgramRunArgs) -> Result<u8, InputError> {
    let (programs, per_node) = (args.nodes.commands(args.program.as_deref(), &args.args)?, args.nodes.any());
    let time = Duration::from_secs(args.timeout);
    let (switches, races) = (switches(args.on.network), args.races);
    let ask = Ask { programs: &programs, per_node, switches, states: usize::MAX, time, executions: false, races };
    let ran = mowgli_verbs::run(&ask, args.times, args.seed).map_err(input)?;
    let name = names(&programs);
    print!("{}", if args.json { format!("{}\n", ran_json(&name, &ran)) } else { ran_text(&name, &ran, args.seed) });
    let is_wrong = !ran.failures.is_empty() || !ran.stuck.is_empty() || !ran.races.is_empty();
    Ok(if is_wrong { 1 } else { 3 * u8::from(ran.stop.is_some() || !ran.unseen.is_empty()) })
}

/// Converts litmus tests to programs.
pub(crate) fn converted(args: &CardArgs) -> u8 {
    let Some(folder) = &args.out else {
        return printed(one_program(args).map(|text| with_header(&text, cards::HEADER)));
    };
    reported(all_programs(args, folder))
}

/// Returns the program of the only test.
fn one_program(args: &CardArgs) -> Result<String, Failure> {
    match &args.tests[..] {
        [file] if !file.is_dir() => program(file, &Deadline::after(args.timeout)),
        _ => {
            Err(InputError::new(Code::Argument, "one test goes to standard output; say where more go, as --out DIR")
                .into())
        }
    }
}

/// Writes a program for each test, with the header and the Makefile.
fn all_programs(args: &CardArgs, folder: &Path) -> Result<u8, Failure> {
    let deadline = Deadline::after(args.timeout);
    std::fs::create_dir_all(folder).map_err(|e| InputError::file(folder, e))?;
    for (name, text) in [cards::HEADER, cards::MAKEFILE] {
        save(&folder.join(name), text)?;
    }
    let mut count = 0;
    for path in &args.tests {
        for file in files(path, &["litmus"])? {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            save(&folder.join(format!("{stem}.c")), &program(&file, &deadline)?)?;
            count += 1;
        }
    }
    eprintln!("{count} programs written to {}", folder.display());
    Ok(0)
}

/// Returns a test as a program in C. It judges what it sees by all outcomes of the model.
fn program(file: &Path, deadline: &Deadline) -> Result<String, Failure> {
    let test = parsed(Catalogue::builtin(), file, &text_of(file)?)?;
    let expired = || deadline.expired();
    cards::program(&test, &solve(&test, &[], Limits { expired: &expired, ..Limits::default() }))
}
