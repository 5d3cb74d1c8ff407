//! Executions printed as text and as graphs.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::event::{Call, Event};
use mowgli_core::execution::{Execution, Pairs};
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::judge::Judged;
use mowgli_core::library::Libraries;
use mowgli_core::soundness::local::LocalWitness;
use mowgli_core::value::Val;
use mowgli_rdma::robust::{ScEdge, sc_cycle};
use mowgli_rdma::tso;
use serde::Serialize;

use crate::litmus::print;
use crate::litmus::test::Test;

/// The names of threads and words in the program of an execution. The default names of threads are P1, P2 and so on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    threads: Vec<String>,
    literals: BTreeMap<Loc, Val>,
    sent: BTreeSet<Loc>,
}

impl Names {
    /// Returns the names of a test: its own names for threads, and literals in place of the words that hold them.
    #[must_use]
    pub fn of(test: &Test) -> Self {
        let threads = test.threads.iter().map(|t| t.name.to_string()).collect();
        let sent = test.threads.iter().flat_map(|t| &t.statements).flat_map(|s| s.sent()).collect();
        Self { threads, literals: test.literals.clone(), sent }
    }

    /// Returns the name of a thread.
    #[must_use]
    pub fn thread(&self, thread: Tid) -> String {
        self.threads.get(thread.index()).map_or_else(|| thread.to_string(), Clone::clone)
    }

    /// Prints an event without its thread. The result of an operation or a poll is not a value, so it is put into
    /// words.
    #[must_use]
    pub fn event(&self, event: &Event) -> String {
        let call = flush(self.named(&event.call));
        match tso::in_words(event) {
            Some(operation) => format!("{call}, {operation}"),
            None => Event { call, ..event.clone() }.to_string(),
        }
    }

    /// Prints an event as a statement, with its result.
    #[must_use]
    pub fn statement(&self, event: &Event) -> String {
        let text = print::statement(&self.named(&event.call));
        match tso::in_words(event) {
            _ if !print::has_result(&event.call, Some(event.ret)) => text,
            Some(operation) => format!("{text}, {operation}"),
            None => format!("{text} = {}", event.ret),
        }
    }

    /// Prints a call as a statement, whatever it returns.
    #[must_use]
    pub fn call(&self, call: &Call) -> String {
        print::statement(&self.named(call))
    }

    /// True if a location is a private word that stands for a literal of the program.
    #[must_use]
    pub fn is_literal(&self, loc: Loc) -> bool {
        self.literals.contains_key(&loc)
    }

    /// True if a call sends a private word that the statement writes before it makes the call.
    #[must_use]
    pub fn is_sent(&self, call: &Call) -> bool {
        call.args.iter().any(|arg| arg.loc().is_some_and(|x| self.sent.contains(&x)))
    }

    fn named(&self, call: &Call) -> Call {
        let mut call = call.clone();
        for arg in &mut call.args {
            if let Some(literal) = arg.loc().and_then(|x| self.literals.get(&x)) {
                *arg = *literal;
            }
        }
        call
    }
}

/// Returns a get whose value goes nowhere as the flush that it is.
fn flush(call: Call) -> Call {
    let args: Vec<Val> = call.args.iter().filter(|arg| **arg != Val::Unit).copied().collect();
    if args.len() == call.args.len() || !call.method.text().starts_with("Get") {
        return call;
    }
    Call { method: Name::new(&call.method.text().replace("Get", "Flush")), args: args.into_iter().collect(), ..call }
}

/// An execution to print: with the derived relations, the libraries that define its relations, and names.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The libraries.
    pub libraries: &'a Libraries,
    /// The execution.
    pub execution: &'a Execution,
    /// The relations that the judge derived.
    pub judged: &'a Judged,
    /// The names of threads and words.
    pub names: &'a Names,
}

/// Returns the line of the body that made an event, for example `bal.rs:131`; `None` for an event of the client itself.
#[must_use]
pub fn line(execution: &Execution, event: usize) -> Option<String> {
    execution.groups[event]?;
    execution.events[event].call.place.text()
}

/// Prints the events of each thread, grouped by the call that they implement. Each has the values that its subevents
/// read and wrote, and the line of the body that made it.
#[must_use]
pub fn events(execution: &Execution, names: &Names) -> String {
    let line = |e: usize| line(execution, e).map_or(String::new(), |line| format!("  {line}"));
    events_with(execution, names, &line)
}

