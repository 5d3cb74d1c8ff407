//! Libraries `<M, loc, C>` (LOCO Def. 3.5) and sets of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::algebra::Spec;
use crate::event::{Call, Cell, Event, Reads, Shape, Sub};
use crate::ids::{Loc, Name, Tid};
use crate::method::{self, Method, Returns};
use crate::shape::Shapes;
use crate::stamp::{Kind, Kinds, Stamp};
use crate::value::Val;
use crate::world::{Form, Object, Part, World};

/// A library: what its calls are, what they touch, how they can happen, and which executions are consistent.
///
/// Objects are not part of the library: they stand in the [`World`], and every question about a call gets it.
pub trait Library: Send + Sync {
    /// Its name.
    fn name(&self) -> Name;

    /// Its methods.
    fn methods(&self) -> &'static [Method];

    /// How programs declare its objects; `None` if it has none. By itself under the name of the library, on some node.
    fn object(&self) -> Option<Form> {
        Some(Form { kind: self.name().text(), parts: &[Part::Home] })
    }

    /// `loc(e)`: the locations that a call touches, its objects.
    fn loc(&self, call: &Call) -> Vec<Loc> {
        method::objects(self.methods(), call)
    }

    /// The values that a call may return to a thread that has made these `earlier` calls, of all libraries, of which those
    /// matter that are remembered: see [`Self::is_remembered`]. `cells` gives what a cell may hold. More than can really be
    /// returned does no harm, a missing one loses executions.
    ///
    /// By itself what the table says, where a value is that of the cells that a shape reads the result from. For that the
    /// library is asked for the shapes of the call with the result [`Val::Top`], which no call returns.
    fn returns(
        &self,
        world: &World,
        earlier: &[Event],
        thread: Tid,
        call: &Call,
        cells: &dyn Fn(Cell) -> Vec<Val>,
    ) -> Vec<Val> {
        let _ = earlier;
        match method::find(self.methods(), call).map(|m| m.returns) {
            Some(Returns::Value) => {
                let event = Event { thread, call: call.clone(), ret: Val::Top };
                let shapes = self.shapes(world, &event);
                let of_result = |sub: &&Sub| sub.reads == Some(Reads::Is(Val::Top));
                shapes.iter().flatten().find(of_result).and_then(|sub| sub.cell).map(cells).unwrap_or_default()
            }
            Some(Returns::Bool) => vec![Val::Bool(false), Val::Bool(true)],
            Some(Returns::Nothing) => vec![Val::Unit],
            Some(Returns::Handle) | None => Vec::new(),
        }
    }

    /// Whether an execution may need this call though nothing reads what it writes: later results depend on it, or calls
    /// are counted, paired or come in turn. A round of a loop that makes it is never left out. False only if an execution
    /// without calls of this kind is consistent whenever one with them is, provided that nothing reads what they write.
    fn is_remembered(&self, call: &Call) -> bool {
        let _ = call;
        true
    }

    /// Whether an execution may need a round of a loop with these events, of all libraries, after these `earlier` ones of its thread. By
    /// itself where it is so for one of its calls; a library whose calls leave nothing behind together can say so.
    fn remembers(&self, world: &World, earlier: &[Event], round: &[Event]) -> bool {
        let _ = (world, earlier);
        let mut own = round.iter().filter(|e| e.call.library == self.name());
        own.any(|e| !self.only_looks(e) && self.is_remembered(&e.call))
    }

