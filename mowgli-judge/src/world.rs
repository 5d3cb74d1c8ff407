//! The fixed surroundings of a program: nodes, the placement of threads, and the objects that exist.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{Loc, Name, Node, NodeSet, Tid};
use crate::value::Val;

/// One object of a library, by its location. A library reads the parts it has a use for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Object {
    /// The library whose object this is.
    pub library: Name,
    /// The node it lives on, for objects that live on one.
    pub node: Option<Node>,
    /// The initial value.
    pub init: Val,
    /// The threads that take part, in the order that the library gives a meaning to.
    pub members: Vec<Tid>,
    /// Its size, for objects that have one.
    pub size: usize,
}

impl Object {
    /// An object with initial value 0, no node, no members and size 1.
    #[must_use]
    pub fn new(library: Name) -> Self {
        Self { library, node: None, init: Val::Int(0), members: Vec::new(), size: 1 }
    }

    /// The same object, on this node.
    #[must_use]
    pub fn at(self, node: Node) -> Self {
        Self { node: Some(node), ..self }
    }

    /// The same object, with this initial value.
    #[must_use]
    pub fn init(self, init: Val) -> Self {
        Self { init, ..self }
    }

    /// The same object, with these members.
    #[must_use]
    pub fn members(self, members: &[Tid]) -> Self {
        Self { members: members.to_vec(), ..self }
    }

    /// The same object, with this size.
    #[must_use]
    pub fn size(self, size: usize) -> Self {
        Self { size, ..self }
    }
}

/// Nodes, threads and objects: everything that a program takes as given.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct World {
    /// How many nodes there are; they are `1..=nodes`.
    pub nodes: u8,
    /// The node of each thread, `n(t)`, by position.
    pub threads: Vec<Node>,
    /// The objects, by location.
    pub objects: BTreeMap<Loc, Object>,
}

impl World {
    /// A world with these threads and no object.
    #[must_use]
    pub fn new(nodes: u8, threads: &[Node]) -> Self {
        Self { nodes, threads: threads.to_vec(), objects: BTreeMap::new() }
    }

    /// `n(t)`.
    #[must_use]
    pub fn node_of(&self, thread: Tid) -> Node {
        self.threads[thread.index()]
    }

    /// The threads, in order.
    pub fn tids(&self) -> impl Iterator<Item = Tid> + use<> {
        (0..self.threads.len()).map(Tid::from_index)
    }

    /// All nodes.
    #[must_use]
    pub fn all_nodes(&self) -> NodeSet {
        NodeSet::all(self.nodes)
    }

    /// The locations of the objects of a library, in order.
    #[must_use]
    pub fn locations(&self, library: Name) -> Vec<Loc> {
        self.objects.iter().filter(|(_, o)| o.library == library).map(|(&x, _)| x).collect()
    }

    /// The objects of a library with their locations, in order.
    #[must_use]
    pub fn objects_of(&self, library: Name) -> Vec<(Loc, Object)> {
        self.objects.iter().filter(|(_, o)| o.library == library).map(|(&x, o)| (x, o.clone())).collect()
    }

    /// The node on which the object at `loc` lives; `None` if there is no such object or it lives on none.
    #[must_use]
    pub fn home(&self, loc: Loc) -> Option<Node> {
        self.objects.get(&loc)?.node
    }

    /// The nodes of the threads that take part in the object at `loc`.
    #[must_use]
    pub fn member_nodes(&self, loc: Loc) -> NodeSet {
        self.objects.get(&loc).into_iter().flat_map(|o| &o.members).map(|&t| self.node_of(t)).collect()
    }
}
