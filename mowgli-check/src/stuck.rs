//! What each thread of a stuck execution waits for, in a sentence.

use itertools::Itertools;
use mowgli_core::algebra::Role;
use mowgli_core::event::Cell;
use mowgli_core::ids::Tid;
use mowgli_core::library::Libraries;
use mowgli_core::stamp::Stamp;
use mowgli_core::stuck::Stuck;
use mowgli_core::value::Val;

use crate::litmus::print;

/// What a thread waits for and why that never comes.
#[must_use]
pub fn sentence<S: Stamp>(libraries: &Libraries<S>, stuck: &Stuck<S>, thread: Tid) -> String {
    let Some(pending) = stuck.pending(thread) else {
        return format!("{thread} has ended, and writes nothing any more.");
    };
    let reads = stuck.reads(thread);
    let own = stuck.repeated(thread);
    let writes = |cell: Cell| {
        let subs = stuck.execution.subs.iter().enumerate();
        subs.filter(move |(_, s)| s.sub.cell == Some(cell) && s.wrote.is_some()).map(|(w, _)| w).collect::<Vec<_>>()
    };
    let is_before = |a: usize, b: usize| {
        stuck.execution.chosen_as(libraries, Role::Order).any(|order| order.pairs.contains(&(a, b)))
    };
    let of = |&(cell, value): &(Cell, Val)| {
        let writes = writes(cell);
        let last = writes.iter().find(|&&w| !writes.iter().any(|&later| is_before(w, later)));
        let from = match last.map(|&w| stuck.execution.subs[w].event) {
            None => "its initial value, which nothing has overwritten".to_owned(),
            Some(event) if own.contains(&event) => "which it has written there itself".to_owned(),
            Some(event) => {
                let event = &stuck.execution.events[event];
                format!("which {} of {} has written last", event, event.thread)
            }
        };
        format!("{value} from {} on node {}, {from}", cell.loc, cell.node)
    };
    let read = if reads.is_empty() { "nothing".to_owned() } else { reads.iter().map(of).join("; ") };
    let call = print::statement(&pending.call);
    format!("{thread} is in {call} and goes round in a loop for ever: each round reads {read}.")
}
