//! How long a check will take, from some clients of each shape.

use std::time::{Duration, Instant};

use mowgli_core::runs::Stop;
use mowgli_core::soundness::client::{Bound, are_at_most};
use mowgli_core::soundness::estimate::{Plan, Work};
use mowgli_core::stamp::Stamp;
use mowgli_libraries::entry::{Entry, Variant};
use rayon::prelude::*;
use serde::Serialize;

use crate::check::{Options, with_question};
use crate::entry;

/// How long clients are looked at for one estimate.
pub const SAMPLED: Duration = Duration::from_secs(10);

/// How long clients are looked at for each bound that might fit a budget.
const TRIED: Duration = Duration::from_secs(2);

/// How much longer it may take until those clients are done that were begun in time.
const LONGER: u32 = 3;

/// The most clients of a bound that might fit a budget.
const MOST: u128 = 100_000;

/// How much work a check is, if it finds nothing wrong.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The library.
    pub library: &'static str,
    /// The variant.
    pub variant: &'static str,
    /// The bound.
    pub bound: Bound,
    /// Clients of which the specification says anything.
    pub clients: usize,
    /// Classes of consistent executions of all of them.
    pub executions: u64,
    /// Seconds, with as many threads as there are here.
    pub seconds: f64,
    /// The threads.
    pub threads: usize,
    /// How many classes of clients, the same up to a renaming, there may be.
    pub classes: usize,
    /// How many of them were looked at.
    pub looked_at: usize,
    /// Whether it may be much more, as the time was up before all shapes of clients were seen, or in the middle of a client.
    pub or_more: bool,
}

/// What was seen of one shape.
#[derive(Clone, Copy, Default)]
struct Seen {
    classes: usize,
    looked_at: usize,
    seconds: f64,
    executions: f64,
}

impl Seen {
    fn add(&mut self, (work, seconds): &(Work, f64)) {
        self.looked_at += 1;
        self.seconds += seconds;
        self.executions += work.executions as f64;
    }

    fn mean(&self) -> (f64, f64) {
        (self.seconds / self.looked_at as f64, self.executions / self.looked_at as f64)
    }
}

/// Estimates a check from clients that are looked at for so long.
///
/// # Errors
/// If the entry cannot be checked.
pub fn estimate<S: Stamp>(
    entry: &Entry<S>,
    variant: &Variant,
    bound: &Bound,
    options: &Options<'_, S>,
    sampled: Duration,
) -> Result<Estimate, String> {
    let start = Instant::now();
    // Clients that are under way when the time is up are looked at to their end: those that take long must be counted too.
    let is_up = options.deadline.after_at_most(sampled);
    let options = Options { deadline: options.deadline.after_at_most(LONGER * sampled), ..*options };
    entry::fault(entry, bound, &|| options.deadline.expired())?;
    with_question(entry, variant, bound, &options, |question| {
        let (plan, stop) = Plan::of(question).into_parts();
        let setup = start.elapsed().as_secs_f64();
        let mut seen: Vec<Seen> =
            plan.shapes().iter().map(|shape| Seen { classes: shape.len(), ..Seen::default() }).collect();
        let is_cut = look(&plan, &mut seen, &|| is_up.expired(), &|| options.deadline.expired());
        let threads = rayon::current_num_threads();
        let known = seen.iter().filter(|shape| shape.looked_at > 0);
        let all = known.clone().fold(Seen::default(), |all, shape| Seen {
            classes: 0,
            looked_at: all.looked_at + shape.looked_at,
            seconds: all.seconds + shape.seconds,
            executions: all.executions + shape.executions,
        });
        // Of shapes that were not seen nothing better is known than what the others are like.
        let mean = |shape: &Seen| if shape.looked_at > 0 { shape.mean() } else { all.mean() };
        let total = |of: fn((f64, f64)) -> f64| -> f64 {
            if all.looked_at == 0 { 0.0 } else { seen.iter().map(|s| s.classes as f64 * of(mean(s))).sum() }
        };
        Estimate {
            library: entry.name,
            variant: variant.name,
            bound: bound.clone(),
            clients: plan.clients(),
            executions: total(|(_, executions)| executions).round() as u64,
            seconds: setup + total(|(seconds, _)| seconds) / threads as f64,
            threads,
            classes: seen.iter().map(|shape| shape.classes).sum(),
            looked_at: all.looked_at,
            or_more: is_cut || stop.is_some_and(|stop| matches!(stop, Stop::Time | Stop::Clients(_))),
        }
    })
}

