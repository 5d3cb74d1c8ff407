//! The key-value store of LOCO: lookups take no lock, all else is done under a lock per key.
//!
//! LOCO §6.2, LOCO-X App. I, Theorem I.3: a linearisable map. Each node has an index of all keys, which its dedicated
//! thread keeps by what it receives from the other nodes. There are no threads here but the client's, so what the
//! dedicated thread does for one message is a method, `Serve`, of the last thread on each node; the specification
//! promises nothing of it. It deliberately does not promise that an insertion ends if another node does not serve.

use std::sync::Arc;

use mowgli_core::algebra::{Spec, same_event, stamps};
use mowgli_core::edit::{Edited, Edits, Here, calls};
use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::library::{Libraries, Library};
use mowgli_core::method::{self, methods};
use mowgli_core::program::{Prog, prog};
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::value::Val;
use mowgli_core::world::{Form, Object, Part, World};
use mowgli_rdma::stamp::Stamp::{self, aCAS, aCR, aMF, aWT};
use mowgli_rdma::to;
use mowgli_rdma::wait::{self, Method as Wait};

use crate::catalogue::{Entry, Expected, Memory, bound, few_calls, variant};
use crate::lock::{acq, rel};
use crate::msw::{self, Method as Msw};
use crate::rbl::{self, RBL, Rbl};
use crate::sv::{self, Method as Sv};
use crate::wlock::{self, WLOCK};

methods! {
    /// What can be done with a store.
    pub enum Method of KVSTORE = "kvstore" {
        /// `Insert(x, key, v)` where there is no value; says whether it did.
        fn insert = Insert(x: Object, key: Value, v: Value) -> Bool;
        /// `Update(x, key, v)` where there is a value; says whether it did.
        fn update = Update(x: Object, key: Value, v: Value) -> Bool;
        /// `Delete(x, key)` where there is a value; says whether it did.
        fn delete = Delete(x: Object, key: Value) -> Bool;
        /// `Lookup(x, key)`: the value or bottom.
        fn lookup = Lookup(x: Object, key: Value) -> Value;
        /// `Serve(x)`: what the dedicated thread does for one message.
        fn serve = Serve(x: Object);
    }
}

/// A store for the keys `0..values.len()`, with a value for each, or bottom, to begin with.
#[must_use]
pub fn store(values: &[Val]) -> Object {
    Object::new(KVSTORE).size(values.len()).init(Val::tuple(values))
}

/// The store as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kvstore;

/// What is stored for a key, if it is one. It is the same for all nodes: the cell's node stands for the key.
fn stored(world: &World, x: Loc, key: Val) -> Option<Cell> {
    let key = usize::try_from(key.int()?).ok()?;
    let node = u8::try_from(key + 1).ok().filter(|_| key < world.objects[&x].size)?;
    Some(Cell { loc: x, node: Node(node) })
}

/// That a call is of a key that there is not, or by a thread that does not serve.
fn misplaced(world: &World, thread: Tid, method: Method) -> Option<String> {
    match method {
        Method::Insert { x, key, .. }
        | Method::Update { x, key, .. }
        | Method::Delete { x, key }
        | Method::Lookup { x, key } => {
            let (keys, is_none) = (world.objects[&x].size, stored(world, x, key).is_none());
            is_none.then(|| format!("{key} is no key of {x}: there are {keys}, from 0"))
        }
        Method::Serve { x } => {
            let here = world.node_of(thread);
            let who = server(world, here).filter(|&who| who != thread)?;
            Some(format!("{thread} does not serve {x}, but {who}, the last thread of node {here}"))
        }
    }
}

/// The values to begin with.
fn initial(object: &Object) -> &[Val] {
    if let Val::Tuple(values) = object.init { values.parts() } else { &[] }
}

/// The thread that serves on a node: the last one.
fn server(world: &World, n: Node) -> Option<Tid> {
    world.tids().filter(|&t| world.node_of(t) == n).last()
}

impl Library<Stamp> for Kvstore {
    fn name(&self) -> Name {
        KVSTORE
    }

    fn object(&self) -> Option<Form> {
        Some(Form { kind: "kvstore", parts: &[Part::Values] })
    }

