//! The libraries that are built in, in the order of their dependencies.

use mowgli_core::unknown::Unknown;

use crate::bal::{self, Bal};
use crate::entry::Entry;
use crate::rbl::{self, Rbl};
use crate::{kvstore, msw, nlock, sc_rmw, sequential, slock, sv, table, trylock, wlock};

/// Returns the entry of this name.
///
/// # Errors
/// If no entry has this name; the message lists the names.
pub fn named<'a>(all: &'a [Entry], name: &str) -> Result<&'a Entry, Unknown> {
    let known = || all.iter().map(|e| e.name);
    all.iter().find(|e| e.name == name).ok_or_else(|| Unknown::new("library", name, known()))
}

/// All libraries over RDMA, in the order of their dependencies. Those over x86-TSO are in [`catalogue`](crate::x86::catalogue).
#[must_use]
pub fn catalogue() -> Vec<Entry> {
    let mut all = vec![
        sv::entry(),
        bal::entry(Bal::Plain),
        bal::entry(Bal::Transitive),
        bal::entry(Bal::Puts),
        msw::entry(),
        rbl::entry(Rbl::Strong),
        rbl::entry(Rbl::Weak),
        wlock::entry(),
        slock::entry(),
        nlock::entry(),
        trylock::entry(),
        sc_rmw::entry(),
    ];
    all.extend(sequential::objects().iter().map(sequential::entry));
    all.push(kvstore::entry());
    all.push(table::entry());
    all
}
