//! Sequential objects made concurrent: some words and the effect of each call on them, wrapped in a node lock.
//!
//! SYNC §5, last remark: what Theorem 4 does for words, the lock does for every object. The specification is
//! linearisability, stated as for RDMA-SC-RMW: all calls of an object have one order, and each call finds the
//! state that the previous one left. A counter, a queue and a map are given; another object is an `impl`
//! [`Sequential`].

use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::rewrite::edit::Edited;
use mowgli_core::term::method::{self, Method};
pub use mowgli_core::term::shape::Case;
use mowgli_core::term::shape::{CasesTerm, WritesTerm};
use mowgli_rdma::wait::{Method as Wait, WAIT};

use crate::entry::few_calls;
use crate::lock::{self, Method as Nlock};
use crate::nlock::{self, NLOCK};
use crate::prelude::*;
use crate::sc_rmw;

/// A sequential object whose state is some words.
pub trait Sequential: Send + Sync {
    /// The library's name.
    fn name(&self) -> &'static str;

    /// The methods, each of an object and values.
    fn methods(&self) -> &'static [Method];

    /// The words to begin with.
    fn start(&self) -> Vec<Val>;

    /// Returns the fault of a call with these arguments, the object first, that no program may make. By default `None`.
    fn fault(&self, method: &str, args: &[Val]) -> Option<String> {
        let _ = (method, args);
        None
    }

    /// Returns the effect of a method on the words, given its arguments, the object first. The first case whose condition
    /// holds counts; a call for which none holds cannot happen. A Rust function of the words is an [`Opaque`] expression,
    /// with which `check` works and `prove` has no template.
    ///
    /// [`Opaque`]: mowgli_core::expr::Opaque
    fn cases(&self, method: &str, words: &[Expr], args: &[Expr]) -> Vec<Case>;

    /// Returns the calls of an object for generated clients: by default every method with all of these values.
    fn calls(&self, x: Loc, values: &[Val]) -> Vec<Call> {
        let library = Name::literal(self.name());
        let of = |m: &Method| {
            let args = std::iter::repeat_n(values.iter().copied(), m.takes.len() - 1).multi_cartesian_product();
            let call = |args: Vec<Val>| Call::new(library, m.name, &[&[Val::Loc(x)], &args[..]].concat());
            args.map(call).collect::<Vec<_>>()
        };
        self.methods().iter().flat_map(of).collect()
    }
}

methods! {
    /// Calls of a counter.
    pub enum OfCounter of COUNTER = "counter" {
        /// `Inc(x)` returns the number and adds one.
        fn inc = Inc(x: Object) -> Value;
        /// `Get(x)` returns the number.
        fn get = Get(x: Object) -> Value, looks;
    }
}

/// A counter: `Inc` returns the number and adds one, `Get` returns it.
#[derive(Clone, Copy, Debug)]
pub struct Counter;

impl Sequential for Counter {
    fn name(&self) -> &'static str {
        COUNTER.text()
    }

    fn methods(&self) -> &'static [Method] {
        OfCounter::TABLE
    }

    fn start(&self) -> Vec<Val> {
        vec![Val::Int(0)]
    }

    fn cases(&self, method: &str, words: &[Expr], _: &[Expr]) -> Vec<Case> {
        let number = words[0];
        vec![match method {
            "Inc" => Case::new(number.int().is(number), &[(0, number + 1)], number),
            _ => Case::new(true, &[], number),
        }]
    }
}

methods! {
    /// Calls of a queue.
    pub enum OfQueue of QUEUE = "queue" {
        /// `Enq(x, v)` returns whether there was room.
        fn enq = Enq(x: Object, v: Value) -> Bool, fails;
        /// `Deq(x)` returns the oldest value or bottom.
        fn deq = Deq(x: Object) -> Value, fails;
    }
}

/// A queue of bounded size: `Enq(v)` returns whether there was room, `Deq` returns the oldest value or bottom.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// The largest number of values in the queue.
    pub room: usize,
}

