//! Sentences about what each thread of a stuck execution waits for.

use itertools::Itertools;
use mowgli_core::event::{Call, Cell, Event};
use mowgli_core::ids::{Node, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::search::flow::WaitsAt;
use mowgli_core::search::stuck::Stuck;
use mowgli_core::value::Val;
use mowgli_core::world::{Crashes, World};
use mowgli_rdma::crash;

use super::print;

/// Prints what a thread waits for and why that never comes.
#[must_use]
pub fn sentence(libraries: &Libraries, stuck: &Stuck, thread: Tid) -> String {
    let why = why(libraries, stuck, thread);
    match stuck.pending(thread) {
        Some(call) => format!("{thread} is in {} and {why}.", print::statement(call)),
        None => format!("{thread} {why}."),
    }
}

/// Returns the reason why a thread of a stuck execution waits for ever.
#[must_use]
pub fn why(libraries: &Libraries, stuck: &Stuck, thread: Tid) -> String {
    match stuck.waits[thread.index()].as_ref().map(|wait| &wait.at) {
        None => "has ended, and writes nothing any more".to_owned(),
        Some(WaitsAt::Loop(_)) if has_no_result(stuck, thread) => {
            "goes round in a loop for ever: no round reads memory, so nothing that others do ends it".to_owned()
        }
        Some(WaitsAt::Loop(_)) => {
            format!("goes round in a loop for ever: each round reads {}", reads(libraries, stuck, thread))
        }
        Some(WaitsAt::Call(call)) => format!("waits for ever: {}", never_returns(libraries, stuck, thread, call)),
    }
}

/// Returns the reason why a call never returns.
fn never_returns(libraries: &Libraries, stuck: &Stuck, thread: Tid, call: &Call) -> String {
    let library = libraries.of(call);
    if !libraries.may_wait(&stuck.execution.world, call) {
        return format!("nothing that {thread} did before lets this call return");
    }
    if let Some((operation, node)) = cut_off(libraries, stuck, thread) {
        return format!("{} does not complete, because node {node} has crashed", print::statement(&operation.call));
    }
    let others: Vec<Tid> = stuck.execution.world.tids().filter(|&t| t != thread).collect();
    let what = |t: Tid| if stuck.waits[t.index()].is_some() { "waits itself" } else { "has ended" };
    let unfinished = |t: Tid| {
        let own: Vec<&Event> = stuck.execution.of_thread(t).map(|e| &stuck.execution.events[e]).collect();
        let is_same = |other: &Call| other.library == call.library && library.loc(other) == library.loc(call);
        libraries.unfinished(&own).into_iter().find(is_same)
    };
    if let Some(own) = unfinished(thread) {
        return format!("{thread} has to make {} first", print::statement(&own));
    }
    if let Some((t, other)) = others.iter().find_map(|&t| Some((t, unfinished(t)?))) {
        return format!("{t} does not make {}, as it {}", print::statement(&other), what(t));
    }
    let others = others.into_iter().map(|t| format!("{t} {}", what(t))).join(", ");
    if others.is_empty() { "there is no other thread".to_owned() } else { others }
}

/// Returns the first operation of a thread that a crash cuts off, and the node that has crashed.
fn cut_off<'s>(libraries: &Libraries, stuck: &'s Stuck, thread: Tid) -> Option<(&'s Event, Node)> {
    let execution = &stuck.execution;
    let no_crash = World { crashes: Crashes::default(), ..execution.world.clone() };
    execution.of_thread(thread).find_map(|e| {
        let event = &execution.events[e];
        let own = || execution.subs.iter().filter(|s| s.event == e).map(|s| s.sub);
        let whole = libraries.of(&event.call).shapes(&no_crash, event);
        if whole.iter().any(|shape| shape.iter().copied().eq(own())) {
            return None;
        }
        let nodes = whole.iter().flatten().filter_map(|sub| Some(sub.cell?.node));
        Some((event, { nodes }.find(|node| execution.world.crashes.nodes.contains(*node))?))
    })
}

/// True if no call of the repeated rounds of a thread returns a value, so that the loop goes round by registers alone. A thread that may
/// crash gets the answer at each point that it goes on.
fn has_no_result(stuck: &Stuck, thread: Tid) -> bool {
    let returns = |event: &Event| event.ret != Val::Unit && crash::in_words(&event.call).is_none();
    !stuck.repeated(thread).into_iter().any(|event| returns(&stuck.execution.events[event]))
}

/// Lists the values that each iteration of a thread reads, and the event that wrote each.
fn reads(libraries: &Libraries, stuck: &Stuck, thread: Tid) -> String {
    let reads = stuck.reads(thread);
    let own = stuck.repeated(thread);
    let of = |&(cell, value): &(Cell, Val)| {
        let last = stuck.execution.last_write(libraries, cell);
        let from = match last.map(|w| stuck.execution.subs[w].event) {
            None => "its initial value, which nothing has overwritten".to_owned(),
            Some(event) if own.contains(&event) => "which it has written there itself".to_owned(),
            Some(event) => {
                let event = &stuck.execution.events[event];
                format!("which {} of {} has written last", event, event.thread)
            }
        };
        format!("{value} from {} on node {}, {from}", cell.loc, cell.node)
    };
    if reads.is_empty() { "nothing".to_owned() } else { reads.iter().map(of).join("; ") }
}
