//! The libraries that emitted code stands on, and the objects that it can make.

use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_libraries::kvstore::KVSTORE;

/// Returns a library and all that it stands on, each with a variant: the default one, except of the library itself.
pub fn stack<'e>(entries: &'e [Entry], entry: &'e Entry, variant: &'e Variant) -> Vec<(&'e Entry, &'e Variant)> {
    let mut all = vec![(entry, variant)];
    let mut at = 0;
    while let Some((entry, _)) = all.get(at).copied() {
        for name in entry.below.names().filter(|name| entry.memory.libraries.get(*name).is_none()) {
            let next = named(entries, name.text()).unwrap();
            all.push((next, next.default_variant().unwrap()));
        }
        at += 1;
    }
    all
}

/// True if emitted code can make the objects of a world: a store begins empty.
pub fn can_be_made(world: &World) -> bool {
    let is_empty = |object: &Object| object.init == Val::tuple(&vec![Val::Bot; object.size]);
    world.objects.values().all(|object| object.library != KVSTORE || is_empty(object))
}
