//! The notation of tests for editors: the calls and declarations of a model, and the meaning of one statement.

use itertools::Itertools as _;
use mowgli_core::event::{Call, Event, Sub};
use mowgli_core::ids::Tid;
use mowgli_core::value::Val;
use serde::Serialize;

use super::statements::example;
use super::test::{Arg, Model, Statement, Test};
use crate::catalogue::Catalogue;

/// The words that always mean the same, whatever the model.
pub const WORDS: [&str; 24] = [
    "if",
    "else",
    "while",
    "await",
    "assume",
    "allowed",
    "forbidden",
    "forall",
    "exists",
    "vacuous",
    "ends",
    "may",
    "hang",
    "hangs",
    "stuck",
    "locations",
    "nodes",
    "crash",
    "server",
    "size",
    "at",
    "true",
    "false",
    "bot",
];

/// The kinds of notation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NotationKind {
    /// A call.
    Call,
    /// The name of a library.
    Library,
    /// A declaration, a model, or a word of the language.
    Word,
}

/// A call, a declaration or a word as tests write it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Notation {
    /// Its kind.
    pub kind: NotationKind,
    /// The library that it is of; empty if it is of none.
    pub library: &'static str,
    /// An example, as `put(remote, local, d)` or `svar x = 0;`.
    pub text: String,
    /// A sentence about it; may be empty.
    pub about: &'static str,
}

/// Returns the calls that tests of a model can make, without registers for their results.
///
/// ```
/// use mowgli_check::catalogue::Catalogue;
/// use mowgli_check::litmus::{notation::calls, test::Model};
/// let all = calls(Catalogue::builtin(), Model::RDMA_WAIT);
/// assert!(all.iter().any(|call| call.library == "sv" && call.text == "x.write(v)"));
/// ```
#[must_use]
pub fn calls(catalogue: &Catalogue, model: Model) -> Vec<Notation> {
    let of = |(library, method): (_, &'static mowgli_core::term::method::Method)| {
        let text = example(model, library, method).trim_start_matches("a := ").to_owned();
        Notation { kind: NotationKind::Call, library: library.text(), text, about: method.about.trim() }
    };
    // Reads and writes of memory have no name.
    catalogue.known(model).methods().map(of).filter(|call| !["x", "x := v"].contains(&&*call.text)).collect()
}

/// Returns the declarations that tests of a model can have.
#[must_use]
pub fn declarations(catalogue: &Catalogue, model: Model) -> Vec<Notation> {
    let known = catalogue.known(model);
    let all = known.forms().map(|(library, form)| (library.name.text(), form.example()));
    let of = |(library, text)| Notation { kind: NotationKind::Word, library, text: text + ";", about: "" };
    all.map(of).collect()
}

/// Returns the texts that can be written at a byte of a test: models, declarations, or calls with their arguments.
///
/// ```
/// use mowgli_check::catalogue::Catalogue;
/// use mowgli_check::litmus::notation::completions;
/// let text = "RDMA_WAIT t { svar s = 0; }\n P1@1 ;\n s.";
/// let all = completions(Catalogue::builtin(), text, text.len());
/// assert!(all.iter().any(|call| call.text == "write(v)"));
/// ```
#[must_use]
pub fn completions(catalogue: &Catalogue, text: &str, byte: usize) -> Vec<Notation> {
    let word = |text: String| Notation { kind: NotationKind::Word, library: "", text, about: "" };
    let Some(model) = text.split_whitespace().find_map(|word| word.parse::<Model>().ok()) else {
        return Model::ALL.iter().map(|model| word(model.to_string())).collect();
    };
    let before = text.get(..byte).unwrap_or(text);
    if is_in_declarations(before) {
        return declarations(catalogue, model);
    }
    let all = calls(catalogue, model);
    let begun = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
    if let Some(object) = begun.strip_suffix('.') {
        return methods(text, object, &declarations(catalogue, model), all);
    }
    let libraries = catalogue.names().into_iter();
    let libraries = libraries.map(|name| Notation { kind: NotationKind::Library, ..word(name.to_string()) });
    all.into_iter().chain(WORDS.map(|text| word(text.to_owned()))).chain(libraries).collect()
}

/// Returns the calls of an object, or of a library, without it: those of its library, if its declaration is known.
fn methods(text: &str, before: &str, forms: &[Notation], all: Vec<Notation>) -> Vec<Notation> {
    let object = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let is_declared = |kind: &str| text.contains(&format!("{kind} {object} "));
    let declared = forms.iter().filter_map(|form| Some((form.text.split_once(" x")?.0, form.library)));
    let library = declared.filter(|(kind, _)| is_declared(kind)).map(|(_, library)| library).next();
    let is_of = |call: &Notation| library.or(Some(object)).is_some_and(|name| name == call.library);
    let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_of);
    let of_object = |call: Notation| Some(Notation { text: call.text.split_once('.')?.1.to_owned(), ..call });
    let chosen = if own.is_empty() { others } else { own };
    chosen.into_iter().filter_map(of_object).collect()
}

/// True if a text ends among the declarations: its first brace is still open.
fn is_in_declarations(before: &str) -> bool {
    let mut depth = 0_i32;
    let depths = before.chars().map(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth
    });
    let depths = depths.skip_while(|depth| *depth == 0).collect_vec();
    !depths.is_empty() && depths.iter().all(|depth| *depth > 0)
}

