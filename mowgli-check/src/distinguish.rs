//! The `distinguish` command: the smallest client that distinguishes two specifications of one library.

use std::collections::BTreeSet;

use mowgli_core::ids::Name;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::{Client, clients};
use mowgli_core::soundness::verdict::Probes;
use mowgli_core::term::bound::Bound;
use mowgli_core::world::World;
use mowgli_libraries::entry::Entry;
use rayon::prelude::*;
use serde::Serialize;

use crate::entry::own_calls;
use crate::error::{Code, InputError};
use crate::interrupt::{Deadline, cause};
use crate::litmus::print::{self, Dialect};

/// The size of a group of clients. The clients of a group are searched in parallel.
const GROUP: usize = 64;

/// A client with an outcome that only one of two specifications has.
#[derive(Clone, Debug)]
pub struct SpecDifference {
    /// The name of the specification that has the outcome.
    pub allowed_by: &'static str,
    /// The name of the specification that lacks it.
    pub forbidden_by: &'static str,
    /// The dialect of the client.
    pub dialect: Dialect,
    /// The client, with calls of the specification that forbids the outcome.
    pub client: Client,
    /// The world of the client.
    pub world: World,
    /// The outcome.
    pub outcome: Outcome,
}

/// The result for two specifications.
#[derive(Clone, Debug, Default)]
pub struct SpecComparison {
    /// The smallest client that distinguishes them, if any.
    pub difference: Option<SpecDifference>,
    /// The number of clients that were searched.
    pub clients: usize,
    /// The limit that stopped the search, if any.
    pub stop: Option<Stop>,
}

/// Compares two specifications of one library: with the same methods, and objects of the same form.
///
/// # Errors
/// If they do not have the same methods.
pub fn distinguish(
    one: &Entry,
    other: &Entry,
    bounds: &[Bound],
    deadline: &Deadline,
    progress: &dyn Fn(usize, usize),
) -> Result<SpecComparison, InputError> {
    let mut compared = SpecComparison::default();
    let of_two = Bound { threads: 2, ..bounds[0].clone() };
    let methods = |e: &Entry| -> Result<BTreeSet<Name>, Stop> {
        let calls = own_calls(e, std::slice::from_ref(&of_two), &|| deadline.expired())?;
        Ok(calls.iter().map(|(_, _, call)| call.method).collect())
    };
    let (Ok(of_one), Ok(of_other)) = (methods(one), methods(other)) else {
        compared.stop = Some(cause(Stop::Time));
        return Ok(compared);
    };
    if of_one != of_other {
        return Err(InputError::new(
            Code::Unsupported,
            format!("{} and {} have different methods, so no client is a client of both", one.name, other.name),
        ));
    }
    for bound in bounds {
        if deadline.expired() {
            compared.stop = Some(Stop::Time);
            break;
        }
        within(one, other, bound, deadline, progress, &mut compared);
        if compared.difference.is_some() {
            break;
        }
    }
    compared.stop = compared.stop.map(cause);
    Ok(compared)
}

fn within(
    one: &Entry,
    other: &Entry,
    bound: &Bound,
    deadline: &Deadline,
    progress: &dyn Fn(usize, usize),
    compared: &mut SpecComparison,
) {
    let expired = || deadline.expired();
    let all = match clients(&*one.subject, bound, &expired) {
        Ok(all) => all,
        Err(stop) => {
            compared.stop = Some(stop);
            return;
        }
    };
    let memory = (one.memory.probes)(true);
    let own = one.probes.iter().map(|p| &**p).chain(other.probes.iter().map(|p| &**p));
    let probes: Vec<&dyn Probes> = own.chain([&*memory]).collect();
    let mut tasks: Vec<_> = probes.iter().flat_map(|p| (0..p.stages()).map(move |stage| (*p, stage))).collect();
    tasks.sort_by_key(|(_, stage)| *stage);
    let of = tasks.len() * all.len();
    for (position, (probe, stage)) in tasks.into_iter().enumerate() {
        for (done, group) in all.chunks(GROUP).enumerate() {
            progress(position * all.len() + done * GROUP, of);
            let extended: Vec<_> = group.iter().flat_map(|(world, c)| probe.extend(world, c, stage)).collect();
            let found: Vec<_> = extended.par_iter().map(|(w, c)| difference(one, other, w, c, &expired)).collect();
            for answer in found {
                compared.clients += 1;
                match answer {
                    Ok(None) => {}
                    Ok(found) => {
                        compared.difference = found;
                        return;
                    }
                    Err(stop) => {
                        compared.stop.get_or_insert(stop);
                    }
                }
            }
            if expired() {
                compared.stop = Some(Stop::Time);
                return;
            }
        }
    }
}

