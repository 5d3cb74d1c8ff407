//! The question about an implementation, and the report that answers it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::client::{Client, Subject, well_formed};
use super::client_log::ClientLog;
use super::crashes::{Crashing, Points, Stopping};
use super::local::{ConcretisationText, LocalResult, Violation, check};
use super::progress::Progress;
use crate::execution::Execution;
use crate::ids::Name;
use crate::library::{Hints, Libraries};
use crate::search::outcome::Outcome;
use crate::search::problem::{Found, Limits, Problem};
use crate::search::refute::Refutation;
use crate::search::runs::Stop;
use crate::search::solver::Stats;
use crate::term::bound::Bound;
use crate::term::implementation::{Implementation, Implementations, add_parts};
use crate::world::World;

/// An extension of clients by calls of other libraries that can distinguish outcomes.
pub trait Probes: Send + Sync {
    /// Returns the number of stages. A later stage makes larger clients.
    fn stages(&self) -> usize;

    /// Returns the extensions of a client in a stage, the smallest first.
    fn extend(&self, world: &World, client: &Client, stage: usize) -> Vec<(World, Client)>;
}

/// The parameters of a check.
pub struct Question<'a> {
    /// The library.
    pub library: Name,
    /// Its specification alone.
    pub specification: Libraries,
    /// The libraries that the implementations call and that none of them replaces.
    pub below: Libraries,
    /// Libraries that only probes call.
    pub beside: Libraries,
    /// The implementation first. For a question about a whole stack, then those of the libraries that it calls, and so
    /// on.
    pub chain: Vec<Arc<dyn Implementation>>,
    /// The client generator of the library.
    pub subject: &'a dyn Subject,
    /// Clients for the question of outcomes.
    pub probes: &'a [&'a dyn Probes],
    /// The bound.
    pub bound: Bound,
    /// Whether the check also asks which clients never end ([`Progress`]).
    pub asks_progress: bool,
    /// The crashes of threads, if [`Bound::crashes`] is not 0.
    pub crashing: Option<Crashing>,
    /// The results for clients and the share of this process, if several processes share the clients.
    pub log: Option<&'a dyn ClientLog>,
    /// Whether the deadline has passed.
    pub expired: &'a (dyn Fn() -> bool + Sync),
    /// Progress callback: `(done, total)` clients, called after each group.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Question<'_> {
    pub(super) fn library(&self) -> &dyn Hints {
        self.specification.get(self.library).expect("the library that is checked")
    }

    /// Returns the clients that the specification covers, and the number of all clients.
    pub(super) fn clients(&self) -> Found<(Vec<(World, Client)>, usize)> {
        let found = well_formed(self.library(), self.subject, std::slice::from_ref(&self.bound), self.expired);
        let Some(crashing) = &self.crashing else { return found };
        let ((all, generated), stop) = found.into_parts();
        let ill_formed = generated - all.len();
        let with_crashes = |(world, client): (World, Client)| {
            let worlds = crashing.worlds(&world, &client, self.bound.crashes);
            worlds.into_iter().map(move |world| (world, client.clone()))
        };
        let all: Vec<(World, Client)> = all.into_iter().flat_map(with_crashes).collect();
        let generated = ill_formed + all.len();
        Found::new((all, generated), stop)
    }

    /// Asks about a client whose calls are those of the implementation.
    pub(super) fn implemented<T>(&self, world: &World, client: &Client, ask: impl FnOnce(&Problem<'_>) -> T) -> T {
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

    pub(super) fn limits<'b>(&'b self, expired: &'b dyn Fn() -> bool) -> Limits<'b> {
        Limits { rounds: self.bound.loops, expired, ..Limits::default() }
    }

    pub(super) fn implementations(&self) -> Implementations {
        let points = self.points();
        let in_force = |i: &Arc<dyn Implementation>| match &points {
            Some(points) => Arc::new(Stopping::of(i, points)) as _,
            None => Arc::clone(i),
        };
        self.chain.iter().map(|i| (i.target(), in_force(i))).collect()
    }

    /// Returns the points at which crashing threads stop.
    pub(super) fn points(&self) -> Option<Points> {
        let implemented = || self.chain.iter().map(|i| i.target()).collect::<Vec<Name>>();
        self.crashing.as_ref().map(|crashing| crashing.points(&implemented()))
    }

    pub(super) fn with_objects(&self, world: &World) -> World {
        let mut world = world.clone();
        self.chain.iter().for_each(|i| add_parts(&**i, &mut world));
        world
    }

    /// True if one client is locally sound.
    ///
    /// # Errors
    /// The reason why the search stopped before there was an answer.
    pub fn is_locally_sound(&self, world: &World, client: &Client) -> Result<bool, Stop> {
        let local = self
            .implemented(world, client, |problem| check(problem, &problem.runs(), &self.specification, self.library));
        if local.violation.is_some() { Ok(false) } else { local.explored.stop.map_or(Ok(true), Err) }
    }
}

/// A client with an outcome that the specification does not have.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The world of the client, without the implementation's own objects.
    pub world: World,
    /// The client.
    pub client: Client,
    /// The outcome: the results of the calls of each thread.
    pub outcome: Outcome,
    /// An execution of the implementation with that outcome.
    pub execution: Execution,
    /// The reasons why the specification forbids it: the first few ways to get it, each with its refutation.
    pub refutations: Found<Vec<Refutation>>,
}

