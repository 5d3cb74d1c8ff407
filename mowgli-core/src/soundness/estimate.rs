//! An estimate of the work of a check: its clients grouped by shape, so that the caller can measure a sample.

use std::collections::BTreeMap;

use super::client::{Client, MOST};
use super::orbits::Orbits;
use super::question::Question;
use super::shares::{shape, weight};
use crate::ids::Name;
use crate::problem::Found;
use crate::runs::Stop;
use crate::world::World;

/// The work of a check, by shape of clients.
pub struct Plan<'q, 'a> {
    question: &'q Question<'a>,
    /// The number of clients within the bound.
    count: usize,
    /// The clients that the check visits.
    clients: Vec<(World, Client)>,
    ask: EstimateFor,
    shapes: Vec<ClientShape>,
}

/// The question of the check.
enum EstimateFor {
    /// Local soundness. Symmetric clients form a class.
    Local(Orbits),
    /// Outcomes. Each client is its own class.
    Outcomes,
}

/// The classes of clients with the same size, methods of the threads, number of nodes, and numbers of calls of the
/// members of objects.
pub struct ClientShape {
    /// The approximate weight of its clients. The work grows exponentially with it.
    pub weight: usize,
    /// The first client of each class.
    pub classes: Vec<usize>,
}

/// The common part of the clients of a shape.
type ClassKey = (usize, Vec<Vec<Name>>, u8, Vec<Vec<usize>>);

fn key((world, client): &(World, Client)) -> ClassKey {
    // A barrier with equal numbers of calls of all members behaves differently from one with unequal numbers.
    let calls = |members: &[crate::ids::Tid]| {
        let mut calls: Vec<usize> = members.iter().map(|t| client.threads[t.index()].len()).collect();
        calls.sort_unstable();
        calls
    };
    let objects = world.objects.values().map(|object| calls(&object.members)).collect();
    (weight(client), shape(client), world.nodes, objects)
}

/// The work on a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassWork {
    /// The classes of consistent executions of its clients; 0 if the check compares outcomes, because that
    /// distinguishes no executions.
    pub executions: u64,
    /// Leaves of the search.
    pub leaves: u64,
}

impl<'q, 'a> Plan<'q, 'a> {
    /// Returns the plan of a question about local soundness.
    pub fn of(question: &'q Question<'a>) -> Found<Self> {
        let ((clients, _), stop) = question.clients().into_parts();
        let orbits = Orbits::of(question, &clients);
        let firsts = orbits.firsts().collect();
        let (count, ask) = (clients.len(), EstimateFor::Local(orbits));
        Found::new(Self { question, count, shapes: shapes(&clients, firsts), clients, ask }, stop)
    }

    /// The clients of a question about outcomes, with all that probes make of them.
    pub fn of_outcomes(question: &'q Question<'a>) -> Found<Self> {
        let ((small, _), mut stop) = question.clients().into_parts();
        let mut clients: Vec<(World, Client)> = Vec::new();
        for probed in question.probed(&small) {
            clients.extend(probed);
            let is_full = (clients.len() > MOST).then_some(Stop::Clients(MOST));
            if let Some(full) = is_full.or((question.expired)().then_some(Stop::Time)) {
                stop = Some(full);
                break;
            }
        }
        let (count, ask) = (small.len(), EstimateFor::Outcomes);
        let all = (0..clients.len()).collect();
        Found::new(Self { question, count, shapes: shapes(&clients, all), clients, ask }, stop)
    }

    /// Returns the number of clients within the bound.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.count
    }

    /// Returns the shapes, light ones first.
    #[must_use]
    pub fn shapes(&self) -> &[ClientShape] {
        &self.shapes
    }

    /// Returns the number of clients in the class of this one.
    #[must_use]
    pub fn alike(&self, first: usize) -> usize {
        match &self.ask {
            EstimateFor::Local(orbits) => orbits.of_first(first).len(),
            EstimateFor::Outcomes => 1,
        }
    }

    /// Does the work of the check on all clients of the class of this one.
    #[must_use]
    pub fn look(&self, first: usize) -> ClassWork {
        match &self.ask {
            EstimateFor::Local(orbits) => {
                let (client, asks_progress) = (&self.clients[first], self.question.asks_progress);
                let stats = self.question.local(&orbits.symmetry, client, asks_progress).local.explored.stats;
                let alike = orbits.of_first(first).len() as u64;
                ClassWork { executions: stats.classes * alike, leaves: stats.leaves }
            }
            EstimateFor::Outcomes => {
                let (world, client) = &self.clients[first];
                // The answer does not matter here, although a check that finds a counterexample ends sooner.
                let _ = self.question.wrong_outcome(world, client);
                ClassWork { executions: 0, leaves: 0 }
            }
        }
    }
}

fn shapes(clients: &[(World, Client)], firsts: Vec<usize>) -> Vec<ClientShape> {
    let mut shapes: BTreeMap<ClassKey, Vec<usize>> = BTreeMap::new();
    firsts.into_iter().for_each(|first| shapes.entry(key(&clients[first])).or_default().push(first));
    shapes.into_iter().map(|((weight, ..), classes)| ClientShape { weight, classes }).collect()
}
