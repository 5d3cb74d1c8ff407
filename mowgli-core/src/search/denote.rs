//! The plain semantics `[[p]]_t` within a bound (LOCO §3.1), with calls replaced by implementations on the way.
//!
//! Three restrictions keep it finite. The first two lose no outcomes:
//!  - A call returns only values that its library deems possible ([`crate::library::Hints::returns`]).
//!  - A round of a loop that only looks and does not break is left out. An execution without it is consistent whenever
//!    one with it is, and has the same outcome.
//!  - Other loops are unrolled up to a bound ([`Unfolding::hit`]). A round that does not break can be left out too if
//!    nothing outside it reads its writes: see `docs/search.md`.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Call, Cell, Event};
use crate::ids::Tid;
use crate::library::Libraries;
use crate::search::fault::{CallFault, breaks_out, does_nothing, makes, not_below};
use crate::term::code::{CodeIteration, CodePlace, CodePoint, CodeState};
use crate::term::implementation::Implementations;
use crate::term::script::Script;
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
    /// The executions up to a call of the program that no program may make, each with the fault. Their writes count as well.
    pub faults: BTreeMap<Trace, CallFault>,
    /// The event after which a loop with effects would have gone on past the bound, if there is one.
    pub hit: Option<String>,
    /// The same for a loop with remembered rounds, each of which matters.
    pub hit_remembered: Option<String>,
    /// Whether there were more traces than the limit, or the time was up.
    pub too_many: bool,
    /// The reason why an implementation is not well defined (LOCO Def. 3.9), if there is such a reason.
    pub ill_defined: Option<CallFault>,
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
    rounds: Vec<(usize, usize)>,
    result: Unfolding,
}

impl Denotation<'_> {
    fn ill_defined(&mut self, fault: CallFault) {
        self.result.ill_defined.get_or_insert(fault);
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

    /// Keeps the events as an execution up to a fault, and notes if there are now more than `limit` of these.
    fn fault(&mut self, fault: CallFault, limit: usize) {
        let faulty = self.trace(self.events.len(), Val::Unit);
        self.result.faults.insert(faulty, fault);
        self.result.too_many |= self.result.faults.len() > limit;
    }

    /// Returns the first `length` events as a trace.
    fn trace(&self, length: usize, output: Val) -> Trace {
        let (events, groups) = (self.events[..length].to_vec(), self.groups[..length].to_vec());
        Trace { events, groups, calls: self.calls.clone(), rounds: self.rounds.clone(), output }
    }
}

/// Describes the place where an unrolled loop reached the bound on rounds.
pub(crate) fn unrolled(thread: Tid, events: &[Event]) -> String {
    format!("{thread}: a loop whose rounds begin with other values each time{}", after_last(events))
}

/// Names the last of these events with an argument, as ` after Write(x, 1)`. A call without one, such as the point at which a thread
/// may crash, need not be a statement of the program.
#[must_use]
pub fn after_last(events: &[Event]) -> String {
    let last = events.iter().rfind(|event| !event.call.args.is_empty());
    last.map_or_else(String::new, |last| format!(" after {last}"))
}

