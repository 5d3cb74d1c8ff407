//! The store over locks, ring buffers, mixed-size words and shared variables.

use mowgli_core::expr::servers;
use mowgli_core::rewrite::edit::Edited;

use super::specification::{KVSTORE, Method, initial};
use crate::lock::Method as Lock;
use crate::msw::{MSW, Method as Msw};
use crate::prelude::*;
use crate::rbl::{Method as Ring, RBL};
use crate::sv::{Method as Sv, SV};
use crate::wlock::WLOCK;
use mowgli_rdma::wait::{Method as Wait, WAIT};

/// LOCO's algorithm over weak locks, ring buffers, mixed-size words, shared variables and RDMA-WAIT-RMW: as in App. I, to the
/// letter. A deletion is announced while it may be under way to the slot: see `docs/findings.md`, and [`fenced_delete`].
#[derive(Clone, Copy, Debug, Default)]
pub struct KvstoreOverLoco;

/// The same, but a thread puts the value of a key into its slot with the key's number. LOCO-X App. I searches its index for a free slot,
/// which takes as long as the store has keys. While a thread holds the lock of a key, nobody else uses the slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlotPerKey;

/// The bits of the parts of an entry in a word. They have room for 255 threads, 8 million keys, and 4 billion insertions of a key by one
/// thread.
const WIDTHS: &[u8] = &[8, 23, 32];

/// The number of keys for which emitted code has no room any more.
pub const MOST_KEYS: usize = 1 << WIDTHS[1];

/// The lock of a key.
fn lock(x: impl Into<Expr>, key: impl Into<Expr>) -> Expr {
    x.into().part("lock", [key.into()])
}

/// The index entry of a key on a node.
fn index(x: impl Into<Expr>, key: impl Into<Expr>, n: impl Into<Expr>) -> Expr {
    x.into().part("index", [key.into(), n.into()])
}

/// A place for a value, on the node of its owner: the number of that thread, and which of its slots it is.
fn slot(x: impl Into<Expr>, owner: impl Into<Expr>, nth: impl Into<Expr>) -> Expr {
    x.into().part("slot", [owner.into(), nth.into()])
}

/// A thread's own words for the content of a slot that it gets (`got`) or puts (`put`).
fn copy(x: impl Into<Expr>, purpose: &'static str, t: impl Into<Expr>) -> Expr {
    x.into().part(purpose, [number(t)])
}

/// The ring buffer of the changes that a thread makes.
fn tracker(x: impl Into<Expr>, writer: impl Into<Expr>) -> Expr {
    x.into().part("tracker", [number(writer)])
}

/// The last message of a writer that a node has acknowledged.
fn acknowledged(x: impl Into<Expr>, writer: impl Into<Expr>, n: impl Into<Expr>) -> Expr {
    x.into().part("ack", [number(writer), n.into()])
}

/// The content of a slot: the value, how often the slot was filled, and 1 if it is valid, else 0.
fn content(value: impl Into<Expr>, counter: impl Into<Expr>, valid: i64) -> Expr {
    Expr::tuple([value.into(), counter.into(), valid.into()])
}

/// An index entry of a key with a value: the slot of the key, and the counter of the slot.
#[derive(Clone, Copy)]
struct IndexEntry {
    owner: Expr,
    nth: Expr,
    counter: Expr,
}

impl IndexEntry {
    /// The entry in the tuple of a word of an index, if [`is_entry`] holds of that.
    fn of(tuple: Expr) -> Self {
        Self { owner: tuple.item(0), nth: tuple.item(1), counter: tuple.item(2) }
    }

    /// The word of an index that holds this entry.
    fn word(self) -> Expr {
        Expr::tuple([self.owner, self.nth, self.counter]).packed(WIDTHS)
    }

    /// The message that a key has this entry. A message that takes an entry away has the counter below zero.
    fn message(self, key: Expr) -> Expr {
        Expr::tuple([key, self.owner, self.nth, self.counter])
    }

    fn slot(self, x: Expr) -> Expr {
        slot(x, self.owner, self.nth)
    }

    /// True if the slot is on the own node. A slot of a thread that does not exist counts as here, where no word is declared for it.
    /// So an implementation that has such an entry makes a call with a fault.
    fn is_here(self) -> Expr {
        !thread(self.owner).is_in(all_threads()) | node(thread(self.owner)).is(here())
    }
}

