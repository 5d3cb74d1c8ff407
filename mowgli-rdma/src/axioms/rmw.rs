//! RDMA-TSO-RMW (SYNC App. C): the remote write of a read-modify-write is issued before its local write.

use super::{Axioms, local_writes, remote_writes};
use mowgli_core::algebra::same_event;

pub(crate) fn patch(a: &mut Axioms) {
    // ib = ... u [aNRW]; same event; [aNLW]
    a.more_ib.push(("rmw", same_event().between(&remote_writes(), &local_writes())));
}
