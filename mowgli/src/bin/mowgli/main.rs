//! The `mowgli` command.

mod generate;
mod report;
mod serve;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use mowgli::check::{Ask, Checked, Options, shapes};
use mowgli::generate::verbs;
use mowgli::litmus::report as printed_test;
use mowgli::litmus::run::Engine;
use mowgli::litmus::test::{Model, Test};
use mowgli::litmus::{core_rma, order, parse, run, x86};
use mowgli::properties::{Specification, specifications};
use mowgli::{distinguish, explain, interrupt, mutation, necessity, show};
use mowgli_core::outcome::Limits;
use mowgli_core::soundness::client::Bound;
use mowgli_core::soundness::verdict::Verdict;
use mowgli_libraries::catalogue::{Entry, Variant, catalogue, named};
use mowgli_rdma::core_rma::execution::{Rule, Rules};
use mowgli_rdma::robust::Cpu;
use rayon::prelude::*;

/// Check RDMA libraries and litmus tests over very weak memory.
#[derive(Parser)]
#[command(
    version,
    about,
    after_help = "Exit codes: 0 as expected, 1 not as expected, 2 bad input, 3 stopped by a limit."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print all outcomes of litmus tests and check their assertions.
    Litmus(LitmusArgs),
    /// Decide whether programs with polls are robust, why, and what to insert if they are not.
    Robust(RobustArgs),
    /// Find the smallest programs on which two memory models differ.
    Compare(CompareArgs),
    /// Write tests that probe a memory model rule by rule, with their expected outcomes.
    Generate(generate::GenerateArgs),
    /// Write verdicts, outcomes and executions to a page that opens from disk.
    Report(report::ReportArgs),
    /// Edit and solve litmus tests in a browser, on this machine.
    Serve(serve::ServeArgs),
    #[command(hide = true)]
    SolveForPage(serve::SolveArgs),
    /// Write a small crate with a library of your own: specification, implementation, checks.
    New {
        /// The folder; its name is that of the crate, as my-library.
        folder: PathBuf,
        /// Where Mowgli's sources are.
        #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/.."))]
        mowgli: PathBuf,
    },
    /// Convert litmus tests: of the CPU alone to and from herd's X86_64 syntax, or to C programs over libibverbs.
    Convert(ConvertArgs),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write manual pages.
    Man {
        /// Where they go.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Take one random run of the machine of RDMA_TSO, and show it step by step: buffers, pipes and memory.
    Walk(WalkArgs),
    /// Explain a finding that was kept, or what a litmus test asserts: the execution, or why there is none.
    Explain(ExplainArgs),
    /// Check implementations of libraries against their specifications, over all clients up to a bound.
    Check(Box<CheckArgs>),
}

#[derive(Args)]
struct CheckArgs {
    /// The libraries; all at their default bounds if none is named.
    names: Vec<String>,
    /// A variant of the implementation, as no-fence.
    #[arg(long)]
    variant: Option<String>,
    /// At most this many threads.
    #[arg(long, value_name = "T", value_parser = at_least_one)]
    threads: Option<u64>,
    /// At most this many nodes.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    nodes: Option<u64>,
    /// At most this many calls of each thread.
    #[arg(long, value_name = "C", value_parser = at_least_one)]
    calls: Option<u64>,
    /// At most this many calls of all threads together.
    #[arg(long, value_name = "C", value_parser = at_least_one)]
    total: Option<u64>,
    /// At most this many objects of the library.
    #[arg(long, value_name = "O", value_parser = at_least_one)]
    objects: Option<u64>,
    /// Rounds of a loop with effects before the search gives up on it.
    #[arg(long, value_name = "K")]
    loops: Option<usize>,
    /// The values that clients write.
    #[arg(long, value_delimiter = ',', value_name = "V")]
    values: Option<Vec<i64>>,
    /// At most this many words in a message of a ring buffer, of the values that clients write.
    #[arg(long, value_name = "W", value_parser = at_least_one)]
    words: Option<u64>,
    /// The sizes of objects that have one: words of a ring buffer, or of a mixed-size location.
    #[arg(long, value_delimiter = ',', value_name = "S", value_parser = at_least_one)]
    sizes: Option<Vec<u64>>,
    /// The nodes on which objects live that live on one: locks, words, wrapped objects.
    #[arg(long, value_delimiter = ',', value_name = "N", value_parser = at_least_one)]
    homes: Option<Vec<u64>>,
    /// At most this many threads take part in an object: readers of a ring buffer, participants of a barrier.
    #[arg(long, value_name = "M", value_parser = at_least_one)]
    members: Option<u64>,
    /// How clients may reach memory of their own node when a wrong outcome is looked for; `any` if not given, `remote` for
    /// --through.
    #[arg(long, value_enum)]
    placement: Option<Placement>,
    /// Leave out, and weaken, each operation of the implementations in turn: which are needed?
    #[arg(long, conflicts_with_all = ["through", "out", "spec"])]
    necessity: bool,
    /// Weaken the specifications in one place at a time: which broken variants are then no longer caught?
    #[arg(long, conflicts_with_all = ["variant", "through", "out", "spec", "necessity"])]
    mutate_spec: bool,
    /// Look for the smallest client that tells the two named specifications of one library apart.
    #[arg(long, conflicts_with_all = ["variant", "through", "out", "spec", "necessity", "mutate_spec"])]
    distinguish: bool,
    /// Check specifications themselves: monotone, decomposable, satisfiable. Names may be memory models too.
    #[arg(long, conflicts_with_all = ["variant", "through", "out"])]
    spec: bool,
    /// Compare outcomes of the whole stack, down to the memory model, with the specification, at a smaller bound.
    #[arg(long)]
    through: bool,
    /// Worker threads; all cores if not given.
    #[arg(long, value_name = "J", value_parser = at_least_one)]
    jobs: Option<u64>,
    /// Seconds for the whole command.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// One JSON object a line and check.
    #[arg(long)]
    json: bool,
    /// Keep the counterexample in this file, for `mowgli explain`; several go to FILE, FILE.2.ron and so on.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show libraries, variants and default bounds, and check nothing.
    #[arg(long)]
    list: bool,
}

