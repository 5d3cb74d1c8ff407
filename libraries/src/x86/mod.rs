//! Libraries over x86-TSO: what multiprocessor programs are made of, one file each.
//!
//! Locks: a [`spin`] lock, a [`ticket`] lock, and [`mcs`], a queue of waiting threads. Containers: the stack of Treiber
//! ([`treiber`]) and the queue of Michael and Scott ([`msqueue`]), whose nodes are locations that are read from memory.

pub mod container;
pub mod lock;
pub mod mcs;
pub mod msqueue;
pub mod prelude;
pub mod spin;
pub mod ticket;
pub mod treiber;

use mowgli_core::ids::{Loc, Name};
use mowgli_core::program::{Prog, prog};
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_core::{event::Call, ids::Tid};
use mowgli_x86::Stamp;
use mowgli_x86::tso::{on_one_machine, read, write};

use crate::catalogue::Entry;
use crate::x86::container::Container;

/// All libraries over x86-TSO.
#[must_use]
pub fn catalogue() -> Vec<Entry<Stamp>> {
    vec![spin::entry(), ticket::entry(), mcs::entry(), treiber::entry(), msqueue::entry()]
}

/// The locks, which have the methods Acq and Rel.
pub const LOCKS: [Name; 3] = [spin::SPINLOCK, ticket::TICKETLOCK, mcs::MCSLOCK];

/// The containers, each with its methods.
pub const CONTAINERS: [Container; 2] = [treiber::LIBRARY, msqueue::LIBRARY];

/// Clients of a subject on one machine.
pub(crate) struct OneMachine<T>(pub T);

impl<T: Subject> Subject for OneMachine<T> {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        on_one_machine(empty, |_| {}).iter().flat_map(|world| self.0.worlds(world, bound, expired)).collect()
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        self.0.calls(world, thread, bound, expired)
    }
}

/// A compare-and-swap that is no longer one: a read, and then a write.
pub(crate) fn in_two_steps(x: Loc, v1: Val, v2: Val) -> Prog {
    prog! { let v = read(x); write(x, v2).when(v == v1); Prog::Val(v) }
}

/// A compare-and-swap that does not compare: a write, as if it had found what it looked for.
pub(crate) fn without_comparing(x: Loc, v1: Val, v2: Val) -> Prog {
    write(x, v2).map(move |_| v1)
}

/// No location: what a word holds that nobody has written.
pub const NULL: Val = Val::Int(0);

/// A word of the record at a location that was read. Of what is no location there is none, and an access to it is a fault.
#[must_use]
pub fn field(record: Val, role: &str) -> Val {
    record.loc().map_or(record, |x: Loc| x.part(role).into())
}
