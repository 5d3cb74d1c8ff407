//! The libraries that can be checked: specification, what they are implemented on, variants, default bounds.

use std::sync::Arc;

use mowgli_core::implementation::Implementation;
use mowgli_core::library::Libraries;
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_rdma::Stamp;
use mowgli_rdma::wait::Wait;

use crate::bal::{self, Bal, BalOverSv};
use crate::sv::{Sv, SvOverWait};

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
    /// The implementations, the published one first.
    pub variants: Vec<Variant>,
}

fn variant(
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
    Bound { threads, nodes, calls, objects: 1, loops: 3, values: vec![1] }
}

/// All libraries, in the order of their dependencies.
#[must_use]
pub fn catalogue() -> Vec<Entry> {
    vec![sv(), bal("bal", Bal::Plain), bal("bal-transitive", Bal::Transitive)]
}

fn sv() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 2), (1, 2, 3)];
    let variant =
        |name, about, expected, implementation: SvOverWait| variant(name, about, expected, implementation, bounds);
    Entry {
        name: "sv",
        over: "rdma-wait-rmw",
        specification: Libraries::default().with(Sv),
        below: Libraries::default().with(Wait),
        subject: Box::new(Sv),
        variants: vec![
            variant("published", "LOCO §3.4", Sound, SvOverWait::Published),
            variant(
                "fence-of-puts",
                "GF made of puts: aGF no longer follows remote writes",
                Unsound,
                SvOverWait::FenceOfPuts,
            ),
            variant(
                "first-target-only",
                "a broadcast reaches its first target only",
                Unsound,
                SvOverWait::FirstTargetOnly,
            ),
        ],
    }
}

fn bal(name: &'static str, of: Bal) -> Entry {
    use Expected::{Sound, Unsound};
    let variant = |name, about, expected, variant, bounds| {
        self::variant(name, about, expected, BalOverSv { of, variant }, bounds)
    };
    Entry {
        name,
        over: "sv",
        specification: Libraries::default().with(of),
        below: Libraries::default().with(Sv),
        subject: Box::new(of),
        variants: vec![
            variant("published", "LOCO §4.2", Sound, bal::Variant::Published, &[(3, 3, 2), (4, 4, 1), (2, 2, 3)]),
            variant(
                "no-fence",
                "LOCO's first barrier: nothing waits for remote writes",
                Unsound,
                bal::Variant::NoFence,
                &[(3, 3, 1)],
            ),
            // Every counter is written twice with one value, so there are many executions.
            variant(
                "self-broadcast",
                "the broadcast includes the own node",
                Sound,
                bal::Variant::SelfBroadcast,
                &[(3, 3, 1), (2, 2, 3)],
            ),
        ],
    }
}
