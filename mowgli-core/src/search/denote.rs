//! The plain semantics `[[p]]_t` within a bound (LOCO §3.1), with calls replaced by implementations on the way.
//!
//! Three restrictions keep it finite. The first two lose no outcomes:
//!  - A call returns only values that its library deems possible ([`crate::library::Hints::returns`]).
//!  - A round of a loop that only looks and does not break is left out. An execution without it is consistent whenever
//!    one with it is, and has the same outcome.
//!  - Other loops are unrolled up to a bound ([`Unfolding::hit`]). A round that does not break can be left out too if
//!    nothing outside it reads its writes: see `docs/search.md`.

use std::collections::BTreeSet;

use crate::event::{Call, Cell, Event};
use crate::ids::Tid;
use crate::library::Libraries;
use crate::term::implementation::Implementations;
use crate::term::program::{LONGEST, Prog};
use crate::value::Val;
use crate::world::World;

/// A call that an implementation replaced, in one plain execution.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReplacedCall {
    /// The call and what its implementation returned.
    pub event: Event,
    /// The group in which this call was made by another implementation.
    pub parent: Option<usize>,
}

/// One plain execution of one thread.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Trace {
    /// The events, in program order.
    pub events: Vec<Event>,
    /// For each event the innermost replaced call that contains it: the abstraction f, kept (LOCO Def. 3.11).
    pub groups: Vec<Option<usize>>,
    /// The replaced calls, in program order of their beginnings.
    pub calls: Vec<ReplacedCall>,
    /// The event ranges (first, one past the last) of the rounds that did not break, did not only look, and are not
    /// remembered.
    pub rounds: Vec<(usize, usize)>,
    /// The thread's output.
    pub output: Val,
}

/// All plain executions of one thread within a bound.
#[derive(Debug, Default)]
pub struct Unfolding {
    /// The executions.
    pub traces: Vec<Trace>,
    /// The executions that do not end, each up to the blocked call, the round that only looks, or the bound on rounds.
    /// Their writes count too, because another thread may read them and so let this one go on.
    pub waiting: BTreeSet<Trace>,
    /// The executions that violate an assumption, each up to that point. Their writes count as well: one of them may
    /// give a later read another result, with which the assumption holds.
    pub discarded: BTreeSet<Trace>,
    /// The event after which a loop with effects would have gone on past the bound, if there is one.
    pub hit: Option<String>,
    /// The same for a loop with remembered rounds, each of which matters.
    pub hit_remembered: Option<String>,
    /// Whether there were more traces than the limit, or the time was up.
    pub too_many: bool,
    /// The reason why an implementation is not well defined (LOCO Def. 3.9), if there is such a reason.
    pub ill_defined: Option<String>,
}

/// The fixed part of an unfolding.
pub struct Unfolder<'a> {
    /// The libraries of the calls that are not replaced.
    pub libraries: &'a Libraries,
    /// The implementations of the other calls.
    pub implementations: &'a Implementations,
    /// The objects, nodes and threads.
    pub world: &'a World,
    /// The number of rounds of a loop with effects that may end without a break.
    pub rounds: usize,
    /// The number of traces that a thread may have.
    pub limit: usize,
    /// Whether the deadline has passed. The unfolding asks often.
    pub expired: &'a dyn Fn() -> bool,
}

struct Denotation<'a> {
    thread: Tid,
    cells: &'a dyn Fn(Cell) -> Vec<Val>,
    events: Vec<Event>,
    groups: Vec<Option<usize>>,
    calls: Vec<ReplacedCall>,
    group: Option<usize>,
    rounds: Vec<(usize, usize)>,
    /// The number of instructions on the way here.
    made: usize,
    result: Unfolding,
}

