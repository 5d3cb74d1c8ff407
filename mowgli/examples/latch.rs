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
fn shape(world: &World, event: &Event, method: Method) -> Shape {
    match method {
        Method::Raise { x } => world.all_nodes().iter().map(|n| Sub::write(aGF(n.into()), x.on(n), 1)).collect(),
        Method::Check { x } => [Sub::read(aCR, x.on(world.node_of(event.thread)), event.ret)].into(),
    }
}

fn spec(c: &mut Spec) {
    let (rf, _) = c.reads_from("rf", reads(), writes());
    c.so([&same_event().then(&rf).named("seen", "{b} saw the latch that {a} raised")]);
}

/// Over a shared variable for each latch: a fence, a write, a broadcast to the other nodes.
fn body(world: &World, t: Tid, method: Method) -> Prog {
    match method {
        Method::Raise { x } => prog! {
            sv::gf(world.all_nodes());
            sv::write(x.part("raised"), 1);
            sv::bcast(x.part("raised"), Val::NoWid, world.other_nodes(t))
        },
        Method::Check { x } => sv::read(x.part("raised")),
    }
}

/// Published over shared variables, and the variant that is to be caught: up to 2 threads, 2 nodes, 2 calls of a thread.
pub fn entry() -> Entry {
    let latch = Over::new(body).part("raised", sv::variable());
    let no_fence = latch.clone().without(calls!(sv::Method::GF { .. }));
    Entry::rdma(Simple::new(shape, spec), Sv).published(latch, &[(2, 2, 2)]).broken("no-fence", no_fence)
}
mowgli::main!(entry());
