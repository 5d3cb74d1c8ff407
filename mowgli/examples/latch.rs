//! A latch tells every node that something is done: who sees it raised sees all that came before, remote writes included.

use mowgli_libraries::prelude::*;

methods! {
    enum Method of LATCH = "latch" {
        /// It is done.
        fn raise = Raise(x: Object);
        /// Is it done? 1 if it is.
        fn check = Check(x: Object) -> Value, looks;
    }
}

/// A raise is a global fence, which raises the latch on every node; a check is a CPU read on the own node.
fn shapes() -> &'static Shapes {
    shapes! { Method:
        Raise { x } => { for n in (all_nodes()) { aGF(n): writes x at n, 1 } }
        Check { x } => { aCR: reads x at here, ret() }
    }
}

fn spec() -> Spec {
    spec! {
        let rf = reads_from(reads, writes);
        let seen = same_event; rf;
        say seen = "{b} saw the latch that {a} raised";
        so = seen;
    }
}

/// The shared variable that a latch is.
fn raised(x: Expr) -> Expr {
    x.part("raised", [])
}

/// A raise is a fence, a write, and a broadcast to the other nodes.
fn bodies() -> Bodies {
    bodies! { Method:
        Raise { x } => {
            Shared::gf(all_nodes());
            Shared::write(raised(x), 1);
            Shared::bcast(raised(x), Val::NoWid, all_nodes().without(here()))
        }
        Check { x } => { Shared::read(raised(x)) }
    }
}

/// Published over shared variables, and the variant that is to be caught: up to 2 threads, 2 nodes, 2 calls of a thread.
pub fn entry() -> Entry {
    let latch = Over::<Method>::terms(bodies()).part("raised", sv::variable());
    let no_fence = latch.clone().without(calls!(Shared::GF { .. }));
    Entry::rdma(Simple::<Method>::new(shapes(), spec), Sv).published(latch, &[(2, 2, 2)]).broken("no-fence", no_fence)
}
mowgli::main!(entry());
