//! The question of outcomes (LOCO Def. 3.10): is there a client with an outcome that the specification does not have?

use std::collections::BTreeSet;

use itertools::Itertools;

use super::client::{self, Client};
use super::client_log::{ClientLine, ClientLog, Work};
use super::compared::ComparedClients;
use super::crashes::{has_returned, returned};
use super::groups::{PROBED, until_first};
use super::progress::{Progress, SpecifiedClient};
use super::question::{Counterexample, Question, Report, Verdict};
use crate::judge::judge;
use crate::library::Libraries;
use crate::search::outcome::Outcome;
use crate::search::problem::{Found, Problem};
use crate::search::refute::Refutation;
use crate::search::runs::Stop;
use crate::search::solver::{Decision, Flow, Solver};
use crate::term::implementation::Implementations;
use crate::term::script::Script;
use crate::world::World;

impl Question<'_> {
    /// Searches for a wrong outcome after `failing` has turned out not to be locally sound.
    pub(super) fn by_outcomes(&self, world: &World, failing: &Client, report: &mut Report) -> Verdict {
        // First without probes, because the failing client itself may already have a wrong outcome.
        if let Some(found) = self.first_wrong(&[(world.clone(), failing.clone())], report, None) {
            return Verdict::Unsound(Box::new(found));
        }
        // Then extend it, and larger clients with all its calls, by probes. Earlier clients are locally sound, so they
        // have no wrong outcome with any probe (LOCO Thm. 3.14).
        let key = client::size(world, failing);
        let calls: Vec<_> = failing.threads.iter().flatten().collect();
        let own = self.probe(&[(world.clone(), failing.clone())], report, None, Verdict::NotLocallySound);
        if !matches!(own, Verdict::NotLocallySound) {
            return own;
        }
        let is_related = |w: &World, c: &Client| {
            let theirs: Vec<_> = c.threads.iter().flatten().collect();
            client::size(w, c) >= key && c != failing && calls.iter().all(|call| theirs.contains(call))
        };
        let found = client::wanted(self.library(), self.subject, &self.bound.at_least_two(), self.expired, &is_related);
        let (related, stop) = found.so_far();
        self.probe(related, report, None, stop.cloned().map_or(own, Verdict::Undecided))
    }

    /// Searches for a wrong outcome of these clients with every probe, `shared` with other processes. Returns
    /// `otherwise` if there is none.
    pub(super) fn probe(
        &self,
        clients: &[(World, Client)],
        report: &mut Report,
        shared: Option<&dyn ClientLog>,
        otherwise: Verdict,
    ) -> Verdict {
        let (mut queue, mut compared): (Vec<(World, Client)>, _) = (Vec::new(), ComparedClients::default());
        let probed = self.probed(clients);
        let all = probed.len();
        for (done, larger) in probed.enumerate() {
            (self.progress)(done, all);
            queue.extend(larger.into_iter().filter(|client| compared.is_new(self, client)));
            while queue.len() >= PROBED {
                let rest = queue.split_off(PROBED);
                if let Some(found) = self.first_wrong(&queue, report, shared) {
                    return Verdict::Unsound(Box::new(found));
                }
                queue = rest;
                if (self.expired)() {
                    return Verdict::Undecided(Stop::Time);
                }
            }
        }
        if let Some(found) = self.first_wrong(&queue, report, shared) {
            return Verdict::Unsound(Box::new(found));
        }
        report.unanswered.clone().map_or(otherwise, Verdict::Undecided)
    }

    /// Iterates over the clients extended by probes, in the order of the check. The library's own probes come first.
    /// Within one kind the order is by the sum of client size and stage, and small clients come first.
    pub(super) fn probed<'c>(
        &'c self,
        clients: &'c [(World, Client)],
    ) -> impl ExactSizeIterator<Item = Vec<(World, Client)>> + 'c {
        let mut tasks: Vec<(usize, usize, usize, &(World, Client))> = Vec::new();
        for (kind, probes) in self.probes.iter().enumerate() {
            for stage in 0..probes.stages() {
                tasks.extend(clients.iter().map(|c| (kind, c.1.len(), stage, c)));
            }
        }
        tasks.sort_by_key(|&(kind, size, stage, _)| (kind, size + stage, size));
        let probes = self.probes;
        tasks.into_iter().map(move |(kind, _, stage, (world, client))| probes[kind].extend(world, client, stage))
    }

    fn first_wrong(
        &self,
        group: &[(World, Client)],
        report: &mut Report,
        shared: Option<&dyn ClientLog>,
    ) -> Option<Counterexample> {
        let numbered: Vec<(usize, &(World, Client))> = (report.probed..).zip(group).collect();
        let ask = |(number, (world, client)): &(usize, &(World, Client))| match shared {
            Some(log) => self.outcomes_known_or(log, *number, world, client),
            None => self.wrong_outcome(world, client),
        };
        for answer in until_first(&numbered, ask, |answer| matches!(answer, Ok(Some(_)))) {
            report.probed += 1;
            match answer {
                Ok(None) => {}
                Ok(Some(counterexample)) => return Some(*counterexample),
                Err(stop) => {
                    report.unanswered.get_or_insert(stop);
                }
            }
        }
        None
    }

    /// Returns the answer about the outcomes of a client from the log, or else computes it. For a client of another
    /// process, it returns that none is wrong.
    fn outcomes_known_or(&self, log: &dyn ClientLog, number: usize, world: &World, client: &Client) -> WrongOutcome {
        if log.shard().is_some_and(|shard| !shard.has(number)) {
            return Ok(None);
        }
        if let Some(line) = log.line(Work::Outcomes(number)).filter(|line| !line.fails) {
            return line.stop.map_or(Ok(None), Err);
        }
        let answer = self.wrong_outcome(world, client);
        if !(self.expired)() {
            let fails = matches!(answer, Ok(Some(_)));
            log.keep(ClientLine::of_outcomes(number, fails, answer.as_ref().err().cloned()));
        }
        answer
    }

    /// Returns the libraries of a client whose calls are those of the implementation.
    #[must_use]
    pub fn in_force(&self) -> Libraries {
        let all = self.below.and(&self.beside);
        self.crashing.as_ref().map_or(all.clone(), |crashing| crashing.of(&all))
    }

    pub(super) fn promised(&self) -> Libraries {
        let all = self.specification.and(&self.beside);
        self.crashing.as_ref().map_or(all.clone(), |crashing| crashing.promised(&crashing.of(&all)))
    }

    /// Asks about a client whose calls are those of the specification.
    fn specified<T>(&self, world: &World, client: &Client, ask: impl FnOnce(&Problem<'_>) -> T) -> T {
        let expired = || (self.expired)();
        ask(&Problem {
            libraries: &self.promised(),
            implementations: &Implementations::new(),
            world,
            programs: &client.programs(),
            observed: &[],
            limits: self.limits(&expired),
        })
    }

    /// Returns the clients whose outcomes the specification allows, each with the number of returned calls of each
    /// thread. Without crashes this is only the client itself.
    pub(super) fn prefixes(&self, world: &World, client: &Client) -> Vec<(Client, Vec<usize>)> {
        match &self.crashing {
            Some(crashing) => crashing.prefixes(world, client),
            None => vec![(client.clone(), vec![usize::MAX; client.threads.len()])],
        }
    }

    fn programs(&self, world: &World, client: &Client) -> Vec<Script> {
        self.points().map_or_else(|| client.programs(), |points| points.programs(world, client))
    }

    /// True if a client whose threads may crash is stuck although the specification could go on.
    pub(super) fn progress_with_crashes(&self, (world, client): &(World, Client)) -> Progress {
        let expired = || (self.expired)();
        let (limits, prefixes) = (self.limits(&expired), self.prefixes(world, client));
        let specified = SpecifiedClient { libraries: &self.promised(), world, client, prefixes: &prefixes, limits };
        let problem = Problem {
            libraries: &self.in_force(),
            implementations: &self.implementations(),
            world: &self.with_objects(world),
            programs: &self.programs(world, client),
            observed: &[],
            limits,
        };
        let runs = problem.runs_and_idle();
        specified.stuck(|matters| {
            problem.stuck(&runs, &mut |all| matters(&all.iter().map(|r| has_returned(r)).collect_vec()))
        })
    }

    fn promised_outcomes(&self, world: &World, client: &Client) -> Result<BTreeSet<Outcome>, Stop> {
        let mut promised = BTreeSet::new();
        for (prefix, lengths) in self.prefixes(world, client) {
            let all = self.specified(world, &prefix, |problem| problem.results()).all()?;
            promised.extend(all.iter().map(|outcome| returned(outcome, &lengths)));
        }
        Ok(promised)
    }

    /// Returns the reasons why the specification forbids an outcome, for the largest set of calls that may have
    /// happened.
    fn refutations(&self, world: &World, client: &Client, outcome: &Outcome) -> Found<Vec<Refutation>> {
        let is_it = |(prefix, lengths): &(Client, Vec<usize>)| {
            let reported = self
                .specified(world, prefix, |problem| problem.refutations(&|o| returned(o, lengths) == *outcome, SHOWN));
            !matches!(reported.so_far(), (found, None) if found.is_empty())
        };
        let largest = self.prefixes(world, client).into_iter().rev().find(is_it);
        let (prefix, lengths) = largest.unwrap_or_else(|| (client.clone(), vec![usize::MAX; client.threads.len()]));
        self.specified(world, &prefix, |problem| problem.refutations(&|o| returned(o, &lengths) == *outcome, SHOWN))
    }

    /// Returns an outcome of the implemented client that the specification does not have.
    ///
    /// # Errors
    /// The reason why the search stopped before there was an answer.
    pub fn wrong_outcome(&self, world: &World, client: &Client) -> WrongOutcome {
        let promised = self.promised_outcomes(world, client)?;
        let expired = || (self.expired)();
        let libraries = self.in_force();
        let problem = Problem {
            libraries: &libraries,
            implementations: &self.implementations(),
            world: &self.with_objects(world),
            programs: &self.programs(world, client),
            observed: &[],
            limits: self.limits(&expired),
        };
        let mut found = None;
        let mut settled = |solver: &mut Solver<'_>| {
            if promised.contains(&problem.outcome_of(solver)) { Decision::Prune } else { Decision::Continue }
        };
        let explored = problem.explore_until(&mut settled, &mut |solver| {
            let outcome = problem.outcome_of(solver);
            let snapshot = solver.snapshot();
            assert!(solver.complete(), "a class has a completion");
            let execution = solver.execution().expect("everything is decided");
            solver.restore(snapshot);
            if let Err(complaint) = judge(&libraries, &execution) {
                panic!("judge and search disagree: {complaint}");
            }
            found = Some((outcome, execution));
            Flow::Stop
        });
        let Some((outcome, execution)) = found else { return explored.stop.map_or(Ok(None), Err) };
        let refutations = self.refutations(world, client, &outcome);
        let (world, client) = (world.clone(), client.clone());
        Ok(Some(Box::new(Counterexample { world, client, outcome, execution, refutations })))
    }
}

/// A wrong outcome, `None` if there is none, or the reason why the search stopped.
pub type WrongOutcome = Result<Option<Box<Counterexample>>, Stop>;

/// The largest number of refutations of an outcome in a report, because a reader does not go through more.
const SHOWN: usize = 10;
