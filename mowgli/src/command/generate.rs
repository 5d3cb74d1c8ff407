//! The `generate` command.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cat::cat;
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::generate::core_rma::{RowTests, TABLE_6, make};
use crate::generate::{Generated, axioms};
use crate::interrupt::{Deadline, Failure};
use crate::litmus::test::Model;
use clap::Args;
use mowgli_core::soundness::client_log::Shard;
use mowgli_core::term::bound::Bound;
use mowgli_core::unknown::Unknown;
use mowgli_rdma::core_rma::execution::Rule;
use mowgli_rdma::core_rma::generate::TableRow;

use super::bounds::at_least_one;
use super::out::{bar, json, moving, reported_in, save};
use super::sharded::{Sharded, Share, is_shard};
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;
use crate::terminal;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli generate --pivot IR --actions 7\n  mowgli generate --model rdma-tso --out tests\n  mowgli generate table6"
)]
pub(super) struct GenerateArgs {
    /// `table6`: print the rows of CORERMA Table 6, with the paper's numbers beside ours.
    #[arg(value_parser = ["table6"], conflicts_with_all = ["model", "pivot", "procs", "actions"])]
    what: Option<String>,
    /// The model.
    #[arg(long, default_value = "core-rma")]
    model: Model,
    /// The rule, or part of the model, that the tests probe: R1, IR and so on, or to:aCW-aWT, ib:rf, so:mo; `all` of them.
    #[arg(long, default_value = "all", value_name = "RULE")]
    pivot: String,
    /// CORE_RMA: how many processes. Other models: at most this many threads.
    #[arg(long, default_value = "2", value_name = "P", value_parser = at_least_one)]
    procs: u64,
    /// CORE_RMA: at most this many actions, initial writes among them; 8 if not given. Other models: calls of all threads
    /// together; 3 if not given.
    #[arg(long, value_name = "A", value_parser = at_least_one)]
    actions: Option<u64>,
    /// At most this many tests for each part; all if not given for CORE_RMA, 1 for other models.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    each: Option<u64>,
    /// Also programs with remote read-modify-writes.
    #[arg(long)]
    rmw: bool,
    /// The kind of output.
    #[arg(long, value_enum, default_value_t = Emit::Litmus)]
    emit: Emit,
    /// The folder for files; without it litmus tests and JSON go to standard output.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    share: Share,
    /// Seconds for the whole command.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// For table6: print one JSON object per row.
    #[arg(long)]
    json: bool,
}

impl Sharded for GenerateArgs {
    fn share(&self) -> Option<(Shard, PathBuf)> {
        self.share.with(self.out.as_deref())
    }

    fn timeout(&self) -> Option<u64> {
        self.timeout
    }

