//! Clients of which some threads crash: what an implementation then does, and what its specification promises.
//!
//! Of the *implementation* a thread that crashes stops before any call that one of its bodies makes, or before one of its own. What it
//! had issued may be cut off, as the memory model says.
//!
//! The *specification* knows nothing of bodies. It gives such a thread the first of its calls, so many as have returned. Of these, what the
//! memory model lets others carry out may be missing: [`Crashing::cuts`]. The next call, which has not returned, has happened
//! in this way too, or not at all; nobody sees its result. And what is missing comes before nothing that has happened:
//!
//! ```text
//! [missing]; hb; [happened] is empty
//! ```
//!
//! on the events of each library, so that C stays a predicate of these. A missing subevent has its stamp and touches no memory.
//!
//! So who crashes is somebody who goes on too late for anyone to see. What others find tells nothing else, but where they wait
//! for it, or are told that it is dead.

use std::collections::BTreeSet;
use std::sync::Arc;

use itertools::Itertools;

use super::client::Client;
use crate::algebra::{Spec, SubView, events, hb};
use crate::event::{Call, Cell, Event, Shape, Sub};
use crate::ids::{Loc, Name, Tid};
use crate::implementation::Implementation;
use crate::library::{Libraries, Library};
use crate::method::Method;
use crate::outcome::Outcome;
use crate::program::Prog;
use crate::stamp::Stamp;
use crate::value::Val;
use crate::world::{Form, World};

/// How threads crash in a memory model.
#[derive(Clone)]
pub struct Crashing<S> {
    /// The model itself, where threads may crash.
    pub model: Libraries<S>,
    /// A call of the model that says whether a thread goes on.
    pub goes: Call,
    /// The last call of a thread that may crash.
    pub stop: Call,
    /// The ways in which a shape may be cut off, itself among them: whatever is missing touches no memory.
    pub cuts: fn(&Shape<S>) -> Vec<Shape<S>>,
    /// What may be cut off.
    pub is_issued: fn(S) -> bool,
}

impl<S: Stamp> Crashing<S> {
    /// These libraries where threads may crash: those of the model are as it says, what others issue is cut off.
    #[must_use]
    pub fn of(&self, libraries: &Libraries<S>) -> Libraries<S> {
        let others: Vec<Name> = libraries.names().filter(|name| self.model.get(*name).is_none()).collect();
        let cut_off = |name| {
            let spec = libraries.spec(name).expect("a library of the set").clone();
            CutOff { library: libraries.shared(name), spec, crashing: self.clone() }
        };
        let own = Libraries::like(libraries);
        let model = self.model.clone().with_order_of(libraries);
        others.into_iter().fold(own, |all, name| all.with(cut_off(name))).and(&model)
    }

