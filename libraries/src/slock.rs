//! SLOCK, the strong lock: as the weak one, and remote operations of a critical section are over when the next begins.
//!
//! SYNC §4.2, Theorem 2: a global fence before the release of a weak lock.

use mowgli_core::world::{DeclarationForm, DeclarationPart};

use crate::entry::bound;
use crate::lock::{Lock, Method, Sections};
use crate::prelude::*;
use crate::sv::Method as Sv;
use crate::wlock::{self, WLOCK};

/// The library's name.
pub const SLOCK: Name = Name::literal("slock");

/// SLOCK as a library: Rel {aGF_n | n in Node}.
pub const LIBRARY: Lock = Lock {
    name: SLOCK,
    form: DeclarationForm { kind: "strong lock", parts: &[DeclarationPart::Home] },
    fence: || aMF.into(),
    shapes: || shapes! { Method: Acq { .. } => { aMF } Rel { .. } => { for n in (all_nodes()) { aGF(n) } } },
    lets_in: || set!(aGF),
    first: |_| {},
};

/// The implementation over WLOCK and SV.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlockOverWlock;

/// The weak lock inside.
fn inner(x: impl Into<Expr>) -> Expr {
    x.into().part("weak", [])
}

impl Implementation for SlockOverWlock {
    fn target(&self) -> Name {
        SLOCK
    }

    fn parts(&self) -> Option<&Parts> {
        Some(parts! { static x =>
            inner(x) => ObjectTerm::new(WLOCK).at(node(x));
        })
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(bodies! { static Method:
            Acq { x } => { Method::acq(WLOCK, inner(x)) }
            Rel { x } => { Sv::gf(all_nodes()); Method::rel(WLOCK, inner(x)) }
        })
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(3, 3, 2)];
    // Locks held across other locks, and several sections of a thread.
    let nested = Bound { objects: 2, ..bound(2, 1, 4) };
    let no_fence = SlockOverWlock.without(calls!(Sv::GF { .. }));
    let fence_after = SlockOverWlock.swap(calls!(Sv::GF { .. }));
    let variants = vec![
        variant("published", "SYNC §4.2", Sound, SlockOverWlock, bounds).and(nested),
        variant("no-fence", "Rel waits for no remote operation", Unsound, no_fence, bounds),
        variant("fence-after", "Rel lets the next thread in first", Unsound, fence_after, bounds),
    ];
    Entry {
        probes: vec![Box::new(Sections { library: SLOCK })],
        ..Entry::new(Memory::rdma_wait(), LIBRARY, Libraries::over(to).with(wlock::LIBRARY).with(Sv), variants)
    }
}
