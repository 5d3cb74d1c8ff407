//! The libraries that can be checked: specification, what they are implemented on, variants, default bounds.

use std::sync::Arc;

use mowgli_core::implementation::Implementation;
use mowgli_core::library::Libraries;
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::soundness::verdict::Probes;
use mowgli_rdma::Stamp;

use crate::bal::{self, Bal};
use crate::rbl::{self, Rbl};
use crate::{msw, nlock, sc_rmw, slock, sv, wlock};

/// The verdict that is expected of a variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// Locally sound within the bound.
    Sound,
    /// Some client has a wrong outcome.
    Unsound,
    /// Not locally sound, and no wrong outcome.
    NotLocallySound,
}

/// An implementation of a library: the published one, or a variant with one change.
#[derive(Clone)]
pub struct Variant {
    /// Its name; `published` for the one in the papers.
    pub name: &'static str,
    /// What is different, and which promise that breaks.
    pub about: &'static str,
    /// What the check must find.
    pub expected: Expected,
    /// The implementation.
    pub implementation: Arc<dyn Implementation>,
    /// The bounds that are checked by default, up to the first at which it is not sound.
    pub bounds: Vec<Bound>,
}

/// A library that can be checked.
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it is implemented on.
    pub over: &'static str,
    /// The specification alone.
    pub specification: Libraries<Stamp>,
    /// The libraries that the implementation calls.
    pub below: Libraries<Stamp>,
    /// Objects and calls.
    pub subject: Box<dyn Subject>,
    /// Ways to see a wrong outcome that are its own, beside those of the memory model.
    pub probes: Vec<Box<dyn Probes>>,
    /// The implementations, the published one first.
    pub variants: Vec<Variant>,
}

pub(crate) fn variant(
    name: &'static str,
    about: &'static str,
    expected: Expected,
    implementation: impl Implementation + 'static,
    bounds: &[(usize, u8, usize)],
) -> Variant {
    let bounds = bounds.iter().map(|&(threads, nodes, calls)| bound(threads, nodes, calls)).collect();
    Variant { name, about, expected, implementation: Arc::new(implementation), bounds }
}

fn bound(threads: usize, nodes: u8, calls: usize) -> Bound {
    Bound { threads, nodes, calls, objects: 1, loops: 1, values: vec![1] }
}

/// All libraries, in the order of their dependencies.
#[must_use]
pub fn catalogue() -> Vec<Entry> {
    vec![
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
    ]
}
