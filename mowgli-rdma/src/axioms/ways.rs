//! Flags of operations: fences, strict keys and signals.
//!
//! The fence flag is a remote fence that is a part of the operation, so `put@fence(z, x)` means
//! what `rfence(n); put(z, x)` means.

use mowgli_core::algebra::{Rel, Set, calls, events};

use super::{Axioms, atomic_reads, far_reads, in_order, issued, local_reads, local_writes, remote_writes, within};
use crate::network::{Network, Order, Remote};
use crate::stamp::RdmaStamp::{aNAR, aNLR, aNRR, aRF};
use crate::way::{is_strict, is_strong, is_weak};

/// ib and so have [aRF]; same event; [aNLR u aNRR u aNAR]. Program order relates events, and here the fence and what it
/// holds back are of one event.
pub(crate) fn fence(a: &mut Axioms) {
    let fenced = within(|a| matches!(a, aRF(_)), |a| matches!(a, aNLR(_) | aNRR(_) | aNAR(_)));
    let fenced = fenced.named("fence", "{a} is the fence flag of {b}");
    a.more_ib.push(("fence", fenced.clone()));
    a.more_so.push(fenced);
}

/// Adds the orders of strict keys and of signals, where the network does not have them for all operations. The methods come first in each set, so that the prover need not read a
/// Rust function where a body has no such operation.
pub(crate) fn patch(a: &mut Axioms, network: Network) {
    if network.has_keys() {
        strict(a);
    }
    let is_ordered = |of| network.remote(of, Remote::Atomic) == Order::Placed;
    if network.has_flags && (!is_ordered(Remote::Write) || !is_ordered(Remote::Atomic)) {
        signals(a);
    }
}

/// A write by a strict key passes no earlier write: so = ... u [aNRW]; po; [strict aNRW] u [aNLW]; po; [strict aNLW], by
/// queue pair. The cards issue them in this order anyway.
fn strict(a: &mut Axioms) {
    let methods = &["PutBy", "GetBy", "PutWords", "GetWords", "RCASBy", "RFAABy", "RXchgBy"];
    let by_key = |writes: Set| in_order().between(&writes, &writes.and(&calls(methods)).and(&events(is_strict)));
    for writes in [remote_writes(), local_writes()] {
        a.more_so.push(by_key(writes).named("strict", "{b} is by a strict key, and does not pass {a}"));
    }
}

/// A signal reads after what it signals is in memory: ib and so have [aNRW u aNAR]; po; [aNAR of a signal], by queue pair. A
/// weak one signals the operation directly before it. The read of an atomic operation counts because that may write nothing.
fn signals(a: &mut Axioms) {
    let methods = &["RCASBy", "RFAABy", "RXchgBy"];
    let signals = |is| atomic_reads().and(&calls(methods)).and(&is);
    let (strong, weak) = (signals(events(is_strong)), signals(events(is_weak)));
    let operations = local_reads().or(&far_reads());
    let signalled = remote_writes().or(&atomic_reads());
    let passed: Rel = in_order().between(&signalled, &operations).then(&in_order().between(&operations, &weak));
    let all = in_order().between(&signalled, &strong.or(&weak)) - passed;
    let all = all.named("signal", "{b} signals {a}");
    a.ippo = issued(&a.ippo | &all);
    a.more_so.push(all);
}
