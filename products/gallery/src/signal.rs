//! Put with signal: a word at the readers shows that earlier puts have arrived.
//!
//! Promises that a thread which sees the signal raised sees everything that its writer did before. Among puts, this
//! covers those to the reader's node. NVSHMEM and OpenSHMEM have it: put the data, then put the signal. Assumes that
//! both go over one queue pair, and that nobody takes a short cut: NVIDIA/nvshmem#84, openshmem-org/specification#206.
//! Left open there: whether a signal is ordered after puts other than its own. Here it is, because one queue pair
//! orders them.

use mowgli_libraries::prelude::*;

use crate::shared::{
    SharedLibrary, by_second, elsewhere, fetch, of_threads, on, on_members, own, readers, register, targets, writer,
};

methods! {
    enum Method of SIGNAL = "signal" {
        /// It is done.
        fn raise = Raise(x: Object);
        /// Is it done? 1 if it is.
        fn check = Check(x: Object) -> Value, looks;
    }
}

/// Raise {aNRW_n | n a node of a reader}, Check {aCR}.
fn call_shapes() -> &'static Shapes {
    shapes! { Method:
        Raise { x } by writer(x) => { for n in (targets(x)) { aNRW(n): writes x at n, 1 } }
        Check { x } by readers(x) => { aCR: reads x at (here()), ret() }
    }
}

fn bodies() -> Bodies {
    bodies! { Method:
        Raise { x } by writer(x) => { for n in (targets(x)) { Rdma::put(on(x, "raised", n), own(x, "one"), Val::NoWid) } }
        Check { x } by readers(x) => { Rdma::read(on(x, "raised", here())) }
    }
}

/// Returns the published variant, and broken ones that checks have to refute.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 2), (3, 3, 1)];
    let signal = Over::<Method>::terms(bodies())
        .with_parts(on_members("raised"))
        .with_parts(of_threads("one", 1))
        .with_parts(of_threads("seen", 0));
    let stored = signal.clone().replace(
        calls!(|put| Rdma::Put { x, .. } => body! { if ((node(x)) == (here())) { Rdma::write(x, 1) } else { put } }),
    );
    let two_queue_pairs = signal
        .clone()
        .declaring("the signal lies on another node", elsewhere("raised"))
        .replace(calls!(Rdma::Read { x: word } in Method::Check { x } => fetch(own(x, "seen"), word, x.wid("d"))));
    let second = signal.clone().replace(by_second("raised"));
    Entry::rdma(SharedLibrary::<Method>::to_readers(call_shapes(), register), Wait)
        .with(variant("published", "a put raises the signal", Sound, signal, bounds))
        .with(variant("stored", "a signal on the own node is a store", Unsound, stored, bounds))
        .with(variant("two-queue-pairs", "data and signal go separate ways", Unsound, two_queue_pairs, bounds))
        .with(variant("second-queue-pair", "the signal is put over another one than the data", Unsound, second, bounds))
}