/// The verdict on one question.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Locally sound for every client within the bound.
    Sound,
    /// A client has an outcome that the specification does not have.
    Unsound(Box<Counterexample>),
    /// Not locally sound, and the search found no wrong outcome.
    NotLocallySound,
    /// All outcomes of the checked clients are in the specification. The check did not search for a g.
    NoWrongOutcome,
    /// A limit stopped the check.
    Undecided(Stop),
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// The client and the execution without a g.
    pub violation: Option<(World, Client, Violation)>,
    /// The first client that hit a limit, if there is one.
    pub stopped_at: Option<(World, Client)>,
    /// The methods that clients call, but that occur in no consistent execution of the checked clients.
    pub unreached: BTreeSet<Name>,
    /// The number of clients within the bound.
    pub generated: usize,
    /// The number of those that are not well-formed, so that the specification does not cover them.
    pub ill_formed: usize,
    /// The number of clients with a result: those that the check searched, and those symmetric to them.
    pub clients: usize,
    /// The number of those without a search. They are symmetric to another one by threads, nodes, objects or values, or
    /// differ from it by equal values that are only moved.
    pub renamed: usize,
    /// The number of classes of consistent executions of all of them.
    pub executions: u64,
    /// The number of ways for all calls to return, over all of them.
    pub outcomes: u64,
    /// The number of clients whose executions all fail to end.
    pub vacuous: usize,
    /// The number of clients whose outcomes the check has compared.
    pub probed: usize,
    /// The first reason why the search for the outcomes of one of them stopped.
    pub unanswered: Option<Stop>,
    /// The statistics of all searched clients.
    pub stats: Stats,
    /// The concretisations found.
    pub concretisation: ConcretisationText,
    /// Whether calls return wherever the specification lets them.
    pub progress: Progress,
}

fn methods(client: &Client) -> impl Iterator<Item = Name> + '_ {
    client.threads.iter().flatten().map(|call| call.method)
}

impl Report {
    pub(super) fn new(clients: &[(World, Client)]) -> Self {
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
            concretisation: ConcretisationText::new(),
            progress: Progress::Ends,
        }
    }

    /// Adds the results of a client, and of this number of symmetric ones. If they are copied, the statistics are those of
    /// another client.
    pub(super) fn add(&mut self, client: &Client, local: LocalResult, is_copied: bool, renamed: usize) {
        let (explored, alike) = (local.explored, 1 + renamed as u64);
        self.clients += 1 + renamed;
        self.renamed += renamed + usize::from(is_copied);
        self.executions += explored.stats.classes * alike;
        self.outcomes += local.outcomes * alike;
        if explored.stats.classes > 0 {
            methods(client).for_each(|m| {
                self.unreached.remove(&m);
            });
        }
        self.vacuous += if explored.stats.classes == 0 && explored.stop.is_none() { 1 + renamed } else { 0 };
        self.stats += if is_copied { Stats::default() } else { explored.stats };
        for (key, words) in local.concretisation {
            self.concretisation.entry(key).or_default().extend(words);
        }
    }
}