    /// These libraries, of which each promises that what is missing comes before nothing that has happened.
    #[must_use]
    pub fn promised(&self, libraries: &Libraries<S>) -> Libraries<S> {
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

    /// The programs of a client, with a point before each call at which a thread stops that may crash: its value is the tuple of the
    /// results that it has then.
    #[must_use]
    pub fn programs(&self, world: &World, client: &Client, implemented: &[Name]) -> Vec<Prog> {
        let mut programs = client.programs();
        for t in world.tids().filter(|t| world.may_stop(*t)) {
            let calls = client.threads[t.index()].clone();
            programs[t.index()] = self.clone().program(calls, Vec::new(), implemented.to_vec());
        }
        programs
    }

    fn program(self, calls: Vec<Call>, results: Vec<Val>, implemented: Vec<Name>) -> Prog {
        let end = {
            let results = Val::tuple(&results);
            Prog::call(self.stop.clone()).map(move |_| results)
        };
        let Some(call) = calls.get(results.len()).cloned() else { return end };
        // A call that has a body stops within it.
        let first =
            if implemented.contains(&call.library) { Prog::Call(call) } else { self.stopping(Prog::Call(call)) };
        first.bind(move |v| {
            if v == STOPPED {
                return end.clone();
            }
            let results = results.iter().copied().chain([v]).collect();
            self.clone().program(calls.clone(), results, implemented.clone())
        })
    }

    /// A program that stops before any of its calls, with the value [`STOPPED`] then.
    fn stopping(&self, program: Prog) -> Prog {
        self.clone().points(program, 0).bind(|v| Prog::Break(1, v)).repeat()
    }

    /// The program with a point before each call, within so many loops.
    fn points(self, program: Prog, loops: usize) -> Prog {
        match program {
            Prog::Call(call) => Prog::call(self.goes).bind(move |on| {
                if on == Val::Bool(true) { Prog::call(call.clone()) } else { Prog::Break(loops + 1, STOPPED) }
            }),
            Prog::Let(first, f) => {
                let first = self.clone().points((*first).clone(), loops);
                first.bind(move |v| self.clone().points(f(v), loops))
            }
            Prog::Loop(body) => self.points((*body).clone(), loops + 1).repeat(),
            Prog::Val(_) | Prog::Break(..) | Prog::Bound => program,
        }
    }

    /// What the specification is asked about a client: for each number of calls that the threads have returned from that crash, with
    /// the next one and without, the client of these calls.
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

/// The outcome as far as calls have returned.
pub(super) fn returned(outcome: &Outcome, lengths: &[usize]) -> Outcome {
    let first = |(output, &length): (&Val, &usize)| match output {
        Val::Tuple(results) => Val::tuple(&results.parts()[..length.min(results.parts().len())]),
        other => *other,
    };
    Outcome { outputs: outcome.outputs.iter().zip(lengths).map(first).collect(), ..outcome.clone() }
}

/// What a body returns whose thread has stopped; no call of a client does.
const STOPPED: Val = Val::Top;

/// The results without that of a body that has stopped.
pub(super) fn has_returned(results: &[Val]) -> Vec<Val> {
    results.iter().copied().take_while(|v| *v != STOPPED).collect()
}

/// An implementation of which threads stop at any point that may crash.
pub(super) struct Stopping<S> {
    pub(super) implementation: Arc<dyn Implementation>,
    pub(super) crashing: Crashing<S>,
}

impl<S: Stamp> Implementation for Stopping<S> {
    fn target(&self) -> Name {
        self.implementation.target()
    }

    fn declare(&self, world: &mut World) {
        self.implementation.declare(world);
    }

    fn body(&self, world: &World, thread: Tid, call: &Call) -> Prog {
        let body = self.implementation.body(world, thread, call);
        if world.may_stop(thread) { self.crashing.stopping(body) } else { body }
    }
}

/// A library of which what a thread has issued may be missing that crashes.
struct CutOff<S> {
    library: Arc<dyn Library<S>>,
    /// Its specification in the set that it is of, which may not be its own.
    spec: Spec<S>,
    crashing: Crashing<S>,
}

impl<S: Stamp> Library<S> for CutOff<S> {
    fn name(&self) -> Name {
        self.library.name()
    }

    fn methods(&self) -> &'static [Method] {
        self.library.methods()
    }

    fn object(&self) -> Option<Form> {
        self.library.object()
    }

    fn loc(&self, call: &Call) -> Vec<Loc> {
        self.library.loc(call)
    }

    fn returns(
        &self,
        world: &World,
        earlier: &[Event],
        thread: Tid,
        call: &Call,
        cells: &dyn Fn(Cell) -> Vec<Val>,
    ) -> Vec<Val> {
        self.library.returns(world, earlier, thread, call, cells)
    }

    fn is_remembered(&self, call: &Call) -> bool {
        self.library.is_remembered(call)
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        self.library.fault(world, thread, call)
    }

    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape<S>> {
        let whole = self.library.shapes(world, event);
        if world.may_stop(event.thread) { whole.iter().flat_map(self.crashing.cuts).unique().collect() } else { whole }
    }

    fn wrong_shape(&self, world: &World, event: &Event) -> Option<String> {
        self.library.wrong_shape(world, event)
    }

    fn step(&self, event: &Event, read: Val) -> Option<Val> {
        self.library.step(event, read)
    }

    fn init(&self, world: &World, cell: Cell) -> Val {
        self.library.init(world, cell)
    }

    fn admits(&self, world: &World, events: &[&Event]) -> bool {
        self.library.admits(world, events)
    }

    fn has_rounds(&self) -> bool {
        self.library.has_rounds()
    }

    fn must_return(&self, world: &World, events: &[&Event]) -> bool {
        self.library.must_return(world, events)
    }

    /// What a client owes it owes with all its calls: it is not its fault that it stops between them.
    fn is_well_formed(&self, world: &World, events: &[&Event]) -> bool {
        !world.crashes.is_empty() || self.library.is_well_formed(world, events)
    }

    fn only_looks(&self, event: &Event) -> bool {
        self.library.only_looks(event)
    }

    fn spec(&self) -> Spec<S> {
        self.spec.clone()
    }
}

/// Adds to what a library demands that what is missing comes before nothing that has happened.
fn promise<S: Stamp>(spec: &mut Spec<S>, library: Arc<dyn Library<S>>, is_issued: fn(S) -> bool) {
    let may_be_missing =
        move |s: &SubView<S>| s.sub.cell.is_none() && s.world.may_stop(s.event.thread) && is_issued(s.sub.stamp);
    // What touches no memory anyhow neither is missing nor has it happened, as far as anyone can tell.
    let touches = move |s: &SubView<S>| {
        let is_it = |sub: &Sub<S>| sub.stamp == s.sub.stamp && sub.cell.is_some();
        library.shapes(s.world, s.event).iter().flatten().any(is_it)
    };
    let missing = events(move |s: &SubView<S>| may_be_missing(s) && touches(s));
    let happened = events(move |s: &SubView<S>| !may_be_missing(s));
    spec.empty("cut-off-hb", &hb().between(&missing, &happened));
}
