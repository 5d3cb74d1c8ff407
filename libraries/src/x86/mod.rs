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
pub(crate) mod words;

use mowgli_core::ids::Name;

use crate::entry::Entry;
use crate::x86::container::Container;
pub use crate::x86::words::{NULL, field};

/// All libraries over x86-TSO.
#[must_use]
pub fn catalogue() -> Vec<Entry> {
    vec![spin::entry(), ticket::entry(), mcs::entry(), treiber::entry(), msqueue::entry()]
}

/// The locks, which have the methods Acq and Rel.
pub const LOCKS: [Name; 3] = [spin::SPINLOCK, ticket::TICKETLOCK, mcs::MCSLOCK];

/// The containers, each with its methods.
pub const CONTAINERS: [Container; 2] = [treiber::LIBRARY, msqueue::LIBRARY];