/// Returns the default bounds: two threads on two nodes, with one object, then with two objects and a call more.
#[must_use]
pub fn bounds(entry: &Entry) -> Vec<Bound> {
    let least = entry.through();
    vec![least.clone(), Bound { calls: least.calls + 1, objects: 2, ..least }]
}

/// Computes the outcomes of a client whose calls and objects are those of this entry's library.
fn outcomes(
    entry: &Entry,
    world: &World,
    client: &Client,
    expired: &dyn Fn() -> bool,
) -> Result<BTreeSet<Outcome>, Stop> {
    let libraries = entry.specification.and(&entry.memory.libraries);
    let limits = Limits { expired, ..Limits::default() };
    Problem { limits, ..Problem::of(&libraries, world, &client.programs()) }.results().all()
}

fn renamed(from: &Entry, to: &Entry, world: &World, client: &Client) -> (World, Client) {
    let (from, to) = (Name::literal(from.name), Name::literal(to.name));
    let (mut world, mut client) = (world.clone(), client.clone());
    world.objects.values_mut().filter(|o| o.library == from).for_each(|o| o.library = to);
    client.threads.iter_mut().flatten().filter(|c| c.library == from).for_each(|c| c.library = to);
    (world, client)
}

fn difference(
    one: &Entry,
    other: &Entry,
    world: &World,
    client: &Client,
    expired: &dyn Fn() -> bool,
) -> Result<Option<SpecDifference>, Stop> {
    let (other_world, other_client) = renamed(one, other, world, client);
    let of_one = outcomes(one, world, client, expired)?;
    let of_other = outcomes(other, &other_world, &other_client, expired)?;
    let only = |a: &BTreeSet<Outcome>, b: &BTreeSet<Outcome>| a.difference(b).next().cloned();
    let difference = |allowed: &Entry, forbidden: &Entry, world, client, outcome| SpecDifference {
        allowed_by: allowed.name,
        forbidden_by: forbidden.name,
        dialect: Dialect::of(forbidden),
        client,
        world,
        outcome,
    };
    if let Some(outcome) = only(&of_other, &of_one) {
        return Ok(Some(difference(other, one, world.clone(), client.clone(), outcome)));
    }
    let outcome = only(&of_one, &of_other);
    Ok(outcome.map(|outcome| difference(one, other, other_world, other_client, outcome)))
}

impl SpecDifference {
    /// Returns the client as a litmus test of the specification that forbids the outcome.
    #[must_use]
    pub fn litmus(&self) -> String {
        let name = format!("{}-not-{}", self.allowed_by, self.forbidden_by);
        print::forbidden(self.dialect, &name, &self.world, &self.client, &self.outcome)
    }
}

impl SpecComparison {
    /// Whether a client distinguishes them; `None` if a limit stopped the search before one was found.
    #[must_use]
    pub fn is_distinct(&self) -> Option<bool> {
        match (&self.difference, &self.stop) {
            (Some(_), _) => Some(true),
            (None, Some(_)) => None,
            (None, None) => Some(false),
        }
    }

    /// Returns the result in words.
    #[must_use]
    pub fn text(&self, one: &str, other: &str) -> String {
        match (&self.difference, &self.stop) {
            (Some(d), _) => {
                format!("{} forbids and {} allows the outcome of\n\n{}", d.forbidden_by, d.allowed_by, d.litmus())
            }
            (None, Some(stop)) => {
                format!(
                    "whether {one} and {other} differ was not known before {stop}, after {} clients\n",
                    self.clients
                )
            }
            (None, None) if one == other => {
                format!("{one} is compared with itself: each client has the same outcomes\n")
            }
            (None, None) => {
                format!("no difference between {one} and {other} within the bound: {} clients\n", self.clients)
            }
        }
    }

    /// Returns one JSON object.
    ///
    /// # Panics
    /// Never: the object consists of strings and numbers.
    #[must_use]
    pub fn json(&self, one: &str, other: &str) -> String {
        let json = DistinguishJson {
            distinguish: [one, other],
            distinct: self.is_distinct(),
            complete: self.stop.is_none(),
            stopped: self.stop.as_ref().map(ToString::to_string),
            clients: self.clients,
            allowed_by: self.difference.as_ref().map(|d| d.allowed_by),
            forbidden_by: self.difference.as_ref().map(|d| d.forbidden_by),
            litmus: self.difference.as_ref().map(SpecDifference::litmus),
        };
        serde_json::to_string(&json).expect("strings and numbers")
    }
}

#[derive(Serialize)]
struct DistinguishJson<'a> {
    distinguish: [&'a str; 2],
    distinct: Option<bool>,
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
    clients: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forbidden_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    litmus: Option<String>,
}