impl Sequential for Queue {
    fn name(&self) -> &'static str {
        QUEUE.text()
    }

    fn methods(&self) -> &'static [Method] {
        OfQueue::TABLE
    }

    fn start(&self) -> Vec<Val> {
        vec![Val::Bot; self.room]
    }

    fn fault(&self, method: &str, args: &[Val]) -> Option<String> {
        let is_nothing = method == "Enq" && args[1] == Val::Bot;
        is_nothing.then(|| format!("bot is no value of {}: it stands for room", args[0]))
    }

    fn cases(&self, method: &str, words: &[Expr], args: &[Expr]) -> Vec<Case> {
        let all = words.iter().enumerate();
        match method {
            "Enq" => {
                let cases = all.map(|(place, word)| Case::new(word.is(Val::Bot), &[(place, args[1])], true));
                cases.chain([Case::new(true, &[], false)]).collect()
            }
            _ => {
                let later = words.iter().copied().skip(1).chain([Val::Bot.into()]);
                vec![Case::new(true, &later.enumerate().collect::<Vec<_>>(), words[0])]
            }
        }
    }
}

methods! {
    /// Calls of a map.
    pub enum OfMap of MAP = "map" {
        /// `Insert(x, key, v)` if the key, 0, has no value; returns whether it had none.
        fn insert = Insert(x: Object, key: Value, v: Value) -> Bool, fails;
        /// `Update(x, key, v)` if the key has a value; returns whether it had one.
        fn update = Update(x: Object, key: Value, v: Value) -> Bool, fails;
        /// `Delete(x, key)` if the key has a value; returns whether it had one.
        fn delete = Delete(x: Object, key: Value) -> Bool, fails;
        /// `Lookup(x, key)`: the value or bottom.
        fn lookup = Lookup(x: Object, key: Value) -> Value, looks;
    }
}

/// A map from the keys `0..keys`. `Insert(k, v)` needs a key without a value, `Update(k, v)` and `Delete(k)` one with a
/// value; they return whether they succeeded. `Lookup(k)` returns the value or bottom.
#[derive(Clone, Copy, Debug)]
pub struct Map {
    /// The number of keys: a key is a number below it.
    pub keys: usize,
}

impl Sequential for Map {
    fn name(&self) -> &'static str {
        MAP.text()
    }

    fn methods(&self) -> &'static [Method] {
        OfMap::TABLE
    }

    fn start(&self) -> Vec<Val> {
        vec![Val::Bot; self.keys]
    }

    fn fault(&self, method: &str, args: &[Val]) -> Option<String> {
        let is_key = args[1].int().is_some_and(|key| (0..self.keys as i64).contains(&key));
        let is_nothing = matches!(method, "Insert" | "Update") && args[2] == Val::Bot;
        match (is_key, is_nothing) {
            (false, _) => Some(format!("{} is no key of {}: there is {}, from 0", args[1], args[0], self.keys)),
            (true, true) => Some(format!("bot is no value of {}: it stands for none", args[0])),
            (true, false) => None,
        }
    }

    fn cases(&self, method: &str, words: &[Expr], args: &[Expr]) -> Vec<Case> {
        let of_key = |(key, word): (usize, &Expr)| {
            let (is_key, is_free) = (args[1].is(key as i64), word.is(Val::Bot));
            let set =
                |may: Expr, v: Expr| vec![Case::new(is_key & may, &[(key, v)], true), Case::new(is_key, &[], false)];
            match method {
                "Insert" => set(is_free, args[2]),
                "Update" => set(!is_free, args[2]),
                "Delete" => set(!is_free, Val::Bot.into()),
                _ => vec![Case::new(is_key, &[], *word)],
            }
        };
        words.iter().enumerate().flat_map(of_key).collect()
    }

    fn calls(&self, x: Loc, values: &[Val]) -> Vec<Call> {
        let of_key = |key: Val| {
            let writes = values.iter().flat_map(move |&v| [OfMap::Insert { x, key, v }, OfMap::Update { x, key, v }]);
            writes.chain([OfMap::Delete { x, key }, OfMap::Lookup { x, key }])
        };
        (0..self.keys as i64).map(Val::Int).flat_map(of_key).map(Call::from).collect()
    }
}

/// The objects that are given here.
#[must_use]
pub fn objects() -> Vec<Arc<dyn Sequential>> {
    vec![Arc::new(Counter), Arc::new(Queue { room: 2 }), Arc::new(Map { keys: 1 })]
}

