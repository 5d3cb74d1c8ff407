//! TABLE, a hash table on one node: a map from integers to tuples of words.
//!
//! Not in the papers. A lookup takes no lock, as in the store of LOCO §6.2, but the places of keys follow from the keys. So no
//! node needs an index, and no thread has to serve. A key is in the first bucket from its own one on that was free when it was inserted.
//! It deliberately does not promise that an insertion into a full table returns. Such an insertion gives up the lock first.

use itertools::{Itertools, iproduct};
use mowgli_core::rewrite::edit::Edited;
use mowgli_core::term::method;
use mowgli_core::world::{DeclarationForm, DeclarationPart};

use crate::entry::bound;
use crate::kvstore::{deleted, inserted, linearisable, looked_up, updated};
use crate::lock::{self, Method as Lock};
use crate::msw::{self, MSW, Method as Msw};
use crate::prelude::*;
use crate::wlock::{self, WLOCK};

methods! {
    /// Calls of a hash table.
    pub enum Method of TABLE = "table" {
        /// `Insert(x, key, (v1..vk))` if the key has no value; returns whether it had none.
        fn insert = Insert(x: Object, key: Value, value: Value) -> Bool, fails;
        /// `Update(x, key, (v1..vk))` if the key has a value; returns whether it had one.
        fn update = Update(x: Object, key: Value, value: Value) -> Bool, fails;
        /// `Delete(x, key)` if the key has a value; returns whether it had one.
        fn delete = Delete(x: Object, key: Value) -> Bool, fails;
        /// `Lookup(x, key)`: the value or bottom.
        fn lookup = Lookup(x: Object, key: Value) -> Value, looks;
    }
}

/// A table on a node with so many buckets, for values of so many words. Its initial value is the content of an unused bucket.
#[must_use]
pub fn table(node: Node, buckets: usize, words: usize) -> Object {
    Object::new(TABLE).at(node).size(buckets).init(Val::tuple(&vec![Val::Int(0); BESIDE + words]))
}

/// The number of words of a bucket before its value: its state, and its key.
const BESIDE: usize = 2;

/// TABLE as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashTable;

/// The location of the value of a key.
fn cell(x: Expr, key: Expr) -> Expr {
    x.part("value", [key])
}

/// Returns the error of a call whose key or value does not fit its table, or whose table has no unused buckets at first.
fn misfit(world: &World, method: Method) -> Option<String> {
    let (x, key, value) = match method {
        Method::Insert { x, key, value } | Method::Update { x, key, value } => (x, key, Some(value)),
        Method::Delete { x, key } | Method::Lookup { x, key } => (x, key, None),
    };
    let parts = |v: Val| if let Val::Tuple(words) = v { words.parts() } else { &[] };
    let unused = parts(world.objects[&x].init);
    let words = unused.len().saturating_sub(BESIDE);
    if unused.iter().any(|word| *word != Val::Int(0)) {
        return Some(format!("the initial value of {x} is no unused bucket, which has zeros only"));
    }
    if key.int().is_none_or(|key| key < 0) {
        return Some(format!("{key} is no key of {x}: keys are integers from 0"));
    }
    let value = value.filter(|&value| parts(value).len() != words)?;
    Some(format!("{value} is no tuple of {words} words, which values of {x} have"))
}

impl Library for HashTable {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        use DeclarationPart::{Node, Size, Tuple};
        let parts = &[Node, Tuple { least: BESIDE + 1 }, Size { usual: 2, least: 1, most: 64 }];
        Some(DeclarationForm { kind: "table", parts })
    }

    fn initial(&self) -> Initial {
        Initial::Value(Val::Bot)
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        method::fault(world, thread, call, Method::TABLE).or_else(|| misfit(world, Method::of(call)))
    }

    /// As those of the key-value store.
    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method:
            Insert { x, key, value } => { (inserted(cell(x, key), Node(1), value)) }
            Update { x, key, value } => { (updated(cell(x, key), Node(1), value)) }
            Delete { x, key } => { (deleted(cell(x, key), Node(1))) }
            Lookup { x, key } => { (looked_up(cell(x, key), Node(1))) }
        })
    }

    fn spec(&self) -> Spec {
        linearisable()
    }
}

impl Hints for HashTable {
    /// Each call has a result in every state.
    fn may_wait(&self, _: &World, _: &Call) -> Option<bool> {
        Some(false)
    }
}

/// The implementation over the weak lock and mixed-size words. Changes are made under the lock, and complete before it is released.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOverMsw;

/// The states of a bucket. A bucket that is removed had a key once, so the search for a key goes on behind it.
const UNUSED: i64 = 0;
const REMOVED: i64 = 1;
const USED: i64 = 2;

fn lock_of(x: impl Into<Expr>) -> Expr {
    x.into().part("lock", [])
}

/// A bucket, by its number.
fn bucket(x: impl Into<Expr>, k: impl Into<Expr>) -> Expr {
    x.into().part("bucket", [k.into()])
}

/// The bucket so many behind the first one of a key.
fn behind(x: Expr, key: Expr, k: impl Into<Expr>) -> Expr {
    bucket(x, (key + k.into()) % size(x))
}

