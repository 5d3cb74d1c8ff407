//! Estimates of the time of a check, from some clients of each shape.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mowgli_core::runs::Stop;
use mowgli_core::soundness::client::{Bound, are_at_most};
use mowgli_core::soundness::estimate::{ClientShape, Plan};
use mowgli_libraries::entry::{Entry, Variant};
use serde::Serialize;

use super::sample::{Cost, Sample};
use crate::check::{CheckOptions, CheckQuestion, with_question};
use crate::entry;
use crate::error::InputError;

/// The processor time that each thread spends on clients for one estimate.
pub const SAMPLED: Duration = Duration::from_secs(10);

/// The processor time of each thread for the first estimate of a bound that might fit a budget.
const TRIED: Duration = Duration::from_secs(2);

/// The factor from the processor time of an estimate to its limit in real time. It leaves time for enumerating clients,
/// for other processes, and for clients that were begun in time.
const LONGER: u32 = 6;

/// The most clients of a bound that might fit a budget.
const MOST: u128 = 100_000;

/// The estimated work of a check that finds nothing wrong.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The library.
    pub library: &'static str,
    /// The variant.
    pub variant: &'static str,
    /// The bound.
    pub bound: Bound,
    /// Whether the check compares outcomes of the whole stack.
    pub through: bool,
    /// The number of clients about which the specification says anything.
    pub clients: usize,
    /// The number of classes of consistent executions of all clients; 0 if the check compares outcomes.
    pub executions: u64,
    /// The seconds with this number of threads.
    pub seconds: f64,
    /// The number of threads.
    pub threads: usize,
    /// The number of classes of clients up to renaming. If the check compares outcomes, the number of clients with
    /// those that probes make of them.
    pub classes: usize,
    /// The number of classes in the sample.
    pub looked_at: usize,
    /// Whether the work may be much more. The time was up before the sample had every shape, or in the middle of a
    /// client, so some costs are only extrapolated from other shapes.
    pub or_more: bool,
}

/// Estimates a check from a sample of clients; each thread spends `sampled` on it.
///
/// # Errors
/// If the entry cannot be checked.
pub fn estimate(
    entry: &Entry,
    variant: &Variant,
    bound: &Bound,
    options: &CheckOptions<'_>,
    sampled: Duration,
) -> Result<Estimate, InputError> {
    let start = Instant::now();
    let options = CheckOptions { deadline: options.deadline.after_at_most(LONGER * sampled), ..*options };
    entry::fault(entry, bound, &|| options.deadline.expired())?;
    with_question(entry, variant, bound, &options, |question| {
        let plan = if options.ask == CheckQuestion::Through { Plan::of_outcomes(question) } else { Plan::of(question) };
        let (plan, stop) = plan.into_parts();
        let setup = start.elapsed().as_secs_f64();
        let sample = look(&plan, sampled, &|| options.deadline.expired());
        let threads = rayon::current_num_threads();
        let all = sample.all();
        Estimate {
            library: entry.name,
            variant: variant.name,
            bound: entry.covered(bound, &|| options.deadline.expired()),
            through: options.ask == CheckQuestion::Through,
            clients: plan.clients(),
            executions: all.executions.round() as u64,
            seconds: setup + all.seconds / threads as f64,
            threads,
            classes: plan.shapes().iter().map(|shape| shape.classes.len()).sum(),
            looked_at: sample.looked_at(),
            or_more: sample.is_cut() || stop.is_some_and(|stop| matches!(stop, Stop::Time | Stop::Clients(_))),
        }
    })
}