/// A sequential object as a library: linearisable.
#[derive(Clone)]
pub struct Linearised {
    object: Arc<dyn Sequential>,
    shapes: Shapes,
}

impl Linearised {
    /// The library of this object. A call updates its state, by its cases.
    #[must_use]
    pub fn new(object: Arc<dyn Sequential>) -> Self {
        let of = |shapes: Shapes, method: &'static Method| {
            let names: Vec<&str> = method.takes.iter().map(|(name, _)| *name).collect();
            shapes.with(object.methods(), method.name, &names, |args| {
                let (x, words) = (args[0], object.start().len());
                let cases = |words: &[Expr]| object.cases(method.name, words, args);
                shape! { aMF: updates x => WritesTerm::Words(CasesTerm::new(words, cases)) }
            })
        };
        let shapes = object.methods().iter().fold(Shapes::default(), of);
        Self { object, shapes }
    }
}

impl Library for Linearised {
    fn name(&self) -> Name {
        Name::literal(self.object.name())
    }

    fn methods(&self) -> &'static [Method] {
        self.object.methods()
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        let fault = method::fault(world, thread, call, self.object.methods());
        fault.or_else(|| self.object.fault(call.method.text(), &call.args))
    }

    fn initial(&self) -> Initial {
        Initial::Value(Val::tuple(&self.object.start()))
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(&self.shapes)
    }

    /// As for RDMA-SC-RMW: `so = po u rf u mo u rb`. Every call is an update, so rf goes from each to the next.
    fn spec(&self) -> Spec {
        sc_rmw::sequentially_consistent()
    }
}

impl Hints for Linearised {
    fn wrong_shape(&self, _: &World, event: &Event) -> Option<String> {
        let words: Vec<Expr> = self.object.start().into_iter().map(Expr::from).collect();
        let args: Vec<Expr> = event.call.args.iter().map(|v| (*v).into()).collect();
        let cases = self.object.cases(event.call.method.text(), &words, &args);
        let missing = cases.iter().flat_map(|case| &case.words).find(|(k, _)| *k >= words.len());
        missing.map(|(k, _)| format!("a case changes word {k}, and there are {}, from word 0 on", words.len()))
    }

    fn equivariance(&self) -> Equivariance {
        Equivariance::Names
    }
}

/// The implementation over NLOCK and RDMA-WAIT-RMW: get the words, apply, put those that changed, all under the lock.
#[derive(Clone)]
pub struct LinearisedOverNlock {
    object: Arc<dyn Sequential>,
    parts: Parts,
    bodies: Bodies,
}

impl LinearisedOverNlock {
    /// The implementation of this object.
    #[must_use]
    pub fn new(object: Arc<dyn Sequential>) -> Self {
        let of = |bodies: Bodies, method: &'static Method| {
            let names: Vec<&str> = method.takes.iter().map(|(name, _)| *name).collect();
            bodies.with(object.methods(), method.name, &names, |args| body_of(&object, method.name, args))
        };
        let bodies = object.methods().iter().fold(Bodies::default(), of);
        let start = (0_i64..).zip(object.start());
        let parts = parts! { x =>
            lock_of(x) => ObjectTerm::new(NLOCK).at(node(x));
            (start.map(|(k, init)| PartTerm::new(word(x, k), ObjectTerm::new(WAIT).at(node(x)).init(init))));
            for t in (all_threads()) {
                for k in (range(0, object.start().len() as i64)) {
                    got(x, k, t) => ObjectTerm::new(WAIT).at(node(t));
                    put(x, k, t) => ObjectTerm::new(WAIT).at(node(t));
                }
            }
        };
        Self { object, parts, bodies }
    }
}

/// A word of the state, on the node of the object.
fn word(x: impl Into<Expr>, k: impl Into<Expr>) -> Expr {
    x.into().part("word", [k.into()])
}

/// A thread's own copy of a word for reading.
fn got(x: impl Into<Expr>, k: impl Into<Expr>, t: impl Into<Expr>) -> Expr {
    x.into().part("got", [k.into(), t.into()])
}