    /// What is wrong with a call that no program may make, as one of a location that is not there, with too few arguments,
    /// or of a method that the library does not have. Whoever makes it is not well defined, whatever the call might
    /// return; of a call with a fault nothing else is asked. A call that only cannot return some result has no fault, and
    /// no shape with that result. By itself what the table of methods says.
    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        method::fault(world, thread, call, self.methods())
    }

    /// The shapes of calls as terms, which provers and readers take apart. By itself none: then [`Self::shapes`] is a function.
    fn shape_terms(&self) -> Option<&Shapes> {
        None
    }

    /// The ways in which an event can happen, `stmp(e)` with what each subevent does. None: no execution has it. By itself the
    /// meaning of [`Self::shape_terms`]; a library has one of the two.
    ///
    /// # Panics
    /// If the call has a fault: see [`Self::fault`].
    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape> {
        let terms = self.shape_terms();
        terms.unwrap_or_else(|| panic!("{} has neither shape_terms nor shapes", self.name())).of(world, event)
    }

    /// What is wrong with the shapes of an event, and what to do, where a library can tell: nothing by itself. For what a call
    /// returns whatever that is, it is asked with [`Val::Top`].
    fn wrong_shape(&self, world: &World, event: &Event) -> Option<String> {
        let _ = (world, event);
        None
    }

    /// What a subevent of `event` with [`Writes::Step`](crate::event::Writes::Step) writes if the subevent that it depends
    /// on reads `read`; `None` if an event with this result cannot read that. Every value of a search is asked about.
    fn step(&self, event: &Event, read: Val) -> Option<Val> {
        let _ = (event, read);
        None
    }

    /// The initial value of a cell.
    fn init(&self, world: &World, cell: Cell) -> Val {
        world.objects.get(&cell.loc).map_or(Val::Int(0), |o| o.init)
    }

    /// Conditions on the plain execution alone, as part of the consistency predicate: an execution that is not admitted is
    /// not consistent, so an implementation must not end with such events. For what clients owe see
    /// [`Self::is_well_formed`]. `events` are this library's, by thread, in program order.
    fn admits(&self, world: &World, events: &[&Event]) -> bool {
        !self.has_rounds() || is_in_rounds(world, events)
    }

    /// Whether the calls of each thread about an object are rounds, in each of which all threads take part that the object has
    /// for members: then just that is admitted, and proofs for all clients know it.
    fn has_rounds(&self) -> bool {
        false
    }

    /// Whether an implementation owes it that all these calls, which are as in [`Self::admits`], return. It does not where a
    /// call waits for one that is not there: what is not admitted no implementation may do, and this one it need not do.
    fn must_return(&self, world: &World, events: &[&Event]) -> bool {
        let _ = (world, events);
        true
    }

    /// Whether a call may wait for calls of other threads. It then returns only in executions in which they make them, and may
    /// be the last call of a thread, which has begun and does not return. By itself true where calls are rounds.
    fn may_wait(&self, call: &Call) -> bool {
        let _ = call;
        self.has_rounds()
    }

    /// The calls that a thread owes after these calls of its own, in order: the releases of the locks that it holds.
    /// [`Self::is_well_formed`] holds with them, so that the specification speaks of executions in which threads wait for ever.
    fn owes(&self, events: &[&Event]) -> Vec<Call> {
        let _ = events;
        Vec::new()
    }

    /// Whether the specification says anything at all of these calls, which are as in [`Self::admits`]. Where it does not,
    /// every execution is consistent: no choice is made, so has no edge, and nothing is demanded. Such clients are not
    /// checked: there is nothing to keep. Results and data arguments may differ between executions that share a search:
    /// do not look at them.
    fn is_well_formed(&self, world: &World, events: &[&Event]) -> bool {
        let _ = (world, events);
        true
    }

    /// What [`Self::is_well_formed`] asks, in the algebra: demands on program order alone, without choices, that hold just
    /// where it says yes. Proofs for all clients read this, as they cannot look into a function. None: it is not said so.
    fn owed(&self) -> Option<Spec> {
        None
    }

    /// Whether an event only looks: a round of a loop that has such events and does not break leaves no trace. True
    /// only if an execution without the event is consistent whenever one with it is. By itself what the table says.
    fn only_looks(&self, event: &Event) -> bool {
        method::find(self.methods(), &event.call).is_some_and(|m| m.looks)
    }

    /// The consistency predicate.
    fn spec(&self) -> Spec;
}

/// Pairwise disjoint libraries with their specifications, ready for use: the Lambda of LOCO Def. 3.6, over a stamp order.
#[derive(Clone)]
pub struct Libraries {
    entries: BTreeMap<Name, Arc<Entry>>,
    order: Order,
}

/// A stamp order, with the stamps that it is of.
#[derive(Clone)]
struct Order {
    kinds: &'static Kinds,
    to: Arc<dyn Fn(Stamp, Stamp) -> bool + Send + Sync>,
}

impl Order {
    fn new<K: Kind>(to: impl Fn(K, K) -> bool + Send + Sync + 'static) -> Self {
        Self { kinds: K::kinds(), to: Arc::new(move |a, b| to(K::of(a), K::of(b))) }
    }
}

/// Stamp orders that agree on the stamps of a network of this many nodes are taken to be one.
const COMPARED: u8 = 3;

struct Entry {
    library: Arc<dyn Library>,
    spec: Spec,
}

impl Libraries {
    /// No library yet, over the stamp order of a memory model: `<a, b> in to` if `to(a, b)`, so a subevent with stamp `a` is
    /// preserved before a po-later one with `b`.
    #[must_use]
    pub fn over<K: Kind>(to: impl Fn(K, K) -> bool + Send + Sync + 'static) -> Self {
        Self { entries: BTreeMap::new(), order: Order::new(to) }
    }