impl CheckArgs {
    /// Whether clients may reach memory of their own node through the network.
    fn loopback(&self) -> bool {
        let usual = if self.through { Placement::Remote } else { Placement::Any };
        self.placement.unwrap_or(usual) == Placement::Any
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Placement {
    /// Also through the network.
    Any,
    /// Not through the network.
    Remote,
}

fn at_least_one(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(0) => Err("a bound of 0 covers nothing; give at least 1".to_owned()),
        Ok(n) if n > 60 => Err("at most 60".to_owned()),
        Ok(n) => Ok(n),
        Err(e) => Err(e.to_string()),
    }
}

#[derive(Args)]
struct LitmusArgs {
    /// Files ending in .litmus, or directories with such files.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// One JSON object a line and test.
    #[arg(long)]
    json: bool,
    /// Only tests of this model, as RDMA_WAIT.
    #[arg(long)]
    model: Option<String>,
    /// Replace these libraries by their implementations, from left to right; `bal:no-fence` is a variant of one.
    #[arg(long, value_delimiter = ',', value_name = "LIBRARY")]
    implemented: Vec<String>,
    /// Rounds of a loop with effects before the search gives up on it.
    #[arg(long, default_value_t = 3, value_name = "K")]
    loops: usize,
    /// Seconds for one test.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// Print counts of the search on standard error.
    #[arg(long)]
    stats: bool,
    /// How outcomes are found, for tests of RDMA_TSO.
    #[arg(long, value_enum, default_value_t = Engine::Declarative, conflicts_with = "implemented")]
    engine: Engine,
    /// The network whose rules tests of CORE_RMA are solved under.
    #[arg(long, default_value = "core", value_name = "NAME", value_parser = Rules::preset)]
    network: Rules,
    /// Rules of CORE_RMA that are switched off, as IR.
    #[arg(long, value_delimiter = ',', value_name = "RULE")]
    without: Vec<Rule>,
    /// Take each cell of the stamp order `to` away in turn: which of the tests notice?
    #[arg(long, conflicts_with_all = ["implemented", "stats", "timeout"])]
    mutate_to: bool,
}

#[derive(Args)]
struct CompareArgs {
    /// The two models, as --model RDMA_TSO --model RDMA_SC.
    #[arg(long, required = true)]
    model: Vec<Model>,
    /// Programs with remote read-modify-writes too.
    #[arg(long)]
    rmw: bool,
    /// At most this many threads.
    #[arg(long, value_name = "T", value_parser = at_least_one)]
    threads: Option<u64>,
    /// At most this many nodes.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    nodes: Option<u64>,
    /// At most this many calls of each thread.
    #[arg(long, value_name = "C", value_parser = at_least_one)]
    calls: Option<u64>,
    /// Seconds for the whole command.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct RobustArgs {
    /// Files ending in .litmus, or directories with such files; tests of other models are left out of directories.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The CPU's memory model; that of the file if not given.
    #[arg(long, value_enum)]
    model: Option<CpuArg>,
    /// One JSON object a line and test.
    #[arg(long)]
    json: bool,
    /// Write the test with its smallest repair beside it, to NAME.fixed.litmus.
    #[arg(long)]
    fix: bool,
    /// Seconds for one test.
    #[arg(long, value_name = "S", default_value_t = 60)]
    timeout: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CpuArg {
    /// Sequentially consistent.
    Sc,
    /// With store buffers.
    Tso,
}

#[derive(Args)]
struct WalkArgs {
    /// A litmus test of RDMA_TSO.
    file: PathBuf,
    /// Which run: equal seeds give equal runs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Args)]
struct ExplainArgs {
    /// A finding in RON, as `check --out` keeps it, or a litmus test.
    file: PathBuf,
    /// For a litmus test: replace these libraries by their implementations, from left to right.
    #[arg(long, value_delimiter = ',', value_name = "LIBRARY")]
    implemented: Vec<String>,
    /// Which assertion of the litmus test, from 1; all if not given.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    assertion: Option<u64>,
    /// Print the execution as a graph in the DOT language.
    #[arg(long, conflicts_with = "svg")]
    dot: bool,
    /// Print the execution as a picture.
    #[arg(long)]
    svg: bool,
    /// Print the finding, with its execution, as one JSON object a line.
    #[arg(long, conflicts_with_all = ["dot", "svg"])]
    json: bool,
    /// Keep the finding in this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args)]
struct ConvertArgs {
    /// A litmus test: Mowgli's, or one that begins with X86_64.
    file: PathBuf,
    /// What it is converted to.
    #[arg(long, value_enum, value_name = "FORM")]
    to: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// herd's X86_64, for tests of CPU accesses on one node.
    Herd,
    /// Mowgli's, from herd's X86_64.
    Mowgli,
    /// A C program; mowgli_verbs.h, which it includes, is written by `generate --emit c-verbs`.
    CVerbs,
}

fn main() -> ExitCode {
    let stop = || {
        if interrupt::request() {
            eprintln!("Stopping: what is done is printed. Once more to stop at once.");
        } else {
            std::process::exit(130);
        }
    };
    if let Err(e) = ctrlc::set_handler(stop) {
        eprintln!("warning: Ctrl-C stops at once: {e}");
    }
    let cli = Cli::parse();
    // A reader that has seen enough, as `head`, ends the command quietly; a server outlives its readers.
    if !matches!(cli.command, Command::Serve(_)) {
        sigpipe::reset();
    }
    let code = match cli.command {
        Command::Litmus(args) => litmus(&args),
        Command::Compare(args) => compare(&args),
        Command::Robust(args) => robust(&args),
        Command::Generate(args) => told(generate::generate(&args)),
        Command::Report(args) => told(report::report(&args)),
        Command::Serve(args) => told(serve::serve(&args)),
        Command::SolveForPage(args) => told(serve::solve_for_page(&args)),
        Command::New { folder, mowgli } => told(new(&folder, &mowgli)),
        Command::Convert(args) => printed(converted(&args)),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "mowgli", &mut std::io::stdout());
            0
        }
        Command::Man { out } => told(man(&out)),
        Command::Walk(args) => printed(walked(&args)),
        Command::Explain(args) => printed(explained(&args)),
        Command::Check(args) => check(&args),
    };
    ExitCode::from(code)
}

/// Writes a new crate, and says what to do next.
fn new(folder: &Path, sources: &Path) -> Result<u8, String> {
    let absolute =
        sources.canonicalize().map_err(|e| format!("{}: {e}; say where with --mowgli DIR", sources.display()))?;
    for file in mowgli::new::new(folder, &absolute)? {
        println!("{}", file.display());
    }
    println!("Next: cd {} && cargo test", folder.display());
    Ok(0)
}

/// Writes the manual pages of the command and of its subcommands.
fn man(out: &Path) -> Result<u8, String> {
    std::fs::create_dir_all(out).map_err(|e| format!("{}: {e}", out.display()))?;
    clap_mangen::generate_to(Cli::command(), out).map_err(|e| format!("{}: {e}", out.display()))?;
    Ok(0)
}

/// The exit code, with the message for bad input.
fn told(result: Result<u8, String>) -> u8 {
    result.unwrap_or_else(|message| {
        eprintln!("error: {message}");
        2
    })
}

/// The files that a path stands for.
fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|x| x == "litmus"))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("{}: no file ending in .litmus in this directory", path.display()));
    }
    Ok(files)
}

