//! ALock: a queue of local threads, a queue of remote threads, and Peterson's protocol between the two that lead them.
//!
//! Promises that sections exclude each other, and that a section sees what earlier ones did. This covers the writes by
//! the CPU of threads on the lock's node, and the puts of other threads to that node. Published in jacnel/qplock
//! (`locks/a_lock`; arXiv 2208.09540). Assumes that words are read and written whole, but not that atomics of CPU and
//! card exclude each other. Each tail is changed by one kind only, and the victim is only overwritten. A swap by the
//! card is here a loop of compare-and-swaps, and that of the victim a put.

use mowgli_libraries::prelude::*;

use crate::guard::{GuardLock, Method};
use crate::shared::{at_home, fetch, found, is_part, of, of_threads, own, swapped};

const ALOCK: Name = Name::literal("alock");

/// The queue whose leader waits if both lead: a value of the word `victim`.
const LOCAL: i64 = 1;
const REMOTE: i64 = 2;

/// True for a thread of the local queue, which runs on the lock's node.
fn is_here(x: Expr) -> Expr {
    here().is(node(x))
}

/// Makes Peterson's protocol: the leader of a queue gives way. It waits while the other queue has a leader that has not
/// given way since.
fn lead(local: bool, x: Expr) -> Body {
    let (victim, d) = (x.part("victim", []), x.wid("d"));
    let give_way = if local {
        Rdma::xchg(victim, LOCAL)
    } else {
        body! { Rdma::put(victim, own(x, "remote"), d); Rdma::wait(d) }
    };
    let look = |at| if local { Rdma::read(at) } else { fetch(own(x, "p"), at, d) };
    let (mine, other) = if local { (LOCAL, "rtail") } else { (REMOTE, "ltail") };
    body! {
        give_way;
        loop {
            let last = look(victim);
            if (last != mine) { break }
            let tail = look(x.part(other, []));
            if (tail == 0) { break }
        }
    }
}

/// Writes a word of another thread in the same queue.
fn tell(local: bool, word: Expr, from: Expr, v: Expr, d: Expr) -> Body {
    if local {
        Rdma::write(word, v)
    } else {
        body! { Rdma::write(from, v); Rdma::put(word, from, d); Rdma::wait(d) }
    }
}

/// Returns the tail of a queue.
fn tail(local: bool, x: Expr) -> Expr {
    x.part(if local { "ltail" } else { "rtail" }, [])
}

fn acquire(local: bool, x: Expr, budget: i64) -> Body {
    let (mine, d) = (own(x, "budget"), x.wid("d"));
    let enter = if local {
        Rdma::xchg(tail(local, x), number(me()))
    } else {
        swapped(own(x, "p"), tail(local, x), number(me()), d)
    };
    body! {
        Rdma::write(own(x, "next"), 0);
        Rdma::write(mine, -1);
        let before = enter;
        let left = if (before == 0) { before } else {
            tell(local, of(x, "next", thread(before)), own(x, "from"), number(me()), d);
            loop { let v = Rdma::read(mine); if (v != (-1)) { break v } }
        };
        if (left == 0) { lead(local, x); Rdma::write(mine, budget) }
    }
}

fn release(local: bool, x: Expr) -> Body {
    let d = x.wid("d");
    let leave = if local {
        Rdma::cas(tail(local, x), number(me()), 0)
    } else {
        found(own(x, "p"), tail(local, x), number(me()), 0, d)
    };
    body! {
        let left = Rdma::read(own(x, "budget"));
        let last = leave;
        if (last != (number(me()))) {
            let successor = loop { let v = Rdma::read(own(x, "next")); if (v != 0) { break v } };
            tell(local, of(x, "budget", thread(successor)), own(x, "from"), left - 1, d)
        }
    }
}

/// Makes the bodies. A queue may have `budget` sections in a row, and `is_local` selects the threads of the local
/// queue.
fn bodies(budget: i64, is_local: fn(Expr) -> Expr) -> Bodies {
    bodies! { Method:
        Acq { x } => { if (is_local(x)) { acquire(true, x, budget) } else { acquire(false, x, budget) } }
        Rel { x } => { if (is_local(x)) { release(true, x) } else { release(false, x) } }
    }
}

/// Returns the published variant, one with a smaller budget, and broken ones that checks have to refute.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Stuck, Unsound};
    let small = &[(2, 2, 2)];
    let made = |budget, is_local| {
        let over = Over::<Method>::terms_of(ALOCK, bodies(budget, is_local)).with_parts(of_threads("remote", REMOTE));
        let over = ["rtail", "ltail", "victim"].into_iter().fold(over, |over, role| over.with_parts(at_home(role)));
        ["p", "budget", "next", "from"].into_iter().fold(over, |over, role| over.with_parts(of_threads(role, 0)))
    };
    let alock = made(5, is_here);
    let stored = alock.clone().replace(calls!(Rdma::Xchg { x, v } if is_part(x, "victim") => Rdma::write(x, v)));
    let no_victim = alock.clone().without(calls!(Rdma::Put { x, .. } if is_part(x, "victim")));
    let one_queue = made(5, |_| false.into()).replace(calls!(|rcas| Rdma::RCAS { x: p, y, v1, v2, .. } => body! {
        if ((node(y)) == (here())) { let v = Rdma::cas(y, v1, v2); Rdma::write(p, v) } else { rcas }
    }));
    let shapes = shapes! { Method:
        Acq { .. } => { aMF }
        Rel { x } => { if (node(x).is(here())) { aCW } else { aNRW(node(x)) } }
        Share { .. } => { never }
    };
    GuardLock::exclusive(ALOCK, shapes)
        .entry()
        .with(variant("published", "as qplock has it", Sound, alock, small))
        .with(variant("short-budget", "a queue gives way after each section", Sound, made(1, is_here), &[(3, 2, 2)]))
        .with(variant("stored-victim", "a local thread gives way by a store", Unsound, stored, small))
        .with(variant("no-victim", "a remote thread does not give way", Unsound, no_victim, small))
        .with(variant("one-queue", "one queue for all, whose tail card and CPU change", Stuck, one_queue, small))
}