/// Looks at classes of each shape, one after the other, those of a shape spread evenly, until all are known or the time `is_up`.
/// Whether one of each shape was not known then, or one was given up because all time has `expired`.
fn look<S: Stamp>(
    plan: &Plan<'_, '_, S>,
    seen: &mut [Seen],
    is_up: &(dyn Fn() -> bool + Sync),
    expired: &(dyn Fn() -> bool + Sync),
) -> bool {
    // In an order that is the same each time and goes through small and large ones alike.
    let mut order: Vec<usize> = (0..seen.len()).collect();
    order.sort_by_key(|i| (*i as u32).wrapping_mul(2_654_435_761));
    let most = seen.iter().map(|shape| shape.classes).max().unwrap_or(0);
    for round in 0..most {
        let wanted: Vec<(usize, usize)> = order
            .iter()
            .filter(|&&i| round < seen[i].classes)
            .map(|&i| (i, plan.shapes()[i][spread(round, seen[i].classes)]))
            .collect();
        let looked: Vec<Option<(Work, f64)>> = wanted
            .par_iter()
            .map(|(_, first)| {
                let start = Instant::now();
                let work = (!is_up()).then(|| plan.look(*first));
                work.filter(|_| !expired()).map(|work| (work, start.elapsed().as_secs_f64()))
            })
            .collect();
        for ((i, _), found) in wanted.iter().zip(&looked) {
            found.iter().for_each(|found| seen[*i].add(found));
        }
        if is_up() {
            return round == 0 && looked.contains(&None) || expired();
        }
    }
    false
}

/// The place that is looked at in a round, of so many: in the order of the bits of the round, from the lowest, so that the first
/// few are far from each other, and each place is taken once.
fn spread(round: usize, of: usize) -> usize {
    let bits = usize::BITS - of.saturating_sub(1).leading_zeros();
    let places = (0..1_usize << bits).map(|n| if bits == 0 { 0 } else { n.reverse_bits() >> (usize::BITS - bits) });
    places.filter(|place| *place < of).nth(round).unwrap_or(round)
}

/// The largest bound that fits a budget, from this one on if it does, or else from a single call on: threads, nodes and calls grow
/// in turn. `None` if not even a single call does.
///
/// # Errors
/// If the entry cannot be checked.
pub fn largest<S: Stamp>(
    entry: &Entry<S>,
    variant: &Variant,
    bound: &Bound,
    options: &Options<'_, S>,
    budget: Duration,
) -> Result<Option<Estimate>, String> {
    let fits = |bound: &Bound| -> Result<Option<Estimate>, String> {
        if options.deadline.expired() || !are_at_most(&*entry.subject, bound, MOST) {
            return Ok(None);
        }
        let found = estimate(entry, variant, bound, options, TRIED.min(budget))?;
        Ok(Some(found).filter(|found| !found.or_more && found.seconds <= budget.as_secs_f64()))
    };
    let least = Bound { threads: 1, nodes: 1, calls: 1, total: None, ..bound.clone() };
    let mut found = fits(bound)?;
    if found.is_none() {
        found = fits(&least)?;
    }
    let mut grows = [true; 3];
    while let Some(known) = found.as_ref().filter(|_| grows.contains(&true)) {
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

/// A time in words.
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
    /// One line.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { library, variant, bound, clients, executions, threads, classes, looked_at, .. } = self;
        let Bound { threads: t, nodes, calls, objects, .. } = bound;
        let total = bound.total.map_or_else(String::new, |total| format!(", at most {total} in all"));
        let more = if self.or_more { " or more" } else { "" };
        format!(
            "{library} ({variant}), threads {t}, nodes {nodes}, calls {calls}{total}, objects {objects}: {clients} clients{more}, about \
             {executions} executions{more}, {}{more} with {threads} threads, if nothing is wrong ({looked_at} of {classes} classes of \
             clients were looked at)",
            time(self.seconds)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_once() {
        for of in 1..40 {
            let mut places: Vec<usize> = (0..of).map(|round| spread(round, of)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..of).collect::<Vec<_>>());
        }
    }
}
