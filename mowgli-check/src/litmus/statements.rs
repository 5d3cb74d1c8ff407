//! The notation of declarations and statements, by the method tables: in messages, as examples, and as a page of the
//! book.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use itertools::Itertools;
use mowgli_core::ids::Name;
use mowgli_core::term::method::{ArgumentKind, Method};

use mowgli_rdma::Switches;

use super::callables::Callable;
use super::test::Model;
use crate::catalogue::Catalogue;

/// The built-in libraries, each from the first model that has it at all.
static BUILTIN: LazyLock<BTreeMap<Name, Callable>> = LazyLock::new(|| {
    let switched = [Switches::CRASHES, Switches::MESSAGES].map(Model::RdmaTso);
    // The model with the switch events is first, because its words have all methods of words.
    let models = [Model::RdmaTso(Switches::EVENTS)].into_iter().chain(Model::ALL).chain(switched);
    let all = models.flat_map(|model| Catalogue::builtin().known(model).all().cloned());
    let mut first = BTreeMap::new();
    all.for_each(|library| _ = first.entry(library.name).or_insert(library));
    first
});

/// True if a call of a library is written by the name of its method alone: a statement, or a method without an object
/// that no other library has. A call of a user's library is written with its object or its library.
pub(super) fn is_written_alone(library: Name, method: &str) -> bool {
    let Some(known) = builtin(library).and_then(|l| l.method(method)) else { return false };
    let others = || BUILTIN.values().filter(|l| l.name != library && l.method(method).is_some());
    known.is_statement || !known.is_of_object() && others().next().is_none()
}

/// Returns the library of this name, if it is built in.
pub(super) fn builtin(library: Name) -> Option<&'static Callable> {
    BUILTIN.get(&library)
}

/// Returns the word for an argument in messages.
fn word(method: &Method, name: &'static str, kind: ArgumentKind) -> &'static str {
    let is_remote = method.takes.iter().any(|(_, kind)| matches!(kind, ArgumentKind::Placed | ArgumentKind::Places));
    match kind {
        ArgumentKind::Local | ArgumentKind::Locals if is_remote => "local",
        ArgumentKind::Placed | ArgumentKind::Places => "remote",
        ArgumentKind::Nodes => "{nodes}",
        ArgumentKind::Node => "node",
        _ => name,
    }
}

/// Prints the form of a call of a method on `receiver`; a statement is written without it.
pub(super) fn form(method: &Method, receiver: &str) -> String {
    let before = !method.is_statement && method.is_of_object();
    let count = method.takes_several().then_some("k");
    let arguments = method.written(before).map(|(_, name, kind)| word(method, name, kind)).chain(count).join(", ");
    let arguments = if arguments.is_empty() { arguments } else { format!("({arguments})") };
    let way = if method.takes_way() { "@way" } else { "" };
    let name = method.statement() + way;
    if method.is_statement { format!("{name}{arguments}") } else { format!("{receiver}.{name}{arguments}") }
}

/// Prints a call as an example: with a register for its result, and in the notation of reads and writes for words of
/// memory.
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

/// Prints the declarations and statements of litmus tests, model by model, as a page of the book. All of it comes from
/// the method tables of the libraries.
#[must_use]
pub fn reference(catalogue: &Catalogue) -> String {
    let mut out = String::new();
    let mut reported: BTreeSet<Name> = BTreeSet::new();
    for model in Model::ALL {
        let known = catalogue.known(model);
        for library in known.all().filter(|l| !l.methods.is_empty()) {
            let Some(object) = library.object else { continue };
            if !reported.insert(library.name) {
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
