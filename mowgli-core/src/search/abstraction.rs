//! The abstraction f (LOCO Def. 3.11), recovered from a plain execution.
//!
//! Elsewhere f is kept while a program is unfolded. This module finds it without that knowledge, by parsing a thread's
//! events into runs of an implementation. The result may be ambiguous: two broadcasts to one node each may be one
//! broadcast to both.

use crate::event::{Call, Event};
use crate::ids::Tid;
use crate::term::code::{CodePlace, CodePoint, CodeState};
use crate::term::implementation::{Implementation, Implementations};
use crate::value::Val;
use crate::world::World;

/// A call of the implemented library with the number of events that are its own: `f^-1(e')`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ParsedCall {
    /// The call and what its run returned.
    pub event: Event,
    /// The number of consecutive events of the thread that form its run.
    pub length: usize,
}

/// Returns every way to parse the events of one thread as runs of `implementation` for some of `calls`, one after the
/// other.
#[must_use]
pub fn recover(
    implementation: &dyn Implementation,
    world: &World,
    thread: Tid,
    calls: &[Call],
    events: &[&Event],
) -> Vec<Vec<ParsedCall>> {
    if events.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for call in calls {
        let body = CodeState::of_call(&implementation.script(world, thread, call), call);
        let ended = replay(body, &Implementations::new(), world, thread, events);
        let Some((length, ret)) = ended.filter(|(length, _)| *length > 0) else { continue };
        let first = ParsedCall { event: Event { thread, call: call.clone(), ret }, length };
        for rest in recover(implementation, world, thread, calls, &events[length..]) {
            all.push([vec![first.clone()], rest].concat());
        }
    }
    all
}

/// Runs code on the results in `events`, with calls of the libraries in `implementations` replaced by their
/// bodies. Returns the number of events that it consumes and its value, if it ends without a break and makes exactly
/// these calls. There is at most one way, because code depends on nothing else.
#[must_use]
pub fn replay(
    mut code: CodeState,
    implementations: &Implementations,
    world: &World,
    thread: Tid,
    events: &[&Event],
) -> Option<(usize, Val)> {
    loop {
        match code.next(CodePlace { world, thread }) {
            CodePoint::Ended(v) => return Some((code.made(), v)),
            CodePoint::Returned(v, _) => code.leave(v),
            CodePoint::Loop => code.begin(),
            CodePoint::Call(call) => match implementations.get(&call.library) {
                Some(implementation) => _ = code.enter(&implementation.script(world, thread, &call), &call.args),
                None => code.returned(events.get(code.made()).filter(|e| e.call == call)?.ret),
            },
            CodePoint::Iteration(of) if of.start < code.made() || of.is_other && !of.is_endless(code.made()) => {
                code.go_on(true);
            }
            CodePoint::Iteration(_) | CodePoint::Escaped | CodePoint::Late(_) => return None,
        }
    }
}
