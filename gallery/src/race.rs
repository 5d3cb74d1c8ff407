//! A slot of RACE hashing: a block is written, then a compare-and-swap lets the slot point to it.
//!
//! Promises a register: who looks up finds the last block that was put into the slot, whole, and with it all that its writer did to
//! the node before. Published as RACE hashing (Zuo et al., USENIX ATC 2021) and used by FUSEE (dmemsys/FUSEE `src/client.cc`). Assumes
//! that block and slot are reached over one queue pair; a block on another node needs more than a completion. Blocks are not used again.

use mowgli_libraries::prelude::*;

use crate::shared::{
    Kind, at_home, elsewhere, fetch, got_from, home, is_part, next, of_threads, own, put_there, register,
};

methods! {
    enum Method of RACE = "race" {
        /// Lets the slot have v.
        fn update = Update(x: Object, v: Value);
        /// What the slot has, or 0.
        fn lookup = Lookup(x: Object) -> Value;
    }
}

/// Update {aNRW_n}, Lookup {aCR}.
fn shape(world: &World, event: &Event, method: Method) -> Shape {
    match method {
        Method::Update { x, v } => put_there(world, x, v),
        Method::Lookup { x } => got_from(world, x, event.ret),
    }
}

/// The k-th block of a thread.
fn block(x: Loc, t: Tid, k: Val) -> Loc {
    x.part(format_args!("block_{t}_{}", k.int().unwrap_or(0)))
}

fn body(_: &World, t: Tid, method: Method) -> Prog {
    let words = |x: Loc| (x.part("slot"), own(x, "p", t), Val::Wid(x.wid("d")));
    match method {
        Method::Update { x, v } => {
            let ((slot, p, d), count, q) = (words(x), own(x, "count", t), own(x, "q", t));
            prog! {
                let k = wait::read(count);
                wait::write(count, next(k));
                wait::write(q, v);
                wait::put(block(x, t, k), q, x.wid("e"));
                loop {
                    let old = fetch(p, slot, d);
                    wait::rcas(p, slot, old, block(x, t, k), d);
                    wait::wait(d);
                    let found = wait::read(p);
                    if (found == old) { break }
                };
                wait::wait(x.wid("e"))
            }
        }
        Method::Lookup { x } => {
            let (slot, p, d) = words(x);
            prog! {
                let at = fetch(p, slot, d);
                if (at.loc().is_some()) { fetch(p, at.loc().unwrap_or(p), d) } else { Prog::Val(at) }
            }
        }
    }
}

/// The blocks that threads can use, on the node of the slot. What is in them before is nobody's value.
fn blocks(world: &World, x: Loc) -> Vec<(Loc, Object)> {
    let of = |t| (0..2).map(move |k| (block(x, t, k.into()), wait::word(home(world, x)).init(7.into())));
    world.tids().flat_map(of).collect()
}

/// As published, over two nodes, and what is to be caught.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 1), (1, 2, 2)];
    let roles = ["p", "q", "count"].into_iter();
    let race =
        roles.fold(Over::new(body), |over, role| over.parts(of_threads(role, 0))).parts(at_home("slot")).parts(blocks);
    let other_node = race.clone().declaring("blocks lie on another node", elsewhere("block"));
    let completed = other_node.clone().replace(
        calls!(|here| Rdma::Put { x: block, y, d } in Method::Update { .. } => wait::put(block, y, d).then(wait::wait(d))),
    );
    // A get of the block behind its put.
    let flushed = other_node.clone().replace(calls!(|here| Rdma::Put { x: block, y, d } in Method::Update { x, .. } =>
            wait::put(block, y, d).then(fetch(own(x, "p", here.thread), block, x.wid("d").into()))));
    let block_last = race.clone().delay(calls!(Rdma::Put { x, .. } if is_part(x, "block")));
    Entry::rdma(Kind::on_a_node(shape, register), Wait)
        .with(variant("published", "block and slot on one node", Sound, race, bounds).writing(&[1, 2]))
        .with(
            variant("other-node", "a block on another node, not waited for", Unsound, other_node, bounds)
                .writing(&[1, 2]),
        )
        .with(variant("completed", "a block on another node, waited for", Unsound, completed, bounds).writing(&[1, 2]))
        .with(
            variant("flushed", "a block on another node, got behind its put", Sound, flushed, bounds).writing(&[1, 2]),
        )
        .with(
            variant("block-last", "the slot points to the block before that is written", Unsound, block_last, bounds)
                .writing(&[1, 2]),
        )
}
