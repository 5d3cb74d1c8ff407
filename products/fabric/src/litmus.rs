//! Litmus tests over a fabric: runs a test many times, and compares the outcomes with those of the model.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use itertools::Itertools;
use mowgli_core::ids::Name;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::Limits;
use mowgli_core::search::runs::Stop;
use mowgli_core::term::program::Prog;
use mowgli_core::value::Val;
use mowgli_rdma::Switches;
use serde::Serialize;

use crate::{Company, Counts, Fabric, Fault, Provider, Rounds, Stack};

use mowgli::catalogue::Catalogue;
use mowgli::error::{Code, InputError};
use mowgli::interrupt::Deadline;
use mowgli::litmus::machine::answered;
use mowgli::litmus::run::{Answer, TestVerdict};
use mowgli::litmus::test::{Model, Statement, Test};

/// The fabric that a test runs over.
#[derive(Clone, Copy)]
pub enum RunOver<'a> {
    /// Threads with shared memory.
    Local,
    /// The machine, with seeds from this one on.
    Machine(u64),
    /// Processes, one for each node; this process is one of them.
    Processes(&'a Company, Provider),
}

/// A request to run a test.
pub struct RunRequest<'a> {
    /// The fabric.
    pub over: RunOver<'a>,
    /// The number of runs.
    pub times: u64,
    /// The variants of those libraries that do not run by their default implementation.
    pub variants: &'a BTreeMap<String, String>,
    /// The time that a thread of one run may wait.
    pub limit: Duration,
    /// The deadline for all runs together.
    pub deadline: Deadline,
}

/// One outcome.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CountedOutcome {
    /// The values that the test shows, by name.
    pub values: Vec<(String, String)>,
    /// The number of runs that had it.
    pub seen: u64,
    /// The seed of a run that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Whether the model allows it; `None` if a limit left that open.
    pub allowed: Option<bool>,
}

/// The result of running a test.
#[derive(Clone, Debug, Serialize)]
pub struct Ran {
    /// The test.
    pub name: String,
    /// Its model.
    pub model: String,
    /// The verdict on the test by its model.
    pub verdict: TestVerdict,
    /// The fabric that it ran over.
    pub fabric: String,
    /// The number of runs.
    pub runs: u64,
    /// The outcomes that were seen or are allowed.
    pub outcomes: Vec<CountedOutcome>,
    /// The number of runs that cannot end, because a thread waits for something that never happens.
    pub endless: u64,
    /// The number of runs in which an assumption of the test does not hold.
    pub discarded: u64,
    /// Whether the model has executions that are stuck; `None` if a limit left that open.
    pub may_hang: Option<bool>,
    /// The number of runs that were given up because they took too long.
    pub late: u64,
    /// The limit that stopped the search for the model's outcomes, or the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
}

/// Returns the libraries that a test calls.
fn called(test: &Test) -> BTreeSet<Name> {
    fn of(s: &Statement) -> Option<Name> {
        match s {
            Statement::Call { library, .. } => Some(*library),
            Statement::Await { call, .. } => of(call),
            _ => None,
        }
    }
    test.threads.iter().flat_map(|t| &t.statements).filter_map(of).collect()
}

/// The outcomes of runs, and the counts of runs without an outcome. Each outcome has its count, and the seed of the
/// first run that shows it.
#[derive(Default)]
struct OutcomeCounts {
    outcomes: BTreeMap<Vec<Val>, (u64, Option<u64>)>,
    runs: u64,
    endless: u64,
    discarded: u64,
    late: u64,
}

/// A test that can be run.
struct PreparedTest<'a> {
    test: &'a Test,
    stack: Stack,
    programs: Vec<Prog>,
    switches: Switches,
    ask: &'a RunRequest<'a>,
}