/// Checks classes on all threads until all are known or each thread has run for `sampled`. A class that is then under
/// way is checked to its end, because the sample must include slow classes. It is given up when the whole time has
/// `expired`.
fn look(plan: &Plan<'_, '_>, sampled: Duration, expired: &(dyn Fn() -> bool + Sync)) -> Sample {
    let sizes = |shape: &ClientShape| shape.classes.iter().map(|&first| plan.alike(first)).collect();
    let sample = Mutex::new(Sample::of(plan.shapes().iter().map(|shape| (shape.weight, sizes(shape)))));
    let held = || sample.lock().unwrap_or_else(PoisonError::into_inner);
    rayon::broadcast(|_| {
        let mut run = Duration::ZERO;
        while run < sampled && !expired() {
            let Some((shape, place)) = held().next() else { break };
            let (start, clock) = (processor_time(), Instant::now());
            let work = plan.look(plan.shapes()[shape].classes[place]);
            let time = match (start, processor_time()) {
                (Some(start), Some(end)) => end.saturating_sub(start),
                _ => clock.elapsed(),
            };
            run += time;
            let found = Cost { seconds: time.as_secs_f64(), executions: work.executions as f64 };
            held().add(shape, place, found, expired());
        }
    });
    sample.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the processor time of this thread. Unlike real time it does not grow while other processes use the
/// processor.
fn processor_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

/// Finds the largest bound that fits a budget. It begins with this bound if it fits, or else with a single call.
/// Threads, nodes and calls then grow in turn, until a quarter of the budget is used. `None` if not even a single call
/// fits.
///
/// # Errors
/// If the entry cannot be checked.
pub fn largest(
    entry: &Entry,
    variant: &Variant,
    bound: &Bound,
    options: &CheckOptions<'_>,
    budget: Duration,
) -> Result<Option<Estimate>, InputError> {
    let start = Instant::now();
    let fits = |bound: &Bound| -> Result<Option<Estimate>, InputError> {
        let has_worlds = || entry.covered(bound, &|| options.deadline.expired()) == *bound;
        if options.deadline.expired() || !are_at_most(&*entry.subject, bound, MOST) || !has_worlds() {
            return Ok(None);
        }
        for sampled in [TRIED, SAMPLED] {
            let found = estimate(entry, variant, bound, options, sampled.min(budget))?;
            if found.seconds > budget.as_secs_f64() {
                break;
            }
            if !found.or_more {
                return Ok(Some(found));
            }
        }
        Ok(None)
    };
    let least = Bound { threads: 1, nodes: 1, calls: 1, total: None, ..bound.clone() };
    let mut found = fits(bound)?;
    if found.is_none() {
        found = fits(&least)?;
    }
    let mut grows = [true; 3];
    while let Some(known) = found.as_ref().filter(|_| grows.contains(&true) && start.elapsed() < budget / 4) {
        let mut next = None;
        for (part, grows) in grows.iter_mut().enumerate().filter(|(_, grows)| **grows) {
            let mut larger = known.bound.clone();
            match part {
                0 => larger.threads += 1,
                1 => larger.nodes += 1,
                _ => larger.calls += 1,
            }
            let makes_sense = usize::from(larger.nodes) <= larger.threads;
            next = if makes_sense { fits(&larger)? } else { None };
            if next.is_some() {
                break;
            }
            // More threads let more nodes make sense.
            *grows = !makes_sense;
        }
        match next {
            Some(larger) => found = Some(larger),
            None => break,
        }
    }
    Ok(found)
}

/// Returns a time in words.
#[must_use]
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "less than a second".to_owned(),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86400.0),
    }
}

impl Estimate {
    /// Returns one line of text.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { library, variant, bound, clients, executions, threads, classes, looked_at, .. } = self;
        let Bound { threads: t, nodes, calls, objects, .. } = bound;
        let total = bound.total.map_or_else(String::new, |total| format!(", at most {total} in all"));
        let more = if self.or_more { " or more" } else { "" };
        let of = format!(
            "{library} ({variant}), threads {t}, nodes {nodes}, calls {calls}{total}, objects {objects}: {clients} clients"
        );
        let time = format!("{}{more} with {threads} threads, if nothing is wrong", time(self.seconds));
        if self.through {
            format!("{of}, {classes}{more} with all probes, {time} ({looked_at} of them were looked at)")
        } else {
            format!(
                "{of}{more}, about {executions} executions{more}, {time} ({looked_at} of {classes} classes of clients were looked at)"
            )
        }
    }
}
