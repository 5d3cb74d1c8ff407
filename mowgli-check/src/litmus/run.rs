//! The outcomes of a litmus test, and whether its assertions hold.

use std::cell::Cell as Flag;
use std::collections::BTreeMap;
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::event::{Cell, Event};
use mowgli_core::ids::Name;
use mowgli_core::library::Libraries;
use mowgli_core::search::outcome::{Explored, Outcome};
use mowgli_core::search::problem::{Found, Limits, Problem};
use mowgli_core::search::runs::Stop;
use mowgli_core::search::solver::Flow;
use mowgli_core::term::implementation::{Implementation, Implementations, add_parts};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::operational::{Act, Machine, MachineRuns, MachineWalks, Step, WalkEnd};
use mowgli_rdma::{Switches, tso};
use serde::Serialize;

pub use super::answer::{Answer, TestVerdict, WHY_NONE, WitnessRun, WitnessRuns, decides, ill_defined};
use super::outside;
use super::program::Standings;
use super::semantics::Semantics;
use super::stuck::{self, StuckKinds};
use super::test::{Model, Test};
use crate::catalogue::Catalogue;
use crate::error::{Bug, Code, InputError};
use crate::interrupt::{Failure, Undecided, cause};

/// Returns the libraries of a model, of the built-in ones.
#[must_use]
pub fn libraries(model: Model) -> Libraries {
    Catalogue::builtin().libraries(model)
}

/// Puts implementations into force, one by one from left to right: their objects join the world.
pub fn implement(world: &mut World, chain: &[Arc<dyn Implementation>]) -> Implementations {
    let mut implementations = Implementations::new();
    for implementation in chain {
        add_parts(&**implementation, world);
        implementations.insert(implementation.target(), Arc::clone(implementation));
    }
    implementations
}

/// Returns the implementations that replace libraries of a test.
///
/// # Errors
/// If there is no such implementation, or one is named before another that is over it. Also if the test shows the last value of an
/// object whose library is replaced. The value is then in words of the implementation, which the test cannot name.
pub fn replaced(
    catalogue: &Catalogue,
    test: &Test,
    names: &[String],
) -> Result<Vec<Arc<dyn Implementation>>, InputError> {
    let chain = catalogue.implementations(names)?;
    is_from_top_to_bottom(test, &chain, names)?;
    let of = |cell: &Cell| test.world.objects.get(&cell.loc).map(|object| (*cell, object.library));
    let is_replaced = |(_, library): &(Cell, Name)| chain.iter().any(|i| i.target() == *library);
    match test.observed.iter().filter_map(of).find(is_replaced) {
        Some((Cell { loc, node }, library)) => {
            let message = format!(
                "{}: the last value of {loc} on node {node} is shown, and --implemented replaces {library}, whose implementation \
                 keeps it in words of its own",
                test.name
            );
            let help = format!("leave {loc} out of locations and conditions, and read it by a last call of a thread");
            Err(InputError::new(Code::Unsupported, message).help(help))
        }
        None => Ok(chain),
    }
}

/// Checks that no implementation is replaced before one that has objects of its library. Such objects have no parts.
fn is_from_top_to_bottom(test: &Test, chain: &[Arc<dyn Implementation>], names: &[String]) -> Result<(), InputError> {
    let mut world = test.world.clone();
    implement(&mut world, chain);
    let lacks = |implementation: &Arc<dyn Implementation>| {
        let mut whole = world.clone();
        add_parts(&**implementation, &mut whole);
        whole.objects.len() > world.objects.len()
    };
    let Some(early) = chain.iter().position(lacks) else { return Ok(()) };
    let (name, all) = (&names[early], names.join(","));
    let message = format!("--implemented {all} replaces {name} before a library that is implemented over it");
    let help = format!("libraries are replaced from top to bottom: name {name} after those over it");
    Err(InputError::new(Code::Argument, message).help(help))
}

/// Returns the implementations that change nothing in a test, because neither it nor an implementation before them has an
/// object of their library. `names` are the names that `chain` was made from.
#[must_use]
pub fn idle<'a>(test: &Test, chain: &[Arc<dyn Implementation>], names: &'a [String]) -> Vec<&'a str> {
    let mut world = test.world.clone();
    let mut is_idle = |(implementation, _): &(&Arc<dyn Implementation>, &String)| {
        let is_idle = world.objects.values().all(|object| object.library != implementation.target());
        add_parts(&***implementation, &mut world);
        is_idle
    };
    chain.iter().zip(names).filter_map(|pair| is_idle(&pair).then_some(pair.1.as_str())).collect()
}

