//! Weaker specifications than a given one: without one part of so, one axiom, or one kind of stamp.

use std::collections::BTreeSet;
use std::fmt;

use crate::event::{Call, Cell, Event, Shape, Sub, Writes};
use crate::ids::{Name, Tid};
use crate::library::{Equivariance, Libraries, Reshaping};
use crate::value::Val;
use crate::world::World;

/// The part that a mutation removes from a specification.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mutation {
    /// A part of so.
    So(&'static str),
    /// A demand.
    Axiom(&'static str),
    /// A family of stamps of a method, for example aGF of BAR.
    Stamp(Name, String),
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::So(part) => write!(f, "{part} of so"),
            Self::Axiom(name) => write!(f, "axiom {name}"),
            Self::Stamp(method, family) => write!(f, "{family} of {method}"),
        }
    }
}

/// Everything that can be taken from the specification of a library, as far as it shows in these calls.
#[must_use]
pub fn mutations(libraries: &Libraries, name: Name, calls: &[(World, Tid, Call)]) -> Vec<Mutation> {
    let (Some(library), Some(spec)) = (libraries.get(name), libraries.spec(name)) else { return Vec::new() };
    let so = spec.so.iter().map(|(part, _)| Mutation::So(part));
    let axioms = spec.demands.iter().map(|(axiom, ..)| Mutation::Axiom(axiom));
    let mut all: BTreeSet<Mutation> = so.chain(axioms).collect();
    for (world, thread, call) in calls {
        let cells = |_: Cell| vec![Val::Int(0), Val::Int(1)];
        for ret in library.returns(world, &[], *thread, call, &cells) {
            let event = Event { thread: *thread, call: call.clone(), ret };
            for shape in library.shapes(world, &event) {
                let families: BTreeSet<String> = shape.iter().map(|s| s.stamp.family()).collect();
                let without = families.into_iter().filter(|f| without(&shape, f).is_some());
                all.extend(without.map(|f| Mutation::Stamp(call.method, f)));
            }
        }
    }
    all.into_iter().collect()
}

/// A shape without the subevents of a family; `None` if nothing would be left, or something that others depend on would go.
fn without(shape: &Shape, gone: &str) -> Option<Shape> {
    let stays: Vec<usize> = (0..shape.len()).filter(|&i| shape[i].stamp.family() != gone).collect();
    let moved = |from: usize| stays.iter().position(|&i| i == from);
    let kept: Option<Shape> = stays
        .iter()
        .map(|&i| {
            let writes = match shape[i].writes {
                Some(Writes::Copy(from)) => Some(Writes::Copy(moved(from)?)),
                Some(Writes::Step(from)) => Some(Writes::Step(moved(from)?)),
                other => other,
            };
            Some(Sub { writes, ..shape[i] })
        })
        .collect();
    kept.filter(|k| !k.is_empty())
}

/// The libraries with one of them weakened.
///
/// # Panics
/// If there is no library of this name.
#[must_use]
pub fn weakened(libraries: &Libraries, name: Name, mutation: &Mutation) -> Libraries {
    let libraries = libraries.clone();
    match mutation {
        Mutation::So(part) => libraries.respecified(name, |spec| spec.so.retain(|(p, _)| p != part)),
        Mutation::Axiom(axiom) => libraries.respecified(name, |spec| spec.demands.retain(|(a, ..)| a != axiom)),
        Mutation::Stamp(method, family) => {
            libraries.reshaped(name, WithoutStamp { method: *method, family: family.clone() })
        }
    }
}

/// One method has no stamp of some family.
struct WithoutStamp {
    method: Name,
    family: String,
}

impl Reshaping for WithoutStamp {
    fn equivariance(&self) -> Equivariance {
        Equivariance::Names
    }

    fn shapes(&self, _: &World, event: &Event, known: Vec<Shape>) -> Vec<Shape> {
        if event.call.method != self.method {
            return known;
        }
        known.into_iter().map(|shape| without(&shape, &self.family).unwrap_or(shape)).collect()
    }
}
