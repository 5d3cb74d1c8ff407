//! The command: arguments, exit codes, what is printed where.

mod check;
mod explain;
mod generate;
mod litmus;
mod prove;
mod repair;
mod report;
mod serve;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::catalogue::{Catalogue, Own, Stamped};
use crate::check::{Checked, Options, check, shapes};
use crate::generate::verbs;
use crate::interrupt;
use crate::interrupt::{Deadline, Failure, Undecided};
use crate::litmus::test::{Model, Test};
use crate::litmus::{parse, run, x86};
use crate::new::Example;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use mowgli_core::problem::Limits;
use mowgli_core::soundness::client::Bound;
use mowgli_core::soundness::verdict::Verdict;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_rdma::robust::Cpu;

/// Check RDMA libraries and litmus tests over very weak memory.
#[derive(Parser)]
#[command(
    version,
    about,
    after_help = "Exit codes: 0 as expected, 1 not as expected, 2 bad input, 3 undecided: a limit stopped it, or nothing ever ends."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print all outcomes of litmus tests and check their assertions.
    Litmus(litmus::LitmusArgs),
    /// Decide whether programs with polls are robust, why, and what to insert if they are not.
    Robust(RobustArgs),
    /// Find the least to insert into litmus tests so that nothing forbidden happens, and what is more than needed.
    Repair(repair::RepairArgs),
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
    #[command(
        after_help = "Examples:\n  mowgli new my-library\n  mowgli new my-stack --example stack\n  mowgli new my-latch --mowgli ~/mowgli"
    )]
    New {
        /// The folder; its name is that of the crate, as my-library.
        folder: PathBuf,
        /// What it begins with.
        #[arg(long, value_enum, default_value_t, value_name = "NAME")]
        example: Example,
        /// Where Mowgli's sources are.
        #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/.."))]
        mowgli: PathBuf,
    },
    /// Convert litmus tests: of the CPU alone to and from herd's X86_64 syntax, or to C programs over libibverbs.
    Convert(ConvertArgs),
    /// Print a memory model, or the specification of a library, in the language cat of herd7 and Dat3M.
    #[command(after_help = "Examples:\n  mowgli cat RDMA_TSO > rdma-tso.cat\n  mowgli cat sv")]
    Cat {
        /// A model as RDMA_TSO, or a library as sv.
        name: String,
    },
    /// Print completions for a shell.
    #[command(
        after_help = "Examples:\n  mowgli completions bash > /etc/bash_completion.d/mowgli\n  mowgli completions zsh"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write manual pages.
    #[command(after_help = "Examples:\n  mowgli man --out /usr/local/share/man/man1")]
    Man {
        /// Where they go.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Take one random run of the machine of RDMA_TSO, and show it step by step: buffers, pipes and memory.
    Walk(WalkArgs),
    /// Explain a finding that was kept, or what a litmus test asserts: the execution, or why there is none.
    Explain(explain::ExplainArgs),
    /// Check implementations of libraries against their specifications, over all clients up to a bound.
    Check(Box<check::CheckArgs>),
    /// Prove implementations of libraries for every client, not up to a bound, with a solver on the path.
    Prove(prove::ProveArgs),
}

impl Command {
    /// Whether what is done by the time of Ctrl-C is worth printing; the others end at once.
    fn keeps_what_is_done(&self) -> bool {
        matches!(
            self,
            Self::Litmus(_)
                | Self::Robust(_)
                | Self::Repair(_)
                | Self::Compare(_)
                | Self::Generate(_)
                | Self::Report(_)
                | Self::Check(_)
        )
    }
}

fn at_least_one(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(0) => Err("a bound of 0 covers nothing; give at least 1".to_owned()),
        Ok(n) if n > 60 => Err("at most 60".to_owned()),
        Ok(n) => Ok(n),
        Err(e) => Err(e.to_string()),
    }
}

/// How clients may reach memory of their own node.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Placement {
    /// Also through the network.
    Any,
    /// Not through the network.
    Remote,
}