/// Prints the events of each thread with these words behind each.
fn events_with(execution: &Execution, names: &Names, behind: &dyn Fn(usize) -> String) -> String {
    let mut out = String::new();
    for thread in execution.world.tids() {
        let _ = writeln!(out, "  {} on node {}", names.thread(thread), execution.world.node_of(thread));
        let mut group = None;
        for e in execution.of_thread(thread) {
            if execution.groups[e] != group {
                group = execution.groups[e];
                if let Some(g) = group {
                    let _ = writeln!(out, "    {}", names.event(&execution.calls[g].event));
                }
            }
            let indent = if group.is_some() { "      " } else { "    " };
            let subs = execution.subs.iter().filter(|s| s.event == e).map(|s| {
                let read = s.read.map_or(String::new(), |v| format!(" read {v}"));
                let wrote = s.wrote.map_or(String::new(), |v| format!(" wrote {v}"));
                format!("{}{read}{wrote}", s.sub.stamp)
            });
            let event = names.event(&execution.events[e]);
            let _ = writeln!(out, "{indent}{event}  [{}]{}", subs.collect::<Vec<_>>().join("; "), behind(e));
        }
    }
    out
}

/// Prints an execution with a witness of its local soundness: f as the nesting of events, and g behind the events. Below stand the parts of
/// so'. Then come reads-from and the order of writes between threads, and the edges of so by which g(so') is within hb.
#[must_use]
pub fn witness(scene: &Scene<'_>, LocalWitness { g, so }: &LocalWitness) -> String {
    let Scene { execution, names, .. } = *scene;
    let behind = |e: usize| {
        let of_event = g.iter().filter(|(_, _, s)| execution.subs[*s].event == e);
        let stands: Vec<String> = of_event
            .map(|(_, stamp, s)| {
                let own = execution.subs[*s].sub.stamp;
                if own == *stamp { stamp.to_string() } else { format!("{stamp} by {own}") }
            })
            .collect();
        let stands = stands.join(", ");
        if stands.is_empty() { String::new() } else { format!("  = {stands}") }
    };
    let mut out = events_with(execution, names, &behind);
    let calls = g.iter().map(|(call, _, s)| made_for(execution, call, *s)).collect_vec();
    let promise = |p: usize| {
        let several = calls.iter().filter(|call| **call == calls[p]).count() > 1;
        let stamp = if several { format!(" {}", g[p].1) } else { String::new() };
        let all = execution.calls.iter().map(|call| &call.event);
        format!("{}{stamp}", numbered(names, &execution.calls[calls[p]].event, all))
    };
    // The same pair may be in several parts.
    let mut listed: Vec<((usize, usize), Vec<&str>)> = Vec::new();
    for (name, pairs) in so {
        for pair in reduced(&pairs.iter().copied().collect()) {
            match listed.iter_mut().find(|(known, _)| *known == pair) {
                Some((_, names)) => names.push(name),
                None => listed.push((pair, vec![name])),
            }
        }
    }
    for ((a, b), names) in &listed {
        let _ = writeln!(out, "  so': {} -> {}  ({})", promise(*a), promise(*b), names.iter().join(", "));
    }
    let thread = |s: usize| execution.events[execution.subs[s].event].thread;
    // Within a thread the text has the order already.
    let across = |pairs: &Pairs| -> Pairs { pairs.iter().copied().filter(|&(a, b)| thread(a) != thread(b)).collect() };
    let memory = named(scene).into_iter().filter(|(_, relation, _)| ["rf", "mo"].contains(&relation.as_str()));
    let memory = memory.map(|(library, relation, pairs)| (library, relation, reduced(&across(&pairs)))).collect_vec();
    let shown: Pairs = memory.iter().flat_map(|(.., pairs)| pairs.iter().copied()).collect();
    let promised = listed.iter().map(|&((a, b), _)| (g[a].2, g[b].2)).collect();
    let carries = carriers(scene, &shown, &promised);
    let of_so = scene.judged.so.iter().map(|(library, part, pairs)| {
        (library.to_string(), (*part).to_owned(), across(pairs).intersection(&carries).copied().collect())
    });
    let mut edges: Vec<((usize, usize), String, Vec<String>)> = Vec::new();
    for (library, relation, pairs) in memory.into_iter().chain(of_so) {
        for pair in pairs {
            match edges.iter_mut().find(|(known, of, _)| *known == pair && *of == library) {
                Some((.., relations)) if relations.contains(&relation) => {}
                Some((.., relations)) => relations.push(relation.clone()),
                None => edges.push((pair, library.clone(), vec![relation.clone()])),
            }
        }
    }
    for (pair, library, relations) in &edges {
        let edge = pairs(execution, names, &Pairs::from([*pair]));
        let _ = writeln!(out, "  {} of {library}: {}", relations.iter().join(", "), edge.trim());
    }
    out
}

