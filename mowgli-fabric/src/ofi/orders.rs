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
}

/// The orders that a provider keeps between operations of one endpoint at one node. The model demands all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Orders {
    /// No put passes a put.
    pub(super) puts: bool,
    /// No get passes a put.
    pub(super) gets: bool,
    /// No atomic operation passes a put, and nothing passes an atomic operation.
    pub(super) atomics: bool,
}

impl Orders {
    /// True if an operation could pass an earlier one, although the model does not let it.
    pub(super) fn may_pass(self, later: OpKind, earlier: OpKind) -> bool {
        if later.is_atomic() || earlier.is_atomic() {
            return !self.atomics;
        }
        earlier.is_put() && !if later.is_put() { self.puts } else { self.gets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pairs that the model orders are those of SYNC, Fig. 9: nothing passes a put or an atomic operation, and a get may be passed.
    #[test]
    fn without_orders_all_pairs_of_the_model_wait() {
        use OpKind::{DeliveredPut, Get, Put, Sum};
        let none = Orders { puts: false, gets: false, atomics: false };
        for later in [Put, DeliveredPut, Get, Sum] {
            assert!(none.may_pass(later, DeliveredPut) && none.may_pass(later, Sum));
            assert_eq!(none.may_pass(later, Get), later == Sum);
            let of_cxi = Orders { puts: true, ..none };
            assert_eq!(of_cxi.may_pass(later, DeliveredPut), !later.is_put());
        }
    }
}