/// True if some execution of a test ends, or is over although servers wait.
///
/// # Errors
/// The limit that stopped the search before it found one.
pub fn ends(
    libraries: &Libraries,
    test: &Test,
    chain: &[Arc<dyn Implementation>],
    limits: Limits<'_>,
) -> Result<bool, Stop> {
    let mut found = false;
    let explored = with_problem(libraries, test, chain, limits, |problem| {
        let explored = problem.explore(&mut |_| {
            found = true;
            Flow::Stop
        });
        found = found || !stuck::over(test, problem).so_far().0.is_empty();
        explored
    });
    if found { Ok(true) } else { explored.stop.map_or(Ok(false), Err) }
}

/// Returns the kinds of stuck executions of a test, and the limit that stopped the search for them.
pub fn stuck_kinds(libraries: &Libraries, test: &Test, limits: Limits<'_>) -> Found<StuckKinds> {
    with_problem(libraries, test, &[], limits, |problem| stuck::kinds(libraries, test, problem))
}

/// Calls `ask` with a test as a problem over these libraries, with those of `chain` replaced by their implementations.
pub fn with_problem<T>(
    libraries: &Libraries,
    test: &Test,
    chain: &[Arc<dyn Implementation>],
    limits: Limits<'_>,
    ask: impl FnOnce(&Problem<'_>) -> T,
) -> T {
    let (mut world, programs) = (test.world.clone(), test.programs(libraries));
    let implementations = implement(&mut world, chain);
    let libraries = implementations.keys().fold(libraries.clone(), |all, name| all.without(*name));
    ask(&Problem {
        libraries: &libraries,
        implementations: &implementations,
        world: &world,
        programs: &programs,
        observed: &test.observed,
        limits,
    })
}

/// Solves a test of the built-in libraries, with those of `chain` replaced by their implementations.
#[must_use]
pub fn solve(test: &Test, chain: &[Arc<dyn Implementation>], limits: Limits<'_>) -> Answer {
    solve_in(Catalogue::builtin(), test, chain, limits)
}

/// Solves a test of the libraries of a catalogue, with those of `chain` replaced by their implementations.
#[must_use]
pub fn solve_in(catalogue: &Catalogue, test: &Test, chain: &[Arc<dyn Implementation>], limits: Limits<'_>) -> Answer {
    solve_as_found(catalogue, test, chain, limits, &mut |_| {})
}

/// Solves a test as [`solve_in`] does, and reports values that the test shows as soon as an execution has them. Outcomes
/// that differ in other values have these twice. A semantics of its own reports none.
#[must_use]
pub fn solve_as_found(
    catalogue: &Catalogue,
    test: &Test,
    chain: &[Arc<dyn Implementation>],
    limits: Limits<'_>,
    report: ReportsValues<'_>,
) -> Answer {
    match test.model.semantics() {
        Semantics::Own(own) => own.solve(test, limits),
        Semantics::Axioms => solved_over(&catalogue.libraries(test.model), test, chain, limits, report),
    }
}

/// A function that gets the values which a test shows, while the search still runs.
pub type ReportsValues<'f> = &'f mut dyn FnMut(Vec<Val>);

/// Solves a test as [`solve`] does, over other libraries, or another stamp order, than those of the test's model.
#[must_use]
pub fn solve_over(libraries: &Libraries, test: &Test, chain: &[Arc<dyn Implementation>], limits: Limits<'_>) -> Answer {
    solved_over(libraries, test, chain, limits, &mut |_| {})
}

fn solved_over(
    libraries: &Libraries,
    test: &Test,
    chain: &[Arc<dyn Implementation>],
    limits: Limits<'_>,
    report: ReportsValues<'_>,
) -> Answer {
    let (all, stuck) = with_problem(libraries, test, chain, limits, |problem| {
        let all = problem.outcomes_as_found(&mut |outcome| report(test.values(outcome)));
        (all, stuck::kinds(libraries, test, problem))
    });
    let mut outcomes = BTreeMap::new();
    // The answer keeps the limit that stopped the search.
    for (outcome, count) in all.so_far().0 {
        *outcomes.entry(test.values(outcome)).or_insert(0) += count;
    }
    let (kinds, stop) = stuck.into_parts();
    let explored = Explored { stop: all.explored.stop.map(cause), ..all.explored };
    let outside = outside::outside(libraries, test, &explored.uncovered);
    Answer { outside, ..Answer::new(test, outcomes, explored, Found::new(kinds, stop.map(cause))) }
}

/// A way to find the outcomes of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// From the axioms.
    #[default]
    Declarative,
    /// By exploring the machine of RDMA-TSO-RMW.
    Operational,
    /// In both ways; a difference is an error.
    Both,
}