/// How large clients or programs get.
#[derive(Args)]
struct Shape {
    /// At most this many threads.
    #[arg(long, value_name = "T", value_parser = at_least_one)]
    threads: Option<u64>,
    /// At most this many nodes.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    nodes: Option<u64>,
    /// At most this many calls of each thread.
    #[arg(long, value_name = "C", value_parser = at_least_one)]
    calls: Option<u64>,
}

impl Shape {
    /// Whether anything of it was given.
    fn is_given(&self) -> bool {
        [self.threads, self.nodes, self.calls].iter().any(Option::is_some)
    }

    /// A bound, with what was given.
    fn of(&self, bound: Bound) -> Bound {
        Bound {
            threads: self.threads.map_or(bound.threads, |n| n as usize),
            nodes: self.nodes.map_or(bound.nodes, |n| n as u8),
            calls: self.calls.map_or(bound.calls, |n| n as usize),
            ..bound
        }
    }
}

/// What a check may be limited to.
#[derive(Args)]
struct Within {
    #[command(flatten)]
    shape: Shape,
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
}

impl Within {
    /// These bounds, or the first of them with what was asked for.
    fn limited(&self, mut bounds: Vec<Bound>) -> Vec<Bound> {
        if self.shape.is_given() || self.objects.is_some() {
            bounds.truncate(1);
            bounds.iter_mut().for_each(|b| b.total = None);
        }
        for bound in &mut bounds {
            *bound = self.shape.of(bound.clone());
            bound.objects = self.objects.map_or(bound.objects, |n| n as usize);
            bound.loops = self.loops.unwrap_or(bound.loops);
            bound.values = self.values.clone().unwrap_or_else(|| bound.values.clone());
            bound.words = self.words.map_or(bound.words, |n| n as usize);
            if let Some(sizes) = &self.sizes {
                bound.sizes = sizes.iter().map(|&n| n as usize).collect();
            }
            if let Some(homes) = &self.homes {
                bound.homes = homes.iter().map(|&n| n as u8).collect();
            }
            bound.members = self.members.map(|n| n as usize).or(bound.members);
            bound.total = self.total.map(|n| n as usize).or(bound.total);
        }
        bounds
    }
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli compare --model RDMA_TSO --model RDMA_SC\n  mowgli compare --model CORE_RMA --model RDMA_SC --threads 2 --calls 3"
)]
struct CompareArgs {
    /// The two models, as --model RDMA_TSO --model RDMA_SC.
    #[arg(long, required = true)]
    model: Vec<Model>,
    /// Programs with remote read-modify-writes too.
    #[arg(long)]
    rmw: bool,
    #[command(flatten)]
    shape: Shape,
    /// Seconds for the whole command.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  mowgli robust mp.litmus\n  mowgli robust --model sc --fix mp.litmus")]
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
#[command(after_help = "Examples:\n  mowgli walk polls.litmus --seed 3")]
struct WalkArgs {
    /// A litmus test of RDMA_TSO.
    file: PathBuf,
    /// Which run: equal seeds give equal runs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Seconds before it gives up.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli convert sb.litmus --to herd > sb-x86.litmus\n  mowgli convert sb-x86.litmus --to mowgli\n  mowgli convert put.litmus --to c-verbs > put.c"
)]
struct ConvertArgs {
    /// A litmus test: Mowgli's, or one that begins with X86_64.
    file: PathBuf,
    /// What it is converted to.
    #[arg(long, value_enum, value_name = "FORM")]
    to: Form,
    /// Seconds for all outcomes of the test, which a C program has to know.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
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

/// The command with libraries of one's own beside those that are built in.
///
/// ```no_run
/// # use mowgli_libraries::x86::treiber::entry;
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     mowgli::main_with([entry()])
/// }
/// ```
pub fn main_with(own: impl IntoIterator<Item = impl Into<Own>>) -> ExitCode {
    run(own.into_iter().map(Into::into).collect())
}

/// Writes the main function of a command with libraries of one's own: see [`main_with`].
///
/// ```no_run
/// # use mowgli_libraries::x86::treiber;
/// mowgli::main!(treiber::entry());
/// ```
#[macro_export]
macro_rules! main {
    ($($entry:expr),* $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::main_with(Vec::<$crate::Own>::from([$($entry.into()),*]))
        }
    };
}

