//! Clients as litmus text.

use std::fmt::{Display, Write as _};

use mowgli_core::event::Call;
use mowgli_core::ids::{Name, Node, Tid};
use mowgli_core::outcome::Outcome;
use mowgli_core::soundness::client::Client;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::{bal, kvstore, msw, nlock, rbl, sc_rmw, sequential, slock, sv, wlock, x86};
use mowgli_rdma::core_rma::CORE_RMA;
use mowgli_rdma::tso::TSO;
use mowgli_rdma::wait::WAIT;
use mowgli_x86::tso::X86;

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
    let arg = |i: usize| call.args[i].to_string();
    let with_id = |i: usize| match call.args.get(i) {
        Some(Val::Wid(d)) => format!(", {d}"),
        _ => String::new(),
    };
    match (call.library, call.method.text()) {
        (WAIT | TSO | X86, "Write") => format!("{} := {}", arg(0), arg(1)),
        (WAIT | TSO | X86, "Read") => arg(0),
        (WAIT | TSO | X86, "CAS") => format!("cas({}, {}, {})", arg(0), arg(1), arg(2)),
        (WAIT | TSO | X86, "Xchg") => format!("xchg({}, {})", arg(0), arg(1)),
        (WAIT | TSO | X86, "Mfence") => "mfence".into(),
        (X86, _) => format!("faa({}, {})", arg(0), arg(1)),
        (WAIT | TSO, "Put") => format!("put({}, {}{})", arg(0), arg(1), with_id(2)),
        (WAIT | TSO, "Get") => format!("get({}, {}{})", arg(0), arg(1), with_id(2)),
        (WAIT | TSO, "RCAS") => format!("rcas({}, {}, {}, {}{})", arg(0), arg(1), arg(2), arg(3), with_id(4)),
        (WAIT | TSO, "RFAA") => format!("rfaa({}, {}, {}{})", arg(0), arg(1), arg(2), with_id(3)),
        (WAIT, "Wait") => format!("wait({})", arg(0)),
        (WAIT | TSO, "Rfence") => format!("rfence({})", arg(0)),
        (TSO, _) => format!("poll({})", arg(0)),
        (sv::SV, "Write") => format!("{}.write({})", arg(0), arg(1)),
        (sv::SV, "Read") => format!("{}.read", arg(0)),
        (sv::SV, "Bcast") => format!("{}.bcast({}{})", arg(0), arg(2), with_id(1)),
        (sv::SV, "Wait") => format!("sv.wait({})", arg(0)),
        (sv::SV, "GF") => format!("gf({})", arg(0)),
        (bal::BAL | bal::BAL_TRANSITIVE, _) => format!("bar({})", arg(0)),
        (rbl::RBL | rbl::RBL_WEAK, "Submit") => format!("submit({}, {})", arg(0), arg(1)),
        (rbl::RBL | rbl::RBL_WEAK, _) => format!("receive({})", arg(0)),
        (msw::MSW, "Write") => format!("{}.write({})", arg(0), arg(1)),
        (msw::MSW, "TryRead") => format!("{}.tryread", arg(0)),
        (msw::MSW, "Put") => format!("{}.put({}{})", arg(0), arg(1), with_id(2)),
        (msw::MSW, "Get") => format!("{}.get({}{})", arg(0), arg(1), with_id(2)),
        (msw::MSW, _) => format!("msw.wait({})", arg(0)),
        (sc_rmw::SC_RMW, "Write") => format!("{}.write({})", arg(0), arg(1)),
        (sc_rmw::SC_RMW, "CAS") => format!("{}.cas({}, {})", arg(0), arg(1), arg(2)),
        (sc_rmw::SC_RMW, "FAA") => format!("{}.faa({})", arg(0), arg(1)),
        (sc_rmw::SC_RMW, _) => format!("{}.read", arg(0)),
        (library, "Acq") if is_lock(library) => format!("acq({})", arg(0)),
        (library, _) if is_lock(library) => format!("rel({})", arg(0)),
        (library, method) => {
            let receiver = |x: &Val| x.loc().map(|x| (x.to_string(), &call.args[1..]));
            let (receiver, args) =
                call.args.first().and_then(receiver).unwrap_or_else(|| (library.to_string(), &call.args[..]));
            let args: Vec<String> = args.iter().filter(|v| **v != Val::NoWid).map(Val::to_string).collect();
            let args = if args.is_empty() { String::new() } else { format!("({})", args.join(", ")) };
            format!("{receiver}.{}{args}", method.to_lowercase())
        }
    }
}