/// The largest number of states of the machine that are explored.
const STATES: usize = 20_000_000;

/// Returns the switches of the machine, which exists for one model only.
pub(super) fn has_machine(test: &Test, what: &str) -> Result<Switches, InputError> {
    match test.model {
        Model::RdmaTso(switches) => Ok(switches),
        model => {
            let error = InputError::new(Code::Unsupported, format!("{model} has no machine"));
            Err(error.help(format!("{what} is for {}", Model::RDMA_TSO)))
        }
    }
}

/// Solves a test by exploring the machine. Also returns the result of the exploration, with the number of states.
///
/// # Errors
/// If the model has no machine.
pub fn explore(test: &Test, limits: Limits<'_>) -> Result<(Answer, MachineRuns), InputError> {
    let switches = has_machine(test, "--engine operational")?;
    let programs = test.programs(&libraries(test.model));
    let mut machine = Machine::new(&test.world, &programs)?.with(switches).within(limits.rounds);
    let runs = machine.explore(&test.observed, STATES, limits.expired);
    let outcomes: BTreeMap<Vec<Val>, u64> = runs.outcomes.iter().map(|o| (test.values(o), 1)).collect();
    let explored = Explored { stop: runs.stop.clone().map(cause), ..Explored::default() };
    let standings = Standings::of(test);
    let kinds = runs.stuck.iter().map(|standstill| stuck::of_machine(&standings, standstill)).collect();
    Ok((Answer::new(test, outcomes, explored, Found::new(kinds, runs.stop.clone().map(cause))), runs))
}

/// One run of the machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Walked {
    /// Each step, with a picture of the machine after it.
    pub steps: Vec<(String, String)>,
    /// The values that the test shows at the end; `None` if the run is stuck or discarded.
    pub end: Option<Vec<(String, String)>>,
    /// The text of a stuck run: the values that the test shows, and the statement of each waiting thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck: Option<String>,
    /// Whether an `assume` does not hold, so that the run does not count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub discarded: bool,
    /// Whether the run has not ended after as many steps as it may make.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unended: bool,
}

/// The number of steps after which a run is given up. Threads that wait for each other in turns may never end one.
const STEPS: usize = 500;

impl Walked {
    /// Prints the run for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (step, picture) in &self.steps {
            out.push_str(&format!("{step}\n"));
            picture.lines().for_each(|line| out.push_str(&format!("    {line}\n")));
        }
        out + &match &self.end {
            Some(end) => format!("The end: {}\n", end.iter().map(|(name, v)| format!("{name}={v};")).join(" ")),
            None if self.discarded => "The run does not count, because an assumption is false.\n".to_owned(),
            None if self.unended => {
                let seeds = "another --seed makes other choices, and mowgli litmus finds the runs that never end";
                format!("The run has not ended after {STEPS} steps: {seeds}.\n")
            }
            None => self.stuck.clone().unwrap_or_default(),
        }
    }
}

/// Prints an action. The result of an operation or a poll is the operation that it is about.
pub(super) fn act_in_words(step: &Step) -> String {
    let Act::Call(call, ret) = &step.act else { return step.act.to_string() };
    let event = Event { thread: step.thread, call: call.clone(), ret: *ret };
    tso::in_words(&event).map_or_else(|| step.act.to_string(), |words| format!("{call}: {words}"))
}

