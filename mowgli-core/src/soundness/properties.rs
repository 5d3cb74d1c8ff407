//! Checks of specifications within a bound: monotone, decomposable (LOCO Def. 3.5) and satisfiable.
//!
//! The check visits every consistent execution of every client within the bound, with each order completed in every
//! way. It has two variants of decomposability. In the definition, the restriction has exactly the so of the whole,
//! restricted. LOCO's composition theorems need less: some so' within that. The two differ if so has edges that depend
//! on other locations.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use rayon::prelude::*;

use super::client::{Client, Subject, well_formed};
use crate::algebra::Spec;
use crate::event::Event;
use crate::execution::{Execution, Pairs};
use crate::ids::Name;
use crate::judge::{closure, consistent};
use crate::library::Libraries;
use crate::search::denote::Unfolder;
use crate::search::enumerate::rechosen;
use crate::search::problem::{Limits, Problem};
use crate::search::runs::{Skeletons, Stop, skeletons};
use crate::search::solver::Flow;
use crate::search::witness::completions;
use crate::term::bound::Bound;
use crate::term::implementation::Implementations;
use crate::value::Val;
use crate::world::World;

/// The number of clients in a group, so that progress is shown and a deadline is noticed between groups.
const GROUP: usize = 512;

/// The largest number of strict partial orders above `(ppo u so)+` that the check tries for one execution, because their
/// number grows exponentially.
const ORDERS: usize = 2_000;

/// An execution with which a property fails.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The objects, nodes and threads.
    pub world: World,
    /// The client.
    pub client: Client,
    /// A consistent execution of it.
    pub execution: Execution,
    /// The events of the part that is not consistent by itself; all events for other properties.
    pub part: Vec<usize>,
    /// The reason.
    pub reason: String,
}