impl Denotation<'_> {
    fn ill_defined(&mut self, why: String) {
        self.result.ill_defined.get_or_insert(why);
    }

    /// Describes a call and its place, for an error message.
    fn makes(&self, call: &Call) -> String {
        makes(self.thread, self.within(), call)
    }

    /// Returns the call whose body the thread executes, if there is one.
    fn within(&self) -> Option<&Call> {
        self.group.map(|g| &self.calls[g].event.call)
    }

    /// Keeps the first `length` events as an execution that does not end, and notes if there are now more than `limit`
    /// of these.
    fn wait_after(&mut self, length: usize, limit: usize) {
        let waiting = self.trace(length, Val::Unit);
        self.result.waiting.insert(waiting);
        self.result.too_many |= self.result.waiting.len() > limit;
    }

    /// Keeps the events as an execution that is left out, and notes if there are now more than `limit` of these.
    fn discard(&mut self, limit: usize) {
        let discarded = self.trace(self.events.len(), Val::Unit);
        self.result.discarded.insert(discarded);
        self.result.too_many |= self.result.discarded.len() > limit;
    }

    /// Returns the first `length` events as a trace.
    fn trace(&self, length: usize, output: Val) -> Trace {
        let (events, groups) = (self.events[..length].to_vec(), self.groups[..length].to_vec());
        Trace { events, groups, calls: self.calls.clone(), rounds: self.rounds.clone(), output }
    }
}

/// Describes a call of a thread, with the enclosing call if there is one.
pub(crate) fn makes(thread: Tid, within: Option<&Call>, call: &Call) -> String {
    let within = within.map(|c| format!(", in the body of {c} of {},", c.library));
    format!("{thread}{} calls {call} of {}", within.unwrap_or_default(), call.library)
}

/// Returns the error for a call of a library that is missing.
pub(crate) fn not_below(makes: &str) -> String {
    format!("{makes}, which is not among the libraries below: put it among those that the entry is built on")
}

/// Returns the error for a body that breaks out of a loop of its caller.
pub(crate) fn breaks_out(call: &Call) -> String {
    format!("the body of {call} of {} ends with a break: let it break only within a loop", call.library)
}

/// Returns the error for a body with a run that makes no call.
pub(crate) fn does_nothing(call: &Call) -> String {
    format!("the body of {call} of {} has a run without a call: let it make one, which can stand for it", call.library)
}

/// Returns the error for a thread that exceeds [`LONGEST`] instructions, with the body that it executes.
pub(crate) fn never_ends(thread: Tid, within: Option<&Call>) -> String {
    let who = within.map_or(thread.to_string(), |c| format!("the body of {c} of {}", c.library));
    format!("{who} has not ended after {LONGEST} instructions: let its recursion end, and wait with `loop`")
}

/// Describes the place where an unrolled loop reached the bound on rounds.
pub(crate) fn unrolled(thread: Tid, events: &[Event]) -> String {
    let after = events.last().map_or_else(String::new, |last| format!(" after {last}"));
    format!("{thread}: a loop whose rounds begin with other values each time{after}")
}

type Continue<'k, 'a> = &'k mut dyn FnMut(&mut Denotation<'a>, Val, usize);