struct Printed {
    out: String,
    err: String,
    code: u8,
    stats: mowgli_core::search::solver::Stats,
}

fn litmus(args: &LitmusArgs) -> u8 {
    let mut code = 0;
    let mut all = Vec::new();
    for path in &args.paths {
        match files(path) {
            Ok(found) => all.extend(found),
            Err(message) => {
                eprintln!("error: {message}");
                code = 2;
            }
        }
    }
    if args.mutate_to {
        return worst(code, mutate_to(&all, args));
    }
    let printed: Vec<Printed> = all.par_iter().map(|path| one_file(path, args)).collect();
    let mut stats = mowgli_core::search::solver::Stats::default();
    for p in printed {
        print!("{}", p.out);
        eprint!("{}", p.err);
        code = worst(code, p.code);
        stats += p.stats;
    }
    if args.stats {
        eprintln!("{stats:?} leaves per class {:.3}", stats.leaves as f64 / stats.classes.max(1) as f64);
    }
    code
}

/// The test in a file, if it is one of the model that is asked for.
fn read_test(path: &Path, args: &LitmusArgs) -> Result<Option<Test>, String> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| format!("{name}: {e}"))?;
    let is_wanted = args.model.as_deref().is_none_or(|m| text.split_whitespace().next() == Some(m));
    is_wanted.then(|| parse::parse(&name, &text)).transpose()
}

