//! Litmus tests over a fabric: runs a test many times, and compares the outcomes with those of the model.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use itertools::Itertools;
use mowgli_core::ids::Name;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::Limits;
use mowgli_core::search::runs::Stop;
use mowgli_core::value::Val;
use mowgli_rdma::Switches;
use serde::Serialize;

use crate::group::Fabric;
use crate::interpreter::Interpreter;
use crate::port::Fault;

use mowgli::catalogue::Catalogue;
use mowgli::error::{Code, InputError};
use mowgli::interrupt::Deadline;
use mowgli::litmus::machine::answered;
use mowgli::litmus::run::{Answer, TestVerdict};
use mowgli::litmus::test::{Model, Statement, Test};

/// A request to run a test.
pub struct RunRequest<'a> {
    /// The first seed of the machine; `None` for shared memory.
    pub machine: Option<u64>,
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

/// Returns the implementations by which a test runs.
fn interpreter(
    catalogue: &Catalogue,
    test: &Test,
    variants: &BTreeMap<String, String>,
) -> Result<Interpreter, InputError> {
    test.is_made_as_usual("what runs")?;
    if !test.world.crashes.is_empty() {
        return Err(InputError::new(Code::Unsupported, format!("{}: nothing that runs is made to crash", test.name)));
    }
    let cannot = |fault: Fault| InputError::of(Code::Unsupported, fault);
    let made = Interpreter::new(catalogue.entries(), test.world.clone(), called(test), variants).map_err(cannot)?;
    for cell in &test.observed {
        made.reader(*cell).map_err(|why| cannot(why).about(&test.name))?;
    }
    Ok(made)
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

/// Runs a test many times, each time over a new fabric, and compares the outcomes with the model.
///
/// # Errors
/// If its model is not an RDMA model with a machine, or the test cannot run.
pub fn run(catalogue: &Catalogue, test: &Test, ask: &RunRequest<'_>) -> Result<Ran, InputError> {
    let switches = switches(test)?;
    let made = interpreter(catalogue, test, ask.variants)?;
    let programs = test.programs(&catalogue.libraries(test.model));
    // A test that has no meaning makes calls that nothing can run.
    let limits = Limits { expired: &|| ask.deadline.expired(), ..Limits::default() };
    let answer = answered(catalogue, test, &[], limits);
    if let Some(error) = answer.error(test) {
        return Err(error);
    }
    made.report();
    let mut seen = OutcomeCounts::default();
    while seen.runs < ask.times && !ask.deadline.expired() {
        let seed = ask.machine.map(|first| first + seen.runs);
        let fabric = seed.map_or(Fabric::Local, |seed| Fabric::Machine { seed });
        seen.runs += 1;
        match made.programs(fabric, switches, ask.limit, &programs, &test.observed) {
            Ok((outputs, finals)) => {
                let values = test.values(&Outcome { outputs, finals });
                seen.outcomes.entry(values).or_insert((0, seed)).0 += 1;
            }
            Err(Fault::Endless(_)) => seen.endless += 1,
            Err(Fault::Discarded) => seen.discarded += 1,
            Err(Fault::Late(_)) => seen.late += 1,
            Err(fault) => return Err(InputError::new(Code::Unsupported, format!("{}: {fault}", test.name))),
        }
    }
    Ok(held(test, ask, answer, seen))
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
    let of_machine = |seed| format!("the machine, seeds from {seed}");
    let fabric = ask.machine.map_or("shared memory".to_owned(), of_machine);
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
