//! All outcomes of a litmus test, and whether its assertions hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use mowgli_core::implementation::{Implementation, Implementations};
use mowgli_core::library::Libraries;
use mowgli_core::outcome::{Explored, Limits, Outcome, Problem};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_rdma::Stamp;
use mowgli_rdma::tso::Tso;
use mowgli_rdma::wait::Wait;

use super::test::{Assertion, Model, Observable, Quantifier, Test};

/// The libraries of a model.
#[must_use]
pub fn libraries(model: Model) -> Libraries<Stamp> {
    if model == Model::RdmaTso {
        return Libraries::default().with(Tso);
    }
    catalogue().iter().fold(Libraries::default().with(Wait), |all, entry| all.and(&entry.specification))
}

/// The implementation that `name` stands for: that of a library, or `library:variant`.
///
/// # Errors
/// What there is instead, if there is no such implementation.
pub fn implementation(name: &str) -> Result<Arc<dyn Implementation>, String> {
    let (library, variant) = name.split_once(':').unwrap_or((name, "published"));
    let all = catalogue();
    Ok(Arc::clone(&named(&all, library)?.variant(variant)?.implementation))
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
    /// For each assertion whether it holds; `None` if that depends on outcomes that a limit kept from being found.
    pub holds: Vec<Option<bool>>,
    /// What the search did, and what stopped it.
    pub explored: Explored,
}

/// Asks something of a test as a problem over these libraries, with those of `chain` replaced by their implementations.
pub fn with_problem<T>(
    libraries: &Libraries<Stamp>,
    test: &Test,
    chain: &[Arc<dyn Implementation>],
    limits: Limits<'_>,
    ask: impl FnOnce(&Problem<'_, Stamp>) -> T,
) -> T {
    let mut world = test.world.clone();
    let implementations = implement(&mut world, chain);
    let libraries = implementations.keys().fold(libraries.clone(), |all, name| all.without(*name));
    ask(&Problem {
        libraries: &libraries,
        implementations: &implementations,
        world: &world,
        programs: &test.programs(),
        observed: &test.observed,
        limits,
    })
}

/// Solves a test, with the libraries of `chain` replaced by their implementations.
#[must_use]
pub fn solve(test: &Test, chain: &[Arc<dyn Implementation>], limits: Limits<'_>) -> Answer {
    solve_over(&libraries(test.model), test, chain, limits)
}

/// As [`solve`], over other libraries, or another stamp order, than those of the test's model.
#[must_use]
pub fn solve_over(
    libraries: &Libraries<Stamp>,
    test: &Test,
    chain: &[Arc<dyn Implementation>],
    limits: Limits<'_>,
) -> Answer {
    let all = with_problem(libraries, test, chain, limits, |problem| problem.outcomes());
    let mut outcomes = BTreeMap::new();
    for (outcome, count) in &all.found {
        *outcomes.entry(shown(test, outcome)).or_insert(0) += count;
    }
    let complete = all.explored.stop.is_none();
    let holds = test.assertions.iter().map(|a| holds(a, outcomes.keys(), complete)).collect();
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

fn holds<'a>(assertion: &Assertion, mut outcomes: impl Iterator<Item = &'a Vec<Val>>, complete: bool) -> Option<bool> {
    // One outcome settles it; that there is none does so only when all are known.
    let (settled_by, answer) = match assertion.quantifier {
        Quantifier::Allowed => (true, true),
        Quantifier::Forbidden => (true, false),
        Quantifier::Forall => (false, false),
    };
    if outcomes.any(|o| assertion.condition.holds(o) == settled_by) {
        Some(answer)
    } else {
        complete.then_some(!answer)
    }
}
