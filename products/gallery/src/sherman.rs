//! Sherman's page: a lock in the network card's memory, page and release in one batch, and a version at either end of
//! the page.
//!
//! Promises a page of two words that is read whole, and whose reads and writes are ordered like those of one word.
//! Published as Sherman (Wang et al., SIGMOD 2022; thustorage/Sherman). Assumes that WRITEs of one queue pair are done
//! in order, in any memory of the node. Also assumes that a page is written in order of its addresses. So this is over
//! RDMA-WAIT-RMW with increasing addresses. As the check finds, it also assumes that a READ does not follow that order.
//! Left out: the tree, and the tables of waiting threads.

use mowgli_libraries::prelude::*;
use mowgli_rdma::Way;

use crate::shared::{
    SharedLibrary, at_home, fetch, found, got_from, in_order_of_addresses, of_threads, own, put_there, register, whole,
};

methods! {
    enum Method of SHERMAN = "sherman" {
        /// Writes v into both words of the page.
        fn write = Write(x: Object, v: Value);
        /// Returns the value of both words, or the pair of them if they differ.
        fn read = Read(x: Object) -> Value;
    }
}

/// Write {aNRW_n}, Read {aCR}.
fn call_shapes() -> &'static Shapes {
    shapes! { Method:
        Write { x, v } => { (put_there(x, v)) }
        Read { x } => { (got_from(x)) }
    }
}

/// The words of a page, in order of addresses, and its lock.
const PAGE: [&str; 5] = ["front", "a", "b", "rear", "lock"];

fn write_page(x: Expr, v: Expr) -> Body {
    let ([front, a, b, rear, lock], d) = (PAGE.map(|role| x.part(role, [])), x.wid("d"));
    let [p, q, free] = ["p", "q", "free"].map(|role| own(x, role));
    body! {
        loop {
            let seen = found(p, lock, 0, 1, d);
            if (seen == 0) { break }
        }
        let k = fetch(p, front, d);
        Rdma::write(p, k + 1);
        Rdma::write(q, v);
        Rdma::put_words(Way::USUAL, Expr::tuple([front, a, b, rear]), Expr::tuple([p, q, q, p]), d);
        Rdma::put(lock, free, d);
        Rdma::wait(d)
    }
}

/// Reads the page by one READ, until both versions agree.
fn read_at_once(x: Expr) -> Body {
    let ([front, a, b, rear, _], d) = (PAGE.map(|role| x.part(role, [])), x.wid("d"));
    let [p, q, r, s] = ["p", "q", "r", "s"].map(|role| own(x, role));
    body! {
        loop {
            Rdma::get_words(Way::USUAL, Expr::tuple([p, q, r, s]), Expr::tuple([front, a, b, rear]), d);
            Rdma::wait(d);
            let one = Rdma::read(p);
            let a = Rdma::read(q);
            let b = Rdma::read(r);
            let other = Rdma::read(s);
            if (one == other) { let v = whole(a, b); break v }
        }
    }
}

/// Reads the page word by word in this order, until both versions agree.
fn read_page(x: Expr, order: [&'static str; 4]) -> Body {
    let (p, d, [first, second, third, fourth]) = (own(x, "p"), x.wid("d"), order.map(|role| x.part(role, [])));
    body! {
        loop {
            let one = fetch(p, first, d);
            let a = fetch(p, second, d);
            let b = fetch(p, third, d);
            let other = fetch(p, fourth, d);
            if (one == other) { let v = whole(a, b); break v }
        }
    }
}

fn bodies() -> Bodies {
    bodies! { Method:
        Write { x, v } => { write_page(x, v) }
        Read { x } => { read_at_once(x) }
    }
}

/// Makes a body that reads the page word by word in this order.
fn reading(order: [&'static str; 4]) -> Bodies {
    bodies! { Method: Read { x } => { read_page(x, order) } }
}

/// Returns the published variant, which is unsound; one that reads from the end, which is sound; and broken ones.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 1), (1, 2, 2)];
    let over = ["p", "q", "r", "s", "free"]
        .into_iter()
        .fold(Over::<Method>::terms(bodies()), |over, role| over.with_parts(of_threads(role, 0)));
    let published = PAGE.map(at_home).into_iter().fold(over, Over::with_parts);
    let backwards = published.clone().with("a page is read from its end", &reading(["rear", "b", "a", "front"]));
    let no_versions = published.clone().with("the versions are not compared", &reading(["rear", "b", "a", "rear"]));
    let no_lock = backwards.clone().without_loops(calls!(Rdma::RCAS { .. }));
    in_order_of_addresses(SharedLibrary::<Method>::on_a_node(call_shapes(), register))
        .with(
            variant("published", "a page is read from its beginning, as it is written", Unsound, published, bounds)
                .writing(&[1, 2]),
        )
        .with(variant("backwards", "a page is read from its end", Sound, backwards, bounds).writing(&[1, 2]))
        .with(variant("no-versions", "the versions are not compared", Unsound, no_versions, bounds).writing(&[1, 2]))
        .with(variant("no-lock", "pages are written without the lock", Unsound, no_lock, &[(3, 2, 1)]).writing(&[1, 2]))
}
