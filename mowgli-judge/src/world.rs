//! The fixed surroundings of a program: nodes, the placement of threads, and the objects that exist.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ids::{Loc, Name, Node, NodeSet, Tid};
use crate::value::Val;

/// One object of a library, by its location. A library reads only the fields that it needs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
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
    /// Returns an object with initial value 0, no node, no members and size 1.
    #[must_use]
    pub fn new(library: Name) -> Self {
        Self { library, node: None, init: Val::Int(0), members: Vec::new(), size: 1 }
    }

    /// Returns the same object on this node.
    #[must_use]
    pub fn at(self, node: Node) -> Self {
        Self { node: Some(node), ..self }
    }

    /// Returns the same object with this initial value.
    #[must_use]
    pub fn init(self, init: Val) -> Self {
        Self { init, ..self }
    }

    /// Returns the same object with these members.
    #[must_use]
    pub fn members(self, members: &[Tid]) -> Self {
        Self { members: members.to_vec(), ..self }
    }

    /// Returns the same object with this size.
    #[must_use]
    pub fn size(self, size: usize) -> Self {
        Self { size, ..self }
    }
}

/// The parts of a declaration of an object, besides its name, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeclarationPart {
    /// `@1`: the node that it lives on.
    Node,
    /// `[2] = (0, 0)`: its size, and an initial value for each place.
    Words,
    /// `= 0`: the initial value.
    Init,
    /// `= (0, 0, 0)`: the initial value, a tuple of at least so many parts. Its length is not the size.
    Tuple {
        /// The least number of parts.
        least: usize,
    },
    /// `= (7, bot)`: an initial value for each place, which gives the size.
    Values,
    /// `= {P1, P2}`: the threads that take part.
    Members,
    /// `= P1 -> {P2}`: a thread, and those that take part beside it.
    Roles,
    /// `size 4`: the size, which is `usual` by default.
    Size {
        /// The default size.
        usual: usize,
        /// The smallest size.
        least: usize,
        /// The largest size.
        most: usize,
    },
    /// `at 1`: the node that it lives on, 1 by default.
    Home,
}

/// The form of the declarations of a library's objects in programs, for example `weak lock x at 1` or `svar x = 0`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeclarationForm {
    /// The text before the name.
    pub kind: &'static str,
    /// The parts after the name.
    pub parts: &'static [DeclarationPart],
}

impl DeclarationForm {
    /// Returns the declaration of an object in the syntax of programs.
    #[must_use]
    pub fn declaration(&self, x: Loc, object: &Object) -> String {
        self.declaration_with(x, object, &|t| t.to_string())
    }

    /// Returns the same as [`Self::declaration`] with these names of threads.
    #[must_use]
    pub fn declaration_with(&self, x: Loc, object: &Object, name: &dyn Fn(Tid) -> String) -> String {
        let members: Vec<String> = object.members.iter().map(|t| name(*t)).collect();
        let node = object.node.unwrap_or(Node(1));
        let part = |part: &DeclarationPart| match part {
            DeclarationPart::Node => format!("@{node}"),
            DeclarationPart::Words => format!("[{}] = {}", object.size, object.init.literal()),
            DeclarationPart::Init | DeclarationPart::Tuple { .. } | DeclarationPart::Values => {
                format!(" = {}", object.init.literal())
            }
            DeclarationPart::Members => format!(" = {{{}}}", members.join(", ")),
            DeclarationPart::Roles => {
                let (first, others) = members.split_first().map_or(("", &[][..]), |(first, others)| (first, others));
                format!(" = {first} -> {{{}}}", others.join(", "))
            }
            DeclarationPart::Size { .. } => format!(" size {}", object.size),
            DeclarationPart::Home => object.node.map_or(String::new(), |node| format!(" at {node}")),
        };
        let kind = if self.kind.is_empty() { String::new() } else { format!("{} ", self.kind) };
        format!("{kind}{x}{}", self.parts.iter().map(part).collect::<String>())
    }

    /// Returns a declaration as an example.
    #[must_use]
    pub fn example(&self) -> String {
        let zeros = |n: usize| Val::tuple(&vec![Val::Int(0); n]);
        let begins = self.parts.iter().find_map(|part| match part {
            DeclarationPart::Words | DeclarationPart::Values => Some((2, zeros(2))),
            DeclarationPart::Tuple { least } => Some((4, zeros(*least))),
            _ => None,
        });
        let (size, init) = begins.unwrap_or((4, Val::Int(0)));
        let object = Object::new(Name::literal("")).at(Node(1)).init(init).members(&[Tid(1), Tid(2)]).size(size);
        self.declaration(Loc(Name::literal("x")), &object)
    }
}

