//! Parts that the algorithms share: objects on a node, or from one thread to others; registers; locks; the words of a
//! body.

use std::fmt;
use std::marker::PhantomData;

use itertools::Itertools;
use mowgli_core::rewrite::edit::Calls;
use mowgli_core::term::method::{self, Methods};
use mowgli_core::world::{DeclarationForm, DeclarationPart};
use mowgli_libraries::lock::{Lock, Method as LockMethod, Sections};
use mowgli_libraries::prelude::*;
use mowgli_rdma::{Switches, Way};

/// A library over RDMA with the method table `M`, like [`Simple`]. Its objects live on a node, or have a writer and
/// readers.
pub struct SharedLibrary<M> {
    /// The form of an object's declaration.
    form: DeclarationForm,
    /// Returns the objects that may exist among these threads.
    objects: fn(&World) -> Vec<Object>,
    /// The initial value of cells, which calls return if nothing was written.
    init: Val,
    /// True if the writers may crash.
    crashes: bool,
    shapes: &'static Shapes,
    spec: fn() -> Spec,
    methods: PhantomData<fn() -> M>,
}

impl<M> Clone for SharedLibrary<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for SharedLibrary<M> {}

impl<M: Methods> fmt::Debug for SharedLibrary<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({})", M::LIBRARY)
    }
}

impl<M: Methods> SharedLibrary<M> {
    /// Makes a library of objects on a node. All threads may make all calls.
    pub fn on_a_node(shapes: &'static Shapes, spec: fn() -> Spec) -> Self {
        let objects = |world: &World| world.all_nodes().iter().map(|n| Object::new(M::LIBRARY).at(n)).collect();
        let form = DeclarationForm { kind: M::LIBRARY.text(), parts: &[DeclarationPart::Node] };
        Self { form, objects, init: Val::Int(0), crashes: false, shapes, spec, methods: PhantomData }
    }

    /// Makes a library of objects from one thread to others. Each shape says who makes the call.
    pub fn to_readers(shapes: &'static Shapes, spec: fn() -> Spec) -> Self {
        let form = DeclarationForm { kind: M::LIBRARY.text(), parts: &[DeclarationPart::Roles] };
        let objects = of_members::<M>;
        Self { form, objects, init: Val::Int(0), crashes: false, shapes, spec, methods: PhantomData }
    }

    /// Makes bottom the initial value, which calls may return.
    #[must_use]
    pub fn empty(self) -> Self {
        Self { init: Val::Bot, ..self }
    }

    /// Lets the writers crash. Other threads learn of a crash.
    #[must_use]
    pub fn whose_writer_crashes(self) -> Self {
        Self { crashes: true, ..self }
    }

    fn may(&self, world: &World, thread: Tid, call: &Call) -> bool {
        let callers = self.shapes.callers(world, &Event { thread, call: call.clone(), ret: Val::Top });
        callers.is_none_or(|who| who.contains(&thread.into()))
    }
}

/// Returns an entry over RDMA-WAIT-RMW on hardware that reads and writes the words of one operation in order of
/// addresses.
#[must_use]
pub fn in_order_of_addresses<M: Methods>(kind: SharedLibrary<M>) -> Entry {
    let memory = wait::switched(Switches::INCREASING);
    Entry::new(Memory::switched(Switches::INCREASING), kind, memory, Vec::new())
}

/// Returns an entry over RDMA-WAIT-RMW with crashes.
#[must_use]
pub fn with_crashes<M: Methods>(kind: SharedLibrary<M>) -> Entry {
    Entry::new(Memory::switched(Switches::CRASHES), kind, wait::switched(Switches::CRASHES), Vec::new())
}

/// Returns an object for each writer and each set of other threads.
fn of_members<M: Methods>(world: &World) -> Vec<Object> {
    let readers = |writer: Tid| world.tids().filter(move |&t| t != writer).powerset().filter(|r| !r.is_empty());
    let members = world.tids().flat_map(|w| readers(w).map(move |r| [vec![w], r].concat()));
    members.map(|members| Object::new(M::LIBRARY).members(&members)).collect()
}

/// Returns the first member of an object, as a list.
#[must_use]
pub fn writer(x: Expr) -> Expr {
    Expr::tuple([members(x).first()])
}

/// Returns the other members.
#[must_use]
pub fn readers(x: Expr) -> Expr {
    members(x).rest()
}

/// Returns the nodes of an object's readers.
#[must_use]
pub fn targets(x: Expr) -> Expr {
    nodes(readers(x))
}

impl<M: Methods> Library for SharedLibrary<M> {
    fn name(&self) -> Name {
        M::LIBRARY
    }

    fn object(&self) -> Option<DeclarationForm> {
        Some(self.form)
    }

