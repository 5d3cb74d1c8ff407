//! Sequential objects made concurrent: any Rust value with an `apply` function, wrapped in a node lock.
//!
//! SYNC §5, last remark: what Theorem 4 does for words, the lock does for every object. The specification is
//! linearisability, stated as for RDMA-SC-RMW: there is one order of all calls of an object, and each call finds the
//! state that the one before it left. A counter, a queue and a map are given; another object is an
//! `impl` [`Sequential`].

use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::algebra::Spec;
use mowgli_core::edit::{Edited, Edits, calls};
use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::library::{Libraries, Library};
use mowgli_core::method::{Method, methods};
use mowgli_core::program::{Prog, prog};
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_rdma::stamp::RdmaStamp::aMF;
use mowgli_rdma::to;
use mowgli_rdma::wait::{self, Method as Wait};

use crate::entry::{Entry, Expected, Memory, few_calls, variant};
use crate::lock::{self, Method as Locks, acq, home, rel};
use crate::nlock::{self, NLOCK};
use crate::sc_rmw;

/// A sequential object whose state is some words.
pub trait Sequential: Send + Sync {
    /// The library's name.
    fn name(&self) -> &'static str;

    /// The methods, each of an object and values.
    fn methods(&self) -> &'static [Method];

    /// The words to begin with.
    fn start(&self) -> Vec<Val>;

    /// The words after a call, and its result; `None` where there is none, as of what is no number.
    fn apply(&self, words: &[Val], call: &Call) -> Option<(Vec<Val>, Val)>;

    /// Calls of an object for generated clients: by itself every method with all of these values.
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
    /// What can be done with a counter.
    pub enum OfCounter of COUNTER = "counter" {
        /// `Inc(x)` returns the number and adds one.
        fn inc = Inc(x: Object) -> Value;
        /// `Get(x)` returns the number.
        fn get = Get(x: Object) -> Value;
    }
}

/// A number: `Inc` returns it and adds one, `Get` returns it.
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

    fn apply(&self, words: &[Val], call: &Call) -> Option<(Vec<Val>, Val)> {
        Some(match OfCounter::of(call) {
            OfCounter::Inc { .. } => (vec![words[0].plus(1)?], words[0]),
            OfCounter::Get { .. } => (words.to_vec(), words[0]),
        })
    }
}

methods! {
    /// What can be done with a queue.
    pub enum OfQueue of QUEUE = "queue" {
        /// `Enq(x, v)` says whether there was room.
        fn enq = Enq(x: Object, v: Value) -> Bool;
        /// `Deq(x)` returns the oldest value or bottom.
        fn deq = Deq(x: Object) -> Value;
    }
}

/// A queue with room for so many values: `Enq(v)` says whether there was room, `Deq` returns the oldest or bottom.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// How many values there is room for.
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

    fn apply(&self, words: &[Val], call: &Call) -> Option<(Vec<Val>, Val)> {
        let mut words = words.to_vec();
        Some(match OfQueue::of(call) {
            OfQueue::Enq { v, .. } => {
                let free = words.iter().position(|&w| w == Val::Bot);
                if let Some(place) = free {
                    words[place] = v;
                }
                (words, Val::Bool(free.is_some()))
            }
            OfQueue::Deq { .. } => {
                let oldest = words.remove(0);
                words.push(Val::Bot);
                (words, oldest)
            }
        })
    }
}

methods! {
    /// What can be done with a map.
    pub enum OfMap of MAP = "map" {
        /// `Insert(x, key, v)` where there is no value; says whether it did.
        fn insert = Insert(x: Object, key: Value, v: Value) -> Bool;
        /// `Update(x, key, v)` where there is a value; says whether it did.
        fn update = Update(x: Object, key: Value, v: Value) -> Bool;
        /// `Delete(x, key)` where there is a value; says whether it did.
        fn delete = Delete(x: Object, key: Value) -> Bool;
        /// `Lookup(x, key)`: the value or bottom.
        fn lookup = Lookup(x: Object, key: Value) -> Value;
    }
}

