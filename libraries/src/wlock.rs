//! WLOCK, the weak lock: critical sections exclude each other, and what the CPU wrote in one is seen in the next.
//!
//! SYNC §4.1, Theorem 1: a ticket lock over remote fetch-and-add and shared variables. It deliberately does not promise
//! that remote operations of a critical section are over when the next one begins.

use mowgli_core::event::{Call, Shape, Sub};
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::library::Libraries;
use mowgli_core::program::{Prog, prog};
use mowgli_core::soundness::client::Bound;
use mowgli_core::value::Val;
use mowgli_core::world::{Form, Part, World};
use mowgli_rdma::stamp::Stamp::{aCW, aMF};
use mowgli_rdma::to;
use mowgli_rdma::wait::{self, Wait};

use crate::catalogue::{Entry, Expected, Memory, bound, variant};
use crate::lock::{Lock, Method, Sections, home};
use crate::sv::{self, Sv};

/// The library's name.
pub const WLOCK: Name = Name::literal("wlock");

/// WLOCK as a library: Rel {aCW}.
pub const LIBRARY: Lock = Lock {
    name: WLOCK,
    form: Form { kind: "weak lock", parts: &[Part::Home] },
    fence: aMF,
    release: |_, _| Shape::from_slice(&[Sub::quiet(aCW)]),
    lets_in: |a| a == aCW,
    first: |_| {},
};

/// The implementation over RDMA-WAIT-RMW and SV, or one of its broken variants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WlockOverSv {
    /// As published.
    #[default]
    Published,
    /// It does not wait for its ticket: it reads an old one.
    NoWait,
    /// Threads on the dispenser's node take tickets by the CPU, which the network card does not exclude.
    CpuRmw,
    /// The release stays on its own node.
    NoBroadcast,
    /// The release is broadcast before it is written.
    BroadcastFirst,
    /// Of two releases one does not pass the lock on.
    EverySecond,
}

/// x_a, the dispenser.
fn dispenser(x: Loc) -> Loc {
    x.part("dispenser")
}

/// p_x^t, the ticket of a thread.
fn ticket(x: Loc, t: Tid) -> Loc {
    x.part(format_args!("ticket_{t}"))
}

/// x_t, the last ticket that a thread passed on.
fn passed(x: Loc, t: Tid) -> Loc {
    x.part(format_args!("passed_{t}"))
}

impl Implementation for WlockOverSv {
    fn target(&self) -> Name {
        WLOCK
    }

    fn declare(&self, world: &mut World) {
        for x in world.locations(WLOCK) {
            let home = home(world, x);
            world.objects.insert(dispenser(x), wait::word(home));
            for t in world.tids() {
                let here = world.node_of(t);
                world.objects.insert(ticket(x, t), wait::word(here));
                world.objects.insert(passed(x, t), sv::variable());
            }
        }
    }

    fn body(&self, world: &World, t: Tid, call: &Call) -> Prog {
        let x = call.loc(0);
        let (x_a, p, x_t) = (dispenser(x), ticket(x, t), passed(x, t));
        let d = Val::Wid(x.wid("d"));
        let others = world.all_nodes().without(world.node_of(t));
        if let Method::Rel { .. } = Method::of(call) {
            let variant = *self;
            return wait::read(p).bind(move |v| {
                let skips = variant == Self::EverySecond && v.int().is_some_and(|ticket| ticket % 2 == 1);
                let write = sv::write(x_t, if skips { v } else { v.plus(1).unwrap_or(v) });
                let bcast = sv::bcast(x_t, Val::NoWid, others);
                match variant {
                    Self::NoBroadcast => write,
                    Self::BroadcastFirst => bcast.then(write),
                    _ => write.then(bcast).then(Prog::unit()),
                }
            });
        }
        let threads: Vec<Tid> = world.tids().collect();
        let by_cpu = *self == Self::CpuRmw && home(world, x) == world.node_of(t);
        let take = match self {
            _ if by_cpu => prog! {
                let v = loop {
                    let v = wait::read(x_a);
                    let w = wait::cas(x_a, v, v.plus(1).unwrap_or(v));
                    if (w == v) { break v }
                };
                wait::write(p, v)
            },
            Self::NoWait => wait::rfaa(p, x_a, Val::Int(1), d),
            _ => wait::rfaa(p, x_a, Val::Int(1), d).then(wait::wait(d)),
        };
        prog! {
            take.clone();
            let v = wait::read(p);
            loop {
                for ti in (threads.clone()) {
                    let passed_on = sv::read(passed(x, ti));
                    if (passed_on == v) { break }
                }
            }
        }
    }
}

/// What the catalogue says of it.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Blocks, Sound, Stuck, Unsound};
    let bounds = &[(3, 3, 2)];
    // Locks held across other locks, and several sections of a thread.
    let nested = Bound { objects: 2, ..bound(2, 1, 4) };
    let variants = vec![
        variant("published", "SYNC §4.1", Sound, WlockOverSv::Published, bounds).and(nested),
        variant("no-wait", "Acq reads its ticket before it has come", Unsound, WlockOverSv::NoWait, bounds),
        variant("no-broadcast", "a release stays on its own node", Blocks, WlockOverSv::NoBroadcast, &[(2, 2, 2)]),
        variant(
            "broadcast-first",
            "a release is broadcast before it is written",
            Stuck,
            WlockOverSv::BroadcastFirst,
            &[(2, 2, 2)],
        ),
        variant(
            "every-second",
            "every second release does not pass the lock on",
            Blocks,
            WlockOverSv::EverySecond,
            &[(3, 1, 2)],
        ),
        variant("cpu-rmw", "a CPU CAS takes tickets beside the remote RFAA", Unsound, WlockOverSv::CpuRmw, bounds),
    ];
    Entry {
        probes: vec![Box::new(Sections { library: WLOCK })],
        ..Entry::new(Memory::rdma_wait(), LIBRARY, Libraries::over(to).with(Wait).with(Sv), variants)
    }
}
