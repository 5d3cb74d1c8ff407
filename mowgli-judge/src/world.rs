//! The fixed surroundings of a program: nodes, the placement of threads, and the objects that exist.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ids::{Loc, Name, Node, NodeSet, Tid};
use crate::value::Val;

/// One object of a library, by its location. A library reads the parts it has a use for.
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

/// What a declaration says of an object beside its name, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// `@1`: the node that it lives on.
    Node,
    /// `[2] = (0, 0)`: its size, and an initial value for each place.
    Words,
    /// `= 0`: the initial value.
    Init,
    /// `= (7, bot)`: an initial value for each place, which gives the size.
    Values,
    /// `= {P1, P2}`: the threads that take part.
    Members,
    /// `= P1 -> {P2}`: a thread, and those that take part beside it.
    Roles,
    /// `size 4`: the size, which is `usual` where none is given.
    Size {
        /// The size where none is given.
        usual: usize,
        /// The smallest.
        least: usize,
        /// The largest.
        most: usize,
    },
    /// `at 1`: the node that it lives on, 1 where none is given.
    Home,
}

/// How programs declare the objects of a library: `weak lock x at 1`, `svar x = 0`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// What stands before the name.
    pub kind: &'static str,
    /// What stands after it.
    pub parts: &'static [Part],
}

impl Form {
    /// The declaration of an object, as it is written.
    #[must_use]
    pub fn declaration(&self, x: Loc, object: &Object) -> String {
        self.declaration_with(x, object, &|t| t.to_string())
    }

    /// As [`Self::declaration`], where threads have these names.
    #[must_use]
    pub fn declaration_with(&self, x: Loc, object: &Object, name: &dyn Fn(Tid) -> String) -> String {
        let members: Vec<String> = object.members.iter().map(|t| name(*t)).collect();
        let node = object.node.unwrap_or(Node(1));
        let part = |part: &Part| match part {
            Part::Node => format!("@{node}"),
            Part::Words => format!("[{}] = {}", object.size, object.init.literal()),
            Part::Init | Part::Values => format!(" = {}", object.init.literal()),
            Part::Members => format!(" = {{{}}}", members.join(", ")),
            Part::Roles => {
                let (first, others) = members.split_first().map_or(("", &[][..]), |(first, others)| (first, others));
                format!(" = {first} -> {{{}}}", others.join(", "))
            }
            Part::Size { .. } => format!(" size {}", object.size),
            Part::Home => object.node.map_or(String::new(), |node| format!(" at {node}")),
        };
        let kind = if self.kind.is_empty() { String::new() } else { format!("{} ", self.kind) };
        format!("{kind}{x}{}", self.parts.iter().map(part).collect::<String>())
    }

    /// A declaration as an example.
    #[must_use]
    pub fn example(&self) -> String {
        let has = |part| self.parts.contains(&part);
        let size = if has(Part::Words) || has(Part::Values) { 2 } else { 4 };
        let init = if size == 2 { Val::tuple(&[Val::Int(0); 2]) } else { Val::Int(0) };
        let object = Object::new(Name::literal("")).at(Node(1)).init(init).members(&[Tid(1), Tid(2)]).size(size);
        self.declaration(Loc(Name::literal("x")), &object)
    }
}

/// What may stop at any point. What that means for what was under way, a memory model says.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Crashes {
    /// Threads.
    pub threads: BTreeSet<Tid>,
    /// Nodes, with all that runs on them.
    pub nodes: NodeSet,
}

impl Crashes {
    /// Whether nothing stops.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Nodes, threads and objects: everything that a program takes as given.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct World {
    /// How many nodes there are; they are `1..=nodes`.
    pub nodes: u8,
    /// The node of each thread, `n(t)`, by position.
    pub threads: Vec<Node>,
    /// The objects, by location.
    pub objects: BTreeMap<Loc, Object>,
    /// What may stop.
    #[serde(default, skip_serializing_if = "Crashes::is_empty")]
    pub crashes: Crashes,
}

impl World {
    /// A world with these threads and no object.
    #[must_use]
    pub fn new(nodes: u8, threads: &[Node]) -> Self {
        Self { nodes, threads: threads.to_vec(), objects: BTreeMap::new(), crashes: Crashes::default() }
    }

    /// Whether a thread may stop: by itself, or with its node.
    #[must_use]
    pub fn may_stop(&self, thread: Tid) -> bool {
        self.crashes.threads.contains(&thread) || self.crashes.nodes.contains(self.node_of(thread))
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

    /// All nodes but that of a thread.
    #[must_use]
    pub fn other_nodes(&self, thread: Tid) -> NodeSet {
        self.all_nodes().without(self.node_of(thread))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_have_their_parts_in_order() {
        let example = |kind, parts| Form { kind, parts }.example();
        assert_eq!(example("", &[Part::Node, Part::Init]), "x@1 = 0");
        assert_eq!(example("weak lock", &[Part::Home]), "weak lock x at 1");
        assert_eq!(example("msw", &[Part::Node, Part::Words]), "msw x@1[2] = (0, 0)");
        assert_eq!(example("store", &[Part::Values]), "store x = (0, 0)");
        assert_eq!(example("barrier", &[Part::Members]), "barrier x = {P1, P2}");
        let size = Part::Size { usual: 4, least: 2, most: 64 };
        const RING: &[Part] = &[Part::Roles, Part::Size { usual: 4, least: 2, most: 64 }];
        assert_eq!((RING[1], example("ring", RING).as_str()), (size, "ring x = P1 -> {P2} size 4"));
    }
}