/// A map from the keys `0..keys`: `Insert(k, v)` where there is none, `Update(k, v)` and `Delete(k)` where there is one say
/// whether they did; `Lookup(k)` returns the value or bottom.
#[derive(Clone, Copy, Debug)]
pub struct Map {
    /// How many keys there can be.
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

    fn apply(&self, words: &[Val], call: &Call) -> Option<(Vec<Val>, Val)> {
        let slot = |key: Val| usize::try_from(key.int()?).ok().filter(|&k| k < words.len());
        let set = |key: Val, may: fn(Val) -> bool, v: Val| {
            let (key, mut words) = (slot(key)?, words.to_vec());
            let done = may(words[key]);
            if done {
                words[key] = v;
            }
            Some((words, Val::Bool(done)))
        };
        match OfMap::of(call) {
            OfMap::Insert { key, v, .. } => set(key, |old| old == Val::Bot, v),
            OfMap::Update { key, v, .. } => set(key, |old| old != Val::Bot, v),
            OfMap::Delete { key, .. } => set(key, |old| old != Val::Bot, Val::Bot),
            OfMap::Lookup { key, .. } => Some((words.to_vec(), words[slot(key)?])),
        }
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
pub struct Linearised(pub Arc<dyn Sequential>);

/// The one cell of an object: its whole state.
fn state(x: Loc) -> Cell {
    Cell { loc: x, node: Node(1) }
}

impl Linearised {
    /// What a call makes of a state, and its result; `None` if `state` is none of this object.
    fn apply(&self, state: Val, call: &Call) -> Option<(Val, Val)> {
        let Val::Tuple(words) = state else { return None };
        let words = Some(words.parts()).filter(|w| w.len() == self.0.start().len())?;
        let (after, result) = self.0.apply(words, call)?;
        Some((Val::tuple(&after), result))
    }
}

impl Library for Linearised {
    fn name(&self) -> Name {
        Name::literal(self.0.name())
    }

    fn methods(&self) -> &'static [Method] {
        self.0.methods()
    }

    fn returns(&self, _: &World, _: &[Event], _: Tid, call: &Call, cells: &dyn Fn(Cell) -> Vec<Val>) -> Vec<Val> {
        let states = cells(state(call.loc(0)));
        let mut results: Vec<Val> = states.iter().filter_map(|s| Some(self.apply(*s, call)?.1)).collect();
        results.sort();
        results.dedup();
        results
    }

    fn init(&self, _: &World, _: Cell) -> Val {
        Val::tuple(&self.0.start())
    }

    /// The state after the call, if its result is that of the event.
    fn step(&self, event: &Event, read: Val) -> Option<Val> {
        let (after, result) = self.apply(read, &event.call)?;
        (result == event.ret).then_some(after)
    }

    /// {aMF} for every call.
    fn shapes(&self, _: &World, event: &Event) -> Vec<Shape> {
        let applied = Sub::update(aMF, state(event.call.loc(0)), Reads::Any, Writes::Step(0));
        vec![Shape::from([applied])]
    }

    /// As for RDMA-SC-RMW: `so = po u rf u mo u rb`. Every call is an update, so rf goes from each to the next.
    fn spec(&self) -> Spec {
        sc_rmw::sequentially_consistent()
    }
}

/// The implementation over NLOCK and RDMA-WAIT-RMW: get the words, apply, put those that changed, all under the lock.
#[derive(Clone)]
pub struct LinearisedOverNlock(pub Arc<dyn Sequential>);

/// A word of the state on its node, and a thread's own copies of it for reading and for writing.
fn places(x: Loc, word: usize, t: Tid) -> [Loc; 3] {
    [format!("word_{word}"), format!("got_{word}_{t}"), format!("put_{word}_{t}")].map(|role| x.part(role))
}

fn lock_of(x: Loc) -> Loc {
    x.part("lock")
}

fn read_all(places: &[Loc], values: Vec<Val>, next: impl Fn(Vec<Val>) -> Prog + Clone + Send + Sync + 'static) -> Prog {
    let Some((&place, rest)) = places.split_first() else { return next(values) };
    let rest = rest.to_vec();
    wait::read(place).bind(move |v| read_all(&rest, [values.as_slice(), &[v]].concat(), next.clone()))
}

impl Implementation for LinearisedOverNlock {
    fn target(&self) -> Name {
        Name::literal(self.0.name())
    }