    fn methods(&self) -> &'static [method::Method] {
        M::METHODS
    }

    fn initial(&self) -> Initial {
        Initial::Value(self.init)
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(self.shapes)
    }

    fn spec(&self) -> Spec {
        (self.spec)()
    }
}

impl<M: Methods> Hints for SharedLibrary<M> {
    fn equivariance(&self) -> Equivariance {
        Equivariance::NamesAndData
    }
}

impl<M: Methods> Subject for SharedLibrary<M> {
    fn worlds(&self, empty: &World, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let with = |objects: Vec<Object>| {
            let mut world = empty.clone();
            world.crashes.threads.extend(objects.iter().filter(|_| self.crashes).filter_map(|o| o.members.first()));
            world.objects.extend(object_names(&["x", "y", "z"]).zip(objects));
            world
        };
        let objects = (self.objects)(empty);
        let choices = |n: usize| std::iter::repeat_n(objects.clone(), n).multi_cartesian_product();
        (1..=bound.objects).flat_map(choices).map(with).collect()
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        let all = method::calls(M::LIBRARY, M::METHODS, world, thread, bound, expired);
        all.into_iter().filter(|call| self.may(world, thread, call)).collect()
    }
}

/// Specifies a register. Each cell is sequentially consistent, and a read comes after the write that it reads:
/// `so = rf u rb u mo`.
#[must_use]
pub fn register() -> Spec {
    spec! {
        let rf, mo, rb = coherence;
        so = rf | rb | mo;
    }
}

/// Returns the shape of a write to a register on one node: {aNRW_n}.
#[must_use]
pub fn put_there(x: Expr, v: Expr) -> ShapeTerm {
    shape! { aNRW(node(x)): writes x at home, v }
}

/// Returns the shape of a read of such a register, which completes before it returns: {aCR}.
#[must_use]
pub fn got_from(x: Expr) -> ShapeTerm {
    shape! { aCR: reads x at home, ret() }
}

/// Returns the lock that most of the gallery implements. It is like a node lock, but it only promises that puts to its
/// node are over when the next section begins. Acq {aMF}, Rel {aNRW_n},
/// `so = {<<e1, aNRW_n>, <e2, aMF>> | match(e0, e1), e0 lo e2}`.
#[must_use]
pub const fn lock(name: Name) -> Lock {
    Lock::new(
        name,
        || aMF.into(),
        || shapes! { LockMethod: Acq { .. } => { aMF } Rel { x } => { aNRW(node(x)) } },
        || set!(aNRW),
    )
}

/// Returns the entry of a lock of this name over memory, with its probes.
#[must_use]
pub fn lock_entry(name: Name) -> Entry {
    Entry { probes: vec![Box::new(Sections { library: name })], ..Entry::rdma(lock(name), Wait) }
}

/// Returns the calling thread's word with this role, for operations over the network.
#[must_use]
pub fn own(x: Expr, role: &'static str) -> Expr {
    of(x, role, me())
}

/// Returns a thread's word with this role.
#[must_use]
pub fn of(x: impl Into<Expr>, role: &'static str, t: impl Into<Expr>) -> Expr {
    x.into().part(role, [t.into()])
}

/// Declares a word of each thread, on its node, as a part of an object.
#[must_use]
pub fn of_threads(role: &'static str, init: i64) -> Parts {
    words_of_threads(role, |_| init.into())
}

/// Declares a word of each thread, on its node, that holds the number of the thread. Numbers begin with 1, and 0 stands
/// for nobody.
#[must_use]
pub fn of_threads_with_numbers(role: &'static str) -> Parts {
    words_of_threads(role, number)
}

/// Declares a word of each thread, on its node, with this initial value.
fn words_of_threads(role: &'static str, init: impl Fn(Expr) -> Expr) -> Parts {
    parts! { x => for t in (all_threads()) { of(x, role, t) => word_term().at(node(t)).init(init(t)); } }
}

/// Declares a word on the node of an object.
#[must_use]
pub fn at_home(role: &'static str) -> Parts {
    parts! { x => x.part(role, []) => word_term().at(node(x)); }
}

/// Returns a word of memory.
pub fn word_term() -> ObjectTerm {
    ObjectTerm::new(wait::WAIT)
}

/// Reads a remote word through the thread's own, and waits for it.
#[must_use]
pub fn fetch(to: Expr, from: Expr, d: Expr) -> Body {
    body! { Rdma::get(to, from, d); Rdma::wait(d); Rdma::read(to) }
}

/// Gets a word of the node of the lock `x`, and then does a release. Earlier puts to that node are placed when the get
/// completes.
#[must_use]
pub fn flushed_release(of: &impl Edits, x: Expr, release: &Body) -> Body {
    body! { fetch(own(x, "p"), x.part("tail", []), x.wid("d")); of.inlined(release) }
}

