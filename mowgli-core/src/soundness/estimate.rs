//! How much work a check is, before it is done: its clients by shape, of which some can be looked at.

use std::collections::BTreeMap;

use super::ledger::shape;
use super::orbits::Orbits;
use super::renaming::{Asked, Side};
use super::verdict::{Other, Question};
use crate::ids::Name;
use crate::problem::Found;
use crate::soundness::client::Client;
use crate::stamp::Stamp;
use crate::world::World;

/// The clients of a check. Those that may be one another, renamed, are a class; classes whose clients make the same calls have a
/// shape.
pub struct Plan<'q, 'a, S: Stamp> {
    question: &'q Question<'a, S>,
    clients: Vec<(World, Client)>,
    orbits: Orbits,
    asked: [Asked<S>; 2],
    /// For each shape the first client of each class.
    shapes: Vec<Vec<usize>>,
}

/// The number of calls of a client, the methods that its threads call, and the nodes.
type Shape = (usize, Vec<Vec<Name>>, u8);

/// What was found of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// Classes of consistent executions of its clients.
    pub executions: u64,
    /// Leaves of the search.
    pub leaves: u64,
}

impl<'q, 'a, S: Stamp> Plan<'q, 'a, S> {
    /// The clients of a question.
    pub fn of(question: &'q Question<'a, S>) -> Found<Self> {
        let ((clients, _), stop) = question.clients().into_parts();
        let orbits = Orbits::of(&clients, &question.bound.values);
        let mut shapes: BTreeMap<Shape, Vec<usize>> = BTreeMap::new();
        for first in orbits.all_firsts() {
            let (world, client) = &clients[first];
            shapes.entry((client.len(), shape(client), world.nodes)).or_default().push(first);
        }
        let asked = [Asked::by(&question.below), Asked::by(&question.specification)];
        Found::new(Self { question, clients, orbits, asked, shapes: shapes.into_values().collect() }, stop)
    }

    /// How many clients there are.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// For each shape, small clients first, the first client of each of its classes.
    #[must_use]
    pub fn shapes(&self) -> &[Vec<usize>] {
        &self.shapes
    }

    /// Looks at all clients of the class of this one, as the check does.
    #[must_use]
    pub fn look(&self, first: usize) -> Work {
        let libraries = [&self.question.below, &self.question.specification];
        let [below, specified] = [0, 1].map(|i| Side { libraries: libraries[i], asked: &self.asked[i] });
        let sides = [below, specified];
        let mut left = self.orbits.alike(first);
        let mut work = Work { executions: 0, leaves: 0 };
        while let Some((&i, others)) = left.split_first() {
            let other =
                |&j: &usize| Other { position: j, client: &self.clients[j], renaming: self.orbits.between(i, j) };
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
