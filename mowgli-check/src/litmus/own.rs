//! Statements of libraries of one's own: which objects and methods there are, their subjects tell.

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Name, Tid};
use mowgli_core::library::Library;
use mowgli_core::soundness::client::Bound;
use mowgli_core::stamp::Stamp;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::Entry;

use super::test::Model;
use crate::catalogue::Catalogue;

/// What an argument of a method is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// An object.
    Object,
    /// A work identifier, which may be left out.
    Identifier,
    /// A node.
    Node,
    /// A set of nodes.
    Nodes,
    /// A value.
    Data,
}

impl Kind {
    fn of(argument: Val) -> Self {
        match argument {
            Val::Loc(_) => Self::Object,
            Val::Wid(_) | Val::NoWid => Self::Identifier,
            Val::Node(_) => Self::Node,
            Val::Nodes(_) => Self::Nodes,
            _ => Self::Data,
        }
    }

    /// As it is called in messages.
    fn text(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Identifier => "d",
            Self::Node => "node",
            Self::Nodes => "{nodes}",
            Self::Data => "value",
        }
    }
}

/// A method of a library of one's own.
pub(super) struct Method {
    /// Its name.
    pub(super) name: &'static str,
    /// What it takes.
    pub(super) takes: Vec<Kind>,
    /// Whether it returns something.
    pub(super) returns: bool,
}

impl Method {
    /// What stands before the dot is the object that a call is of; of a method without one it is the library.
    pub(super) fn is_of_object(&self) -> bool {
        self.takes.first() == Some(&Kind::Object)
    }

    /// What stands between the parentheses.
    pub(super) fn arguments(&self) -> &[Kind] {
        &self.takes[usize::from(self.is_of_object())..]
    }

    /// How it is called on `receiver`, for messages.
    pub(super) fn form(&self, receiver: &str) -> String {
        let arguments = self.arguments().iter().map(|kind| kind.text()).join(", ");
        let arguments = if arguments.is_empty() { arguments } else { format!("({arguments})") };
        format!("{receiver}.{}{arguments}", self.name.to_lowercase())
    }
}

impl Catalogue {
    /// The library of one's own of this name, where tests of a model can have its objects.
    pub(super) fn own_library(&self, model: Model, name: &str) -> Option<Name> {
        let own = match model {
            Model::RdmaWait => self.own::<mowgli_rdma::Stamp>().iter().map(|e| e.name).find(|n| *n == name),
            Model::X86Tso => self.own::<mowgli_x86::Stamp>().iter().map(|e| e.name).find(|n| *n == name),
            _ => None,
        };
        own.map(Name::literal)
    }

    /// An object of a library of one's own, as clients of this world have it.
    pub(super) fn own_object(&self, library: Name, world: &World) -> Object {
        let over_rdma = self.own::<mowgli_rdma::Stamp>().iter().find_map(|entry| object(entry, library, world));
        let over_x86 = || self.own::<mowgli_x86::Stamp>().iter().find_map(|entry| object(entry, library, world));
        over_rdma.or_else(over_x86).unwrap_or_else(|| Object::new(library))
    }

    /// The methods of a library of one's own that clients of this world can call.
    pub(super) fn own_methods(&self, library: Name, world: &World) -> Vec<Method> {
        let over_rdma = self.own::<mowgli_rdma::Stamp>().iter().find_map(|entry| methods(entry, library, world));
        let over_x86 = || self.own::<mowgli_x86::Stamp>().iter().find_map(|entry| methods(entry, library, world));
        over_rdma.or_else(over_x86).unwrap_or_default()
    }
}

/// The first bound that an entry is checked at.
fn bound<S: Stamp>(entry: &Entry<S>) -> Bound {
    let mut bounds = entry.variants.iter().flat_map(|variant| &variant.bounds);
    bounds.next().cloned().unwrap_or_default()
}

/// The first object that the subject makes in a world; `None` if the entry is of another library.
fn object<S: Stamp>(entry: &Entry<S>, library: Name, world: &World) -> Option<Object> {
    let empty = World { objects: Default::default(), ..world.clone() };
    let own = Some(entry).filter(|e| Name::literal(e.name) == library)?;
    let worlds = own.subject.worlds(&empty, &bound(entry), &|| false);
    worlds.into_iter().flat_map(|world| world.objects.into_values()).find(|object| object.library == library)
}

/// The methods that the subject calls in a world; `None` if the entry is of another library.
fn methods<S: Stamp>(entry: &Entry<S>, library: Name, world: &World) -> Option<Vec<Method>> {
    let specified = entry.library().ok().filter(|specified| specified.name() == library)?;
    let calls = world.tids().flat_map(|t| {
        let calls = entry.subject.calls(world, t, &bound(entry), &|| false);
        calls.into_iter().map(move |call| (t, call))
    });
    let own = calls.filter(|(_, call)| call.library == library).unique_by(|(_, call)| call.method);
    Some(own.map(|(t, call)| method(specified, world, t, &call)).collect())
}

/// The method of a call that a thread can make.
fn method<S: Stamp>(library: &dyn Library<S>, world: &World, thread: Tid, call: &Call) -> Method {
    let results = library.returns(world, thread, call, &|cell| vec![library.init(world, cell)]);
    Method {
        name: call.method.text(),
        takes: call.args.iter().map(|&argument| Kind::of(argument)).collect(),
        // Where it is not known what a call returns before others were made, it may be something.
        returns: results.is_empty() || results.iter().any(|v| *v != Val::Unit),
    }
}
