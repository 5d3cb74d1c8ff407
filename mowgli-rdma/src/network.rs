//! Networks: the orders that the hardware below RDMA-TSO-RMW and RDMA-WAIT-RMW promises.
//!
//! [`Network::RC`] is InfiniBand's reliable connection, as the papers model it. Every other network is a change of that
//! definition. It changes the stamp order ([`Network::to`]), ib and so (`axioms/network.rs`), and the conditions under
//! which entries of the machine act (`operational/state.rs`). All three follow from one table, [`Network::order`].
//!
//! **Example**: on `rc-relaxed` the entry for two writes is [`Order::Issued`]. The card sends `put(z, x); put(f, x)` in
//! this order, and memory may have f before z. On `efa-direct` it is [`Order::None`], so f may even be sent first.
//!
//! **Correct because**: `tests/tests/networks.rs` compares axioms and machine on random programs for every preset. It
//! also checks that a network that promises less has all outcomes of one that promises more.

use std::fmt;

use crate::stamp::RdmaStamp::{self, aNAR, aNLR, aNLW, aNMW, aNRR, aNRW, aRF};
use crate::stamp::{self};

/// The order of two parts of operations of one queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Order {
    /// None: the later one may be sent and executed first.
    None,
    /// The cards process them in order, and the memory behind a card may have them in another order.
    Issued,
    /// Memory has them in order.
    Placed,
}

/// A kind of operation, by the part of it that happens at the remote node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Remote {
    /// The read of a get.
    Read,
    /// The write of a put.
    Write,
    /// The read, and the write if it has one, of an atomic operation.
    Atomic,
}

use Remote::{Atomic, Read, Write};

/// A part of an operation of a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The local read of a put.
    Source,
    /// The remote part.
    Remote(Remote),
    /// The local write of a get or an atomic operation.
    Return,
    /// A remote fence.
    Fence,
    /// The arrival of a message.
    Message,
}

/// The meaning of the completion of a put.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Completion {
    /// The source was read, and may be used again.
    Sent,
    /// The data have arrived at the card of the target: the reading of the papers.
    Arrived,
    /// The data are in the memory of the target.
    Placed,
}

/// The operations that a remote fence waits for, which are on its queue pair and before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Fence {
    /// None: the network has no fence, and `rfence` does nothing.
    None,
    /// Gets and atomic operations, and puts if they arrive in order: `IBV_SEND_FENCE`.
    Reads,
    /// All, until memory has what they wrote: `FI_FENCE`.
    All,
}

/// The promises of a network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Network {
    /// The name, as tests and `--network` have it.
    pub name: &'static str,
    /// The order of the remote parts of two operations, of the earlier one (row) and the later one (column), each in
    /// the order of [`Remote`].
    pub order: [[Order; 3]; 3],
    /// The order of a local write, which brings a result, behind all parts of earlier operations.
    pub returns: Order,
    /// Whether a card that reads or updates memory first writes what has arrived there by the same queue pair.
    pub flushes: bool,
    /// The meaning of the completion of a put.
    pub completion: Completion,
    /// Whether operations that return data complete when they are delivered, as on libfabric. The completion of an atomic
    /// operation then means [`Completion::Placed`], whatever that of a put means.
    pub atomics_deliver: bool,
    /// Whether the operations of a queue pair complete in the order of the program.
    pub completes_in_order: bool,
    /// The meaning of a remote fence.
    pub fence: Fence,
    /// Whether there are puts whose completion means [`Completion::Placed`]: `put@delivered`.
    pub delivers: bool,
    /// Whether operations may be signals and have strict keys. Only models for other tools lack both.
    pub has_flags: bool,
}

impl Default for Network {
    fn default() -> Self {
        Self::RC
    }
}

impl Network {
    /// Returns the order of the remote parts of two operations.
    #[must_use]
    pub fn remote(self, earlier: Remote, later: Remote) -> Order {
        self.order[earlier as usize][later as usize]
    }

    /// Returns the order of a part of an operation and a part of a later one. A message arrives as a write does, but behind all
    /// earlier writes. With relaxed ordering, ibv_reg_mr(3) promises that a completion "still ensures that all data is visible,
    /// including data from prior transfers".
    pub(crate) fn parts(self, earlier: Part, later: Part) -> Order {
        use Part::{Fence as Fenced, Message, Remote as At, Return, Source};
        let issued = |yes: bool| if yes { Order::Issued } else { Order::None };
        let puts = self.remote(Write, Write) >= Order::Issued;
        match (earlier, later) {
            (At(Write | Atomic) | Message, Message) if self.orders_messages() => Order::Placed,
            // The stamp of a write is one for puts and atomics, and a message is of another library.
            (Message, At(Write)) if self.remote(Write, Atomic) == Order::None => Order::None,
            (_, Message) => self.parts(earlier, At(Write)),
            (Message, _) => self.parts(At(Write), later),
            (Source | At(Write), Fenced) if self.fence == Fence::Reads => issued(puts),
            (_, Fenced) => [Order::None, Order::Issued, Order::Placed][self.fence as usize],
            (Fenced, _) => issued(self.fence != Fence::None),
            (Source, Source) => issued(puts),
            (_, Source) | (Return, At(_)) => Order::None,
            (Source, At(of)) => self.remote(Write, of),
            (At(of), At(then)) => self.remote(of, then),
            // A result comes behind the remote part of its own operation, and so behind what is placed before that.
            (At(of), Return) if self.returns >= Order::Issued => {
                self.remote(of, Read).min(self.remote(of, Atomic)).max(Order::Issued)
            }
            (_, Return) => self.returns,
        }
    }