/// Returns the statement of a test at a line, from 0, and a byte of this line: its thread and its position there.
#[must_use]
pub fn statement_at(test: &Test, text: &str, line: usize, byte: usize) -> Option<(usize, usize)> {
    let row = text.lines().nth(line)?;
    let (before, after) = row.split_at_checked(byte)?;
    let begin = before.rfind(['|', ';']).map_or(0, |at| at + 1);
    let cell = &row[begin..byte + after.find(['|', ';']).unwrap_or(after.len())];
    let thread = before.rsplit(';').next()?.matches('|').count();
    // A cell may hold several statements. The text of each has single spaces.
    let spaced = |text: &str| text.split_whitespace().join(" ");
    let (cell, passed) = (spaced(cell), spaced(&format!("{}.", &before[begin..])).len() - 1);
    let own = test.threads.get(thread)?.source.iter().enumerate().filter(|(_, (own, _))| *own == line + 1);
    let found = own.filter_map(|(at, (_, text))| Some((cell.find(text.as_str())?, at)));
    let (first, rest): (Vec<_>, Vec<_>) = found.partition(|(start, _)| *start <= passed);
    first.last().or(rest.first()).map(|(_, at)| (thread, *at))
}

/// Describes a statement in paragraphs: its text, its method, and its subevents with their stamps. A call that is
/// computed from registers is described with 0 in each.
#[must_use]
pub fn described(catalogue: &Catalogue, test: &Test, (thread, at): (usize, usize)) -> Vec<String> {
    let column = &test.threads[thread];
    let (line, text) = &column.source[at];
    let head = format!("{}, line {line}: {text}", column.name);
    let inner = match &column.statements[at] {
        Statement::Await { call, .. } => call,
        other => other,
    };
    let Statement::Call { library, method, args, .. } = inner else { return vec![head] };
    let Some(known) = catalogue.known(test.model).library(*library).and_then(|known| known.method(method)) else {
        return vec![head];
    };
    let values: Vec<Val> = args.iter().map(|arg| arg.value(&|_| Val::Int(0))).collect();
    let call = Call::new(*library, known.name, &values);
    let zero = [if known.returns.is_result() { Val::Int(0) } else { Val::Unit }];
    let results = zero.iter().chain(values.iter().filter(|_| known.returns.is_result()));
    let ways = ways(catalogue, test, Tid::from_index(thread), &call, results);
    let is_open = args.iter().any(|arg| !arg.registers().is_empty() && !matches!(arg, Arg::Sent(..)));
    let note = (is_open && !ways.is_empty()).then(|| "(with 0 in each register)".to_owned());
    let about = format!("{library}: {}", known.about.trim());
    [head, about].into_iter().chain(ways).chain(note).collect()
}

/// Returns the ways in which a call can happen if it returns one of these results: a line for each subevent.
fn ways<'v>(
    catalogue: &Catalogue,
    test: &Test,
    thread: Tid,
    call: &Call,
    results: impl Iterator<Item = &'v Val>,
) -> Vec<String> {
    let libraries = catalogue.libraries(test.model);
    let Some(library) = libraries.get(call.library) else { return Vec::new() };
    if library.fault(&test.world, thread, call).is_some() {
        return Vec::new();
    }
    let of = |ret: &Val| library.shapes(&test.world, &Event { thread, call: call.clone(), ret: *ret });
    let shapes = results.flat_map(of);
    shapes.map(|shape| shape.iter().map(subevent).join("\n")).unique().collect()
}

/// Prints a subevent: its stamp, and its accesses of memory.
fn subevent(sub: &Sub) -> String {
    let access = match (sub.reads, sub.writes) {
        (Some(_), Some(_)) => "reads and writes ",
        (Some(_), None) => "reads ",
        (None, Some(_)) => "writes ",
        (None, None) => "",
    };
    let cell = sub.cell.map(|cell| format!(" {access}{} on node {}", cell.loc, cell.node)).unwrap_or_default();
    format!("{}{cell}", sub.stamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::litmus::parse::parse;

    fn at(text: &str, line: usize, word: &str) -> Option<Vec<String>> {
        let test = parse("t.litmus", text).unwrap();
        let byte = text.lines().nth(line).unwrap().find(word).unwrap();
        Some(described(Catalogue::builtin(), &test, statement_at(&test, text, line, byte)?))
    }

    #[test]
    fn statements_have_their_stamps() {
        let text =
            "RDMA_WAIT t\n{ x@1 = 0; z@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x, d) | b := z ;\n if a = 1 { wait(d) } | ;\n";
        let text = text.replace("if a", "a := x ;\n if a").replace(" put", "  put");
        let put = at(&text, 3, "z, x").unwrap();
        assert_eq!(put[0], "P1, line 4: put(z, x, d)");
        assert_eq!(put[2], "aNLR_2 reads x on node 1\naNRW_2 writes z on node 2", "{put:?}");
        assert_eq!(at(&text, 3, "b :=").unwrap()[2], "aCR reads z on node 2");
        assert_eq!(at(&text, 5, "wait").unwrap()[0], "P1, line 6: wait(d)");
        assert_eq!(at(&text, 5, "if").unwrap(), ["P1, line 6: if a = 1 {"]);
        assert_eq!(at(&text, 1, "x@1"), None);
    }

    #[test]
    fn calls_and_declarations_have_a_notation() {
        for model in Model::ALL.into_iter().filter(|model| model.notation().is_none()) {
            let (calls, declarations) = (calls(Catalogue::builtin(), model), declarations(Catalogue::builtin(), model));
            assert!(calls.len() >= 3 && !declarations.is_empty(), "{model}: {calls:?} {declarations:?}");
            assert!(calls.iter().all(|call| !call.text.contains(":=")), "{calls:?}");
        }
    }
}
