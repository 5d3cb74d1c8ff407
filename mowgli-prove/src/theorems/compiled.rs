//! Executions of programs whose waits are compiled to polls. Each comes with the execution of the source program that
//! is read off it (SYNC App. C.3).

use std::collections::BTreeMap;

use mowgli_core::event::{Event, Sub};
use mowgli_core::execution::{Chosen, Execution, Subevent};
use mowgli_core::ids::Node;
use mowgli_core::value::Val;
use mowgli_rdma::RdmaStamp::aWT;
use mowgli_rdma::stamp::Qp;
use mowgli_rdma::tso::{self, Method, TSO};
use mowgli_rdma::wait::WAIT;

use crate::error::{Contradiction, contradiction};

/// An execution of a compiled program, and the one of the source program.
pub struct CompiledExecution<'a> {
    /// The execution of the compiled program.
    pub below: &'a Execution,
    /// The execution of the source program: its operations and choices are those below.
    pub above: Execution,
    /// The call of each event below.
    pub f: Vec<usize>,
    /// For each call the event that stands for it: the operation, or the last test of a wait whether a set is empty.
    pub at: Vec<usize>,
    /// For each subevent above the subevent that stands for it.
    pub g: Vec<usize>,
}

fn method(event: &Event) -> Method {
    Method::of(&event.call)
}

impl<'a> CompiledExecution<'a> {
    /// Reads the execution of the source program off one of the compiled program.
    ///
    /// # Errors
    /// If the execution is not one of a compiled program.
    pub fn of(below: &'a Execution) -> Result<Self, Contradiction> {
        let f: Option<Vec<usize>> = below.groups.iter().copied().collect();
        let f = f.ok_or_else(|| contradiction!("an event is of no call of the program"))?;
        let mut read = Self { below, above: Self::without_calls(below), f, at: Vec::new(), g: Vec::new() };
        for (c, call) in below.calls.iter().enumerate() {
            read.add(c, &call.event)?;
        }
        let g = read.g.clone();
        let pulled = |pairs: &[(usize, usize)]| {
            let all = (0..g.len()).flat_map(|a| (0..g.len()).map(move |b| (a, b)));
            all.filter(|&(a, b)| pairs.contains(&(g[a], g[b]))).collect()
        };
        let chosen = below.chosen.iter().filter(|c| c.library == TSO);
        read.above.chosen = chosen.map(|c| Chosen { library: WAIT, pairs: pulled(&c.pairs), ..c.clone() }).collect();
        Ok(read)
    }

    fn without_calls(below: &Execution) -> Execution {
        let mut world = below.world.clone();
        world.objects.values_mut().for_each(|object| object.library = WAIT);
        let groups = vec![None; below.calls.len()];
        let (events, subs, chosen, calls) = Default::default();
        Execution { world, events, subs, chosen, outputs: below.outputs.clone(), calls, groups }
    }

    /// Adds a call.
    fn add(&mut self, c: usize, call: &Event) -> Result<(), Contradiction> {
        let waits = call.call.method.text() == "Wait";
        let stands = if waits { "SetIsEmpty" } else { call.call.method.text() };
        let at = self.own(c).filter(|&e| self.below.events[e].call.method.text() == stands).last();
        let at = at.ok_or_else(|| contradiction!("nothing stands for {call}"))?;
        let subs = (0..self.below.subs.len()).filter(|&s| self.below.subs[s].event == at);
        for s in subs {
            let sub = if waits {
                Subevent { event: c, sub: Sub::quiet(aWT), read: None, wrote: None }
            } else {
                Subevent { event: c, ..self.below.subs[s].clone() }
            };
            self.above.subs.push(sub);
            self.g.push(s);
        }
        self.above.events.push(call.clone());
        self.at.push(at);
        Ok(())
    }

    fn own(&self, c: usize) -> impl Iterator<Item = usize> {
        (0..self.f.len()).filter(move |e| self.f[*e] == c)
    }

    /// Returns the events of a call that satisfy this.
    fn of_call(&self, c: usize, is: impl Fn(Method) -> bool) -> impl Iterator<Item = usize> {
        self.own(c).filter(move |e| is(method(&self.below.events[*e])))
    }

    /// Returns for each subevent below one of the subevents above for which it stands, if there is one.
    pub fn up(&self) -> Vec<usize> {
        (0..self.below.subs.len()).map(|s| self.g.iter().position(|x| *x == s).unwrap_or(0)).collect()
    }

    /// Returns the set that an event below speaks of.
    pub fn set(&self, e: usize) -> Option<Val> {
        match method(&self.below.events[e]) {
            Method::SetAdd { s, .. } | Method::SetRemove { s, .. } | Method::SetIsEmpty { s } => Some(s),
            _ => None,
        }
    }

    /// Returns the set of an identifier's open operations to a node.
    pub fn open(identifier: Val, to: Node) -> Option<Val> {
        if let Val::Wid(d) = identifier { Some(tso::open_operations(d.0, Qp { to, number: 1 })) } else { None }
    }

    /// Returns the element that an event below adds to a set or removes from one, or else its result.
    pub fn handle(&self, e: usize) -> Val {
        match method(&self.below.events[e]) {
            Method::SetAdd { v, .. } | Method::SetRemove { v, .. } => v,
            _ => self.below.events[e].ret,
        }
    }

    /// True if an event below found a set empty.
    pub fn found_empty(&self, e: usize) -> bool {
        matches!(method(&self.below.events[e]), Method::SetIsEmpty { .. })
            && self.below.events[e].ret == Val::Bool(true)
    }

    /// Returns the event of a call that adds an element to a set.
    pub fn added(&self, c: usize) -> usize {
        self.of_call(c, |m| matches!(m, Method::SetAdd { .. })).next().unwrap_or(0)
    }

    /// Returns the event at which a call finds the set of its open operations to a node empty.
    pub fn asked(&self, c: usize, to: Node) -> usize {
        let identifier = self.above.events[c].call.args.iter().find(|v| matches!(v, Val::Wid(_)));
        let set = identifier.and_then(|d| Self::open(*d, to));
        self.own(c).find(|&e| self.found_empty(e) && self.set(e) == set).unwrap_or(0)
    }

    /// Returns the first event between these two that removes the element that the first one added.
    pub fn removal(&self, added: usize, asked: usize) -> usize {
        let removes = |&e: &usize| {
            matches!(method(&self.below.events[e]), Method::SetRemove { .. })
                && self.set(e) == self.set(added)
                && self.handle(e) == self.handle(added)
        };
        (added + 1..asked).find(removes).unwrap_or(0)
    }

    /// Returns the poll of the same call that returned the removed element.
    pub fn polled(&self, removes: usize) -> usize {
        let polls = self.of_call(self.f[removes], |m| matches!(m, Method::Poll { .. }));
        polls.filter(|&p| p < removes && self.handle(p) == self.handle(removes)).last().unwrap_or(0)
    }

    /// Returns the source of each subevent below, or the subevent itself if it has none.
    pub fn sources(&self, choice: &str) -> Vec<usize> {
        let pairs = self.below.chosen.iter().filter(|c| c.name == choice).flat_map(|c| &c.pairs);
        let known: BTreeMap<usize, usize> = pairs.map(|&(a, b)| (b, a)).collect();
        (0..self.below.subs.len()).map(|s| known.get(&s).copied().unwrap_or(s)).collect()
    }
}
