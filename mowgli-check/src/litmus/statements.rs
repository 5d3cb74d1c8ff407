//! How declarations and statements are written, by the method tables: in messages, as examples, and as a page of the book.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use itertools::Itertools;
use mowgli_core::ids::Name;
use mowgli_core::method::{Kind, Method};

use mowgli_rdma::Switches;

use super::known::Callable;
use super::test::Model;
use crate::catalogue::Catalogue;

/// The libraries that are built in, each as the first model has it that has it at all.
static BUILTIN: LazyLock<BTreeMap<Name, Callable>> = LazyLock::new(|| {
    let switched = [Switches::CRASHES, Switches::MESSAGES].map(Model::RdmaTso);
    // The words of the switch events have all methods of words.
    let models = [Model::RdmaTso(Switches::EVENTS)].into_iter().chain(Model::ALL).chain(switched);
    let all = models.flat_map(|model| Catalogue::builtin().known(model).all().cloned());
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
    let is_remote = method.takes.iter().any(|(_, kind)| matches!(kind, Kind::Placed | Kind::Places));
    match kind {
        Kind::Local | Kind::Locals if is_remote => "local",
        Kind::Placed | Kind::Places => "remote",
        Kind::Nodes => "{nodes}",
        Kind::Node => "node",
        _ => name,
    }
}

/// How a method is called on `receiver`, which a statement has not.
pub(super) fn form(method: &Method, receiver: &str) -> String {
    let before = !method.is_statement && method.is_of_object();
    let count = method.takes_several().then_some("k");
    let arguments = method.written(before).map(|(_, name, kind)| word(method, name, kind)).chain(count).join(", ");
    let arguments = if arguments.is_empty() { arguments } else { format!("({arguments})") };
    let way = if method.takes_way() { "@way" } else { "" };
    let name = method.statement() + way;
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
        for library in known.all().filter(|l| !l.methods.is_empty()) {
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