/// A thread's own copy of a word for writing.
fn put(x: impl Into<Expr>, k: impl Into<Expr>, t: impl Into<Expr>) -> Expr {
    x.into().part("put", [k.into(), t.into()])
}

fn lock_of(x: impl Into<Expr>) -> Expr {
    x.into().part("lock", [])
}

/// The body of a method with these arguments. The first one is the object.
fn body_of(object: &Arc<dyn Sequential>, method: &'static str, args: &[Expr]) -> Body {
    let x = args[0];
    let (words, d) = (range(0, object.start().len() as i64), x.wid("d"));
    body! {
        Nlock::acq(NLOCK, lock_of(x));
        for k in (words) { Wait::get(got(x, k, me()), word(x, k), d) }
        Wait::wait(d);
        let before = for k in (words) { Wait::read(got(x, k, me())) };
        {
            let before_each: Vec<Expr> = (0..object.start().len() as i64).map(|k| before.item(k)).collect();
            by_cases(x, &before_each, &object.cases(method, &before_each, args))
        }
    }
}

/// Puts a word that changes.
fn changes(x: Expr, k: Expr, v: Expr) -> Body {
    body! {
        Wait::write(put(x, k, me()), v);
        Wait::put(word(x, k), put(x, k, me()), Val::NoWid);
    }
}

/// The end of a body: the transition of the first case whose condition holds. If none holds, it never returns.
fn by_cases(x: Expr, before: &[Expr], cases: &[Case]) -> Body {
    let first = |last: Body, then: &dyn Fn(&Case) -> Body| {
        cases.iter().rev().fold(last, |others, case| {
            if case.when == true.into() { then(case) } else { Body::branch(case.when, then(case), others) }
        })
    };
    let put = |case: &Case| {
        // A word that is not there is an error of the library, which `wrong_shape` names.
        let there = case.words.iter().filter_map(|(k, v)| Some((*k, *v, *before.get(*k)?)));
        let changed =
            there.map(|(k, v, old)| Body::branch(v.is_not(old), changes(x, (k as i64).into(), v), Body::unit()));
        changed.rev().fold(Body::unit(), |rest, body| if rest == Body::unit() { body } else { body.then(rest) })
    };
    body! {
        first(Body::never(), &put);
        Nlock::rel(NLOCK, lock_of(x));
        first(Body::never(), &|case| case.result.into())
    }
}

impl Implementation for LinearisedOverNlock {
    fn target(&self) -> Name {
        Name::literal(self.object.name())
    }

    fn parts(&self) -> Option<&Parts> {
        Some(&self.parts)
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(&self.bodies)
    }
}

impl Subject for Linearised {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        lock::worlds(Library::name(self), empty, bound, expired)
    }

    fn calls(&self, world: &World, _: Tid, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let values: Vec<Val> = bound.values.iter().map(|&v| Val::Int(v)).collect();
        world.locations(Library::name(self)).into_iter().flat_map(|x| self.object.calls(x, &values)).collect()
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry(object: &Arc<dyn Sequential>) -> Entry {
    use Expected::{Sound, Unsound};
    let published = LinearisedOverNlock::new(Arc::clone(object));
    let over = |name, about, expected, edited: Edited| variant(name, about, expected, edited, &[(2, 2, 2)]);
    let no_lock = published.clone().without(calls!((Nlock::Acq { .. } | Nlock::Rel { .. })));
    let no_wait = published.clone().without(calls!(Wait::Wait { .. }));
    let release_first = published.clone().delay(calls!((Wait::Write { .. } | Wait::Put { .. })));
    let library = Linearised::new(Arc::clone(object));
    let variants = vec![
        variant("published", "SYNC §5, last remark", Sound, published, &[(2, 2, 2)]),
        over("no-lock", "nothing is locked", Unsound, no_lock),
        over("no-wait", "the words are used before they have come", Unsound, no_wait),
        over("release-first", "the lock is released before the words are put", Unsound, release_first),
    ];
    let variants = variants.into_iter().map(|variant| variant.and(Bound { nodes: 1, ..few_calls() })).collect();
    Entry::new(Memory::rdma_wait(), library, Libraries::over(to).with(nlock::LIBRARY).with(Wait), variants)
}