    fn methods(&self) -> &'static [method::Method] {
        Method::TABLE
    }

    fn init(&self, world: &World, cell: Cell) -> Val {
        let values = world.objects.get(&cell.loc).map_or(&[][..], initial);
        values.get(usize::from(cell.node.0) - 1).copied().unwrap_or(Val::Bot)
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        method::fault(world, thread, call, Method::TABLE).or_else(|| misplaced(world, thread, Method::of(call)))
    }

    /// {aMF, aCAS} for what changes a key, {aMF, aCR} for what looks at one, and {aWT} for Serve, which touches nothing.
    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape<Stamp>> {
        let effect = effect(world, event);
        effect.map(|e| e.cell.map(|_| Sub::quiet(aMF)).into_iter().chain([e]).collect()).into_iter().collect()
    }

    /// Linearisable (Herlihy and Wing): a call is from its aMF to its other subevent, and where one must take effect before
    /// another it does not begin after the other ends.
    fn spec(&self) -> Spec<Stamp> {
        let mut c = Spec::default();
        let [rf, mo, rb] = c.coherence_as([
            "{b} found {b reads}, which {a} stored",
            "{a} changed the key before {b} did",
            "{a} found {a reads}, before {b} changed the key",
        ]);

        // so = {<<e1, aMF>, <e2, a>> | e1 = e2 or e1 lin e2}, lin = (rf u mo u rb)+ irreflexive
        let call = same_event()
            .between(&stamps(|a| a == aMF), &stamps(|a| a != aMF))
            .named("call", "{a} begins before it ends");
        let lin = (&rf | &mo | &rb).plus();
        c.irreflexive("lin", &lin);
        let before = call.then(&lin).named("lin", "{a} took effect before {b}");
        c.so([&call, &before]);
        c
    }
}

/// What a call does at some instant between its beginning and its end.
fn effect(world: &World, event: &Event) -> Option<Sub<Stamp>> {
    let at = |x, key| stored(world, x, key);
    let (done, nothing) = (event.ret == Val::Bool(true), Val::Bot);
    Some(match Method::of(&event.call) {
        Method::Insert { x, key, v } if done => Sub::update(aCAS, at(x, key)?, Reads::Is(nothing), Writes::Is(v)),
        Method::Insert { x, key, .. } => Sub::read(aCR, at(x, key)?, Reads::IsNot(nothing)),
        Method::Update { x, key, v } if done => Sub::update(aCAS, at(x, key)?, Reads::IsNot(nothing), Writes::Is(v)),
        Method::Delete { x, key } if done => Sub::update(aCAS, at(x, key)?, Reads::IsNot(nothing), Writes::Is(nothing)),
        Method::Update { x, key, .. } | Method::Delete { x, key } => Sub::read(aCR, at(x, key)?, Reads::Is(nothing)),
        Method::Lookup { x, key } => Sub::read(aCR, at(x, key)?, Reads::Is(event.ret)),
        Method::Serve { .. } => Sub::quiet(aWT),
    })
}

/// LOCO's algorithm over weak locks, ring buffers, mixed-size words, shared variables and RDMA-WAIT-RMW: as in App. I, to the
/// letter. A deletion is announced while it may be under way to the slot: see `docs/findings.md`, and [`fenced_delete`].
#[derive(Clone, Copy, Debug, Default)]
pub struct KvstoreOverLoco;

/// A place for a value: the thread that owns it, and which of that thread's.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Slot {
    owner: Tid,
    nth: usize,
}

/// What a slot contains: the value, how often the slot was filled, whether it is valid.
fn content(value: Val, counter: Val, valid: bool) -> Val {
    Val::tuple(&[value, counter, Val::Int(i64::from(valid))])
}

/// What an index says of a key: the slot and its counter. A message says the same, with the key first.
fn located(slot: Slot, counter: Val) -> [Val; 3] {
    [Val::Int(i64::from(slot.owner.0)), Val::Int(slot.nth as i64), counter]
}

/// The slot and the counter of [`located`].
fn location(parts: &[Val]) -> Option<(Slot, Val)> {
    let [owner, nth, counter] = parts else { return None };
    let slot = Slot { owner: Tid(u8::try_from(owner.int()?).ok()?), nth: usize::try_from(nth.int()?).ok()? };
    Some((slot, *counter))
}

/// The same for a value; `None` for bottom.
fn known(entry: Val) -> Option<(Slot, Val)> {
    if let Val::Tuple(parts) = entry { location(parts.parts()) } else { None }
}

