//! The `generate` command.

use std::path::PathBuf;

use crate::cat::cat;
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::generate::{Generated, axioms};
use crate::interrupt::{Deadline, Failure};
use crate::litmus::semantics::Semantics;
use crate::litmus::test::Model;
use crate::semantics;
use clap::Args;
use mowgli_core::soundness::client_log::Shard;
use mowgli_core::term::bound::Bound;
use mowgli_core::unknown::Unknown;

use super::bounds::at_least_one;
use super::out::{bar, json, moving, reported_in, save};
use super::sharded::{ShardContext, Sharded, Share, is_shard};
use crate::shards::identity::Hash;
use crate::shards::log::ShardLog;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli generate --pivot IR --actions 7\n  mowgli generate --model rdma-tso --out tests\n  mowgli generate table6"
)]
pub(super) struct GenerateArgs {
    /// `table6`: print the rows of Table 6 of the paper, with its numbers beside ours.
    #[arg(value_parser = ["table6"], conflicts_with_all = ["model", "pivot", "procs", "actions"])]
    what: Option<String>,
    /// The model.
    #[arg(long, default_value = semantics::DEFAULT)]
    model: Model,
    /// The rule, or part of the model, that the tests probe: R1, IR and so on, or to:aCW-aWT, ib:rf, so:mo; `all` of them.
    #[arg(long, default_value = "all", value_name = "RULE")]
    pivot: String,
    /// The number of processes, of the model of processes. Other models: at most this many threads.
    #[arg(long, default_value = "2", value_name = "P", value_parser = at_least_one)]
    procs: u64,
    /// At most this many actions, initial writes among them, of the model of processes; 8 if not given. Other models: calls of
    /// all threads together; 3 if not given.
    #[arg(long, value_name = "A", value_parser = at_least_one)]
    actions: Option<u64>,
    /// At most this many tests for each part; if not given, all of the model of processes, and 1 of other models.
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

/// Generates tests.
fn generated(args: &GenerateArgs, shared: ShardContext<'_>) -> Result<u8, Failure> {
    if args.what.is_some() {
        let (code, all) = semantics::table(args.json, shared);
        if args.out.is_some() && !is_shard(shared.1) {
            write(&all, args)?;
        }
        return Ok(if is_shard(shared.1) { 0 } else { code });
    }
    args.model.is_published("generate")?;
    let most = args.each.map(|n| n as usize);
    let (code, all) = match args.model {
        model if matches!(model.semantics(), Semantics::Own(_)) => {
            semantics::rows(&args.pivot, (args.procs as usize, args.actions.map(|n| n as usize)), most, shared)?
        }
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
