//! Stamps: with a stamp order `to` the parameter of the framework (LOCO §3.2).

use std::fmt::{Debug, Display};
use std::hash::Hash;

use crate::ids::Node;

/// What a subevent does, as far as the hardware's ordering of one thread's operations is concerned.
///
/// The core knows no stamp; a memory model brings its own type. Display is the paper's name, as `aCR`. Models may have the
/// same stamps and differ in their stamp order, which stands in their [`Libraries`](crate::library::Libraries).
pub trait Stamp: Copy + Eq + Ord + Hash + Debug + Display + Send + Sync + 'static {
    /// Every stamp there is in a network of `nodes` nodes. Local soundness quantifies over all of them (LOCO Def. 3.13).
    fn all(nodes: u8) -> Vec<Self>;

    /// The same stamp after a renaming of nodes. Where a model whose stamps name nodes does not say, clients that differ in
    /// the numbers of nodes are all looked at.
    #[must_use]
    fn renamed(self, node: &dyn Fn(Node) -> Node) -> Self {
        let _ = node;
        self
    }

    /// What it is, in a few words for readers; nothing where a model does not say.
    #[must_use]
    fn about(self) -> String {
        String::new()
    }
}
