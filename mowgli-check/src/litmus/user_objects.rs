//! Objects of the user's libraries, as their client generators make them.

use mowgli_core::ids::Name;
use mowgli_core::term::bound::Bound;
use mowgli_core::world::{Object, World};
use mowgli_libraries::entry::Entry;

use super::test::Model;
use crate::catalogue::Catalogue;

impl Catalogue {
    /// Returns the user's library of this name, if tests of the model can have its objects.
    pub(super) fn own_library(&self, model: Model, name: &str) -> Option<Name> {
        if !matches!(model, Model::RDMA_WAIT | Model::X86Tso) {
            return None;
        }
        let of_model = self.libraries(model);
        let is_over = |entry: &&Entry| entry.specification.has_stamps_of(&of_model);
        self.own().iter().filter(is_over).map(|e| Name::literal(e.name)).find(|n| n.text() == name)
    }

    /// Returns an object of a user's library, as clients of this world have it.
    pub(super) fn own_object(&self, library: Name, world: &World) -> Object {
        let found = self.own().iter().find_map(|entry| object(entry, library, world));
        found.unwrap_or_else(|| Object::new(library))
    }
}

/// Returns the first bound that an entry is checked at.
fn bound(entry: &Entry) -> Bound {
    let mut bounds = entry.variants.iter().flat_map(|variant| &variant.bounds);
    bounds.next().cloned().unwrap_or_default()
}

/// Returns the first object that the client generator makes in a world; `None` if the entry is of another library.
fn object(entry: &Entry, library: Name, world: &World) -> Option<Object> {
    let empty = World { objects: Default::default(), ..world.clone() };
    let own = Some(entry).filter(|e| Name::literal(e.name) == library)?;
    let worlds = own.subject.worlds(&empty, &bound(entry), &|| false);
    worlds.into_iter().flat_map(|world| world.objects.into_values()).find(|object| object.library == library)
}