/// The store as one thread sees it, with the names of everything it is made of.
#[derive(Clone)]
struct Store {
    x: Loc,
    t: Tid,
    here: Node,
    keys: usize,
    world: World,
}

impl Store {
    fn lock(&self, key: i64) -> Loc {
        self.x.part(format_args!("lock_{key}"))
    }

    fn index(&self, key: i64, n: Node) -> Loc {
        self.x.part(format_args!("index_{key}_{}", n.0))
    }

    fn slot(&self, slot: Slot) -> Loc {
        self.x.part(format_args!("slot_{}_{}", slot.owner.0, slot.nth))
    }

    /// A thread's own words for what it gets, or puts.
    fn copy(&self, purpose: &str) -> Loc {
        self.x.part(format_args!("{purpose}_{}", self.t.0))
    }

    /// The ring buffer of what a thread changes.
    fn tracker(&self, writer: Tid) -> Loc {
        self.x.part(format_args!("tracker_{}", writer.0))
    }

    /// The last message of a writer that a node has acknowledged.
    fn acknowledged(&self, writer: Tid, n: Node) -> Loc {
        self.x.part(format_args!("ack_{}_{}", writer.0, n.0))
    }

    /// The nodes with threads, other than that of `t`.
    fn others(&self, t: Tid) -> Vec<Node> {
        let here = self.world.node_of(t);
        let with_threads: NodeSet = self.world.threads.iter().copied().collect();
        with_threads.without(here).iter().collect()
    }

    /// Under the local lock, taking which is a fence.
    fn locally(&self, inside: Prog) -> Prog {
        wait::mfence().then(inside)
    }

    fn entry(&self, key: i64) -> Prog {
        self.locally(wait::read(self.index(key, self.here)))
    }

    fn set_entry(&self, key: i64, entry: Val) -> Prog {
        self.locally(wait::write(self.index(key, self.here), entry))
    }

    /// Writes a slot, wherever it is.
    fn fill(&self, slot: Slot, content: Val) -> Prog {
        let to = self.slot(slot);
        if self.world.node_of(slot.owner) == self.here {
            return msw::write(to, content);
        }
        let from = self.copy("put");
        prog! { msw::write(from, content); msw::put(to, from, Val::NoWid) }
    }

    /// Waits until what was written to a slot is in the memory of its node.
    fn fence(&self, slot: Slot) -> Prog {
        sv::gf([self.world.node_of(slot.owner)].into_iter().collect())
    }

    /// Reads a slot once; bottom if it is torn.
    fn try_fetch(&self, slot: Slot) -> Prog {
        let from = self.slot(slot);
        if self.world.node_of(slot.owner) == self.here {
            return msw::try_read(from);
        }
        let (to, d) = (self.copy("got"), Val::Wid(self.x.wid("d")));
        prog! { msw::get(to, from, d); msw::wait(d); msw::try_read(to) }
    }

    fn announce(&self, message: Val) -> Prog {
        if self.others(self.t).is_empty() {
            return Prog::unit();
        }
        rbl::submit(RBL, self.tracker(self.t), message).bind(|done| Prog::break_if(done == Val::Bool(true))).repeat()
    }

    fn wait_for_all(&self, message: Val) -> Prog {
        Prog::all(
            self.others(self.t).into_iter().map(|n| {
                sv::read(self.acknowledged(self.t, n)).bind(move |last| Prog::break_if(last == message)).repeat()
            }),
        )
    }

    /// What was changed in a slot is complete, and the next one may change the key.
    fn release(&self, key: i64, changed: Slot) -> Prog {
        prog! { self.fence(changed); rel(WLOCK, self.lock(key)); Prog::Val(Val::Bool(true)) }
    }

    fn give_up(&self, key: i64) -> Prog {
        prog! { rel(WLOCK, self.lock(key)); Prog::Val(Val::Bool(false)) }
    }

    /// Under the lock of a key, `with` what the index says of it.
    fn under_lock(&self, key: i64, with: impl Fn(&Self, Option<(Slot, Val)>) -> Prog + Send + Sync + 'static) -> Prog {
        let store = self.clone();
        acq(WLOCK, self.lock(key)).then(self.entry(key)).bind(move |entry| with(&store, known(entry)))
    }

