//! Implementations `I : Tid x M x Val* -> SeqProg` (LOCO Def. 3.9).

use std::collections::BTreeMap;
use std::sync::Arc;

use itertools::Itertools;

use crate::event::Call;
use crate::ids::{Loc, Name, Tid};
use crate::term::body::Bodies;
use crate::term::lemma::Lemma;
use crate::term::parts::Parts;
use crate::term::script::Script;
use crate::world::{Object, World};

/// An implementation of one library on top of others.
pub trait Implementation: Send + Sync {
    /// The library that is implemented.
    fn target(&self) -> Name;

    /// The objects that the implementation needs, as terms. `None` if there are none, or if [`Self::declare`] is a Rust
    /// function, which nobody asks otherwise.
    fn parts(&self) -> Option<&Parts> {
        None
    }

    /// The objects that the implementation needs for those of its library in `world`: `loc(I)`. They are added to it, as parts
    /// that no client can name ([`Loc::part`]); [`add_parts`] checks that. If [`Self::parts`] says them, it alone does.
    fn declare(&self, world: &mut World) {
        if let Some(parts) = self.parts() {
            parts.declare(self.target(), world);
        }
    }

    /// The objects for emitted code. If [`Self::declare`] is a Rust function, because it depends on initial values, they are those for
    /// objects that begin empty.
    fn empty_parts(&self) -> Option<&Parts> {
        self.parts()
    }

    /// `I(t, m, args)`: the bodies of its methods as terms. A method without one never returns.
    fn bodies(&self) -> Option<&Bodies> {
        None
    }

    /// Returns the author's lemmas about the bodies, for proofs for all clients. The prover proves each with those
    /// before it, or does not use it.
    fn lemmas(&self) -> Vec<Lemma> {
        Vec::new()
    }

    /// Returns the descriptions of the edits that made this implementation: see [`crate::rewrite::edit`].
    fn edits(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the error in one of these edits, if there is one: see [`crate::rewrite::edit`].
    fn mistake(&self) -> Option<String> {
        None
    }

    /// The edits by which it was made that change no body, and no parts that were declared so far: see [`crate::rewrite::edit`].
    fn idle(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The definitions in force. No implementation can replace them, so proofs read in its terms what checks run.
impl dyn Implementation + '_ {
    /// Adds the objects that the implementation needs: those that [`Implementation::parts`] says, or else
    /// [`Implementation::declare`].
    pub fn add_objects(&self, world: &mut World) {
        match self.parts() {
            Some(parts) => parts.declare(self.target(), world),
            None => self.declare(world),
        }
    }

    /// Returns the code of the body of a call: its term in [`Implementation::bodies`].
    #[must_use]
    pub fn script(&self, world: &World, thread: Tid, call: &Call) -> Script {
        self.bodies().map_or_else(Script::never, |bodies| bodies.script(world, thread, call))
    }
}

impl<I: Implementation + ?Sized> Implementation for Arc<I> {
    fn target(&self) -> Name {
        (**self).target()
    }

    fn parts(&self) -> Option<&Parts> {
        (**self).parts()
    }

    fn declare(&self, world: &mut World) {
        (**self).declare(world);
    }

    fn empty_parts(&self) -> Option<&Parts> {
        (**self).empty_parts()
    }

    fn bodies(&self) -> Option<&Bodies> {
        (**self).bodies()
    }

    fn lemmas(&self) -> Vec<Lemma> {
        (**self).lemmas()
    }

    fn edits(&self) -> Vec<String> {
        (**self).edits()
    }

    fn mistake(&self) -> Option<String> {
        (**self).mistake()
    }

    fn idle(&self) -> Vec<String> {
        (**self).idle()
    }
}

/// Adds what `implementation` needs to `world`.
///
/// # Panics
/// If it adds what it may not: see [`misdeclared`].
pub fn add_parts(implementation: &dyn Implementation, world: &mut World) {
    let before = world.objects.clone();
    implementation.add_objects(world);
    if let Some(mistake) = difference(implementation, &before, world) {
        panic!("{mistake}");
    }
}

/// Returns the error in the parts that `implementation` adds to a world. They depend on no thread. It may not change an
/// existing object. It may not add one that a client could name or that belongs to another implementation, and none twice.
#[must_use]
pub fn misdeclared(implementation: &dyn Implementation, world: &World) -> Option<String> {
    let of = implementation.target();
    if let Some(mistake) = implementation.parts().and_then(Parts::of_a_thread) {
        return Some(format!("the implementation of {of} declares {mistake}"));
    }
    let owners = || world.locations(of).into_iter().map(Some).chain([None]);
    let names = |parts: &Parts| owners().flat_map(|owner| parts.of_object(world, owner)).map(|(x, _)| x).collect();
    let names: Vec<Loc> = implementation.parts().map(names).unwrap_or_default();
    if let Some(x) = names.iter().duplicates().next() {
        return Some(format!("the implementation of {of} declares {x} twice: let each part be declared once"));
    }
    let mut after = world.clone();
    implementation.add_objects(&mut after);
    difference(implementation, &world.objects, &after)
}

fn difference(implementation: &dyn Implementation, before: &BTreeMap<Loc, Object>, after: &World) -> Option<String> {
    let of = implementation.target();
    if let Some(x) = before.iter().find(|(x, object)| after.objects.get(x) != Some(object)).map(|(x, _)| x) {
        return Some(format!(
            "the implementation of {of} changes {x}, which is its client's: make parts by `{x}.part(..)`"
        ));
    }
    let new = || after.objects.keys().filter(|x| !before.contains_key(x));
    if let Some(foreign) = new().find(|x| !x.0.is_part()) {
        return Some(format!(
            "the implementation of {of} makes {foreign}, which a client could name: make parts by `x.part(..)`"
        ));
    }
    // Layers of a tower are sound together only if their parts are disjoint (LOCO Theorem 3.14).
    new().find_map(|x| {
        let (owner, library) = owner(*x, after);
        (library != of).then(|| {
            format!(
                "the implementation of {of} makes {x}, a part of {owner}, which is of {library}: only the implementation of {library} makes its parts"
            )
        })
    })
}

/// Returns the object or the library to which a part belongs, with the library.
fn owner(part: Loc, world: &World) -> (Loc, Name) {
    let mut owner = part;
    while let Some(whole) = owner.whole() {
        owner = whole;
        if let Some(object) = world.objects.get(&owner) {
            return (owner, object.library);
        }
    }
    (owner, owner.0)
}

/// The implementations in force, by the library that each replaces.
pub type Implementations = BTreeMap<Name, Arc<dyn Implementation>>;