fn mutate_to(files: &[PathBuf], args: &LitmusArgs) -> u8 {
    let mut code = 0;
    let mut tests = Vec::new();
    for path in files {
        match read_test(path, args) {
            Ok(test) => tests.extend(test),
            Err(message) => {
                eprintln!("error: {message}");
                code = 2;
            }
        }
    }
    let cells = order::worth(&tests);
    for cell in &cells {
        println!("{}", if args.json { serde_json::to_string(cell).expect("strings") } else { cell.text() });
    }
    if !args.json {
        let unnoticed = cells.iter().filter(|c| c.noticed_by.is_empty()).count();
        println!("{} of {} cells are noticed by one of {} tests", cells.len() - unnoticed, cells.len(), tests.len());
    }
    code
}

/// Bad input outweighs a failed assertion, which outweighs a limit.
fn worst(a: u8, b: u8) -> u8 {
    let rank = |c: u8| [0, 2, 3, 1][usize::from(c)];
    if rank(a) >= rank(b) { a } else { b }
}

fn one_file(path: &Path, args: &LitmusArgs) -> Printed {
    let bad = |message: String| Printed {
        out: String::new(),
        err: format!("error: {message}\n"),
        code: 2,
        stats: Default::default(),
    };
    if interrupt::requested() {
        let err = format!("interrupted: {} was not run\n", path.display());
        return Printed { out: String::new(), err, code: 3, stats: Default::default() };
    }
    let test = match read_test(path, args) {
        Ok(Some(test)) => test,
        Ok(None) => return Printed { out: String::new(), err: String::new(), code: 0, stats: Default::default() },
        Err(message) => return bad(message),
    };
    let mut chain = Vec::new();
    for name in &args.implemented {
        match run::implementation(name) {
            Ok(implementation) => chain.push(implementation),
            Err(message) => return bad(message),
        }
    }
    let start = Instant::now();
    let deadline = args.timeout.map(|s| start + Duration::from_secs(s));
    let expired = move || interrupt::requested() || deadline.is_some_and(|d| Instant::now() > d);
    let limits = Limits { rounds: args.loops, expired: &expired, ..Limits::default() };
    let rules = args.without.iter().fold(args.network.clone(), |rules, &rule| rules.without(rule));
    let answer = match args.engine {
        Engine::Declarative if test.model == Model::CoreRma => core_rma::solve(&test, &rules, limits),
        Engine::Declarative => run::solve(&test, &chain, limits),
        engine => match run::solve_with(engine, &test, limits) {
            Ok(answer) => answer,
            Err(message) => return bad(message),
        },
    };
    let mut answer = answer;
    answer.explored.stop = answer.explored.stop.map(interrupt::cause);
    let micros = start.elapsed().as_micros();
    let out = if args.json {
        printed_test::json(&test, &answer, args.loops, micros) + "\n"
    } else {
        printed_test::text(&test, &answer, args.loops, micros) + "\n"
    };
    let code = match (answer.holds.contains(&Some(false)), answer.explored.stop.is_some()) {
        (true, _) => 1,
        (false, true) => 3,
        (false, false) => 0,
    };
    Printed { out, err: String::new(), code, stats: answer.explored.stats }
}