/// A thread's own words for the content of a bucket that it gets (`got`) or puts (`put`).
fn copy(x: impl Into<Expr>, purpose: &'static str, t: impl Into<Expr>) -> Expr {
    x.into().part(purpose, [number(t)])
}

/// As many words as a bucket has, on a node.
fn words_of_bucket(x: Expr, n: Expr) -> ObjectTerm {
    ObjectTerm::new(MSW).at(n).size(initial(x).len()).init(initial(x))
}

fn has_state(content: Expr, state: i64) -> Expr {
    content.first().is(state)
}

fn has_key(content: Expr, key: Expr) -> Expr {
    has_state(content, USED) & content.item(1).is(key)
}

/// Reads a bucket, whose words may lie on another node, until they belong together.
fn fetch(x: Expr, at: Expr) -> Body {
    let (to, d) = (copy(x, "got", me()), x.wid("d"));
    body! {
        loop {
            let content = if (node(x).is(here())) { Msw::try_read(at) } else { Msw::get(to, at, d); Msw::wait(d); Msw::try_read(to) };
            if (content != (Val::Bot)) { break content }
        }
    }
}

/// Writes a bucket.
fn fill(x: Expr, at: Expr, content: Expr) -> Body {
    let from = copy(x, "put", me());
    body! {
        if (node(x).is(here())) { Msw::write(at, content) } else { Msw::write(from, content); Msw::put(at, from, Val::NoWid) }
    }
}

/// Finds a key: `found` with the content of its bucket, and how far that is behind the first one. Otherwise bottom.
fn find(x: Expr, key: Expr, found: impl FnOnce(Expr, Expr) -> Expr) -> Body {
    body! {
        loop {
            for k in (range(0, size(x))) {
                let content = fetch(x, behind(x, key, k));
                if (has_key(content, key)) { break found(content, k) }
                if (has_state(content, UNUSED)) { break Val::Bot }
            }
            break Val::Bot
        }
    }
}

/// Finds the first bucket that an insertion may use: how far it is behind the first one, or bottom.
fn find_free(x: Expr, key: Expr) -> Body {
    body! {
        loop {
            for k in (range(0, size(x))) {
                let content = fetch(x, behind(x, key, k));
                if (!has_state(content, USED)) { break k }
            }
            break Val::Bot
        }
    }
}

/// Writes a key with its value to a bucket.
fn store(x: Expr, at: Expr, key: Expr, value: Expr) -> Body {
    body! {
        let content = for j in (range(0, initial(x).len())) {
            if (j == 0) { USED } else { if (j == 1) { key } else { value.item(j - 2) } }
        };
        fill(x, at, content)
    }
}

/// Takes the key out of a bucket. If the next bucket is unused, no key is behind this one. So this one is unused again, and with it
/// the removed ones before it. All these puts send the same words, so none of them waits for the one before.
fn clear(x: Expr, key: Expr, k: Expr) -> Body {
    let before = |back: Expr| behind(x, key, k + size(x) - back);
    body! {
        let next = fetch(x, behind(x, key, k + 1));
        if (has_state(next, UNUSED)) {
            loop {
                fill(x, before(0.into()), initial(x));
                for back in (range(1, size(x))) {
                    let content = fetch(x, before(back));
                    if (has_state(content, REMOVED)) { fill(x, before(back), initial(x)) } else { break }
                }
                break
            }
        } else {
            let content = for j in (range(0, initial(x).len())) { if (j == 0) { REMOVED } else { 0 } };
            fill(x, before(0.into()), content)
        }
    }
}

/// Under the lock, `change` with the place of the key, or bottom.
fn under_lock(x: Expr, key: Expr, change: impl FnOnce(Expr) -> Body) -> Body {
    body! {
        Lock::acq(WLOCK, lock_of(x));
        let place = find(x, key, |_, k| k);
        change(place)
    }
}

fn release(x: Expr, result: bool) -> Body {
    body! { Lock::rel(WLOCK, lock_of(x)); result }
}

/// Completes a change, and gives up the lock.
fn complete(x: Expr) -> Body {
    body! { Shared::gf(only(node(x))); release(x, true) }
}

impl Implementation for TableOverMsw {
    fn target(&self) -> Name {
        TABLE
    }

    fn parts(&self) -> Option<&Parts> {
        Some(parts! { static x =>
            lock_of(x) => ObjectTerm::new(WLOCK).at(node(x));
            for k in (range(0, size(x))) { bucket(x, k) => words_of_bucket(x, node(x)); }
            for t in (all_threads()) {
                copy(x, "got", t) => words_of_bucket(x, node(t));
                copy(x, "put", t) => words_of_bucket(x, node(t));
            }
        })
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(bodies! { static Method:
            Insert { x, key, value } => {
                under_lock(x, key.int(), |place| body! {
                    if (place == (Val::Bot)) {
                        let free = find_free(x, key.int());
                        if (free == (Val::Bot)) {
                            Lock::rel(WLOCK, lock_of(x));
                            Body::never()
                        } else {
                            store(x, behind(x, key.int(), free), key.int(), value);
                            complete(x)
                        }
                    } else {
                        release(x, false)
                    }
                })
            }
            Update { x, key, value } => {
                under_lock(x, key.int(), |place| body! {
                    if (place == (Val::Bot)) {
                        release(x, false)
                    } else {
                        store(x, behind(x, key.int(), place), key.int(), value);
                        complete(x)
                    }
                })
            }
            Delete { x, key } => {
                under_lock(x, key.int(), |place| body! {
                    if (place == (Val::Bot)) { release(x, false) } else { clear(x, key.int(), place); complete(x) }
                })
            }
            Lookup { x, key } => { Rdma::mfence(); find(x, key.int(), |content, _| content.rest().rest()) }
        })
    }
}

