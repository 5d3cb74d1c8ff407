//! The bounded check of one implementation: all clients, then a verdict.
//!
//! Local soundness of every client within the bound is `sound`. Where it fails for some client, the question is decided
//! at the level of outcomes (LOCO Def. 3.10): is there a client, which may also call other libraries, with an outcome that
//! the specification does not have?

use super::client::Client;
use super::client_log::{ClientLog, Work};
use super::client_results::ClientResults;
use super::generals::Generals;
use super::groups::{groups, until_first};
use super::orbits::Orbits;
pub use super::outcomes::WrongOutcome;
use super::progress::Progress;
pub use super::question::{Counterexample, Probes, Question, Report, Verdict};
use super::shares::dealt;
use crate::search::runs::Stop;
use crate::world::World;

/// Compares only outcomes (LOCO Def. 3.10), of every client within the bound and of its extensions by probes.
pub fn outcomes(question: &Question<'_>) -> Report {
    let mut report = Report::new(&[]);
    report.verdict = match question.clients().all() {
        Ok((all, generated)) => {
            (report.generated, report.ill_formed) = (generated, generated - all.len());
            report.clients = all.len();
            let verdict = question.probe(&all, &mut report, question.log, Verdict::NoWrongOutcome);
            report.progress = match &verdict {
                Verdict::NoWrongOutcome if question.crashing.is_some() && question.asks_progress => {
                    let ask = |client: &_| question.progress_with_crashes(client);
                    let found = until_first(&all, ask, |found| !matches!(found, Progress::Ends));
                    found.into_iter().fold(Progress::Ends, Progress::and)
                }
                _ => Progress::Undecided(Stop::NotAsked),
            };
            verdict
        }
        Err(stop) => {
            report.progress = Progress::Undecided(Stop::NotAsked);
            Verdict::Undecided(stop)
        }
    };
    report
}

/// Runs the check: local soundness, and outcomes where it fails. A process with a share leaves the outcomes to the one
/// with all results.
pub fn run(question: &Question<'_>) -> Report {
    let mut report = local(question);
    if question.log.is_some_and(|log| log.shard().is_some()) {
        return report;
    }
    if let (Verdict::NotLocallySound, Some((world, failing, _))) = (&report.verdict, &report.violation) {
        let (world, failing) = (world.clone(), failing.clone());
        report.verdict = question.by_outcomes(&world, &failing, &mut report);
    }
    report
}

/// Runs only the check for local soundness.
pub fn local(question: &Question<'_>) -> Report {
    let ((all, generated), stop) = question.clients().into_parts();
    local_of(question, &all, generated, stop)
}

/// Runs the check for local soundness for one client, which the bound need not include.
pub fn alone(question: &Question<'_>, client: &(World, Client)) -> Report {
    local_of(question, std::slice::from_ref(client), 1, None)
}

/// Checks these clients, of so many with those that are not covered. `undecided` is the limit at which there were no more.
fn local_of(question: &Question<'_>, all: &[(World, Client)], generated: usize, mut undecided: Option<Stop>) -> Report {
    let mut report = Report::new(all);
    (report.generated, report.ill_formed) = (generated, generated - all.len());
    report.progress = undecided.clone().map_or(Progress::Ends, Progress::Undecided);
    let orbits = Orbits::of(question, all);
    let mut generals = Generals::of(question, all, &orbits);
    let is_here = question.log.and_then(ClientLog::shard).map(|shard| dealt(shard, all, &orbits, &generals));
    let positions: Vec<usize> = orbits.firsts().filter(|&i| is_here.as_ref().is_none_or(|here| here[i])).collect();
    for group in groups(&positions) {
        // If time was over once, larger clients take too long as well. Another limit may not concern them.
        let asks_progress = question.asks_progress && !matches!(report.progress, Progress::Undecided(Stop::Time));
        generals.search(question, group, asks_progress);
        let ask = |&i: &usize| {
            let search =
                || generals.results(i).unwrap_or_else(|| question.local(&orbits.symmetry, &all[i], asks_progress));
            question.known_or(Work::Client(i, asks_progress), search)
        };
        let looked = until_first(group, ask, |looked| looked.local.violation.is_some());
        for (&i, ClientResults { mut local, mut progress, stays, is_copied, .. }) in group.iter().zip(looked) {
            let (world, client) = &all[i];
            if stays && !matches!(report.progress, Progress::Blocks(..) | Progress::Stuck(..)) {
                progress = question.local(&orbits.symmetry, &all[i], asks_progress).progress;
            }
            let (stop, violation) = (local.explored.stop.clone(), local.violation.take());
            report.progress = report.progress.and(progress);
            // The limit that stopped one search would stop the others.
            let has_result = stop.is_none() && violation.is_none();
            report.add(client, local, is_copied, if has_result { orbits.of_first(i).len() - 1 } else { 0 });
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