/// Prints what a command has to say.
fn printed(result: Result<String, String>) -> u8 {
    match result {
        Ok(text) => {
            print!("{text}");
            0
        }
        Err(message) => {
            eprintln!("error: {message}");
            2
        }
    }
}

/// 0 if the models were compared, 3 if a limit stopped that.
fn compare(args: &CompareArgs) -> u8 {
    let [a, b] = args.model[..] else {
        eprintln!("error: name two models, as --model RDMA_TSO --model RDMA_SC");
        return 2;
    };
    if let Some(without) = args.model.iter().find(|m| args.rmw && matches!(m, Model::RdmaSc | Model::CoreRma)) {
        eprintln!("error: {without} has no remote read-modify-writes that take values; leave --rmw out");
        return 2;
    }
    if args.model.contains(&Model::CoreRma) && args.model.contains(&Model::RdmaWait) {
        eprintln!(
            "error: flushes of CORE_RMA can be compared with polls, so with RDMA_TSO or RDMA_SC, and not with waits"
        );
        return 2;
    }
    let mut bounds = mowgli::compare::bounds();
    if [args.threads, args.nodes, args.calls].iter().any(Option::is_some) {
        let of = |given: Option<u64>| given.unwrap_or(2);
        let (threads, nodes, calls) = (of(args.threads) as usize, of(args.nodes) as u8, of(args.calls) as usize);
        bounds = vec![Bound { threads, nodes, calls, ..Bound::default() }];
    }
    let deadline = args.timeout.map(|s| Instant::now() + Duration::from_secs(s));
    let expired = || interrupt::requested() || deadline.is_some_and(|d| Instant::now() > d);
    let found = mowgli::compare::compare(a, b, args.rmw, &bounds, &expired);
    if args.json {
        println!("{}", found.json(a, b));
    } else {
        found.differences.iter().for_each(|d| println!("{}", d.text()));
        for (only, not) in [(a, b), (b, a)] {
            if found.differences.iter().all(|d| d.only != only) {
                println!("none of these programs has an outcome under {only} that it has not under {not}");
            }
        }
        println!("{} programs, the smallest with threads, nodes, calls up to {}", found.programs, shapes(&bounds));
        if let Some(stop) = &found.stop {
            println!("Incomplete: {stop}");
        }
    }
    if found.stop.is_some() { 3 } else { 0 }
}

fn robust(args: &RobustArgs) -> u8 {
    let mut code = 0;
    for path in &args.paths {
        let is_one = !path.is_dir();
        let found = files(path).unwrap_or_else(|message| {
            eprintln!("error: {message}");
            code = 2;
            Vec::new()
        });
        for file in found {
            match one_robust(&file, args, is_one) {
                Ok(own) => code = worst(code, own),
                Err(message) => {
                    eprintln!("error: {message}");
                    code = 2;
                }
            }
        }
    }
    code
}

/// 0 if the test is robust, 1 if not, 3 if that is not known.
fn one_robust(path: &Path, args: &RobustArgs, named: bool) -> Result<u8, String> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| format!("{name}: {e}"))?;
    let test = parse::parse(&name, &text)?;
    if !named && matches!(test.model, Model::RdmaWait | Model::CoreRma) {
        return Ok(0);
    }
    let deadline = Instant::now() + Duration::from_secs(args.timeout);
    let cpu = args.model.map(|m| if m == CpuArg::Sc { Cpu::Sc } else { Cpu::Tso });
    let found =
        mowgli::robust::robust(&test, cpu, &|| Instant::now() > deadline).map_err(|e| format!("{name}: {e}"))?;
    if args.json {
        println!("{}", found.json());
    } else {
        println!("{}", found.text());
    }
    if let (true, Some(fixed)) = (args.fix, found.fixed(&text)?) {
        let to = path.with_extension("fixed.litmus");
        std::fs::write(&to, fixed).map_err(|e| format!("{}: {e}", to.display()))?;
        if !args.json {
            println!("  written to {}", to.display());
        }
    }
    Ok(match found.is_robust() {
        Some(true) => 0,
        Some(false) => 1,
        None => 3,
    })
}

fn converted(args: &ConvertArgs) -> Result<String, String> {
    let path = args.file.display().to_string();
    let text = std::fs::read_to_string(&args.file).map_err(|e| format!("{path}: {e}"))?;
    if args.to == Form::Mowgli {
        return x86::from_herd(&path, &text);
    }
    let test = parse::parse(&path, &text)?;
    match args.to {
        Form::CVerbs => verbs::program(&test, &run::solve(&test, &[], Limits::default())),
        _ => x86::to_herd(&test),
    }
}

