//! Put with signal: a word at the readers tells that what was put before has arrived.
//!
//! Promises that who sees the signal raised sees all that its writer did before, of puts those to the reader's node. As
//! NVSHMEM and OpenSHMEM have it: put the data, then put the signal. Assumes that both go over one queue pair, and that nobody
//! takes a short cut: NVIDIA/nvshmem#84, openshmem-org/specification#206. Left open there: whether a signal is ordered after
//! puts other than its own. Here it is, as one queue pair has it.

use mowgli_libraries::prelude::*;
use mowgli_rdma::wait::Method as Rdma;

use crate::shared::{Kind, Role, of_threads, own, readers, register};

methods! {
    enum Method of SIGNAL = "signal" {
        /// It is done.
        fn raise = Raise(x: Object);
        /// Is it done? 1 if it is.
        fn check = Check(x: Object) -> Value, looks;
    }
}

fn role(method: Method) -> Option<Role> {
    Some(if matches!(method, Method::Raise { .. }) { Role::Writer } else { Role::Reader })
}

/// Raise {aNRW_n | n a node of a reader}, Check {aCR}.
fn shape(world: &World, event: &Event, method: Method) -> Shape<Stamp> {
    match method {
        Method::Raise { x } => readers(world, x).iter().map(|n| Sub::write(aNRW(n), x.on(n), 1)).collect(),
        Method::Check { x } => [Sub::read(aCR, x.on(world.node_of(event.thread)), event.ret)].into(),
    }
}

/// The word on a node.
fn raised(x: Loc, n: Node) -> Loc {
    x.part(format_args!("raised_{n}"))
}

fn body(world: &World, t: Tid, method: Method) -> Prog {
    match method {
        Method::Raise { x } => prog! {
            for n in (readers(world, x).iter()) { wait::put(raised(x, n), own(x, "one", t), Val::NoWid) }
        },
        Method::Check { x } => wait::read(raised(x, world.node_of(t))),
    }
}

fn words(world: &World, x: Loc) -> Vec<(Loc, Object)> {
    readers(world, x).iter().map(|n| (raised(x, n), wait::word(n))).collect()
}

/// As published, and what is to be caught.
#[must_use]
pub fn entry() -> Entry {
    let signal = Over::new(body).parts(words).parts(of_threads("one", 1));
    let stored = signal.clone().replace(
        calls!(|here| Rdma::Put { x, .. } if here.world.home(x) == Some(here.world.node_of(here.thread)) => wait::write(x, 1)),
    );
    // The word lies on the next node, and the reader gets it from there.
    let elsewhere = |world: &mut World| {
        for (x, object) in world.objects.clone() {
            if let (true, Some(n)) = (x.to_string().contains("raised"), object.node) {
                world.objects.insert(x, object.at(Node(n.0 % world.nodes + 1)));
            }
        }
    };
    let two_queue_pairs = signal.clone().parts(of_threads("seen", 0)).declaring("the signal lies on another node", elsewhere).replace(
        calls!(|here| Rdma::Read { x: word } in Method::Check { x } => crate::shared::fetch(own(x, "seen", here.thread), word, x.wid("d").into())),
    );
    Entry::rdma(Kind::to_readers(role, shape, register), Wait)
        .published(signal, &[(2, 2, 2), (3, 3, 1)])
        .broken("stored", stored)
        .broken("two-queue-pairs", two_queue_pairs)
}
