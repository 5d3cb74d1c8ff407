//! Executions as text and as graphs.

use std::fmt::Write as _;

use itertools::Itertools;
use layout::backends::svg::SVGWriter;
use layout::gv::{DotParser, GraphBuilder};
use mowgli_core::execution::Execution;
use mowgli_core::judge::{Judged, Pairs};
use mowgli_core::stamp::Stamp;

/// The events of each thread, grouped by the call that they implement, with what each subevent read and wrote.
#[must_use]
pub fn events<S: Stamp>(execution: &Execution<S>) -> String {
    let mut out = String::new();
    for thread in execution.world.tids() {
        let _ = writeln!(out, "  {thread} on node {}", execution.world.node_of(thread));
        let mut group = None;
        for e in execution.of_thread(thread) {
            if execution.groups[e] != group {
                group = execution.groups[e];
                if let Some(g) = group {
                    let _ = writeln!(out, "    {}", execution.calls[g].event);
                }
            }
            let indent = if group.is_some() { "      " } else { "    " };
            let subs = execution.subs.iter().filter(|s| s.event == e).map(|s| {
                let read = s.read.map_or(String::new(), |v| format!(" read {v}"));
                let wrote = s.wrote.map_or(String::new(), |v| format!(" wrote {v}"));
                format!("{}{read}{wrote}", s.sub.stamp)
            });
            let _ = writeln!(out, "{indent}{}  [{}]", execution.events[e], subs.collect::<Vec<_>>().join("; "));
        }
    }
    out
}

/// A subevent in words: thread, event, stamp where the event has several.
fn name<S: Stamp>(execution: &Execution<S>, s: usize) -> String {
    let sub = &execution.subs[s];
    let event = &execution.events[sub.event];
    let several = execution.subs.iter().filter(|o| o.event == sub.event).count() > 1;
    let stamp = if several { format!(" {}", sub.sub.stamp) } else { String::new() };
    format!("{} {event}{stamp}", event.thread)
}

/// Pairs of subevents, one a line, without pairs that follow from others.
#[must_use]
pub fn pairs<S: Stamp>(execution: &Execution<S>, pairs: &Pairs) -> String {
    reduced(pairs).iter().map(|&(a, b)| format!("    {} -> {}\n", name(execution, a), name(execution, b))).collect()
}

/// The choices of an execution and what they imply: reads-from and the orders, without pairs that follow from others.
#[must_use]
pub fn relations<S: Stamp>(execution: &Execution<S>, judged: &Judged) -> String {
    let mut out = String::new();
    for (library, relation, pairs) in named(execution, judged) {
        let _ = writeln!(out, "  {relation} of {library}");
        out.push_str(&self::pairs(execution, &pairs));
    }
    out
}

/// Choices first, then the parts of so that are no choices, each once; none that is empty.
pub(crate) fn named<S: Stamp>(execution: &Execution<S>, judged: &Judged) -> Vec<(String, String, Pairs)> {
    let choices =
        execution.chosen.iter().map(|c| (c.library.to_string(), c.name.clone(), c.pairs.iter().copied().collect()));
    let so = judged.so.iter().map(|(library, name, pairs)| (library.to_string(), (*name).to_owned(), pairs.clone()));
    // A composite of the others adds nothing to a picture.
    let so = so.filter(|(_, name, _)| name != "ib");
    let all = choices.chain(so).unique_by(|(library, name, _)| (library.clone(), name.clone()));
    all.filter(|(_, _, pairs): &(_, _, Pairs)| !pairs.is_empty()).collect()
}

/// The pairs that are not a composition of two others.
pub(crate) fn reduced(pairs: &Pairs) -> Pairs {
    let follows = |&(a, b): &(usize, usize)| pairs.iter().any(|&(x, m)| x == a && pairs.contains(&(m, b)));
    pairs.iter().filter(|p| !follows(p)).copied().collect()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The execution as a graph in the DOT language: a box for each subevent, columns for threads, an edge for each pair.
#[must_use]
pub fn dot<S: Stamp>(title: &str, execution: &Execution<S>, judged: &Judged) -> String {
    const COLOURS: [&str; 7] = ["#c0392b", "#2471a3", "#1e8449", "#b9770e", "#7d3c98", "#117a65", "#5d6d7e"];
    let mut out = format!("digraph execution {{\n  label=\"{}\";\n  node [shape=box];\n", escaped(title));
    for thread in execution.world.tids() {
        let _ = writeln!(out, "  subgraph cluster_{thread} {{");
        let _ = writeln!(out, "    label=\"{thread} on node {}\";", execution.world.node_of(thread));
        for (s, sub) in execution.subs.iter().enumerate() {
            let event = &execution.events[sub.event];
            if event.thread == thread {
                let label = escaped(&format!("{thread}: {event}\n{}", sub.sub.stamp)).replace('\n', "\\n");
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
    for (position, (_, relation, pairs)) in named(execution, judged).iter().enumerate() {
        for (a, b) in reduced(pairs) {
            let colour = COLOURS[position % COLOURS.len()];
            let _ = writeln!(out, "  s{a} -> s{b} [label=\"{}\", color=\"{colour}\"];", escaped(relation));
        }
    }
    out.push_str("}\n");
    out
}

/// A drawing of a graph in the DOT language.
///
/// # Errors
/// If the text is not a graph.
pub fn svg(dot: &str) -> Result<String, String> {
    let graph = DotParser::new(dot).process()?;
    let mut builder = GraphBuilder::new();
    builder.visit_graph(&graph);
    let mut visual = builder.get();
    let mut writer = SVGWriter::new();
    visual.do_it(false, false, false, &mut writer);
    Ok(writer.finalize())
}
