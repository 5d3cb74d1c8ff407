//! All outcomes of a litmus test, and whether its assertions hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use mowgli_core::ids::Name;
use mowgli_core::implementation::{Implementation, Implementations};
use mowgli_core::library::Libraries;
use mowgli_core::outcome::{Explored, Limits, Outcome, Problem};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::bal::{self, Bal, BalOverSv};
use mowgli_libraries::sv::{self, Sv, SvOverWait};
use mowgli_rdma::Stamp;
use mowgli_rdma::wait::Wait;

use super::test::{Assertion, Observable, Quantifier, Test};

/// The libraries of `RDMA_WAIT`.
#[must_use]
pub fn libraries() -> Libraries<Stamp> {
    Libraries::default().with(Wait).with(Sv).with(Bal::Plain).with(Bal::Transitive)
}

/// The published implementation of a library, by the library's name.
#[must_use]
pub fn implementation(library: Name) -> Option<Arc<dyn Implementation>> {
    match library {
        sv::SV => Some(Arc::new(SvOverWait::Published)),
        bal::BAL => Some(Arc::new(BalOverSv::default())),
        bal::BAL_TRANSITIVE => Some(Arc::new(BalOverSv { of: Bal::Transitive, ..BalOverSv::default() })),
        _ => None,
    }
}

/// Puts implementations into force, one by one from left to right: their objects join the world.
pub fn implement(world: &mut World, chain: &[Arc<dyn Implementation>]) -> Implementations {
    let mut implementations = Implementations::new();
    for implementation in chain {
        implementation.declare(world);
        implementations.insert(implementation.target(), Arc::clone(implementation));
    }
    implementations
}

/// What was computed for a test.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The outcomes: a value for everything that the test shows, with the number of classes of executions.
    pub outcomes: BTreeMap<Vec<Val>, u64>,
    /// For each assertion whether it holds of these outcomes.
    pub holds: Vec<bool>,
    /// What the search did, and what stopped it.
    pub explored: Explored,
}

/// Solves a test, with the libraries of `chain` replaced by their implementations.
#[must_use]
pub fn solve(test: &Test, chain: &[Arc<dyn Implementation>], limits: Limits<'_>) -> Answer {
    let mut world = test.world.clone();
    let implementations = implement(&mut world, chain);
    let libraries = implementations.keys().fold(libraries(), |all, name| all.without(*name));
    let problem = Problem {
        libraries: &libraries,
        implementations: &implementations,
        world: &world,
        programs: &test.programs(),
        observed: &test.observed,
        limits,
    };
    let all = problem.outcomes();
    let mut outcomes = BTreeMap::new();
    for (outcome, count) in &all.found {
        *outcomes.entry(shown(test, outcome)).or_insert(0) += count;
    }
    let holds = test.assertions.iter().map(|a| holds(a, outcomes.keys())).collect();
    Answer { outcomes, holds, explored: all.explored }
}

/// The values that a test shows of an outcome.
#[must_use]
pub fn shown(test: &Test, outcome: &Outcome) -> Vec<Val> {
    let value = |o: &Observable| match *o {
        Observable::Register(thread, position) => match outcome.outputs[thread] {
            Val::Tuple(registers) => registers.parts()[position],
            other => other,
        },
        Observable::Final(position) => outcome.finals[position],
    };
    test.shown.iter().map(|(_, o)| value(o)).collect()
}

fn holds<'a>(assertion: &Assertion, mut outcomes: impl Iterator<Item = &'a Vec<Val>>) -> bool {
    match assertion.quantifier {
        Quantifier::Allowed => outcomes.any(|o| assertion.condition.holds(o)),
        Quantifier::Forbidden => !outcomes.any(|o| assertion.condition.holds(o)),
        Quantifier::Forall => outcomes.all(|o| assertion.condition.holds(o)),
    }
}
