//! The `litmus` command.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::cat::cat;
use crate::catalogue::Catalogue;
use crate::diagnostic;
use crate::error::{Code, InputError};
use crate::interrupt::{self, Deadline, Failure};
use crate::litmus::run::{Answer, Engine};
use crate::litmus::test::{Model, Test};
use crate::litmus::{machine, order, parse, reference, report, run};
use clap::Args;
use mowgli_core::search::problem::Limits;
use mowgli_core::search::solver::Stats;
use mowgli_core::soundness::client_log::Shard;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::Entry;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::network::on;
use super::out::{all_files, bar, failure_code, json, parsed, reported_in, shown, text_of, warnings, worst};
use super::sharded::{Sharded, ShareToFile, is_shard};
use crate::semantics::RuleArgs;
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;
use crate::terminal::{assertions, colours_of};
use crate::verdicts::format::{Format, Record};
use crate::verdicts::of_test::record;

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
    /// Print the results in a format that another tool reads.
    #[arg(long, value_enum, conflicts_with_all = ["json", "mutate_to", "statements"])]
    format: Option<Format>,
    /// Only tests of this model, for example RDMA_WAIT.
    #[arg(long)]
    model: Option<Model>,
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
    /// The method that finds outcomes, for tests of RDMA_TSO.
    #[arg(long, value_enum, default_value_t, conflicts_with = "implemented")]
    engine: EngineArg,
    #[command(flatten)]
    rules: RuleArgs,
    /// Remove each cell of the stamp order `to` in turn, and say which of the tests notice.
    #[arg(long, conflicts_with_all = ["implemented", "stats"])]
    mutate_to: bool,
    #[command(flatten)]
    shared: ShareToFile,
}

impl Sharded for LitmusArgs {
    fn share(&self) -> Option<(Shard, PathBuf)> {
        self.shared.share()
    }

    /// Returns nothing: a limit holds for one test.
    fn timeout(&self) -> Option<u64> {
        None
    }

    /// Hashes the tests, the models, the libraries, and the implementations that replace them.
    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        let mut hash = Hash::default();
        for path in all_files(&self.paths, &mut 0) {
            hash.add(&path.display().to_string());
            hash.add(&text_of(&path)?);
        }
        for model in Model::ALL.map(|model| model.to_string()) {
            hash.add(&cat(catalogue, &model).unwrap_or_else(|why| why.to_string()));
        }
        catalogue.names().iter().for_each(|name| hash.add(&cat(catalogue, name).unwrap_or_else(|why| why.to_string())));
        catalogue.implementations(&self.implemented)?;
        for name in &self.implemented {
            add_implemented(&mut hash, catalogue.entries(), name)?;
        }
        Ok(hash)
    }

    fn run(&self, catalogue: Catalogue, _: &Deadline, log: Option<&ShardLog>) -> u8 {
        litmus(self, &catalogue, log)
    }
}

fn add_implemented(hash: &mut Hash, entries: &[Entry], name: &str) -> Result<(), InputError> {
    let (library, variant) = name.split_once(':').unwrap_or((name, "published"));
    let Ok(entry) = named(entries, library) else { return Ok(()) };
    let variant = entry.variant(variant)?;
    hash.add_library(entry, variant, &variant.bounds)
}

/// The engines that find outcomes.
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

#[derive(Serialize, Deserialize)]
struct Printed {
    out: String,
    err: String,
    code: u8,
    stats: Stats,
    /// The result for other tools; `None` if the test is not of the requested model.
    record: Option<Record>,
    /// Whether the test is not of the requested model.
    is_other: bool,
}

/// Solves tests; `log` holds the results of other processes.
fn litmus(args: &LitmusArgs, catalogue: &Catalogue, log: Option<&ShardLog>) -> u8 {
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
    let part = log.map(|log| log.part("litmus".to_owned()));
    let one = |(number, path): (usize, &PathBuf)| {
        let solve = || one_file(path, args, catalogue);
        let printed = match &part {
            Some(part) => part.unit(number, &interrupt::requested, solve),
            None => Some(solve()),
        };
        bar.inc(1);
        printed
    };
    let printed: Vec<Option<Printed>> = all.par_iter().enumerate().map(one).collect();
    bar.finish_and_clear();
    if is_shard(log) {
        return code;
    }
    if let (Some(model), true) = (args.model, printed.iter().flatten().count() == all.len())
        && !all.is_empty()
        && printed.iter().flatten().all(|p| p.is_other)
    {
        let error =
            InputError::new(Code::Argument, format!("--model {model}: none of the tests here is of this model"));
        return worst(code, reported_in(args.json, Err(error.help("leave --model out to solve them all"))));
    }
    let (mut stats, mut records) = (Stats::default(), Vec::new());
    let colours = colours_of(&std::io::stdout());
    for p in printed.into_iter().flatten() {
        match args.format {
            Some(_) => records.extend(p.record),
            None => print!("{}", assertions(&p.out, colours)),
        }
        eprint!("{}", p.err);
        code = worst(code, p.code);
        stats += p.stats;
    }
    if let Some(format) = args.format {
        print!("{}", format.write("litmus", &records));
    }
    if args.stats {
        eprintln!("{stats:?} leaves per class {:.3}", stats.leaves as f64 / stats.classes.max(1) as f64);
    }
    code
}

