//! The notation of tests for editors: the calls and declarations of a model, and the meaning of one statement.

use itertools::Itertools as _;
use mowgli_core::event::{Call, Event, Sub};
use mowgli_core::ids::Tid;
use mowgli_core::value::Val;

use super::statements::example;
use super::test::{Arg, Model, Statement, Test};
use crate::catalogue::Catalogue;

/// A call or a declaration as tests write it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notation {
    /// The library that it is of.
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
    let of = |(library, method): (_, &'static mowgli_core::method::Method)| {
        let text = example(model, library, method).trim_start_matches("a := ").to_owned();
        Notation { library: library.text(), text, about: method.about.trim() }
    };
    // Reads and writes of memory have no name.
    catalogue.known(model).methods().map(of).filter(|call| !["x", "x := v"].contains(&&*call.text)).collect()
}

/// Returns the declarations that tests of a model can have.
#[must_use]
pub fn declarations(catalogue: &Catalogue, model: Model) -> Vec<Notation> {
    let known = catalogue.known(model);
    let all = known.forms().map(|(library, form)| (library.name.text(), form.example()));
    all.map(|(library, text)| Notation { library, text: text + ";", about: "" }).collect()
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
        for model in Model::ALL.into_iter().filter(|model| *model != Model::CoreRma) {
            let (calls, declarations) = (calls(Catalogue::builtin(), model), declarations(Catalogue::builtin(), model));
            assert!(calls.len() >= 3 && !declarations.is_empty(), "{model}: {calls:?} {declarations:?}");
            assert!(calls.iter().all(|call| !call.text.contains(":=")), "{calls:?}");
        }
    }
}
