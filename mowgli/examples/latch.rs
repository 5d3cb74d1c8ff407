//! A library of one's own: a latch that tells every node that something is done. Promise: whoever sees it raised also sees
//! everything that the raiser did before, remote writes included.

use mowgli_libraries::prelude::*;

methods! {
    /// What can be done with a latch.
    enum Method of LATCH = "latch" {
        /// It is done.
        fn raise = Raise(x: Object);
        /// Is it done? 1 if it is.
        fn check = Check(x: Object) -> Value;
    }
}

/// A raise is a global fence towards every node, the first of which raises the latch. A check is a CPU read.
fn shape(world: &World, event: &Event) -> Shape<Stamp> {
    let latch = |x| Cell { loc: x, node: Node(1) };
    let fence =
        |n, x| if n == Node(1) { Sub::write(aGF(n), latch(x), Writes::Is(1.into())) } else { Sub::quiet(aGF(n)) };
    match Method::of(&event.call) {
        Method::Raise { x } => world.all_nodes().iter().map(|n| fence(n, x)).collect(),
        Method::Check { x } => [Sub::read(aCR, latch(x), Reads::Is(event.ret))].into_iter().collect(),
    }
}

/// so: from every part of a raise to each check that sees it.
fn spec(c: &mut Spec<Stamp>) {
    let (rf, _) = c.reads_from("rf", reads(), writes());
    c.so([&same_event().then(&rf).named("seen", "{b} saw the latch that {a} raised")]);
}

/// Over a shared variable for each latch: a fence, a write, a broadcast to the other nodes.
fn latch() -> impl Implementation {
    let raised = |x: Loc| x.part("raised");
    let body = move |world: &World, t: Tid, call: &Call| match Method::of(call) {
        Method::Raise { x } => prog! {
            sv::gf(world.all_nodes());
            sv::write(raised(x), 1);
            sv::bcast(raised(x), Val::NoWid, world.all_nodes().without(world.node_of(t)))
        },
        Method::Check { x } => sv::read(raised(x)),
    };
    Over::new(LATCH, move |_, x| vec![(raised(x), sv::variable())], body)
}

/// The latch with its implementation, and the variant that is to be caught: each with the most threads, nodes and calls.
pub fn entry() -> Entry {
    let library = Simple { name: LATCH, methods: Method::TABLE, shape, spec };
    let no_fence = latch().without(calls!(sv::Method::GF { .. }));
    let variants = vec![
        variant("published", "a fence, a write, a broadcast", Expected::Sound, latch(), &[(2, 2, 2)]),
        variant("no-fence", "Raise has no fence", Expected::Unsound, no_fence, &[(2, 2, 2)]),
    ];
    Entry::new(Memory::rdma_wait(), library, Libraries::over(to).with(Sv), variants)
}

fn main() -> std::process::ExitCode {
    mowgli::main_with([entry().into()])
}
