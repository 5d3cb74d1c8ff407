//! The progress of programs: the place of each thread, and its next call.
//!
//! An iteration of a loop that changes nothing and does not break is *idle*. It leads back to the place where it began,
//! because the thread then repeats what it did. The other iterations are bounded ([`super::machine::Machine::within`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use mowgli_core::event::{Call, Event};
use mowgli_core::ids::Tid;
use mowgli_core::library::{Hints, Library};
use mowgli_core::program::Prog;
use mowgli_core::runs::Stop;
use mowgli_core::value::Val;
use mowgli_core::world::World;

use crate::crash::{CRASH, Crash};
use crate::message::{MESSAGE, Message};
use crate::tso::{Method, TSO, Tso};

/// The next step of a thread's program.
#[derive(Clone)]
pub(super) enum Next {
    Call(Call),
    End(Val),
    /// An idle iteration has ended: the thread continues as it did after this number of calls.
    Again(usize),
    /// An endless loop whose iterations neither read memory nor change anything.
    Spin,
    /// A failed `assume`: runs in which a thread comes here do not count.
    Discarded,
    /// A limit or a fault: a loop has more iterations than the bound, or the next call is one that no program may make.
    Cut(Stop),
}

/// A place of a program.
struct ProgramPlace {
    next: Next,
    /// The calls so far, without those of idle iterations.
    earlier: Vec<Event>,
    /// The place before the last of these calls.
    before: Option<u32>,
}

/// The programs as graphs: a place for each sequence of results, without those of idle iterations.
pub(super) struct Programs<'a> {
    programs: &'a [Prog],
    world: Arc<World>,
    /// The limit on the iterations of a loop that are not idle.
    pub(super) rounds: usize,
    places: Vec<ProgramPlace>,
    known: BTreeMap<(usize, u32, Val), u32>,
}

impl<'a> Programs<'a> {
    pub(super) fn new(world: Arc<World>, programs: &'a [Prog]) -> Self {
        Self { programs, world, rounds: usize::MAX, places: Vec::new(), known: BTreeMap::new() }
    }

    /// Returns the place of a thread after these calls, the last of which it made at `before`.
    pub(super) fn add(&mut self, thread: usize, earlier: Vec<Event>, before: Option<u32>) -> u32 {
        let tid = Tid::from_index(thread);
        let next = MachineReplay { world: &self.world, thread: tid, rounds: self.rounds, events: &earlier, at: 0 }
            .next(&self.programs[thread]);
        let next = match next {
            Next::Call(call) => match fault(&self.world, tid, &call) {
                Some(fault) => Next::Cut(Stop::IllDefined(format!("{tid} calls {call} of {}: {fault}", call.library))),
                None => Next::Call(call),
            },
            other => other,
        };
        if let (Next::Again(calls), Some(mut place)) = (&next, before) {
            while self.earlier(place).len() > *calls {
                place = self.places[place as usize].before.expect("it has made calls");
            }
            return place;
        }
        let place = u32::try_from(self.places.len()).expect("fewer places than states");
        self.places.push(ProgramPlace { next, earlier, before });
        place
    }

    pub(super) fn next(&self, place: u32) -> &Next {
        &self.places[place as usize].next
    }

    pub(super) fn earlier(&self, place: u32) -> &[Event] {
        &self.places[place as usize].earlier
    }

    /// Lists the results that the next call of a place has had in all runs so far.
    pub(super) fn results(&self, thread: usize, place: u32) -> Vec<Val> {
        let known = self.known.range((thread, place, Val::Unit)..).map(|((t, p, ret), _)| (*t, *p, *ret));
        known.take_while(|(t, p, _)| (*t, *p) == (thread, place)).map(|(.., ret)| ret).collect()
    }

    /// Returns the place after the next call has returned `ret`.
    pub(super) fn after(&mut self, thread: usize, place: u32, ret: Val) -> u32 {
        if let Some(&known) = self.known.get(&(thread, place, ret)) {
            return known;
        }
        let Next::Call(call) = self.next(place).clone() else { unreachable!("only calls return") };
        let event = Event { thread: Tid::from_index(thread), call, ret };
        let earlier = [self.earlier(place), &[event]].concat();
        let after = self.add(thread, earlier, Some(place));
        self.known.insert((thread, place, ret), after);
        after
    }
}

