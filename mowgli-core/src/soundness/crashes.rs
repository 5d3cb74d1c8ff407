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
use crate::expr::Expr;
use crate::ids::{Name, Tid};
use crate::library::{Hints, Libraries, PlainSet, Reshaping};
use crate::search::outcome::Outcome;
use crate::stamp::Stamp;
use crate::term::body::Bodies;
use crate::term::implementation::Implementation;
use crate::term::script::{CallOf, Script, ScriptWriter, StopPoints};
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
        let points = StopPoints { goes: self.goes.clone(), implemented: implemented.into(), stopped: STOPPED };
        Points { points, stop: self.stop.clone() }
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
    points: StopPoints,
    stop: Call,
}

impl Points {
    /// Returns the code of a client in which a crashing thread may stop before or within each of its calls. The
    /// value of such a thread is the tuple of its results so far.
    pub(super) fn programs(&self, world: &World, client: &Client) -> Vec<Script> {
        let mut scripts = client.programs();
        for t in world.tids().filter(|t| world.may_stop(*t)) {
            scripts[t.index()] = self.script(&client.threads[t.index()]);
        }
        scripts
    }

    fn script(&self, calls: &[Call]) -> Script {
        let (mut writer, mut results) = (ScriptWriter::default(), Vec::new());
        let end = |writer: &mut ScriptWriter, results: &[Expr]| {
            writer.call(CallOf::known(self.stop.clone()), None);
            writer.end(Expr::tuple(results.iter().copied()));
        };
        let mut stops = Vec::new();
        for call in calls {
            let (result, stop) = (writer.fresh(), writer.label());
            writer.call_or_stop(CallOf::known(call.clone()), Some(result), &self.points, stop);
            stops.push((stop, results.clone()));
            results.push(ScriptWriter::value(result));
        }
        end(&mut writer, &results);
        for (stop, results) in stops {
            writer.place(stop);
            end(&mut writer, &results);
        }
        writer.finish()
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
    implementation: Arc<dyn Implementation>,
    bodies: Option<Bodies>,
}

impl Stopping {
    pub(super) fn of(implementation: &Arc<dyn Implementation>, points: &Points) -> Self {
        let bodies = implementation.bodies().map(|bodies| bodies.stopping(points.points.clone()));
        Self { implementation: Arc::clone(implementation), bodies }
    }
}

impl Implementation for Stopping {
    fn target(&self) -> Name {
        self.implementation.target()
    }

    fn declare(&self, world: &mut World) {
        self.implementation.add_objects(world);
    }

    fn bodies(&self) -> Option<&Bodies> {
        self.bodies.as_ref()
    }
}

/// Cuts off the operations of a thread that may crash.
impl Reshaping for Crashing {
    fn shapes(&self, world: &World, event: &Event, whole: Vec<Shape>) -> Vec<Shape> {
        if world.may_stop(event.thread) { whole.iter().flat_map(self.cuts).unique().collect() } else { whole }
    }

    /// All whenever threads may crash, because a thread must make the second of two calls only if it does not crash between
    /// them.
    fn covered<'a>(&'a self, by_itself: PlainSet<'a>) -> PlainSet<'a> {
        match by_itself {
            PlainSet::All => PlainSet::All,
            some => {
                PlainSet::Where(Box::new(move |world, events| !world.crashes.is_empty() || some.has(world, events)))
            }
        }
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
    use crate::ids::Node;
    use crate::term::body::{Body, body};
    use crate::term::code::{CodePlace, CodePoint, CodeState};

    const MEMORY: Name = Name::literal("memory");
    const LOCK: Name = Name::literal("lock");

    /// Returns the calls of a thread that goes on at this number of points, where `inner` is the result of the call of
    /// the lock.
    fn made(goes_on: usize, inner: Val) -> (Vec<&'static str>, Val) {
        let call = |library, method| Body::call(library, method, []);
        let body = body! {
            call(MEMORY, "First");
            loop { loop { call(LOCK, "Acq"); break }; break };
            call(MEMORY, "Last");
            Val::Int(7)
        };
        let goes = Call::new(MEMORY, "Goes", &[]);
        let points = StopPoints { goes, implemented: [LOCK].into(), stopped: STOPPED };
        let (world, mut calls, mut left) = (World::new(1, &[Node(1)]), Vec::new(), goes_on);
        let mut code = CodeState::start(&Script::stopping(&body, points));
        loop {
            let call = match code.next(CodePlace { world: &world, thread: Tid(1) }) {
                CodePoint::Call(call) => call,
                CodePoint::Ended(v) => return (calls, v),
                CodePoint::Loop => {
                    code.begin();
                    continue;
                }
                other => panic!("{other:?}"),
            };
            code.returned(match call.method.text() {
                "Goes" => {
                    let on = left > 0;
                    left = left.saturating_sub(1);
                    Val::Bool(on)
                }
                other => {
                    calls.push(other);
                    if other == "Acq" { inner } else { Val::Unit }
                }
            });
        }
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