/// The threads and nodes that may crash at any point. The memory model defines the effect on pending operations.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Crashes {
    /// Threads.
    pub threads: BTreeSet<Tid>,
    /// Nodes, with all their threads.
    pub nodes: NodeSet,
}

impl Crashes {
    /// True if nothing crashes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Nodes, threads and objects: everything that a program takes as given.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct World {
    /// The number of nodes, which are `1..=nodes`.
    pub nodes: u8,
    /// The node of each thread, `n(t)`, by position.
    pub threads: Vec<Node>,
    /// The objects, by location.
    pub objects: BTreeMap<Loc, Object>,
    /// The threads and nodes that may crash.
    #[serde(default, skip_serializing_if = "Crashes::is_empty")]
    pub crashes: Crashes,
}

impl World {
    /// Returns a world with these threads and without objects.
    #[must_use]
    pub fn new(nodes: u8, threads: &[Node]) -> Self {
        Self { nodes, threads: threads.to_vec(), objects: BTreeMap::new(), crashes: Crashes::default() }
    }

    /// True if a thread may crash, by itself or with its node.
    #[must_use]
    pub fn may_stop(&self, thread: Tid) -> bool {
        self.crashes.threads.contains(&thread) || self.crashes.nodes.contains(self.node_of(thread))
    }

    /// Returns `n(t)`, the node of a thread.
    #[must_use]
    pub fn node_of(&self, thread: Tid) -> Node {
        self.threads[thread.index()]
    }

    /// Iterates over the threads, in order.
    pub fn tids(&self) -> impl Iterator<Item = Tid> + use<> {
        (0..self.threads.len()).map(Tid::from_index)
    }

    /// Returns all nodes.
    #[must_use]
    pub fn all_nodes(&self) -> NodeSet {
        NodeSet::all(self.nodes)
    }

    /// Returns all nodes but that of a thread.
    #[must_use]
    pub fn other_nodes(&self, thread: Tid) -> NodeSet {
        self.all_nodes().without(self.node_of(thread))
    }

    /// Returns the last thread of a node, if the node has threads.
    #[must_use]
    pub fn last_thread(&self, node: Node) -> Option<Tid> {
        self.tids().filter(|&t| self.node_of(t) == node).last()
    }

    /// Iterates over the locations of the objects of a library, in order.
    #[must_use]
    pub fn locations(&self, library: Name) -> Vec<Loc> {
        self.objects.iter().filter(|(_, o)| o.library == library).map(|(&x, _)| x).collect()
    }

    /// Iterates over the objects of a library with their locations, in order.
    #[must_use]
    pub fn objects_of(&self, library: Name) -> Vec<(Loc, Object)> {
        self.objects.iter().filter(|(_, o)| o.library == library).map(|(&x, o)| (x, o.clone())).collect()
    }

    /// Returns the node on which the object at `loc` lives; `None` if there is no such object or it lives on none.
    #[must_use]
    pub fn home(&self, loc: Loc) -> Option<Node> {
        self.objects.get(&loc)?.node
    }

    /// Returns the nodes of the threads that take part in the object at `loc`.
    #[must_use]
    pub fn member_nodes(&self, loc: Loc) -> NodeSet {
        self.objects.get(&loc).into_iter().flat_map(|o| &o.members).map(|&t| self.node_of(t)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_have_their_parts_in_order() {
        let example = |kind, parts| DeclarationForm { kind, parts }.example();
        assert_eq!(example("", &[DeclarationPart::Node, DeclarationPart::Init]), "x@1 = 0");
        assert_eq!(example("weak lock", &[DeclarationPart::Home]), "weak lock x at 1");
        assert_eq!(example("msw", &[DeclarationPart::Node, DeclarationPart::Words]), "msw x@1[2] = (0, 0)");
        assert_eq!(example("store", &[DeclarationPart::Values]), "store x = (0, 0)");
        assert_eq!(example("table", &[DeclarationPart::Tuple { least: 3 }]), "table x = (0, 0, 0)");
        assert_eq!(example("barrier", &[DeclarationPart::Members]), "barrier x = {P1, P2}");
        let size = DeclarationPart::Size { usual: 4, least: 2, most: 64 };
        const RING: &[DeclarationPart] =
            &[DeclarationPart::Roles, DeclarationPart::Size { usual: 4, least: 2, most: 64 }];
        assert_eq!((RING[1], example("ring", RING).as_str()), (size, "ring x = P1 -> {P2} size 4"));
    }
}
