//! How much work a check is, before it is done: its clients by shape, of which some can be looked at.

use std::collections::BTreeMap;

use super::client::{Client, MOST};
use super::looked::Other;
use super::orbits::Orbits;
use super::question::Question;
use super::renaming::{Asked, Side};
use super::shares::{shape, weight};
use crate::ids::Name;
use crate::problem::Found;
use crate::runs::Stop;
use crate::world::World;

/// The work of a check, by shape of clients.
pub struct Plan<'q, 'a> {
    question: &'q Question<'a>,
    /// How many clients there are within the bound.
    count: usize,
    /// Those that are looked at.
    clients: Vec<(World, Client)>,
    ask: Ask,
    shapes: Vec<Shape>,
}

/// What is asked of clients.
enum Ask {
    /// Local soundness. Those that may be one another, renamed, are a class.
    Local(Orbits, [Asked; 2]),
    /// Outcomes. Each is a class of its own.
    Outcomes,
}

/// Classes of clients that have their size, the methods of their threads, the number of nodes, and how often members of objects
/// call in common.
pub struct Shape {
    /// How heavy its clients are, roughly: the search grows exponentially with it.
    pub weight: usize,
    /// The first client of each class.
    pub classes: Vec<usize>,
}

/// What a client has in common with those of its shape.
type Key = (usize, Vec<Vec<Name>>, u8, Vec<Vec<usize>>);

fn key((world, client): &(World, Client)) -> Key {
    // A barrier whose members call it unequally often is another thing than one where they do not.
    let calls = |members: &[crate::ids::Tid]| {
        let mut calls: Vec<usize> = members.iter().map(|t| client.threads[t.index()].len()).collect();
        calls.sort_unstable();
        calls
    };
    let objects = world.objects.values().map(|object| calls(&object.members)).collect();
    (weight(client), shape(client), world.nodes, objects)
}

/// What was found of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// Classes of consistent executions of its clients; none where outcomes are asked for, which need not be told apart.
    pub executions: u64,
    /// Leaves of the search.
    pub leaves: u64,
}

impl<'q, 'a> Plan<'q, 'a> {
    /// The clients of a question about local soundness.
    pub fn of(question: &'q Question<'a>) -> Found<Self> {
        let ((clients, _), stop) = question.clients().into_parts();
        let orbits = Orbits::of(&clients, &question.bound.values);
        let firsts = orbits.all_firsts();
        let asked = [Asked::by(&question.below), Asked::by(&question.specification)];
        let (count, ask) = (clients.len(), Ask::Local(orbits, asked));
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
        let (count, ask) = (small.len(), Ask::Outcomes);
        let all = (0..clients.len()).collect();
        Found::new(Self { question, count, shapes: shapes(&clients, all), clients, ask }, stop)
    }

    /// How many clients there are.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.count
    }

    /// The shapes, light ones first.
    #[must_use]
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// How many clients the class of this one has.
    #[must_use]
    pub fn alike(&self, first: usize) -> usize {
        match &self.ask {
            Ask::Local(orbits, _) => orbits.alike(first).len(),
            Ask::Outcomes => 1,
        }
    }

    /// Looks at all clients of the class of this one, as the check does.
    #[must_use]
    pub fn look(&self, first: usize) -> Work {
        match &self.ask {
            Ask::Local(orbits, asked) => self.look_at_class(first, orbits, asked),
            Ask::Outcomes => {
                let (world, client) = &self.clients[first];
                // What it says is no matter: a check that finds something ends sooner.
                let _ = self.question.wrong_outcome(world, client);
                Work { executions: 0, leaves: 0 }
            }
        }
    }

    fn look_at_class(&self, first: usize, orbits: &Orbits, asked: &[Asked; 2]) -> Work {
        let libraries = [&self.question.below, &self.question.specification];
        let sides = [0, 1].map(|i| Side { libraries: libraries[i], asked: &asked[i] });
        let mut left = orbits.alike(first);
        let mut work = Work { executions: 0, leaves: 0 };
        while let Some((&i, others)) = left.split_first() {
            let other = |&j: &usize| Other { position: j, client: &self.clients[j], renaming: orbits.between(i, j) };
            let others: Vec<Other<'_>> = others.iter().map(other).collect();
            let looked = self.question.local(&self.clients[i], self.question.asks_progress, &others, &sides);
            let stats = looked.local.explored.stats;
            work.executions += stats.classes * (1 + looked.renamed.len() as u64);
            work.leaves += stats.leaves;
            left.retain(|j| *j != i && !looked.renamed.contains(j));
        }
        work
    }
}

fn shapes(clients: &[(World, Client)], firsts: Vec<usize>) -> Vec<Shape> {
    let mut shapes: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    firsts.into_iter().for_each(|first| shapes.entry(key(&clients[first])).or_default().push(first));
    shapes.into_iter().map(|((weight, ..), classes)| Shape { weight, classes }).collect()
}
