//! The bounded check of one implementation: all clients, then a verdict.
//!
//! Local soundness of every client within the bound is `sound`. Where it fails for some client, the question is decided
//! at the level of outcomes (LOCO Def. 3.10): is there a client, which may also call other libraries, with an outcome that
//! the specification does not have?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::client::{self, Bound, Client, Subject, well_formed};
use super::ledger::{Ledger, Line, Work, dealt};
use super::local::{Concretisation, Local, Violation, check};
use super::orbits::Orbits;
use super::progress::{self, Progress};
use super::renaming::{Asked, Renaming, Side, relates};
use crate::execution::Execution;
use crate::flow::Note;
use crate::ids::Name;
use crate::implementation::{Implementation, Implementations, add_parts};
use crate::judge::judge;
use crate::library::{Libraries, Library};
use crate::outcome::Outcome;
use crate::problem::{Found, Limits, Problem};
use crate::runs::Stop;
use crate::search::refute::Refutation;
use crate::search::solver::{Cut, Flow, Solver, Stats};
use crate::stamp::Stamp;
use crate::world::World;

/// Clients are looked at in groups of at most this many. A group ends at the client that fails first, which is the same
/// however many threads work.
const GROUP: usize = 512;

/// The same for clients that are looked at for their outcomes, which take longer.
const PROBED: usize = 64;

/// The groups in which clients are looked at: small ones first, so that what is found in one is known early.
fn groups<T>(all: &[T]) -> impl Iterator<Item = &[T]> {
    let (mut rest, mut size) = (all, GROUP / 32);
    std::iter::from_fn(move || {
        let (group, after) = rest.split_at_checked(size).unwrap_or((rest, &[]));
        (rest, size) = (after, (2 * size).min(GROUP));
        (!group.is_empty()).then_some(group)
    })
}

/// What `ask` says of each of a group, up to the first one that `fails`: whatever comes after that is not asked about, so
/// a failure is known as soon as those before it are.
fn until_first<T: Sync, A: Send>(
    group: &[T],
    ask: impl Fn(&T) -> A + Sync,
    fails: impl Fn(&A) -> bool + Sync,
) -> Vec<A> {
    let first = AtomicUsize::new(usize::MAX);
    let answers = group.par_iter().enumerate().map(|(i, asked)| {
        (i <= first.load(Ordering::Relaxed)).then(|| {
            let answer = ask(asked);
            if fails(&answer) {
                first.fetch_min(i, Ordering::Relaxed);
            }
            answer
        })
    });
    let answers: Vec<Option<A>> = answers.collect();
    answers.into_iter().take(first.into_inner().saturating_add(1)).map(|a| a.expect("none before the first")).collect()
}

/// Extends clients by calls of other libraries that can tell outcomes apart.
pub trait Probes: Send + Sync {
    /// How many stages there are; all clients are looked at with the probes of one stage before the next.
    fn stages(&self) -> usize;

    /// Larger clients, the smallest first.
    fn extend(&self, world: &World, client: &Client, stage: usize) -> Vec<(World, Client)>;
}

/// What was found of a client.
pub(super) struct Looked<S> {
    pub(super) local: Local<S>,
    progress: Progress<S>,
    /// The positions of those that are it, renamed.
    pub(super) renamed: Vec<usize>,
    /// Whether another process found that it does not end; then its progress is not here.
    stays: bool,
}

/// A client that may be another one, renamed.
pub(super) struct Other<'c> {
    pub(super) position: usize,
    pub(super) client: &'c (World, Client),
    pub(super) renaming: Renaming,
}

/// What is to be checked.
pub struct Question<'a, S: Stamp> {
    /// The library.
    pub library: Name,
    /// Its specification alone.
    pub specification: Libraries<S>,
    /// The libraries that the implementations call and that none of them replaces.
    pub below: Libraries<S>,
    /// Libraries that only probes call.
    pub beside: Libraries<S>,
    /// The implementation; after it, for a question about a whole stack, those of libraries that it calls, and so on.
    pub chain: Vec<Arc<dyn Implementation>>,
    /// Its objects and calls.
    pub subject: &'a dyn Subject,
    /// Clients for the question of outcomes.
    pub probes: &'a [&'a dyn Probes],
    /// The bound.
    pub bound: Bound,
    /// Whether it is asked too which clients never end ([`Progress`]).
    pub asks_progress: bool,
    /// What is known of clients, and which of them are looked at, where several processes share them.
    pub ledger: Option<&'a dyn Ledger>,
    /// Whether the time is up.
    pub expired: &'a (dyn Fn() -> bool + Sync),
    /// Called after each group with the number of clients done and the number of all.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// A client with an outcome that the specification does not have.
