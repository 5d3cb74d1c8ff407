//! The operations of one thread that are under way.

use std::sync::Arc;

use mowgli_core::value::Val;

use super::raw::{End, Error, Going, Node};
use crate::legal::held;
use crate::port::Fault;
use crate::word::unpacked;

/// How many operations of a thread are under way at most.
const MOST: usize = 256;

/// How often somebody looks for each look at an endpoint from which nothing is under way, and at which nobody reaches the node.
const SELDOM: u64 = 16;

/// Who begins operations that belong to no run.
const NOBODY: u64 = 0;

/// What an operation does with the word of the other node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Put,
    Get,
    Swap,
    Sum,
}

impl Kind {
    pub(super) fn is_atomic(self) -> bool {
        matches!(self, Self::Swap | Self::Sum)
    }
}

/// An operation, as it is begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    /// The node at which it is, counted from 0.
    pub(super) node: usize,
    pub(super) kind: Kind,
    /// Its identifier.
    pub(super) d: Val,
    /// The port by which it is begun.
    pub(super) by: u64,
    /// The place of the own word.
    pub(super) own: usize,
}

impl Begun {
    /// A put of no run.
    pub(super) fn put(node: usize) -> Self {
        Self { node, kind: Kind::Put, d: Val::NoWid, by: NOBODY, own: 0 }
    }

    /// A get of no run.
    pub(super) fn get(node: usize) -> Self {
        Self { kind: Kind::Get, ..Self::put(node) }
    }
}

/// An operation that is under way.
pub(super) struct Operation {
    slot: usize,
    pub(super) begun: Begun,
    /// How many operations at this node its port had begun before.
    pub(super) number: u64,
}

/// An endpoint, and what is under way from it.
pub(super) struct Queue {
    end: End,
    /// Whether that is the endpoint at which others reach the node, so that who looks at it lets them go on too.
    pub(super) is_of_node: bool,
    free: Vec<usize>,
    pub(super) under_way: Vec<Operation>,
    nodes: Vec<Reached>,
    ports: u64,
    /// How often somebody looked while nothing was under way.
    idle: u64,
    /// How many operations were begun.
    begun: u64,
    fault: Option<Fault>,
}

/// What was begun at a node.
#[derive(Clone, Default)]
pub(super) struct Reached {
    /// The last port that began something there, and how many operations that was.
    port: u64,
    count: u64,
    /// Whether something was put there, and nothing has followed that tells when it is in place.
    pub(super) has_put: bool,
}

impl Queue {
    pub(super) fn open(node: &Arc<Node>, key: u64, nodes: usize, is_of_node: bool) -> Result<Self, Error> {
        let end = End::open(node, MOST, key, is_of_node)?;
        let free = (0..MOST).collect();
        Ok(Self {
            end,
            is_of_node,
            free,
            under_way: Vec::new(),
            nodes: vec![Reached::default(); nodes],
            ports: NOBODY,
            idle: 0,
            begun: 0,
            fault: None,
        })
    }

    /// A number for a new port.
    pub(super) fn port(&mut self) -> u64 {
        self.ports += 1;
        self.ports
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether an operation at a node is under way, of those that are one of these.
    pub(super) fn has(&self, node: usize, is_one: impl Fn(Kind) -> bool) -> bool {
        self.under_way.iter().any(|o| o.begun.node == node && is_one(o.begun.kind))
    }

    /// Whether nothing is left at a node of what was begun there: what was put is in place, all else has completed.
    pub(super) fn is_over(&self, node: usize) -> bool {
        !self.nodes[node].has_put && !self.has(node, |_| true)
    }

    pub(super) fn nodes(&self) -> &[Reached] {
        &self.nodes
    }

    /// What lets operations go on, in another thread.
    pub(super) fn going(&self) -> Going {
        self.end.going()
    }

    /// Begins an operation, if there is room. A put is over when it has begun: what it sends has been read.
    pub(super) fn begin(
        &mut self,
        begun: Begun,
        how: impl FnOnce(&mut End, usize) -> Result<(), Error>,
    ) -> Result<bool, Fault> {
        let Some(&slot) = self.free.last() else { return Ok(false) };
        match how(&mut self.end, slot) {
            Ok(()) => {}
            Err(Error::AGAIN) => return Ok(false),
            Err(why) => return Err(failed(Some(begun.node), why)),
        }
        let number = self.count(begun);
        self.begun += 1;
        if begun.kind != Kind::Put {
            self.free.pop();
            self.under_way.push(Operation { slot, begun, number });
        }
        Ok(true)
    }

    /// Whether it is time to look at what others do: who begins one operation after the other does so now and then.
    pub(super) fn looks(&self) -> bool {
        self.begun.is_multiple_of(SELDOM)
    }

    /// Takes note of an operation that is done already.
    pub(super) fn done(&mut self, begun: Begun) {
        self.count(begun);
    }

    /// How many operations at its node the port of this one had begun before. Those of no port are between others, and nobody counts them.
    fn count(&mut self, begun: Begun) -> u64 {
        let reached = &mut self.nodes[begun.node];
        reached.has_put = begun.kind == Kind::Put || reached.has_put && begun.kind.is_atomic();
        if begun.by == NOBODY {
            return 0;
        }
        if reached.port != begun.by {
            (reached.port, reached.count) = (begun.by, 0);
        }
        reached.count += 1;
        reached.count - 1
    }

    /// The fault of an addition to a sum that no word holds. Some more of them would make of it an integer that a word holds, which would be wrong.
    fn added(&self, begun: Begun) -> Option<Fault> {
        let was = (begun.kind == Kind::Sum).then(|| unpacked(self.end.word(begun.own)))??;
        let why = held(was).err()?;
        Some(Fault::Wrong(format!("an addition at node {} was to {was}: {why}", begun.node + 1)))
    }

    /// No operation has failed.
    pub(super) fn fine(&self) -> Result<(), Fault> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// Takes note of what is complete. Once an operation has failed, this says so each time.
    pub(super) fn take(&mut self) -> Result<(), Fault> {
        self.fine()?;
        while !self.is_idle() {
            let (slot, failure) = match self.end.next() {
                Ok(None) => return Ok(()),
                Ok(slot) => (slot, None),
                Err((why, slot)) => (slot, Some(why)),
            };
            let place = self.under_way.iter().position(|o| Some(o.slot) == slot);
            let begun = place.map(|place| {
                let operation = self.under_way.swap_remove(place);
                self.free.push(operation.slot);
                operation.begun
            });
            let failed = failure.map(|why| failed(begun.map(|begun| begun.node), why));
            if let Some(fault) = failed.or_else(|| self.added(begun?)) {
                self.fault = Some(fault.clone());
                return Err(fault);
            }
        }
        // Nothing is left to take. Puts and connections may still need somebody to look now and then.
        self.idle += 1;
        if self.is_of_node || self.idle.is_multiple_of(SELDOM) {
            self.end.progress();
        }
        Ok(())
    }
}

fn failed(node: Option<usize>, why: Error) -> Fault {
    let place = node.map_or_else(|| "another node".to_owned(), |node| format!("node {}", node + 1));
    Fault::Gone(format!("an operation at {place} failed: {}", why.text()))
}
