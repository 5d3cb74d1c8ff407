//! The specification of the store: a linearisable map (LOCO §6.2, LOCO-X Theorem I.3), and its clients.

use itertools::Itertools;
use mowgli_core::expr::numbered;
use mowgli_core::term::method;
use mowgli_core::world::{DeclarationForm, DeclarationPart};

use crate::prelude::*;

methods! {
    /// Calls of a key-value store.
    pub enum Method of KVSTORE = "kvstore" {
        /// `Insert(x, key, v)` if the key has no value; returns whether it had none.
        fn insert = Insert(x: Object, key: Value, v: Value) -> Bool, fails;
        /// `Update(x, key, v)` if the key has a value; returns whether it had one.
        fn update = Update(x: Object, key: Value, v: Value) -> Bool, fails;
        /// `Delete(x, key)` if the key has a value; returns whether it had one.
        fn delete = Delete(x: Object, key: Value) -> Bool, fails;
        /// `Lookup(x, key)`: the value or bottom.
        fn lookup = Lookup(x: Object, key: Value) -> Value, looks;
        /// `Serve(x)`: one step of the dedicated thread, for one message.
        fn serve = Serve(x: Object), looks;
        /// `TryServe(x)`: the same if there is a message; returns whether there was.
        fn try_serve = TryServe(x: Object) -> Bool, looks;
    }
}

/// A store for the keys `0..values.len()`, with a value for each, or bottom, to begin with.
#[must_use]
pub fn store(values: &[Val]) -> Object {
    Object::new(KVSTORE).size(values.len()).init(Val::tuple(values))
}

/// The store as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kvstore {
    /// Whether calls must also return if a thread that serves makes other calls.
    pub busy_servers: bool,
}

/// The node that stands for a key in a cell, because all nodes have the same stored value.
fn copy(key: Expr) -> Expr {
    numbered(key + 1)
}

/// Returns the error of a call with a key that the store does not have, or of a `Serve` by a thread that is no server.
fn misplaced(world: &World, thread: Tid, method: Method) -> Option<String> {
    match method {
        Method::Insert { x, key, .. }
        | Method::Update { x, key, .. }
        | Method::Delete { x, key }
        | Method::Lookup { x, key } => {
            let keys = world.objects[&x].size;
            let is_key = key.int().is_some_and(|key| (0..keys as i64).contains(&key));
            let is_nothing = matches!(method, Method::Insert { v: Val::Bot, .. } | Method::Update { v: Val::Bot, .. });
            let missing = (!is_key).then(|| format!("{key} is no key of {x}: there are {keys}, from 0"));
            missing.or_else(|| is_nothing.then(|| format!("bot is no value of {x}: it stands for none")))
        }
        Method::Serve { x } | Method::TryServe { x } => {
            let here = world.node_of(thread);
            match world.last_thread(here) {
                Some(who) if who != thread => {
                    Some(format!("{thread} does not serve {x}, but {who}, the last thread of node {here}"))
                }
                _ => (!has_others(world, here)).then(|| format!("{x} has no messages: no thread is on another node")),
            }
        }
    }
}

/// True if a thread of another node may send messages to this one.
fn has_others(world: &World, here: Node) -> bool {
    world.threads.iter().any(|&node| node != here)
}

/// The values to begin with.
pub(super) fn initial(object: &Object) -> &[Val] {
    if let Val::Tuple(values) = object.init { values.parts() } else { &[] }
}

impl Library for Kvstore {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm { kind: "kvstore", parts: &[DeclarationPart::Values] })
    }

    fn initial(&self) -> Initial {
        Initial::Function(|world, cell| {
            let values = world.objects.get(&cell.loc).map_or(&[][..], initial);
            values.get(usize::from(cell.node.0) - 1).copied().unwrap_or(Val::Bot)
        })
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        method::fault(world, thread, call, Method::TABLE).or_else(|| misplaced(world, thread, Method::of(call)))
    }

    /// A call takes effect at some instant between its aMF and its other subevent.
    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method:
            Insert { x, key, v } => { (inserted(x, copy(key), v)) }
            Update { x, key, v } => { (updated(x, copy(key), v)) }
            Delete { x, key } => { (deleted(x, copy(key))) }
            Lookup { x, key } => { (looked_up(x, copy(key))) }
            Serve { .. } => { aWT }
            TryServe { .. } => { aWT }
        })
    }

    fn spec(&self) -> Spec {
        linearisable()
    }
}

/// The shape of an insertion into the cell of a key.
pub(crate) fn inserted(x: Expr, n: impl Into<Expr>, v: Expr) -> ShapeTerm {
    let n = n.into();
    shape! {
        aMF;
        if (ret().is(true)) { aCAS: updates x at n, Val::Bot => v } else { aCR: reads x at n, other_than(Val::Bot) }
    }
}

