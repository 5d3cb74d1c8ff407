//! The libraries that tests of a model can call, by their method tables.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use mowgli_core::event::Call;
use mowgli_core::ids::{Name, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::method::Method;
use mowgli_core::stamp::Stamp;
use mowgli_core::world::{Form, World};

use super::test::Model;
use crate::catalogue::Catalogue;

type Fault = Arc<dyn Fn(&World, Tid, &Call) -> Option<String> + Send + Sync>;

/// A library as tests see it, whatever its stamps are.
#[derive(Clone)]
pub(super) struct Callable {
    /// Its name.
    pub(super) name: Name,
    /// Its methods.
    pub(super) methods: Vec<&'static Method>,
    /// How its objects are declared.
    pub(super) object: Option<Form>,
    fault: Fault,
}

impl Callable {
    fn of<S: Stamp>(libraries: &Libraries<S>, name: Name, model: Model) -> Self {
        let library = libraries.shared(name);
        let methods = library.methods().iter().filter(|m| model.has(m)).collect();
        let object = library.object();
        Self { name, methods, object, fault: Arc::new(move |world, thread, call| library.fault(world, thread, call)) }
    }

    /// The method of this name.
    pub(super) fn method(&self, name: &str) -> Option<&'static Method> {
        self.methods.iter().copied().find(|m| m.name == name)
    }

    /// What is wrong with a call that no program may make.
    pub(super) fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        (self.fault)(world, thread, call)
    }
}

/// The libraries that tests of a model can call, that of its memory first.
#[derive(Clone)]
pub(super) struct Known(Vec<Callable>);

impl Known {
    pub(super) fn of(catalogue: &Catalogue, model: Model) -> Self {
        let rdma = catalogue.libraries::<mowgli_rdma::Stamp>(model);
        let x86 = catalogue.libraries::<mowgli_x86::Stamp>(model);
        let over_rdma = rdma.names().map(|name| Callable::of(&rdma, name, model));
        let mut all: Vec<Callable> = over_rdma.chain(x86.names().map(|name| Callable::of(&x86, name, model))).collect();
        all.sort_by_key(|library| (library.name != model.memory(), library.name));
        Self(all)
    }

    pub(super) fn library(&self, name: Name) -> Option<&Callable> {
        self.0.iter().find(|library| library.name == name)
    }

    /// The library whose objects are declared by these words before their names.
    pub(super) fn declared(&self, kind: &str) -> Option<(&Callable, Form)> {
        self.forms().find(|(_, form)| form.kind == kind)
    }

    /// How objects are declared.
    pub(super) fn forms(&self) -> impl Iterator<Item = (&Callable, Form)> {
        self.0.iter().filter_map(|library| Some((library, library.object?)))
    }

    /// The methods that programs call by this name alone, each with its library.
    pub(super) fn statements(&self, name: &str) -> impl Iterator<Item = (Name, &'static Method)> {
        self.methods().filter(move |(_, m)| m.is_statement && m.statement() == name)
    }

    /// All methods, each with its library.
    pub(super) fn methods(&self) -> impl Iterator<Item = (Name, &'static Method)> {
        self.0.iter().flat_map(|library| library.methods.iter().map(|m| (library.name, *m)))
    }

    /// Whether a method returns something that programs look at.
    pub(super) fn returns(&self, library: Name, method: &str) -> bool {
        self.library(library).and_then(|l| l.method(method)).is_some_and(|m| m.returns.is_result())
    }
}

impl Model {
    /// Whether tests of the model can call a method of its libraries.
    fn has(self, method: &Method) -> bool {
        match method.name {
            "RCAS" | "RFAA" => self != Self::RdmaSc,
            // For programs that waits are compiled to.
            "SetAdd" | "SetRemove" | "SetIsEmpty" => false,
            _ => true,
        }
    }
}

/// The libraries that are built in, each once.
static BUILTIN: LazyLock<BTreeMap<Name, Callable>> = LazyLock::new(|| {
    let all = Model::ALL.into_iter().flat_map(|model| Known::of(Catalogue::builtin(), model).0);
    all.map(|library| (library.name, library)).collect()
});

/// The library of this name, if it is built in.
pub(super) fn builtin(library: Name) -> Option<&'static Callable> {
    BUILTIN.get(&library)
}
