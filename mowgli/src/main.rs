//! The `mowgli` command.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use mowgli::litmus::{parse, report, run};
use mowgli_core::ids::Name;
use mowgli_core::outcome::Limits;
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
    /// Replace these libraries by their implementations, from left to right.
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
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let code = match cli.command {
        Command::Litmus(args) => litmus(&args),
    };
    ExitCode::from(code)
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
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) => return bad(format!("{}: {e}", path.display())),
    };
    if let Some(model) = &args.model
        && text.split_whitespace().next() != Some(model)
    {
        return Printed { out: String::new(), err: String::new(), code: 0, stats: Default::default() };
    }
    let test = match parse::parse(&path.display().to_string(), &text) {
        Ok(test) => test,
        Err(message) => return bad(message),
    };
    let mut chain = Vec::new();
    for name in &args.implemented {
        match run::implementation(Name::new(name)) {
            Some(i) => chain.push(i),
            None => return bad(format!("no library {name} with an implementation; there are sv, bal, bal-transitive")),
        }
    }
    let start = Instant::now();
    let deadline = args.timeout.map(|s| start + Duration::from_secs(s));
    let expired = move || deadline.is_some_and(|d| Instant::now() > d);
    let limits = Limits { rounds: args.loops, expired: &expired, ..Limits::default() };
    let answer = run::solve(&test, &chain, limits);
    let micros = start.elapsed().as_micros();
    let out = if args.json {
        report::json(&test, &answer, micros) + "\n"
    } else {
        report::text(&test, &answer, micros) + "\n"
    };
    let code = match (answer.holds.iter().all(|&h| h), answer.explored.stop.is_none()) {
        (false, _) => 1,
        (true, false) => 3,
        (true, true) => 0,
    };
    Printed { out, err: String::new(), code, stats: answer.explored.stats }
}