/// The shape of an update of the cell of a key.
pub(crate) fn updated(x: Expr, n: impl Into<Expr>, v: Expr) -> ShapeTerm {
    let n = n.into();
    shape! {
        aMF;
        if (ret().is(true)) { aCAS: updates x at n, other_than(Val::Bot) => v } else { aCR: reads x at n, Val::Bot }
    }
}

/// The shape of a deletion of the value in the cell of a key.
pub(crate) fn deleted(x: Expr, n: impl Into<Expr>) -> ShapeTerm {
    updated(x, n, Val::Bot.into())
}

/// The shape of a lookup of the cell of a key.
pub(crate) fn looked_up(x: Expr, n: impl Into<Expr>) -> ShapeTerm {
    let n = n.into();
    shape! { aMF; aCR: reads x at n, ret() }
}

/// Linearisable (Herlihy and Wing): a call lasts from its aMF to its other subevent. If one call must take effect
/// before another, it does not begin after the other ends.
pub(crate) fn linearisable() -> Spec {
    let ends = stamps(|a: RdmaStamp| a != aMF);
    // so = {<<e1, aMF>, <e2, a>> | e1 = e2 or e1 lin e2}
    spec! {
        let rf, mo, rb = coherence(
            "{b} found {b reads}, which {a} stored",
            "{a} changed the key before {b} did",
            "{a} found {a reads}, before {b} changed the key"
        );
        let call = [aMF]; same_event; [ends];
        say call = "{a} begins before it ends";
        let lin = (rf | mo | rb)+;
        let before = call; lin;
        say before as lin = "{a} took effect before {b}";
        irreflexive lin = lin;
        so = call | before;
    }
}

impl Hints for Kvstore {
    /// Each call has a result in every state.
    fn may_wait(&self, _: &World, _: &Call) -> Option<bool> {
        Some(false)
    }

    /// A thread of each node serves once for each message from another node, and does nothing else (LOCO §6.2).
    fn must_return(&self, world: &World, events: &[&Event]) -> bool {
        let serves = |e: &Event| matches!(Method::of(&e.call), Method::Serve { .. });
        let is_announced = |e: &Event| {
            matches!(Method::of(&e.call), Method::Insert { .. } | Method::Delete { .. }) && e.ret == Val::Bool(true)
        };
        let is_dedicated = |t: Tid| events.iter().filter(|e| e.thread == t).map(|e| serves(e)).all_equal();
        let all_served = |x: Loc, n: Node| {
            let of_store = || events.iter().filter(|e| e.call.loc(0) == x);
            let messages = of_store().filter(|e| world.node_of(e.thread) != n && is_announced(e)).count();
            messages == of_store().filter(|e| world.node_of(e.thread) == n && serves(e)).count()
        };
        let nodes: NodeSet = world.threads.iter().copied().collect();
        (self.busy_servers || world.tids().all(is_dedicated))
            && world.objects_of(KVSTORE).iter().all(|(x, _)| nodes.iter().all(|n| all_served(*x, n)))
    }
}

impl Subject for Kvstore {
    /// Stores with each number of keys, empty, and with the value 7 for the first key. Clients that write nothing have no empty store,
    /// because it stays empty: each call of it has one result. The bound on members is one on the threads of a node.
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        let threads = empty.threads.iter().counts();
        if threads.values().any(|&threads| bound.members.is_some_and(|most| threads > most)) {
            return Vec::new();
        }
        let sizes = if bound.sizes.is_empty() { vec![1] } else { bound.sizes.clone() };
        let first = |v: Val, keys: usize| [vec![v], vec![Val::Bot; keys - 1]].concat();
        let stores: Vec<Object> = sizes
            .iter()
            .flat_map(|&keys| [first(Val::Bot, keys), first(Val::Int(7), keys)])
            .filter(|values| !bound.values.is_empty() || values[0] != Val::Bot)
            .map(|values| store(&values))
            .collect();
        let choices =
            (1..=bound.objects).flat_map(|n| std::iter::repeat_n(stores.clone(), n).multi_cartesian_product());
        let with = |stores: Vec<Object>| {
            let mut world = empty.clone();
            world.objects.extend(object_names(&["m"]).zip(stores));
            world
        };
        choices.take_while(|_| !expired()).map(with).collect()
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        // The last thread of a node serves.
        let here = world.node_of(thread);
        let serves = world.last_thread(here) == Some(thread) && has_others(world, here);
        let mut calls = Vec::new();
        for (x, object) in world.objects_of(KVSTORE) {
            for key in (0..object.size as i64).map(Val::Int) {
                for v in bound.values.iter().map(|&v| Val::Int(v)) {
                    calls.extend([Method::Insert { x, key, v }, Method::Update { x, key, v }]);
                }
                calls.extend([Method::Delete { x, key }, Method::Lookup { x, key }]);
            }
            calls.extend(serves.then_some(Method::Serve { x }));
            // Clients that only delete and look up are many without attempts.
            calls.extend((serves && !bound.values.is_empty()).then_some(Method::TryServe { x }));
        }
        calls.into_iter().map(Call::from).collect()
    }
}
