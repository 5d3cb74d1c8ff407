//! Leases of DrTM: a reader that finds the record unlocked leases it, and reads; a writer waits until the lease is over.
//!
//! Promises a register of two words: a read that returns a value returns both words of the last write. Published as
//! DrTM (Wei et al., SOSP 2015). Assumes clocks that differ by less than the time that is added before a lease counts
//! as over. The model does not have time, so this assumption is a library, [`Time`]. Left open here: when to try again.
//! So a call may return that it did nothing.

use mowgli_libraries::prelude::*;

use crate::clocks::{Method as Clocks, Time};
use crate::shared::{
    SharedLibrary, at_home, fetch, found, got_from, of_threads, own, put_there, register, whole, word_term,
};

methods! {
    enum Method of DRTM = "drtm" {
        /// Writes v, unless the record is locked or leased.
        fn write = Write(x: Object, v: Value) -> Bool;
        /// Returns the value, or bottom if a writer has the record.
        fn read = Read(x: Object) -> Value;
    }
}

/// Write {aNRW_n}, Read {aCR}; {aWT} for a call that did nothing.
fn call_shapes() -> &'static Shapes {
    shapes! { Method:
        Write { x, v } => { if (ret().is(true)) { (put_there(x, v)) } else { aWT } }
        Read { x } => { if (ret().is(Val::Bot)) { aWT } else { (got_from(x)) } }
    }
}

/// The lock of a record is LOCKED, 2k if it is free for the k-th time, or 2k + 1 if it is leased then.
const LOCKED: Val = Val::Int(-1);

fn is_leased(state: Expr) -> Expr {
    state.above(0) & (state % 2).is(1)
}

/// Returns the lease that exists, or may exist, in a state.
fn lease(x: Expr, state: Expr) -> Expr {
    x.part("lease", [state / 2]).as_wid()
}

/// Returns the state in which the record is free next.
fn free_after(state: Expr) -> Expr {
    state - state % 2 + 2
}

fn read_record(x: Expr) -> Body {
    let (lock, p, q, d) = (x.part("lock", []), own(x, "p"), own(x, "q"), x.wid("d"));
    body! {
        let state = fetch(p, lock, d);
        let seen = if (state.is(LOCKED) | is_leased(state)) { state } else { found(p, lock, state, state + 1, d) };
        if (seen.is_not(state) | state.is(LOCKED)) { Val::Bot } else {
            Rdma::get(p, x.part("a", []), d);
            Rdma::get(q, x.part("b", []), d);
            Rdma::wait(d);
            let a = Rdma::read(p);
            let b = Rdma::read(q);
            let valid = Clocks::valid(lease(x, state));
            if (valid) { whole(a, b) } else { Val::Bot }
        }
    }
}

fn write_record(x: Expr, v: Expr) -> Body {
    let (lock, p, q, d) = (x.part("lock", []), own(x, "p"), own(x, "q"), x.wid("d"));
    body! {
        let state = fetch(p, lock, d);
        let free = if (is_leased(state)) { Clocks::over(lease(x, state)) } else { state.is_not(LOCKED) };
        let seen = if (free) { found(p, lock, state, LOCKED, d) } else { LOCKED };
        if (seen.is(LOCKED) | seen.is_not(state)) { false } else {
            Rdma::write(q, v);
            Rdma::put(x.part("a", []), q, d);
            Rdma::put(x.part("b", []), q, d);
            Rdma::write(p, free_after(state));
            Rdma::put(lock, p, d);
            Rdma::wait(d);
            true
        }
    }
}

fn bodies() -> Bodies {
    bodies! { Method:
        Write { x, v } => { write_record(x, v) }
        Read { x } => { read_record(x) }
    }
}

/// Returns the published variant, and broken ones that checks have to refute.
#[must_use]
pub fn entry() -> Entry {
    let record = parts! { x =>
        x.part("a", []) => word_term().at(node(x)).init(Val::Bot);
        x.part("b", []) => word_term().at(node(x)).init(Val::Bot);
    };
    let roles = ["p", "q"].into_iter();
    let drtm = roles
        .fold(Over::<Method>::terms(bodies()), |over, role| over.with_parts(of_threads(role, 0)))
        .with_parts(at_home("lock"))
        .with_parts(record);
    let unchecked = drtm.clone().replace(calls!(Clocks::Valid { .. } => true));
    let at_once = drtm.clone().replace(calls!(Clocks::Over { .. } => true));
    let below = Libraries::over(to).with(Wait).with(Time);
    Entry::new(
        Memory::rdma_wait(),
        SharedLibrary::<Method>::on_a_node(call_shapes(), register).empty(),
        below,
        Vec::new(),
    )
    .published(drtm, &[(2, 2, 1), (1, 2, 2)])
    .broken("unchecked", unchecked)
    .broken("at-once", at_once)
}
