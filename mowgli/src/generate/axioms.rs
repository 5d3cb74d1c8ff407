//! Tests of the RDMA models: for each cell of the stamp order, each part of so and of ib, and each demand, the smallest
//! programs with an outcome that is forbidden, and allowed where that part alone is taken away.

use std::collections::BTreeSet;
use std::fmt;

use itertools::Itertools;
use mowgli_core::event::{Cell, Event};
use mowgli_core::library::{Libraries, Library};
use mowgli_core::outcome::Outcome;
use mowgli_core::runs::Stop;
use mowgli_core::soundness::client::{Bound, Client, clients};
use mowgli_core::soundness::mutation::{Mutation, family, mutations, weakened};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::Stamp;
use mowgli_rdma::tso::{self, Tso};
use mowgli_rdma::wait::{self, IB, Wait};
use rayon::prelude::*;

use super::Generated;
use crate::compare::{Under, methods, outcomes, shown, subject, with_values};
use crate::litmus::order::{cells, without};
use crate::litmus::print;
use crate::litmus::run::libraries;
use crate::litmus::test::Model;

/// What is taken away from a model.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pivot {
    /// A cell of the stamp order.
    To(String, String),
    /// A part of ib.
    Ib(&'static str),
    /// A part of so.
    So(&'static str),
    /// A demand.
    Axiom(&'static str),
}

impl fmt::Display for Pivot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::To(a, b) => write!(f, "to:{a}-{b}"),
            Self::Ib(part) => write!(f, "ib:{part}"),
            Self::So(part) => write!(f, "so:{part}"),
            Self::Axiom(name) => write!(f, "axiom:{name}"),
        }
    }
}

/// The model itself: without the libraries on top of it, where it has some.
fn whole(model: Model) -> Libraries<Stamp> {
    if model == Model::RdmaWait { Libraries::default().with(Wait) } else { libraries(model) }
}

/// Everything that can be taken from a model.
#[must_use]
pub fn pivots(model: Model) -> Vec<Pivot> {
    let all = whole(model);
    let to = cells(&all).into_iter().map(|(a, b)| Pivot::To(a, b));
    let part = |mutation| match mutation {
        Mutation::So(part) => Some(Pivot::So(part)),
        Mutation::Axiom(name) => Some(Pivot::Axiom(name)),
        Mutation::Stamp(..) => None,
    };
    let parts = mutations(&all, model.memory(), &[]).into_iter().filter_map(part);
    // Only polls order the two writes of a read-modify-write.
    let ib = IB.into_iter().filter(|part| *part != "rmw" || model != Model::RdmaWait).map(Pivot::Ib);
    to.chain(ib).chain(parts).collect()
}

fn weaker(model: Model, pivot: &Pivot) -> Libraries<Stamp> {
    let (all, name) = (whole(model), model.memory());
    match pivot {
        Pivot::To(a, b) => without(&all, &(a.clone(), b.clone())),
        Pivot::Ib(part) if model == Model::RdmaWait => all.respecified(name, |spec| *spec = wait::without_in_ib(part)),
        Pivot::Ib(part) => all.respecified(name, |spec| *spec = tso::without_in_ib(part)),
        Pivot::So(part) => weakened(&all, name, &Mutation::So(part)),
        Pivot::Axiom(axiom) => weakened(&all, name, &Mutation::Axiom(axiom)),
    }
}

/// What was found for one pivot.
#[derive(Clone, Debug)]
pub struct Found {
    /// The pivot.
    pub pivot: Pivot,
    /// The smallest programs, each with an outcome that the pivot alone forbids and all outcomes that are allowed; none
    /// if there is none within the bound.
    pub programs: Vec<(World, Client, Outcome, BTreeSet<Outcome>)>,
    /// Whether it can matter to any program that was looked at: a cell of the stamp order does where both stamps occur.
    pub occurs: bool,
}

/// What a search for tests found.
#[derive(Clone, Debug)]
pub struct Search {
    /// For each pivot its programs.
    pub found: Vec<Found>,
    /// How many programs were looked at.
    pub programs: usize,
    /// What stopped the search.
    pub stop: Option<Stop>,
}

/// The pairs of families of stamps that a program has in its threads, in program order; a call's own pairs too.
fn families(library: &dyn Library<Stamp>, (world, client): &(World, Client)) -> BTreeSet<(String, String)> {
    let mut pairs = BTreeSet::new();
    for (thread, calls) in world.tids().zip(&client.threads) {
        let mut before = BTreeSet::new();
        for call in calls {
            let cells = |_: Cell| vec![Val::Int(0), Val::Int(1), Val::Int(2)];
            // What a call returns may depend on those before it; its stamps do so only through that.
            let mut returns = library.returns(world, thread, call, &cells);
            returns.push(Val::Unit);
            let events = returns.into_iter().map(|ret| Event { thread, call: call.clone(), ret });
            let own: BTreeSet<String> = events
                .flat_map(|e| library.shapes(world, &e))
                .flat_map(|shape| shape.iter().map(|s| family(s.stamp)).collect::<Vec<_>>())
                .collect();
            before.extend(own.iter().cloned());
            pairs.extend(before.iter().cloned().cartesian_product(own.iter().cloned()));
        }
    }
    pairs
}

