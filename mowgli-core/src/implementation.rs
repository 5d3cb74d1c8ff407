//! Implementations `I : Tid x M x Val* -> SeqProg` (LOCO Def. 3.9).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::Call;
use crate::ids::{Loc, Name, Tid};
use crate::program::Prog;
use crate::world::World;

/// An implementation of one library on top of others.
pub trait Implementation: Send + Sync {
    /// The library that is implemented.
    fn target(&self) -> Name;

    /// The objects that the implementation needs for those of its library in `world`: `loc(I)`. They are added to it, as parts
    /// that no client can name ([`Loc::part`]); [`add_parts`] checks that.
    fn declare(&self, world: &mut World);

    /// `I(t, m, args)`.
    fn body(&self, world: &World, thread: Tid, call: &Call) -> Prog;

    /// The edits by which it was made, in words: see [`crate::edit`].
    fn edits(&self) -> Vec<String> {
        Vec::new()
    }

    /// The edits by which it was made that have changed nothing so far, in no body: see [`crate::edit`].
    fn idle(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<I: Implementation + ?Sized> Implementation for Arc<I> {
    fn target(&self) -> Name {
        (**self).target()
    }

    fn declare(&self, world: &mut World) {
        (**self).declare(world);
    }

    fn body(&self, world: &World, thread: Tid, call: &Call) -> Prog {
        (**self).body(world, thread, call)
    }

    fn edits(&self) -> Vec<String> {
        (**self).edits()
    }

    fn idle(&self) -> Vec<String> {
        (**self).idle()
    }
}

/// Adds what `implementation` needs to `world`.
///
/// # Panics
/// If it changes an object that is there, or makes one that a client could name: parts are made by [`Loc::part`].
pub fn add_parts(implementation: &dyn Implementation, world: &mut World) {
    let before = world.objects.clone();
    implementation.declare(world);
    let of = implementation.target();
    for (x, object) in &before {
        assert!(world.objects.get(x) == Some(object), "the implementation of {of} changes {x}, which is its client's");
    }
    for &Loc(x) in world.objects.keys().filter(|x| !before.contains_key(x)) {
        assert!(x.is_part(), "the implementation of {of} makes {x}, which a client could name: see `Loc::part`");
    }
}

/// The implementations in force, by the library that each replaces.
pub type Implementations = BTreeMap<Name, Arc<dyn Implementation>>;