fn walked(args: &WalkArgs) -> Result<String, String> {
    let path = args.file.display();
    let text = std::fs::read_to_string(&args.file).map_err(|e| format!("{path}: {e}"))?;
    run::walk(&parse::parse(&path.to_string(), &text)?, args.seed).map_err(|e| format!("{path}: {e}"))
}

fn explained(args: &ExplainArgs) -> Result<String, String> {
    let path = args.file.display();
    let text = std::fs::read_to_string(&args.file).map_err(|e| format!("{path}: {e}"))?;
    let findings = if args.file.extension().is_some_and(|x| x == "litmus") {
        let test = parse::parse(&path.to_string(), &text)?;
        if test.model == Model::CoreRma {
            return Err(format!("{path}: explain draws executions of subevents, which {} has not", test.model));
        }
        let mut findings = explain::of_test(&test, &text, &args.implemented)?;
        if let Some(n) = args.assertion {
            let n = usize::try_from(n).expect("at most 60");
            if n > findings.len() {
                return Err(format!("{path}: there are {} assertions", findings.len()));
            }
            findings = vec![findings.swap_remove(n - 1)];
        }
        if findings.is_empty() {
            return Err(format!("{path}: no assertion to explain; add one, as `allowed (a=1)`"));
        }
        findings
    } else {
        vec![explain::read(&text).map_err(|e| format!("{path}:{e}"))?]
    };
    if let Some(out) = &args.out {
        keep(out, &findings)?;
    }
    if args.json {
        let line = |f: &explain::Finding| serde_json::to_string(f).map(|l| l + "\n").map_err(|e| e.to_string());
        return findings.iter().map(line).collect();
    }
    let graphs = args.dot || args.svg;
    let mut out = Vec::new();
    for finding in findings {
        let explained = explain::explain(finding).map_err(|e| format!("{path}: {e}"))?;
        if !graphs {
            out.push(explained.text());
        } else if let (Some(execution), Some(judged)) = (&explained.finding.execution, &explained.judged) {
            let dot = show::dot(&explained.finding.title, execution, judged);
            out.push(if args.svg { show::svg(&dot)? } else { dot });
        }
    }
    if out.is_empty() {
        return Err(format!("{path}: there is no execution to draw; without --dot or --svg the reason is printed"));
    }
    Ok(out.join("\n"))
}

