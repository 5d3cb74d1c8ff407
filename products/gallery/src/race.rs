//! A slot of RACE hashing: a writer puts a block, and then lets the slot point to it by a compare-and-swap.
//!
//! Promises a register. A lookup finds the last block that was put into the slot, whole, and sees everything that its
//! writer did to the node before. Published as RACE hashing (Zuo et al., USENIX ATC 2021) and used by FUSEE
//! (dmemsys/FUSEE `src/client.cc`). Assumes that one queue pair reaches block and slot; a block on another node needs
//! more than a completion. Blocks are not used again.

use mowgli_libraries::prelude::*;

use crate::shared::{
    SharedLibrary, at_home, elsewhere, fetch, found, got_from, is_part, of_threads, own, put_there, register, word_term,
};

methods! {
    enum Method of RACE = "race" {
        /// Lets the slot have v.
        fn update = Update(x: Object, v: Value);
        /// Returns the value of the slot, or 0.
        fn lookup = Lookup(x: Object) -> Value;
    }
}

/// Update {aNRW_n}, Lookup {aCR}.
fn call_shapes() -> &'static Shapes {
    shapes! { Method:
        Update { x, v } => { (put_there(x, v)) }
        Lookup { x } => { (got_from(x)) }
    }
}

/// Returns the k-th block of a thread.
fn block(x: impl Into<Expr>, t: impl Into<Expr>, k: impl Into<Expr>) -> Expr {
    x.into().part("block", [t.into(), k.into()])
}

fn bodies() -> Bodies {
    let slot = |x: Expr| x.part("slot", []);
    bodies! { Method:
        Update { x, v } => {
            let k = Rdma::read(own(x, "count"));
            Rdma::write(own(x, "count"), k + 1);
            Rdma::write(own(x, "q"), v);
            Rdma::put(block(x, me(), k), own(x, "q"), x.wid("e"));
            loop {
                let old = fetch(own(x, "p"), slot(x), x.wid("d"));
                let seen = found(own(x, "p"), slot(x), old, block(x, me(), k), x.wid("d"));
                if (seen == old) { break }
            }
            Rdma::wait(x.wid("e"))
        }
        Lookup { x } => {
            let at = fetch(own(x, "p"), slot(x), x.wid("d"));
            if (at.is_loc()) { fetch(own(x, "p"), at, x.wid("d")) } else { at }
        }
    }
}

/// Returns the blocks that threads can use, on the node of the slot. Their initial value is not one that calls write.
fn blocks() -> Parts {
    parts! { x =>
        for t in (all_threads()) { for k in (range(0, 2)) { block(x, t, k) => word_term().at(node(x)).init(7); } }
    }
}

/// Returns the published variant, others with blocks on another node, and a broken one.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 1), (1, 2, 2)];
    let roles = ["p", "q", "count"].into_iter();
    let race = roles
        .fold(Over::<Method>::terms(bodies()), |over, role| over.with_parts(of_threads(role, 0)))
        .with_parts(at_home("slot"))
        .with_parts(blocks());
    let other_node = race.clone().declaring("blocks lie on another node", elsewhere("block"));
    let completed = other_node
        .clone()
        .replace(calls!(|put| Rdma::Put { d, .. } in Method::Update { .. } => body! { put; Rdma::wait(d) }));
    // Here a get of the block follows its put.
    let flushed = other_node.clone().replace(calls!(|put| Rdma::Put { x: block, .. } in Method::Update { x, .. } =>
        body! { put; fetch(own(x, "p"), block, x.wid("d")) }));
    let block_last = race.clone().delay(calls!(Rdma::Put { x, .. } if is_part(x, "block")));
    Entry::rdma(SharedLibrary::<Method>::on_a_node(call_shapes(), register), Wait)
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