    /// The first slot of this thread that the own index gives to none of these keys, then `next`.
    fn free_slot(
        &self,
        mut keys: Vec<i64>,
        used: Vec<Slot>,
        next: impl Fn(Slot) -> Prog + Clone + Send + Sync + 'static,
    ) -> Prog {
        let Some(key) = keys.pop() else {
            let mut own = (0..self.keys).map(|nth| Slot { owner: self.t, nth });
            return own.find(|s| !used.contains(s)).map_or(Prog::unit().repeat(), next);
        };
        let store = self.clone();
        self.entry(key).bind(move |entry| {
            let used = used.iter().copied().chain(known(entry).map(|(slot, _)| slot)).collect();
            store.free_slot(keys.clone(), used, next.clone())
        })
    }

    fn insert(&self, key: i64, value: Val) -> Prog {
        self.under_lock(key, move |store, entry| {
            if entry.is_some() {
                return store.give_up(key);
            }
            let filling = store.clone();
            let others = (0..store.keys as i64).filter(|&k| k != key).collect();
            store.free_slot(others, Vec::new(), move |slot| {
                let store = filling.clone();
                let last = store.try_fetch(slot).bind(|v| if v == Val::Bot { Prog::unit() } else { Prog::Break(1, v) });
                last.repeat().bind(move |last| store.fill_and_announce(key, value, slot, last))
            })
        })
    }

    /// Puts a value into a free slot that contained `last`.
    fn fill_and_announce(&self, key: i64, value: Val, slot: Slot, last: Val) -> Prog {
        let Val::Tuple(last) = last else { return Prog::unit().repeat() };
        let Some(counter) = last.parts()[1].plus(1) else { return Prog::unit().repeat() };
        let entry = located(slot, counter);
        let message = Val::tuple(&[&[Val::Int(key)], &entry[..]].concat());
        prog! {
            self.fill(slot, content(value, counter, false));
            self.announce(message);
            self.set_entry(key, Val::tuple(&entry));
            self.wait_for_all(message);
            self.fill(slot, content(value, counter, true));
            self.release(key, slot)
        }
    }

    fn update(&self, key: i64, value: Val) -> Prog {
        self.under_lock(key, move |store, entry| {
            let Some((slot, counter)) = entry else { return store.give_up(key) };
            prog! { store.fill(slot, content(value, counter, true)); store.release(key, slot) }
        })
    }

    fn delete(&self, key: i64) -> Prog {
        self.under_lock(key, move |store, entry| {
            let Some((slot, counter)) = entry else { return store.give_up(key) };
            // A message that takes an entry away has the counter below zero.
            let gone = Val::Int(-counter.int().unwrap_or(0));
            let message = Val::tuple(&[&[Val::Int(key)], &located(slot, gone)[..]].concat());
            prog! {
                store.fill(slot, content(Val::Int(0), counter, false));
                store.announce(message);
                store.wait_for_all(message);
                store.set_entry(key, Val::Bot);
                store.release(key, slot)
            }
        })
    }

    fn lookup(&self, key: i64) -> Prog {
        let store = self.clone();
        let once = self.entry(key).bind(move |entry| {
            let Some((slot, counter)) = known(entry) else { return Prog::Break(1, Val::Bot) };
            store.try_fetch(slot).bind(move |found| {
                let Val::Tuple(found) = found else { return Prog::unit() };
                let [value, filled, valid] = found.parts() else { return Prog::unit() };
                let is_it = *filled == counter && *valid == Val::Int(1);
                Prog::Break(1, if is_it { *value } else { Val::Bot })
            })
        });
        once.repeat()
    }

    /// Takes one message from another node, changes the index accordingly, and acknowledges.
    fn serve(&self) -> Prog {
        let far = self.world.tids().filter(|&t| self.world.node_of(t) != self.here);
        let store = self.clone();
        let from = far.map(move |writer| {
            let store = store.clone();
            rbl::receive(RBL, store.tracker(writer)).bind(move |message| {
                let Val::Tuple(parts) = message else { return Prog::unit() };
                let Some((&key, entry)) = parts.parts().split_first() else { return Prog::unit() };
                let stays = entry.get(2).and_then(|c| c.int()).is_some_and(|counter| counter > 0);
                let change = store.set_entry(key.int().unwrap_or(0), if stays { Val::tuple(entry) } else { Val::Bot });
                let back: NodeSet = [store.world.node_of(writer)].into_iter().collect();
                let last = store.acknowledged(writer, store.here);
                prog! {
                    change.clone();
                    sv::write(last, message);
                    sv::bcast(last, Val::NoWid, back);
                    break
                }
            })
        });
        Prog::all(from).repeat()
    }