#[derive(Clone, Debug)]
pub struct Counterexample<S> {
    /// The surroundings of the client, without the implementation's own objects.
    pub world: World,
    /// The client.
    pub client: Client,
    /// The outcome: the results of the calls of each thread.
    pub outcome: Outcome,
    /// An execution of the implementation with that outcome.
    pub execution: Execution<S>,
    /// Why the specification forbids it: the first few ways to get it, each with what forbids it.
    pub refutations: Found<Vec<Refutation>>,
}

/// The verdict on one question.
#[derive(Clone, Debug)]
pub enum Verdict<S> {
    /// Locally sound for every client within the bound.
    Sound,
    /// A client has an outcome that the specification does not have.
    Unsound(Box<Counterexample<S>>),
    /// Not locally sound, and no wrong outcome was found.
    NotLocallySound,
    /// No client that was looked at has an outcome that the specification does not have; g was not asked for.
    NoWrongOutcome,
    /// A limit stopped the check.
    Undecided(Stop),
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct Report<S> {
    /// The verdict.
    pub verdict: Verdict<S>,
    /// The client and the execution for which no g was found.
    pub violation: Option<(World, Client, Violation<S>)>,
    /// The client at which a limit was hit first, if one was.
    pub stopped_at: Option<(World, Client)>,
    /// Methods that clients call, and that occur in no consistent execution of the clients looked at.
    pub unreached: BTreeSet<Name>,
    /// Clients within the bound.
    pub generated: usize,
    /// Those of them that are not well-formed, so that the specification says nothing of them.
    pub ill_formed: usize,
    /// Clients of which something is known: those that were looked at, and those that are one of them renamed.
    pub clients: usize,
    /// Those of them that are others renamed, as a comparison has shown: by threads, nodes, objects or values.
    pub renamed: usize,
    /// Classes of consistent executions of all of them.
    pub executions: u64,
    /// Ways for all calls to return, of all of them.
    pub outcomes: u64,
    /// Clients none of whose executions ends.
    pub vacuous: usize,
    /// Clients looked at for their outcomes.
    pub probed: usize,
    /// What first stopped the search for the outcomes of one of them.
    pub unanswered: Option<Stop>,
    /// Counts over the clients that were looked at.
    pub stats: Stats,
    /// The concretisations found.
    pub concretisation: Concretisation,
    /// Whether calls return wherever the specification lets them.
    pub progress: Progress<S>,
}

/// Compares outcomes alone (LOCO Def. 3.10), of every client within the bound and of what the probes make of it.
pub fn outcomes<S: Stamp>(question: &Question<'_, S>) -> Report<S> {
    let mut report = Report::new(&[]);
    report.verdict = match question.clients().all() {
        Ok((all, generated)) => {
            report.generated = generated;
            report.clients = all.len();
            question.probe(&all, &mut report, question.ledger, Verdict::NoWrongOutcome)
        }
        Err(stop) => Verdict::Undecided(stop),
    };
    report.progress = Progress::Undecided(Stop::NotAsked);
    report
}

/// Runs the check: local soundness, and where it fails outcomes. Those are left to who knows what all processes found.
pub fn run<S: Stamp>(question: &Question<'_, S>) -> Report<S> {
    let mut report = local(question);
    if question.ledger.is_some_and(|ledger| ledger.piece().is_some()) {
        return report;
    }
    if let (Verdict::NotLocallySound, Some((world, failing, _))) = (&report.verdict, &report.violation) {
        let (world, failing) = (world.clone(), failing.clone());
        report.verdict = question.by_outcomes(&world, &failing, &mut report);
    }
    report
}

/// Runs the check for local soundness alone.
pub fn local<S: Stamp>(question: &Question<'_, S>) -> Report<S> {
    let ((all, generated), mut undecided) = question.clients().into_parts();
    let mut report = Report::new(&all);
    (report.generated, report.ill_formed) = (generated, generated - all.len());
    report.progress = undecided.clone().map_or(Progress::Ends, Progress::Undecided);
    let orbits = Orbits::of(&all, &question.bound.values);
    let asked = [Asked::by(&question.below), Asked::by(&question.specification)];
    let sides = [(&question.below, &asked[0]), (&question.specification, &asked[1])];
    let sides = sides.map(|(libraries, asked)| Side { libraries, asked });
    // Which clients were looked at, or are others renamed.
    let mut is_known = vec![false; all.len()];
    let is_here = question.ledger.and_then(Ledger::piece).map(|piece| dealt(piece, &all, &orbits));
    let is_here = |i: usize| is_here.as_ref().is_none_or(|here| here[i]);
    let positions: Vec<usize> = (0..all.len()).collect();
    for group in groups(&positions) {
        // Once it is open whether clients end, larger ones are not asked, as it would stay so.
        let asks_progress = question.asks_progress && !matches!(report.progress, Progress::Undecided(_));
        let mut looked: BTreeMap<usize, Looked<S>> = BTreeMap::new();
        loop {
            let fails = looked.iter().find(|(_, l)| l.local.violation.is_some()).map(|(i, _)| *i);
            let is_left = |i: &usize| is_here(*i) && !is_known[*i] && fails.is_none_or(|first| *i < first);
            let left: Vec<usize> = group.iter().copied().filter(is_left).collect();
            if left.is_empty() {
                break;
            }
            let now = orbits.firsts(&left, &is_known);
            let ask = |(i, others): &(usize, Vec<usize>)| {
                let other = |&j: &usize| Other { position: j, client: &all[j], renaming: orbits.between(*i, j) };
                let look =
                    || question.local(&all[*i], asks_progress, &others.iter().map(other).collect::<Vec<_>>(), &sides);
                question.known_or(Work::Client(*i, asks_progress), others, look)
            };
            let results = until_first(&now, ask, |looked| looked.local.violation.is_some());
            for ((i, _), result) in now.into_iter().zip(results) {
                [i].iter().chain(&result.renamed).for_each(|j| is_known[*j] = true);
                looked.insert(i, result);
            }
        }
        for (i, Looked { mut local, mut progress, renamed, stays }) in looked {
            let (world, client) = &all[i];
            if stays && !matches!(report.progress, Progress::Blocks(..) | Progress::Stuck(..)) {
                progress = question.local(&all[i], asks_progress, &[], &sides).progress;
            }
            let (stop, violation) = (local.explored.stop.clone(), local.violation.take());
            report.progress = report.progress.and(progress);
            report.add(client, local, renamed.len());
            if let Some(stop) = stop.filter(|_| violation.is_none()) {
                report.stopped_at.get_or_insert_with(|| (world.clone(), client.clone()));
                if matches!(stop, Stop::IllDefined(_)) {
                    report.verdict = Verdict::Undecided(stop);
                    return report;
                }
                undecided.get_or_insert(stop);
            }
            if let Some(violation) = violation {
                report.violation = Some((world.clone(), client.clone(), violation));
                report.verdict = Verdict::NotLocallySound;
                return report;
            }
        }
        (question.progress)(report.clients, all.len());
        if (question.expired)() {
            undecided = Some(Stop::Time);
            report.progress = report.progress.and(Progress::Undecided(Stop::Time));
            break;
        }
    }
    if undecided.is_none() && report.stats.classes == 0 {
        undecided = Some(Stop::Vacuous);
    }
    if let Some(stop) = undecided {
        report.verdict = Verdict::Undecided(stop);
    }
    report
}

fn methods(client: &Client) -> impl Iterator<Item = Name> + '_ {
    client.threads.iter().flatten().map(|call| call.method)
}

