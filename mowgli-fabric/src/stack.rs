//! Implementations on top of one another, down to memory words.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mowgli_core::event::{Call, Cell, Event};
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::implementation::{Implementations, add_parts};
use mowgli_core::library::{Libraries, Library};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Entry, Memory};
use mowgli_rdma::Stamp;
use mowgli_rdma::tso::TSO;
use mowgli_rdma::wait::WAIT;

/// A world with all parts of its objects, and the implementations by which calls are made.
pub struct Stack {
    /// The world.
    pub world: World,
    /// The implementations.
    pub implementations: Implementations,
    libraries: BTreeMap<Name, Arc<dyn Library<Stamp>>>,
}

impl Stack {
    /// The implementations of the libraries of a world and of `others`, and of all that they call. Those that `variants` does not
    /// name are the published ones.
    ///
    /// # Errors
    /// If there is no such library or variant, or an object is of none.
    pub fn new(
        entries: &[Entry],
        mut world: World,
        others: impl IntoIterator<Item = Name>,
        variants: &BTreeMap<String, String>,
    ) -> Result<Self, String> {
        let used = world.objects.values().map(|o| o.library).chain(others).collect();
        let (mut implementations, mut libraries) = (Implementations::new(), BTreeMap::new());
        for entry in needed(entries, used, variants)?.into_iter().rev() {
            let variant = variants.get(entry.name).map_or("published", String::as_str);
            let (name, implementation) = (Name::literal(entry.name), &entry.variant(variant)?.implementation);
            add_parts(&**implementation, &mut world);
            implementations.insert(name, Arc::clone(implementation));
            libraries.insert(name, entry.specification.shared(name));
        }
        Ok(Self { world, implementations, libraries })
    }

    /// The implementations that `variants` names, and what all other libraries specify.
    ///
    /// # Errors
    /// If there is no such library or variant, or an object is of none.
    pub(crate) fn promised(
        entries: &[Entry],
        mut world: World,
        variants: &BTreeMap<String, String>,
    ) -> Result<(Self, Libraries<Stamp>), String> {
        let used = world.objects.values().map(|o| o.library).collect();
        let mut specified =
            entries.iter().fold(Memory::rdma_wait().libraries, |all, entry| all.and(&entry.specification));
        let (mut implementations, mut libraries) = (Implementations::new(), BTreeMap::new());
        for entry in needed(entries, used, variants)?.into_iter().rev() {
            let name = Name::literal(entry.name);
            libraries.insert(name, entry.specification.shared(name));
            if let Some(variant) = variants.get(entry.name) {
                let implementation = &entry.variant(variant)?.implementation;
                add_parts(&**implementation, &mut world);
                implementations.insert(name, Arc::clone(implementation));
                specified = specified.without(name);
            }
        }
        Ok((Self { world, implementations, libraries }, specified))
    }

    /// How what is last in a cell is found: a word of memory is looked at, an object is read by a thread of that node, if its library has
    /// a `Read`.
    ///
    /// # Errors
    /// If there is no such thread or method.
    pub fn reader(&self, cell: Cell) -> Result<Option<(Tid, Call)>, String> {
        if Self::words(&self.world).any(|(x, _)| x == cell.loc) {
            return Ok(None);
        }
        let object = self.world.objects.get(&cell.loc).ok_or_else(|| format!("there is no object {}", cell.loc))?;
        let library = self.libraries.get(&object.library);
        let can_read = library.is_some_and(|l| l.methods().iter().any(|m| m.name == "Read" && m.takes.len() == 1));
        let thread = self.world.tids().find(|t| self.world.node_of(*t) == cell.node).filter(|_| can_read);
        let call = Call::new(object.library, "Read", &[cell.loc.into()]);
        let thread =
            thread.ok_or_else(|| format!("no thread of node {} can read {} at the end", cell.node, cell.loc))?;
        Ok(Some((thread, call)))
    }

    /// The words of memory of a world, whatever model they are of.
    pub(crate) fn words(world: &World) -> impl Iterator<Item = (Loc, &Object)> {
        world.objects.iter().filter(|(_, o)| o.library == WAIT || o.library == TSO).map(|(&x, o)| (x, o))
    }

    /// What is wrong with a call of a thread, if anything is.
    #[must_use]
    pub fn fault(&self, thread: Tid, call: &Call) -> Option<String> {
        let library = self.libraries.get(&call.library)?;
        let is_possible = |ret: Val| {
            let event = Event { thread, call: call.clone(), ret };
            !library.shapes(&self.world, &event).is_empty()
        };
        let fault = library.fault(&self.world, thread, call).or_else(|| {
            let results = [Val::Unit, Val::Bot, Val::Bool(true), Val::Bool(false), Val::Int(0)];
            (!results.into_iter().any(is_possible)).then(|| "it has no part in that object".to_owned())
        })?;
        Some(format!("{thread} calls {call} of {}: {fault}", call.library))
    }
}

/// The entries of these libraries and of all that they call, each behind those.
fn needed<'e>(
    entries: &'e [Entry],
    used: BTreeSet<Name>,
    variants: &BTreeMap<String, String>,
) -> Result<Vec<&'e Entry>, String> {
    for (name, variant) in variants {
        named(entries, name)?.variant(variant)?;
    }
    let mut order = Vec::new();
    for name in used {
        below(entries, name, &mut order)?;
    }
    order.into_iter().map(|name| named(entries, name.text())).collect()
}

/// Adds a library behind all that it calls.
fn below(entries: &[Entry], name: Name, order: &mut Vec<Name>) -> Result<(), String> {
    if name == WAIT || name == TSO || order.contains(&name) {
        return Ok(());
    }
    for called in named(entries, name.text())?.below.names() {
        below(entries, called, order)?;
    }
    order.push(name);
    Ok(())
}
