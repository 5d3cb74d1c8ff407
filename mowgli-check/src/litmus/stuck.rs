//! The stuck executions of a litmus test, and its assertions about them.

use std::collections::BTreeMap;

use itertools::Itertools;
use mowgli_core::execution::Execution;
use mowgli_core::ids::Tid;
use mowgli_core::library::Libraries;
use mowgli_core::search::flow::{Idle, WaitsAt};
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::{Found, Problem};
use mowgli_core::search::stuck::{Stuck, results};
use mowgli_core::value::Val;
use mowgli_rdma::operational::{Standstill, StuckThread};

use super::program::{Standing, Standings};
use super::test::{Claim, Liveness, Statement, Test};
use super::why_stuck::why;

/// A class of stuck executions: the statement in which each thread waits, and the values that the test shows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StuckKind {
    /// For each thread the position of the statement that it waits in; `None` for a thread that has ended.
    pub waits: Vec<Option<usize>>,
    /// The values that the test shows: registers as they are then, and last values.
    pub shown: Vec<Val>,
}

/// The kinds of stuck executions of a test, each with what every thread waits for in one of its executions.
pub type StuckKinds = BTreeMap<StuckKind, Vec<String>>;

impl StuckKind {
    /// Returns the kind with these places of threads and last values. A thread that waits in a loop does so in the
    /// innermost one.
    pub(super) fn new(test: &Test, places: &[(Standing, bool)], finals: &[Val]) -> Self {
        let statement = |(thread, (standing, in_loop)): (usize, &(Standing, bool))| {
            let at = standing.statement?;
            Some(if *in_loop { test.threads[thread].innermost(at) } else { at })
        };
        let waits = places.iter().enumerate().map(statement).collect();
        let outputs = places.iter().map(|(standing, _)| Val::tuple(&standing.registers)).collect();
        Self { waits, shown: test.values(&Outcome { outputs, finals: finals.to_vec() }) }
    }

    fn of(standings: &Standings<'_>, idle: &[Idle], finals: &[Val]) -> Self {
        let standing = |(thread, idle): (usize, &Idle)| {
            let in_loop =
                idle.1.as_ref().is_some_and(|wait| matches!(wait.at, WaitsAt::Loop(_)) && wait.within.is_none());
            (standings.standing(thread, &results(idle)), in_loop)
        };
        let places: Vec<_> = idle.iter().enumerate().map(standing).collect();
        Self::new(standings.test, &places, finals)
    }

    /// True if only servers wait.
    #[must_use]
    pub fn is_over(&self, test: &Test) -> bool {
        let mut waiting = test.world.tids().zip(&self.waits).filter(|(_, wait)| wait.is_some());
        waiting.all(|(thread, _)| test.servers.contains(&thread))
    }

    /// Returns the statement that a thread waits in, as it is written, with its line.
    #[must_use]
    pub fn statement<'t>(&self, test: &'t Test, thread: usize) -> Option<(usize, &'t str)> {
        let (line, text) = &test.threads[thread].source[self.waits[thread]?];
        Some((*line, text))
    }

    /// Prints a line for each waiting thread: its statement and the reason.
    #[must_use]
    pub fn waits_in_words(&self, test: &Test, whys: &[String]) -> Vec<String> {
        let wait = |(thread, why): (usize, &String)| {
            let (line, text) = self.statement(test, thread)?;
            Some(format!("{} at line {line}, {text}: {why}", test.threads[thread].name))
        };
        whys.iter().enumerate().filter_map(wait).collect()
    }

    /// True if an assertion is about executions of this kind; `ends` is about all.
    fn is_meant(&self, test: &Test, claim: &Claim) -> bool {
        match claim {
            Claim::Ends | Claim::MayHang => true,
            Claim::Hangs(waiters) => waiters.iter().all(|&(thread, line)| {
                let at = self.statement(test, thread).map(|(at, _)| at);
                at.is_some() && line.is_none_or(|line| at == Some(line))
            }),
            Claim::Stuck(condition) => condition.holds(&self.shown),
        }
    }
}