impl PreparedTest<'_> {
    /// Runs the test in this process, each time over a new fabric.
    fn here(&self, fabric: impl Fn(u64) -> (Fabric, Option<u64>)) -> Result<OutcomeCounts, Fault> {
        let mut seen = OutcomeCounts::default();
        while seen.runs < self.ask.times && !self.ask.deadline.expired() {
            let (fabric, seed) = fabric(seen.runs);
            seen.runs += 1;
            let observed = &self.test.observed;
            match self.stack.programs(fabric, self.switches, self.ask.limit, &self.programs, observed) {
                Ok((outputs, finals)) => {
                    let values = self.test.values(&Outcome { outputs, finals });
                    seen.outcomes.entry(values).or_insert((0, seed)).0 += 1;
                }
                Err(Fault::Endless(_)) => seen.endless += 1,
                Err(Fault::Discarded) => seen.discarded += 1,
                Err(Fault::Late(_)) => seen.late += 1,
                Err(fault) => return Err(fault),
            }
        }
        Ok(seen)
    }

    /// Runs the test in several processes.
    fn among(&self, company: &Company, provider: Provider) -> Result<OutcomeCounts, Fault> {
        let rounds = Rounds {
            provider,
            times: self.ask.times,
            limit: self.ask.limit,
            programs: &self.programs,
            observed: &self.test.observed,
        };
        let counts = self.stack.rounds(company, &rounds, || !self.ask.deadline.expired())?;
        let Counts { runs, endless, discarded, late, .. } = counts;
        let mut seen = OutcomeCounts { runs, endless, discarded, late, ..OutcomeCounts::default() };
        for (outcome, count) in counts.outcomes {
            seen.outcomes.entry(self.test.values(&outcome)).or_insert((0, None)).0 += count;
        }
        Ok(seen)
    }
}

/// Returns the implementations by which a test runs.
///
/// # Errors
/// If its model is not an RDMA model with a machine, or the test cannot run.
pub fn stack(catalogue: &Catalogue, test: &Test, variants: &BTreeMap<String, String>) -> Result<Stack, InputError> {
    switches(test)?;
    test.is_made_as_usual("what runs")?;
    if !test.world.crashes.is_empty() {
        return Err(InputError::new(Code::Unsupported, format!("{}: nothing that runs is made to crash", test.name)));
    }
    let entries = catalogue.entries();
    let cannot = |fault: Fault| InputError::of(Code::Unsupported, fault);
    let stack = Stack::new(entries, test.world.clone(), called(test), variants).map_err(cannot)?;
    for cell in &test.observed {
        stack.reader(*cell).map_err(|why| cannot(why).about(&test.name))?;
    }
    Ok(stack)
}

/// Returns the switches of an RDMA model with a machine.
fn switches(test: &Test) -> Result<Switches, InputError> {
    match test.model {
        Model::RdmaWait(switches) | Model::RdmaTso(switches) => Ok(switches),
        other => {
            let (wait, tso) = (Model::RDMA_WAIT, Model::RDMA_TSO);
            Err(InputError::new(
                Code::Unsupported,
                format!("{}: what runs are tests of {wait} and {tso}, not of {other}", test.name),
            ))
        }
    }
}

/// Runs a test. If several processes run it together, the first compares the outcomes with the model; the others return
/// `None`.
///
/// # Errors
/// If its model is not an RDMA model with a machine, or the test cannot run.
pub fn run(catalogue: &Catalogue, test: &Test, ask: &RunRequest<'_>) -> Result<Option<Ran>, InputError> {
    let switches = switches(test)?;
    let stack = stack(catalogue, test, ask.variants)?;
    let ready = PreparedTest { test, stack, programs: test.programs(usize::MAX), switches, ask };
    // A test that has no meaning makes calls that nothing can run.
    let limits = Limits { expired: &|| ask.deadline.expired(), ..Limits::default() };
    let answer = answered(catalogue, test, &[], limits);
    if let Some(error) = answer.error(test) {
        return Err(error);
    }
    let seen = match ask.over {
        RunOver::Local => ready.here(|_| (Fabric::Local, None)),
        RunOver::Machine(first) => ready.here(|run| (Fabric::Machine { seed: first + run }, Some(first + run))),
        RunOver::Processes(company, provider) => ready.among(company, provider),
    };
    let seen = seen.map_err(|fault| InputError::new(Code::Unsupported, format!("{}: {fault}", test.name)))?;
    if matches!(ask.over, RunOver::Processes(company, _) if company.rank() > 0) {
        return Ok(None);
    }
    Ok(Some(held(test, ask, answer, seen)))
}