/// Returns the edges of so by which hb has these pairs: those of a shortest path for each. Between threads it takes only `known`
/// ones if they suffice.
fn carriers(scene: &Scene<'_>, known: &Pairs, wanted: &Pairs) -> Pairs {
    let Scene { execution, libraries, judged, .. } = *scene;
    let thread = |s: usize| execution.events[execution.subs[s].event].thread;
    let ppo = execution.ppo(libraries);
    let all: Pairs = judged.so.iter().flat_map(|(.., pairs)| pairs.iter().copied()).collect();
    let is_known = |&&(a, b): &&(usize, usize)| thread(a) == thread(b) || known.contains(&(a, b));
    let some: Pairs = all.iter().filter(is_known).copied().collect();
    let path = |so: &Pairs, from, to| path(&so.union(&ppo).copied().collect(), from, to);
    let paths = wanted.iter().filter_map(|&(from, to)| path(&some, from, to).or_else(|| path(&all, from, to)));
    paths.flatten().filter(|edge| all.contains(edge)).collect()
}

/// Returns the edges of a shortest path.
fn path(edges: &Pairs, from: usize, to: usize) -> Option<Vec<(usize, usize)>> {
    let mut came = BTreeMap::from([(from, from)]);
    let mut todo = VecDeque::from([from]);
    while let Some(a) = todo.pop_front().filter(|a| *a != to) {
        for &(_, b) in edges.range((a, 0)..=(a, usize::MAX)) {
            if let Entry::Vacant(new) = came.entry(b) {
                new.insert(a);
                todo.push_back(b);
            }
        }
    }
    came.get(&to)?;
    let before = |b: &usize| Some(came[b]).filter(|a| a != b);
    let nodes: Vec<usize> = std::iter::successors(Some(to), before).collect();
    Some(nodes.windows(2).map(|ends| (ends[1], ends[0])).collect())
}

/// An event of an execution, in machine-readable form.
#[derive(Serialize)]
pub struct Listed {
    /// The thread.
    pub thread: String,
    /// The call of the client whose body made the event; `None` for an event of the client itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The call, with what it returned.
    pub event: String,
    /// The file and the line of the body that made it, for example `bal.rs:131`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The stamps of its subevents, in order.
    pub stamps: Vec<String>,
}

/// Lists the events of an execution, thread by thread, each thread's in program order.
#[must_use]
pub fn listed(execution: &Execution) -> Vec<Listed> {
    let names = &Names::default();
    let of_event = |e: usize| Listed {
        thread: names.thread(execution.events[e].thread),
        of: execution.groups[e].map(|g| names.event(&execution.calls[g].event)),
        event: names.event(&execution.events[e]),
        line: line(execution, e),
        stamps: execution.subs.iter().filter(|s| s.event == e).map(|s| s.sub.stamp.to_string()).collect(),
    };
    (0..execution.events.len()).map(of_event).collect()
}

/// Prints a subevent in words: thread, event, and the stamp if the event has several.
fn name(execution: &Execution, names: &Names, s: usize) -> String {
    let sub = &execution.subs[s];
    let several = execution.subs.iter().filter(|o| o.event == sub.event).count() > 1;
    let stamp = if several { format!(" {}", sub.sub.stamp) } else { String::new() };
    format!("{}{stamp}", numbered(names, &execution.events[sub.event], execution.events.iter()))
}

/// Prints an event behind its thread. If others of the thread look alike, its number follows, for example `P1 Read(x) = 0 (2nd of 3)`.
fn numbered<'a>(names: &Names, event: &'a Event, all: impl Iterator<Item = &'a Event>) -> String {
    let text = names.event(event);
    let alike = all.filter(|other| other.thread == event.thread && names.event(other) == text).collect_vec();
    let earlier = alike.iter().position(|other| std::ptr::eq(*other, event)).unwrap_or_default();
    format!("{} {text}{}", names.thread(event.thread), among((earlier + 1, alike.len())))
}

/// Prints which of several equal calls it is, as ` (2nd of 3)`; nothing for the only one.
pub(crate) fn among((nth, of): (usize, usize)) -> String {
    if of > 1 { format!(" ({} of {of})", ordinal(nth)) } else { String::new() }
}

/// Prints 1st, 2nd, 3rd and so on.
pub(crate) fn ordinal(n: usize) -> String {
    let end = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{end}")
}

/// Returns the replaced call of an execution for which a subevent was made: the innermost that is this one.
fn made_for(execution: &Execution, call: &Event, sub: usize) -> usize {
    let innermost = execution.groups[execution.subs[sub].event];
    let mut outwards = std::iter::successors(innermost, |&c| execution.calls[c].parent);
    outwards.find(|&c| execution.calls[c].event == *call).expect("a body of the call made it")
}

/// Prints pairs of subevents, one a line, without pairs that follow from others.
#[must_use]
pub fn pairs(execution: &Execution, names: &Names, pairs: &Pairs) -> String {
    let name = |s| name(execution, names, s);
    reduced(pairs).iter().map(|&(a, b)| format!("    {} -> {}\n", name(a), name(b))).collect()
}

