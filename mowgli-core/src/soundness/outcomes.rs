//! The question of outcomes (LOCO Def. 3.10): is there a client with an outcome that the specification does not have?

use std::collections::BTreeSet;

use itertools::Itertools;

use super::client::{self, Client};
use super::crashes::{has_returned, returned};
use super::groups::{PROBED, until_first};
use super::ledger::{Ledger, Line, Work};
use super::progress::{Progress, Specified};
use super::question::{Counterexample, Question, Report, Verdict};
use crate::implementation::Implementations;
use crate::judge::judge;
use crate::library::Libraries;
use crate::outcome::Outcome;
use crate::problem::{Found, Problem};
use crate::program::Prog;
use crate::runs::Stop;
use crate::search::refute::Refutation;
use crate::search::solver::{Cut, Flow, Solver};
use crate::world::World;

impl Question<'_> {
    /// Looks for a wrong outcome where `failing` is not locally sound.
    pub(super) fn by_outcomes(&self, world: &World, failing: &Client, report: &mut Report) -> Verdict {
        // It may show in the failing client as it is.
        if let Some(found) = self.first_wrong(&[(world.clone(), failing.clone())], report, None) {
            return Verdict::Unsound(Box::new(found));
        }
        // Then with what can be put around it; and around larger ones that make every call of it. Clients that come before
        // it are locally sound, so have no wrong outcome whatever is put around them (LOCO Thm. 3.14).
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

    /// Looks for a wrong outcome of these clients with every probe, `shared` with other processes; `otherwise` if there is none.
    pub(super) fn probe(
        &self,
        clients: &[(World, Client)],
        report: &mut Report,
        shared: Option<&dyn Ledger>,
        otherwise: Verdict,
    ) -> Verdict {
        let mut queue: Vec<(World, Client)> = Vec::new();
        let probed = self.probed(clients);
        let all = probed.len();
        for (done, larger) in probed.enumerate() {
            (self.progress)(done, all);
            queue.extend(larger);
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

    /// What probes make of clients, in the order in which it is looked at: what the library's own probes make first; of each kind
    /// small clients first, and those that probes make larger after those that they do not.
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
        shared: Option<&dyn Ledger>,
    ) -> Option<Counterexample> {
        let numbered: Vec<(usize, &(World, Client))> = (report.probed..).zip(group).collect();
        let ask = |(number, (world, client)): &(usize, &(World, Client))| match shared {
            Some(ledger) => self.outcomes_known_or(ledger, *number, world, client),
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

    /// What a ledger has of the outcomes of a client, or else what is found of them; of a client that another process has, that
    /// none is wrong.
    fn outcomes_known_or(&self, ledger: &dyn Ledger, number: usize, world: &World, client: &Client) -> Answer {
        if ledger.piece().is_some_and(|piece| !piece.has(number)) {
            return Ok(None);
        }
        if let Some(line) = ledger.line(Work::Outcomes(number)).filter(|line| !line.fails) {
            return line.stop.map_or(Ok(None), Err);
        }
        let answer = self.wrong_outcome(world, client);
        if !(self.expired)() {
            let fails = matches!(answer, Ok(Some(_)));
            ledger.keep(Line::of_outcomes(number, fails, answer.as_ref().err().cloned()));
        }
        answer
    }

    /// What a client is of whose calls are those of the implementation.
    #[must_use]
    pub fn in_force(&self) -> Libraries {
        let all = self.below.and(&self.beside);
        self.crashing.as_ref().map_or(all.clone(), |crashing| crashing.of(&all))
    }

    pub(super) fn promised(&self) -> Libraries {
        let all = self.specification.and(&self.beside);
        self.crashing.as_ref().map_or(all.clone(), |crashing| crashing.promised(&crashing.of(&all)))
    }

    /// Asks something of a client whose calls are those of the specification.
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

    /// What the specification is asked about a client: the client itself, or where threads crash its beginnings, each with how many
    /// calls return.
    pub(super) fn prefixes(&self, world: &World, client: &Client) -> Vec<(Client, Vec<usize>)> {
        match &self.crashing {
            Some(crashing) => crashing.prefixes(world, client),
            None => vec![(client.clone(), vec![usize::MAX; client.threads.len()])],
        }
    }

    fn programs(&self, world: &World, client: &Client) -> Vec<Prog> {
        self.points().map_or_else(|| client.programs(), |points| points.programs(world, client))
    }

    /// Whether a client some of whose threads may crash is stuck though the specification could go on.
    pub(super) fn progress_with_crashes(&self, (world, client): &(World, Client)) -> Progress {
        let expired = || (self.expired)();
        let (limits, prefixes) = (self.limits(&expired), self.prefixes(world, client));
        let specified = Specified { libraries: &self.promised(), world, client, prefixes: &prefixes, limits };
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

    /// Why the specification does not have an outcome, with all calls that may have happened.
    fn refutations(&self, world: &World, client: &Client, outcome: &Outcome) -> Found<Vec<Refutation>> {
        let is_it = |(prefix, lengths): &(Client, Vec<usize>)| {
            let told = self
                .specified(world, prefix, |problem| problem.refutations(&|o| returned(o, lengths) == *outcome, SHOWN));
            !matches!(told.so_far(), (found, None) if found.is_empty())
        };
        let largest = self.prefixes(world, client).into_iter().rev().find(is_it);
        let (prefix, lengths) = largest.unwrap_or_else(|| (client.clone(), vec![usize::MAX; client.threads.len()]));
        self.specified(world, &prefix, |problem| problem.refutations(&|o| returned(o, &lengths) == *outcome, SHOWN))
    }

    /// An outcome of the implemented client that the specification does not have.
    ///
    /// # Errors
    /// What stopped the search before there was an answer.
    pub fn wrong_outcome(&self, world: &World, client: &Client) -> Answer {
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
            if promised.contains(&problem.outcome_of(solver)) { Cut::Known } else { Cut::Open }
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

/// A wrong outcome, that there is none, or what stopped the search.
pub type Answer = Result<Option<Box<Counterexample>>, Stop>;

/// How many refutations of an outcome are kept.
const SHOWN: usize = 10;
