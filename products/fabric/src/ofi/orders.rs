//! Kinds of operations over the network, and what a provider orders of them.

/// The effect of an operation on the word of the other node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OpKind {
    /// A put that has read its source when it is posted.
    Put,
    /// A put that has read its source when it completes.
    LargePut,
    /// A put that is placed when it completes.
    DeliveredPut,
    Get,
    Swap,
    Sum,
}

impl OpKind {
    pub(super) fn is_atomic(self) -> bool {
        matches!(self, Self::Swap | Self::Sum)
    }

    pub(super) fn is_put(self) -> bool {
        matches!(self, Self::Put | Self::LargePut | Self::DeliveredPut)
    }

    /// True if it may not be placed when it completes.
    pub(super) fn is_late(self) -> bool {
        matches!(self, Self::Put | Self::LargePut)
    }

    /// True if it may read its source after it is posted.
    fn reads_late(self) -> bool {
        matches!(self, Self::LargePut | Self::DeliveredPut)
    }
}

/// The orders that a provider keeps between operations of one endpoint at one node. The model demands all of them. A put that has read its
/// source when it is posted reads it in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Orders {
    /// No put passes a put.
    pub(super) puts: bool,
    /// No get passes a put.
    pub(super) gets: bool,
    /// No atomic operation passes a put, and nothing passes an atomic operation.
    pub(super) atomics: bool,
    /// The data of gets and of atomic operations are placed in their order.
    pub(super) placements: bool,
    /// Each put has read its source when it is posted.
    pub(super) sources: bool,
}

impl Orders {
    /// True if an operation could pass an earlier one, although the model does not let it.
    pub(super) fn may_pass(self, later: OpKind, earlier: OpKind) -> bool {
        if !later.is_put() && !earlier.is_put() && !self.placements {
            return true;
        }
        if later.is_put() && earlier.reads_late() && !self.sources {
            return true;
        }
        if later.is_atomic() || earlier.is_atomic() {
            return !self.atomics;
        }
        earlier.is_put() && !if later.is_put() { self.puts } else { self.gets }
    }
}

#[cfg(test)]
mod tests {
    use mowgli_core::ids::Node;
    use mowgli_rdma::RdmaStamp::{self, aNAR, aNLR, aNLW, aNRR, aNRW};
    use mowgli_rdma::{Qp, StampIndex, to};

    use super::OpKind::{DeliveredPut, Get, LargePut, Put, Sum};
    use super::*;

    /// Returns the parts of an operation that are still to come when it was posted.
    fn parts(kind: OpKind) -> Vec<RdmaStamp> {
        let there = StampIndex::from(Node(2));
        match kind {
            Put => vec![aNRW(there)],
            LargePut | DeliveredPut => vec![aNLR(there), aNRW(there)],
            Get => vec![aNRR(there), aNLW(there)],
            Sum | OpKind::Swap => vec![aNAR(Qp { to: Node(2), number: 1 }), aNRW(there), aNLW(there)],
        }
    }

    /// Pairs are those of the model's table.
    #[test]
    fn without_orders_all_pairs_of_the_model_wait() {
        let none = Orders { puts: false, gets: false, atomics: false, placements: false, sources: false };
        let all = Orders { puts: true, gets: true, atomics: true, placements: true, sources: true };
        for later in [Put, LargePut, DeliveredPut, Get, Sum] {
            let begins = if later.is_put() { parts(LargePut) } else { parts(later) };
            for earlier in [Put, LargePut, DeliveredPut, Get, Sum] {
                let is_ordered = parts(earlier).iter().any(|&a| begins.iter().any(|&b| to(a, b)));
                assert_eq!(none.may_pass(later, earlier), is_ordered, "{later:?} behind {earlier:?}");
                assert!(!all.may_pass(later, earlier));
                // The order of puts is that of their writes, and not that in which they read.
                let reads = Orders { sources: false, ..all }.may_pass(later, earlier);
                assert_eq!(reads, later.is_put() && [LargePut, DeliveredPut].contains(&earlier));
                let places = Orders { placements: false, ..all }.may_pass(later, earlier);
                assert_eq!(places, !later.is_put() && [Get, Sum].contains(&earlier));
            }
            let of_cxi = Orders { puts: true, sources: true, ..none };
            assert_eq!(of_cxi.may_pass(later, DeliveredPut), !later.is_put());
        }
    }
}