    /// No library yet, over the stamp order of another set.
    #[must_use]
    pub fn like(other: &Self) -> Self {
        Self { entries: BTreeMap::new(), order: other.order.clone() }
    }

    /// This set and `library`. A library of the same name is replaced.
    #[must_use]
    pub fn with(mut self, library: impl Library + 'static) -> Self {
        let entry = Entry { spec: library.spec(), library: Arc::new(library) };
        self.entries.insert(entry.library.name(), Arc::new(entry));
        self
    }

    /// This set with another specification of one of its libraries.
    ///
    /// # Panics
    /// If there is no library of this name.
    #[must_use]
    pub fn respecified(mut self, name: Name, change: impl FnOnce(&mut Spec)) -> Self {
        let known = &self.entries[&name];
        let mut entry = Entry { library: Arc::clone(&known.library), spec: known.spec.clone() };
        change(&mut entry.spec);
        self.entries.insert(name, Arc::new(entry));
        self
    }

    /// This set, in which the calls of one library happen in other ways; what the set demands of it stays.
    ///
    /// # Panics
    /// If there is no library of this name.
    #[must_use]
    pub fn reshaped(mut self, name: Name, by: impl Reshaping + 'static) -> Self {
        let Entry { library, spec } = &*self.entries[&name];
        let entry = Entry { spec: spec.clone(), library: Arc::new(Reshaped { of: Arc::clone(library), by }) };
        self.entries.insert(name, Arc::new(entry));
        self
    }

    /// The library of this name, to build another one on.
    /// # Panics
    /// If there is no library of this name.
    #[must_use]
    pub fn shared(&self, name: Name) -> Arc<dyn Library> {
        Arc::clone(&self.entries[&name].library)
    }

    /// This set without the library of this name.
    #[must_use]
    pub fn without(mut self, name: Name) -> Self {
        self.entries.remove(&name);
        self
    }

    /// This set and the other; of two libraries with one name the first is kept.
    ///
    /// # Panics
    /// If they are over different stamp orders: what is of two memory models is no set. [`Self::with_order_of`] says which
    /// of them is meant.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        assert!(self.has_stamps_of(other), "these sets are of memory models with different stamps");
        if let Some((a, b)) = self.differs_at(other) {
            panic!("these sets are of different memory models: only one has {a} before {b} in its stamp order");
        }
        let mut entries = other.entries.clone();
        entries.extend(self.entries.iter().map(|(&name, e)| (name, Arc::clone(e))));
        Self { entries, order: self.order.clone() }
    }

    /// This set over another stamp order.
    #[must_use]
    pub fn with_order<K: Kind>(self, to: impl Fn(K, K) -> bool + Send + Sync + 'static) -> Self {
        Self { order: Order::new(to), ..self }
    }

    /// This set over the stamp order of another one.
    #[must_use]
    pub fn with_order_of(self, other: &Self) -> Self {
        Self { order: other.order.clone(), ..self }
    }

    /// A pair that only one of the stamp orders of both sets has, if they are of different memory models.
    #[must_use]
    pub fn differs_at(&self, other: &Self) -> Option<(Stamp, Stamp)> {
        if Arc::ptr_eq(&self.order.to, &other.order.to) {
            return None;
        }
        let all = self.stamps(COMPARED);
        let pairs = all.iter().flat_map(|&a| all.iter().map(move |&b| (a, b)));
        pairs.into_iter().find(|&(a, b)| self.to(a, b) != other.to(a, b))
    }

    /// The stamp order: `<a, b> in to`.
    #[must_use]
    pub fn to(&self, a: Stamp, b: Stamp) -> bool {
        (self.order.to)(a, b)
    }

    /// Whether the stamps of both are of one type.
    #[must_use]
    pub fn has_stamps_of(&self, other: &Self) -> bool {
        std::ptr::eq(self.order.kinds, other.order.kinds)
    }

    /// Every stamp there is in a network of `nodes` nodes; see [`Kind::all`].
    #[must_use]
    pub fn stamps(&self, nodes: u8) -> Vec<Stamp> {
        self.order.kinds.all(nodes)
    }

    /// The library of this name.
    #[must_use]
    pub fn get(&self, name: Name) -> Option<&dyn Library> {
        self.entries.get(&name).map(|e| &*e.library)
    }

    /// The specification of the library of this name.
    #[must_use]
    pub fn spec(&self, name: Name) -> Option<&Spec> {
        self.entries.get(&name).map(|e| &e.spec)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = Name> + '_ {
        self.entries.keys().copied()
    }

    /// The library of a call.
    ///
    /// # Panics
    /// If the call is of a library that is not in this set: a program is checked against its libraries before it runs.
    #[must_use]
    pub fn of(&self, call: &Call) -> &dyn Library {
        self.get(call.library).unwrap_or_else(|| panic!("no library {} for {call}", call.library))
    }

    /// The calls that a thread owes after these events of its own, of all libraries; see [`Library::owes`].
    #[must_use]
    pub fn owes(&self, events: &[&Event]) -> Vec<Call> {
        let of_library = |(name, entry): (&Name, &Arc<Entry>)| {
            let own: Vec<&Event> = events.iter().filter(|e| e.call.library == *name).copied().collect();
            entry.library.owes(&own)
        };
        self.entries.iter().flat_map(of_library).collect()
    }

    /// Whether a round of a loop with these events, after these `earlier` ones of its thread, is remembered; see
    /// [`Library::remembers`].
    pub fn remember(&self, world: &World, earlier: &[Event], round: &[Event]) -> bool {
        self.entries.values().any(|entry| entry.library.remembers(world, earlier, round))
    }
}

