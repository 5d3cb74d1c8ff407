//! RDMA-SC-RMW: sequentially consistent words for everybody, with compare-and-swap and fetch-and-add.
//!
//! SYNC §5, Theorem 4: each word is guarded by a node lock beside it. Locations have no node for a client.

use std::sync::LazyLock;

use itertools::Itertools;
use mowgli_core::term::method;
use mowgli_core::world::{DeclarationForm, DeclarationPart};
use mowgli_rdma::wait::{Method as Wait, WAIT};

use crate::entry::{bound, few_calls};
use crate::lock::{self, Method as Locks};
use crate::nlock::{self, NLOCK};
use crate::prelude::*;

methods! {
    /// Calls of a sequentially consistent word.
    pub enum Method of SC_RMW = "sc-rmw" {
        /// `Write(x, v)`.
        fn write = Write(x: Object, v: Value);
        /// `Read(x)`.
        fn read = Read(x: Object) -> Value;
        /// `CAS(x, v1, v2)`, which returns the old value.
        fn cas = CAS(x: Object, v1: Value, v2: Value) -> Value;
        /// `FAA(x, v)`, which returns the old value.
        fn faa = FAA(x: Object, v: Value) -> Value;
    }
}

/// RDMA-SC-RMW as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScRmw;

impl Library for ScRmw {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm { kind: "sc", parts: &[DeclarationPart::Init, DeclarationPart::Home] })
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method:
            Write { x, v } => { aMF: writes x, v }
            Read { x } => { aMF: reads x, ret() }
            CAS { x, v1, v2 } => { if (ret().is(v1)) { aMF: updates x, ret() => v2 } else { aMF: reads x, ret() } }
            FAA { x, v } => { aMF: updates x, ret() => plus(v) }
        })
    }

    fn spec(&self) -> Spec {
        sequentially_consistent()
    }
}

impl Hints for ScRmw {
    fn is_remembered(&self, _: &Call) -> bool {
        false
    }

    fn only_looks(&self, event: &Event) -> bool {
        match Method::of(&event.call) {
            Method::Read { .. } => true,
            Method::CAS { v1, .. } => event.ret != v1,
            Method::Write { .. } | Method::FAA { .. } => false,
        }
    }

    fn equivariance(&self) -> Equivariance {
        Equivariance::NamesAndData
    }
}

/// Reads-from and one order of the writes of each cell, all compatible with po: `so = po u rf u mo u rb`.
pub(crate) fn sequentially_consistent() -> Spec {
    spec! {
        let rf, mo, rb = coherence;
        so = po | rf | mo | rb;
    }
}

/// The implementation over NLOCK and RDMA-WAIT-RMW.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScRmwOverNlock;

/// The word on its node.
fn word(x: impl Into<Expr>) -> Expr {
    x.into().part("word", [])
}

/// The lock beside it.
fn lock_of(x: impl Into<Expr>) -> Expr {
    x.into().part("lock", [])
}

/// A thread's own copy for reading.
fn got(x: impl Into<Expr>, t: impl Into<Expr>) -> Expr {
    x.into().part("got", [t.into()])
}

/// A thread's own copy for writing.
fn put(x: impl Into<Expr>, t: impl Into<Expr>) -> Expr {
    x.into().part("put", [t.into()])
}

/// `inside` under the lock of an object.
fn locked(x: Expr, inside: Body) -> Body {
    body! { Locks::acq(NLOCK, lock_of(x)); inside; Locks::rel(NLOCK, lock_of(x)) }
}

/// `get` under the lock of an object, and then the value that it got.
fn result(x: Expr, get: Body) -> Body {
    body! { locked(x, get); Wait::wait(x.wid("d")); Wait::read(got(x, me())) }
}

impl Implementation for ScRmwOverNlock {
    fn target(&self) -> Name {
        SC_RMW
    }

    fn parts(&self) -> Option<&Parts> {
        Some(parts! { static x =>
            word(x) => ObjectTerm::new(WAIT).at(node(x)).init(initial(x));
            lock_of(x) => ObjectTerm::new(NLOCK).at(node(x));
            for t in (all_threads()) {
                got(x, t) => ObjectTerm::new(WAIT).at(node(t));
                put(x, t) => ObjectTerm::new(WAIT).at(node(t));
            }
        })
    }

