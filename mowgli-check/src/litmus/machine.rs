//! Runs of the machine: random ones, which find outcomes that a search has not reached, and runs that are played by hand.
//!
//! An outcome of a run is one of the model, because the machine has no others (SYNC Theorem 7). So a run decides that an
//! outcome is possible, and never that it is not.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use itertools::Itertools as _;
use mowgli_core::search::problem::Limits;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::value::Val;
use mowgli_rdma::operational::{ChoicePoint, Machine, MachineWalks, Step, WalkEnd};
use serde::Serialize;

use super::answer::{Answer, WitnessRun, WitnessRuns, decides};
use super::program::Standings;
use super::run::{act_in_words, has_machine, libraries, solve_in, unended};
use super::stuck::{self, StuckKinds};
use super::test::Test;
use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::interrupt::{Deadline, Failure};

/// The most random runs that look for what a search left open.
pub const RUNS: u64 = 200;

/// The most steps of one run. A run of a loop that counts has no end, and each of its steps takes longer than the one before.
const STEPS: u64 = 500;

/// The most steps of the runs after a search.
const ALL_STEPS: u64 = 40 * STEPS;

/// A visitor of random runs that end: it gets the seed, the values that the test shows, and the choices. It returns whether
/// it wants more runs.
type VisitsRuns<'f> = dyn FnMut(u64, Vec<Val>, Vec<usize>) -> bool + 'f;

/// Makes a random run for each seed, after these first choices. Returns the number of runs that were made.
fn visit_runs(
    test: &Test,
    first: &[usize],
    seeds: Range<u64>,
    visit: &mut VisitsRuns<'_>,
    expired: &dyn Fn() -> bool,
) -> Result<u64, InputError> {
    let switches = has_machine(test, "a random run")?;
    let programs = test.programs(&libraries(test.model));
    let mut walks = MachineWalks::of(Machine::new(&test.world, &programs)?.with(switches));
    let (begin, all) = (seeds.start, seeds.end - seeds.start);
    for seed in seeds {
        let (mut random, mut choices) = (fastrand::Rng::with_seed(seed), Vec::new());
        let mut choose = |open: &[usize]| {
            let choice = first.get(choices.len()).copied().unwrap_or_else(|| open[random.usize(..open.len())]);
            choices.push(choice);
            choice
        };
        let own = Deadline::default().within(STEPS);
        let is_over = || own.expired() || expired();
        match walks.walk(&test.observed, &mut choose, &mut |_| {}, &is_over) {
            Ok(WalkEnd::Outcome(outcome)) if !visit(seed, test.values(&outcome), choices) => {
                return Ok(seed + 1 - begin);
            }
            Err(_) if own.steps() <= STEPS => return Ok(seed - begin),
            // The run is stuck, discarded, or too long.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(all)
}

/// Looks in random runs for outcomes that decide assertions, as long as one is `open`. Also returns all outcomes of the runs.
///
/// # Errors
/// If the model has no machine.
pub fn witness_runs(
    test: &Test,
    open: &[bool],
    seeds: Range<u64>,
    expired: &dyn Fn() -> bool,
) -> Result<(WitnessRuns, BTreeSet<Vec<Val>>), InputError> {
    let (mut open, mut seen, mut outcomes) = (open.to_vec(), Vec::new(), BTreeSet::new());
    let mut visit = |seed, outcome: Vec<Val>, choices: Vec<usize>| {
        for (at, assertion) in test.assertions.iter().enumerate().filter(|(at, _)| open[*at]).collect_vec() {
            if let Some(holds) = decides(assertion, &outcome) {
                open[at] = false;
                let text = assertion.to_string();
                seen.push(WitnessRun { assertion: at, text, holds, seed, choices: choices.clone() });
            }
        }
        outcomes.insert(outcome);
        open.contains(&true)
    };
    let runs = visit_runs(test, &[], seeds, &mut visit, expired)?;
    Ok((WitnessRuns { runs, seen }, outcomes))
}

/// Adds to an incomplete answer with open assertions the outcomes of random runs, which may decide them. Other answers, and
/// those of a model without a machine, stay the same. The runs have steps of their own, because those of the search are used up.
fn with_witness_runs(test: &Test, answer: Answer) -> Answer {
    let open = answer.holds.iter().map(Option::is_none).collect_vec();
    // A browser has no clock; its page makes runs of its own.
    let is_limited = answer.explored.stop.is_some() && answer.error(test).is_none();
    if !is_limited || !open.contains(&true) || cfg!(target_arch = "wasm32") {
        return answer;
    }
    let deadline = Deadline::default().within(ALL_STEPS);
    match witness_runs(test, &open, 0..RUNS, &|| deadline.expired()) {
        Ok((runs, outcomes)) => answer.with_runs(test, runs, outcomes),
        Err(_) => answer,
    }
}

/// Returns the function that adds random runs to the answer of a search that begins now. It adds none if the time is over
/// before the search begins, because the user gave no time to either.
pub fn runs_after(expired: &dyn Fn() -> bool) -> fn(&Test, Answer) -> Answer {
    if expired() { |_, answer| answer } else { with_witness_runs }
}

/// Solves a test as [`solve_in`] does. If a limit stops the search, random runs may still decide assertions.
#[must_use]
pub fn answered(catalogue: &Catalogue, test: &Test, chain: &[Arc<dyn Implementation>], limits: Limits<'_>) -> Answer {
    let with_runs = runs_after(limits.expired);
    let answer = solve_in(catalogue, test, chain, limits);
    if chain.is_empty() { with_runs(test, answer) } else { answer }
}

/// A step in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StepInWords {
    /// The thread whose program, store buffer or queue pair acts.
    pub thread: String,
    /// The action.
    pub text: String,
}

/// A point of a run that is played by hand, in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PlayedPoint {
    /// The steps since the point before.
    pub taken: Vec<StepInWords>,
    /// The words in memory: the node, the name, and the value.
    pub memory: Vec<(String, String, String)>,
    /// The buffers that are not empty: the thread, the name, and the entries.
    pub buffers: Vec<(String, String, Vec<String>)>,
    /// The steps that are possible.
    pub possible: Vec<StepInWords>,
}