impl<S: Stamp> Report<S> {
    fn new(clients: &[(World, Client)]) -> Self {
        Self {
            verdict: Verdict::Sound,
            violation: None,
            stopped_at: None,
            unreached: clients.iter().flat_map(|(_, c)| methods(c)).collect(),
            generated: 0,
            ill_formed: 0,
            renamed: 0,
            executions: 0,
            outcomes: 0,
            clients: 0,
            vacuous: 0,
            probed: 0,
            unanswered: None,
            stats: Stats::default(),
            concretisation: Concretisation::new(),
            progress: Progress::Ends,
        }
    }

    /// Adds what was found of a client, and of so many that are it, renamed.
    fn add(&mut self, client: &Client, local: Local<S>, renamed: usize) {
        let (explored, alike) = (local.explored, 1 + renamed as u64);
        self.clients += 1 + renamed;
        self.renamed += renamed;
        self.executions += explored.stats.classes * alike;
        self.outcomes += local.outcomes * alike;
        if explored.stats.classes > 0 {
            methods(client).for_each(|m| {
                self.unreached.remove(&m);
            });
        }
        self.vacuous += if explored.stats.classes == 0 && explored.stop.is_none() { 1 + renamed } else { 0 };
        self.stats += explored.stats;
        for (key, words) in local.concretisation {
            self.concretisation.entry(key).or_default().extend(words);
        }
    }
}