    /// Everything that it is made of, seen from this thread.
    fn declare(&self, values: &[Val], world: &mut World) {
        let (t, here) = (self.t, self.here);
        let first = |nth: usize| Slot { owner: Tid::from_index(0), nth };
        for (nth, &value) in values.iter().enumerate() {
            let key = nth as i64;
            let filled = value != Val::Bot;
            let entry = if filled { Val::tuple(&located(first(nth), Val::Int(1))) } else { Val::Bot };
            world.objects.insert(self.index(key, here), wait::word(here).init(entry));
            world.objects.insert(self.lock(key), Object::new(WLOCK).at(Node(1)));
            let slot = Slot { owner: t, nth };
            let content = match slot == first(nth) && filled {
                true => content(value, Val::Int(1), true),
                false => content(Val::Int(0), Val::Int(0), false),
            };
            world.objects.insert(self.slot(slot), msw::words(here, 3).init(content));
        }
        for purpose in ["got", "put"] {
            world.objects.insert(self.copy(purpose), msw::words(here, 3));
        }
        let others = self.others(t);
        let readers: Vec<Tid> = others.iter().filter_map(|&n| server(&self.world, n)).collect();
        if !readers.is_empty() {
            // Room for two messages of four words.
            world.objects.insert(self.tracker(t), rbl::ring(Rbl::Strong, t, &readers, 10));
        }
        world.objects.extend(others.iter().map(|&n| (self.acknowledged(t, n), sv::variable())));
    }
}

impl KvstoreOverLoco {
    fn seen_from(self, world: &World, x: Loc, t: Tid) -> Store {
        let keys = world.objects.get(&x).map_or(0, |o| o.size);
        Store { x, t, here: world.node_of(t), keys, world: World::new(world.nodes, &world.threads) }
    }
}

impl Implementation for KvstoreOverLoco {
    fn target(&self) -> Name {
        KVSTORE
    }

    fn declare(&self, world: &mut World) {
        for (x, object) in world.objects_of(KVSTORE) {
            for t in world.tids() {
                self.seen_from(world, x, t).declare(initial(&object), world);
            }
        }
    }

    fn body(&self, world: &World, t: Tid, call: &Call) -> Prog {
        let store = self.seen_from(world, call.loc(0), t);
        // A key that is no number is a fault.
        let number = |key: Val| key.int().unwrap_or(0);
        match Method::of(call) {
            Method::Insert { key, v, .. } => store.insert(number(key), v),
            Method::Update { key, v, .. } => store.update(number(key), v),
            Method::Delete { key, .. } => store.delete(number(key)),
            Method::Lookup { key, .. } => store.lookup(number(key)),
            Method::Serve { .. } => store.serve(),
        }
    }
}

impl Subject for Kvstore {
    /// One store for so many keys, empty, and with the value 7 for the first key.
    fn worlds(&self, empty: &World, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let sizes = if bound.sizes.is_empty() { vec![1] } else { bound.sizes.clone() };
        let first = |v: Val, keys: usize| [vec![v], vec![Val::Bot; keys - 1]].concat();
        let choices = sizes.iter().flat_map(|&keys| [first(Val::Bot, keys), first(Val::Int(7), keys)]);
        let with = |values: Vec<Val>| {
            let mut world = empty.clone();
            world.objects.insert(Loc::new("m"), store(&values));
            world
        };
        choices.map(with).collect()
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let serves = server(world, world.node_of(thread)) == Some(thread)
            && world.threads.iter().any(|&n| n != world.node_of(thread));
        let mut calls = Vec::new();
        for (x, object) in world.objects_of(KVSTORE) {
            for key in (0..object.size as i64).map(Val::Int) {
                for v in bound.values.iter().map(|&v| Val::Int(v)) {
                    calls.extend([Method::Insert { x, key, v }, Method::Update { x, key, v }]);
                }
                calls.extend([Method::Delete { x, key }, Method::Lookup { x, key }]);
            }
            calls.extend(serves.then_some(Method::Serve { x }));
        }
        calls.into_iter().map(Call::from).collect()
    }
}

