//! Sherman's page: a lock in the network card's memory, page and release in one batch, and a version at either end of the page.
//!
//! Promises a page of two words that is read whole, and whose reads and writes are as ordered as those of one word. Published as Sherman
//! (Wang et al., SIGMOD 2022; thustorage/Sherman). Assumes that WRITEs of one queue pair are done in order, into whichever memory of
//! the node, and a page in order of its addresses, so it is over RDMA-WAIT-RMW with increasing addresses; and, as is found here, that
//! a READ does not follow that order. Left out: the tree, and the tables of waiting threads.

use mowgli_libraries::prelude::*;
use mowgli_rdma::Way;
use mowgli_rdma::wait::row;

use crate::shared::{
    Kind, at_home, fetch, got_from, in_order_of_addresses, next, of_threads, own, put_there, register, whole,
};

methods! {
    enum Method of SHERMAN = "sherman" {
        /// Writes v into both words of the page.
        fn write = Write(x: Object, v: Value);
        /// What both words are; they are a pair if they differ.
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

/// The words of a page, in order of addresses, and its lock.
const PAGE: [&str; 5] = ["front", "a", "b", "rear", "lock"];

fn write_page(x: Loc, t: Tid, v: Val) -> Prog {
    let ([front, a, b, rear, lock], d) = (PAGE.map(|role| x.part(role)), Val::Wid(x.wid("d")));
    let [p, q, free] = ["p", "q", "free"].map(|role| own(x, role, t));
    prog! {
        loop {
            wait::rcas(p, lock, 0, 1, d);
            wait::wait(d);
            let found = wait::read(p);
            if (found == Val::Int(0)) { break }
        };
        let k = fetch(p, front, d);
        wait::write(p, next(k));
        wait::write(q, v);
        wait::put_words(Way::USUAL, row(&[front, a, b, rear]), row(&[p, q, q, p]), d);
        wait::put(lock, free, d);
        wait::wait(d)
    }
}

/// Reads the page by one READ, until both versions agree.
fn read_at_once(x: Loc, t: Tid) -> Prog {
    let ([front, a, b, rear, _], d) = (PAGE.map(|role| x.part(role)), Val::Wid(x.wid("d")));
    let [p, q, r, s] = ["p", "q", "r", "s"].map(|role| own(x, role, t));
    prog! {
        loop {
            wait::get_words(Way::USUAL, row(&[p, q, r, s]), row(&[front, a, b, rear]), d);
            wait::wait(d);
            let one = wait::read(p);
            let a = wait::read(q);
            let b = wait::read(r);
            let other = wait::read(s);
            if (one == other) { let v = whole(a, b); break v }
        }
    }
}

/// Reads the page word by word in this order, until both versions agree.
fn read_page(x: Loc, t: Tid, [first, second, third, fourth]: [&'static str; 4]) -> Prog {
    let (p, d) = (own(x, "p", t), Val::Wid(x.wid("d")));
    prog! {
        loop {
            let one = fetch(p, x.part(first), d);
            let a = fetch(p, x.part(second), d);
            let b = fetch(p, x.part(third), d);
            let other = fetch(p, x.part(fourth), d);
            if (one == other) { let v = whole(a, b); break v }
        }
    }
}

fn body(_: &World, t: Tid, method: Method) -> Prog {
    match method {
        Method::Write { x, v } => write_page(x, t, v),
        Method::Read { x } => read_at_once(x, t),
    }
}

/// As published, which is to be caught; read from its end; and what is to be caught beside that.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 1), (1, 2, 2)];
    let over =
        ["p", "q", "r", "s", "free"].into_iter().fold(Over::new(body), |over, role| over.parts(of_threads(role, 0)));
    let published = PAGE.map(at_home).into_iter().fold(over, Over::parts);
    let backwards = published.clone().around("a page is read from its end", |here, _| {
        let Method::Read { x } = Method::of(&here.call) else { return None };
        Some(read_page(x, here.thread, ["rear", "b", "a", "front"]))
    });
    let no_versions = published.clone().around("the versions are not compared", |here, _| {
        let Method::Read { x } = Method::of(&here.call) else { return None };
        Some(read_page(x, here.thread, ["rear", "b", "a", "rear"]))
    });
    let no_lock = backwards.clone().without_loops(calls!(Rdma::RCAS { .. }));
    in_order_of_addresses(Kind::on_a_node(shape, register))
        .with(
            variant("published", "a page is read from its beginning, as it is written", Unsound, published, bounds)
                .writing(&[1, 2]),
        )
        .with(variant("backwards", "a page is read from its end", Sound, backwards, bounds).writing(&[1, 2]))
        .with(variant("no-versions", "the versions are not compared", Unsound, no_versions, bounds).writing(&[1, 2]))
        .with(variant("no-lock", "pages are written without the lock", Unsound, no_lock, &[(3, 2, 1)]).writing(&[1, 2]))
}
