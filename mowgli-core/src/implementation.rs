//! Implementations `I : Tid x M x Val* -> SeqProg` (LOCO Def. 3.9).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::Call;
use crate::ids::{Name, Tid};
use crate::program::Prog;
use crate::world::World;

/// An implementation of one library on top of others.
pub trait Implementation: Send + Sync {
    /// The library that is implemented.
    fn target(&self) -> Name;

    /// The objects that the implementation needs for those of its library in `world`: `loc(I)`. They are added to it.
    fn declare(&self, world: &mut World);

    /// `I(t, m, args)`.
    fn body(&self, world: &World, thread: Tid, call: &Call) -> Prog;
}

/// The implementations in force, by the library that each replaces.
pub type Implementations = BTreeMap<Name, Arc<dyn Implementation>>;