/// True if the tuple of a word of an index is an entry. Its owner need not exist.
fn is_entry(tuple: Expr) -> Expr {
    let IndexEntry { owner, nth, .. } = IndexEntry::of(tuple);
    // For a number from 0 to 255 this is the thread with that number; `thread` of any other value is thread 1.
    let is_thread = number(thread(owner)).is(owner);
    let is_natural = nth.int().is(nth) & !nth.below(0);
    tuple.len().is(3) & is_thread & is_natural
}

/// The nodes with threads, other than the own one.
fn others() -> Expr {
    nodes(all_threads()).without(here())
}

/// The set of the one node of a thread.
fn node_of(t: Expr) -> Expr {
    nodes(Expr::tuple([t]))
}

/// Reads the own index under the local lock. To take that is a fence. Returns the tuple of the word, or bottom.
fn entry(x: Expr, key: Expr) -> Body {
    body! { Wait::mfence(); let word = Wait::read(index(x, key, here())); word.unpacked(WIDTHS) }
}

/// Writes to the own index under the local lock.
fn set_entry(x: Expr, key: Expr, entry: impl Into<Expr>) -> Body {
    body! { Wait::mfence(); Wait::write(index(x, key, here()), entry) }
}

/// Writes a slot, wherever it is.
fn fill(x: Expr, at: IndexEntry, content: Expr) -> Body {
    let from = copy(x, "put", me());
    body! {
        if (at.is_here()) {
            Msw::write(at.slot(x), content)
        } else {
            Msw::write(from, content);
            Msw::put(at.slot(x), from, Val::NoWid)
        }
    }
}

/// Waits until everything that was written to a slot is in the memory of its node.
fn fence(at: IndexEntry) -> Body {
    body! { if (at.is_here()) { Sv::gf(node_of(me())) } else { Sv::gf(node_of(thread(at.owner))) } }
}

/// Reads a slot once; bottom if it is torn.
fn try_fetch(x: Expr, at: IndexEntry) -> Body {
    let (to, d) = (copy(x, "got", me()), x.wid("d"));
    body! {
        if (at.is_here()) {
            Msw::try_read(at.slot(x))
        } else {
            Msw::get(to, at.slot(x), d);
            Msw::wait(d);
            Msw::try_read(to)
        }
    }
}

/// Submits a message to the other nodes as soon as there is room, if there are other nodes.
fn announce(x: Expr, message: Expr) -> Body {
    body! {
        if ((others()) != (NodeSet::default())) {
            loop { let done = Ring::submit(RBL, tracker(x, me()), message); if (done == true) { break } }
        }
    }
}

/// Waits until the other nodes have acknowledged a message.
fn wait_for_all(x: Expr, message: Expr) -> Body {
    body! {
        for n in (others()) {
            loop { let seen = Sv::read(acknowledged(x, me(), n)); if (seen == (message.hash())) { break } }
        }
    }
}

/// Gives up the lock of a key.
fn release(x: Expr, key: Expr, result: bool) -> Body {
    body! { Lock::rel(WLOCK, lock(x, key)); result }
}

/// Under the lock of a key, `change` with the word of the own index.
fn under_lock(x: Expr, key: Expr, change: impl FnOnce(Expr) -> Body) -> Body {
    body! { Lock::acq(WLOCK, lock(x, key)); let found = entry(x, key); change(found) }
}

/// Inserts a value if the key has none. `put` puts it into a slot.
fn insert(x: Expr, key: Expr, put: impl FnOnce() -> Body) -> Body {
    under_lock(x, key, |found| body! { if (is_entry(found)) { release(x, key, false) } else { put() } })
}

/// Puts a value into a slot that no entry of the own index names.
fn insert_into_free(x: Expr, key: Expr, value: Expr) -> Body {
    let nths = range(0, size(x));
    let is_own = |tuple: Expr| tuple.len().is(3) & IndexEntry::of(tuple).owner.is(number(me()));
    body! {
        let used = for other in (nths.without(key).reversed()) {
            let of_other = entry(x, other);
            if (is_own(of_other)) { IndexEntry::of(of_other).nth } else { Val::Bot }
        };
        let free = nths.except(used);
        if ((free.len()) == 0) { Body::never() } else { insert_into(x, key, value, free.first()) }
    }
}

