//! ALock: a queue of local threads, a queue of remote threads, and Peterson's protocol between the two that lead them.
//!
//! Promises that sections exclude each other, and that what one has done is there when the next one begins: of a thread of the lock's
//! node what its CPU did, of others what they put to that node. Published in jacnel/qplock (`locks/a_lock`; arXiv 2208.09540). Assumes
//! that words are read and written whole, and not that atomics of CPU and card exclude each other: each tail is changed by one kind
//! only, and the victim is only overwritten. A swap by the card is here a loop of compare-and-swaps, of the victim a put.

use mowgli_libraries::prelude::*;

use crate::guard::{Guard, Method};
use crate::shared::{at_home, fetch, found, home, is_part, number, of, of_threads, own, swapped};

const ALOCK: Name = Name::literal("alock");

/// Who is to wait if both lead: a value of the word `victim`.
const LOCAL: i64 = 1;
const REMOTE: i64 = 2;

fn is_here(world: &World, t: Tid, x: Loc) -> bool {
    world.node_of(t) == home(world, x)
}

/// Peterson's protocol: the leader of a queue gives way, and waits while the other queue has one that has not given way since.
fn lead(local: bool, x: Loc, t: Tid) -> Prog {
    let (victim, p, d) = (x.part("victim"), own(x, "p", t), Val::Wid(x.wid("d")));
    let give_way =
        if local { wait::xchg(victim, LOCAL) } else { wait::put(victim, own(x, "remote", t), d).then(wait::wait(d)) };
    let look = move |at| if local { wait::read(at) } else { fetch(p, at, d) };
    let (me, other) = if local { (LOCAL, "rtail") } else { (REMOTE, "ltail") };
    prog! {
        give_way;
        loop {
            let last = look(victim);
            if (last != Val::Int(me)) { break }
            let tail = look(x.part(other));
            if (tail == Val::Int(0)) { break }
        }
    }
}

/// Writes a word of a thread of the same queue.
fn tell(local: bool, word: Loc, from: Loc, v: Val, d: Val) -> Prog {
    if local {
        wait::write(word, v)
    } else {
        prog! { wait::write(from, v); wait::put(word, from, d); wait::wait(d) }
    }
}

/// The bodies, with as many sections of a queue in a row as the budget says, for threads of which some are in the local queue.
fn body(budget: i64, is_local: fn(&World, Tid, Loc) -> bool) -> impl Fn(&World, Tid, Method) -> Prog {
    move |world, t, method| {
        let (Method::Acq { x } | Method::Rel { x } | Method::Share { x }) = method;
        let (me, local, d) = (number(t), is_local(world, t, x), Val::Wid(x.wid("d")));
        let tail = x.part(if local { "ltail" } else { "rtail" });
        let [p, mine, next, from] = ["p", "budget", "next", "from"].map(|role| own(x, role, t));
        if let Method::Rel { .. } = method {
            let leave = if local { wait::cas(tail, me, 0) } else { found(p, tail, me, 0, d) };
            return prog! {
                let left = wait::read(mine);
                let last = leave.clone();
                if (last != Val::Int(me)) {
                    let successor = loop { let v = wait::read(next); if (v != Val::Int(0)) { break v } };
                    tell(local, of(x, "budget", successor), from, left.plus(-1).unwrap_or(left), d)
                }
            };
        }
        let enter = if local { wait::xchg(tail, me) } else { swapped(p, tail, me, d) };
        prog! {
            wait::write(next, 0);
            wait::write(mine, -1);
            let before = enter;
            let left = if before == Val::Int(0) { Prog::Val(before) } else { prog! {
                tell(local, of(x, "next", before), from, me.into(), d);
                loop { let v = wait::read(mine); if (v != Val::Int(-1)) { break v } }
            } };
            if (left == Val::Int(0)) { lead(local, x, t); wait::write(mine, budget) }
        }
    }
}

/// As published, and what is to be caught.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Stuck, Unsound};
    let small = &[(2, 2, 2)];
    let made = |budget, is_local| {
        let over = Over::of(ALOCK, Method::of, body(budget, is_local)).parts(of_threads("remote", REMOTE));
        let over = ["rtail", "ltail", "victim"].into_iter().fold(over, |over, role| over.parts(at_home(role)));
        ["p", "budget", "next", "from"].into_iter().fold(over, |over, role| over.parts(of_threads(role, 0)))
    };
    let alock = made(5, is_here);
    let stored = alock.clone().replace(calls!(Rdma::Xchg { x, v } if is_part(x, "victim") => wait::write(x, v)));
    let no_victim = alock.clone().without(calls!(Rdma::Put { x, .. } if is_part(x, "victim")));
    let one_queue = made(5, |_, _, _| false).replace(calls!(|here|
        Rdma::RCAS { x: p, y, v1, v2, .. } if here.world.home(y) == Some(here.world.node_of(here.thread))
            => prog! { let v = wait::cas(y, v1, v2); wait::write(p, v) }));
    let release = |world: &World, t, x| if is_here(world, t, x) { aCW } else { aNRW(home(world, x).into()) };
    Guard::exclusive(ALOCK, release)
        .entry()
        .with(variant("published", "as qplock has it", Sound, alock, small))
        .with(variant("short-budget", "a queue gives way after each section", Sound, made(1, is_here), &[(3, 2, 2)]))
        .with(variant("stored-victim", "a local thread gives way by a store", Unsound, stored, small))
        .with(variant("no-victim", "a remote thread does not give way", Unsound, no_victim, small))
        .with(variant("one-queue", "one queue for all, whose tail card and CPU change", Stuck, one_queue, small))
}
