//! FaRM's objects: a version in each line, and one READ of all lines. It holds if the versions agree and the line is
//! not locked.
//!
//! Promises a register of two words that is read whole, and whose reads and writes are ordered like those of one word.
//! Published as FaRM (Dragojevic et al., NSDI 2014). Assumes that a line is read and written whole; here a line is a
//! word, with version and data. The lines of a READ may come in any order. A write changes the locked line last. Left
//! open: how a writer keeps what it sends. Here a write waits at its end.

use mowgli_libraries::prelude::*;
use mowgli_rdma::Way;

use crate::shared::{SharedLibrary, at_home, fetch, found, got_from, of_threads, own, put_there, register, whole};

methods! {
    enum Method of FARM = "farm" {
        /// Writes v into both lines.
        fn write = Write(x: Object, v: Value);
        /// Returns the value of both lines, or the pair of them if they differ.
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

/// The factor of the version in a line, to which the data is added. A version is odd while the line is locked.
const VERSION: i64 = 100;

fn version(line: Expr) -> Expr {
    line.int() / VERSION
}

fn data(line: Expr) -> Expr {
    line.int() % VERSION
}

fn is_free(line: Expr) -> Expr {
    (version(line) % 2).is(0)
}

fn agree(one: Expr, two: Expr) -> Expr {
    version(one).is(version(two)) & is_free(one)
}

fn write_lines(x: Expr, v: Expr) -> Body {
    let (a, b, d, [p, q]) = (x.part("a", []), x.part("b", []), x.wid("d"), ["p", "q"].map(|role| own(x, role)));
    body! {
        let line = loop {
            let line = fetch(p, a, d);
            if (is_free(line)) {
                let seen = found(p, a, line, line + VERSION, d);
                if (seen == line) { break line }
            }
        };
        Rdma::write(q, line.int() - data(line) + 2 * VERSION + v);
        Rdma::put(b, q, d);
        Rdma::put(a, q, d);
        Rdma::wait(d)
    }
}

fn read_lines(x: Expr, holds: fn(Expr, Expr) -> Expr) -> Body {
    let (lines, d, [p, q]) = (["a", "b"].map(|role| x.part(role, [])), x.wid("d"), ["p", "q"].map(|role| own(x, role)));
    body! {
        loop {
            Rdma::get_words(Way::USUAL, Expr::tuple([p, q]), Expr::tuple(lines), d);
            Rdma::wait(d);
            let one = Rdma::read(p);
            let two = Rdma::read(q);
            if (holds(one, two)) { let v = whole(data(one), data(two)); break v }
        }
    }
}

/// Makes the bodies, with the condition that a reader checks on the lines.
fn bodies(holds: fn(Expr, Expr) -> Expr) -> Bodies {
    bodies! { Method:
        Write { x, v } => { write_lines(x, v) }
        Read { x } => { read_lines(x, holds) }
    }
}

/// Returns the published variant, and broken ones that checks have to refute.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 1), (1, 2, 2)];
    let asking = |holds| {
        let over = Over::<Method>::terms(bodies(holds));
        let over = ["a", "b"].into_iter().fold(over, |over, role| over.with_parts(at_home(role)));
        ["p", "q"].into_iter().fold(over, |over, role| over.with_parts(of_threads(role, 0)))
    };
    let (farm, first_line) = (asking(agree), asking(|one, _| is_free(one)));
    let no_wait = farm.clone().without(calls!(Rdma::Wait { d } in Method::Read { x } if d == x.wid("d")));
    let no_lock = farm.clone().without(calls!(Rdma::RCAS { .. }));
    Entry::rdma(SharedLibrary::<Method>::on_a_node(call_shapes(), register), Wait)
        .with(variant("published", "lines are read in no order", Sound, farm, bounds).writing(&[1, 2]))
        .with(variant("no-wait", "a reader looks before the READ has ended", Unsound, no_wait, bounds).writing(&[1, 2]))
        .with(variant("first-line", "a reader asks the first line only", Unsound, first_line, bounds).writing(&[1, 2]))
        .with(variant("no-lock", "a writer does not lock", Unsound, no_lock, &[(3, 2, 1)]).writing(&[1, 2]))
}
