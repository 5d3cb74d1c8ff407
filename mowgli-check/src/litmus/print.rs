//! Clients as litmus text.

use std::fmt::{Display, Write as _};

use mowgli_core::event::Call;
use mowgli_core::ids::Node;
use mowgli_core::outcome::Outcome;
use mowgli_core::soundness::client::Client;
use mowgli_core::value::Val;
use mowgli_core::world::{Form, Part, World};
use mowgli_rdma::core_rma::CORE_RMA;

use super::known::{builtin, is_written_alone};
use super::test::Model;

/// The letters for registers: a, b, c, and so on, in the order of threads.
#[must_use]
pub fn register(index: usize) -> String {
    let letter = char::from(b'a' + (index % 26) as u8);
    if index < 26 { letter.to_string() } else { format!("{letter}{}", index / 26) }
}

/// What a call looks like, without its register.
#[must_use]
pub fn statement(call: &Call) -> String {
    let args: Vec<String> = call.args.iter().map(Val::to_string).collect();
    let is_memory = Model::ALL.iter().any(|model| model.memory() == call.library);
    match (call.method.text(), &args[..]) {
        ("Write", [x, v]) if is_memory => return format!("{x} := {v}"),
        ("Read", [x]) if is_memory => return x.clone(),
        _ => {}
    }
    let name = call.method.text().to_lowercase();
    if is_written_alone(call.library, call.method.text()) {
        return format!("{name}{}", arguments(&call.args));
    }
    match call.args.split_first() {
        Some((Val::Loc(x), rest)) => format!("{x}.{name}{}", arguments(rest)),
        _ => format!("{}.{name}{}", call.library, arguments(&call.args)),
    }
}

/// What stands between the parentheses: identifiers last, and one that nothing waits on only where there is nothing else.
fn arguments(args: &[Val]) -> String {
    let (ids, others): (Vec<_>, Vec<_>) = args.iter().partition(|v| matches!(v, Val::Wid(_) | Val::NoWid));
    let is_shown = |v: &&Val| args.len() == 1 || *v != &Val::NoWid;
    let all = others.into_iter().chain(ids).filter(is_shown).map(Val::to_string).collect::<Vec<_>>().join(", ");
    if all.is_empty() { all } else { format!("({all})") }
}

fn declarations(model: Model, world: &World, out: &mut String) {
    if model != Model::X86Tso {
        let _ = writeln!(out, "  nodes {};", world.nodes);
    }
    for (&x, object) in &world.objects {
        let form = builtin(object.library).and_then(|library| library.object);
        let parts: &[Part] = if model == Model::X86Tso { &[] } else { &[Part::Home] };
        let usual = Form { kind: object.library.text(), parts };
        let _ = writeln!(out, "  {};", form.unwrap_or(usual).declaration(x, object));
    }
}

/// The results of the calls that return something, by register.
#[must_use]
pub fn registers(client: &Client, outcome: &Outcome) -> Vec<(String, String)> {
    let results = client.threads.iter().zip(&outcome.outputs).flat_map(|(calls, &output)| results(calls, output));
    results.enumerate().map(|(i, v)| (register(i), v.to_string())).collect()
}

/// The results of those calls that return something, from the results of all.
#[must_use]
pub fn results(calls: &[Call], output: Val) -> Vec<Val> {
    calls.iter().zip(parts(output)).filter(|(call, v)| has_result(call, Some(**v))).map(|(_, &v)| v).collect()
}

/// The result of each call, from what a thread puts out.
fn parts(output: Val) -> &'static [Val] {
    if let Val::Tuple(parts) = output { parts.parts() } else { &[] }
}

/// Whether a call returns something that programs look at: by its method, or, of a library of one's own, by what it
/// returned, where that is known.
fn has_result(call: &Call, returned: Option<Val>) -> bool {
    let method = call.method.text();
    match builtin(call.library).and_then(|l| l.method(method)) {
        _ if call.library == CORE_RMA => matches!(method, "Read" | "CAS" | "Xchg" | "FAA"),
        Some(method) => method.returns.is_result(),
        None => returned.is_some_and(|v| v != Val::Unit),
    }
}

/// The statements of each thread. `outputs` are the results of the calls of each, where they are known.
#[must_use]
pub fn statements(client: &Client, outputs: &[Val]) -> Vec<Vec<String>> {
    let mut used = 0;
    let mut column = |(thread, calls): (usize, &Vec<Call>)| {
        let results = outputs.get(thread).map_or(&[][..], |&output| parts(output));
        let of_call = |(position, call): (usize, &Call)| {
            if !has_result(call, results.get(position).copied()) {
                return statement(call);
            }
            used += 1;
            format!("{} := {}", register(used - 1), statement(call))
        };
        calls.iter().enumerate().map(of_call).collect()
    };
    client.threads.iter().enumerate().map(&mut column).collect()
}

/// Columns of a litmus test, each with its head.
#[must_use]
pub fn table(columns: Vec<Vec<String>>) -> String {
    let mut out = String::new();
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(|c| c.iter().map(String::len).max().unwrap_or(0)).collect();
    for row in 0..rows {
        let cells = columns.iter().zip(&widths);
        let cells = cells.map(|(c, &w)| format!("{:w$}", c.get(row).map_or("", String::as_str)));
        let _ = writeln!(out, " {} ;", cells.collect::<Vec<_>>().join(" | "));
    }
    out
}

/// A client of memory words as a litmus test of a model, without assertions; `about` may follow the name, as a line in
/// quotes.
#[must_use]
pub fn program(model: Model, name: &str, about: Option<&str>, world: &World, client: &Client) -> String {
    text(model, name, about, world, statements(client, &[]))
}

fn text(model: Model, name: &str, about: Option<&str>, world: &World, statements: Vec<Vec<String>>) -> String {
    let about = about.map_or(String::new(), |text| format!("\"{text}\"\n"));
    let mut out = format!("{model} {name}\n{about}{{\n");
    declarations(model, world, &mut out);
    out.push_str("}\n");
    let head = |(t, node): (usize, &Node)| match model {
        Model::X86Tso => format!("P{t}"),
        _ => format!("P{t}@{node}"),
    };
    let heads = (1..).zip(&world.threads).map(head);
    out.push_str(&table(heads.zip(statements).map(|(head, rest)| [vec![head], rest].concat()).collect()));
    out
}

/// A client as a litmus test of a model, without assertions. `outputs` are the results of the calls of each thread, where
/// they are known.
#[must_use]
pub fn client(model: Model, name: &str, world: &World, client: &Client, outputs: &[Val]) -> String {
    text(model, name, None, world, statements(client, outputs))
}

/// A client as a litmus test, with the assertion that this outcome is forbidden.
#[must_use]
pub fn forbidden(model: Model, name: &str, world: &World, client: &Client, outcome: &Outcome) -> String {
    let condition = conjunction(&registers(client, outcome));
    format!("{}forbidden ({condition})\n", self::client(model, name, world, client, &outcome.outputs))
}

/// The condition that each name has its value; true if there are none.
#[must_use]
pub fn conjunction<V: Display>(values: &[(String, V)]) -> String {
    let equals = values.iter().map(|(name, v)| format!("{name}={v}"));
    if values.is_empty() { "true".to_owned() } else { equals.collect::<Vec<_>>().join(" /\\ ") }
}
