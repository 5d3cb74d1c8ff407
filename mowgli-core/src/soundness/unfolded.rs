//! Implementations and specifications as text: the bodies, the parts, and the promises of every call. Two runs with the
//! same text ask the same question.

use crate::event::{Call, Cell, Event};
use crate::ids::{Name, Tid};
use crate::library::{Hints, Libraries};
use crate::term::implementation::{Implementation, add_parts};
use crate::value::Val;
use crate::world::World;

/// The error for an implementation without terms.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0} has no bodies, so no two runs of it are known to be the same")]
pub struct NoBodies(pub Name);

/// Prints the bodies of an implementation, and its parts in these worlds. An opaque function appears by its name alone.
///
/// # Errors
/// If it has no bodies.
pub fn bodies(
    implementation: &dyn Implementation,
    calls: &[(World, Tid, Call)],
    tell: &mut dyn FnMut(&str),
) -> Result<(), NoBodies> {
    let Some(bodies) = implementation.bodies() else {
        return Err(NoBodies(implementation.target()));
    };
    bodies.iter().for_each(|(method, body)| tell(&format!("{method}: {body}")));
    for (world, thread, call) in calls {
        let mut world = world.clone();
        add_parts(implementation, &mut world);
        tell(&format!("{world:?} {thread} {call:?}"));
    }
    Ok(())
}

/// Prints the shapes of these calls by their library, for every possible result.
pub fn shapes(libraries: &Libraries, calls: &[(World, Tid, Call)], tell: &mut dyn FnMut(&str)) {
    for (world, thread, call) in calls {
        let Some(library) = libraries.get(call.library) else { continue };
        for ret in results(library, world, *thread, call) {
            let event = Event { thread: *thread, call: call.clone(), ret };
            tell(&format!("{event:?} {:?}", library.shapes(world, &event)));
        }
    }
}

/// Returns the possible results of a call if cells hold small numbers or their initial values.
fn results(library: &dyn Hints, world: &World, thread: Tid, call: &Call) -> Vec<Val> {
    if library.fault(world, thread, call).is_some() {
        return Vec::new();
    }
    let cells = |cell: Cell| {
        let mut values: Vec<Val> = (0..=2).map(Val::Int).collect();
        let init = library.init(world, cell);
        if !values.contains(&init) {
            values.push(init);
        }
        values
    };
    library.returns(world, &[], thread, call, &cells)
}
