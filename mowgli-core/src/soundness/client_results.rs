//! The results for one client: local soundness, progress, and the clients symmetric to it.

use super::client::Client;
use super::client_log::{ClientLine, Work};
use super::local::{LocalResult, check};
use super::progress::{Progress, SpecifiedClient};
use super::question::Question;
use super::renaming::{LibrarySide, Renaming, relates};
use crate::flow::Note;
use crate::problem::{Limits, Problem};
use crate::runs::Stop;
use crate::world::World;

/// The results for a client.
pub(super) struct ClientResults {
    pub(super) local: LocalResult,
    pub(super) progress: Progress,
    /// The positions of the symmetric clients.
    pub(super) renamed: Vec<usize>,
    /// Whether another process found that it does not end. Then its progress is not here.
    pub(super) stays: bool,
}

/// A client that may be another one, renamed.
pub(super) struct Other<'c> {
    pub(super) position: usize,
    pub(super) client: &'c (World, Client),
    pub(super) renaming: Renaming,
}

impl Question<'_> {
    /// Local soundness of a client, what is known of its progress, and which of the others are it, renamed.
    pub(super) fn local(
        &self,
        (world, client): &(World, Client),
        asks_progress: bool,
        others: &[Other<'_>],
        sides: &[LibrarySide<'_>; 2],
    ) -> ClientResults {
        let mut renamed: Vec<&Other<'_>> = Vec::new();
        self.implemented(world, client, |problem| {
            let note: Note<'_> = &mut |transcript| {
                for other in others.iter().filter(|_| !(self.expired)()) {
                    let (world, client) = other.client;
                    let is_it = |problem: &Problem<'_>| relates(&other.renaming, transcript, problem, sides.each_ref());
                    if self.implemented(world, client, is_it) {
                        renamed.push(other);
                    }
                }
            };
            let runs = problem.runs_noted(asks_progress, Some(note).filter(|_| !others.is_empty()));
            let local = check(problem, &runs, &self.specification, self.library);
            let limits = problem.limits;
            let mut asked_specification = false;
            let progress = self.with_specification((world, client), limits, |specified| match &local.explored.stop {
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
            });
            if asked_specification || local.violation.is_some() || local.explored.stop.is_some() {
                renamed.clear();
            }
            if asks_progress && local.explored.stats.classes == 0 {
                // Ask for each client separately whether the specification lets it return.
                renamed.retain(|other| {
                    let (world, client) = other.client;
                    self.with_specification((world, client), limits, |specified| {
                        specified.lets_all_return() == Ok(false)
                    })
                });
            }
            let renamed = renamed.into_iter().map(|other| other.position).collect();
            ClientResults { local, progress, renamed, stays: false }
        })
    }

    /// Asks the specification about a client.
    fn with_specification<T>(
        &self,
        (world, client): (&World, &Client),
        limits: Limits<'_>,
        ask: impl FnOnce(&SpecifiedClient<'_>) -> T,
    ) -> T {
        let prefixes = self.prefixes(world, client);
        ask(&SpecifiedClient { libraries: &self.specification, world, client, prefixes: &prefixes, limits })
    }

    /// Returns the line of a client from the log, or else the result of `look`. The line of a failed client does not
    /// suffice, because it has no execution.
    pub(super) fn known_or(&self, work: Work, others: &[usize], look: impl FnOnce() -> ClientResults) -> ClientResults {
        let Some(log) = self.log else { return look() };
        if let Some(mut line) = log.line(work).filter(|line| !line.fails) {
            let progress = line.open.take().map_or(Progress::Ends, Progress::Undecided);
            let (mut renamed, stays) = (std::mem::take(&mut line.renamed), line.stays);
            // The process that wrote the line may have known fewer clients.
            renamed.retain(|j| others.contains(j));
            return ClientResults { local: line.local(), progress, renamed, stays };
        }
        let looked = look();
        // After the deadline the result may be incomplete.
        if !(self.expired)() {
            log.keep(ClientLine::of_client(work, &looked.local, &looked.progress, &looked.renamed));
        }
        looked
    }
}