/// A run that is played by hand.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PlayedRun {
    /// The choices, each the position of a step among the possible ones.
    pub choices: Vec<usize>,
    /// The points of the run; the initial one is the first.
    pub points: Vec<PlayedPoint>,
    /// The end of the run, if it has ended.
    pub end: Option<String>,
}

/// Follows these choices, up to the first one that does not exist.
///
/// # Errors
/// If the model has no machine, or a limit cuts the run.
pub fn play(test: &Test, choices: &[usize], expired: &dyn Fn() -> bool) -> Result<PlayedRun, Failure> {
    let switches = has_machine(test, "a run")?;
    let programs = test.programs(&libraries(test.model));
    let points = Machine::new(&test.world, &programs)?
        .with(switches)
        .play(&test.observed, choices, expired)
        .map_err(|stop| unended(test, "how the run goes on", stop))?;
    let end = points.last().and_then(|point| point.end.as_ref()).map(|end| end_in_words(test, end));
    let choices = choices[..points.len() - 1].to_vec();
    Ok(PlayedRun { choices, points: points.iter().map(|point| in_words(test, point)).collect(), end })
}

/// Returns choices that begin with these and lead to an outcome with these values, found by random runs; `None` if no run
/// had it.
///
/// # Errors
/// If the model has no machine.
pub fn choices_to(
    test: &Test,
    first: &[usize],
    values: &[String],
    expired: &dyn Fn() -> bool,
) -> Result<Option<Vec<usize>>, InputError> {
    let mut found = None;
    let mut visit = |_, outcome: Vec<Val>, choices| {
        let is_there = outcome.iter().map(ToString::to_string).eq(values.iter().cloned());
        found = is_there.then_some(choices);
        !is_there
    };
    visit_runs(test, first, 0..10 * RUNS, &mut visit, expired)?;
    Ok(found)
}

fn in_words(test: &Test, point: &ChoicePoint) -> PlayedPoint {
    let name = |thread: mowgli_core::ids::Tid| test.threads[thread.index()].name.to_string();
    let step = |step: &Step| StepInWords { thread: name(step.thread), text: act_in_words(step) };
    let node = |x| test.world.objects.get(x).and_then(|object| object.node);
    let memory = point
        .memory
        .iter()
        .map(|(x, v)| (node(x).map_or_else(String::new, |node| node.to_string()), x.to_string(), v.to_string()));
    PlayedPoint {
        taken: point.taken.iter().map(step).collect(),
        memory: memory.collect(),
        buffers: point.buffers.iter().map(|b| (name(b.thread), b.name.clone(), b.entries.clone())).collect(),
        possible: point.possible.iter().map(step).collect(),
    }
}