/// Prints the cycle for which an execution over a memory model is not sequentially consistent, as sentences. Returns `None` if it
/// is.
#[must_use]
pub fn weak_cycle(scene: &Scene<'_>) -> Option<String> {
    let sentence = |(a, relation, b): ScEdge| {
        let [a, b] = [a, b].map(|s| name(scene.execution, scene.names, s));
        let how = match relation {
            "po" => "comes before",
            "rf" => "is read by",
            "rb" => "reads a value older than that of",
            _ => "is overwritten by",
        };
        format!("    {a} {how} {b}  ({relation})\n")
    };
    let cycle = sc_cycle(scene.libraries, scene.execution)?;
    let sentences: String = cycle.into_iter().map(sentence).collect();
    Some(format!("  It is not sequentially consistent, as this cycle shows:\n{sentences}"))
}

/// Prints the choices of an execution and what they imply: reads-from and the orders, without pairs that follow from
/// others.
#[must_use]
pub fn relations(scene: &Scene<'_>) -> String {
    let mut out = String::new();
    for (library, relation, pairs) in named(scene) {
        let _ = writeln!(out, "  {relation} of {library}");
        out.push_str(&self::pairs(scene.execution, scene.names, &pairs));
    }
    out
}

/// Returns the choices, and then the parts of so that are not choices, each once. Leaves out relations that are empty
/// or consist of paths of others.
#[must_use]
pub fn named(scene: &Scene<'_>) -> Vec<(String, String, Pairs)> {
    let choices = scene.execution.chosen.iter();
    let choices = choices.map(|c| (c.library.to_string(), c.name.clone(), c.pairs.iter().copied().collect()));
    let is_of_paths = |library, part| scene.libraries.spec(library).is_some_and(|spec| spec.is_of_paths(part));
    let so = scene.judged.so.iter().filter(|(library, part, _)| !is_of_paths(*library, part));
    let so = so.map(|(library, name, pairs)| (library.to_string(), (*name).to_owned(), pairs.clone()));
    let all = choices.chain(so).unique_by(|(library, name, _)| (library.clone(), name.clone()));
    all.filter(|(_, _, pairs): &(_, _, Pairs)| !pairs.is_empty()).collect()
}

/// Returns the pairs that are not a composition of two others.
#[must_use]
pub fn reduced(pairs: &Pairs) -> Pairs {
    let from = |a: usize| pairs.range((a, 0)..=(a, usize::MAX));
    let follows = |&(a, b): &(usize, usize)| from(a).any(|&(_, m)| pairs.contains(&(m, b)));
    pairs.iter().filter(|p| !follows(p)).copied().collect()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Prints the execution as a graph in the DOT language: a box for each subevent, columns for threads, an edge for each
/// pair.
#[must_use]
pub fn dot(title: &str, scene: &Scene<'_>) -> String {
    let Scene { execution, names, .. } = *scene;
    const COLOURS: [&str; 7] = ["#c0392b", "#2471a3", "#1e8449", "#b9770e", "#7d3c98", "#117a65", "#5d6d7e"];
    let mut out = format!("digraph execution {{\n  label=\"{}\";\n  node [shape=box];\n", escaped(title));
    for thread in execution.world.tids() {
        let _ = writeln!(out, "  subgraph cluster_{thread} {{");
        let name = names.thread(thread);
        let _ = writeln!(out, "    label=\"{} on node {}\";", escaped(&name), execution.world.node_of(thread));
        for (s, sub) in execution.subs.iter().enumerate() {
            let event = &execution.events[sub.event];
            if event.thread == thread {
                let label = format!("{name}: {}\n{}", names.event(event), sub.sub.stamp);
                let label = escaped(&label).replace('\n', "\\n");
                let _ = writeln!(out, "    s{s} [label=\"{label}\"];");
            }
        }
        out.push_str("  }\n");
    }
    let first = |e: usize| execution.subs.iter().position(|s| s.event == e);
    let last = |e: usize| execution.subs.iter().rposition(|s| s.event == e);
    for thread in execution.world.tids() {
        for (a, b) in execution.of_thread(thread).tuple_windows() {
            if let (Some(a), Some(b)) = (last(a), first(b)) {
                let _ = writeln!(out, "  s{a} -> s{b} [label=\"po\", color=\"#000000\"];");
            }
        }
    }
    for (position, (_, relation, pairs)) in named(scene).iter().enumerate() {
        for (a, b) in reduced(pairs) {
            let colour = COLOURS[position % COLOURS.len()];
            let _ = writeln!(out, "  s{a} -> s{b} [label=\"{}\", color=\"{colour}\"];", escaped(relation));
        }
    }
    out.push_str("}\n");
    out
}
