//! The store over locks, ring buffers, mixed-size words and shared variables.

use mowgli_core::body::body;
use mowgli_core::edit::{Edited, Edits, calls};
use mowgli_core::event::Call;
use mowgli_core::expr::{Expr, me, node, only};
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::program::{Prog, prog};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_rdma::wait::{self, Method as Wait};

use super::specification::{KVSTORE, Method, initial, server};
use crate::lock::{acq, rel};
use crate::msw::{self, Method as Msw};
use crate::rbl::{self, RBL, Rbl};
use crate::sv::{self, Method as Sv};
use crate::wlock::WLOCK;

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

    /// The node of a slot. One of a thread that there is not is taken to be here, where no word is declared for it: an
    /// implementation that has such an entry makes a call with a fault.
    fn home(&self, slot: Slot) -> Node {
        if self.world.tids().any(|t| t == slot.owner) { self.world.node_of(slot.owner) } else { self.here }
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
        if self.home(slot) == self.here {
            return msw::write(to, content);
        }
        let from = self.copy("put");
        prog! { msw::write(from, content); msw::put(to, from, Val::NoWid) }
    }

    /// Waits until what was written to a slot is in the memory of its node.
    fn fence(&self, slot: Slot) -> Prog {
        sv::gf([self.home(slot)].into_iter().collect())
    }

    /// Reads a slot once; bottom if it is torn.
    fn try_fetch(&self, slot: Slot) -> Prog {
        let from = self.slot(slot);
        if self.home(slot) == self.here {
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

/// The content of a slot, valid.
pub(super) fn with_valid(content: Expr) -> Expr {
    Expr::tuple([content.item(0), content.item(1), 1.into()])
}

/// A deletion is complete on the slot's node before it is announced.
#[must_use]
pub fn fenced_delete(of: impl Implementation + 'static) -> Edited {
    let fence = |slot: Expr| Sv::gf(only(node(slot)));
    let copy = |m: Expr| m.part("put", [me()]);
    of.replace(calls!(|put| Msw::Put { x, .. } in Method::Delete { .. } => body! { put; fence(x) }))
        .replace(calls!(|write| Msw::Write { x, .. } in Method::Delete { x: m, .. } if x != copy(m) => body! { write; fence(x) }))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A mutant may add 1 to what an entry says.
    #[test]
    fn a_slot_of_no_thread_is_a_word_that_is_not_declared() {
        let (x, world) = (Loc::new("m"), World::new(1, &[Node(1)]));
        let store = KvstoreOverLoco.seen_from(&world, x, Tid(1));
        for owner in [Tid(0), Tid(2)] {
            let slot = Slot { owner, nth: 0 };
            assert!(matches!(store.fill(slot, Val::Bot), Prog::Call(call) if call.loc(0) == store.slot(slot)));
            assert!(matches!(store.try_fetch(slot), Prog::Call(_)));
        }
    }
}