/// A kind of event: the method, and what it returned, values aside.
pub type EventKind = (Name, &'static str);

/// The results for one specification.
#[derive(Clone, Debug)]
pub struct Properties {
    /// The number of clients that the check has visited.
    pub clients: usize,
    /// The number of consistent executions.
    pub executions: u64,
    /// An execution that a smaller hb makes inconsistent.
    pub monotone: Option<Instance>,
    /// A part with its own locations that is not consistent with any so' within the so of the whole.
    pub decomposable: Option<Instance>,
    /// A part with its own locations that is not consistent with exactly the so of the whole.
    pub with_the_same_so: Option<Instance>,
    /// The kinds of events that occur in clients, but in no consistent execution; empty if the check was stopped.
    pub unsatisfied: BTreeSet<EventKind>,
    /// The reason why the check was stopped, if it was.
    pub stop: Option<Stop>,
    /// Whether the check tried only some of the larger hb of an execution.
    pub sampled: bool,
}

/// The result in the kind of an event whose method does not occur at all.
const ANYTHING: &str = "anything";

fn kind(event: &Event) -> EventKind {
    let of = match event.ret {
        Val::Unit => "nothing",
        Val::Bool(true) => "true",
        Val::Bool(false) => "false",
        Val::Bot => "bottom",
        _ => "a value",
    };
    (event.call.method, of)
}

/// The largest number of ways to make the choices of a part. Beyond it the answer is unknown, because no more are tried.
const CHOICES: usize = 100_000;

/// Whether a part of an execution is consistent by itself.
#[derive(Clone, PartialEq, Eq)]
enum Consistency {
    /// With exactly the so of the whole.
    Exactly,
    /// With a smaller so, without this pair.
    Within((usize, usize)),
    No,
    /// Unknown for this reason.
    Unknown(Stop),
}

/// The specification to check.
pub struct Specified<'a> {
    /// The library alone.
    pub specification: &'a Libraries,
    /// Its name.
    pub library: Name,
    /// The client generator.
    pub subject: &'a dyn Subject,
    /// Whether the deadline has passed.
    pub expired: &'a (dyn Fn() -> bool + Sync),
    /// Progress callback: `(done, total)` clients, called after each group.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// Checks a specification with the clients within these bounds, the smallest first.
pub fn properties(specified: &Specified<'_>, bounds: &[Bound]) -> Properties {
    let library = specified.specification.get(specified.library).expect("the library that is checked");
    let mut sum = Properties::empty();
    let ((all, _), stop) = well_formed(library, specified.subject, bounds, specified.expired).into_parts();
    sum.stop = stop;
    let loose = specified.specification.clone().respecified(specified.library, Spec::forget_hb);
    let mut wanted = BTreeSet::new();
    for group in all.chunks(GROUP) {
        let found: Vec<_> = group.par_iter().map(|(world, client)| specified.client(&loose, world, client)).collect();
        for (properties, kinds) in found {
            wanted.extend(kinds);
            sum.add(properties);
        }
        (specified.progress)(sum.clients, all.len());
        if (specified.expired)() {
            sum.stop = Some(Stop::Time);
            break;
        }
    }
    // So far these are the kinds that occur. The others are certain only after a complete search.
    wanted.retain(|kind| sum.stop.is_none() && !sum.unsatisfied.contains(kind));
    sum.unsatisfied = wanted;
    sum
}

impl Properties {
    fn empty() -> Self {
        Self {
            clients: 0,
            executions: 0,
            monotone: None,
            decomposable: None,
            with_the_same_so: None,
            unsatisfied: BTreeSet::new(),
            stop: None,
            sampled: false,
        }
    }

    fn add(&mut self, other: Self) {
        self.clients += other.clients;
        self.executions += other.executions;
        self.monotone = self.monotone.take().or(other.monotone);
        self.decomposable = self.decomposable.take().or(other.decomposable);
        self.with_the_same_so = self.with_the_same_so.take().or(other.with_the_same_so);
        self.unsatisfied.extend(other.unsatisfied);
        self.stop = self.stop.take().or(other.stop);
        self.sampled |= other.sampled;
    }
}

impl Specified<'_> {
    /// Checks one client. Returns its results, with the kinds of events that occur in place of those that do not, and
    /// all its kinds. The search uses the `loose` specification, because an execution that its own hb forbids may be
    /// allowed with another hb.
    fn client(&self, loose: &Libraries, world: &World, client: &Client) -> (Properties, BTreeSet<EventKind>) {
        let none = Implementations::new();
        let expired = || (self.expired)();
        let programs = client.programs();
        let limits = Limits { expired: &expired, ..Limits::default() };
        let implementations = &none;
        let libraries = loose;
        let (rounds, limit) = (limits.rounds, limits.traces);
        let unfolder = Unfolder { libraries, implementations, world, rounds, limit, expired: &expired };
        let Skeletons { threads, stop, .. } = skeletons(&unfolder, &programs);
        let runs = threads.iter().flatten().flat_map(|s| &s.runs);
        let results = runs.flat_map(|r| r.trace.events.iter().map(kind));
        let wanted = client.threads.iter().flatten().map(|call| (call.method, ANYTHING)).chain(results).collect();
        let problem = Problem { libraries, implementations, world, programs: &programs, observed: &[], limits };
        let mut found = Properties::empty();
        found.clients = 1;
        found.stop = stop.filter(|s| !matches!(s, Stop::Loop(_)));
        let explored = problem.explore(&mut |solver| {
            completions(solver, &mut |execution| {
                self.execution(loose, world, client, &execution, &mut found);
                if expired() { Flow::Stop } else { Flow::Continue }
            })
        });
        // Here `Flow::Stop` can only mean that the deadline has passed.
        found.stop = found.stop.take().or(explored.stop).or(expired().then_some(Stop::Time));
        (found, wanted)
    }

    fn execution(
        &self,
        loose: &Libraries,
        world: &World,
        client: &Client,
        execution: &Execution,
        found: &mut Properties,
    ) {
        let instance = |part: Vec<usize>, reason: String| {
            let (world, client, execution) = (world.clone(), client.clone(), execution.clone());
            Some(Instance { world, client, execution, part, reason })
        };
        let mentions_hb = self.specification.spec(self.library).is_some_and(Spec::mentions_hb);
        if mentions_hb && found.monotone.is_none() {
            let (less, sampled) = self.less_hb_disallows(loose, execution);
            found.sampled |= sampled;
            found.monotone = less.and_then(|(a, b)| {
                let name = |s: usize| &execution.events[execution.subs[s].event];
                let all = (0..execution.events.len()).collect();
                instance(all, format!("it is consistent only if hb has the pair from {} to {}", name(a), name(b)))
            });
        }
        let Ok(so) = consistent(self.specification, self.library, execution, None) else { return };
        found.executions += 1;
        found.unsatisfied.extend(execution.events.iter().flat_map(|e| [kind(e), (e.call.method, ANYTHING)]));
        for part in self.parts(execution) {
            if found.decomposable.is_some() {
                break;
            }
            if (self.expired)() {
                found.stop = Some(Stop::Time);
                break;
            }
            let (restricted, kept) = execution.restricted(|e| part.contains(&e));
            let restricted_so: Pairs = so
                .iter()
                .filter_map(|(a, b)| Some((kept.binary_search(a).ok()?, kept.binary_search(b).ok()?)))
                .collect();
            let alone = match self.alone(&restricted, &restricted_so) {
                Consistency::Exactly => continue,
                Consistency::Unknown(stop) => {
                    found.stop.get_or_insert(stop);
                    continue;
                }
                alone => alone,
            };
            let name = |s: usize| {
                let sub = &restricted.subs[s];
                format!("{} of {}", sub.sub.stamp, restricted.events[sub.event])
            };
            if let Consistency::Within(lost) = alone {
                let reason = format!("so goes from {} to {} only through the rest", name(lost.0), name(lost.1));
                found.with_the_same_so = found.with_the_same_so.take().or_else(|| instance(part, reason));
            } else {
                found.decomposable = instance(part, "the part alone is not consistent with any so within it".into());
            }
        }
    }

    /// Returns whether a part is consistent by itself, first with the choices of the whole, then with any.
    fn alone(&self, part: &Execution, so: &Pairs) -> Consistency {
        let of = |execution: &Execution| match consistent(self.specification, self.library, execution, None) {
            Ok(own) if own == *so => Consistency::Exactly,
            Ok(own) if own.is_subset(so) => Consistency::Within(*so.difference(&own).next().expect("the two differ")),
            _ => Consistency::No,
        };
        let first = of(part);
        if first == Consistency::Exactly {
            return first;
        }
        let expired = || (self.expired)();
        let others = match rechosen(self.specification, self.library, part, CHOICES, &expired) {
            Ok(others) => others,
            Err(stop) => return Consistency::Unknown(stop),
        };
        let mut best = first;
        for other in others {
            best = match (of(&other), best) {
                (Consistency::Exactly, _) => return Consistency::Exactly,
                (within @ Consistency::Within(_), Consistency::No) => within,
                (_, best) => best,
            };
            if expired() {
                return Consistency::Unknown(Stop::Time);
            }
        }
        best
    }

    /// Returns a pair of hb whose addition makes an inconsistent execution consistent, and whether some orders were
    /// left out.
    fn less_hb_disallows(&self, loose: &Libraries, execution: &Execution) -> (Option<(usize, usize)>, bool) {
        let so = consistent(loose, self.library, execution, None).expect("the search has found it");
        let edges: Pairs = so.iter().copied().chain(execution.ppo(self.specification)).collect();
        let least = closure(&edges);
        let is_good = |hb: &Pairs| consistent(self.specification, self.library, execution, Some(hb)).is_ok();
        let n = execution.subs.len();
        let mut todo = vec![(is_good(&least), least.clone())];
        let mut seen = BTreeSet::from([least]);
        while let Some((good, hb)) = todo.pop() {
            let open = (0..n).cartesian_product(0..n).filter(|&(a, b)| a != b && !hb.contains(&(b, a)));
            for (a, b) in open.filter(|p| !hb.contains(p)) {
                if seen.len() > ORDERS || (self.expired)() {
                    return (None, true);
                }
                let more = closure(&hb.iter().copied().chain([(a, b)]).collect());
                if !seen.insert(more.clone()) {
                    continue;
                }
                let still = is_good(&more);
                if still && !good {
                    return (Some((a, b)), false);
                }
                todo.push((still, more));
            }
        }
        (None, false)
    }

    /// Returns the proper non-empty parts of an execution that share no location with the rest.
    fn parts(&self, execution: &Execution) -> impl Iterator<Item = Vec<usize>> + use<> {
        let library = self.specification.get(self.library).expect("the library that is checked");
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut of_location: BTreeMap<_, usize> = BTreeMap::new();
        for (e, event) in execution.events.iter().enumerate() {
            let group = groups.len();
            groups.push(vec![e]);
            for loc in library.loc(&event.call) {
                match of_location.get(&loc).copied() {
                    None => {
                        of_location.insert(loc, group);
                    }
                    Some(other) if other != group => {
                        let moved = std::mem::take(&mut groups[other]);
                        groups[group].extend(moved);
                        of_location.values_mut().filter(|g| **g == other).for_each(|g| *g = group);
                    }
                    Some(_) => {}
                }
            }
        }
        groups.retain(|g| !g.is_empty());
        let all = groups.len();
        let parts = groups.into_iter().powerset().filter(move |p| !p.is_empty() && p.len() < all);
        parts.map(|p| p.into_iter().flatten().sorted().collect())
    }
}
