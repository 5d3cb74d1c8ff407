//! Networks: the parts of ib and so that a network lacks, or has beside its stamp order.
//!
//! A stamp does not say whether a remote write is that of a put or of an atomic operation. So the stamp order has a pair
//! only if the network orders it for both. This patch adds the pairs that it orders for one of them. The read of the
//! same operation distinguishes them: an aNLR belongs to a put, an aNAR to an atomic operation.

use mowgli_core::algebra::{Rel, Set, calls, rel, set, stamps};
use mowgli_core::ids::Node;

use super::{Axioms, atomic_reads, far_reads, in_order, issued};
use crate::network::Remote::{self, Atomic, Read, Write};
use crate::network::{Completion, Network, Order, Part};
use crate::stamp::RdmaStamp::{self, aNAR, aNLR, aNLW, aNRR, aNRW, aRF, aWT};
use crate::stamp::StampIndex;
use crate::way::is_delivered;

const KINDS: [Remote; 3] = [Read, Write, Atomic];

pub(crate) fn patch(a: &mut Axioms, network: Network) {
    remote_order(a, network);
    returns(a, network);
    flushes(a, network);
    fence(a, network);
    completion(a, network);
}

/// Adds the pairs of remote parts that the stamp order lacks.
fn remote_order(a: &mut Axioms, network: Network) {
    let piece = StampIndex::from(Node(1));
    let begins = |kind| [aNRR(piece), aNRW(piece), aNAR(piece.by)][kind as usize];
    for (of, then) in KINDS.into_iter().flat_map(|of| KINDS.map(|then| (of, then))) {
        let ends = if of == Read { aNRR(piece) } else { aNRW(piece) };
        let order = network.remote(of, then);
        if order == Order::None || network.to(ends, begins(then)) {
            continue;
        }
        let sentence = if of == Atomic { "{b} does not pass the atomic {a}" } else { "{b} does not pass {a}" };
        let pair = pair(a, of, then).named("behind", sentence);
        a.ippo = issued(&a.ippo | &pair);
        a.more_so.extend((order == Order::Placed).then_some(pair));
    }
}

/// From the last remote part of each operation of a kind to the remote part of each later one of another kind. The last part
/// of a compare-and-swap that failed is its read.
fn pair(a: &Axioms, of: Remote, then: Remote) -> Rel {
    let (iso, first, second) = (&a.iso, reads_of(of), reads_of(then));
    let order = rel!([first]; in_order(); [second]);
    let from = match of {
        Read => order,
        Write => rel!([aNRW]; iso^-1; order),
        Atomic => rel!([aNRW]; iso^-1; order | order),
    };
    if then == Write { rel!(from; iso; [aNRW]) } else { from }
}

/// The first part of each operation of a kind: the read that tells it from others.
fn reads_of(kind: Remote) -> Set {
    match kind {
        Read => set!(aNRR),
        Write => set!(aNLR),
        Atomic => atomic_reads(),
    }
}

/// Orders the local writes: a card that returns results in order writes them in order, or only issues them so.
fn returns(a: &mut Axioms, network: Network) {
    if network.returns >= Order::Issued {
        for (writes, part) in [(set!(aNLW), Part::Return), (set!(aNRW), Part::Remote(Write))] {
            if network.parts(part, Part::Return) == Order::Issued {
                a.ippo = issued(&a.ippo | rel!([writes]; in_order(); [aNLW]));
            }
        }
    }
    if network.returns < Order::Placed && network.completes_in_order {
        let pfg = &a.pfg;
        let completed = rel!([aNLW]; in_order(); [aNLW]; pfg)
            .named("completed", "{b} waits for an operation after {a}, and so for {a}");
        a.more_ib.extend((network.returns == Order::None).then(|| ("completed", completed.clone())));
        a.more_so.push(completed);
    }
}

/// Returns the kinds of operations whose writes a reader pushes into memory. Atomic operations exclude each other by rao,
/// so that nfo need not order them where it does not order other writes.
fn flushed_by(reader: Remote, network: Network) -> Vec<Remote> {
    let all = [Write, Atomic].into_iter().filter(|w| network.flushes(*w, reader));
    all.filter(|w| reader == Read || *w == Write || network.flushes(Write, reader)).collect()
}

/// Returns the readers at the remote node that push any writes into memory, by the stamps of which nfo is chosen.
pub(crate) fn flushing(network: Network) -> Set {
    let [gets, atomics] = [Read, Atomic].map(|reader| !flushed_by(reader, network).is_empty());
    match (gets, atomics) {
        (true, true) => far_reads(),
        (true, false) => reads_of(Read),
        (false, true) => atomic_reads(),
        (false, false) => stamps(|_: RdmaStamp| false),
    }
}

/// Drops from nfo the gets and the writes which they do not push, where they push those of one kind alone.
fn flushes(a: &mut Axioms, network: Network) {
    let [of] = flushed_by(Read, network)[..] else { return };
    let (nfo, iso, reads) = (&a.nfo, &a.iso, reads_of(of));
    let own = rel!([aNRW]; iso^-1; [reads]; iso; [aNRW]);
    let others = set!(aNLR | aNLW | aNAR);
    let far = rel!([aNRR]; nfo; own | own; nfo; [aNRR]);
    let nfo = rel!(far | [others]; nfo | nfo; [others]);
    a.nfo = nfo.named("nfo", "the network card does {a} before {b}: reads and writes do not pass each other there");
}

/// Takes from a fence the operations that it does not wait for.
fn fence(a: &mut Axioms, network: Network) {
    for (writes, part) in [(set!(aNRW), Part::Remote(Write)), (set!(aNLW), Part::Return)] {
        if !network.issues(part, Part::Fence) {
            a.ippo = issued(&a.ippo - rel!([writes]; in_order(); [aRF]));
        }
    }
}

/// Gives the completion of a put its meaning.
fn completion(a: &mut Axioms, network: Network) {
    let sentence = "{b} waits until {a} is in memory";
    let placed = a.pfp.named("placed", sentence);
    // The methods come first, so that the prover need not read a Rust function where a body has no such put.
    let delivered = calls(&["PutBy", "PutWords"]);
    let delivered = rel!([delivered & is_delivered]; placed; [aWT]).named("placed", sentence);
    if network.completion == Completion::Sent {
        // pfp = [aNLR]; iso; [aNRW]; awaited; [aWT], and as published for a put that is delivered
        let (iso, pfp) = (&a.iso, &a.pfp);
        let sent = rel!([aNLR]; iso; pfp).named("pfp", "{b} waits until {a} was read");
        a.more_so.push(sent.clone());
        a.pfp = if network.delivers { (sent | &delivered).named("pfp", "{b} waits for {a}") } else { sent };
    }
    match network.completion {
        Completion::Placed => a.more_so.push(placed),
        _ if network.delivers => a.more_so.push(delivered),
        _ => {}
    }
    if network.places_atomics() {
        // [aNRW]; iso^-1; [aNAR]; iso; [aNLW]; awaited; [aWT]
        let (iso, pfg) = (&a.iso, &a.pfg);
        let placed = rel!([aNRW]; iso^-1; [aNAR]; iso; [aNLW]; pfg).named("placed", sentence);
        a.more_ib.push(("placed", placed.clone()));
        a.more_so.push(placed);
    }
}