/// Puts a value into an own slot that no entry of the own index names. A slot that holds no counter has none to go on from, and one
/// with the largest counter has none left. Then the call never returns.
fn insert_into(x: Expr, key: Expr, value: Expr, nth: Expr) -> Body {
    let to = slot(x, number(me()), nth);
    let most = (1_i64 << WIDTHS[2]) - 1;
    let has_counter = |content: Expr| {
        content.len().above(1) & content.item(1).int().is(content.item(1)) & content.item(1).below(most)
    };
    let with = |counter: Expr| IndexEntry { owner: number(me()), nth, counter };
    body! {
        let old = loop { let old = Msw::try_read(to); if (old != (Val::Bot)) { break old } };
        if (has_counter(old)) {
            let counter = old.item(1) + 1;
            let message = with(counter).message(key);
            Msw::write(to, content(value, counter, 0));
            announce(x, message);
            set_entry(x, key, with(counter).word());
            wait_for_all(x, message);
            Msw::write(to, content(value, counter, 1));
            Sv::gf(node_of(me()));
            release(x, key, true)
        } else {
            Body::never()
        }
    }
}

fn update(x: Expr, key: Expr, value: Expr) -> Body {
    under_lock(x, key, |found| {
        let entry = IndexEntry::of(found);
        body! {
            if (is_entry(found)) {
                fill(x, entry, content(value, entry.counter, 1));
                fence(entry);
                release(x, key, true)
            } else {
                release(x, key, false)
            }
        }
    })
}

fn delete(x: Expr, key: Expr) -> Body {
    under_lock(x, key, |found| {
        let entry = IndexEntry::of(found);
        let gone = IndexEntry { counter: Expr::from(0) - entry.counter.int(), ..entry };
        body! {
            if (is_entry(found)) {
                let message = gone.message(key);
                fill(x, entry, content(0, entry.counter, 0));
                announce(x, message);
                wait_for_all(x, message);
                set_entry(x, key, Val::Bot);
                fence(entry);
                release(x, key, true)
            } else {
                release(x, key, false)
            }
        }
    })
}

fn lookup(x: Expr, key: Expr) -> Body {
    let is_it = |content: Expr, counter: Expr| content.item(1).is(counter) & content.item(2).is(1);
    body! {
        loop {
            let found = entry(x, key);
            if (is_entry(found)) {
                let content = try_fetch(x, IndexEntry::of(found));
                if ((content.len()) == 3) {
                    if (is_it(content, IndexEntry::of(found).counter)) { break content.item(0) } else { break Val::Bot }
                }
            } else {
                break Val::Bot
            }
        }
    }
}

/// Takes one message from another node, if there is one: changes the own index as the message says, and acknowledges it. Then `end`.
fn serve_one(x: Expr, end: Body) -> Body {
    let has_parts = |message: Expr| message.len().above(1);
    let change = |message: Expr| {
        let key = message.first().int();
        body! {
            if (message.item(3).int().above(0)) { set_entry(x, key, message.rest().packed(WIDTHS)) } else { set_entry(x, key, Val::Bot) }
        }
    };
    body! {
        for writer in (all_threads()) {
            if ((node(writer)) != (here())) {
                let message = Ring::receive(RBL, tracker(x, writer));
                if (has_parts(message)) {
                    change(message);
                    Sv::write(acknowledged(x, writer, here()), message.hash());
                    Sv::bcast(acknowledged(x, writer, here()), Val::NoWid, node_of(writer));
                    end
                }
            }
        }
    }
}

/// Waits for one message, and takes it.
fn serve(x: Expr) -> Body {
    body! { loop { serve_one(x, body! { break }) } }
}

/// Takes one message if there is one. Returns whether there was.
fn try_serve(x: Expr) -> Body {
    body! { loop { serve_one(x, body! { break true }); break false } }
}

/// The parts of a store whose keys have no value at first.
fn parts() -> &'static Parts {
    parts! { static x =>
        for key in (range(0, size(x))) {
            lock(x, key) => ObjectTerm::new(WLOCK).at(Node(1));
            for n in (nodes(all_threads())) { index(x, key, n) => ObjectTerm::new(WAIT).at(n).init(Val::Bot); }
        }
        for t in (all_threads()) {
            for nth in (range(0, size(x))) { slot(x, number(t), nth) => three_words(t, content(0, 0, 0)); }
            copy(x, "got", t) => three_words(t, Expr::tuple([0, 0, 0].map(Expr::from)));
            copy(x, "put", t) => three_words(t, Expr::tuple([0, 0, 0].map(Expr::from)));
            // Room for two messages of four words.
            tracker(x, t) => ObjectTerm::new(RBL).members(servers(t)).size(10);
            for n in (nodes(all_threads()).without(node(t))) { acknowledged(x, t, n) => ObjectTerm::new(SV); }
        }
    }
}

