//! RDMA-SC: RDMA-TSO with a sequentially consistent CPU.
//!
//! ROBUST Def. 4. A CPU write is in memory as soon as it is issued, so it is ordered before everything that comes
//! later. Only this row of the stamp order differs from [`crate::tso`]. The model has no remote read-modify-writes.

use mowgli_core::library::Libraries;

use crate::stamp::RdmaStamp::aCW;
use crate::stamp::{self, RdmaStamp};
use crate::tso::Tso;

/// The stamp order of RDMA-SC: that of Fig. 9 of SYNC, and CPU writes before everything (ROBUST Fig. 4, row A).
#[must_use]
pub fn to(a: RdmaStamp, b: RdmaStamp) -> bool {
    a == aCW || stamp::to(a, b)
}

/// Returns the libraries of the model.
#[must_use]
pub fn libraries() -> Libraries {
    Libraries::over(to).with(Tso::PUBLISHED)
}
