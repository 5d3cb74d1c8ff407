//! Crashes: the behaviour of an implementation whose threads may crash, and the promises of its specification.
//!
//! In the *implementation*, a crashing thread stops before any call of the client, or before any call that the body of
//! one makes. The operations that it has issued may be cut off, as the memory model defines.
//!
//! The *specification* has no bodies. There the thread has made the first of its calls, as many as have returned. Of
//! these calls, the operations that others carry out may be missing, as the memory model defines: [`Crashing::cuts`].
//! The next call, which has not returned, has happened in this way too, or not at all, and its result is invisible. A
//! missing subevent must not come before one that has happened:
//!
//! ```text
//! [missing]; hb; [happened] is empty
//! ```
//!
//! This demand is on the events of each library, so that C stays a predicate of these. A missing subevent has its stamp
//! and touches no memory.
//!
//! So a crashed thread looks like one that goes on too late for any other thread to see. Other threads notice the crash
//! only if they wait for the thread, or if a library reports it as dead.

use std::collections::BTreeSet;
use std::sync::Arc;

use itertools::Itertools;

use super::client::Client;
use crate::algebra::{Spec, SubView, events, hb};
use crate::event::{Call, Event, Shape, Sub};
use crate::ids::{Name, Tid};
use crate::library::{Hints, Libraries, Reshaping};
use crate::search::outcome::Outcome;
use crate::stamp::Stamp;
use crate::term::implementation::Implementation;
use crate::term::program::Prog;
use crate::value::Val;
use crate::world::World;

/// The crashes of threads in a memory model.
#[derive(Clone)]
pub struct Crashing {
    /// The libraries of the model, in the variant in which threads may crash.
    pub model: Libraries,
    /// The call of the model that returns whether a thread goes on.
    pub goes: Call,
    /// The last call of a thread that may crash.
    pub stop: Call,
    /// Returns the ways in which a shape may be cut off, including the whole shape. Missing subevents touch no memory.
    pub cuts: fn(&Shape) -> Vec<Shape>,
    /// True for the stamps of subevents that may be cut off.
    pub is_issued: fn(Stamp) -> bool,
}

impl Crashing {
    /// Adds crashes to these libraries. The model defines the crashes of its own calls, and the calls of other
    /// libraries may be cut off.
    #[must_use]
    pub fn of(&self, libraries: &Libraries) -> Libraries {
        let others = libraries.names().filter(|name| self.model.get(*name).is_none());
        let own = others.fold(libraries.clone(), |all, name| all.reshaped(name, self.clone()));
        self.model.clone().with_order_of(libraries).and(&own)
    }

    /// Adds to each of these libraries the promise that a missing subevent never comes before one that has happened.
    #[must_use]
    pub fn promised(&self, libraries: &Libraries) -> Libraries {
        let names: Vec<Name> = libraries.names().collect();
        names.into_iter().fold(libraries.clone(), |all, name| {
            let (library, is_issued) = (all.shared(name), self.is_issued);
            all.respecified(name, |spec| promise(spec, library, is_issued))
        })
    }

    /// The worlds in which so many threads may crash of those that do something; as it is where it says itself who may.
    #[must_use]
    pub fn worlds(&self, world: &World, client: &Client, crashes: usize) -> Vec<World> {
        if !world.crashes.is_empty() {
            return vec![world.clone()];
        }
        let able: Vec<Tid> = world.tids().filter(|t| !client.threads[t.index()].is_empty()).collect();
        let most = crashes.min(able.len());
        let among = |threads: Vec<Tid>| {
            let mut world = world.clone();
            world.crashes.threads = BTreeSet::from_iter(threads);
            world
        };
        able.into_iter().combinations(most).map(among).collect()
    }

    /// Returns the points at which threads stop, if the calls of these libraries have bodies.
    pub(super) fn points(&self, implemented: &[Name]) -> Points {
        Points { goes: self.goes.clone(), stop: self.stop.clone(), implemented: implemented.into() }
    }