fn run(own: Vec<Own>) -> ExitCode {
    let stop = || {
        if interrupt::request() {
            eprintln!("Stopping: what is done is printed. Once more to stop at once.");
        } else {
            std::process::exit(130);
        }
    };
    let cli = Cli::parse();
    if cli.command.keeps_what_is_done()
        && let Err(e) = ctrlc::set_handler(stop)
    {
        eprintln!("warning: Ctrl-C stops at once: {e}");
    }
    // A reader that has seen enough, as `head`, ends the command quietly; a server outlives its readers.
    if !matches!(cli.command, Command::Serve(_)) {
        sigpipe::reset();
    }
    let catalogue = match Catalogue::with(own) {
        Ok(catalogue) => catalogue,
        Err(message) => return ExitCode::from(told(Err(message))),
    };
    let code = match cli.command {
        Command::Litmus(args) => litmus::litmus(&args, &catalogue),
        Command::Compare(args) => compare(&args),
        Command::Robust(args) => robust(&args),
        Command::Repair(args) => repair::repaired(&args, &catalogue),
        Command::Generate(args) => told(generate::generate(&args)),
        Command::Report(args) => told(report::report(&args, &catalogue)),
        Command::Serve(args) => told(serve::serve(&args)),
        Command::SolveForPage(args) => told(serve::solve_for_page(&args, &catalogue)),
        Command::New { folder, example, mowgli } => told(new(&folder, &mowgli, example)),
        Command::Convert(args) => printed(converted(&args)),
        Command::Cat { name } => printed(crate::cat::cat(&catalogue, &name)),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "mowgli", &mut std::io::stdout());
            0
        }
        Command::Man { out } => told(man(&out)),
        Command::Walk(args) => coded(walked(&args)),
        Command::Explain(args) => coded(explain::explained(&args, &catalogue)),
        Command::Check(args) => check::check(&args, catalogue),
        Command::Prove(args) => told(prove::prove(&args, &catalogue)),
    };
    ExitCode::from(code)
}

/// Writes a new crate, and says what to do next.
fn new(folder: &Path, sources: &Path, example: Example) -> Result<u8, String> {
    let absolute =
        sources.canonicalize().map_err(|e| format!("{}: {e}; say where with --mowgli DIR", sources.display()))?;
    for file in crate::new::new(folder, &absolute, example)? {
        println!("{}", file.display());
    }
    println!("Next: cd {} && cargo test && cargo run -- check {}", folder.display(), example.library());
    Ok(0)
}

/// Writes the manual pages of the command and of its subcommands.
fn man(out: &Path) -> Result<u8, String> {
    std::fs::create_dir_all(out).map_err(|e| format!("{}: {e}", out.display()))?;
    clap_mangen::generate_to(Cli::command(), out).map_err(|e| format!("{}: {e}", out.display()))?;
    Ok(0)
}

/// The exit code, with the message for bad input, or for what was not known before a limit.
fn told(result: Result<u8, impl Into<Failure>>) -> u8 {
    result.map_err(Into::into).unwrap_or_else(|failure| {
        eprintln!("{}: {failure}", if let Failure::Input(_) = failure { "error" } else { "undecided" });
        failure_code(&failure)
    })
}

/// The exit code where there is no answer.
fn failure_code(failure: &Failure) -> u8 {
    match failure {
        Failure::Input(_) => 2,
        Failure::Undecided(_) => 3,
    }
}

