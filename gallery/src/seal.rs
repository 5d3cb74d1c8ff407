//! A log of one writer that is sealed once the writer has died: entries, then a tail that moves by compare-and-swap.
//!
//! Promises that Seal finds the last entry whole, and that nobody finds another one afterwards, whatever of the dead writer is still
//! under way. So CORFU (Balakrishnan et al., NSDI 2012) seals its storage before it recovers from it; DARE and Mu close the dead leader's
//! connection instead. Assumes that entry and tail go over one queue pair, and that all change the tail by the card. That the writer
//! is dead says only that it makes no more calls: what it issued may arrive later, or never.

use mowgli_libraries::prelude::*;
use mowgli_rdma::crash;

use crate::shared::{
    Kind, Role, by_second, fetch, found, is_part, next, of_threads, own, place, places, readers, whole, with_crashes,
};

methods! {
    enum Method of SEAL = "seal" {
        /// The writer appends v.
        fn append = Append(x: Object, v: Value);
        /// Seals the log once the writer has stopped: its last entry, or 0.
        fn seal = Seal(x: Object) -> Value;
        /// The last entry, or 0.
        fn last = Last(x: Object) -> Value;
    }
}

fn role(method: Method) -> Option<Role> {
    Some(if matches!(method, Method::Append { .. }) { Role::Writer } else { Role::Reader })
}

/// The log is on the node of its first reader.
fn home(world: &World, x: Loc) -> Node {
    readers(world, x).iter().next().expect("somebody reads")
}

/// Append {aNRW_n}, Seal {aMF}, Last {aCR}.
fn shape(world: &World, event: &Event, method: Method) -> Shape {
    let log = |x: Loc| x.on(home(world, x));
    [match method {
        Method::Append { x, v } => Sub::write(aNRW(home(world, x).into()), log(x), v),
        Method::Seal { x } => Sub::read(aMF, log(x), event.ret),
        Method::Last { x } => Sub::read(aCR, log(x), event.ret),
    }]
    .into()
}

/// A register of which whoever seals it finds the last write: so = rf u rb u mo, [aMF]; rb is empty.
fn spec(c: &mut Spec) {
    let [rf, mo, rb] = c.coherence();
    c.empty("sealed", &rb.between(&stamped(aMF), &writes()));
    c.so([&rf, &rb, &mo]);
}

/// What the tail is once it is sealed; it is sealed once.
fn sealed(tail: Val) -> Val {
    if matches!(tail, Val::Tuple(_)) { tail } else { Val::tuple(&[tail, Val::Bool(true)]) }
}

/// The last entry, where this is the tail: both its words, or 0 if there is none.
fn entry_of(x: Loc, n: Node, p: Loc, tail: Val, d: Val) -> Prog {
    let count = if let Val::Tuple(sealed) = tail { sealed.parts()[0] } else { tail };
    let at = move |role| place(x, role, n, count.plus(-1).unwrap_or(count));
    prog! {
        if (count == Val::Int(0)) { Prog::Val(count) } else {
            let a = fetch(p, at("first"), d);
            let b = fetch(p, at("second"), d);
            whole(a, b)
        }
    }
}

fn body(world: &World, t: Tid, method: Method) -> Prog {
    let (Method::Append { x, .. } | Method::Seal { x } | Method::Last { x }) = method;
    let (n, here, owner, tail) = (home(world, x), world.node_of(t), world.objects[&x].members[0], x.part("tail"));
    let (count, p, q, d) = (own(x, "count", t), own(x, "p", t), own(x, "q", t), Val::Wid(x.wid("d")));
    let source = move |k| place(x, "source", here, k);
    match method {
        Method::Append { v, .. } => prog! {
            let k = wait::read(count);
            wait::write(source(k), v);
            wait::write(count, next(k));
            wait::put(place(x, "first", n, k), source(k), Val::NoWid);
            wait::put(place(x, "second", n, k), source(k), Val::NoWid);
            wait::rcas(q, tail, k, next(k), Val::NoWid)
        },
        Method::Seal { .. } => prog! {
            crash::dead(owner);
            let old = loop {
                let old = fetch(p, tail, d);
                let seen = found(p, tail, old, sealed(old), d);
                if (seen == old) { break old }
            };
            entry_of(x, n, p, old, d)
        },
        Method::Last { .. } => prog! { let now = fetch(p, tail, d); entry_of(x, n, p, now, d) },
    }
}

/// As published, and what is to be caught.
#[must_use]
pub fn entry() -> Entry {
    let seal = ["count", "p", "q"].into_iter().fold(Over::new(body), |over, role| over.parts(of_threads(role, 0)));
    let seal = seal.parts(places(&["first", "second", "source"]));
    let seal = seal.parts(|world, x| vec![(x.part("tail"), wait::word(home(world, x)))]);
    // The dead writer's tail overwrites what sealed it.
    let by_put = seal.clone().replace(calls!(|here| Rdma::RCAS { y, .. } in Method::Append { x, .. } =>
        wait::put(y, own(x, "count", here.thread), Val::NoWid)));
    let tail_first = seal.clone().swap(calls!(Rdma::Put { x, .. } if is_part(x, "second")));
    let unsealed =
        seal.clone().replace(calls!(Rdma::RCAS { x: p, y, d, .. } in Method::Seal { .. } => wait::get(p, y, d)));
    let second = seal.clone().replace(by_second("second"));
    with_crashes(Kind::to_readers(role, shape, spec).whose_writer_crashes())
        .published(seal, &[(2, 2, 2)])
        .broken("by-put", by_put)
        .broken("tail-first", tail_first)
        .broken("unsealed", unsealed)
        .broken("second-queue-pair", second)
        .crashing(3)
}