    /// Returns the clients whose outcomes the specification allows, each with the number of returned calls of each
    /// thread. A crashing thread has made any number of its calls, and the last one may not have returned.
    #[must_use]
    pub fn prefixes(&self, world: &World, client: &Client) -> Vec<(Client, Vec<usize>)> {
        let of_thread = |t: Tid| {
            let calls = client.threads[t.index()].len();
            let begun = |returned: usize| (returned..=calls.min(returned + 1)).map(move |begun| (begun, returned));
            if world.may_stop(t) { (0..=calls).flat_map(begun).collect_vec() } else { vec![(calls, calls)] }
        };
        let choices = world.tids().map(of_thread).multi_cartesian_product();
        let prefix = |lengths: Vec<(usize, usize)>| {
            let threads = client.threads.iter().zip(&lengths).map(|(calls, (begun, _))| calls[..*begun].to_vec());
            (Client { threads: threads.collect() }, lengths.iter().map(|(_, returned)| *returned).collect())
        };
        choices.map(prefix).collect()
    }
}

/// The places in programs at which a thread stops.
#[derive(Clone)]
pub(super) struct Points {
    goes: Call,
    stop: Call,
    implemented: Arc<[Name]>,
}

impl Points {
    /// Returns the programs of a client in which a crashing thread may stop before or within each of its calls. The
    /// value of such a thread is the tuple of its results so far.
    pub(super) fn programs(&self, world: &World, client: &Client) -> Vec<Prog> {
        let mut programs = client.programs();
        for t in world.tids().filter(|t| world.may_stop(*t)) {
            programs[t.index()] = self.clone().program(client.threads[t.index()].clone(), Vec::new());
        }
        programs
    }

    fn program(self, calls: Vec<Call>, results: Vec<Val>) -> Prog {
        let end = {
            let results = Val::tuple(&results);
            Prog::call(self.stop.clone()).map(move |_| results)
        };
        let Some(call) = calls.get(results.len()).cloned() else { return end };
        self.clone().stopping(Prog::call(call)).bind(move |v| {
            if v == STOPPED {
                return end.clone();
            }
            let results = results.iter().copied().chain([v]).collect();
            self.clone().program(calls.clone(), results)
        })
    }

    /// Returns a program that stops before any of its calls, or within one, and then has the value [`STOPPED`].
    fn stopping(self, program: Prog) -> Prog {
        self.within(program, 0).bind(|v| Prog::Break(1, v)).repeat()
    }

    /// Returns the program with a stop at each call, inside this number of loops.
    fn within(self, program: Prog, loops: usize) -> Prog {
        let stopped = move || Prog::Break(loops + 1, STOPPED);
        match program {
            // A call that has a body stops within it.
            Prog::Call(call) if self.implemented.contains(&call.library) => {
                Prog::Call(call).bind(move |v| if v == STOPPED { stopped() } else { Prog::Val(v) })
            }
            Prog::Call(call) => Prog::call(self.goes)
                .bind(move |on| if on == Val::Bool(true) { Prog::Call(call.clone()) } else { stopped() }),
            Prog::Let(both) => {
                let first = self.clone().within(both.first.clone(), loops);
                first.bind(move |v| self.clone().within((both.then)(v), loops))
            }
            Prog::Loop(body) => self.within((*body).clone(), loops + 1).repeat(),
            Prog::Val(_) | Prog::Break(..) | Prog::Bound => program,
        }
    }
}

/// Returns the outcome restricted to the results of the returned calls.
pub(super) fn returned(outcome: &Outcome, lengths: &[usize]) -> Outcome {
    let first = |(output, &length): (&Val, &usize)| match output {
        Val::Tuple(results) => Val::tuple(&results.parts()[..length.min(results.parts().len())]),
        other => *other,
    };
    Outcome { outputs: outcome.outputs.iter().zip(lengths).map(first).collect(), ..outcome.clone() }
}

/// The value of a body whose thread has stopped. It is unambiguous, because calls of clients never return it.
const STOPPED: Val = Val::Top;

/// Returns the results before the body that has stopped.
pub(super) fn has_returned(results: &[Val]) -> Vec<Val> {
    results.iter().copied().take_while(|v| *v != STOPPED).collect()
}

/// An implementation whose threads may stop at any point if they may crash.
pub(super) struct Stopping {
    pub(super) implementation: Arc<dyn Implementation>,
    pub(super) points: Points,
}

impl Implementation for Stopping {
    fn target(&self) -> Name {
        self.implementation.target()
    }

    fn declare(&self, world: &mut World) {
        self.implementation.add_objects(world);
    }