    fn declare(&self, world: &mut World) {
        for x in world.locations(self.target()) {
            let home = home(world, x);
            world.objects.insert(lock_of(x), Object::new(NLOCK).at(home));
            for (word, init) in self.0.start().into_iter().enumerate() {
                for t in world.tids() {
                    let [on_node, r, p] = places(x, word, t);
                    let here = world.node_of(t);
                    world.objects.insert(on_node, wait::word(home).init(init));
                    world.objects.insert(r, wait::word(here));
                    world.objects.insert(p, wait::word(here));
                }
            }
        }
    }

    fn body(&self, _: &World, t: Tid, call: &Call) -> Prog {
        let x = call.loc(0);
        let d = Val::Wid(x.wid("d"));
        let places: Vec<[Loc; 3]> = (0..self.0.start().len()).map(|word| places(x, word, t)).collect();
        let copies: Vec<Loc> = places.iter().map(|[_, r, _]| *r).collect();
        let gets = Prog::all(places.iter().map(|&[on_node, r, _]| wait::get(r, on_node, d)));
        let (object, call) = (Arc::clone(&self.0), call.clone());
        let apply = move |before: Vec<Val>| {
            let Some((after, result)) = object.apply(&before, &call) else {
                return Prog::unit().repeat();
            };
            let changed = places.iter().zip(before.iter().zip(&after)).filter(|(_, (old, new))| old != new);
            let puts = changed.map(|(&[on_node, _, p], (_, &new))| {
                prog! { wait::write(p, new); wait::put(on_node, p, Val::NoWid) }
            });
            prog! { Prog::all(puts); rel(NLOCK, lock_of(x)); Prog::Val(result) }
        };
        prog! { acq(NLOCK, lock_of(x)); gets.clone(); wait::wait(d); read_all(&copies, Vec::new(), apply.clone()) }
    }
}

impl Subject for Linearised {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        lock::worlds(Library::name(self), empty, bound, expired)
    }

    fn calls(&self, world: &World, _: Tid, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let values: Vec<Val> = bound.values.iter().map(|&v| Val::Int(v)).collect();
        world.locations(Library::name(self)).into_iter().flat_map(|x| self.0.calls(x, &values)).collect()
    }
}

/// What the catalogue says of an object.
#[must_use]
pub fn entry(object: &Arc<dyn Sequential>) -> Entry {
    use Expected::{Sound, Unsound};
    let published = LinearisedOverNlock(Arc::clone(object));
    let over = |name, about, expected, edited: Edited| variant(name, about, expected, edited, &[(2, 2, 2)]);
    let no_lock = published.clone().without(calls!((Locks::Acq { .. } | Locks::Rel { .. })));
    let no_wait = published.clone().without(calls!(Wait::Wait { .. }));
    let release_first = published.clone().delay(calls!((Wait::Write { .. } | Wait::Put { .. })));
    let library = Linearised(Arc::clone(object));
    let variants = vec![
        variant("published", "SYNC §5, last remark", Sound, published, &[(2, 2, 2)]),
        over("no-lock", "nothing is locked", Unsound, no_lock),
        over("no-wait", "the words are used before they have come", Unsound, no_wait),
        over("release-first", "the lock is released before the words are put", Unsound, release_first),
    ];
    let variants = variants.into_iter().map(|variant| variant.and(Bound { nodes: 1, ..few_calls() })).collect();
    Entry::new(Memory::rdma_wait(), library, Libraries::over(to).with(nlock::LIBRARY).with(wait::Wait), variants)
}