    /// True if the completion of an atomic operation means that its write is in memory.
    pub(crate) fn places_atomics(self) -> bool {
        self.atomics_deliver || self.completion == Completion::Placed
    }

    /// True if a message arrives behind the writes that its queue pair issued before. The switch `messages` is defined for
    /// these networks.
    #[must_use]
    pub fn orders_messages(self) -> bool {
        self.remote(Write, Write) >= Order::Issued
    }

    /// True if the card does the earlier part first.
    pub(crate) fn issues(self, earlier: Part, later: Part) -> bool {
        self.parts(earlier, later) >= Order::Issued
    }

    /// True if an atomic operation or a get reads memory only when this write, which has arrived, is there.
    pub(crate) fn flushes(self, arrived: Remote, reader: Remote) -> bool {
        self.flushes || self.remote(arrived, reader) == Order::Placed
    }

    /// True if a read puts the writes before it on its queue pair into memory. That is what an RDMA FLUSH does.
    #[must_use]
    pub fn reads_flush(self) -> bool {
        self.flushes(Write, Read) && self.flushes(Atomic, Read)
    }

    /// True if the stamp order of RDMA on this network has (a, b).
    #[must_use]
    pub fn to(self, a: RdmaStamp, b: RdmaStamp) -> bool {
        let [Some((of_a, is_instantaneous)), Some((of_b, _))] = [a, b].map(parts_of) else { return stamp::to(a, b) };
        let needed = if is_instantaneous { Order::Issued } else { Order::Placed };
        let are_ordered = |&a: &Part| of_b.iter().all(|&b| self.parts(a, b) >= needed);
        a.queue_pair() == b.queue_pair() && of_a.iter().all(are_ordered)
    }

    /// True if operations may have keys without relaxed ordering beside those with it.
    #[must_use]
    pub fn has_keys(self) -> bool {
        Self { name: "", ..self } == Self { name: "", ..Self::RC_RELAXED }
    }

    /// True if this network promises all that the other one promises.
    #[must_use]
    pub fn promises(self, other: Self) -> bool {
        let orders = self.order.as_flattened().iter().zip(other.order.as_flattened());
        orders.fold(true, |all, (own, of_other)| all && own >= of_other)
            && self.returns >= other.returns
            && (self.flushes || !other.flushes || self.flushes_always())
            && self.completion >= other.completion
            && self.places_atomics() >= other.places_atomics()
            && self.completes_in_order >= other.completes_in_order
            && self.fence >= other.fence
    }

    /// True if all writes are in memory before a later read, which is what [`Self::flushes`] would add.
    fn flushes_always(self) -> bool {
        [Write, Atomic].iter().all(|&w| [Read, Atomic].iter().all(|&r| self.remote(w, r) == Order::Placed))
    }

    /// True if queue pairs have first-in, first-out order and completions as on `rc`, but for the order in which memory has
    /// writes. The switches that cut operations, or that look into the completion queue, are defined for these networks alone.
    #[must_use]
    pub fn is_in_order(self) -> bool {
        let arrives = |(own, of_rc): (&Order, &Order)| own >= &(*of_rc).min(Order::Issued);
        let all = self.order.as_flattened().iter().zip(Self::RC.order.as_flattened()).all(arrives);
        all && self.returns >= Order::Issued && self.completes_in_order && self.completion == Completion::Arrived
    }
}

/// Returns the parts of operations that have a stamp, and whether it takes effect at once. `None` for stamps that belong
/// to no operation of a queue pair.
fn parts_of(stamp: RdmaStamp) -> Option<(&'static [Part], bool)> {
    let parts: &[Part] = match stamp {
        aNLR(_) => &[Part::Source],
        aNRW(_) => &[Part::Remote(Write), Part::Remote(Atomic)],
        aNAR(_) => &[Part::Remote(Atomic)],
        aNRR(_) => &[Part::Remote(Read)],
        aNLW(_) => &[Part::Return],
        aRF(_) => &[Part::Fence],
        aNMW(_) => &[Part::Message],
        _ => return None,
    };
    Some((parts, stamp.is_instantaneous()))
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mowgli_core::stamp::StampKind as _;

    #[test]
    fn rc_has_the_published_order() {
        let all = RdmaStamp::all(2);
        for (&a, &b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            assert_eq!(Network::RC.to(a, b), stamp::to(a, b), "{a} {b}");
        }
    }
}
