//! The `run` command: a litmus test is run many times over a fabric, and what is seen held against the model.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use itertools::Itertools;
use mowgli_core::ids::Name;
use mowgli_core::outcome::Outcome;
use mowgli_core::problem::Limits;
use mowgli_core::runs::Stop;
use mowgli_core::value::Val;
use mowgli_fabric::{Fabric, Fault, Stack};
use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::interrupt::Deadline;
use crate::litmus::run::{shown, solve_in};
use crate::litmus::test::{Model, Statement, Test};

/// What is asked.
pub struct Ask<'a> {
    /// Over the machine, with seeds from this one on; over shared memory otherwise.
    pub seed: Option<u64>,
    /// How often.
    pub times: u64,
    /// The variants of libraries that are not the published ones.
    pub variants: &'a BTreeMap<String, String>,
    /// How long a thread of one run may wait.
    pub limit: Duration,
    /// When to stop altogether.
    pub deadline: Deadline,
}

/// One outcome.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Row {
    /// What the test shows, by name.
    pub values: Vec<(String, String)>,
    /// How often it was seen.
    pub seen: u64,
    /// The seed of a run that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Whether the model allows it; `None` if that is not known.
    pub allowed: Option<bool>,
}

/// What was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Ran {
    /// The test.
    pub name: String,
    /// Its model.
    pub model: String,
    /// What it ran over.
    pub fabric: String,
    /// How often it ran.
    pub runs: u64,
    /// The outcomes that were seen or are allowed.
    pub outcomes: Vec<Row>,
    /// How many runs can have no end: a thread waits for what never comes.
    pub endless: u64,
    /// How many runs were given up.
    pub late: u64,
    /// What kept the model's outcomes from being known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
}

/// The libraries that a test calls.
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

/// Runs a test.
///
/// # Errors
/// If its model is none of RDMA with a machine, or it cannot be run.
pub fn run(catalogue: &Catalogue, test: &Test, ask: &Ask<'_>) -> Result<Ran, String> {
    let (Model::RdmaWait(switches) | Model::RdmaTso(switches)) = test.model else {
        let (wait, tso) = (Model::RDMA_WAIT, Model::RDMA_TSO);
        return Err(format!("{}: what runs are tests of {wait} and {tso}, not of {}", test.name, test.model));
    };
    test.is_made_as_usual("what runs")?;
    let entries = catalogue.entries::<mowgli_rdma::Stamp>();
    let stack = Stack::new(entries, test.world.clone(), called(test), ask.variants)?;
    for cell in &test.observed {
        stack.reader(*cell).map_err(|e| format!("{}: {e}", test.name))?;
    }
    let programs = test.programs(usize::MAX);
    let mut seen: BTreeMap<Vec<Val>, (u64, Option<u64>)> = BTreeMap::new();
    let (mut runs, mut endless, mut late) = (0, 0, 0);
    while runs < ask.times && !ask.deadline.expired() {
        let seed = ask.seed.map(|seed| seed + runs);
        let fabric = seed.map_or(Fabric::Local, |seed| Fabric::Machine { seed });
        runs += 1;
        match stack.programs(fabric, switches, ask.limit, &programs, &test.observed) {
            Ok((outputs, finals)) => {
                seen.entry(shown(test, &Outcome { outputs, finals })).or_insert((0, seed)).0 += 1;
            }
            Err(Fault::Endless(_)) => endless += 1,
            Err(Fault::Late(_)) => late += 1,
            Err(Fault::Wrong(why)) => return Err(format!("{}: {why}", test.name)),
        }
    }
    let answer = solve_in(catalogue, test, &[], Limits { expired: &|| ask.deadline.expired(), ..Limits::default() });
    let stop = answer.explored.stop.or((runs < ask.times).then_some(Stop::Time));
    let all: BTreeSet<&Vec<Val>> = seen.keys().chain(answer.outcomes.keys()).collect();
    let row = |values: &Vec<Val>| {
        let (seen, seed) = seen.get(values).copied().unwrap_or((0, None));
        let allowed = answer.outcomes.contains_key(values).then_some(true).or(stop.is_none().then_some(false));
        let names = test.shown.iter().map(|(name, _)| name.clone());
        Row { values: names.zip(values.iter().map(ToString::to_string)).collect(), seen, seed, allowed }
    };
    let mut outcomes = all.into_iter().map(row).collect_vec();
    outcomes.sort_by_key(|row| std::cmp::Reverse(row.seen));
    let fabric = match ask.seed {
        Some(seed) => format!("the machine, seeds from {seed}"),
        None => "shared memory".to_owned(),
    };
    let undecided = stop.map(|stop| stop.to_string());
    Ok(Ran { name: test.name.clone(), model: test.model.to_string(), fabric, runs, outcomes, endless, late, undecided })
}

impl Ran {
    /// 1 if something forbidden was seen, 3 if that is not known, 0 otherwise.
    #[must_use]
    pub fn code(&self) -> u8 {
        let seen = || self.outcomes.iter().filter(|row| row.seen > 0);
        match () {
            () if seen().any(|row| row.allowed == Some(false)) => 1,
            () if self.undecided.is_some() || self.late > 0 => 3,
            () => 0,
        }
    }

    /// For people: a histogram as litmus7 prints it, where `*>` is what the model forbids.
    #[must_use]
    pub fn text(&self) -> String {
        let count = |is: &dyn Fn(&Row) -> bool| self.outcomes.iter().filter(|row| is(row)).count();
        let forbidden = count(&|row| row.seen > 0 && row.allowed == Some(false));
        let (some, all) =
            (count(&|row| row.seen > 0 && row.allowed == Some(true)), count(&|row| row.allowed == Some(true)));
        let mut lines = vec![
            format!("{} ({}) over {}, {} runs", self.name, self.model, self.fabric, self.runs),
            format!("  {some} of {all} allowed outcomes were seen, and {forbidden} forbidden"),
        ];
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
        for (runs, what) in [(self.endless, "have no end"), (self.late, "were given up, as they took too long")] {
            lines.extend((runs > 0).then(|| format!("  {runs:>8} runs {what}")));
        }
        lines.extend(self.undecided.as_ref().map(|why| format!("  undecided: {why}")));
        lines.join("\n") + "\n"
    }
}