/// What is in a file.
fn text_of(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Reads a litmus test; what is hardly meant in it goes to standard error.
fn parsed(catalogue: &Catalogue, path: &Path, text: &str) -> Result<Test, String> {
    let test = parse::parse_in(catalogue, &path.display().to_string(), text)?;
    eprint!("{}", warnings(&test));
    Ok(test)
}

/// What is hardly meant in a test, with its places.
fn warnings(test: &Test) -> String {
    test.warnings.iter().map(|w| format!("warning: {}\n", w.shown)).collect()
}

/// The files that a path stands for: itself, or those in a directory that end in one of these.
fn files(path: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|x| extensions.iter().any(|e| x == *e)))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("{}: no file ending in .{} in this directory", path.display(), extensions.join(" or .")));
    }
    Ok(files)
}

/// The files that paths stand for; `code` is that of bad input where there are none.
fn all_files(paths: &[PathBuf], code: &mut u8) -> Vec<PathBuf> {
    let of = |path: &PathBuf| {
        files(path, &["litmus"]).unwrap_or_else(|message| {
            *code = told(Err(message));
            Vec::new()
        })
    };
    paths.iter().flat_map(of).collect()
}

/// Bad input outweighs a failed assertion, which outweighs a limit.
fn worst(a: u8, b: u8) -> u8 {
    let rank = |c: u8| [0, 2, 3, 1][usize::from(c)];
    if rank(a) >= rank(b) { a } else { b }
}

/// Prints what a command has to say.
fn printed(result: Result<String, impl Into<Failure>>) -> u8 {
    told(result.map(|text| {
        print!("{text}");
        0
    }))
}

/// 0 if the models were compared, 3 if a limit stopped that or no program ends.
fn compare(args: &CompareArgs) -> u8 {
    let [a, b] = args.model[..] else {
        eprintln!("error: name two models, as --model RDMA_TSO --model RDMA_SC");
        return 2;
    };
    if args.model.contains(&Model::X86Tso) {
        eprintln!("error: programs that are compared go through a network, and {} has none", Model::X86Tso);
        return 2;
    }
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
    let mut bounds = crate::compare::bounds();
    if args.shape.is_given() {
        bounds = vec![args.shape.of(Bound { threads: 2, nodes: 2, calls: 2, ..Bound::default() })];
    }
    let deadline = Deadline::after(args.timeout);
    let expired = || deadline.expired();
    let bar = bar(format!("{a} {b}"), "programs");
    let found = crate::compare::compare((a, b), args.rmw, &bounds, &expired, &moving(&bar));
    bar.finish_and_clear();
    if args.json {
        println!("{}", found.json(a, b));
    } else {
        found.differences.iter().for_each(|d| println!("{}", d.text()));
        for (only, not) in [(a, b), (b, a)] {
            if found.stop.is_none() && found.differences.iter().all(|d| d.only != only) {
                println!("none of these programs has an outcome under {only} that it has not under {not}");
            }
        }
        let vacuous = if found.vacuous > 0 { format!(" ({} never end)", found.vacuous) } else { String::new() };
        println!(
            "{} programs{vacuous}, the smallest with threads, nodes, calls up to {}",
            found.programs,
            shapes(&bounds)
        );
        if found.is_vacuous() {
            println!("Vacuous: none of these programs ends");
        }
        if let Some(stop) = &found.stop {
            println!("Incomplete: {stop}");
        }
    }
    if found.stop.is_some() || found.is_vacuous() { 3 } else { 0 }
}

fn robust(args: &RobustArgs) -> u8 {
    let mut code = 0;
    for file in all_files(&args.paths, &mut code) {
        let own = if interrupt::requested() {
            eprintln!("interrupted: {} was not looked at", file.display());
            3
        } else {
            told(one_robust(&file, args))
        };
        code = worst(code, own);
    }
    code
}

/// 0 if the test is robust, 1 if not, 3 if that is not known or no execution ends.
fn one_robust(path: &Path, args: &RobustArgs) -> Result<u8, String> {
    let name = path.display().to_string();
    let text = text_of(path)?;
    let test = parsed(Catalogue::builtin(), path, &text)?;
    let is_named = args.paths.iter().any(|p| p == path);
    if !is_named && !matches!(test.model, Model::RdmaTso | Model::RdmaSc) {
        return Ok(0);
    }
    let deadline = Deadline::after(Some(args.timeout));
    let cpu = args.model.map(|m| if m == CpuArg::Sc { Cpu::Sc } else { Cpu::Tso });
    let found = crate::robust::robust(&test, cpu, &|| deadline.expired()).map_err(|e| format!("{name}: {e}"))?;
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
        None if found.is_vacuous() && test.is_meant_vacuous() => 0,
        None => 3,
    })
}