fn is_lock(library: Name) -> bool {
    [wlock::WLOCK, slock::SLOCK, nlock::NLOCK].contains(&library) || x86::LOCKS.contains(&library)
}

fn is_wrapped(library: Name) -> bool {
    sequential::objects().iter().any(|o| Name::literal(o.name()) == library)
}

fn declarations(model: Model, world: &World, out: &mut String) {
    if model != Model::X86Tso {
        let _ = writeln!(out, "  nodes {};", world.nodes);
    }
    for (loc, object) in &world.objects {
        let members: Vec<String> = object.members.iter().map(Tid::to_string).collect();
        let members = members.join(", ");
        let _ = match (object.library, object.node) {
            (WAIT | TSO, Some(node)) => writeln!(out, "  {loc}@{node} = {};", object.init),
            (X86, _) => writeln!(out, "  {loc} = {};", object.init),
            (sv::SV, _) => writeln!(out, "  svar {loc} = {};", object.init),
            (bal::BAL, _) => writeln!(out, "  barrier {loc} = {{{members}}};"),
            (bal::BAL_TRANSITIVE, _) => writeln!(out, "  transitive barrier {loc} = {{{members}}};"),
            (wlock::WLOCK, Some(node)) => writeln!(out, "  weak lock {loc} at {node};"),
            (slock::SLOCK, Some(node)) => writeln!(out, "  strong lock {loc} at {node};"),
            (nlock::NLOCK, Some(node)) => writeln!(out, "  node lock {loc}@{node};"),
            (rbl::RBL | rbl::RBL_WEAK, _) => {
                let weak = if object.library == rbl::RBL_WEAK { "weak " } else { "" };
                let (writer, readers) = members.split_once(", ").unwrap_or((&members, ""));
                writeln!(out, "  {weak}ring {loc} = {writer} -> {{{readers}}} size {};", object.size)
            }
            (msw::MSW, Some(node)) => writeln!(out, "  msw {loc}@{node}[{}] = {};", object.size, object.init),
            (sc_rmw::SC_RMW, Some(node)) => writeln!(out, "  sc {loc} = {} at {node};", object.init),
            (kvstore::KVSTORE, _) => writeln!(out, "  kvstore {loc} = {};", object.init),
            (library, Some(node)) if model != Model::X86Tso => writeln!(out, "  {library} {loc} at {node};"),
            (library, _) => writeln!(out, "  {library} {loc};"),
        };
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

/// Whether a call returns something: by its method, or, of a library that tests have no statements for, by what it
/// returned, where that is known.
fn has_result(call: &Call, returned: Option<Val>) -> bool {
    returns(call.library, call.method.text()).unwrap_or_else(|| returned.is_some_and(|v| v != Val::Unit))
}

/// Whether a method returns something; `None` for a library that tests have no statements for.
pub(super) fn returns(library: Name, method: &str) -> Option<bool> {
    match library {
        kvstore::KVSTORE => Some(method != "Serve"),
        WAIT | TSO | X86 | CORE_RMA | sv::SV | msw::MSW | sc_rmw::SC_RMW => {
            Some(matches!(method, "Read" | "CAS" | "Xchg" | "FAA" | "TryRead"))
        }
        rbl::RBL | rbl::RBL_WEAK => Some(true),
        bal::BAL | bal::BAL_TRANSITIVE => Some(false),
        _ if is_lock(library) => Some(false),
        _ => match x86::CONTAINERS.iter().find(|c| c.name == library) {
            Some(container) => Some(container.methods[0].0 != method),
            None => is_wrapped(library).then_some(true),
        },
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