    fn bodies(&self) -> Option<&Bodies> {
        static BODIES: LazyLock<Bodies> = LazyLock::new(|| {
            let (got, put) = (|x: Expr| got(x, me()), |x: Expr| put(x, me()));
            bodies! { Method:
                Write { x, v } => {
                    locked(x, body! { Wait::write(put(x), v); Wait::put(word(x), put(x), Val::NoWid) })
                }
                Read { x } => { result(x, Wait::get(got(x), word(x), x.wid("d"))) }
                CAS { x, v1, v2 } => { result(x, Wait::rcas(got(x), word(x), v1, v2, x.wid("d"))) }
                FAA { x, v } => { result(x, Wait::rfaa(got(x), word(x), v, x.wid("d"))) }
            }
        });
        Some(&BODIES)
    }
}

/// A CAS is a read and then a write, each under the lock.
fn cas_as_read_write(all: &impl Edits) -> Bodies {
    bodies! { Method:
        CAS { x, v1, v2 } => {
            let v = all.inlined(&Method::read(x));
            if (v == v1) { all.inlined(&Method::write(x, v2)) }
            v
        }
    }
}

impl Subject for ScRmw {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        lock::worlds(SC_RMW, empty, bound, expired)
    }

    /// A CAS compares with the initial value, too, because a word has that until it is written.
    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        let values = |name: &str, x: Option<Loc>| {
            let first = x.filter(|_| name == "v1").map(|x| self.initial().at(world, x.on(Node(1))));
            first.into_iter().chain(bound.values.iter().map(|&v| Val::Int(v))).unique().collect()
        };
        method::calls_with(SC_RMW, Method::TABLE, world, thread, &values, expired)
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(3, 2, 1)];
    let published = ScRmwOverNlock;
    // The other calls with a result do not wait either.
    let read_no_wait = published.without(calls!(Wait::Wait { .. }));
    let write_no_lock = published.without(calls!((Locks::Acq { .. } | Locks::Rel { .. }) in Method::Write { .. }));
    let in_two_steps = published.with("a CAS is a Read and a Write", &cas_as_read_write(&published));
    let writes_two = published.replace(calls!(Wait::RCAS { x, y, v1, d, .. } => Wait::rcas(x, y, v1, 2, d)));
    let with_zero = published.replace(calls!(Wait::RCAS { x, y, v2, d, .. } => Wait::rcas(x, y, 0, v2, d)));
    let adds_one = published.replace(calls!(Wait::RFAA { x, y, d, .. } => Wait::rfaa(x, y, 1, d)));
    let variants = vec![
        variant("published", "SYNC §5", Sound, published, bounds),
        variant("read-no-wait", "a result is read before it has come", Unsound, read_no_wait, bounds),
        variant("write-no-lock", "a write does not take the lock", Unsound, write_no_lock, bounds),
        variant("cas-as-read-write", "a CAS in two steps", Unsound, in_two_steps, bounds),
        variant("cas-writes-two", "a CAS writes 2 always", Unsound, writes_two, bounds),
        variant("cas-with-zero", "a CAS compares with 0 always", Unsound, with_zero, bounds),
        variant("faa-adds-one", "an FAA adds 1 always", Unsound, adds_one, bounds),
    ];
    let all_bounds = |variant: Variant| variant.and(few_calls()).thoroughly(bound(2, 2, 2));
    let mut variants: Vec<Variant> = variants.into_iter().map(all_bounds).collect();
    // Three calls with two values have ten times the clients of those with one. A wrong value shows in two calls of one thread.
    variants[0].bounds = vec![bound(3, 2, 1), Bound { values: vec![1], ..few_calls() }];
    variants[0].bounds.push(Bound { values: vec![1, 2], ..bound(1, 2, 2) });
    variants[0].thorough.insert(0, few_calls());
    Entry::new(Memory::rdma_wait(), ScRmw, Libraries::over(to).with(nlock::LIBRARY).with(Wait), variants)
}
