//! The key-value store of LOCO: lookups take no lock, all else is done under a lock per key.
//!
//! LOCO §6.2, LOCO-X App. I, Theorem I.3: a linearisable map. Each node has an index of all keys, which its dedicated
//! thread keeps by what it receives from the other nodes. Here only clients have threads. So a method `Serve` of the
//! last thread on each node is one step of the dedicated thread, for one message. The specification promises nothing
//! about it. It deliberately does not promise that calls return if a node has no thread that serves alone.

mod specification;
mod store;

use std::sync::Arc;

use crate::entry::{bound, few_calls};
use crate::msw::{self, Method as Msw};
use crate::prelude::*;
use crate::rbl::Rbl;
use crate::sv::Method as Sv;
use crate::wlock;
use mowgli_rdma::wait::Method as Wait;

pub use specification::{KVSTORE, Kvstore, Method, store};
pub(crate) use specification::{deleted, inserted, linearisable, looked_up, updated};
use store::with_valid;
pub use store::{KvstoreOverLoco, MOST_KEYS, SlotPerKey, fenced_delete, no_counter};

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Blocks, Sound, Unsound};
    // A deletion that some node has not seen; and two nodes that disagree about an insertion.
    let unseen = Bound { total: Some(5), values: Vec::new(), ..bound(3, 3, 2) };
    let disagreeing = Bound { total: Some(4), ..bound(3, 2, 2) };
    let over = |name, about, expected, implementation: Arc<dyn Implementation>| {
        // Two values that no counter of the implementation has, so that they can be renamed.
        let two_values = Bound { values: vec![8, 9], ..few_calls() };
        variant(name, about, expected, implementation, &[(2, 2, 2), (3, 3, 1)]).and(two_values)
    };
    let fenced = Arc::new(fenced_delete(KvstoreOverLoco));
    // The other variants are broken beside that, and by themselves.
    let no_fence = fenced_delete(KvstoreOverLoco.without(calls!(Sv::GF { .. })));
    let no_ack = fenced.clone().without_loops(calls!(Sv::Read { .. } in Method::Insert { .. }));
    let ack_first = fenced
        .clone()
        .delay_after(calls!((Wait::Mfence {} | Wait::Write { .. }) in Method::Serve { .. }), calls!(Sv::Bcast { .. }));
    let valid_first = fenced
        .clone()
        .replace(calls!(Msw::Write { x, values } in Method::Insert { .. } => Msw::write(x, with_valid(values))));
    let no_index_lock = fenced.clone().without(calls!(Wait::Mfence {}));
    let silent = fenced_delete(KvstoreOverLoco).without(calls!(Sv::Bcast { .. } in Method::Serve { .. }));
    let busy = fenced_delete(KvstoreOverLoco);
    let slot_per_key = Arc::new(fenced_delete(SlotPerKey));
    // Its mistake needs a thread on each of three nodes, and no values. The larger bounds are thorough.
    let published = over("published", "LOCO-X App. I", Unsound, Arc::new(KvstoreOverLoco));
    let apart = Bound { members: Some(1), ..unseen.clone() };
    let thorough = [&published.bounds[..], std::slice::from_ref(&unseen)].concat();
    let published = Variant { bounds: vec![apart], thorough, ..published };
    let variants = vec![
        published,
        over("fenced-delete", "a deletion is complete before it is announced", Sound, fenced)
            .and(unseen.clone())
            .and(disagreeing.clone()),
        over("slot-per-key", "fenced-delete, and an insertion does not search for a slot", Sound, slot_per_key)
            .and(unseen)
            .and(disagreeing.clone()),
        over("no-fence", "changes are not complete when the lock is released", Unsound, Arc::new(no_fence)),
        over("no-ack", "an insertion does not wait for the other nodes", Unsound, Arc::new(no_ack)),
        over("ack-first", "a node acknowledges before it has changed its index", Unsound, Arc::new(ack_first)),
        over("valid-first", "an insertion is valid before it is announced", Unsound, Arc::new(valid_first))
            .and(disagreeing),
        over("no-index-lock", "the index is read without a fence", Unsound, Arc::new(no_index_lock)),
        variant("silent", "a node keeps its acknowledgements to itself", Blocks, silent, &[(2, 2, 1)]),
        variant("busy-server", "fenced-delete, and threads that serve may change keys, too", Blocks, busy, &[])
            .against(Libraries::like(&Memory::rdma_wait().libraries).with(Kvstore { busy_servers: true }))
            .and(Bound { total: Some(3), ..bound(2, 2, 2) }),
    ];
    Entry::new(
        Memory::rdma_wait(),
        Kvstore::default(),
        Libraries::over(to).with(wlock::LIBRARY).with(Rbl::Strong).with(msw::Msw).with(Sv).with(Wait),
        variants,
    )
}