    fn body(&self, world: &World, thread: Tid, call: &Call) -> Prog {
        let body = self.implementation.program(world, thread, call);
        if world.may_stop(thread) { self.points.clone().stopping(body) } else { body }
    }
}

/// Cuts off the operations of a thread that may crash.
impl Reshaping for Crashing {
    fn shapes(&self, world: &World, event: &Event, whole: Vec<Shape>) -> Vec<Shape> {
        if world.may_stop(event.thread) { whole.iter().flat_map(self.cuts).unique().collect() } else { whole }
    }

    /// True whenever threads may crash, because a thread must make the second of two calls only if it does not crash between
    /// them.
    fn is_well_formed(&self, world: &World, by_itself: bool) -> bool {
        !world.crashes.is_empty() || by_itself
    }
}

/// Adds the demand that a missing subevent never comes before one that has happened.
fn promise(spec: &mut Spec, library: Arc<dyn Hints>, is_issued: fn(Stamp) -> bool) {
    let may_be_missing =
        move |s: &SubView| s.sub.cell.is_none() && s.world.may_stop(s.event.thread) && is_issued(s.sub.stamp);
    // A subevent that touches no memory in the whole shape is neither missing nor observable.
    let touches = move |s: &SubView| {
        let is_it = |sub: &Sub| sub.stamp == s.sub.stamp && sub.cell.is_some();
        library.shapes(s.world, s.event).iter().flatten().any(is_it)
    };
    let missing = events(move |s: &SubView| may_be_missing(s) && touches(s));
    let happened = events(move |s: &SubView| !may_be_missing(s));
    spec.empty("cut-off-hb", &hb().between(&missing, &happened));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::program::prog;

    const MEMORY: Name = Name::literal("memory");
    const LOCK: Name = Name::literal("lock");

    /// Runs a program with `answer` as the results of its calls. Returns the number of loops that it breaks out of, and
    /// its value.
    fn run(program: &Prog, answer: &mut dyn FnMut(&Call) -> Val) -> (usize, Val) {
        match program {
            Prog::Val(v) => (0, *v),
            Prog::Break(loops, v) => (*loops, *v),
            Prog::Call(call) => (0, answer(call)),
            Prog::Let(both) => match run(&both.first, answer) {
                (0, v) => run(&(both.then)(v), answer),
                out => out,
            },
            Prog::Loop(body) => loop {
                let (loops, v) = run(body, answer);
                if loops > 0 {
                    return (loops - 1, v);
                }
            },
            Prog::Bound => panic!("nothing is unrolled"),
        }
    }

    /// Returns the calls of a thread that goes on at this number of points, where `inner` is the result of the call of
    /// the lock.
    fn made(goes_on: usize, inner: Val) -> (Vec<&'static str>, Val) {
        let call = |library, method| Prog::call(Call::new(library, method, &[]));
        let body = prog! {
            call(MEMORY, "First");
            loop { loop { call(LOCK, "Acq"); Prog::Break(2, Val::Unit) } };
            call(MEMORY, "Last");
            Prog::Val(Val::Int(7))
        };
        let call = |method| Call::new(MEMORY, method, &[]);
        let points = Points { goes: call("Goes"), stop: call("Stop"), implemented: [LOCK].into() };
        let (mut calls, mut left) = (Vec::new(), goes_on);
        let end = run(&points.stopping(body), &mut |call| match call.method.text() {
            "Goes" => {
                let on = left > 0;
                left = left.saturating_sub(1);
                Val::Bool(on)
            }
            "Acq" => {
                calls.push("Acq");
                inner
            }
            other => {
                calls.push(other);
                Val::Unit
            }
        });
        (calls, end.1)
    }

    #[test]
    fn a_thread_stops_before_any_of_its_calls() {
        assert_eq!(made(0, Val::Unit), (vec![], STOPPED));
        assert_eq!(made(1, Val::Unit), (vec!["First", "Acq"], STOPPED));
        assert_eq!(made(2, Val::Unit), (vec!["First", "Acq", "Last"], Val::Int(7)));
    }

    #[test]
    fn who_stops_within_a_call_makes_no_more_of_them() {
        assert_eq!(made(2, STOPPED), (vec!["First", "Acq"], STOPPED));
    }
}
