//! RDMA-TSO-RMW (SYNC App. C): the remote write of a read-modify-write is issued before its local write.

use super::Axioms;
use crate::stamp::RdmaStamp::{aNLW, aNRW};
use mowgli_core::algebra::rel;

pub(crate) fn patch(a: &mut Axioms) {
    // ib = ... u [aNRW]; same event; [aNLW]
    a.more_ib.push(("rmw", rel!([aNRW]; same_event; [aNLW])));
}
