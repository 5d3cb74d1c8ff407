//! The statements of bodies behind the events of an execution.
//!
//! An execution has no memory of the code that made it. Its events and results determine that code: each body is run once
//! more with the results that its calls had.

use std::sync::Arc;

use crate::body::CallTerm;
use crate::execution::Execution;
use crate::expr::Scope;
use crate::implementation::Implementation;
use crate::value::Val;

/// Returns the statement that made each event, by its position. `None` for an event of the client itself, and for one of an
/// implementation whose bodies are Rust functions.
#[must_use]
pub fn statements<'i>(
    execution: &Execution,
    implementations: &'i [Arc<dyn Implementation>],
) -> Vec<Option<&'i CallTerm>> {
    let mut all = vec![None; execution.events.len()];
    for (call, abstracted) in execution.calls.iter().enumerate() {
        let event = &abstracted.event;
        let implementation = implementations.iter().find(|i| i.target() == event.call.library);
        let bodies = implementation.and_then(|i| i.bodies());
        let Some(body) = bodies.and_then(|all| all.get(event.call.method.text())) else { continue };
        let scope = Scope::new(&execution.world, event.thread, &event.call.args);
        let made = made_by(execution, call);
        let results: Vec<Val> = made.iter().map(|(_, result, _)| *result).collect();
        for ((_, _, event), statement) in made.iter().zip(body.run(&scope, &results)) {
            if let Some(event) = event {
                all[*event] = Some(statement);
            }
        }
    }
    all
}

/// The calls that the body of a call makes, in order: the first event of each, its result, and the event that it is if no
/// implementation replaced it.
fn made_by(execution: &Execution, call: usize) -> Vec<(usize, Val, Option<usize>)> {
    let is_within = |e: usize, outer: usize| {
        let mut at = execution.groups[e];
        while let Some(inner) = at {
            if inner == outer {
                return true;
            }
            at = execution.calls[inner].parent;
        }
        false
    };
    let events = (0..execution.events.len()).filter(|&e| execution.groups[e] == Some(call));
    let events = events.map(|e| (e, execution.events[e].ret, Some(e)));
    let inner = (0..execution.calls.len()).filter(|&c| execution.calls[c].parent == Some(call));
    let inner = inner.filter_map(|c| {
        let first = (0..execution.events.len()).find(|&e| is_within(e, c))?;
        Some((first, execution.calls[c].event.ret, None))
    });
    let mut all: Vec<_> = events.chain(inner).collect();
    all.sort_by_key(|(first, ..)| *first);
    all
}