impl<S: Stamp> Question<'_, S> {
    fn library(&self) -> &dyn Library<S> {
        self.specification.get(self.library).expect("the library that is checked")
    }

    /// The clients of which the specification says anything, and how many there are with the others.
    pub(super) fn clients(&self) -> Found<(Vec<(World, Client)>, usize)> {
        well_formed(self.library(), self.subject, std::slice::from_ref(&self.bound), self.expired)
    }

    /// Asks something of a client whose calls are those of the implementation.
    fn implemented<T>(&self, world: &World, client: &Client, ask: impl FnOnce(&Problem<'_, S>) -> T) -> T {
        let expired = || (self.expired)();
        ask(&Problem {
            libraries: &self.below,
            implementations: &self.implementations(),
            world: &self.with_objects(world),
            programs: &client.programs(),
            observed: &[],
            limits: self.limits(&expired),
        })
    }

    fn limits<'b>(&'b self, expired: &'b dyn Fn() -> bool) -> Limits<'b> {
        Limits { rounds: self.bound.loops, expired, ..Limits::default() }
    }

    fn implementations(&self) -> Implementations {
        self.chain.iter().map(|i| (i.target(), Arc::clone(i))).collect()
    }

    fn with_objects(&self, world: &World) -> World {
        let mut world = world.clone();
        self.chain.iter().for_each(|i| add_parts(&**i, &mut world));
        world
    }

    /// Whether one client is locally sound.
    ///
    /// # Errors
    /// What stopped the search before there was an answer.
    pub fn is_locally_sound(&self, world: &World, client: &Client) -> Result<bool, Stop> {
        let local = self
            .implemented(world, client, |problem| check(problem, &problem.runs(), &self.specification, self.library));
        if local.violation.is_some() { Ok(false) } else { local.explored.stop.map_or(Ok(true), Err) }
    }

    /// Local soundness of a client, what is known of its progress, and which of the others are it, renamed.
    pub(super) fn local(
        &self,
        (world, client): &(World, Client),
        asks_progress: bool,
        others: &[Other<'_>],
        sides: &[Side<'_, S>; 2],
    ) -> Looked<S> {
        let mut renamed: Vec<&Other<'_>> = Vec::new();
        self.implemented(world, client, |problem| {
            let note: Note<'_, S> = &mut |transcript| {
                // Where a renaming of threads and values leads to something else, it does so with most renamings of nodes.
                let mut in_vain = BTreeSet::new();
                for other in others {
                    let (world, client) = other.client;
                    let is_it =
                        |problem: &Problem<'_, S>| relates(&other.renaming, transcript, problem, sides.each_ref());
                    if in_vain.contains(&other.renaming.but_nodes()) || (self.expired)() {
                        continue;
                    }
                    if self.implemented(world, client, is_it) {
                        renamed.push(other);
                    } else {
                        in_vain.insert(other.renaming.but_nodes());
                    }
                }
            };
            let runs = problem.runs_noted(asks_progress, Some(note).filter(|_| !others.is_empty()));
            let local = check(problem, &runs, &self.specification, self.library);
            let limits = problem.limits;
            let specified = progress::Specified { libraries: &self.specification, world, client, limits };
            let mut asked_specification = false;
            let progress = match &local.explored.stop {
                _ if local.violation.is_some() => Progress::Undecided(Stop::NotAsked),
                Some(stop) => Progress::Undecided(stop.clone()),
                None if !asks_progress => Progress::Undecided(Stop::NotAsked),
                None if local.explored.stats.classes > 0 => specified.stuck(|matters| {
                    problem.stuck(&runs, &mut |returned| {
                        asked_specification = true;
                        matters(returned)
                    })
                }),
                None => match specified.lets_all_return() {
                    Ok(true) => {
                        let found = problem.stuck(&runs, &mut |_| true);
                        let stuck = found.so_far().0.clone().map(Box::new);
                        Progress::Blocks(world.clone(), client.clone(), stuck)
                    }
                    // Nothing of it is the beginning of an execution of the whole client: smaller clients show where it is
                    // stuck.
                    Ok(false) => Progress::Ends,
                    Err(stop) => Progress::Undecided(stop),
                },
            };
            if asked_specification || local.violation.is_some() || local.explored.stop.is_some() {
                renamed.clear();
            }
            if asks_progress && local.explored.stats.classes == 0 {
                // What the specification lets return is asked of each.
                let ends = |other: &&Other<'_>| {
                    let (world, client) = other.client;
                    let specified = progress::Specified { libraries: &self.specification, world, client, limits };
                    specified.lets_all_return() == Ok(false)
                };
                renamed.retain(ends);
            }
            let renamed = renamed.into_iter().map(|other| other.position).collect();
            Looked { local, progress, renamed, stays: false }
        })
    }

    /// What a ledger has of a client, or else what is found of it. Of one that fails there is more to say than a line does.
    fn known_or(&self, work: Work, others: &[usize], look: impl FnOnce() -> Looked<S>) -> Looked<S> {
        let Some(ledger) = self.ledger else { return look() };
        let is_right = |line: &Line| !line.fails && line.renamed.iter().all(|j| others.contains(j));
        if let Some(mut line) = ledger.line(work).filter(is_right) {
            let progress = line.open.take().map_or(Progress::Ends, Progress::Undecided);
            let (renamed, stays) = (std::mem::take(&mut line.renamed), line.stays);
            return Looked { local: line.local(), progress, renamed, stays };
        }
        let looked = look();
        // What is found when the time is up may be less than there is.
        if !(self.expired)() {
            ledger.keep(Line::of_client(work, &looked.local, &looked.progress, &looked.renamed));
        }
        looked
    }

    /// Looks for a wrong outcome where `failing` is not locally sound.
    fn by_outcomes(&self, world: &World, failing: &Client, report: &mut Report<S>) -> Verdict<S> {
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
    fn probe(
        &self,
        clients: &[(World, Client)],
        report: &mut Report<S>,
        shared: Option<&dyn Ledger>,
        otherwise: Verdict<S>,
    ) -> Verdict<S> {
        // The library's own probes first; of each kind small clients first, and those that probes make larger after
        // those that they do not.
        let mut tasks: Vec<(usize, usize, usize, &(World, Client))> = Vec::new();
        for (kind, probes) in self.probes.iter().enumerate() {
            for stage in 0..probes.stages() {
                tasks.extend(clients.iter().map(|c| (kind, c.1.len(), stage, c)));
            }
        }
        tasks.sort_by_key(|&(kind, size, stage, _)| (kind, size + stage, size));
        let mut queue: Vec<(World, Client)> = Vec::new();
        let all = tasks.len();
        for (done, (kind, _, stage, (world, client))) in tasks.into_iter().enumerate() {
            (self.progress)(done, all);
            queue.extend(self.probes[kind].extend(world, client, stage));
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

    fn first_wrong(
        &self,
        group: &[(World, Client)],
        report: &mut Report<S>,
        shared: Option<&dyn Ledger>,
    ) -> Option<Counterexample<S>> {
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
    fn outcomes_known_or(&self, ledger: &dyn Ledger, number: usize, world: &World, client: &Client) -> Answer<S> {
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

    fn with_beside(&self, libraries: &Libraries<S>) -> Libraries<S> {
        libraries.and(&self.beside)
    }

    /// Asks something of a client whose calls are those of the specification.
    fn specified<T>(&self, world: &World, client: &Client, ask: impl FnOnce(&Problem<'_, S>) -> T) -> T {
        let expired = || (self.expired)();
        ask(&Problem {
            libraries: &self.with_beside(&self.specification),
            implementations: &Implementations::new(),
            world,
            programs: &client.programs(),
            observed: &[],
            limits: self.limits(&expired),
        })
    }

    /// An outcome of the implemented client that the specification does not have.
    ///
    /// # Errors
    /// What stopped the search before there was an answer.
    pub fn wrong_outcome(&self, world: &World, client: &Client) -> Answer<S> {
        let promised = self.specified(world, client, |problem| problem.results()).all()?;
        let expired = || (self.expired)();
        let libraries = self.with_beside(&self.below);
        let problem = Problem {
            libraries: &libraries,
            implementations: &self.implementations(),
            world: &self.with_objects(world),
            programs: &client.programs(),
            observed: &[],
            limits: self.limits(&expired),
        };
        let mut found = None;
        let mut settled = |solver: &mut Solver<'_, S>| {
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
        let refutations = self.specified(world, client, |problem| problem.refutations(&|o| *o == outcome, SHOWN));
        let (world, client) = (world.clone(), client.clone());
        Ok(Some(Box::new(Counterexample { world, client, outcome, execution, refutations })))
    }
}

/// A wrong outcome, that there is none, or what stopped the search.
pub type Answer<S> = Result<Option<Box<Counterexample<S>>>, Stop>;

/// How many refutations of an outcome are kept.
const SHOWN: usize = 10;
