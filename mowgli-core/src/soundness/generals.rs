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
use super::client_results::ClientResults;
use super::independence::Independence;
use super::local::LocalResult;
use super::orbits::{Orbits, symmetric};
use super::progress::Progress;
use super::question::Question;
use super::symmetry::Symmetry;
use crate::outcome::{Explored, Outcome};
use crate::runs::Stop;
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

/// The general clients of a check, and what is known of them.
#[derive(Default)]
pub(super) struct Generals {
    clients: Vec<(World, Client)>,
    /// By the number of a client that is the first of its orbit.
    images: BTreeMap<usize, MergedClient>,
    /// The results of general clients that answer for their images; `None` for one that does not.
    results: BTreeMap<usize, Option<ClientResults>>,
}

impl Generals {
    pub(super) fn of(question: &Question<'_>, clients: &[(World, Client)], orbits: &Orbits) -> Self {
        let independence = Independence::of(question);
        let largest = largest(clients);
        if independence == Independence::default() || question.crashing.is_some() || largest > i64::MAX - LAST {
            return Self::default();
        }
        let last = LAST.max(largest);
        let general = |&i: &usize| {
            let (world, client) = &clients[i];
            let (client, stands_for) = independence.most_general(client, last);
            let is_known = client.is_well_formed(question.library(), world) && !stands_for.is_empty();
            is_known.then(|| (i, (world.clone(), client), stands_for))
        };
        let all: Vec<_> = orbits.firsts().filter_map(|i| general(&i)).collect();
        let generals: Vec<(World, Client)> = all.iter().map(|(_, g, _)| g).sorted().dedup().cloned().collect();
        let most = all.iter().map(|(_, _, stands_for)| stands_for.len()).max().unwrap_or(0) as i64;
        let values: Vec<i64> = (last + 1..=last + most).collect();
        let symmetry = Symmetry::of(question, &generals);
        // An integer that a definition writes or computes could hide a wrong result.
        if !values.iter().all(|v| symmetry.renames(*v)) {
            return Self::default();
        }
        let (classes, to_form) = symmetric(&symmetry, &values, &generals);
        let class_of: BTreeMap<usize, usize> = classes.iter().flat_map(|c| c.iter().map(|&g| (g, c[0]))).collect();
        let mut leaders = BTreeMap::new();
        let image = |(i, general, stands_for): &(usize, (World, Client), BTreeMap<i64, i64>)| {
            let own = generals.binary_search(general).expect("it is one of them");
            let of = class_of[&own];
            let renaming = to_form[of].and_back(&to_form[own]);
            let integers = stands_for.keys().map(|&v| (v, stands_for[&renaming.integer(v)])).collect();
            (*i, MergedClient { of, integers, leader: *leaders.entry(of).or_insert(*i) })
        };
        let mut images: BTreeMap<usize, MergedClient> = all.iter().map(image).collect();
        // A client that is the only one is searched itself.
        let counts = images.values().counts_by(|image| image.of);
        images.retain(|_, image| counts[&image.of] > 1);
        Self { clients: generals, images, results: BTreeMap::new() }
    }

    /// Returns the first client that has the same general client as this one.
    pub(super) fn leader(&self, client: usize) -> usize {
        self.images.get(&client).map_or(client, |image| image.leader)
    }

    /// Searches the general clients of these clients that have not been searched.
    pub(super) fn search(&mut self, question: &Question<'_>, clients: &[usize], asks_progress: bool) {
        let wanted = clients.iter().filter_map(|i| Some(self.images.get(i)?.of)).unique();
        let new: Vec<usize> = wanted.filter(|of| !self.results.contains_key(of)).collect();
        let search = |&of: &usize| {
            let results = question.local(&self.clients[of], asks_progress);
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
            explored: Explored { stats: local.explored.stats, stop: None, traces: 0 },
            outcomes: outcomes.len() as u64,
            ends: BTreeSet::new(),
            concretisation: local.concretisation.clone(),
            violation: None,
        };
        let is_copied = image.leader != client;
        Some(ClientResults { local, progress: progress.clone(), stays: false, is_refused: false, is_copied })
    }
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
        let outputs = outcome.outputs.iter().map(|&v| self.value(v)).collect();
        Outcome { outputs, ..outcome.clone() }
    }

    fn value(&self, v: Val) -> Val {
        match v {
            Val::Int(i) => Val::Int(*self.integers.get(&i).unwrap_or(&i)),
            Val::Tuple(parts) => Val::tuple(&parts.parts().iter().map(|&v| self.value(v)).collect_vec()),
            other => other,
        }
    }
}

/// The largest integer in calls.
fn largest(clients: &[(World, Client)]) -> i64 {
    fn of(v: Val) -> i64 {
        match v {
            Val::Int(i) => i,
            Val::Tuple(parts) => parts.parts().iter().map(|&v| of(v)).max().unwrap_or(0),
            _ => 0,
        }
    }
    let calls = clients.iter().flat_map(|(_, client)| client.threads.iter().flatten());
    calls.flat_map(|call| call.args.iter().map(|&v| of(v))).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::solver::Stats;

    /// A general client has more values than its images, and so it can reach a limit that they do not reach.
    #[test]
    fn undecided_progress_is_no_answer() {
        let answers_with = |progress| {
            let explored = Explored { stats: Stats { classes: 1, ..Stats::default() }, stop: None, traces: 0 };
            let (ends, concretisation) = Default::default();
            let local = LocalResult { explored, outcomes: 1, ends, concretisation, violation: None };
            answers(&ClientResults { local, progress, stays: false, is_refused: false, is_copied: false })
        };
        assert!(answers_with(Progress::Ends) && answers_with(Progress::Undecided(Stop::NotAsked)));
        assert!(!answers_with(Progress::Undecided(Stop::Values)));
    }
}
