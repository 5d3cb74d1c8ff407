//! The most general clients: searched once in place of all clients that differ from them only by equal integers.
//!
//! **Computes** for the clients of a check a client in which all integers differ that are only moved
//! ([`Independence`]). Several clients share one, which is searched first. If all its executions have a g, and it ends, then so
//! it is for each of them. **Example**: Push(x, 1) twice with Pop(x), and Push(x, 1), Push(x, 2) with Pop(x), share one client.
//!
//! **Correct because** their executions are images of those of the general client, with the same g, and the specification
//! accepts images of what it accepts. If anything else is found, or a limit is reached, the clients themselves are searched. So
//! the bound, the verdict and the counterexample are those of the clients.
//!
//! **Cost**: a search of the general client, which is wasted if it fails.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use rayon::prelude::*;

use super::client::Client;
use super::client_log::Work;
use super::client_results::ClientResults;
use super::independence::Independence;
use super::local::LocalResult;
use super::orbits::{Orbits, symmetric};
use super::progress::Progress;
use super::question::Question;
use super::renaming::Renaming;
use super::symmetry::Symmetry;
use crate::search::outcome::{Explored, Outcome};
use crate::search::runs::Stop;
use crate::value::Val;
use crate::world::World;

/// The integers of general clients come after this one: far from what bodies count.
const LAST: i64 = 1 << 20;

/// A client, made of a general one by equal integers.
struct MergedClient {
    /// The number of the general client.
    of: usize,
    /// The integers of the general client that stand for other ones.
    integers: BTreeMap<i64, i64>,
    /// The first client with this general client. The statistics of the search are counted with it.
    leader: usize,
}

/// A general client of a client that is the first of its orbit.
struct General {
    first: usize,
    client: (World, Client),
    /// The integers of the first client, by those of the general one.
    stands_for: BTreeMap<i64, i64>,
}

/// The general clients of a check, and what is known of them.
#[derive(Default)]
pub(super) struct Generals {
    clients: Vec<(World, Client)>,
    /// By the number of a client that is the first of its orbit.
    images: BTreeMap<usize, MergedClient>,
    /// The results of general clients that answer for their images; `None` for one that does not.
    results: BTreeMap<usize, Option<ClientResults>>,
    /// The renamings of general clients that are allowed.
    symmetry: Symmetry,
}

impl Generals {
    pub(super) fn of(question: &Question<'_>, clients: &[(World, Client)], orbits: &Orbits) -> Self {
        let independence = Independence::of(question);
        let largest = largest(clients);
        if independence == Independence::default()
            || question.crashing.is_some()
            || largest > i64::MAX - LAST
            || (question.expired)()
        {
            return Self::default();
        }
        let last = LAST.max(largest);
        let general = |first: usize| {
            let (world, client) = &clients[first];
            let (client, stands_for) = independence.most_general(client, last);
            let is_covered = client.is_well_formed(question.library(), world) && !stands_for.is_empty();
            is_covered.then(|| General { first, client: (world.clone(), client), stands_for })
        };
        let all: Vec<General> = orbits.firsts().filter_map(general).collect();
        let clients: Vec<(World, Client)> = all.iter().map(|g| &g.client).sorted().dedup().cloned().collect();
        let most = all.iter().map(|g| g.stands_for.len()).max().unwrap_or(0) as i64;
        let integers: Vec<i64> = (last + 1..=last + most).collect();
        let symmetry = Symmetry::of(question, &clients);
        // An integer that a definition writes or computes could hide a wrong result.
        if !integers.iter().all(|v| symmetry.renames(*v)) {
            return Self::default();
        }
        let Some(orbits) = symmetric(&symmetry, &integers, &clients, question.expired) else { return Self::default() };
        let mut images = merged(&all, &clients, &orbits);
        // A client that is the only one is searched itself.
        let counts = images.values().counts_by(|image| image.of);
        images.retain(|_, image| counts[&image.of] > 1);
        Self { clients, images, results: BTreeMap::new(), symmetry }
    }

    /// Returns the first client that has the same general client as this one.
    pub(super) fn leader(&self, client: usize) -> usize {
        self.images.get(&client).map_or(client, |image| image.leader)
    }