/// A removal makes each bucket unused. So a key behind it is not found any more.
fn forget_removed() -> Bodies {
    bodies! { Method:
        Delete { x, key } => {
            under_lock(x, key.int(), |place| body! {
                if (place == (Val::Bot)) {
                    release(x, false)
                } else {
                    fill(x, behind(x, key.int(), place), initial(x));
                    complete(x)
                }
            })
        }
    }
}

/// An insertion looks for the key only up to the first bucket that it may use.
fn take_first() -> Bodies {
    bodies! { Method:
        Insert { x, key, value } => {
            Lock::acq(WLOCK, lock_of(x));
            let free = find_free(x, key.int());
            if (free == (Val::Bot)) {
                release(x, false)
            } else {
                store(x, behind(x, key.int(), free), key.int(), value);
                complete(x)
            }
        }
    }
}

impl Subject for HashTable {
    /// Tables on any nodes, with values of one word, and with two buckets unless the bound says otherwise.
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        let sizes = if bound.sizes.is_empty() { vec![2] } else { bound.sizes.clone() };
        let mut worlds: Vec<World> = lock::of_sizes(lock::worlds(TABLE, empty, bound, expired), TABLE, &sizes)
            .take_while(|_| !expired())
            .collect();
        for object in worlds.iter_mut().flat_map(|w| w.objects.values_mut()) {
            *object = table(object.node.unwrap_or(Node(1)), object.size, 1);
        }
        worlds
    }

    /// Calls of as many keys as there are buckets. All of them have the same first bucket.
    fn calls(&self, world: &World, _: Tid, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let keys = |object: &Object| (0..object.size).map(|k| Val::Int((k * object.size) as i64)).collect_vec();
        let of_key = |(x, key): (Loc, Val)| {
            let changes = bound.values.iter().flat_map(move |&v| {
                let value = Val::tuple(&[Val::Int(v)]);
                [Method::Insert { x, key, value }, Method::Update { x, key, value }]
            });
            changes.chain([Method::Delete { x, key }, Method::Lookup { x, key }]).collect_vec()
        };
        let tables = world.objects_of(TABLE);
        let of_keys = tables.iter().flat_map(|(x, object)| iproduct!([*x], keys(object)));
        of_keys.flat_map(of_key).map(Call::from).collect()
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    // Two keys with one first bucket, and a removal between them.
    let removing = bound(1, 1, 4);
    let of_one_key = |calls| Bound { sizes: vec![1], total: Some(calls), ..bound(2, 2, 2) };
    let over = |name, about, edited: Edited, calls| variant(name, about, Unsound, edited, &[]).and(of_one_key(calls));
    let alone = |name, about, edited: Edited| variant(name, about, Unsound, edited, &[]).and(removing.clone());
    let no_lock = TableOverMsw.without(calls!((Lock::Acq { .. } | Lock::Rel { .. })));
    let no_fence = TableOverMsw.without(calls!(Rdma::Mfence { .. }));
    let no_completion = TableOverMsw.without(calls!(Shared::GF { .. }));
    let no_wait = TableOverMsw.without(calls!(Msw::Wait { .. }));
    let forget_removed = TableOverMsw.with("a removal makes each bucket unused", &forget_removed());
    let take_first = TableOverMsw.with("an insertion takes the first bucket that it may use", &take_first());
    let variants = vec![
        variant("published", "a hash table on one node", Sound, TableOverMsw, &[(1, 1, 3)])
            .and(of_one_key(2))
            .thoroughly(of_one_key(3))
            .thoroughly(bound(2, 2, 1))
            .thoroughly(removing.clone())
            .thoroughly(Bound { values: vec![8, 9], sizes: vec![1], ..bound(2, 1, 2) }),
        over("no-lock", "nothing is locked", no_lock, 2),
        over("no-fence", "a lookup does not fence first", no_fence, 3),
        over("no-completion", "changes are not complete when the lock is released", no_completion, 2),
        over("no-wait", "a bucket is used before it has come", no_wait, 2),
        alone("forget-removed", "a removal makes each bucket unused", forget_removed),
        alone("take-first", "an insertion does not look behind the first bucket that it may use", take_first),
    ];
    let below = Libraries::over(to).with(wlock::LIBRARY).with(msw::Msw).with(Sv).with(Wait);
    Entry::new(Memory::rdma_wait(), HashTable, below, variants)
}