fn end_in_words(test: &Test, end: &WalkEnd) -> String {
    match end {
        WalkEnd::Outcome(outcome) => {
            let values = test.values(outcome);
            format!("The end: {}", test.named(&values).map(|(name, v)| format!("{name}={v}")).join(", "))
        }
        WalkEnd::Discarded => "The run does not count, because an assumption is false.".to_owned(),
        WalkEnd::Stuck(standstill) => {
            stuck::text(test, &StuckKinds::from([stuck::of_machine(&Standings::of(test), standstill)]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::litmus::parse::parse;
    use crate::litmus::run::{solve, walk};

    const TEST: &str = "RDMA_TSO t { x@1 = 0; z@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | a := z ;\n x := 1 | ;\n\
        allowed (a=1)\nforbidden (a=2)\nforall (a=0)\n";

    #[test]
    fn random_runs_decide_what_an_incomplete_search_leaves_open() {
        let test = parse("t", TEST).unwrap();
        let answer = solve(&test, &[], Limits { expired: &|| true, ..Limits::default() });
        assert_eq!(answer.holds, [None; 3]);
        let answer = with_witness_runs(&test, answer);
        assert_eq!(answer.holds, [Some(true), None, Some(false)], "no run shows that an outcome is impossible");
        let WitnessRun { seed, choices, .. } = &answer.runs.seen[0];
        let end = play(&test, choices, &|| false).unwrap().end.unwrap();
        assert!(end.contains("a=1"), "{end}");
        let walked = walk(&test, *seed, &|| false).unwrap().end.unwrap();
        assert!(walked.contains(&("a".to_owned(), "1".to_owned())), "{walked:?}");
        let complete = solve(&test, &[], Limits::default());
        assert_eq!(with_witness_runs(&test, complete).runs.runs, 0);
    }

    /// A run may be endless and another one not: `c` decides at once whether the loop counts for ever.
    #[test]
    fn runs_that_are_too_long_are_counted_and_left() {
        let text = "RDMA_TSO t { f@1 = 0; x@1 = 0; }\n P1@1 | P2@1 ;\n c := f | f := 1 ;\n a := 0 | ;\n while c = 0 { | ;\n a := a + 1 | ;\n \
                    x := a | ;\n mfence | ;\n } | ;\nallowed (c=1)\nallowed (a=99)\n";
        let test = parse("t", text).unwrap();
        let answer = || with_witness_runs(&test, solve(&test, &[], Limits { expired: &|| true, ..Limits::default() }));
        let (one, other) = (answer(), answer());
        assert_eq!(one.holds, [Some(true), None]);
        // Half of the runs end after a few steps, and each other one has 500.
        assert!((50..RUNS).contains(&one.runs.runs), "{:?}", one.runs);
        assert_eq!(one.runs, other.runs);
    }

    /// The numbers of operations are in no step: the result of a poll is the operation in words.
    #[test]
    fn steps_have_no_numbers_of_operations() {
        let text = "RDMA_TSO t { x@1 = 1; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n poll(2) ;\n get(x, z) ;\n pollany ;\n";
        let run = play(&parse("t", text).unwrap(), &[0; 20], &|| false).unwrap();
        let steps = run.points.iter().flat_map(|point| point.taken.iter().chain(&point.possible));
        let steps = steps.map(|step| step.text.as_str()).collect_vec();
        assert!(run.end.is_some() && steps.iter().filter(|step| step.contains("oll")).count() > 1, "{steps:?}");
        assert!(steps.iter().all(|step| !step.contains("= (")), "{steps:?}");
    }

    #[test]
    fn runs_are_played_by_hand() {
        let test = parse("t", TEST).unwrap();
        let begin = play(&test, &[], &|| false).unwrap();
        let [point] = &begin.points[..] else { panic!("{begin:?}") };
        let possible: Vec<String> = point.possible.iter().map(|s| format!("{}: {}", s.thread, s.text)).collect();
        assert_eq!(
            possible,
            ["P1: x := 1 leaves the store buffer", "P1: the put of z reads x (rule 2)", "P2: Read(z) = 0"]
        );
        assert!(point.memory.contains(&("2".to_owned(), "z".to_owned(), "0".to_owned())), "{point:?}");
        assert_eq!(begin.end, None);
        let one = play(&test, &[0, 99, 0], &|| false).unwrap();
        assert_eq!((one.choices, one.points.len()), (vec![0], 2));
        let values: Vec<String> = ["1"].map(str::to_owned).to_vec();
        let way = choices_to(&test, &[0], &values, &|| false).unwrap().expect("it is possible");
        let run = play(&test, &way, &|| false).unwrap();
        assert!(way[0] == 0 && run.end.unwrap().starts_with("The end: a=1"), "{way:?}");
        assert_eq!(choices_to(&test, &[2], &values, &|| false), Ok(None), "P2 has read 0");
    }
}