/// Writes findings, the first to `path` itself.
fn keep(path: &Path, findings: &[explain::Finding]) -> Result<(), String> {
    for (position, finding) in findings.iter().enumerate() {
        let path = match (position, path.extension().and_then(|x| x.to_str())) {
            (0, _) => path.to_owned(),
            (n, Some(extension)) => path.with_extension(format!("{}.{extension}", n + 1)),
            (n, None) => path.with_extension((n + 1).to_string()),
        };
        std::fs::write(&path, explain::written(finding)).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// The entries that are asked for, with the variant of each.
fn chosen(args: &CheckArgs) -> Result<Vec<(Entry, Variant)>, String> {
    let all = catalogue();
    args.names.iter().try_for_each(|name| named(&all, name).map(|_| ()))?;
    let wanted = all.into_iter().filter(|e| args.names.is_empty() || args.names.iter().any(|n| n == e.name));
    let mut chosen = Vec::new();
    for entry in wanted {
        let name = args.variant.as_deref().unwrap_or("published");
        match entry.variant(name).cloned() {
            Ok(variant) => chosen.push((entry, variant)),
            Err(_) if args.names.is_empty() => {}
            Err(message) => return Err(message),
        }
    }
    if chosen.is_empty() {
        return Err("no library has this variant; see mowgli check --list".to_owned());
    }
    Ok(chosen)
}

/// The bounds for a variant: its defaults, or one with what was asked for.
fn bounds(entry: &Entry, variant: &Variant, args: &CheckArgs) -> Vec<Bound> {
    limited(if args.through { vec![entry.through()] } else { variant.bounds.clone() }, args)
}

/// These bounds, or the first of them with what was asked for.
fn limited(mut bounds: Vec<Bound>, args: &CheckArgs) -> Vec<Bound> {
    if [args.threads, args.nodes, args.calls, args.objects].iter().any(Option::is_some) {
        bounds.truncate(1);
        bounds.iter_mut().for_each(|b| b.total = None);
    }
    for bound in &mut bounds {
        bound.threads = args.threads.map_or(bound.threads, |n| n as usize);
        bound.nodes = args.nodes.map_or(bound.nodes, |n| n as u8);
        bound.calls = args.calls.map_or(bound.calls, |n| n as usize);
        bound.objects = args.objects.map_or(bound.objects, |n| n as usize);
        bound.loops = args.loops.unwrap_or(bound.loops);
        bound.values = args.values.clone().unwrap_or_else(|| bound.values.clone());
        bound.words = args.words.map_or(bound.words, |n| n as usize);
        if let Some(sizes) = &args.sizes {
            bound.sizes = sizes.iter().map(|&n| n as usize).collect();
        }
        if let Some(homes) = &args.homes {
            bound.homes = homes.iter().map(|&n| n as u8).collect();
        }
        bound.members = args.members.map(|n| n as usize).or(bound.members);
        bound.total = args.total.map(|n| n as usize).or(bound.total);
    }
    bounds
}

fn list() {
    for entry in catalogue() {
        println!("{} over {}", entry.name, entry.over());
        for v in &entry.variants {
            println!("  {:<20} {:?}: {}", v.name, v.expected, v.about);
            for Bound { threads, nodes, calls, objects, .. } in &v.bounds {
                println!("  {:<20} threads {threads}, nodes {nodes}, calls {calls}, objects {objects}", "");
            }
        }
    }
}

fn check(args: &CheckArgs) -> u8 {
    if args.list {
        list();
        return 0;
    }
    if let Some(jobs) = args.jobs {
        // The pool can be set once in a process, and nothing has used it yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(jobs as usize).build_global();
    }
    let deadline = args.timeout.map(|s| Instant::now() + Duration::from_secs(s));
    let result = match args {
        CheckArgs { spec: true, .. } => check_specifications(args, deadline),
        CheckArgs { necessity: true, .. } => check_necessity(args, deadline),
        CheckArgs { mutate_spec: true, .. } => check_mutations(args, deadline),
        CheckArgs { distinguish: true, .. } => check_difference(args, deadline),
        _ => check_implementations(args, deadline),
    };
    told(result)
}

/// A bar for long work: what it is about, and how many clients are done.
fn bar(message: String) -> indicatif::ProgressBar {
    let bar = indicatif::ProgressBar::new(0);
    bar.set_message(message);
    bar.set_style(
        indicatif::ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} clients, {eta} left")
            .expect("a fixed template"),
    );
    bar
}

/// What moves a bar: how many clients are done, of how many.
fn moving(bar: &indicatif::ProgressBar) -> impl Fn(usize, usize) + Sync + '_ {
    |done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    }
}

fn check_specifications(args: &CheckArgs, deadline: Option<Instant>) -> Result<u8, String> {
    let all = specifications();
    let known: Vec<&str> = all.iter().map(|s| s.name).collect();
    if let Some(unknown) = args.names.iter().find(|n| !known.contains(&n.as_str())) {
        return Err(format!("no specification {unknown}; there are {}", known.join(", ")));
    }
    let mut code = 0;
    let wanted = |s: &&Specification| {
        if args.names.is_empty() { !s.is_language } else { args.names.iter().any(|n| n == s.name) }
    };
    for specification in all.iter().filter(wanted) {
        let bar = bar(specification.name.to_owned());
        let progress = moving(&bar);
        let found = specification.check(limited(specification.bounds(), args), deadline, &progress);
        bar.finish_and_clear();
        println!("{}", if args.json { found.json() } else { found.text() });
        let stopped = found.properties.stop.is_some();
        code = worst(
            code,
            if !found.is_good() {
                1
            } else if stopped {
                3
            } else {
                0
            },
        );
    }
    Ok(code)
}

fn check_necessity(args: &CheckArgs, deadline: Option<Instant>) -> Result<u8, String> {
    for (entry, variant) in chosen(args)? {
        let bar = bar(format!("{} {}", entry.name, variant.name));
        let progress = moving(&bar);
        let loopback = args.loopback();
        let options = Options { deadline, loopback, ask: Ask::Soundness, progress: &progress };
        let bounds = limited(necessity::bounds(&entry), args);
        if !args.json {
            println!("{} ({}): threads, nodes, calls up to {}", entry.name, variant.name, shapes(&bounds));
        }
        let mut each = |row: &necessity::Row| {
            bar.suspend(|| println!("{}", if args.json { row.json() } else { row.text() }));
        };
        let found = necessity::necessity(&entry, &variant, bounds, &options, &mut each)?;
        bar.finish_and_clear();
        if !args.json {
            for row in &found.rows {
                if let Some(litmus) = row.checked.litmus() {
                    println!("\n{}, {}:\n\n{litmus}", row.site, row.change);
                }
            }
        }
    }
    Ok(0)
}