impl Unfolder<'_> {
    /// Returns the plain executions of `script` on `thread`, where `cells` gives the possible values of each cell.
    pub fn unfold(&self, thread: Tid, script: &Script, cells: &dyn Fn(Cell) -> Vec<Val>) -> Unfolding {
        let mut state = Denotation {
            thread,
            cells,
            events: Vec::new(),
            groups: Vec::new(),
            calls: Vec::new(),
            rounds: Vec::new(),
            result: Unfolding::default(),
        };
        self.run(CodeState::start(script), &mut state);
        state.result
    }

    /// Follows a thread in all ways.
    fn run(&self, mut code: CodeState, state: &mut Denotation<'_>) {
        let place = CodePlace { world: self.world, thread: state.thread };
        while !state.result.too_many {
            match code.next(place) {
                CodePoint::Ended(output) => {
                    let count = state.result.traces.len();
                    if count >= self.limit || count % 64 == 63 && (self.expired)() {
                        state.result.too_many = true;
                        return;
                    }
                    let trace = state.trace(state.events.len(), output);
                    return state.result.traces.push(trace);
                }
                CodePoint::Escaped => {
                    return match code.within() {
                        None => state.discard(self.limit),
                        Some(call) => state.ill_defined(breaks_out(state.thread, &state.calls[call].event.call)),
                    };
                }
                CodePoint::Late(why) => {
                    state.wait_after(state.events.len(), self.limit);
                    state.result.hit_remembered = Some(why);
                    return;
                }
                CodePoint::Returned(v, start) => {
                    let replaced = &mut state.calls[code.within().expect("it is in a body")].event;
                    if state.events.len() == start {
                        let fault = does_nothing(replaced.thread, &replaced.call);
                        return state.ill_defined(fault);
                    }
                    replaced.ret = v;
                    code.leave(v);
                }
                CodePoint::Loop => code.begin(),
                CodePoint::Iteration(iteration) => {
                    if !self.goes_on(iteration, state) {
                        return;
                    }
                    code.go_on(true);
                }
                CodePoint::Call(call) => match self.implementations.get(&call.library) {
                    Some(implementation) => {
                        let body = implementation.script(self.world, state.thread, &call);
                        let parent = code.within();
                        code.enter(&body, &call.args);
                        let event = Event { thread: state.thread, call, ret: Val::Unit };
                        state.calls.push(ReplacedCall { event, parent });
                    }
                    None => return self.call(&call, &code, state),
                },
            }
        }
    }

    /// True if the thread goes on behind an iteration without a break.
    fn goes_on(
        &self,
        CodeIteration { start, done, others, is_other }: CodeIteration,
        state: &mut Denotation<'_>,
    ) -> bool {
        let end = state.events.len();
        if is_other {
            if others >= self.rounds {
                state.wait_after(end, self.limit);
                state.result.hit_remembered = Some(unrolled(state.thread, &state.events));
            }
            return others < self.rounds;
        }
        let own = &state.events[start..];
        if own.iter().all(|e| self.libraries.of(&e.call).only_looks(e)) {
            // This iteration only looks, so the unfolding leaves it out: see the module's documentation.
            state.wait_after(start, self.limit);
            return false;
        }
        let is_remembered = self.libraries.remember(self.world, &state.events[..start], own);
        if done < self.rounds {
            state.rounds.extend((!is_remembered).then_some((start, end)));
            return true;
        }
        state.wait_after(end, self.limit);
        let hit = if is_remembered { &mut state.result.hit_remembered } else { &mut state.result.hit };
        *hit = Some(format!("{}: a loop of {}{}", state.thread, done + 1, after_last(&state.events)));
        false
    }

    /// Follows a thread after each result of a call.
    fn call(&self, call: &Call, code: &CodeState, state: &mut Denotation<'_>) {
        let within = code.within().map(|g| &state.calls[g].event.call);
        let thread = state.thread;
        let Some(library) = self.libraries.get(call.library) else {
            let fault = not_below(thread, within, call);
            return state.ill_defined(fault);
        };
        if let Some(what) = library.fault(self.world, thread, call) {
            let (is_of_body, makes) = (within.is_some(), makes(thread, within, call));
            let fault = CallFault { thread, call: Some(call.clone()), makes, what };
            return if is_of_body { state.ill_defined(fault) } else { state.fault(fault, self.limit) };
        }
        let results = library.returns(self.world, &state.events, state.thread, call, state.cells);
        if results.is_empty() {
            state.wait_after(state.events.len(), self.limit);
        }
        let (events, calls, rounds) = (state.events.len(), state.calls.clone(), state.rounds.len());
        for ret in results {
            state.events.push(Event { thread: state.thread, call: call.clone(), ret });
            state.groups.push(code.within());
            let mut after = code.clone();
            after.returned(ret);
            self.run(after, state);
            state.events.truncate(events);
            state.groups.truncate(events);
            state.rounds.truncate(rounds);
            state.calls.clone_from(&calls);
        }
    }
}
