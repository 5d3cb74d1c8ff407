//! How far programs are.
//!
//! A round of a loop that only looked and did not break leads back to where the loop began: the thread does then what it did
//! before. Other rounds are bounded ([`super::machine::Machine::within`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use mowgli_core::event::{Call, Event};
use mowgli_core::ids::Tid;
use mowgli_core::library::Library;
use mowgli_core::program::Prog;
use mowgli_core::runs::Stop;
use mowgli_core::value::Val;
use mowgli_core::world::World;

use crate::crash::{CRASH, Crash};
use crate::message::{MESSAGE, Message};
use crate::tso::{Method, TSO, Tso};

/// What a thread does next.
#[derive(Clone)]
pub(super) enum Next {
    Call(Call),
    End(Val),
    /// A round of a loop has ended that only looked: it goes on as it did when it had made so many calls.
    Again(usize),
    /// It goes round and round without a call that looks or acts.
    Spin,
    /// Nothing: runs do not count in which a thread comes here.
    Discarded,
    /// Nothing: there were more rounds of a loop than are looked at, or the next call is one that no program may make.
    Cut(Stop),
}

/// A place of a program.
struct Place {
    next: Next,
    /// The calls so far, but for rounds that only looked.
    earlier: Vec<Event>,
    /// The place before the last of them.
    before: Option<u32>,
}

/// The programs as graphs: a place for each sequence of results, as far as it matters.
pub(super) struct Programs<'a> {
    programs: &'a [Prog],
    world: Arc<World>,
    /// How many rounds of a loop may do more than look.
    pub(super) rounds: usize,
    places: Vec<Place>,
    known: BTreeMap<(usize, u32, Val), u32>,
}

impl<'a> Programs<'a> {
    pub(super) fn new(world: Arc<World>, programs: &'a [Prog]) -> Self {
        Self { programs, world, rounds: usize::MAX, places: Vec::new(), known: BTreeMap::new() }
    }

    /// The place of a thread after these calls, the last of which it made at `before`.
    pub(super) fn add(&mut self, thread: usize, earlier: Vec<Event>, before: Option<u32>) -> u32 {
        let tid = Tid::from_index(thread);
        let next = Replay { world: &self.world, thread: tid, rounds: self.rounds, events: &earlier, at: 0 }
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
        self.places.push(Place { next, earlier, before });
        place
    }

    pub(super) fn next(&self, place: u32) -> &Next {
        &self.places[place as usize].next
    }

    pub(super) fn earlier(&self, place: u32) -> &[Event] {
        &self.places[place as usize].earlier
    }

    /// The results of the next call of a place in all runs so far.
    pub(super) fn results(&self, thread: usize, place: u32) -> Vec<Val> {
        let known = self.known.range((thread, place, Val::Unit)..).map(|((t, p, ret), _)| (*t, *p, *ret));
        known.take_while(|(t, p, _)| (*t, *p) == (thread, place)).map(|(.., ret)| ret).collect()
    }

    /// The place after the next call returned this.
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

/// What is wrong with a call of a program.
fn fault(world: &World, thread: Tid, call: &Call) -> Option<String> {
    match call.library {
        CRASH => Crash.fault(world, thread, call),
        MESSAGE => Message.fault(world, thread, call),
        _ => Tso.fault(world, thread, call),
    }
}

/// Whether a call of the CPU changes nothing, neither memory nor what is under way.
fn only_looks(event: &Event) -> bool {
    match event.call.method.text() {
        "CAS" => event.ret != event.call.args[1],
        "TryPoll" | "TryPollAny" => matches!(event.ret, Val::Bool(false) | Val::Bot),
        method => matches!(method, "Read" | "Mfence" | "SetIsEmpty" | "Goes" | "Dead"),
    }
}

/// A program, run with the results of its calls.
struct Replay<'a> {
    world: &'a World,
    thread: Tid,
    rounds: usize,
    events: &'a [Event],
    /// How many of them are used.
    at: usize,
}

enum Value {
    Done(Val, usize),
    Stopped(Next),
}

impl Replay<'_> {
    /// What comes after all these calls.
    fn next(mut self, program: &Prog) -> Next {
        match self.run(program) {
            Value::Done(v, 0) => Next::End(v),
            Value::Done(..) => Next::Discarded,
            Value::Stopped(next) => next,
        }
    }

    fn run(&mut self, program: &Prog) -> Value {
        match program {
            Prog::Val(v) => Value::Done(*v, 0),
            Prog::Break(k, v) => Value::Done(*v, *k),
            Prog::Bound => self.cut(),
            Prog::Call(call) => match self.events.get(self.at) {
                Some(event) => {
                    self.at += 1;
                    Value::Done(event.ret, 0)
                }
                None => Value::Stopped(Next::Call(Call::clone(call))),
            },
            Prog::Let(both) => match self.run(&both.first) {
                Value::Done(v, 0) => self.run(&(both.then)(v)),
                other => other,
            },
            Prog::Loop(body) => self.rounds(body),
        }
    }

    /// The bound on rounds.
    fn cut(&self) -> Value {
        let last = self.events.last();
        let after = last.map_or_else(String::new, |last| format!(" after {last}"));
        Value::Stopped(Next::Cut(Stop::Rounds(format!("{}: a loop of {}{after}", self.thread, self.rounds + 1))))
    }

    /// Whether the last round gets words of other nodes and takes the completions of just these gets, beside what only looks.
    fn looks_remotely(&self, start: usize) -> bool {
        let (earlier, own) = (&self.events[..start], &self.events[start..self.at]);
        let gets = |e: &Event| {
            let (usual, _) = Method::of(&e.call).usual();
            matches!(usual, Method::Get { .. } | Method::GetWords { .. } | Method::Poll { .. } | Method::PollAny {})
        };
        own.iter().all(|e| only_looks(e) || e.call.library == TSO && gets(e))
            && !Tso.remembers(self.world, earlier, own)
    }

    fn rounds(&mut self, body: &Prog) -> Value {
        let mut done = 0;
        loop {
            let start = self.at;
            match self.run(body) {
                Value::Done(_, 0) => {}
                Value::Done(v, breaks) => return Value::Done(v, breaks - 1),
                stopped @ Value::Stopped(_) => return stopped,
            }
            let own = &self.events[start..self.at];
            // What does not look at memory returns the same again.
            let reads = |e: &Event| matches!(e.call.method.text(), "Read" | "CAS" | "Goes" | "TryPoll" | "TryPollAny");
            match own.iter().all(only_looks) {
                true if own.iter().any(reads) => return Value::Stopped(Next::Again(start)),
                false if self.looks_remotely(start) => return Value::Stopped(Next::Again(start)),
                true => return Value::Stopped(Next::Spin),
                false if done >= self.rounds => return self.cut(),
                false => done += 1,
            }
        }
    }
}
