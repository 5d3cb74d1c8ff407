//! The libraries that tests of a model can call, by their method tables.

use std::sync::Arc;

use mowgli_core::event::{Call, Event};
use mowgli_core::ids::{Name, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::term::method::Method;
use mowgli_core::world::{DeclarationForm, World};

use mowgli_rdma::crash::CRASH;
use mowgli_rdma::message::MESSAGE;

use super::test::Model;

type CallCheck = Arc<dyn Fn(&World, Tid, &Call) -> Option<String> + Send + Sync>;

/// A library in the form that tests need, independent of its stamps.
#[derive(Clone)]
pub(crate) struct Callable {
    /// Its name.
    pub(super) name: Name,
    /// Its methods.
    pub(super) methods: Vec<&'static Method>,
    /// The form in which its objects are declared.
    pub(super) object: Option<DeclarationForm>,
    fault: CallCheck,
    only_looks: Arc<dyn Fn(&Event) -> bool + Send + Sync>,
}

impl Callable {
    fn of(libraries: &Libraries, name: Name, model: Model) -> Self {
        let library = libraries.shared(name);
        let object = library.object();
        // A library without objects is for implementations, except those of crashes and messages.
        let of_tests = |m: &&'static Method| (object.is_some() || name == CRASH || name == MESSAGE) && model.has(m);
        let methods = library.methods().iter().filter(of_tests).collect();
        let looking = library.clone();
        Self {
            name,
            methods,
            object,
            fault: Arc::new(move |world, thread, call| library.fault(world, thread, call)),
            only_looks: Arc::new(move |event| looking.only_looks(event)),
        }
    }

    /// Returns the method of this name.
    pub(super) fn method(&self, name: &str) -> Option<&'static Method> {
        self.methods.iter().copied().find(|m| m.name == name)
    }

    /// Returns the fault of a call, if no program may make it.
    pub(super) fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        (self.fault)(world, thread, call)
    }

    /// True if an event only looks.
    pub(super) fn only_looks(&self, event: &Event) -> bool {
        (self.only_looks)(event)
    }
}

/// The libraries that tests of a model can call: first that of its memory, then the user's, then the others.
#[derive(Clone)]
pub(crate) struct Callables(Vec<Callable>);

impl Callables {
    /// Collects the libraries that a model has; `own` names the user's libraries among them.
    pub(crate) fn of(model: Model, libraries: &Libraries, own: &[&str]) -> Self {
        let mut all: Vec<Callable> = libraries.names().map(|name| Callable::of(libraries, name, model)).collect();
        all.sort_by_key(|l| (l.name != model.memory(), !own.contains(&l.name.text()), l.name));
        Self(all)
    }

    /// Returns each library.
    pub(super) fn all(&self) -> impl Iterator<Item = &Callable> {
        self.0.iter()
    }

    pub(super) fn library(&self, name: Name) -> Option<&Callable> {
        self.0.iter().find(|library| library.name == name)
    }

    /// Returns the library whose objects are declared by these words before their names.
    pub(super) fn declared(&self, kind: &str) -> Option<(&Callable, DeclarationForm)> {
        self.forms().find(|(_, form)| form.kind == kind)
    }

    /// Returns the forms in which objects are declared, each with its library.
    pub(super) fn forms(&self) -> impl Iterator<Item = (&Callable, DeclarationForm)> {
        self.0.iter().filter_map(|library| Some((library, library.object?)))
    }

    /// Returns the methods that programs call by this name alone, each with its library: statements, and methods
    /// without an object.
    pub(super) fn statements(&self, name: &str) -> impl Iterator<Item = (Name, &'static Method)> {
        self.methods().filter(move |(_, m)| (m.is_statement || !m.is_of_object()) && m.statement() == name)
    }

    /// Returns all methods, each with its library.
    pub(super) fn methods(&self) -> impl Iterator<Item = (Name, &'static Method)> {
        self.0.iter().flat_map(|library| library.methods.iter().map(|m| (library.name, *m)))
    }

    /// True if a method returns a value that programs can use.
    pub(super) fn returns(&self, library: Name, method: &str) -> bool {
        self.library(library).and_then(|l| l.method(method)).is_some_and(|m| m.returns.is_result())
    }
}

impl Model {
    /// True if tests of the model can call a method of its libraries.
    fn has(self, method: &Method) -> bool {
        match method.name {
            "RCAS" | "RFAA" | "RXchg" | "RCASBy" | "RFAABy" | "RXchgBy" => self != Self::RdmaSc,
            "TryPoll" | "TryPollAny" | "Arm" | "Event" => self.switches().is_some_and(|switches| switches.events),
            // Only the programs that waits are compiled to make these.
            "SetAdd" | "SetRemove" | "SetIsEmpty" => false,
            // Threads that crash make these between their calls.
            "Goes" | "Stop" => false,
            _ => true,
        }
    }
}