/// An outcome that only a weaker model allows, and all that are allowed.
type Noticed = Option<(Outcome, BTreeSet<Outcome>)>;

/// Programs are looked at in groups of this many.
const GROUP: usize = 256;

/// For each pivot the smallest programs within the bound that notice when it is taken away, at most `most` of them.
pub fn search(
    model: Model,
    rmw: bool,
    pivots: &[Pivot],
    (bound, most): (&Bound, usize),
    expired: &(dyn Fn() -> bool + Sync),
) -> Search {
    let library: &dyn Library<Stamp> = if model == Model::RdmaWait { &Wait } else { &Tso };
    let all: Under = (model, whole(model));
    let mut open: Vec<(Found, Under)> = pivots
        .iter()
        .map(|p| (Found { pivot: p.clone(), programs: Vec::new(), occurs: false }, (model, weaker(model, p))))
        .collect();
    let mut done = Vec::new();
    let (mut programs, mut stop) = (0, None);
    let subject = subject(model, rmw);
    'sizes: for total in 1..=bound.total.unwrap_or(bound.threads * bound.calls) {
        let mut sized = clients(&*subject, &Bound { total: Some(total), ..bound.clone() });
        sized.retain(|(_, client)| client.len() == total);
        // The plainest first: few threads, few different methods.
        sized.sort_by_key(|(world, client)| (world.threads.len(), methods(client)));
        for group in sized.chunks(GROUP) {
            let wanted: Vec<(&Pivot, &Under)> =
                open.iter().filter(|(f, _)| f.programs.len() < most).map(|(f, under)| (&f.pivot, under)).collect();
            let of = |program: &(World, Client)| -> Result<Vec<(Pivot, Noticed)>, Stop> {
                let program = (with_values(program.0.clone()), program.1.clone());
                let pairs = families(library, &program);
                let matters = |p: &Pivot| !matches!(p, Pivot::To(a, b) if !pairs.contains(&(a.clone(), b.clone())));
                let mut allowed = None;
                let mut answers = Vec::new();
                for (pivot, under) in wanted.iter().filter(|(p, _)| matters(p)) {
                    let allowed = match &allowed {
                        Some(known) => known,
                        None => allowed.insert(outcomes(&all, model, &program, &|| expired())?),
                    };
                    let more = outcomes(under, model, &program, &|| expired())?;
                    let new = more.difference(allowed).next().map(|o| (o.clone(), allowed.clone()));
                    answers.push(((*pivot).clone(), new));
                }
                Ok(answers)
            };
            let answers: Vec<_> = group.par_iter().map(of).collect();
            programs += group.len();
            for ((world, client), answer) in group.iter().zip(answers) {
                match answer {
                    Err(s) => _ = stop.get_or_insert(s),
                    Ok(answers) => {
                        for (pivot, new) in answers {
                            let found = &mut open.iter_mut().find(|(f, _)| f.pivot == pivot).expect("it is open").0;
                            found.occurs = true;
                            if let (Some((outcome, allowed)), true) = (new, found.programs.len() < most) {
                                found.programs.push((with_values(world.clone()), client.clone(), outcome, allowed));
                            }
                        }
                    }
                }
            }
            if expired() {
                stop = Some(Stop::Time);
                break 'sizes;
            }
        }
        done.extend(open.extract_if(.., |(f, _)| !f.programs.is_empty()).map(|(f, _)| f));
        if open.is_empty() {
            break;
        }
    }
    done.extend(open.into_iter().map(|(f, _)| f));
    done.sort_by_key(|f| pivots.iter().position(|p| *p == f.pivot));
    Search { found: done, programs, stop }
}

impl Found {
    /// The programs with names and expectations.
    #[must_use]
    pub fn generated(&self, model: Model) -> Vec<Generated> {
        let one =
            |(number, (world, client, outcome, allowed)): (usize, &(World, Client, Outcome, BTreeSet<Outcome>))| {
                let name = format!("{}-{number}", self.pivot.to_string().replace(':', "-")).to_lowercase();
                let condition =
                    |o: &Outcome| shown(world, o).into_iter().map(|(name, v)| format!("{name}={v}")).join(" /\\ ");
                let outputs: Vec<String> = allowed.iter().map(condition).collect();
                let forbidden = condition(outcome);
                let text = print::client(&name, world, client, None);
                // The header is a line of its own; programs with polls are the same text for both models that have them.
                let (_, rest) = text.split_once('\n').expect("a test has lines");
                let about = format!("Only {} forbids the outcome", self.pivot);
                let litmus = format!("{model} {name}\n\"{about}\"\n{rest}forbidden ({forbidden})\n");
                Generated { name, pivot: self.pivot.to_string(), litmus, outputs, forbidden: Some(forbidden) }
            };
        (1..).zip(&self.programs).map(one).collect()
    }
}