/// Returns the fault of a call of a program, if it has one.
fn fault(world: &World, thread: Tid, call: &Call) -> Option<String> {
    match call.library {
        CRASH => Crash.fault(world, thread, call),
        MESSAGE => Message.fault(world, thread, call),
        _ => Tso::PUBLISHED.fault(world, thread, call),
    }
}

/// True if a call of the CPU changes nothing, neither memory nor operations under way.
fn only_looks(event: &Event) -> bool {
    match event.call.method.text() {
        "CAS" => event.ret != event.call.args[1],
        "TryPoll" | "TryPollAny" => matches!(event.ret, Val::Bool(false) | Val::Bot),
        method => matches!(method, "Read" | "Mfence" | "SetIsEmpty" | "Goes" | "Dead"),
    }
}

/// A program that is run with given results of its calls.
struct MachineReplay<'a> {
    world: &'a World,
    thread: Tid,
    rounds: usize,
    events: &'a [Event],
    /// The number of events that are used.
    at: usize,
}

enum ReplayValue {
    Done(Val, usize),
    Stopped(Next),
}

impl MachineReplay<'_> {
    /// Returns the next step after all these calls.
    fn next(mut self, program: &Prog) -> Next {
        match self.run(program) {
            ReplayValue::Done(v, 0) => Next::End(v),
            ReplayValue::Done(..) => Next::Discarded,
            ReplayValue::Stopped(next) => next,
        }
    }

    fn run(&mut self, program: &Prog) -> ReplayValue {
        match program {
            Prog::Val(v) => ReplayValue::Done(*v, 0),
            Prog::Break(k, v) => ReplayValue::Done(*v, *k),
            Prog::Bound => self.cut(),
            Prog::Call(call) => match self.events.get(self.at) {
                Some(event) => {
                    self.at += 1;
                    ReplayValue::Done(event.ret, 0)
                }
                None => ReplayValue::Stopped(Next::Call(Call::clone(call))),
            },
            Prog::Let(both) => match self.run(&both.first) {
                ReplayValue::Done(v, 0) => self.run(&(both.then)(v)),
                other => other,
            },
            Prog::Loop(body) => self.rounds(body),
        }
    }

    /// Returns the stop for a loop that reaches the bound on iterations.
    fn cut(&self) -> ReplayValue {
        let last = self.events.last();
        let after = last.map_or_else(String::new, |last| format!(" after {last}"));
        ReplayValue::Stopped(Next::Cut(Stop::Rounds(format!("{}: a loop of {}{after}", self.thread, self.rounds + 1))))
    }

    /// True if the last iteration gets words of other nodes and takes the completions of exactly these gets, beside
    /// calls that change nothing.
    fn looks_remotely(&self, start: usize) -> bool {
        let (earlier, own) = (&self.events[..start], &self.events[start..self.at]);
        let gets = |e: &Event| {
            let (usual, _) = Method::of(&e.call).usual();
            matches!(usual, Method::Get { .. } | Method::GetWords { .. } | Method::Poll { .. } | Method::PollAny {})
        };
        own.iter().all(|e| only_looks(e) || e.call.library == TSO && gets(e))
            && !Tso::PUBLISHED.remembers(self.world, earlier, own)
    }

    fn rounds(&mut self, body: &Prog) -> ReplayValue {
        let mut done = 0;
        loop {
            let start = self.at;
            match self.run(body) {
                ReplayValue::Done(_, 0) => {}
                ReplayValue::Done(v, breaks) => return ReplayValue::Done(v, breaks - 1),
                stopped @ ReplayValue::Stopped(_) => return stopped,
            }
            let own = &self.events[start..self.at];
            // Without these calls an iteration has the same results for ever, because only they read memory or completions.
            let reads = |e: &Event| matches!(e.call.method.text(), "Read" | "CAS" | "Goes" | "TryPoll" | "TryPollAny");
            match own.iter().all(only_looks) {
                true if own.iter().any(reads) => return ReplayValue::Stopped(Next::Again(start)),
                false if self.looks_remotely(start) => return ReplayValue::Stopped(Next::Again(start)),
                true => return ReplayValue::Stopped(Next::Spin),
                false if done >= self.rounds => return self.cut(),
                false => done += 1,
            }
        }
    }
}
