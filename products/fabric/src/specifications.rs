//! The specifications of the libraries of a group, which say of a call why it is illegal.

use std::collections::BTreeMap;
use std::sync::Arc;

use mowgli_core::event::{Call, Event};
use mowgli_core::ids::{Name, Tid};
use mowgli_core::library::Hints;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::entry::Entry;

use crate::made::Declared;

/// A world, and the specifications of its libraries.
pub(crate) struct Specifications {
    pub(crate) world: World,
    libraries: BTreeMap<Name, Arc<dyn Hints>>,
}

impl Specifications {
    pub(crate) fn new(world: World, entries: &[Entry]) -> Self {
        let of = |entry: &Entry| {
            let name = Name::literal(entry.name);
            (name, entry.specification.shared(name))
        };
        Self { world, libraries: entries.iter().map(of).collect() }
    }

    /// Describes the error in a call of a thread, if there is one.
    pub(crate) fn fault(&self, thread: Tid, call: &Call) -> Option<String> {
        fault(&**self.libraries.get(&call.library)?, &self.world, thread, call)
    }
}

impl Declared {
    /// Describes the error in a call of a thread, if there is one.
    pub(crate) fn fault(&self, thread: Tid, call: &Call) -> Option<String> {
        let entry = self.entries.iter().find(|entry| entry.name == call.library.text())?;
        fault(&*entry.specification.shared(call.library), &self.world, thread, call)
    }
}

fn fault(library: &dyn Hints, world: &World, thread: Tid, call: &Call) -> Option<String> {
    let is_possible = |ret: Val| {
        let event = Event { thread, call: call.clone(), ret };
        !library.shapes(world, &event).is_empty()
    };
    let fault = library.fault(world, thread, call).or_else(|| {
        let results = [Val::Unit, Val::Bot, Val::Bool(true), Val::Bool(false), Val::Int(0)];
        (!results.into_iter().any(is_possible)).then(|| "it has no part in that object".to_owned())
    })?;
    Some(format!("{thread} calls {call} of {}: {fault}", call.library))
}
