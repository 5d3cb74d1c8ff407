//! An execution as a graph: threads, calls, events, subevents, relations, and the cycles that forbid an outcome.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools as _;
use mowgli_check::explain::{Explained, ProgramWords};
use mowgli_check::litmus::print;
use mowgli_check::litmus::semantics::OwnExecution;
use mowgli_check::litmus::test::Test;
use mowgli_check::show::{Names, Scene, line, named, reduced};
use mowgli_core::event::Cell;
use mowgli_core::execution::Pairs;
use mowgli_core::ids::{Loc, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::search::problem::Found;
use mowgli_core::search::refute::{CycleEnd, Refutation};
use mowgli_core::value::Val;
use mowgli_core::world::Object;
use serde::Serialize;

/// The picture of an execution, as data.
#[derive(Clone, Debug)]
pub struct Drawing {
    pub(super) title: String,
    pub(super) threads: Vec<DrawnThread>,
    /// The cells of memory, node by node.
    pub(super) cells: Vec<MemoryCell>,
    /// In program order, thread by thread.
    pub(super) calls: Vec<DrawnCall>,
    pub(super) relations: Vec<DrawnRelation>,
    /// The subevents in an order in which they can take effect: one that extends hb. Empty where none is known.
    pub(super) run: Vec<usize>,
    pub(super) refutations: Vec<Cycle>,
    /// The reason why the outcome is forbidden, if no cycle shows it.
    pub(super) why: Option<String>,
    /// The stamps in words.
    pub(super) about: BTreeMap<String, String>,
}

/// A cell of memory with its values.
#[derive(Clone, Debug)]
pub(super) struct MemoryCell {
    pub(super) node: u8,
    name: String,
    /// The initial value, if it has one.
    first: Option<Val>,
    /// The value of the last write, if something writes it.
    last: Option<Val>,
}

impl MemoryCell {
    fn same(&self, other: &Self) -> bool {
        (self.node, &self.name) == (other.node, &other.name)
    }

    /// Prints the name and the values: `z = 0 → 1` for a cell that is written.
    pub(super) fn text(&self) -> String {
        let Self { name, first, last, .. } = self;
        match (first, last) {
            (Some(first), Some(last)) => format!("{name} = {first} → {last}"),
            (Some(value), None) | (None, Some(value)) => format!("{name} = {value}"),
            (None, None) => name.clone(),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct DrawnThread {
    pub(super) name: String,
    pub(super) node: u8,
}

/// A call of the client with the events that carry it out.
#[derive(Clone, Debug, Serialize)]
pub(super) struct DrawnCall {
    pub(super) thread: usize,
    pub(super) label: String,
    /// Whether it has a result that programs can use.
    pub(super) returns: bool,
    pub(super) events: Vec<DrawnEvent>,
    /// The stamps that its specification promises in a cycle, and that none of its events has.
    #[serde(skip)]
    pub(super) missing: Vec<String>,
    /// The stamps of a call without events that a cycle goes through.
    #[serde(skip)]
    pub(super) parts: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct DrawnEvent {
    pub(super) label: String,
    /// The line of the body that made it.
    #[serde(skip)]
    pub(super) line: Option<String>,
    pub(super) subs: Vec<DrawnSub>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct DrawnSub {
    pub(super) id: usize,
    pub(super) stamp: String,
    pub(super) text: String,
    /// Its write: the cell, and the value.
    write: Option<(String, String)>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct DrawnRelation {
    pub(super) name: String,
    pub(super) library: String,
    #[serde(skip)]
    pub(super) pairs: Vec<(usize, usize)>,
}

/// One way to get an outcome, and the cycle that it makes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cycle {
    pub(super) steps: Vec<DrawnEdge>,
    pub(super) end: String,
}

/// A call, by position, and the stamp of one of its subevents.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct DrawnEnd {
    pub(super) call: usize,
    pub(super) stamp: String,
}

/// An edge between subevents of two calls.
#[derive(Clone, Debug, Serialize)]
pub(super) struct DrawnEdge {
    pub(super) from: DrawnEnd,
    pub(super) to: DrawnEnd,
    pub(super) relation: &'static str,
    pub(super) sentence: String,
}

impl DrawnCall {
    fn new(thread: usize, label: String) -> Self {
        Self { thread, label, returns: false, events: Vec::new(), missing: Vec::new(), parts: Vec::new() }
    }

    /// Records a stamp that a cycle goes through. If the call has events, and none has it, the implementation lacks it.
    fn promise(&mut self, stamp: &str) {
        let has = self.events.iter().flat_map(|e| &e.subs).any(|s| s.stamp == stamp);
        let stamps = if self.events.is_empty() { &mut self.parts } else { &mut self.missing };
        if !has && stamps.iter().all(|known| known != stamp) {
            stamps.push(stamp.to_owned());
            stamps.sort();
        }
    }
}

/// Returns the cells that an execution touches, with their first and last values.
fn touched(scene: &Scene<'_>) -> Vec<MemoryCell> {
    let Scene { libraries, execution, names, .. } = *scene;
    let all = execution.subs.iter().filter_map(|sub| sub.sub.cell).filter(|cell| !names.is_literal(cell.loc));
    let made = |cell: Cell| MemoryCell {
        node: cell.node.0,
        name: cell.loc.to_string(),
        first: execution.world.objects.get(&cell.loc).map(|object| object.init),
        last: execution.last(libraries, cell),
    };
    all.map(made).sorted_by(|a, b| (a.node, &a.name).cmp(&(b.node, &b.name))).dedup_by(|a, b| a.same(b)).collect()
}

/// Returns the words of a program that no execution runs, with their initial values.
fn declared(test: &Test, names: &Names) -> Vec<MemoryCell> {
    let own = test.world.objects.iter().filter(|(loc, _)| !names.is_literal(**loc));
    let made = |(loc, object): (&Loc, &Object)| {
        Some(MemoryCell { node: object.node?.0, name: loc.to_string(), first: Some(object.init), last: None })
    };
    own.filter_map(made).sorted_by_key(|cell| cell.node).collect()
}

impl Drawing {
    /// Returns the graph of an execution.
    #[must_use]
    pub fn new(title: &str, scene: &Scene<'_>) -> Self {
        let Scene { execution, names, .. } = *scene;
        // The call of the client that an event is part of, through all implementations in between.
        let root = |e: usize| {
            let mut call = execution.groups[e]?;
            while let Some(parent) = execution.calls[call].parent {
                call = parent;
            }
            Some(call)
        };
        let mut calls: Vec<DrawnCall> = Vec::new();
        for thread in execution.world.tids() {
            let mut open = None;
            for e in execution.of_thread(thread) {
                let call = root(e);
                let event = &execution.events[e];
                if call.is_none() || call != open {
                    let made = call.map_or(event, |c| &execution.calls[c].event);
                    let returns = print::has_result(&made.call, Some(made.ret));
                    calls.push(DrawnCall { returns, ..DrawnCall::new(thread.index(), names.statement(made)) });
                }
                open = call;
                let subs = execution.subs.iter().enumerate().filter(|(_, s)| s.event == e).map(|(id, s)| {
                    let read = s.read.map_or(String::new(), |v| format!(" read {v}"));
                    let wrote = s.wrote.map_or(String::new(), |v| format!(" wrote {v}"));
                    let cell = s.sub.cell.map(|cell| format!("{} on node {}", cell.loc, cell.node));
                    let write = cell.zip(s.wrote.map(|v| v.to_string()));
                    DrawnSub {
                        id,
                        stamp: s.sub.stamp.to_string(),
                        text: format!("{}{read}{wrote}", s.sub.stamp),
                        write,
                    }
                });
                // An event that is the whole call needs no name of its own.
                let label = call.map_or_else(String::new, |_| names.statement(event));
                let last = calls.last_mut().expect("one was begun");
                last.events.push(DrawnEvent { label, line: line(execution, e), subs: subs.collect() });
            }
        }
        let relations = named(scene).into_iter().map(|(library, name, pairs)| DrawnRelation {
            name,
            library,
            pairs: reduced(&pairs).into_iter().collect(),
        });
        let world = &execution.world;
        let threads = world.tids().map(|t| DrawnThread { name: names.thread(t), node: world.node_of(t).0 }).collect();
        let about = execution.subs.iter().map(|s| (s.sub.stamp.to_string(), s.sub.stamp.about()));
        let about = about.filter(|(_, words)| !words.is_empty()).collect();
        let run = extended(&scene.judged.hb, execution.subs.len());
        let cells = touched(scene);
        Self { threads, cells, calls, relations: relations.collect(), run, about, ..Self::empty(title) }
    }

    /// Labels calls by the statements of the program, by thread, each with its result. A thread that branches has none.
    #[must_use]
    pub fn with_statements(mut self, statements: &[Vec<String>]) -> Self {
        for (thread, statements) in statements.iter().enumerate() {
            let own = self.calls.iter_mut().filter(|call| call.thread == thread);
            for (call, statement) in own.zip(statements) {
                let result = call.label.rsplit_once(" = ").map(|(_, v)| format!("  ({v})"));
                let result = result.filter(|_| call.returns).unwrap_or_default();
                call.label = format!("{statement}{result}");
            }
        }
        self
    }

    fn empty(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            threads: Vec::new(),
            cells: Vec::new(),
            calls: Vec::new(),
            relations: Vec::new(),
            run: Vec::new(),
            refutations: Vec::new(),
            why: None,
            about: BTreeMap::new(),
        }
    }

    /// Returns the graph of an execution without subevents: a call for each statement, a dot for each action.
    #[must_use]
    pub fn of_own(test: &Test, execution: &OwnExecution) -> Self {
        let nodes = &test.world.threads;
        let threads = test.threads.iter().zip(nodes).map(|(t, n)| DrawnThread { name: t.name.to_string(), node: n.0 });
        let mut calls = Vec::new();
        for (thread, (t, statements)) in test.threads.iter().zip(&execution.threads).enumerate() {
            for ((_, label), actions) in t.source.iter().zip(statements) {
                let subs = actions.iter().map(|action| DrawnSub {
                    id: action.id,
                    stamp: action.kind.clone(),
                    text: action.text.clone(),
                    write: None,
                });
                let events = vec![DrawnEvent { label: String::new(), line: None, subs: subs.collect() }];
                calls.push(DrawnCall { events, ..DrawnCall::new(thread, label.clone()) });
            }
        }
        let library = test.model.memory().to_string();
        let relations = execution.relations.iter().map(|(name, pairs)| DrawnRelation {
            name: name.clone(),
            library: library.clone(),
            pairs: pairs.clone(),
        });
        Self { threads: threads.collect(), calls, relations: relations.collect(), ..Self::empty(&test.name) }
    }

    /// Adds the ways to get an outcome, each with the cycle that forbids it. Calls get the texts of the program's
    /// statements. If a cycle goes through a stamp that a call only promises, the call lists it as missing.
    #[must_use]
    pub fn with_refutations(
        self,
        libraries: &Libraries,
        words: &ProgramWords,
        refutations: &Found<Vec<Refutation>>,
    ) -> Self {
        let mut graph = self.with_statements(&words.statements);
        let (found, stop) = refutations.so_far();
        let calls = &graph.calls;
        let own = |t: usize| (0..calls.len()).filter(move |&i| calls[i].thread == t).collect::<Vec<_>>();
        let places: Vec<Vec<usize>> = (0..graph.threads.len()).map(own).collect();
        let nodes = graph.threads.iter().map(|t| t.node).max().unwrap_or(1);
        let stamps: BTreeMap<String, String> =
            libraries.stamps(nodes).into_iter().map(|a| (a.to_string(), a.about())).collect();
        for refutation in found {
            let mut steps = Vec::new();
            for edge in &refutation.edges {
                let mut place = |end: &CycleEnd| {
                    let call = *places.get(end.thread.index())?.get(end.position)?;
                    graph.calls[call].promise(&end.stamp);
                    let about = stamps.get(&end.stamp).filter(|words| !words.is_empty());
                    graph.about.extend(about.map(|words| (end.stamp.clone(), words.clone())));
                    Some(DrawnEnd { call, stamp: end.stamp.clone() })
                };
                let (Some(from), Some(to)) = (place(&edge.from), place(&edge.to)) else { continue };
                steps.push(DrawnEdge { from, to, relation: edge.relation, sentence: words.sentence(edge) });
            }
            let end = match refutation.demand {
                _ if refutation.edges.is_empty() => "No write has the values that are then to be read.".to_owned(),
                Some((library, demand)) => format!("{library} excludes that ({demand})."),
                None => "Back to the first event: a cycle.".to_owned(),
            };
            graph.refutations.push(Cycle { steps, end });
        }
        graph.why = match (graph.refutations.iter().find(|r| r.steps.is_empty()), stop) {
            _ if graph.refutations.iter().any(|r| !r.steps.is_empty()) => None,
            (Some(refutation), _) => Some(refutation.end.clone()),
            (None, Some(stop)) => Some(format!("Why the specifications forbid it was not found before {stop}.")),
            (None, None) => Some("Nothing writes the values that are read, and no word begins with them.".to_owned()),
        };
        graph
    }

    /// Returns the graph of an explanation: its execution, or the program if there is none, with the cycles.
    #[must_use]
    pub fn explained(explained: &Explained) -> Self {
        let title = &explained.finding.title;
        let words = explained.words();
        let graph = match explained.scene(&words.names) {
            Some(scene) => Self::new(title, &scene),
            None => {
                let world = &explained.test.world;
                let thread = |(t, thread): (Tid, &mowgli_check::litmus::test::TestThread)| DrawnThread {
                    name: thread.name.to_string(),
                    node: world.node_of(t).0,
                };
                let threads = world.tids().zip(&explained.test.threads).map(thread).collect();
                let calls =
                    words.statements.iter().enumerate().flat_map(|(thread, texts)| {
                        texts.iter().map(move |label| DrawnCall::new(thread, label.clone()))
                    });
                let cells = declared(&explained.test, &words.names);
                Self { threads, cells, calls: calls.collect(), ..Self::empty(title) }
            }
        };
        match &explained.refutations {
            Some(refutations) => graph.with_refutations(&explained.libraries, &words, refutations),
            None => graph.with_statements(&words.statements),
        }
    }
}

/// Extends an acyclic relation to a total order of subevents. Among those that may come next it takes the first.
fn extended(order: &Pairs, subs: usize) -> Vec<usize> {
    let mut left: BTreeSet<usize> = (0..subs).collect();
    let mut run = Vec::new();
    let is_next = |s: usize, left: &BTreeSet<usize>| left.iter().all(|&before| !order.contains(&(before, s)));
    while let Some(next) = left.iter().copied().find(|&s| is_next(s, &left)) {
        left.remove(&next);
        run.push(next);
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_extend_the_order_and_have_all() {
        let order: Pairs = [(2, 0), (3, 1), (2, 3), (2, 1)].into_iter().collect();
        assert_eq!(extended(&order, 4), [2, 0, 3, 1]);
    }
}