/// Three words on the node of a thread.
fn three_words(t: Expr, values: Expr) -> ObjectTerm {
    ObjectTerm::new(MSW).at(node(t)).size(3).init(values)
}

/// Lets the keys of a store begin with its values, which are in slots of the first thread.
fn fill_at_first(x: Loc, values: &[Val], world: &mut World) {
    let first = number(Tid::from_index(0));
    let with_threads: NodeSet = world.threads.iter().copied().collect();
    for (nth, &value) in values.iter().enumerate().filter(|(_, value)| **value != Val::Bot) {
        let nth = nth as i64;
        let word = IndexEntry { owner: first, nth: nth.into(), counter: 1.into() }.word();
        let indices = with_threads.iter().map(|n| (index(x, nth, n), word));
        for (part, v) in indices.chain([(slot(x, first, nth), content(value, 1, 1))]) {
            world.objects.get_mut(&part.loc()).expect("a part of the store").init = v.value();
        }
    }
}

impl Implementation for KvstoreOverLoco {
    fn target(&self) -> Name {
        KVSTORE
    }

    fn declare(&self, world: &mut World) {
        parts().declare(KVSTORE, world);
        for (x, object) in world.objects_of(KVSTORE) {
            fill_at_first(x, initial(&object), world);
            // Nobody uses a ring without readers.
            let rings = world.tids().map(|t| tracker(x, t).loc()).filter(|ring| world.objects[ring].members.len() == 1);
            for ring in rings.collect::<Vec<_>>() {
                world.objects.remove(&ring);
            }
        }
    }

    fn empty_parts(&self) -> Option<&Parts> {
        Some(parts())
    }

    fn bodies(&self) -> Option<&Bodies> {
        // A key that is not an integer is a fault.
        Some(bodies! { static Method:
            Insert { x, key, v } => { insert(x, key.int(), || insert_into_free(x, key.int(), v)) }
            Update { x, key, v } => { update(x, key.int(), v) }
            Delete { x, key } => { delete(x, key.int()) }
            Lookup { x, key } => { lookup(x, key.int()) }
            Serve { x } => { serve(x) }
            TryServe { x } => { try_serve(x) }
        })
    }
}

impl Implementation for SlotPerKey {
    fn target(&self) -> Name {
        KVSTORE
    }

    fn declare(&self, world: &mut World) {
        KvstoreOverLoco.declare(world);
    }

    fn empty_parts(&self) -> Option<&Parts> {
        Some(parts())
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(bodies! { static Method:
            Insert { x, key, v } => { insert(x, key.int(), || insert_into(x, key.int(), v, key.int())) }
            Update { x, key, v } => { update(x, key.int(), v) }
            Delete { x, key } => { delete(x, key.int()) }
            Lookup { x, key } => { lookup(x, key.int()) }
            Serve { x } => { serve(x) }
            TryServe { x } => { try_serve(x) }
        })
    }
}

/// The content of a slot, valid.
pub(super) fn with_valid(content: Expr) -> Expr {
    Expr::tuple([content.item(0), content.item(1), 1.into()])
}

/// A deletion is complete on the slot's node before it is announced.
#[must_use]
pub fn fenced_delete(of: impl Implementation + 'static) -> Edited {
    let fence = |slot: Expr| Sv::gf(only(node(slot)));
    of.replace(calls!(|put| Msw::Put { x, .. } in Method::Delete { .. } => body! { put; fence(x) }))
        .replace(calls!(|write| Msw::Write { x, .. } in Method::Delete { x: m, .. } if x != copy(m, "put", me()) =>
            body! { write; fence(x) }))
}

/// A lookup does not compare counters: all are 1 for it. It takes five calls for two keys to see that, more than can be
/// enumerated.
#[must_use]
pub fn no_counter() -> Edited {
    let with_one = |entry: Expr| Expr::tuple([entry.item(0), entry.item(1), 1.into()]);
    let filled_once = |content: Expr| Expr::tuple([content.item(0), 1.into(), content.item(2)]);
    // Bottom stays bottom: only a tuple has a counter.
    let in_tuple = |v: Expr, with: Expr| body! { if ((v.len()) == 3) { with } else { v } };
    fenced_delete(KvstoreOverLoco)
        .replace(calls!(Wait::Read { x } in Method::Lookup { .. } => body! { let v = Wait::read(x); in_tuple(v, with_one(v)) }))
        .replace(calls!(
            Msw::TryRead { x } in Method::Lookup { .. } => body! { let v = Msw::try_read(x); in_tuple(v, filled_once(v)) }
        ))
}
