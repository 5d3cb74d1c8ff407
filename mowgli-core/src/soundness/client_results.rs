//! The results for one client: local soundness and progress.

use super::client::Client;
use super::client_log::{ClientLine, Work};
use super::local::{LocalResult, check};
use super::progress::{Progress, SpecifiedClient};
use super::question::Question;
use super::symmetry::Symmetry;
use crate::search::problem::Limits;
use crate::search::runs::Stop;
use crate::world::World;

/// The results for a client.
pub(super) struct ClientResults {
    pub(super) local: LocalResult,
    pub(super) progress: Progress,
    /// Whether another process found that it does not end. Then its progress is not here.
    pub(super) stays: bool,
    /// Whether something is stuck where the specification cannot go on either.
    pub(super) is_refused: bool,
    /// Whether another client has the same results from the same search.
    pub(super) is_copied: bool,
}

impl Question<'_> {
    /// Local soundness of a client, and what is known of its progress.
    pub(super) fn local(&self, symmetry: &Symmetry, of: &(World, Client), asks_progress: bool) -> ClientResults {
        let automorphisms = self.automorphisms(symmetry, of);
        let (world, client) = of;
        self.implemented(world, client, |problem| {
            let runs = problem.runs_by_symmetry(asks_progress, &automorphisms);
            let local = check(problem, &runs, &self.specification, self.library);
            let limits = problem.limits;
            let mut is_refused = false;
            let progress = self.with_specification((world, client), limits, |specified| match &local.explored.stop {
                _ if local.violation.is_some() => Progress::Undecided(Stop::NotAsked),
                stop if !asks_progress => Progress::Undecided(stop.clone().unwrap_or(Stop::NotAsked)),
                stop if stop.is_some() || local.explored.stats.classes > 0 => {
                    let found = specified.stuck(|matters| {
                        problem.stuck(&runs, &mut |returned| {
                            let goes_on = matters(returned);
                            is_refused |= !goes_on;
                            goes_on
                        })
                    });
                    // A limit on executions that end does not make a stuck one uncertain.
                    found.and(stop.clone().map_or(Progress::Ends, Progress::Undecided))
                }
                _ => match specified.lets_all_return() {
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
            ClientResults { local, progress, stays: false, is_refused, is_copied: false }
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

    /// Whether the log has a line of a client.
    pub(super) fn is_known(&self, work: Work) -> bool {
        self.log.is_some_and(|log| log.line(work).is_some())
    }

    /// Returns the line of a client from the log, or else the result of `look`. The line of a failed client does not
    /// suffice, because it has no execution.
    pub(super) fn known_or(&self, work: Work, look: impl FnOnce() -> ClientResults) -> ClientResults {
        let Some(log) = self.log else { return look() };
        if let Some(mut line) = log.line(work).filter(|line| !line.fails) {
            let progress = line.open.take().map_or(Progress::Ends, Progress::Undecided);
            let (stays, is_copied) = (line.stays, line.copied);
            return ClientResults { local: line.local(), progress, stays, is_refused: false, is_copied };
        }
        let looked = look();
        // After the deadline the result may be incomplete.
        if !(self.expired)() {
            log.keep(ClientLine::of_client(work, &looked.local, &looked.progress, looked.is_copied));
        }
        looked
    }
}