    /// Searches the general clients of those of these clients without a result in the log, unless that was done.
    pub(super) fn search(&mut self, question: &Question<'_>, clients: &[usize], asks_progress: bool) {
        let is_open = |i: &&usize| !question.is_known(Work::Client(**i, asks_progress));
        let wanted = clients.iter().filter(is_open).filter_map(|i| Some(self.images.get(i)?.of)).unique();
        let new: Vec<usize> = wanted.filter(|of| !self.results.contains_key(of)).collect();
        let search = |&of: &usize| {
            let results = question.local(&self.symmetry, &self.clients[of], asks_progress);
            (of, Some(results).filter(answers))
        };
        let results: Vec<_> = new.par_iter().map(search).collect();
        self.results.extend(results);
    }

    /// Returns the results of a client, if its general client has answered.
    pub(super) fn results(&self, client: usize) -> Option<ClientResults> {
        let image = self.images.get(&client)?;
        let ClientResults { local, progress, .. } = self.results.get(&image.of)?.as_ref()?;
        let outcomes: BTreeSet<Outcome> = local.ends.iter().map(|outcome| image.outcome(outcome)).collect();
        let local = LocalResult {
            explored: Explored { stats: local.explored.stats, stop: None, traces: 0, ..Explored::default() },
            outcomes: outcomes.len() as u64,
            ends: BTreeSet::new(),
            concretisation: local.concretisation.clone(),
            violation: None,
        };
        let is_copied = image.leader != client;
        Some(ClientResults { local, progress: progress.clone(), stays: false, is_refused: false, is_copied })
    }
}

/// Returns the clients as images of the first general client of each orbit, given these clients with their orbits.
fn merged(
    all: &[General],
    clients: &[(World, Client)],
    (orbits, to_form): &(Vec<Vec<usize>>, Vec<Renaming>),
) -> BTreeMap<usize, MergedClient> {
    let orbit_of: BTreeMap<usize, usize> = orbits.iter().flat_map(|o| o.iter().map(|&g| (g, o[0]))).collect();
    let mut leaders = BTreeMap::new();
    let image = |General { first, client, stands_for }: &General| {
        let own = clients.binary_search(client).expect("it is one of them");
        let of = orbit_of[&own];
        let renaming = to_form[of].and_back(&to_form[own]);
        let integers = stands_for.keys().map(|&v| (v, stands_for[&renaming.integer(v)])).collect();
        (*first, MergedClient { of, integers, leader: *leaders.entry(of).or_insert(*first) })
    };
    all.iter().map(image).collect()
}

/// Whether these results are those of all images. What is stuck, and goes on in no execution of the specification, might go on in
/// an image.
fn answers(results: &ClientResults) -> bool {
    let ClientResults { local, progress, is_refused, .. } = results;
    let ends = matches!(progress, Progress::Ends | Progress::Undecided(Stop::NotAsked)) && !is_refused;
    local.violation.is_none() && local.explored.stop.is_none() && local.explored.stats.classes > 0 && ends
}

impl MergedClient {
    fn outcome(&self, outcome: &Outcome) -> Outcome {
        let value = |v: Val| v.int().and_then(|i| self.integers.get(&i)).map_or(v, |&i| Val::Int(i));
        let outputs = outcome.outputs.iter().map(|v| v.image(&value)).collect();
        Outcome { outputs, ..outcome.clone() }
    }
}

/// The largest integer in calls.
fn largest(clients: &[(World, Client)]) -> i64 {
    let calls = clients.iter().flat_map(|(_, client)| client.threads.iter().flatten());
    calls.flat_map(|call| call.args.iter().flat_map(|v| v.integers())).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::solver::Stats;

    /// A general client has more values than its images, and so it can reach a limit that they do not reach.
    #[test]
    fn undecided_progress_is_no_answer() {
        let answers_with = |progress| {
            let explored = Explored {
                stats: Stats { classes: 1, ..Stats::default() },
                stop: None,
                traces: 0,
                ..Explored::default()
            };
            let (ends, concretisation) = Default::default();
            let local = LocalResult { explored, outcomes: 1, ends, concretisation, violation: None };
            answers(&ClientResults { local, progress, stays: false, is_refused: false, is_copied: false })
        };
        assert!(answers_with(Progress::Ends) && answers_with(Progress::Undecided(Stop::NotAsked)));
        assert!(!answers_with(Progress::Undecided(Stop::Values)));
    }
}
