//! FaRM's objects: a version in each line, and one READ of all lines, which holds if the versions agree and none is locked.
//!
//! Promises a register of two words that is read whole, and whose reads and writes are as ordered as those of one word. Published as FaRM
//! (Dragojevic et al., NSDI 2014). Assumes that a line is read and written whole; here a line is a word, with version and data. It does not
//! assume that the lines of a READ come in some order. The line that is locked is written last. Left open: how a writer keeps what it sends. Here a write waits at its end.

use mowgli_libraries::prelude::*;
use mowgli_rdma::Way;
use mowgli_rdma::wait::row;

use crate::shared::{Kind, at_home, fetch, found, got_from, of_threads, own, put_there, register, whole};

methods! {
    enum Method of FARM = "farm" {
        /// Writes v into both lines.
        fn write = Write(x: Object, v: Value);
        /// What both lines are; they are a pair if they differ.
        fn read = Read(x: Object) -> Value;
    }
}

/// Write {aNRW_n}, Read {aCR}.
fn shape(world: &World, event: &Event, method: Method) -> Shape {
    match method {
        Method::Write { x, v } => put_there(world, x, v),
        Method::Read { x } => got_from(world, x, event.ret),
    }
}

/// A line is 100 times the version, which is odd while it is locked, and the data.
const VERSION: i64 = 100;

fn version(line: Val) -> i64 {
    line.int().unwrap_or(0) / VERSION
}

fn data(line: Val) -> Val {
    (line.int().unwrap_or(0) % VERSION).into()
}

fn agree(one: Val, two: Val) -> bool {
    version(one) == version(two) && version(one) % 2 == 0
}

/// The first line only.
fn is_free(one: Val, _: Val) -> bool {
    version(one) % 2 == 0
}

/// The bodies, with what a reader asks of the lines.
fn body(t: Tid, method: Method, holds: fn(Val, Val) -> bool) -> Prog {
    let (Method::Write { x, .. } | Method::Read { x }) = method;
    let (a, b, d, [p, q]) = (x.part("a"), x.part("b"), Val::Wid(x.wid("d")), ["p", "q"].map(|role| own(x, role, t)));
    match method {
        Method::Write { v, .. } => prog! {
            let line = loop {
                let line = fetch(p, a, d);
                if (is_free(line, line)) {
                    let seen = found(p, a, line, line.plus(VERSION).unwrap_or(line), d);
                    if (seen == line) { break line }
                }
            };
            let new = Prog::Val(((version(line) + 2) * VERSION + v.int().unwrap_or(0)).into());
            wait::write(q, new);
            wait::put(b, q, d);
            wait::put(a, q, d);
            wait::wait(d)
        },
        Method::Read { .. } => prog! {
            loop {
                wait::get_words(Way::USUAL, row(&[p, q]), row(&[a, b]), d);
                wait::wait(d);
                let one = wait::read(p);
                let two = wait::read(q);
                if (holds(one, two)) { let v = whole(data(one), data(two)); break v }
            }
        },
    }
}

/// As published, and what is to be caught.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 1), (1, 2, 2)];
    let asking = |holds| {
        let over = Over::new(move |_, t, method| body(t, method, holds));
        let over = ["a", "b"].into_iter().fold(over, |over, role| over.parts(at_home(role)));
        ["p", "q"].into_iter().fold(over, |over, role| over.parts(of_threads(role, 0)))
    };
    let (farm, first_line) = (asking(agree), asking(is_free));
    let no_wait = farm.clone().without(calls!(Rdma::Wait { d } in Method::Read { x } if d == x.wid("d").into()));
    let no_lock = farm.clone().without(calls!(Rdma::RCAS { .. }));
    Entry::rdma(Kind::on_a_node(shape, register), Wait)
        .with(variant("published", "lines are read in no order", Sound, farm, bounds).writing(&[1, 2]))
        .with(variant("no-wait", "a reader looks before the READ has ended", Unsound, no_wait, bounds).writing(&[1, 2]))
        .with(variant("first-line", "a reader asks the first line only", Unsound, first_line, bounds).writing(&[1, 2]))
        .with(variant("no-lock", "a writer does not lock", Unsound, no_lock, &[(3, 2, 1)]).writing(&[1, 2]))
}