/// Compares and swaps by the card, waits for it, and reads the old value.
#[must_use]
pub fn found(p: Expr, y: Expr, expected: impl Into<Expr>, v: impl Into<Expr>, d: Expr) -> Body {
    body! { Rdma::rcas(p, y, expected, v, d); Rdma::wait(d); Rdma::read(p) }
}

/// Swaps by the card, as a loop of compare-and-swaps.
#[must_use]
pub fn swapped(p: Expr, y: Expr, v: Expr, d: Expr) -> Body {
    body! {
        loop {
            let last = fetch(p, y, d);
            let seen = found(p, y, last, v, d);
            if (seen == last) { break last }
        }
    }
}

/// True for a part with this role, of any object.
#[must_use]
pub fn is_part(x: Expr, role: &str) -> bool {
    matches!(x.term(), ExprTerm::Part(_, own, _) if *own == role)
}

/// True for the name of a part whose role begins in this way.
fn is_named(x: Loc, role: &str) -> bool {
    x.to_string().rsplit_once('.').is_some_and(|(_, part)| part.starts_with(role))
}

/// Puts the parts whose roles begin in this way on the node after their own. This stands for another queue pair,
/// because two queue pairs to one node are as unordered as two to different nodes.
pub fn elsewhere(role: &'static str) -> impl Fn(&mut World) + Send + Sync {
    move |world| {
        let nodes = world.nodes;
        for (_, object) in world.objects.iter_mut().filter(|(x, _)| is_named(**x, role)) {
            object.node = object.node.map(|n| Node(n.0 % nodes + 1));
        }
    }
}

/// Makes puts to the parts with this role go over a second queue pair to their node.
pub fn by_second(role: &'static str) -> Calls {
    let second = Way { queue: 2, ..Way::USUAL };
    calls!(Rdma::Put { x, y, d } if is_part(x, role) => Rdma::put_by(Val::from(second), x, y, d))
}

/// Returns the shape of a message from the writer to each reader: Send {aNRW_n | n a node of a reader}.
#[must_use]
pub fn sent(x: Expr, v: Expr) -> ShapeTerm {
    shape! { for n in (targets(x)) { aNRW(n): writes x at n, v } }
}

/// Returns the shape of a Receive: {aCR} for a message, {aWT} for bottom.
#[must_use]
pub fn received(x: Expr) -> ShapeTerm {
    shape! { if (ret().is(Val::Bot)) { aWT } else { aCR: reads x at here, ret() } }
}

/// Specifies messages. A reader gets only messages that were sent, each once, in order and without gaps, and after
/// their send. This is LOCO Def. 5.1 and the rf of 5.2.
#[must_use]
pub fn messages() -> Spec {
    spec! {
        let rf = reads_from(reads, writes);
        say rf = "{b} received {b reads}, which {a} sent";
        empty sent = [reads] - (rf^-1; rf);
        empty once = (rf^-1; rf) & same_thread - id;
        empty in-order = ([writes]; po & same(CELL); [writes]; rf) - (rf; po);
        so = rf;
    }
}

/// Returns place k of a part with places.
#[must_use]
pub fn place(x: impl Into<Expr>, role: &'static str, n: impl Into<Expr>, k: impl Into<Expr>) -> Expr {
    x.into().part(role, [k.into(), n.into()])
}

/// The number of places. It is larger than the number of calls that a client within the bounds makes.
const PLACES: i64 = 4;

/// Declares words for all places of parts with these roles, on the nodes of the writer and the readers.
#[must_use]
pub fn places(roles: &[&'static str]) -> Parts {
    let words = |x: Expr, n: Expr, k: Expr| {
        let part = move |role: &&'static str| PartTerm::new(place(x, role, n, k), word_term().at(n));
        roles.iter().map(part).collect::<Vec<_>>()
    };
    parts! { x => for n in (nodes(members(x))) { for k in (range(0, PLACES)) { (words(x, n, k)); } } }
}

/// Declares a word on each node of the writer and the readers.
#[must_use]
pub fn on_members(role: &'static str) -> Parts {
    parts! { x => for n in (nodes(members(x))) { on(x, role, n) => word_term().at(n); } }
}

/// Returns the word of an object on a node.
#[must_use]
pub fn on(x: impl Into<Expr>, role: &'static str, n: impl Into<Expr>) -> Expr {
    x.into().part(role, [n.into()])
}

/// Returns the value of two words that should be equal, or the pair of both if they are not.
#[must_use]
pub fn whole(a: Expr, b: Expr) -> Body {
    body! { if (a == b) { a } else { Expr::tuple([a, b]) } }
}
