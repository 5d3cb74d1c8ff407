//! Litmus tests in files, solved and printed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use mowgli_core::search::problem::Limits;
use mowgli_core::search::solver::Stats;
use mowgli_core::term::implementation::Implementation;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::args::engine::EngineArg;
use crate::args::share::ShareToFile;
use crate::cat::cat;
use crate::catalogue::Catalogue;
use crate::diagnostic;
use crate::error::{Code, InputError};
use crate::interrupt::{self, Deadline, Failure};
use crate::litmus::run::{Answer, Engine};
use crate::litmus::test::{Model, Test};
use crate::litmus::{machine, order, parse, report, run};
use crate::out::{failure_code, idle_warnings, json, on, parsed, reported_in, shown, text_of, warnings, worst};
use crate::semantics::RuleArgs;
use crate::shards::identity::Hash;
use crate::shards::log::{ShardLog, is_shard};
use crate::terminal::{assertions, bar, colours_of};
use crate::verdicts::format::{Format, Record};
use crate::verdicts::of_test::record;

/// The output for a test.
#[derive(Serialize, Deserialize)]
pub(crate) struct Printed {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: u8,
    pub(crate) stats: Stats,
    /// The result for other tools; `None` if the test is not of the requested model.
    pub(crate) record: Option<Record>,
    /// Whether the test is not of the requested model.
    pub(crate) is_other: bool,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli litmus put.litmus\n  mowgli litmus tests/litmus --json\n  mowgli litmus --implemented bal:no-fence,sv barrier.litmus\n  mowgli litmus --engine both polls.litmus"
)]
pub(crate) struct LitmusArgs {
    /// Files ending in .litmus, or directories with such files.
    #[arg(required_unless_present = "statements")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print what tests can declare and call, your own libraries included.
    #[arg(long, conflicts_with_all = ["paths", "json"])]
    pub(crate) statements: bool,
    /// Print one JSON object per test, one per line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the results in a format that another tool reads.
    #[arg(long, value_enum, conflicts_with_all = ["json", "mutate_to", "statements"])]
    pub(crate) format: Option<Format>,
    /// Only tests of this model, for example RDMA_WAIT.
    #[arg(long)]
    pub(crate) model: Option<Model>,
    /// Replace these libraries by their implementations, from left to right; `bal:no-fence` is a variant of one.
    #[arg(long, value_delimiter = ',', value_name = "LIBRARY")]
    pub(crate) implemented: Vec<String>,
    /// Rounds of a loop with effects after which the search gives up on it.
    #[arg(long, default_value_t = 3, value_name = "K")]
    pub(crate) loops: usize,
    /// Seconds for one test; with --mutate-to, for all of them.
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<u64>,
    /// Print counts of the search on standard error.
    #[arg(long)]
    pub(crate) stats: bool,
    /// The method that finds outcomes, for tests of RDMA_TSO.
    #[arg(long, value_enum, default_value_t, conflicts_with = "implemented")]
    pub(crate) engine: EngineArg,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Remove each cell of the stamp order `to` in turn, and say which of the tests notice.
    #[arg(long, conflicts_with_all = ["implemented", "stats"])]
    pub(crate) mutate_to: bool,
    #[command(flatten)]
    pub(crate) shared: ShareToFile,
}

/// A request to solve tests.
pub(crate) struct SolveRequest<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) args: &'a LitmusArgs,
}

