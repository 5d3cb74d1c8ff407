//! Leases of DrTM: a reader that finds the record unlocked leases it, and reads; a writer waits until the lease is over.
//!
//! Promises a register of two words: a read that returns a value has both words of one write, the last one. Published as DrTM (Wei et
//! al., SOSP 2015). Assumes clocks that differ by less than the time that is added before a lease counts as over. Time is no part of the
//! model: what is assumed is a library, [`Time`]. Left open here: when to try again, so that a call may return that it did nothing.

use mowgli_libraries::prelude::*;

use crate::clocks::{Method as Clocks, Time, over, valid};
use crate::shared::{Kind, at_home, fetch, found, home, of_threads, own, put_there, register, whole};

methods! {
    enum Method of DRTM = "drtm" {
        /// Writes v, unless the record is locked or leased.
        fn write = Write(x: Object, v: Value) -> Bool;
        /// What was written, or bottom.
        fn read = Read(x: Object) -> Value;
    }
}

/// Write {aNRW_n}, Read {aCR}; {aWT} of one that did nothing.
fn shape(world: &World, event: &Event, method: Method) -> Shape {
    match method {
        Method::Write { x, v } if event.ret == Val::Bool(true) => put_there(world, x, v),
        Method::Read { x } if event.ret != Val::Bot => [Sub::read(aCR, x.on(home(world, x)), event.ret)].into(),
        _ => [Sub::quiet(aWT)].into(),
    }
}

/// The lock of a record is LOCKED, 2k where it is free for the k-th time, or 2k + 1 where it is leased then.
const LOCKED: Val = Val::Int(-1);

fn is_leased(state: Val) -> bool {
    state.int().is_some_and(|s| s % 2 == 1)
}

/// The lease that there is, or may be, in a state.
fn of_state(x: Loc, state: Val) -> Val {
    Val::Wid(x.wid(format_args!("lease_{}", state.int().unwrap_or(0) / 2)))
}

fn after(state: Val, more: i64) -> Val {
    state.plus(more).unwrap_or(state)
}

fn body(_: &World, t: Tid, method: Method) -> Prog {
    let words = |x: Loc| (x.part("lock"), own(x, "p", t), Val::Wid(x.wid("d")));
    match method {
        Method::Read { x } => {
            let ((lock, p, d), q) = (words(x), own(x, "q", t));
            prog! {
                let state = fetch(p, lock, d);
                let seen = if state == LOCKED || is_leased(state) { Prog::Val(state) } else { found(p, lock, state, after(state, 1), d) };
                if (seen != state || state == LOCKED) { Prog::Val(Val::Bot) } else {
                    wait::get(p, x.part("a"), d);
                    wait::get(q, x.part("b"), d);
                    wait::wait(d);
                    let a = wait::read(p);
                    let b = wait::read(q);
                    let valid = valid(of_state(x, state));
                    if (valid == Val::Bool(true)) { whole(a, b) } else { Prog::Val(Val::Bot) }
                }
            }
        }
        Method::Write { x, v } => {
            let ((lock, p, d), q) = (words(x), own(x, "q", t));
            prog! {
                let state = fetch(p, lock, d);
                let free = if is_leased(state) { over(of_state(x, state)) } else { Prog::Val((state != LOCKED).into()) };
                let seen = if free == Val::Bool(true) { found(p, lock, state, LOCKED, d) } else { Prog::Val(LOCKED) };
                if (seen == LOCKED || seen != state) { Prog::Val(Val::Bool(false)) } else {
                    wait::write(q, v);
                    wait::put(x.part("a"), q, d);
                    wait::put(x.part("b"), q, d);
                    wait::write(p, after(state, if is_leased(state) { 1 } else { 2 }));
                    wait::put(lock, p, d);
                    wait::wait(d);
                    Prog::Val(Val::Bool(true))
                }
            }
        }
    }
}

/// As published, and what is to be caught.
#[must_use]
pub fn entry() -> Entry {
    let record = |world: &World, x: Loc| {
        let word = || wait::word(home(world, x)).init(Val::Bot);
        vec![(x.part("a"), word()), (x.part("b"), word())]
    };
    let roles = ["p", "q"].into_iter();
    let drtm =
        roles.fold(Over::new(body), |over, role| over.parts(of_threads(role, 0))).parts(at_home("lock")).parts(record);
    let unchecked = drtm.clone().replace(calls!(Clocks::Valid { .. } => Prog::Val(true.into())));
    let at_once = drtm.clone().replace(calls!(Clocks::Over { .. } => Prog::Val(true.into())));
    let below = Libraries::over(to).with(Wait).with(Time);
    Entry::new(Memory::rdma_wait(), Kind::on_a_node(shape, register).empty(), below, Vec::new())
        .published(drtm, &[(2, 2, 1), (1, 2, 2)])
        .broken("unchecked", unchecked)
        .broken("at-once", at_once)
}