fn converted(args: &ConvertArgs) -> Result<String, Failure> {
    let text = text_of(&args.file)?;
    if args.to == Form::Mowgli {
        return Ok(x86::from_herd(&args.file.display().to_string(), &text)?);
    }
    let test = parsed(Catalogue::builtin(), &args.file, &text)?;
    if args.to == Form::Herd {
        return Ok(x86::to_herd(&test)?);
    }
    let deadline = Deadline::after(args.timeout);
    let expired = || deadline.expired();
    verbs::program(&test, &run::solve(&test, &[], Limits { expired: &expired, ..Limits::default() }))
}

/// What is to be printed, and the exit code.
fn walked(args: &WalkArgs) -> Result<(String, u8), Failure> {
    let text = text_of(&args.file)?;
    let test = parsed(Catalogue::builtin(), &args.file, &text)?;
    let deadline = Deadline::after(args.timeout);
    match run::walk(&test, args.seed, &|| deadline.expired()) {
        Ok(walked) => Ok((if args.json { walked.json() + "\n" } else { walked.text() }, 0)),
        Err(Failure::Undecided(undecided)) if args.json => Ok((stopped_line(&undecided), 3)),
        Err(failure) => Err(failure.at(&args.file.display())),
    }
}

/// What was not known before a limit, as one JSON object and a line.
fn stopped_line(Undecided { question, stop }: &Undecided) -> String {
    format!("{}\n", serde_json::json!({ "undecided": question, "stopped": stop.to_string() }))
}

/// Prints a text, and tells the exit code that goes with it.
fn coded(result: Result<(String, u8), Failure>) -> u8 {
    told(result.map(|(text, code)| {
        print!("{text}");
        code
    }))
}

/// Writes findings, as RON, the first to `path` itself.
fn keep(path: &Path, findings: &[String]) -> Result<(), String> {
    for (position, finding) in findings.iter().enumerate() {
        let path = match (position, path.extension().and_then(|x| x.to_str())) {
            (0, _) => path.to_owned(),
            (n, Some(extension)) => path.with_extension(format!("{}.{extension}", n + 1)),
            (n, None) => path.with_extension((n + 1).to_string()),
        };
        std::fs::write(&path, finding).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// Checks a variant at one bound after the other, each with a bar, up to the first at which it is not sound.
fn check_bounds<S: Stamped>(
    entry: &Entry<S>,
    variant: &Variant,
    bounds: &[Bound],
    options: &Options<'_, S>,
    each: &mut dyn FnMut(Checked<S>),
) -> Result<(), String> {
    for bound in bounds {
        let bar = bar(format!("{} {}", entry.name, variant.name), "clients");
        let progress = moving(&bar);
        let checked = check(entry, variant, bound, &Options { progress: &progress, ..*options })?;
        bar.finish_and_clear();
        let sound = matches!(checked.report.verdict, Verdict::Sound | Verdict::NoWrongOutcome);
        let failed = checked.has_failed();
        each(checked);
        if !sound || failed {
            break;
        }
    }
    Ok(())
}

/// A bar for long work: what it is about, and how many of what are done. It is shown on terminals only.
fn bar(message: String, of_what: &'static str) -> indicatif::ProgressBar {
    let bar = indicatif::ProgressBar::new(0);
    bar.set_message(message);
    bar.set_prefix(of_what);
    bar.set_style(
        indicatif::ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {prefix}, {eta} left")
            .expect("a fixed template"),
    );
    bar
}

/// What moves a bar: how many are done, of how many.
fn moving(bar: &indicatif::ProgressBar) -> impl Fn(usize, usize) + Sync + '_ {
    |done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    }
}
