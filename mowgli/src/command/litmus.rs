//! The `litmus` command.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::catalogue::Catalogue;
use crate::interrupt::{self, Deadline};
use crate::litmus::run::Engine;
use crate::litmus::test::Model;
use crate::litmus::{core_rma, order, parse, reference, report, run};
use clap::Args;
use mowgli_core::problem::Limits;
use mowgli_core::search::solver::Stats;
use mowgli_rdma::core_rma::execution::{Rule, Rules};
use rayon::prelude::*;

use super::out::{all_files, bar, parsed, text_of, warnings, worst};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli litmus put.litmus\n  mowgli litmus tests/litmus --json\n  mowgli litmus --implemented bal:no-fence,sv barrier.litmus\n  mowgli litmus --engine both polls.litmus"
)]
pub(super) struct LitmusArgs {
    /// Files ending in .litmus, or directories with such files.
    #[arg(required_unless_present = "statements")]
    paths: Vec<PathBuf>,
    /// Print what tests can declare and call, your own libraries included.
    #[arg(long, conflicts_with = "paths")]
    statements: bool,
    /// Print one JSON object per test, one per line.
    #[arg(long)]
    json: bool,
    /// Only tests of this model, for example RDMA_WAIT.
    #[arg(long)]
    model: Option<String>,
    /// Replace these libraries by their implementations, from left to right; `bal:no-fence` is a variant of one.
    #[arg(long, value_delimiter = ',', value_name = "LIBRARY")]
    implemented: Vec<String>,
    /// Rounds of a loop with effects after which the search gives up on it.
    #[arg(long, default_value_t = 3, value_name = "K")]
    loops: usize,
    /// Seconds for one test; with --mutate-to, for all of them.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// Print counts of the search on standard error.
    #[arg(long)]
    stats: bool,
    /// How outcomes are found, for tests of RDMA_TSO.
    #[arg(long, value_enum, default_value_t, conflicts_with = "implemented")]
    engine: EngineArg,
    /// The network whose rules tests of CORE_RMA are solved under.
    #[arg(long, default_value = "core", value_name = "NAME", value_parser = Rules::preset)]
    network: Rules,
    /// Rules of CORE_RMA that are switched off, for example IR.
    #[arg(long, value_delimiter = ',', value_name = "RULE")]
    without: Vec<Rule>,
    /// Remove each cell of the stamp order `to` in turn, and say which of the tests notice.
    #[arg(long, conflicts_with_all = ["implemented", "stats"])]
    mutate_to: bool,
}

/// How outcomes are found.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum EngineArg {
    /// From the axioms.
    #[default]
    Declarative,
    /// By exploring the machine of RDMA-TSO-RMW.
    Operational,
    /// In both ways; a difference is an error.
    Both,
}

impl From<EngineArg> for Engine {
    fn from(arg: EngineArg) -> Self {
        match arg {
            EngineArg::Declarative => Self::Declarative,
            EngineArg::Operational => Self::Operational,
            EngineArg::Both => Self::Both,
        }
    }
}

struct Printed {
    out: String,
    err: String,
    code: u8,
    stats: Stats,
}

pub(super) fn litmus(args: &LitmusArgs, catalogue: &Catalogue) -> u8 {
    if args.statements {
        print!("{}", reference(catalogue));
        return 0;
    }
    let mut code = 0;
    let all = all_files(&args.paths, &mut code);
    if args.mutate_to {
        return worst(code, mutate_to(&all, args));
    }
    let bar = bar("litmus".to_owned(), "tests");
    bar.set_length(all.len() as u64);
    let one = |path: &PathBuf| {
        let printed = one_file(path, args, catalogue);
        bar.inc(1);
        printed
    };
    let printed: Vec<Printed> = all.par_iter().map(one).collect();
    bar.finish_and_clear();
    let mut stats = Stats::default();
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

/// The text of the test in a file, if it is one of the model that is asked for.
fn wanted(path: &Path, args: &LitmusArgs) -> Result<Option<String>, String> {
    let text = text_of(path)?;
    let is_wanted = args.model.as_deref().is_none_or(|m| text.split_whitespace().next() == Some(m));
    Ok(is_wanted.then_some(text))
}

fn mutate_to(files: &[PathBuf], args: &LitmusArgs) -> u8 {
    let mut code = 0;
    let mut tests = Vec::new();
    for path in files {
        match wanted(path, args).and_then(|text| text.map(|text| parsed(Catalogue::builtin(), path, &text)).transpose())
        {
            Ok(test) => tests.extend(test),
            Err(message) => {
                eprintln!("error: {message}");
                code = 2;
            }
        }
    }
    let cells = order::worth(&tests, Deadline::after(args.timeout));
    for cell in &cells {
        println!("{}", if args.json { serde_json::to_string(cell).expect("strings") } else { cell.text() });
    }
    let stopped = cells.iter().find_map(|c| c.stopped.as_ref());
    if !args.json {
        let unnoticed = cells.iter().filter(|c| c.noticed_by.is_empty()).count();
        let known = if stopped.is_some() { "known to be " } else { "" };
        let noticed = cells.len() - unnoticed;
        println!("{noticed} of {} cells are {known}noticed by one of {} tests", cells.len(), tests.len());
    }
    if stopped.is_some() { worst(code, 3) } else { code }
}

fn one_file(path: &Path, args: &LitmusArgs, catalogue: &Catalogue) -> Printed {
    let bad = |message: String| {
        let line = || format!("{}\n", serde_json::json!({ "file": path.display().to_string(), "error": message }));
        let out = if args.json { line() } else { String::new() };
        Printed { out, err: format!("error: {message}\n"), code: 2, stats: Default::default() }
    };
    if interrupt::requested() {
        let err = format!("interrupted: {} was not run\n", path.display());
        return Printed { out: String::new(), err, code: 3, stats: Default::default() };
    }
    let read = |text: String| parse::parse_in(catalogue, &path.display().to_string(), &text);
    let test = match wanted(path, args).and_then(|text| text.map(read).transpose()) {
        Ok(Some(test)) => test,
        Ok(None) => return Printed { out: String::new(), err: String::new(), code: 0, stats: Default::default() },
        Err(message) => return bad(message),
    };
    let chain = match catalogue.implementations(&args.implemented) {
        Ok(chain) => chain,
        Err(message) => return bad(message),
    };
    let start = Instant::now();
    let deadline = Deadline::after(args.timeout);
    let expired = || deadline.expired();
    let limits = Limits { rounds: args.loops, expired: &expired, ..Limits::default() };
    let rules = args.without.iter().fold(args.network.clone(), |rules, &rule| rules.without(rule));
    let answer = match args.engine.into() {
        Engine::Declarative if test.model == Model::CoreRma => core_rma::solve(&test, &rules, limits),
        Engine::Declarative => run::solve_in(catalogue, &test, &chain, limits),
        engine => match run::solve_with(engine, &test, limits) {
            Ok(answer) => answer,
            Err(message) => return bad(message),
        },
    };
    let micros = start.elapsed().as_micros();
    let out = if args.json {
        report::json(&test, &answer, args.loops, micros) + "\n"
    } else {
        report::text(&test, &answer, args.loops, micros) + "\n"
    };
    let is_open = answer.explored.stop.is_some() || answer.is_vacuous() && !test.is_meant_vacuous();
    let code = match (answer.holds.contains(&Some(false)), is_open) {
        (true, _) => 1,
        (false, true) => 3,
        (false, false) => 0,
    };
    Printed { out, err: warnings(&test), code, stats: answer.explored.stats }
}
