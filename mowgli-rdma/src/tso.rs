//! RDMA-TSO-RMW: the model that hardware was validated against, with polls in place of waits.
//!
//! SYNC App. C; without `RCAS` and `RFAA` it is RDMA-TSO (LOCO-X App. G.1). `Poll(n)` completes the oldest operation of
//! the thread towards node n that no poll has completed yet. It is a language and not a library: which operation a poll
//! completes depends on all others, so it is not decomposable (LOCO Fig. 2), and hb is just `(ppo u so)+`.

use std::collections::BTreeMap;

use mowgli_core::algebra::{Spec, SubView, events, in_turn};
use mowgli_core::event::{Call, Cell, Event, Shape, Sub};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::Library;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};

use crate::stamp::Stamp::{self, aNLW, aNRW, aWT};
use crate::wait::{self, Wait};

/// The model's name.
pub const TSO: Name = Name::literal("rdma-tso-rmw");

/// A memory word on `node`.
#[must_use]
pub fn word(node: Node) -> Object {
    Object::new(TSO).at(node)
}

/// RDMA-TSO-RMW as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tso;

/// The node that an operation goes to, or that a poll asks about.
#[must_use]
pub fn towards(world: &World, call: &Call) -> Option<Node> {
    match call.method.text() {
        "Put" => world.home(call.loc(0)),
        "Get" | "RCAS" | "RFAA" => world.home(call.loc(1)),
        "Poll" => match call.args.first() {
            Some(&Val::Node(n)) => Some(n),
            _ => None,
        },
        _ => None,
    }
}

/// The subevent whose completion a poll sees: the local write, of a Put the remote one.
fn is_confirmed(s: &SubView<Stamp>) -> bool {
    match s.event.call.method.text() {
        "Put" => matches!(s.sub.stamp, aNRW(_)),
        "Get" | "RCAS" | "RFAA" => matches!(s.sub.stamp, aNLW(_)),
        _ => false,
    }
}

impl Library<Stamp> for Tso {
    fn name(&self) -> Name {
        TSO
    }

    fn loc(&self, call: &Call) -> Vec<Loc> {
        Wait.loc(call)
    }

    fn returns(&self, world: &World, thread: Tid, call: &Call, cells: &dyn Fn(Cell) -> Vec<Val>) -> Vec<Val> {
        Wait.returns(world, thread, call, cells)
    }

    fn step(&self, event: &Event, read: Val) -> Option<Val> {
        Wait.step(event, read)
    }

    /// Every poll has an operation before it to take: otherwise it never returns.
    fn admits(&self, world: &World, events: &[&Event]) -> bool {
        let mut open: BTreeMap<(Tid, Option<Node>), usize> = BTreeMap::new();
        events.iter().all(|e| {
            let open = open.entry((e.thread, towards(world, &e.call))).or_default();
            match e.call.method.text() {
                "Poll" => open.checked_sub(1).map(|left| *open = left).is_some(),
                "Put" | "Get" | "RCAS" | "RFAA" => {
                    *open += 1;
                    true
                }
                _ => true,
            }
        })
    }

    /// As RDMA-WAIT-RMW, and Poll {aWT}.
    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape<Stamp>> {
        match event.call.method.text() {
            "Poll" => vec![Shape::from_slice(&[Sub::quiet(aWT)])],
            "Wait" => Vec::new(),
            _ => wait::shapes(world, event).unwrap_or_default(),
        }
    }

    fn spec(&self) -> Spec<Stamp> {
        // pf: each Poll takes the oldest operation towards its node that none before it has taken
        let polls = events(|s| s.event.call.method.text() == "Poll");
        let pf = in_turn(events(is_confirmed), polls, |s| towards(s.world, &s.event.call).map(Val::Node));
        wait::predicate(true, &pf, true)
    }
}
