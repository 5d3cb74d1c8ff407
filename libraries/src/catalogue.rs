//! The libraries that are built in, in the order of their dependencies.

use itertools::Itertools;
use mowgli_core::stamp::Stamp;

use crate::bal::{self, Bal};
use crate::entry::Entry;
use crate::rbl::{self, Rbl};
use crate::{kvstore, msw, nlock, sc_rmw, sequential, slock, sv, wlock};

/// The entry of this name.
///
/// # Errors
/// If there is none; the message says which there are.
pub fn named<'a, S: Stamp>(all: &'a [Entry<S>], name: &str) -> Result<&'a Entry<S>, String> {
    let known = || all.iter().map(|e| e.name).join(", ");
    all.iter().find(|e| e.name == name).ok_or_else(|| format!("no library {name}; there are {}", known()))
}

/// All libraries over RDMA, in the order of their dependencies. Those over x86-TSO are in [`catalogue`](crate::x86::catalogue).
#[must_use]
pub fn catalogue() -> Vec<Entry> {
    let mut all = vec![
        sv::entry(),
        bal::entry(Bal::Plain),
        bal::entry(Bal::Transitive),
        msw::entry(),
        rbl::entry(Rbl::Strong),
        rbl::entry(Rbl::Weak),
        wlock::entry(),
        slock::entry(),
        nlock::entry(),
        sc_rmw::entry(),
    ];
    all.extend(sequential::objects().iter().map(sequential::entry));
    all.push(kvstore::entry());
    all
}