    /// Hashes the model that the tests probe.
    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        let mut hash = Hash::default();
        hash.add(&cat(catalogue, &self.model.to_string()).unwrap_or_else(|why| why.to_string()));
        Ok(hash)
    }

    fn run(&self, _: Catalogue, deadline: &Deadline, log: Option<&ShardLog>) -> u8 {
        reported_in(self.json || self.emit == Emit::Json, generated(self, (deadline, log)))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Emit {
    /// Litmus tests, with what is expected as assertions.
    Litmus,
    /// Print one JSON object per test, one per line.
    Json,
}

/// A deadline, and the results of other processes.
type ShardContext<'a> = (&'a Deadline, Option<&'a ShardLog>);

/// Generates tests.
fn generated(args: &GenerateArgs, shared: ShardContext<'_>) -> Result<u8, Failure> {
    if args.what.is_some() {
        return table_6(args, shared);
    }
    args.model.is_published("generate")?;
    let (code, all) = match args.model {
        Model::CoreRma => of_core_rma(args, shared)?,
        Model::X86Tso => {
            return Err(InputError::new(
                Code::Argument,
                format!("tests are generated for networks, and {} has none", args.model),
            )
            .into());
        }
        _ => of_axioms(args, shared)?,
    };
    if is_shard(shared.1) {
        return Ok(0);
    }
    if all.is_empty() && code == 0 {
        eprintln!("no program within the bound is a test, and nothing was written; give a larger one with --actions");
        return Ok(1);
    }
    write(&all, args)?;
    Ok(code)
}

/// Makes the tests of a row, and shows a progress bar.
fn made(row: TableRow, shared: ShardContext<'_>) -> RowTests {
    let (deadline, log) = shared;
    let part = log.map(|log| log.part(format!("{} {} {}", row.rule, row.processes, row.size)));
    let bar = bar(row.rule.to_string(), "programs");
    let mut made = make(row, deadline, part.as_ref(), &moving(&bar));
    made.time += Duration::from_secs_f64(part.map_or(0.0, |part| part.seconds()));
    bar.finish_and_clear();
    if let Some(stop) = &made.stop {
        eprintln!("{}: incomplete: {stop}", row.rule);
    }
    made
}

/// Makes the tests of the requested rows. The code is 3 if a limit stopped the search for them.
fn of_core_rma(args: &GenerateArgs, shared: ShardContext<'_>) -> Result<(u8, Vec<Generated>), InputError> {
    let rules = if args.pivot == "all" { Rule::ALL.to_vec() } else { vec![args.pivot.parse()?] };
    let (processes, size) = (args.procs as usize, args.actions.unwrap_or(8) as usize);
    if processes > 3 || size > 13 {
        return Err(InputError::new(Code::Argument, "tests are made for up to 3 processes and 13 actions"));
    }
    let (mut code, mut all) = (0, Vec::new());
    for rule in rules {
        let made = made(TableRow { rule, processes, size }, shared);
        if !is_shard(shared.1) {
            eprintln!("{}", made.text());
        }
        all.extend(made.generated().take(args.each.map_or(usize::MAX, |n| n as usize)));
        if made.stop.is_some() {
            code = 3;
        }
    }
    Ok((code, all))
}

/// Makes the tests of the requested parts of a model. The code is 3 if a limit stopped the search for them.
fn of_axioms(args: &GenerateArgs, (deadline, log): ShardContext<'_>) -> Result<(u8, Vec<Generated>), InputError> {
    let known = axioms::pivots(args.model);
    let pivots: Vec<_> = known.iter().filter(|p| args.pivot == "all" || p.to_string() == args.pivot).cloned().collect();
    if pivots.is_empty() {
        let unknown = Unknown::new("part", &args.pivot, &known);
        let error = InputError::new(Code::Unknown, format!("{} has no part {}", args.model, args.pivot));
        return Err(error.help(unknown.help()));
    }
    if args.rmw && args.model == Model::RdmaSc {
        return Err(InputError::new(Code::Argument, format!("{} has no remote read-modify-writes", args.model))
            .help("leave --rmw out"));
    }
    let total = args.actions.unwrap_or(3) as usize;
    let bound = Bound { threads: args.procs as usize, nodes: 2, calls: total, total: Some(total), ..Bound::default() };
    let most = args.each.unwrap_or(1) as usize;
    let expired = || deadline.expired();
    let part = log.map(|log| log.part(args.model.to_string()));
    let bar = bar(args.model.to_string(), "programs");
    let search =
        axioms::search(args.model, args.rmw, &pivots, (&bound, most), (&expired, part.as_ref()), &moving(&bar));
    bar.finish_and_clear();
    if is_shard(log) {
        return Ok((0, Vec::new()));
    }
    for found in search.found.iter().filter(|f| f.programs.is_empty()) {
        let why = match &search.stop {
            Some(stop) => format!("no program that notices when it is taken away was found before {stop}"),
            None if found.occurs => "no program within the bound notices when it is taken away".to_owned(),
            None => "in no program".to_owned(),
        };
        eprintln!("{}: {why}", found.pivot);
    }
    let with = search.found.iter().filter(|f| !f.programs.is_empty()).count();
    eprintln!(
        "{with} of {} parts have a test, among {} programs of {} threads on 2 nodes with {total} calls",
        search.found.len(),
        search.programs,
        args.procs
    );
    if let Some(stop) = &search.stop {
        eprintln!("Incomplete: {stop}");
    }
    let all = search.found.iter().flat_map(|f| f.generated(args.model)).collect();
    Ok((if search.stop.is_some() { 3 } else { 0 }, all))
}

/// Writes tests in the requested form.
fn write(all: &[Generated], args: &GenerateArgs) -> Result<(), InputError> {
    if all.is_empty() {
        return Ok(());
    }
    let Some(dir) = &args.out else {
        let text = |g: &Generated| if args.emit == Emit::Json { json(g) } else { g.litmus.clone() };
        all.iter().for_each(|g| println!("{}", text(g)));
        return Ok(());
    };
    let put = |name: &str, text: &str| save(&dir.join(name), text);
    std::fs::create_dir_all(dir).map_err(|e| InputError::file(dir, e))?;
    match args.emit {
        Emit::Litmus => all.iter().try_for_each(|g| put(&format!("{}.litmus", g.name), &g.litmus))?,
        Emit::Json => put("tests.jsonl", &all.iter().map(|g| json(g) + "\n").collect::<String>())?,
    }
    eprintln!("{} tests written to {}", all.len(), dir.display());
    Ok(())
}

/// Prints the rows of CORERMA Table 6, with the paper's numbers beside ours.
fn table_6(args: &GenerateArgs, shared: ShardContext<'_>) -> Result<u8, Failure> {
    let start = Instant::now();
    let (mut code, mut all) = (0, Vec::new());
    let mut table = terminal::table(false);
    table.set_header([
        "rule",
        "processes",
        "size",
        "tests",
        "paper",
        "outputs",
        "paper",
        "telling",
        "ms/test",
        "paper",
    ]);
    let (mut tests, mut outputs) = (0, 0);
    for published in TABLE_6 {
        let made = made(published.row(), shared);
        if is_shard(shared.1) {
            continue;
        }
        tests += made.tests.len();
        outputs += made.outputs();
        if args.json {
            println!("{}", made.json(published));
        }
        table.add_row(made.cells(published));
        if made.stop.is_some() {
            code = 3;
        }
        if args.out.is_some() {
            all.extend(made.generated());
        }
    }
    if is_shard(shared.1) {
        return Ok(0);
    }
    if !args.json {
        terminal::keep_words(&mut table);
        println!("{table}");
        let more = if code == 0 { "" } else { " or more" };
        println!(
            "{tests}{more} tests with {outputs}{more} outputs in {:.1} s; the paper has 7441 with 19937, in about 25 hours",
            start.elapsed().as_secs_f64()
        );
    }
    if args.out.is_some() {
        write(&all, args)?;
    }
    Ok(code)
}