impl Unfolder<'_> {
    /// Returns the plain executions of `program` on `thread`, where `cells` gives the possible values of each cell.
    pub fn unfold(&self, thread: Tid, program: &Prog, cells: &dyn Fn(Cell) -> Vec<Val>) -> Unfolding {
        let mut state = Denotation {
            thread,
            cells,
            events: Vec::new(),
            groups: Vec::new(),
            calls: Vec::new(),
            group: None,
            rounds: Vec::new(),
            made: 0,
            result: Unfolding::default(),
        };
        self.run(program, &mut state, &mut |s, output, breaks| {
            if breaks > 0 {
                return s.discard(self.limit);
            }
            if s.result.traces.len() >= self.limit || s.result.traces.len() % 64 == 63 && (self.expired)() {
                s.result.too_many = true;
                return;
            }
            let trace = s.trace(s.events.len(), output);
            s.result.traces.push(trace);
        });
        state.result
    }

    fn run<'a>(&self, program: &Prog, state: &mut Denotation<'a>, next: Continue<'_, 'a>) {
        if state.result.too_many {
            return;
        }
        if state.made == LONGEST {
            return state.ill_defined(never_ends(state.thread, state.within()));
        }
        state.made += 1;
        match program {
            Prog::Val(v) => next(state, *v, 0),
            Prog::Break(k, v) => next(state, *v, *k),
            Prog::Call(call) => self.call(call, state, next),
            Prog::Let(both) => self.run(&both.first, state, &mut |s, v, breaks| {
                if breaks > 0 { next(s, v, breaks) } else { self.run(&(both.then)(v), s, next) }
            }),
            Prog::Loop(body) => self.round(body, 0, state, next),
            Prog::Bound => {
                state.wait_after(state.events.len(), self.limit);
                state.result.hit_remembered = Some(unrolled(state.thread, &state.events));
            }
        }
        state.made -= 1;
    }

    fn round<'a>(&self, body: &Prog, done: usize, state: &mut Denotation<'a>, next: Continue<'_, 'a>) {
        let start = state.events.len();
        self.run(body, state, &mut |s, v, breaks| {
            if breaks > 0 {
                next(s, v, breaks - 1);
            } else if s.events[start..].iter().all(|e| self.libraries.of(&e.call).only_looks(e)) {
                // This round only looks, so the unfolding leaves it out: see the module's documentation.
                s.wait_after(start, self.limit);
            } else if done < self.rounds {
                let end = s.events.len();
                let before = s.rounds.len();
                if !self.libraries.remember(self.world, &s.events[..start], &s.events[start..]) {
                    s.rounds.push((start, end));
                }
                self.round(body, done + 1, s, next);
                s.rounds.truncate(before);
            } else {
                s.wait_after(s.events.len(), self.limit);
                let is_remembered = self.libraries.remember(self.world, &s.events[..start], &s.events[start..]);
                let hit = if is_remembered { &mut s.result.hit_remembered } else { &mut s.result.hit };
                *hit = s.events.last().map(|e| format!("{}: a loop of {} after {e}", s.thread, done + 1));
            }
        });
    }

    fn call<'a>(&self, call: &Call, state: &mut Denotation<'a>, next: Continue<'_, 'a>) {
        if let Some(implementation) = self.implementations.get(&call.library) {
            let body = implementation.program(self.world, state.thread, call);
            return self.replaced(call, &body, state, next);
        }
        let Some(library) = self.libraries.get(call.library) else {
            return state.ill_defined(not_below(&state.makes(call)));
        };
        if let Some(fault) = library.fault(self.world, state.thread, call) {
            return state.ill_defined(format!("{}: {fault}", state.makes(call)));
        }
        let results = library.returns(self.world, &state.events, state.thread, call, state.cells);
        if results.is_empty() {
            state.wait_after(state.events.len(), self.limit);
        }
        for ret in results {
            state.events.push(Event { thread: state.thread, call: call.clone(), ret });
            state.groups.push(state.group);
            next(state, ret, 0);
            state.events.pop();
            state.groups.pop();
        }
    }

    fn replaced<'a>(&self, call: &Call, body: &Prog, state: &mut Denotation<'a>, next: Continue<'_, 'a>) {
        let (outer, this) = (state.group, state.calls.len());
        let event = Event { thread: state.thread, call: call.clone(), ret: Val::Unit };
        state.calls.push(ReplacedCall { event, parent: outer });
        state.group = Some(this);
        let start = state.events.len();
        self.run(body, state, &mut |s, v, breaks| {
            if breaks > 0 {
                return s.ill_defined(breaks_out(call));
            }
            if s.events.len() == start {
                return s.ill_defined(does_nothing(call));
            }
            s.group = outer;
            s.calls[this].event.ret = v;
            next(s, v, 0);
            s.group = Some(this);
        });
        state.group = outer;
        state.calls.truncate(this);
    }
}
