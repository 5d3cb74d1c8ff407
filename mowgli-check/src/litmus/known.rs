//! The libraries that tests of a model can call, by their method tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use itertools::Itertools;
use mowgli_core::event::{Call, Event};
use mowgli_core::ids::{Name, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::method::{Kind, Method};
use mowgli_core::stamp::Stamp;
use mowgli_core::world::{Form, World};

use super::test::Model;
use crate::catalogue::Catalogue;

type Fault = Arc<dyn Fn(&World, Tid, &Call) -> Option<String> + Send + Sync>;

/// A library as tests see it, whatever its stamps are.
#[derive(Clone)]
pub(crate) struct Callable {
    /// Its name.
    pub(super) name: Name,
    /// Its methods.
    pub(super) methods: Vec<&'static Method>,
    /// How its objects are declared.
    pub(super) object: Option<Form>,
    fault: Fault,
    only_looks: Arc<dyn Fn(&Event) -> bool + Send + Sync>,
}

impl Callable {
    fn of<S: Stamp>(libraries: &Libraries<S>, name: Name, model: Model) -> Self {
        let library = libraries.shared(name);
        let object = library.object();
        // What has no objects is for implementations.
        let of_tests = |m: &&'static Method| object.is_some() && model.has(m);
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

    /// The method of this name.
    pub(super) fn method(&self, name: &str) -> Option<&'static Method> {
        self.methods.iter().copied().find(|m| m.name == name)
    }

    /// What is wrong with a call that no program may make.
    pub(super) fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        (self.fault)(world, thread, call)
    }

    /// Whether an event only looks.
    pub(super) fn only_looks(&self, event: &Event) -> bool {
        (self.only_looks)(event)
    }
}

/// The libraries that tests of a model can call: that of its memory, those of one's own, the others.
#[derive(Clone)]
pub(crate) struct Known(Vec<Callable>);

impl Known {
    /// Those of a catalogue.
    pub(crate) fn of(catalogue: &Catalogue, model: Model) -> Self {
        let rdma = catalogue.libraries::<mowgli_rdma::Stamp>(model);
        let x86 = catalogue.libraries::<mowgli_x86::Stamp>(model);
        let over_rdma = rdma.names().map(|name| Callable::of(&rdma, name, model));
        let mut all: Vec<Callable> = over_rdma.chain(x86.names().map(|name| Callable::of(&x86, name, model))).collect();
        let own: Vec<&str> = catalogue.own_names().collect();
        all.sort_by_key(|l| (l.name != model.memory(), !own.contains(&l.name.text()), l.name));
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

    /// The methods that programs call by this name alone, each with its library: those that are statements, and those that
    /// have no object.
    pub(super) fn statements(&self, name: &str) -> impl Iterator<Item = (Name, &'static Method)> {
        self.methods().filter(move |(_, m)| (m.is_statement || !m.is_of_object()) && m.statement() == name)
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

/// The libraries that are built in, each as the first model has it that has it at all.
static BUILTIN: LazyLock<BTreeMap<Name, Callable>> = LazyLock::new(|| {
    let all = Model::ALL.into_iter().flat_map(|model| Catalogue::builtin().known(model).0.clone());
    let mut first = BTreeMap::new();
    all.for_each(|library| _ = first.entry(library.name).or_insert(library));
    first
});

/// Whether a call of a library is written by the name of its method alone: that of a statement, or one without an object
/// that no other library has. Of a library of one's own it is written with what it is of.
pub(super) fn is_written_alone(library: Name, method: &str) -> bool {
    let Some(known) = builtin(library).and_then(|l| l.method(method)) else { return false };
    let others = || BUILTIN.values().filter(|l| l.name != library && l.method(method).is_some());
    known.is_statement || !known.is_of_object() && others().next().is_none()
}

/// The library of this name, if it is built in.
pub(super) fn builtin(library: Name) -> Option<&'static Callable> {
    BUILTIN.get(&library)
}

/// What an argument is called in messages.
fn word(method: &Method, name: &'static str, kind: Kind) -> &'static str {
    let is_remote = method.takes.iter().any(|(_, kind)| *kind == Kind::Placed);
    match kind {
        Kind::Local if is_remote => "local",
        Kind::Placed => "remote",
        Kind::Nodes => "{nodes}",
        Kind::Node => "node",
        _ => name,
    }
}

/// How a method is called on `receiver`, which a statement has not.
pub(super) fn form(method: &Method, receiver: &str) -> String {
    let before = !method.is_statement && method.is_of_object();
    let arguments = method.written(before).map(|(_, name, kind)| word(method, name, kind)).join(", ");
    let arguments = if arguments.is_empty() { arguments } else { format!("({arguments})") };
    let name = method.statement();
    if method.is_statement { format!("{name}{arguments}") } else { format!("{receiver}.{name}{arguments}") }
}

/// A call as an example: with a register for its result, and as words of memory are read and written.
pub(super) fn example(model: Model, library: Name, method: &Method) -> String {
    let call = match (library == model.memory(), method.name) {
        (true, "Read") => "x".to_owned(),
        (true, "Write") => "x := v".to_owned(),
        _ if method.is_of_object() => form(method, method.takes[0].0),
        _ if is_written_alone(library, method.name) => form(&Method { is_statement: true, ..*method }, ""),
        _ => form(method, library.text()),
    };
    if method.returns.is_result() { format!("a := {call}") } else { call }
}

/// The declarations and statements of litmus tests, model by model, as a page of the book. The method tables of the
/// libraries have all of it.
#[must_use]
pub fn reference(catalogue: &Catalogue) -> String {
    let mut out = String::new();
    let mut told: BTreeSet<Name> = BTreeSet::new();
    for model in Model::ALL {
        let known = catalogue.known(model);
        for library in known.0.iter().filter(|l| !l.methods.is_empty()) {
            let Some(object) = library.object else { continue };
            if !told.insert(library.name) {
                continue;
            }
            let (name, declaration) = (library.name, object.example());
            let _ = writeln!(out, "\n## {name}\n\nIn tests of `{model}`. An object is declared as `{declaration};`.\n");
            let _ = writeln!(out, "| statement | |\n|---|---|");
            for method in &library.methods {
                let _ = writeln!(out, "| `{}` | {} |", example(model, name, method), method.about.trim());
            }
        }
    }
    out
}