fn check_mutations(args: &CheckArgs, deadline: Option<Instant>) -> Result<u8, String> {
    for (entry, _) in chosen(args)? {
        let bar = bar(entry.name.to_owned());
        let options = Options { deadline, ..Options::default() };
        let bounds = limited(necessity::bounds(&entry), args);
        let name = entry.name;
        let mut each = |worth: &mutation::Worth| {
            let line = if args.json { serde_json::to_string(worth).expect("strings") } else { worth.text() };
            bar.suspend(|| println!("{line}"));
        };
        if !args.json {
            println!("{name}");
        }
        let found = mutation::worths(entry, bounds, &options, &mut each);
        bar.finish_and_clear();
        if !args.json {
            println!(
                "  the whole catches {}, with threads, nodes, calls up to {}",
                if found.caught.is_empty() { "no variant".to_owned() } else { found.caught.join(", ") },
                shapes(&found.bounds)
            );
        }
    }
    Ok(0)
}

fn check_difference(args: &CheckArgs, deadline: Option<Instant>) -> Result<u8, String> {
    let [one, other] = &args.names[..] else {
        return Err("name the two specifications, as mowgli check --distinguish rbl rbl-weak".to_owned());
    };
    let all = catalogue();
    let (one, other) = (named(&all, one)?, named(&all, other)?);
    let bounds = limited(distinguish::bounds(one), args);
    let bar = bar(format!("{} {}", one.name, other.name));
    let progress = moving(&bar);
    let compared = distinguish::distinguish(one, other, &bounds, deadline, &progress)?;
    bar.finish_and_clear();
    if args.json {
        println!("{}", compared.json(one.name, other.name));
    } else {
        print!("{}", compared.text(one.name, other.name));
    }
    Ok(if compared.difference.is_none() && compared.stop.is_some() { 3 } else { 0 })
}

fn check_implementations(args: &CheckArgs, deadline: Option<Instant>) -> Result<u8, String> {
    let chosen = chosen(args)?;
    let mut code = 0;
    let mut all = Vec::new();
    for (entry, variant) in &chosen {
        if interrupt::requested() {
            eprintln!("interrupted: {} ({}) was not checked", entry.name, variant.name);
            continue;
        }
        for bound in bounds(entry, variant, args) {
            let bar = bar(format!("{} {}", entry.name, variant.name));
            let progress = moving(&bar);
            let loopback = args.loopback();
            let ask = if args.through { Ask::Through } else { Ask::Soundness };
            let options = Options { deadline, loopback, ask, progress: &progress };
            let checked = mowgli::check::check(entry, variant, &bound, &options);
            bar.finish_and_clear();
            code = worst(
                code,
                match checked.is_expected() {
                    Some(true) => 0,
                    Some(false) => 1,
                    None => 3,
                },
            );
            if args.json {
                println!("{}", checked.json());
            } else {
                print!("{}", checked.explanation());
            }
            let sound = matches!(checked.report.verdict, Verdict::Sound | Verdict::NoWrongOutcome);
            all.push(checked);
            if !sound {
                break;
            }
        }
    }
    if !args.json {
        println!("{}", table(&all));
    }
    if let Some(path) = &args.out {
        let findings: Vec<_> = all.iter().filter_map(Checked::finding).collect();
        keep(path, &findings)?;
        if findings.is_empty() {
            eprintln!("no counterexample was found, so nothing was written to {}", path.display());
        }
    }
    Ok(code)
}

fn table(all: &[Checked]) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header(["library", "over", "bound", "clients", "executions", "verdict", "concretisation", "time"]);
    for c in all {
        let vacuous = if c.report.vacuous > 0 { format!(" ({} never end)", c.report.vacuous) } else { String::new() };
        let unreached = c.unreached().iter().map(|m| format!("\n{m} in no execution")).collect::<String>();
        let expected = match c.is_expected() {
            Some(false) => format!(" (expected {:?})", c.expected),
            _ => String::new(),
        };
        let stop = match &c.report.verdict {
            Verdict::Undecided(stop) => format!(": {stop}"),
            _ => String::new(),
        };
        table.add_row([
            if c.variant == "published" { c.library.to_owned() } else { format!("{} ({})", c.library, c.variant) },
            c.over.clone(),
            c.bound_text().replace(", ", "\n"),
            format!("{}{vacuous}{unreached}", c.report.clients),
            c.report.stats.classes.to_string(),
            format!("{}{expected}{stop}", c.verdict()),
            c.concretisation().join("\n"),
            format!("{:.2} s", c.time.as_secs_f64()),
        ]);
    }
    table
}
