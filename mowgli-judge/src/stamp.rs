//! Stamps and the order `to` on them: the first parameter of the framework (LOCO §3.2).

use std::fmt::{Debug, Display};
use std::hash::Hash;

/// What a subevent does, as far as the hardware's ordering of one thread's operations is concerned.
///
/// The core knows no stamp; a memory model brings its own type. Display is the paper's name, as `aCR`.
pub trait Stamp: Copy + Eq + Ord + Hash + Debug + Display + Send + Sync + 'static {
    /// The stamp order: `<self, later> in to`, so a subevent with `self` is preserved before a po-later one with
    /// `later`.
    fn to(self, later: Self) -> bool;

    /// Every stamp there is in a network of `nodes` nodes. Local soundness quantifies over all of them (LOCO Def. 3.13).
    fn all(nodes: u8) -> Vec<Self>;
}