/// Finds a stuck execution of each kind, of a test that is this problem.
pub(crate) fn executions(test: &Test, problem: &Problem<'_>) -> Found<BTreeMap<StuckKind, Stuck>> {
    let standings = Standings::of(test);
    problem.all_stuck(&|idle, finals| StuckKind::of(&standings, idle, finals))
}

/// Finds an execution of each kind that is over although servers wait, with the values that the test shows.
pub(crate) fn over(test: &Test, problem: &Problem<'_>) -> Found<Vec<(Execution, Vec<Val>)>> {
    if test.servers.is_empty() {
        return Found::new(Vec::new(), None);
    }
    let (all, stop) = executions(test, problem).into_parts();
    let over = all.into_iter().filter(|(kind, _)| kind.is_over(test));
    Found::new(over.map(|(kind, stuck)| (stuck.execution, kind.shown)).collect(), stop)
}

/// Finds the kinds of stuck executions of a test that is this problem.
pub(super) fn kinds(libraries: &Libraries, test: &Test, problem: &Problem<'_>) -> Found<StuckKinds> {
    let (all, stop) = executions(test, problem).into_parts();
    Found::new(all.into_iter().map(|(kind, stuck)| (kind, whys(libraries, &stuck))).collect(), stop)
}

/// Returns for each thread the reason why it waits for ever.
pub(crate) fn whys(libraries: &Libraries, stuck: &Stuck) -> Vec<String> {
    (0..stuck.waits.len()).map(|t| why(libraries, stuck, Tid::from_index(t))).collect()
}

/// Returns the kind of a stuck run of the machine, with what every thread waits for.
pub(super) fn of_machine(
    standings: &Standings<'_>,
    Standstill { threads, finals }: &Standstill,
) -> (StuckKind, Vec<String>) {
    let standing =
        |(thread, rest): (usize, &StuckThread)| (standings.standing(thread, &rest.results), rest.waits == Some(true));
    let places: Vec<_> = threads.iter().enumerate().map(standing).collect();
    let why = |rest: &StuckThread| match rest.waits {
        None => "it has ended".to_owned(),
        Some(true) => "it goes round in a loop for ever".to_owned(),
        Some(false) => "what it waits for never happens".to_owned(),
    };
    (StuckKind::new(standings.test, &places, finals), threads.iter().map(why).collect())
}

/// True if an assertion on stuck executions holds; `None` if that depends on some that a limit kept from being found.
pub(super) fn holds(test: &Test, assertion: &Liveness, kinds: &StuckKinds, is_complete: bool) -> Option<bool> {
    let settles = !matches!(assertion.claim, Claim::Ends);
    if kinds.keys().any(|kind| kind.is_meant(test, &assertion.claim)) {
        return Some(settles);
    }
    is_complete.then_some(!settles)
}

/// Prints the stuck executions: for each kind the values that the test shows, and for each waiting thread its place and
/// the reason.
#[must_use]
pub fn text(test: &Test, kinds: &StuckKinds) -> String {
    let mut out = String::new();
    for (kind, whys) in kinds {
        let shown = test.named(&kind.shown).map(|(name, v)| format!("{name}={v};"));
        out.push_str(&format!("Stuck {}\n", shown.chain(kind.shown.is_empty().then(String::new)).join(" ")));
        kind.waits_in_words(test, whys).iter().for_each(|wait| out.push_str(&format!("  {wait}\n")));
    }
    out
}

impl super::test::TestThread {
    /// Returns the `await` or the innermost `while` that a statement is or stands in; the statement itself if it is in
    /// no loop.
    pub(super) fn innermost(&self, at: usize) -> usize {
        let is_around = |&o: &usize| matches!(self.statements[o], Statement::While(_)) && self.end(o) >= at;
        let is_loop = matches!(self.statements[at], Statement::Await { .. } | Statement::While(_));
        if is_loop { at } else { (0..at).rev().find(is_around).unwrap_or(at) }
    }
}