/// Compares the outcomes of runs with those of the model.
fn held(test: &Test, ask: &RunRequest<'_>, answer: Answer, seen: OutcomeCounts) -> Ran {
    let verdict = answer.verdict(test);
    let may_hang = (!answer.kinds().is_empty()).then_some(true).or(answer.stop().is_none().then_some(false));
    let stop = answer.explored.stop.or((seen.runs < ask.times).then_some(Stop::Time));
    let all: BTreeSet<&Vec<Val>> = seen.outcomes.keys().chain(answer.outcomes.keys()).collect();
    let row = |values: &Vec<Val>| {
        let (seen, seed) = seen.outcomes.get(values).copied().unwrap_or((0, None));
        let allowed = answer.outcomes.contains_key(values).then_some(true).or(stop.is_none().then_some(false));
        let names = test.shown.iter().map(|(name, _)| name.clone());
        CountedOutcome { values: names.zip(values.iter().map(ToString::to_string)).collect(), seen, seed, allowed }
    };
    let mut outcomes = all.into_iter().map(row).collect_vec();
    outcomes.sort_by_key(|row| std::cmp::Reverse(row.seen));
    let fabric = match ask.over {
        RunOver::Local => "shared memory".to_owned(),
        RunOver::Machine(seed) => format!("the machine, seeds from {seed}"),
        RunOver::Processes(company, provider) => format!("{}, {} processes", provider.name(), company.size()),
    };
    Ran {
        name: test.name.clone(),
        model: test.model.to_string(),
        verdict,
        fabric,
        runs: seen.runs,
        outcomes,
        endless: seen.endless,
        discarded: seen.discarded,
        may_hang,
        late: seen.late,
        undecided: stop.map(|stop| stop.to_string()),
    }
}

impl Ran {
    /// Returns the exit code: 1 if a run had an outcome that the model forbids, and else that of `litmus`, or 3 after a limit.
    #[must_use]
    pub fn code(&self) -> u8 {
        let seen = || self.outcomes.iter().filter(|row| row.seen > 0);
        match () {
            () if seen().any(|row| row.allowed == Some(false)) => 1,
            () if self.endless > 0 && self.may_hang == Some(false) => 1,
            () if self.verdict == TestVerdict::Fails => 1,
            () if self.undecided.is_some() || self.late > 0 => 3,
            () => self.verdict.code(),
        }
    }

    /// Returns a histogram like that of litmus7, in which `*>` marks outcomes that the model forbids.
    #[must_use]
    pub fn text(&self) -> String {
        let count = |is: &dyn Fn(&CountedOutcome) -> bool| self.outcomes.iter().filter(|row| is(row)).count();
        let forbidden = count(&|row| row.seen > 0 && row.allowed == Some(false));
        let (some, all) =
            (count(&|row| row.seen > 0 && row.allowed == Some(true)), count(&|row| row.allowed == Some(true)));
        let counts = match self.undecided {
            Some(_) => {
                format!("  {some} outcomes were seen that are allowed; of others it is not known whether they are")
            }
            None if all == 0 && forbidden == 0 => "  by the model no execution ends".to_owned(),
            None => format!("  {some} of {all} allowed outcomes were seen, and {forbidden} forbidden"),
        };
        let head = format!("{} ({}) over {}, {} runs", self.name, self.model, self.fabric, self.runs);
        let mut lines = vec![head, counts];
        for row in &self.outcomes {
            let values: String = row.values.iter().map(|(name, v)| format!(" {name}={v};")).collect();
            let (mark, what) = match (row.allowed, row.seed) {
                (Some(true), _) => (":>", String::new()),
                (Some(false), Some(seed)) => ("*>", format!("  forbidden, as with --seed {seed} --times 1")),
                (Some(false), None) => ("*>", "  forbidden".to_owned()),
                (None, _) => ("?>", "  whether it is allowed is not known".to_owned()),
            };
            lines.push(format!("  {:>8} {mark}{values}{what}", row.seen));
        }
        let endless = match self.may_hang {
            Some(true) => "are stuck, as executions of the model are",
            Some(false) => "are stuck, and no execution of the model is: that is forbidden",
            None => "are stuck; whether executions of the model are is not known",
        };
        let discarded = "do not count, as what the test assumes does not hold";
        for (runs, what) in
            [(self.endless, endless), (self.discarded, discarded), (self.late, "were given up, as they took too long")]
        {
            lines.extend((runs > 0).then(|| format!("  {runs:>8} runs {what}")));
        }
        lines.extend(self.undecided.as_ref().map(|why| format!("  undecided: {why}")));
        lines.join("\n") + "\n"
    }
}