/// A tuple with another value at this place.
fn with_part(tuple: Val, place: usize, part: Val) -> Val {
    let Val::Tuple(parts) = tuple else { return tuple };
    let mut parts = parts.parts().to_vec();
    parts[place] = part;
    Val::tuple(&parts)
}

/// A deletion is complete on the slot's node before it is announced.
#[must_use]
pub fn fenced_delete(of: impl Implementation + 'static) -> Edited {
    let fence = |here: &Here, slot: Loc| sv::gf(here.world.home(slot).into_iter().collect());
    let copy = |here: &Here, m: Loc| KvstoreOverLoco.seen_from(&here.world, m, here.thread).copy("put");
    of.replace(calls!(|here| Msw::Put { x, y, d } in Method::Delete { .. } => msw::put(x, y, d).then(fence(here, x))))
        .replace(calls!(|here| Msw::Write { x, values } in Method::Delete { x: m, .. } if x != copy(here, m)
            => msw::write(x, values).then(fence(here, x))))
}

/// A lookup does not compare counters: all are 1 for it. It takes five calls for two keys to see that, more than can be
/// enumerated.
#[must_use]
pub fn no_counter() -> Edited {
    let one = Val::Int(1);
    fenced_delete(KvstoreOverLoco)
        .replace(calls!(Wait::Read { x } in Method::Lookup { .. } => wait::read(x).map(move |v| with_part(v, 2, one))))
        .replace(
            calls!(Msw::TryRead { x } in Method::Lookup { .. } => msw::try_read(x).map(move |v| with_part(v, 1, one))),
        )
}

/// What the catalogue says of it.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    // A deletion that some node has not seen; and two nodes that disagree about an insertion.
    let unseen = Bound { total: Some(5), values: Vec::new(), ..bound(3, 3, 2) };
    let disagreeing = Bound { total: Some(4), ..bound(3, 2, 2) };
    let over = |name, about, expected, implementation: Arc<dyn Implementation>| {
        // Two values that no counter of the implementation has, so that they can be renamed.
        let two_values = Bound { values: vec![8, 9], ..few_calls() };
        variant(name, about, expected, implementation, &[(2, 2, 2), (3, 3, 1)]).and(two_values)
    };
    let fenced = Arc::new(fenced_delete(KvstoreOverLoco));
    // The other variants are broken beside that, and by themselves.
    let no_fence = fenced_delete(KvstoreOverLoco.without(calls!(Sv::GF { .. })));
    let no_ack = fenced.clone().without_loops(calls!(Sv::Read { .. } in Method::Insert { .. }));
    let ack_first = fenced
        .clone()
        .delay_after(calls!((Wait::Mfence {} | Wait::Write { .. }) in Method::Serve { .. }), calls!(Sv::Bcast { .. }));
    let valid_first = fenced.clone().replace(
        calls!(Msw::Write { x, values } in Method::Insert { .. } => msw::write(x, with_part(values, 2, Val::Int(1)))),
    );
    let no_index_lock = fenced.clone().without(calls!(Wait::Mfence {}));
    let variants = vec![
        over("published", "LOCO-X App. I", Unsound, Arc::new(KvstoreOverLoco)).and(unseen.clone()),
        over("fenced-delete", "a deletion is complete before it is announced", Sound, fenced)
            .and(unseen)
            .and(disagreeing.clone()),
        over("no-fence", "changes are not complete when the lock is released", Unsound, Arc::new(no_fence)),
        over("no-ack", "an insertion does not wait for the other nodes", Unsound, Arc::new(no_ack)),
        over("ack-first", "a node acknowledges before it has changed its index", Unsound, Arc::new(ack_first)),
        over("valid-first", "an insertion is valid before it is announced", Unsound, Arc::new(valid_first))
            .and(disagreeing),
        over("no-index-lock", "the index is read without a fence", Unsound, Arc::new(no_index_lock)),
    ];
    Entry::new(
        Memory::rdma_wait(),
        Kvstore,
        Libraries::over(to).with(wlock::LIBRARY).with(Rbl::Strong).with(msw::Msw).with(sv::Sv).with(wait::Wait),
        variants,
    )
}
