//! Published RDMA algorithms, each as a library of one file: what it promises, its body as it was published, the variants that
//! are to be caught, and the assumption on the hardware without which it is wrong. `docs/gallery.md` has what was found.

pub mod clocks;
pub mod dying;
pub mod guard;
pub mod shared;

pub mod alock;
pub mod derecho;
pub mod drtm;
pub mod dslr;
pub mod farm;
pub mod log;
pub mod mcs;
pub mod mu;
pub mod optimistic;
pub mod pilaf;
pub mod race;
pub mod rmarw;
pub mod seal;
pub mod sherman;
pub mod signal;
pub mod spin;
pub mod takeover;

use mowgli_libraries::entry::Entry;

/// All of them.
#[must_use]
pub fn entries() -> Vec<Entry> {
    vec![
        signal::entry(),
        log::entry(),
        derecho::entry(),
        mu::entry(),
        spin::entry(),
        dslr::entry(),
        mcs::entry(),
        alock::entry(),
        rmarw::entry(),
        optimistic::entry(),
        farm::entry(),
        sherman::entry(),
        pilaf::entry(),
        race::entry(),
        takeover::entry(),
        seal::entry(),
        drtm::entry(),
    ]
}
