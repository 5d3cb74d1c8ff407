//! Symmetry from syntax: the renamings of threads, nodes, objects and integers that change no definition of a check.
//!
//! **Computes** with [`Symmetry::of`] what a renaming must keep, from the terms of bodies, parts and shapes, from the
//! relations of specifications, and from [`Hints::equivariance`]. Then `Symmetry::allows` decides about one renaming of a
//! client. If it is allowed, the executions of the two clients are the same, renamed, so one search is enough for both.
//!
//! **Example**: the body of a barrier reads the counters of its members in their order. So a renaming must keep the
//! order of members, and may exchange nodes. A body with the condition `here = 2` allows no renaming of nodes.
//!
//! **Correct because** the meaning of each term commutes with the renamings that are left (`terms`). So do relations that are
//! built from program order, stamps, arguments and cells. Rust functions of subevents are never trusted. Those of
//! libraries are trusted as far as the library states, which `mowgli_check::hints` tests.
//!
//! **Cost**: all terms once for each check; `Symmetry::allows` visits one client.

mod terms;

use std::collections::BTreeSet;

use itertools::Itertools;

use self::terms::{Kept, KeptOrder, Terms};
use super::client::Client;
use super::question::Question;
use super::renaming::Renaming;
use crate::algebra::{Attribute, Key, Set, SetDefinition};
use crate::event::Call;
use crate::ids::{Name, Node, Tid};
use crate::library::{Equivariance, Hints, Initial, Libraries};
use crate::stamp::Stamp;
use crate::term::implementation::Implementation;
use crate::value::Val;
use crate::world::World;

/// The renamings that change no definition of a check.
#[derive(Default)]
pub struct Symmetry(Kept);

impl Symmetry {
    /// Returns what the definitions of a question allow, for these clients.
    #[must_use]
    pub fn of(question: &Question<'_>, clients: &[(World, Client)]) -> Self {
        let mut terms = Terms::default();
        // The first member may have a role of its own in a Rust function.
        terms.kept.threads.members = true;
        let libraries = [&question.below, &question.specification, &question.beside];
        for set in libraries {
            for library in set.names().filter_map(|name| set.get(name)) {
                terms.methods.extend(library.methods().iter().map(|m| ((library.name(), m.name), m)));
            }
        }
        // Bodies call the methods of implementations further down.
        for implementation in &question.chain {
            let methods = implementation.bodies().into_iter().flat_map(|bodies| bodies.by_method());
            terms.methods.extend(methods.map(|(m, _)| ((implementation.target(), m.name), m)));
        }
        for implementation in &question.chain {
            implemented(&mut terms, &**implementation, clients);
        }
        let of_clients = clients.iter().flat_map(|(_, client)| client.threads.iter().flatten());
        of_clients.for_each(|call| terms.of_client(call));
        let nodes = clients.iter().map(|(world, _)| world.nodes).max().unwrap_or(0);
        for (set, name) in libraries.into_iter().flat_map(|set| set.names().map(move |name| (set, name))) {
            if terms.called.iter().any(|(library, _)| *library == name) {
                of_library(&mut terms, set, name, nodes);
            }
        }
        let mut kept = terms.kept();
        kept.nodes.all |= !libraries.iter().all(|set| has_equal_nodes(set, nodes));
        Self(kept)
    }

    /// Returns what one library of a set allows, if clients make all its calls on two nodes.
    #[must_use]
    pub fn of_library(libraries: &Libraries, name: Name) -> Self {
        let mut terms = Terms::default();
        let methods = libraries.get(name).map_or(&[][..], |library| library.methods());
        terms.called.extend(methods.iter().map(|m| (name, m.name)));
        of_library(&mut terms, libraries, name, 2);
        Self(terms.kept())
    }

    /// Whether an integer of clients may be renamed.
    #[must_use]
    pub fn renames(&self, integer: i64) -> bool {
        !self.0.all && !self.0.data && !self.0.integers.contains(&integer)
    }

    /// Whether only the identity is allowed.
    #[must_use]
    pub fn is_trivial(&self) -> bool {
        self.0.all
    }

    /// Whether some thread may be renamed.
    #[must_use]
    pub fn exchanges_threads(&self) -> bool {
        !self.0.threads.all
    }

    /// True if the threads may stand in this order: the thread of each place has the image that stands there.
    pub(super) fn allows_order(&self, order: &[usize], world: &World) -> bool {
        threads_stay(self.0.threads, &|t| Tid::from_index(order[t.index()]), world)
    }

    /// True if the executions of a client are those of the renamed client, renamed. `renaming` leads from the one to the
    /// other.
    #[must_use]
    pub(super) fn allows(&self, renaming: &Renaming, (world, client): &(World, Client)) -> bool {
        let Kept { all, threads, nodes, data, integers, locations } = &self.0;
        !all && locations.iter().all(|x| !world.objects.contains_key(x))
            && threads_stay(*threads, &|t| renaming.thread(t), world)
            && nodes_stay(*nodes, renaming, world, client)
            && renaming.integers().all(|(v, w)| !data && !integers.contains(&v) && !integers.contains(&w))
    }
}

/// Visits the terms of an implementation. One that is given by Rust functions allows no renaming.
fn implemented(terms: &mut Terms, implementation: &dyn Implementation, clients: &[(World, Client)]) {
    let Some(bodies) = implementation.bodies() else {
        terms.kept.all = true;
        return;
    };
    bodies.by_method().for_each(|(method, body)| terms.body(method, body));
    match implementation.parts() {
        Some(parts) => terms.parts(parts),
        None => terms.kept.all |= clients.iter().map(|(world, _)| world).dedup().any(|w| declares(implementation, w)),
    }
}

