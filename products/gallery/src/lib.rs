//! Published RDMA algorithms, each as a library of one file. A file has the promise, the published body, and broken
//! variants that checks have to refute. It names the assumption on the hardware without which the algorithm is wrong.
//! `README.md` has the findings.

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

/// Returns the entries of all algorithms.
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
