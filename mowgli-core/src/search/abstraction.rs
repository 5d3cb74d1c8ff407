//! The abstraction f (LOCO Def. 3.11), recovered from a plain execution.
//!
//! Elsewhere f is kept while a program is unfolded. This module finds it without that knowledge, by parsing a thread's
//! events into runs of an implementation. The result may be ambiguous: two broadcasts to one node each may be one
//! broadcast to both.

use crate::event::{Call, Event};
use crate::ids::Tid;
use crate::term::implementation::{Implementation, Implementations};
use crate::term::program::Prog;
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
        let body = implementation.program(world, thread, call);
        let ended = replay(&body, &Implementations::new(), world, thread, events);
        let Some((length, ret)) = ended.filter(|(length, _)| *length > 0) else { continue };
        let first = ParsedCall { event: Event { thread, call: call.clone(), ret }, length };
        for rest in recover(implementation, world, thread, calls, &events[length..]) {
            all.push([vec![first.clone()], rest].concat());
        }
    }
    all
}

/// Runs a program on the results in `events`, with calls of the libraries in `implementations` replaced by their
/// bodies. Returns the number of events that it consumes and its value, if it ends without a break and makes exactly
/// these calls. There is at most one way, because a program depends on nothing else.
#[must_use]
pub fn replay(
    program: &Prog,
    implementations: &Implementations,
    world: &World,
    thread: Tid,
    events: &[&Event],
) -> Option<(usize, Val)> {
    let mut replay = AbstractionReplay { implementations, world, thread, events, made: 0 };
    let (value, breaks) = replay.run(program)?;
    (breaks == 0).then_some((replay.made, value))
}

struct AbstractionReplay<'a> {
    implementations: &'a Implementations,
    world: &'a World,
    thread: Tid,
    events: &'a [&'a Event],
    made: usize,
}

impl AbstractionReplay<'_> {
    fn run(&mut self, program: &Prog) -> Option<(Val, usize)> {
        match program {
            Prog::Val(v) => Some((*v, 0)),
            Prog::Break(k, v) => Some((*v, *k)),
            Prog::Call(call) => match self.implementations.get(&call.library) {
                Some(implementation) => self.run(&implementation.program(self.world, self.thread, call)),
                None => {
                    let event = self.events.get(self.made).filter(|e| e.call == **call)?;
                    self.made += 1;
                    Some((event.ret, 0))
                }
            },
            Prog::Let(both) => match self.run(&both.first)? {
                (v, 0) => self.run(&(both.then)(v)),
                broken => Some(broken),
            },
            Prog::Bound => None,
            Prog::Loop(body) => loop {
                let before = self.made;
                match self.run(body)? {
                    (v, breaks) if breaks > 0 => break Some((v, breaks - 1)),
                    _ if self.made == before => break None,
                    _ => {}
                }
            },
        }
    }
}