/// Reads the text of a test, if it is of the requested model.
fn wanted(path: &Path, args: &LitmusArgs) -> Result<Option<String>, InputError> {
    let text = text_of(path)?;
    let own = || text.split_whitespace().next().and_then(|name| name.parse().ok());
    let is_wanted = args.model.is_none_or(|model: Model| own() == Some(model));
    is_wanted.then(|| on(path, &text, args.rules.network())).transpose()
}

fn mutate_to(files: &[PathBuf], args: &LitmusArgs) -> u8 {
    let mut code = 0;
    let mut tests = Vec::new();
    for path in files {
        match wanted(path, args).and_then(|text| text.map(|text| parsed(Catalogue::builtin(), path, &text)).transpose())
        {
            Ok(test) => tests.extend(test),
            Err(error) => code = reported_in(args.json, Err(error)),
        }
    }
    let cells = order::worth(&tests, &Deadline::after(args.timeout));
    for cell in &cells {
        println!("{}", if args.json { json(cell) } else { cell.text() });
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
    if interrupt::requested() {
        let err = format!("interrupted: {} was not run\n", path.display());
        let record = Some(Record::interrupted(name_of(path), Some(file_of(path))));
        return Printed { code: 3, record, ..Printed::without_answer(err) };
    }
    solved(path, args, catalogue).unwrap_or_else(|failure| failed(path, args, &failure))
}

impl Printed {
    /// Returns a result that has only a message for standard error.
    fn without_answer(err: String) -> Self {
        Self { out: String::new(), err, code: 0, stats: Stats::default(), record: None, is_other: false }
    }
}

/// Returns the result of a test that has no answer. The object of `--json` has the whole message in the field `error`, too.
fn failed(path: &Path, args: &LitmusArgs, failure: &Failure) -> Printed {
    let mut fields = diagnostic::json(failure);
    if fields["file"].is_null() {
        fields["file"] = path.display().to_string().into();
    }
    fields["error"] = failure.to_string().into();
    let out = if args.json { format!("{fields}\n") } else { String::new() };
    let record = Some(Record::failed(name_of(path), Some(file_of(path)), failure));
    Printed { out, code: failure_code(failure), record, ..Printed::without_answer(shown(failure) + "\n") }
}

/// Returns a path without `./`, because other tools would take that for another file.
fn file_of(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// Returns the name of a file, in place of the name of a test that could not be read.
fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Solves the test in a file.
///
/// # Errors
/// The error in the input.
fn solved(path: &Path, args: &LitmusArgs, catalogue: &Catalogue) -> Result<Printed, Failure> {
    let file = path.display().to_string();
    let Some(text) = wanted(path, args)? else {
        return Ok(Printed { is_other: true, ..Printed::without_answer(String::new()) });
    };
    let test = parse::parse_in(catalogue, &file, &text)?;
    let start = Instant::now();
    let answer = answer(&test, args, catalogue)?;
    if let Some(error) = answer.error(&test) {
        return Err(error.about(&file).into());
    }
    let time = start.elapsed();
    let text = if args.json { report::json } else { report::text };
    let out = text(&test, &answer, args.loops, time.as_micros()) + "\n";
    let record = Some(record(file_of(path), &test, &answer, time.as_secs_f64()));
    let (err, code, stats) = (warnings(&test), answer.verdict(&test).code(), answer.explored.stats);
    Ok(Printed { out, err, code, stats, record, is_other: false })
}

fn answer(test: &Test, args: &LitmusArgs, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let chain = run::replaced(catalogue, test, &args.implemented)?;
    let deadline = Deadline::after(args.timeout);
    let expired = || deadline.expired();
    let limits = Limits { rounds: args.loops, expired: &expired, ..Limits::default() };
    match args.engine.into() {
        Engine::Declarative => {
            let of_rules = args.rules.solved(test, limits);
            Ok(of_rules.unwrap_or_else(|| machine::answered(catalogue, test, &chain, limits)))
        }
        engine => {
            let with_runs = machine::runs_after(limits.expired);
            Ok(with_runs(test, run::solve_with(engine, test, limits)?))
        }
    }
}
