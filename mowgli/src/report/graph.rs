//! An execution as a graph: threads, calls, events, subevents, relations, and the cycles that forbid an outcome.

use mowgli_core::ids::Tid;
use mowgli_core::search::refute::{End, Refutation};
use mowgli_core::stamp::Stamp;
use mowgli_rdma::core_rma::CORE_RMA;
use mowgli_rdma::core_rma::execution::Witness;
use mowgli_rdma::core_rma::program::ActionType;
use serde::Serialize;

use crate::catalogue::Stamped;
use crate::explain::{Explained, Words};
use crate::litmus::core_rma;
use crate::litmus::test::Test;
use crate::show::{Scene, named, reduced};

/// What the page draws.
#[derive(Clone, Debug, Serialize)]
pub struct Graph {
    title: String,
    threads: Vec<Thread>,
    /// In program order, thread by thread.
    calls: Vec<Call>,
    relations: Vec<Relation>,
    refutations: Vec<Cycle>,
}

#[derive(Clone, Debug, Serialize)]
struct Thread {
    name: String,
    node: u8,
}

/// A call of the client with the events that carry it out.
#[derive(Clone, Debug, Serialize)]
struct Call {
    thread: usize,
    label: String,
    events: Vec<Event>,
}

#[derive(Clone, Debug, Serialize)]
struct Event {
    label: String,
    subs: Vec<Sub>,
}

#[derive(Clone, Debug, Serialize)]
struct Sub {
    id: usize,
    stamp: String,
    text: String,
}

#[derive(Clone, Debug, Serialize)]
struct Relation {
    name: String,
    library: String,
    pairs: Vec<(usize, usize)>,
}

/// One way to get an outcome, and the cycle that it makes.
#[derive(Clone, Debug, Serialize)]
struct Cycle {
    steps: Vec<Edge>,
    end: String,
}

/// An edge between two calls, by position.
#[derive(Clone, Debug, Serialize)]
struct Edge {
    from: usize,
    to: usize,
    relation: &'static str,
    sentence: String,
}

impl Graph {
    /// The graph of an execution.
    #[must_use]
    pub fn new<S: Stamp>(title: &str, scene: &Scene<'_, S>) -> Self {
        let Scene { execution, names, .. } = *scene;
        // The call of the client that an event is part of, through all implementations in between.
        let root = |e: usize| {
            let mut call = execution.groups[e]?;
            while let Some(parent) = execution.calls[call].parent {
                call = parent;
            }
            Some(call)
        };
        let mut calls: Vec<Call> = Vec::new();
        for thread in execution.world.tids() {
            let mut open = None;
            for e in execution.of_thread(thread) {
                let call = root(e);
                let event = &execution.events[e];
                if call.is_none() || call != open {
                    let label = names.event(call.map_or(event, |c| &execution.calls[c].event));
                    calls.push(Call { thread: thread.index(), label, events: Vec::new() });
                }
                open = call;
                let subs = execution.subs.iter().enumerate().filter(|(_, s)| s.event == e).map(|(id, s)| {
                    let read = s.read.map_or(String::new(), |v| format!(" read {v}"));
                    let wrote = s.wrote.map_or(String::new(), |v| format!(" wrote {v}"));
                    Sub { id, stamp: s.sub.stamp.to_string(), text: format!("{}{read}{wrote}", s.sub.stamp) }
                });
                // An event that is the whole call needs no name of its own.
                let label = call.map_or_else(String::new, |_| names.event(event));
                let last = calls.last_mut().expect("one was begun");
                last.events.push(Event { label, subs: subs.collect() });
            }
        }
        let relations = named(scene).into_iter().map(|(library, name, pairs)| Relation {
            name,
            library,
            pairs: reduced(&pairs).into_iter().collect(),
        });
        let world = &execution.world;
        let threads = world.tids().map(|t| Thread { name: names.thread(t), node: world.node_of(t).0 }).collect();
        Self { title: title.to_owned(), threads, calls, relations: relations.collect(), refutations: Vec::new() }
    }

    /// The graph of an execution of coreRMA: a call for each statement, a dot for each action.
    #[must_use]
    pub fn of_core_rma(test: &Test, witness: &Witness) -> Self {
        let nodes = &test.world.threads;
        let threads = test.threads.iter().zip(nodes).map(|(t, n)| Thread { name: t.name.to_string(), node: n.0 });
        let mut calls = Vec::new();
        for (thread, (t, &node)) in test.threads.iter().zip(nodes).enumerate() {
            for (statement, (_, label)) in t.source.iter().enumerate() {
                let subs = core_rma::of_statement(witness, node, statement).map(|id| Sub {
                    id,
                    stamp: witness.actions[id].kind.to_string(),
                    text: core_rma::action(test, witness, id),
                });
                let events = vec![Event { label: String::new(), subs: subs.collect() }];
                calls.push(Call { thread, label: label.clone(), events });
            }
        }
        let is_shown = |a: usize| witness.actions[a].kind != ActionType::Init;
        let relations = core_rma::relations(witness).into_iter().map(|(name, mut pairs)| {
            pairs.retain(|&(a, b)| is_shown(a) && is_shown(b));
            Relation { name, library: CORE_RMA.to_string(), pairs }
        });
        Self {
            title: test.name.clone(),
            threads: threads.collect(),
            calls,
            relations: relations.filter(|r| !r.pairs.is_empty()).collect(),
            refutations: Vec::new(),
        }
    }

    /// With the ways to get an outcome, each with the cycle that forbids it.
    #[must_use]
    pub fn with_refutations(mut self, words: &Words, refutations: &[Refutation]) -> Self {
        let place = |calls: &[Call], end: &End| {
            let own = calls.iter().enumerate().filter(|(_, c)| c.thread == end.thread.index());
            own.map(|(i, _)| i).nth(end.position)
        };
        for refutation in refutations {
            let steps = refutation.edges.iter().filter_map(|edge| {
                let (from, to) = (place(&self.calls, &edge.from)?, place(&self.calls, &edge.to)?);
                Some(Edge { from, to, relation: edge.relation, sentence: words.sentence(edge) })
            });
            let end = match refutation.demand {
                _ if refutation.edges.is_empty() => "No write has the values that are then to be read.".to_owned(),
                Some((library, demand)) => format!("{library} excludes that ({demand})."),
                None => "Back to the first event: a cycle.".to_owned(),
            };
            let cycle = Cycle { steps: steps.collect(), end };
            self.refutations.push(cycle);
        }
        self
    }

    /// The graph of what was explained: its execution, or the program where there is none, with the cycles.
    #[must_use]
    pub fn explained<S: Stamped>(explained: &Explained<S>) -> Self {
        let title = &explained.finding.title;
        let words = explained.words();
        let graph = match explained.scene(&words.names) {
            Some(scene) => Self::new(title, &scene),
            None => {
                let world = &explained.test.world;
                let thread = |(t, thread): (Tid, &crate::litmus::test::Thread)| Thread {
                    name: thread.name.to_string(),
                    node: world.node_of(t).0,
                };
                let threads = world.tids().zip(&explained.test.threads).map(thread).collect();
                let calls = words.statements.iter().enumerate().flat_map(|(thread, texts)| {
                    texts.iter().map(move |label| Call { thread, label: label.clone(), events: Vec::new() })
                });
                let (relations, refutations) = (Vec::new(), Vec::new());
                Self { title: title.clone(), threads, calls: calls.collect(), relations, refutations }
            }
        };
        match &explained.refutations {
            Some(refutations) => graph.with_refutations(&words, refutations.so_far().0),
            None => graph,
        }
    }
}
