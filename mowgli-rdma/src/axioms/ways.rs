//! Flags of operations: fences, strict keys and signals.
//!
//! The fence flag is a remote fence that is a part of the operation, so `put@fence(z, x)` means
//! what `rfence(n); put(z, x)` means.

use mowgli_core::algebra::{calls, rel, set};

use super::{Axioms, in_order, issued};
use crate::network::{Network, Order, Remote};
use crate::stamp::RdmaStamp::{aNAR, aNLR, aNLW, aNRR, aNRW, aRF};
use crate::way::{is_strict, is_strong, is_weak};

/// ib and so have [aRF]; same event; [aNLR u aNRR u aNAR]. Program order relates events, and here the fence and what it
/// holds back are of one event.
pub(crate) fn fence(a: &mut Axioms) {
    let fenced = rel!([aRF]; same_event; [aNLR | aNRR | aNAR]);
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
    let by_key = calls(methods);
    for writes in [set!(aNRW), set!(aNLW)] {
        let strict = rel!([writes]; in_order(); [writes & by_key & is_strict]);
        a.more_so.push(strict.named("strict", "{b} is by a strict key, and does not pass {a}"));
    }
}

/// A signal reads after what it signals is in memory: ib and so have [aNRW u aNAR]; po; [aNAR of a signal], by queue pair. A
/// weak one signals the operation directly before it. The read of an atomic operation counts because that may write nothing.
fn signals(a: &mut Axioms) {
    let atomics = calls(&["RCASBy", "RFAABy", "RXchgBy"]);
    let (strong, weak) = (set!(aNAR & atomics & is_strong), set!(aNAR & atomics & is_weak));
    let passed = rel!([aNRW | aNAR]; in_order(); [aNLR | aNAR | aNRR]; ([aNLR | aNAR | aNRR]; in_order(); [weak]));
    let all = rel!(([aNRW | aNAR]; in_order(); [strong | weak]) - passed);
    let all = all.named("signal", "{b} signals {a}");
    a.ippo = issued(&a.ippo | &all);
    a.more_so.push(all);
}