impl SolveRequest<'_> {
    /// Reads the text of a test, if it is of the requested model.
    fn wanted(&self, path: &Path) -> Result<Option<String>, InputError> {
        let text = text_of(path)?;
        let own = || text.split_whitespace().next().and_then(|name| name.parse().ok());
        let is_wanted = self.args.model.is_none_or(|model: Model| own() == Some(model));
        is_wanted.then(|| on(path, &text, self.args.rules.network())).transpose()
    }

    /// Solves the test in a file, unless the command was interrupted.
    pub(crate) fn file(&self, path: &Path) -> Printed {
        if interrupt::requested() {
            let err = format!("interrupted: {} was not run\n", path.display());
            let record = Some(Record::interrupted(name_of(path), Some(file_of(path))));
            return Printed { code: 3, record, ..Printed::without_answer(err) };
        }
        self.solved(path).unwrap_or_else(|failure| self.failed(path, &failure))
    }

    /// Returns the result of a test that has no answer. The object of `--json` has the whole message in the field `error`, too.
    fn failed(&self, path: &Path, failure: &Failure) -> Printed {
        let mut fields = diagnostic::json(failure);
        if fields["file"].is_null() {
            fields["file"] = path.display().to_string().into();
        }
        fields["error"] = failure.to_string().into();
        let out = if self.args.json { format!("{fields}\n") } else { String::new() };
        let record = Some(Record::failed(name_of(path), Some(file_of(path)), failure));
        Printed { out, code: failure_code(failure), record, ..Printed::without_answer(shown(failure) + "\n") }
    }

    /// Solves the test in a file.
    ///
    /// # Errors
    /// The error in the input.
    fn solved(&self, path: &Path) -> Result<Printed, Failure> {
        let file = path.display().to_string();
        let Some(text) = self.wanted(path)? else {
            return Ok(Printed { is_other: true, ..Printed::without_answer(String::new()) });
        };
        let test = parse::parse_in(self.catalogue, &file, &text)?;
        self.args.rules.are_of(test.model).map_err(|e| e.within(&file))?;
        let chain = run::replaced(self.catalogue, &test, &self.args.implemented)?;
        let start = Instant::now();
        let answer = self.answer(&test, &chain)?;
        if let Some(error) = answer.error(&test) {
            return Err(error.within(&file).into());
        }
        let time = start.elapsed();
        let text = if self.args.json { report::json } else { report::text };
        let out = text(&test, &answer, self.args.loops, time.as_micros()) + "\n";
        let record = Some(record(file_of(path), &test, &answer, time.as_secs_f64()));
        let err = warnings(&test) + &idle_warnings(&test, &chain, &self.args.implemented);
        let (code, stats) = (answer.verdict(&test).code(), answer.explored.stats);
        Ok(Printed { out, err, code, stats, record, is_other: false })
    }

    fn answer(&self, test: &Test, chain: &[Arc<dyn Implementation>]) -> Result<Answer, Failure> {
        let deadline = Deadline::after(self.args.timeout);
        let expired = || deadline.expired();
        let limits = Limits { rounds: self.args.loops, expired: &expired, ..Limits::default() };
        match self.args.engine.into() {
            Engine::Declarative => {
                let of_rules = self.args.rules.solved(test, limits);
                Ok(of_rules.unwrap_or_else(|| machine::answered(self.catalogue, test, chain, limits)))
            }
            engine => {
                let with_runs = machine::runs_after(limits.expired);
                Ok(with_runs(test, run::solve_with(engine, test, limits)?))
            }
        }
    }

    /// Hashes the tests in these files, the models, the libraries, and the implementations that replace them.
    ///
    /// # Errors
    /// If a file cannot be read, or there is no such implementation.
    pub(crate) fn hash(&self, files: &[PathBuf]) -> Result<Hash, InputError> {
        let mut hash = Hash::default();
        for path in files {
            hash.add(&path.display().to_string());
            hash.add(&text_of(path)?);
        }
        let said = |name: &str| cat(self.catalogue, name).unwrap_or_else(|why| why.to_string());
        Model::ALL.iter().for_each(|model| hash.add(&said(&model.to_string())));
        self.catalogue.names().iter().for_each(|name| hash.add(&said(name)));
        self.catalogue.implementations(&self.args.implemented)?;
        self.args.implemented.iter().try_for_each(|name| hash.add_implementation(self.catalogue, name))?;
        Ok(hash)
    }

    /// Solves the tests in these files and prints the answers, in a format of another tool if one is given. Counts of the search follow if
    /// they are wanted. `log` holds the results of other processes. Returns the worse of a code and that of the tests.
    pub(crate) fn print(
        &self,
        files: &[PathBuf],
        (format, has_counts): (Option<Format>, bool),
        log: Option<&ShardLog>,
        mut code: u8,
    ) -> u8 {
        let bar = bar("litmus".to_owned(), "tests");
        bar.set_length(files.len() as u64);
        let part = log.map(|log| log.part("litmus".to_owned()));
        let one = |(number, path): (usize, &PathBuf)| {
            let solve = || self.file(path);
            let printed = match &part {
                Some(part) => part.unit(number, &interrupt::requested, solve),
                None => Some(solve()),
            };
            bar.inc(1);
            printed
        };
        let printed: Vec<Option<Printed>> = files.par_iter().enumerate().map(one).collect();
        bar.finish_and_clear();
        if is_shard(log) {
            return code;
        }
        if let (Some(model), true) = (self.args.model, printed.iter().flatten().count() == files.len())
            && !files.is_empty()
            && printed.iter().flatten().all(|p| p.is_other)
        {
            let error =
                InputError::new(Code::Argument, format!("--model {model}: none of the tests here is of this model"));
            return worst(code, reported_in(self.args.json, Err(error.help("leave --model out to solve them all"))));
        }
        let (mut stats, mut records) = (Stats::default(), Vec::new());
        let colours = colours_of(&std::io::stdout());
        for p in printed.into_iter().flatten() {
            match format {
                Some(_) => records.extend(p.record),
                None => print!("{}", assertions(&p.out, colours)),
            }
            eprint!("{}", p.err);
            code = worst(code, p.code);
            stats += p.stats;
        }
        if let Some(format) = format {
            print!("{}", format.write("litmus", &records));
        }
        if has_counts {
            eprintln!("{stats:?} leaves per class {:.3}", stats.leaves as f64 / stats.classes.max(1) as f64);
        }
        code
    }

    /// Removes each cell of the stamp order in turn, and prints which tests of these files notice. Returns the exit code.
    pub(crate) fn print_worth_of_order(&self, files: &[PathBuf]) -> u8 {
        let mut code = 0;
        let mut tests = Vec::new();
        for path in files {
            match self
                .wanted(path)
                .and_then(|text| text.map(|text| parsed(Catalogue::builtin(), path, &text)).transpose())
            {
                Ok(test) => tests.extend(test),
                Err(error) => code = reported_in(self.args.json, Err(error)),
            }
        }
        let cells = order::worth(&tests, &Deadline::after(self.args.timeout));
        for cell in &cells {
            println!("{}", if self.args.json { json(cell) } else { cell.text() });
        }
        let stopped = cells.iter().find_map(|c| c.stopped.as_ref());
        if !self.args.json {
            let unnoticed = cells.iter().filter(|c| c.noticed_by.is_empty()).count();
            let known = if stopped.is_some() { "known to be " } else { "" };
            let noticed = cells.len() - unnoticed;
            println!("{noticed} of {} cells are {known}noticed by one of {} tests", cells.len(), tests.len());
        }
        if stopped.is_some() { worst(code, 3) } else { code }
    }
}

impl Printed {
    /// Returns a result that has only a message for standard error.
    fn without_answer(err: String) -> Self {
        Self { out: String::new(), err, code: 0, stats: Stats::default(), record: None, is_other: false }
    }
}

/// Returns a path without `./`, because other tools would take that for another file.
fn file_of(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// Returns the name of a file, in place of the name of a test that could not be read.
fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