/// Makes one random run of the machine.
///
/// # Errors
/// If the model has no machine, or the time is up before the run has ended.
pub fn walk(test: &Test, seed: u64, expired: &dyn Fn() -> bool) -> Result<Walked, Failure> {
    let switches = has_machine(test, "walk")?;
    let programs = test.programs(&libraries(test.model));
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut steps, mut choices) = (Vec::new(), Vec::new());
    let names: Vec<String> = test.threads.iter().map(|t| t.name.to_string()).collect();
    let in_words = |step: &Step| format!("{}: {}", names[step.thread.index()], act_in_words(step));
    let mut show = |step: &Step| steps.push(in_words(step));
    let mut choose = |open: &[usize]| {
        choices.push(open[random.usize(..open.len())]);
        choices[choices.len() - 1]
    };
    let mut walks = MachineWalks::of(Machine::new(&test.world, &programs)?.with(switches).named(names.clone()));
    let why = |stop| unended(test, "how the run ends", stop);
    let is_long = Flag::new(false);
    let mut left = STEPS;
    let mut show = |step: &Step| {
        left = left.saturating_sub(1);
        is_long.set(left == 0);
        show(step);
    };
    let end = walks.walk(&test.observed, &mut choose, &mut show, &|| is_long.get() || expired());
    let end = match end {
        Err(Stop::Time) if is_long.get() => None,
        end => Some(end.map_err(why)?),
    };
    let pictures = walks.pictures(&choices, expired).map_err(why)?;
    let steps = steps.into_iter().zip(pictures).collect();
    let named = |outcome: Outcome| {
        let values = test.values(&outcome);
        test.named(&values).map(|(name, v)| (name.to_owned(), v)).collect()
    };
    let stuck =
        |standstill| stuck::text(test, &StuckKinds::from([stuck::of_machine(&Standings::of(test), &standstill)]));
    let unended = end.is_none();
    let (end, stuck, discarded) = match end {
        Some(WalkEnd::Outcome(outcome)) => (Some(named(outcome)), None, false),
        Some(WalkEnd::Stuck(standstill)) => (None, Some(stuck(standstill)), false),
        Some(WalkEnd::Discarded) => (None, None, true),
        None => (None, None, false),
    };
    Ok(Walked { steps, end, stuck, discarded, unended })
}

/// Returns the reason why a run has no end: a call that is not well defined, or a limit, which leaves a question open.
pub(super) fn unended(test: &Test, question: &str, stop: Stop) -> Failure {
    match stop {
        Stop::IllDefined(fault) => ill_defined(test, &fault).into(),
        stop => Undecided::new(format!("{}: {question}", test.name), stop).into(),
    }
}

/// Solves a test with one engine, or with both and compares them.
///
/// # Errors
/// If the model has no such engine, or if the two find different outcomes.
pub fn solve_with(engine: Engine, test: &Test, limits: Limits<'_>) -> Result<Answer, Failure> {
    match engine {
        Engine::Operational => return Ok(explore(test, limits)?.0),
        Engine::Both => _ = has_machine(test, "--engine operational")?,
        Engine::Declarative => {}
    }
    let declarative = solve(test, &[], limits);
    if engine == Engine::Both {
        let operational = explore(test, limits)?.0;
        let (stuck, seen) = (declarative.kinds(), operational.kinds());
        let both_complete = declarative.stop().is_none() && operational.stop().is_none();
        if let Some(kind) =
            stuck.keys().find(|k| !seen.contains_key(k)).or(seen.keys().find(|k| !stuck.contains_key(k)))
            && both_complete
        {
            let only = if stuck.contains_key(kind) { "declarative" } else { "operational" };
            let message = format!(
                "{}: the engines disagree on what is stuck; only {only}:\n{}",
                test.name,
                stuck::text(test, &StuckKinds::from([(kind.clone(), vec!["it waits".to_owned(); test.threads.len()])]))
            );
            return Err(Bug { message }.into());
        }
        let complete = declarative.explored.stop.is_none() && operational.explored.stop.is_none();
        let (axioms, machine) = (&declarative.outcomes, &operational.outcomes);
        let more = |a: &BTreeMap<Vec<Val>, u64>, b: &BTreeMap<Vec<Val>, u64>| a.keys().any(|o| !b.contains_key(o));
        let machine_lacks = operational.explored.stop.is_none() && more(axioms, machine);
        let axioms_lack = declarative.explored.stop.is_none() && more(machine, axioms);
        if machine_lacks || axioms_lack {
            let differs = |a: &BTreeMap<Vec<Val>, u64>, b: &BTreeMap<Vec<Val>, u64>| {
                let only = a.keys().filter(|o| !b.contains_key(*o));
                only.map(|o| o.iter().join(" ")).join("; ")
            };
            let message = format!(
                "{}: the engines disagree; only declarative: {}; only operational: {}",
                test.name,
                differs(axioms, machine),
                differs(machine, axioms)
            );
            return Err(Bug { message }.into());
        }
        if !complete {
            let stop = declarative.explored.stop.clone().or(operational.explored.stop);
            return Ok(Answer { explored: Explored { stop, ..declarative.explored }, ..declarative });
        }
    }
    Ok(declarative)
}