/// How the calls of a library happen otherwise than it says.
pub trait Reshaping: Send + Sync {
    /// The ways in which an event can happen that by the library happens in these.
    fn shapes(&self, world: &World, event: &Event, known: Vec<Shape>) -> Vec<Shape>;

    /// Whether the library says anything of calls of which by itself it says something or not.
    fn is_well_formed(&self, world: &World, by_itself: bool) -> bool {
        let _ = world;
        by_itself
    }
}

/// A library that is as it is but for a [`Reshaping`].
struct Reshaped<R> {
    of: Arc<dyn Library>,
    by: R,
}

impl<R: Reshaping> Library for Reshaped<R> {
    fn name(&self) -> Name {
        self.of.name()
    }

    fn methods(&self) -> &'static [Method] {
        self.of.methods()
    }

    fn object(&self) -> Option<Form> {
        self.of.object()
    }

    fn loc(&self, call: &Call) -> Vec<Loc> {
        self.of.loc(call)
    }

    fn returns(
        &self,
        world: &World,
        earlier: &[Event],
        thread: Tid,
        call: &Call,
        cells: &dyn Fn(Cell) -> Vec<Val>,
    ) -> Vec<Val> {
        self.of.returns(world, earlier, thread, call, cells)
    }

    fn is_remembered(&self, call: &Call) -> bool {
        self.of.is_remembered(call)
    }

    fn remembers(&self, world: &World, earlier: &[Event], round: &[Event]) -> bool {
        self.of.remembers(world, earlier, round)
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        self.of.fault(world, thread, call)
    }

    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape> {
        self.by.shapes(world, event, self.of.shapes(world, event))
    }

    fn wrong_shape(&self, world: &World, event: &Event) -> Option<String> {
        self.of.wrong_shape(world, event)
    }

    fn step(&self, event: &Event, read: Val) -> Option<Val> {
        self.of.step(event, read)
    }

    fn init(&self, world: &World, cell: Cell) -> Val {
        self.of.init(world, cell)
    }

    fn admits(&self, world: &World, events: &[&Event]) -> bool {
        self.of.admits(world, events)
    }

    fn has_rounds(&self) -> bool {
        self.of.has_rounds()
    }

    fn must_return(&self, world: &World, events: &[&Event]) -> bool {
        self.of.must_return(world, events)
    }

    fn may_wait(&self, call: &Call) -> bool {
        self.of.may_wait(call)
    }

    fn owes(&self, events: &[&Event]) -> Vec<Call> {
        self.of.owes(events)
    }

    fn is_well_formed(&self, world: &World, events: &[&Event]) -> bool {
        self.by.is_well_formed(world, self.of.is_well_formed(world, events))
    }

    fn owed(&self) -> Option<Spec> {
        self.of.owed()
    }

    fn only_looks(&self, event: &Event) -> bool {
        self.of.only_looks(event)
    }

    fn spec(&self) -> Spec {
        self.of.spec()
    }
}

/// Whether all members of an object have made as many calls about it. The object is the first argument of a call.
fn is_in_rounds(world: &World, events: &[&Event]) -> bool {
    let mut counts: BTreeMap<(Loc, Tid), usize> = BTreeMap::new();
    for e in events {
        *counts.entry((e.call.loc(0), e.thread)).or_default() += 1;
    }
    let calls = |x: Loc, t: Tid| counts.get(&(x, t)).copied().unwrap_or(0);
    let as_often = |x: Loc, t: Tid| move |o: &Object| o.members.iter().all(|&p| calls(x, p) == calls(x, t));
    counts.keys().all(|&(x, t)| world.objects.get(&x).is_some_and(as_often(x, t)))
}