fn declares(implementation: &dyn Implementation, world: &World) -> bool {
    let mut after = world.clone();
    implementation.add_objects(&mut after);
    after.objects.len() != world.objects.len()
}

/// Visits the shapes and the specification of a library of a set.
fn of_library(terms: &mut Terms, set: &Libraries, name: Name, nodes: u8) {
    let (Some(library), Some(spec)) = (set.get(name), set.spec(name)) else { return };
    match library.equivariance() {
        Equivariance::Unknown => terms.kept.all = true,
        Equivariance::Names => terms.kept.data = true,
        Equivariance::NamesAndData | Equivariance::DataIndependent => {}
    }
    shapes(terms, library);
    match library.initial() {
        Initial::OfObject => terms.kept.keep_integers(Val::Int(0)),
        Initial::Value(v) => terms.kept.keep_integers(v),
        Initial::Function(_) => {}
    }
    let stamps = set.stamps(nodes);
    let (mut of_sets, mut of_keys) = (SetNames::default(), true);
    spec.visit(&mut |set| of_sets.add(set, &stamps, nodes), &mut |key| of_keys &= is_renamed(key));
    terms.kept.all |= of_sets.is_function || !of_keys;
    terms.kept.nodes.all |= of_sets.has_nodes;
}

fn shapes(terms: &mut Terms, library: &dyn Hints) {
    let Some(shapes) = library.shape_terms() else { return };
    for method in library.methods() {
        if let Some(shape) = shapes.get(method.name)
            && terms.called.contains(&(library.name(), method.name))
        {
            terms.shape(method, shape);
        }
    }
}

/// Exchanges two nodes.
fn exchanged(n: Node, a: u8, b: u8) -> Node {
    if n.0 == a {
        Node(b)
    } else if n.0 == b {
        Node(a)
    } else {
        n
    }
}

/// All pairs of two nodes.
fn pairs(nodes: u8) -> impl Iterator<Item = (u8, u8)> {
    (1..=nodes).tuple_combinations()
}

/// True if the stamp order stays the same when two nodes are exchanged.
fn has_equal_nodes(libraries: &Libraries, nodes: u8) -> bool {
    let stamps = libraries.stamps(nodes);
    pairs(nodes).all(|(a, b)| {
        let image = |stamp: Stamp| stamp.renamed(&|n| exchanged(n, a, b));
        let same =
            |(one, other): (&Stamp, &Stamp)| libraries.to(*one, *other) == libraries.to(image(*one), image(*other));
        stamps.iter().cartesian_product(&stamps).all(same)
    })
}

/// The names that the definitions of sets mention.
#[derive(Default)]
struct SetNames {
    /// Whether one is a Rust function, which may mention any.
    is_function: bool,
    /// Whether one has other stamps after two nodes are exchanged.
    has_nodes: bool,
}

impl SetNames {
    fn add(&mut self, set: &Set, stamps: &[Stamp], nodes: u8) {
        match set.members() {
            SetDefinition::All | SetDefinition::Reads | SetDefinition::Writes | SetDefinition::Calls(_) => {}
            SetDefinition::Ways(..) => {}
            SetDefinition::Stamped(is) => {
                let image = |stamp: Stamp, (a, b)| stamp.renamed(&|n| exchanged(n, a, b));
                let same = |pair| stamps.iter().all(|&stamp| is(stamp) == is(image(stamp, pair)));
                self.has_nodes |= !pairs(nodes).all(same);
            }
            SetDefinition::Where(..) => self.is_function = true,
            SetDefinition::Either(sets) | SetDefinition::Both(sets) => {
                self.add(&sets.0, stamps, nodes);
                self.add(&sets.1, stamps, nodes);
            }
            SetDefinition::Named(_, set) => self.add(set, stamps, nodes),
        }
    }
}

/// True if two subevents have equal keys exactly if their images have. The cell of a location with one copy counts as that of
/// node 1, so keys may not compare the nodes of different locations.
fn is_renamed(key: &Key) -> bool {
    let all = key.attributes();
    all.is_some_and(|all| !all.contains(&Attribute::Place) || all.contains(&Attribute::Argument(0)))
}

/// True if a renaming keeps this order of threads.
fn threads_stay(order: KeptOrder, image: &dyn Fn(Tid) -> Tid, world: &World) -> bool {
    let stays = |all: &[_]| !all.is_sorted() || all.iter().map(|&t| image(t)).is_sorted();
    (!order.all || world.tids().all(|t| image(t) == t))
        && (!order.members || world.objects.values().all(|object| stays(&object.members)))
}

/// True if a renaming keeps this order of nodes.
fn nodes_stay(order: KeptOrder, renaming: &Renaming, world: &World, client: &Client) -> bool {
    let stays = |nodes: &BTreeSet<Node>| nodes.iter().map(|&n| renaming.node(n)).is_sorted();
    let of_call = |call: &Call| call.args.iter().filter_map(|v| v.nodes()).all(|nodes| stays(&nodes.iter().collect()));
    let of_members = |members: &[_]| stays(&members.iter().map(|&t| world.node_of(t)).collect());
    (!order.all || world.all_nodes().iter().all(|n| renaming.node(n) == n))
        && (!order.members || world.objects.values().all(|object| of_members(&object.members)))
        && (!order.arguments || client.threads.iter().flatten().all(of_call))
}
