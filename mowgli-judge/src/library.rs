//! Libraries `<M, loc, C>` (LOCO Def. 3.5) and sets of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::algebra::{Attribute, Key, Spec, calls, rel};
pub use crate::event::CellValues;
use crate::event::{Call, Cell, Event, Reads, Shape};
use crate::ids::{Loc, Name, Tid};
use crate::method::{self, Method, Returns};
use crate::shape::{ShapeTerm, Shapes};
use crate::stamp::{Stamp, StampKind, StampKinds};
use crate::value::Val;
use crate::world::{DeclarationForm, DeclarationPart, Object, World};

/// The initial values of the cells of a library.
#[derive(Clone, Copy)]
pub enum Initial {
    /// The initial value of the object at the location of the cell, 0 by default.
    OfObject,
    /// This value.
    Value(Val),
    /// A Rust function, of which proofs for all clients know nothing.
    Function(fn(&World, Cell) -> Val),
}

impl Initial {
    /// Returns the initial value of a cell.
    #[must_use]
    pub fn at(self, world: &World, cell: Cell) -> Val {
        match self {
            Self::OfObject => world.objects.get(&cell.loc).map_or(Val::Int(0), |o| o.init),
            Self::Value(v) => v,
            Self::Function(of) => of(world, cell),
        }
    }
}

/// A Rust function of a world and the events of one library by thread, in program order.
pub type PlainPredicate<'a> = dyn Fn(&World, &[&Event]) -> bool + 'a;

/// A set of plain executions, given the events of one library by thread, in program order.
pub enum PlainSet<'a> {
    /// Every one.
    All,
    /// Those in which the calls of each thread about an object come in rounds, and all members of the object take part in
    /// each round.
    InRounds,
    /// Those in which calls come in pairs.
    Paired(Paired),
    /// Those of which a Rust function is true. Proofs for all clients give up, because they cannot read it.
    Where(Box<PlainPredicate<'a>>),
}

impl PlainSet<'_> {
    /// Returns the pairs in which calls come, if that is said.
    #[must_use]
    pub fn pairs(&self) -> Option<Paired> {
        if let Self::Paired(pairs) = self { Some(*pairs) } else { None }
    }

    /// True if the execution with these events is in the set.
    #[must_use]
    pub fn has(&self, world: &World, events: &[&Event]) -> bool {
        match self {
            Self::All => true,
            Self::InRounds => is_in_rounds(world, events),
            Self::Paired(pairs) => pairs.has(events),
            Self::Where(of) => of(world, events),
        }
    }
}

/// Calls of a thread about one object, their first argument, that come in pairs. The call after one that opens is one that closes.
/// The call before one that closes is one that opens, or may open. For example, a thread releases the lock that it has acquired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paired {
    /// The methods that open.
    pub opens: &'static [&'static str],
    /// The methods that may open, so that a call that closes may follow, and need not.
    pub may_open: &'static [&'static str],
    /// The methods that close.
    pub closes: &'static [&'static str],
    /// The two statements in words: on calls that open, and on calls that close.
    pub says: [&'static str; 2],
}

impl Paired {
    /// The object of a call.
    const OBJECT: Key = Key::by("object", &[Attribute::Argument(0)]);

    /// True if these calls come in pairs.
    #[must_use]
    pub fn has(self, events: &[&Event]) -> bool {
        let is_of = |methods: &[&str], e: Option<&&Event>| e.is_some_and(|e| methods.contains(&e.call.method.text()));
        let goes_on = |before: Option<&&Event>, next: Option<&&Event>| {
            let is_opened = is_of(self.opens, before);
            let may_be_closed = is_opened || is_of(self.may_open, before);
            if is_of(self.closes, next) { may_be_closed } else { !is_opened }
        };
        let mut last: BTreeMap<(Tid, Val), &Event> = BTreeMap::new();
        let are_in_turn = events.iter().all(|e| match e.call.args.first() {
            Some(object) => goes_on(last.insert((e.thread, *object), e).as_ref(), Some(e)),
            None => goes_on(None, Some(e)) && goes_on(Some(e), None),
        });
        are_in_turn && last.values().all(|e| goes_on(Some(e), None))
    }

    /// Returns the same in the algebra, for libraries whose calls all have subevents.
    #[must_use]
    pub fn algebra(self) -> Spec {
        let [opens, may_open, closes] = [self.opens, self.may_open, self.closes].map(calls);
        let later = rel!(po & same(Self::OBJECT));
        let paired = rel!([opens | may_open]; later - (later; later); [closes]);
        let mut spec = Spec::default();
        spec.empty(self.says[0], &rel!([opens] - (paired; paired^-1)));
        spec.empty(self.says[1], &rel!([closes] - (paired^-1; paired)));
        spec
    }
}

/// The renamings with which the Rust functions of a library commute: see [`Hints::equivariance`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Equivariance {
    /// Nothing is known.
    Unknown,
    /// If threads, nodes and locations of the arguments are renamed, the results are the same, renamed.
    Names,
    /// The same holds for integers of clients: they are compared with each other, and never computed with.
    NamesAndData,
    /// The same holds if different integers of clients become equal, as far as shapes and bodies do not compare them: this is data
    /// independence.
    DataIndependent,
}

/// A library: its calls, the locations that they touch, their shapes, and the executions that are consistent.
///
/// The [`World`] has the objects, not the library, so every question about a call gets it.
pub trait Library: Send + Sync {
    /// Returns its name.
    fn name(&self) -> Name;

    /// Returns its methods.
    fn methods(&self) -> &'static [Method];

    /// Returns the form of the declarations of its objects in programs; `None` if it has no objects. By default the
    /// name of the library with some node.
    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm { kind: self.name().text(), parts: &[DeclarationPart::Home] })
    }

    /// Returns `loc(e)`: the locations that a call touches, its objects.
    fn loc(&self, call: &Call) -> Vec<Loc> {
        method::objects(self.methods(), call)
    }

    /// Returns the fault of a call that no program may make. For example, its location does not exist, it has too few
    /// arguments, or the library does not have its method. A program that makes it is not well defined, whatever the
    /// call might return, and callers ask nothing else about it.
    /// A call that merely cannot return some result has no fault, and its list of shapes with that result is empty. By
    /// default the table of methods decides.
    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        method::fault(world, thread, call, self.methods())
    }

    /// Returns the shapes of calls as terms, which provers and readers can analyse. By default `None`. Only then is
    /// [`Self::shapes_by_function`] asked.
    fn shape_terms(&self) -> Option<&Shapes> {
        None
    }

    /// Returns the ways in which an event can happen: `stmp(e)` with the accesses of each subevent. If there are none,
    /// no execution has the event. By default the meaning of [`Self::shape_terms`]. If that is given, it alone counts.
    ///
    /// # Panics
    /// If the call has a fault: see [`Self::fault`].
    fn shapes_by_function(&self, world: &World, event: &Event) -> Vec<Shape> {
        let terms = self.shape_terms();
        terms.unwrap_or_else(|| panic!("{} has neither shape_terms nor shapes", self.name())).of(world, event)
    }

    /// Returns the shapes of an event in a world with crashes, given those of the whole event. By default the same.
    fn cut_off(&self, world: &World, event: &Event, whole: Vec<Shape>) -> Vec<Shape> {
        let _ = (world, event);
        whole
    }

    /// Returns the value that a subevent of `event` with [`Writes::Step`](crate::event::Writes::Step) writes if the
    /// subevent on which it depends reads `read`. Returns `None` if an event with this result cannot read that. If a term
    /// says what is written, such as a sum, the term alone counts. By default `None`.
    fn step_by_function(&self, event: &Event, read: Val) -> Option<Val> {
        let _ = (event, read);
        None
    }

    /// Returns the initial values of its cells. By default those of the objects.
    fn initial(&self) -> Initial {
        Initial::OfObject
    }

    /// Returns the plain executions that permit consistency, which is part of the consistency predicate. The others are
    /// inconsistent, so an implementation must not end with their events. For the assumptions about clients see
    /// [`Self::covered`]. By default all.
    fn admitted(&self) -> PlainSet<'_> {
        PlainSet::All
    }

    /// Returns the plain executions that the specification covers: the assumption about clients. Every other execution is
    /// consistent, because it needs no choices, and there are no edges or demands. Checks skip such clients, because
    /// nothing can be violated. The set must not depend on results and data arguments, because executions that share
    /// a search may differ in these. By default all.
    fn covered(&self) -> PlainSet<'_> {
        PlainSet::All
    }

    /// The consistency predicate.
    fn spec(&self) -> Spec;
}

/// Hints about a library for engines. They say nothing about which executions are consistent, but a wrong one loses
/// executions. `mowgli_check::hints` compares them with the definition on small clients.
pub trait Hints: Library {
    /// Returns the values that a call may return to a thread with these `earlier` calls, of all libraries. Only
    /// remembered ones matter: see [`Self::is_remembered`]. `cells` returns the possible values of a cell. Superfluous
    /// results are harmless, but a missing one loses executions.
    ///
    /// By default the shape says it, beside the table. A result is a value of a cell from which a subevent reads it, or one
    /// with which a condition compares it. See [`Shapes::results`].
    fn returns(&self, world: &World, earlier: &[Event], thread: Tid, call: &Call, cells: CellValues<'_>) -> Vec<Val> {
        let _ = earlier;
        let mut results = match method::find(self.methods(), call).map(|m| m.returns) {
            Some(Returns::Value) => Vec::new(),
            Some(Returns::Bool) => vec![Val::Bool(false), Val::Bool(true)],
            Some(Returns::Nothing) => vec![Val::Unit],
            Some(Returns::Handle) | None => return Vec::new(),
        };
        let any = Event { thread, call: call.clone(), ret: Val::Top };
        let of_shape = match self.shape_terms() {
            Some(terms) => terms.results(world, &any, cells),
            None => {
                let shapes = self.shapes_by_function(world, &any);
                let of_result = shapes.iter().flatten().filter(|sub| sub.reads == Some(Reads::Is(Val::Top)));
                of_result.filter_map(|sub| sub.cell).flat_map(cells).collect()
            }
        };
        for v in of_shape {
            if !results.contains(&v) {
                results.push(v);
            }
        }
        results
    }

    /// True if an execution may need this call although nothing reads its writes. Either later results depend on it, or
    /// calls are counted, paired or come in turn. A loop never leaves out a round with such a call. Return false only
    /// if calls of this kind can be removed from every consistent execution, provided that nothing reads their writes.
    fn is_remembered(&self, call: &Call) -> bool {
        let _ = call;
        true
    }

    /// True if an execution may need a round of a loop with these events after these `earlier` ones of its thread, all
    /// of any library. By default, if that is true for one of its calls. A library whose calls together have no lasting
    /// effect can override this.
    fn remembers(&self, world: &World, earlier: &[Event], round: &[Event]) -> bool {
        let _ = (world, earlier);
        let mut own = round.iter().filter(|e| e.call.library == self.name());
        own.any(|e| !self.only_looks(e) && self.is_remembered(&e.call))
    }

    /// Returns the error in the shapes of an event with its remedy, if the library can detect one. By default `None`.
    /// The result [`Val::Top`] stands for whatever the call returns.
    fn wrong_shape(&self, world: &World, event: &Event) -> Option<String> {
        let _ = (world, event);
        None
    }

    /// True if an implementation must return from all these calls, by thread, in program order. False if a call waits
    /// for one that is missing: then an implementation may return, unlike where they are not admitted, but need not.
    fn must_return(&self, world: &World, events: &[&Event]) -> bool {
        let _ = (world, events);
        true
    }

    /// True if a call may wait for calls of other threads. It then returns only in executions in which they make them.
    /// It may also be the last call of a thread, begun but without a return. `None` where that is read off the specification: see
    /// [`Libraries::may_wait`].
    fn may_wait(&self, world: &World, call: &Call) -> Option<bool> {
        let _ = (world, call);
        None
    }

    /// True if the call of this event need not return this result, however often a thread makes it. For example, a thread that
    /// may crash need not. Then a loop that only such a result ends may go on for ever.
    fn is_optional(&self, event: &Event) -> bool {
        let _ = event;
        false
    }

    /// True if no program reads the result of such a call, and equal calls of a thread can exchange their results. Only such calls
    /// are between them, in any execution. The search then lets them return in one order only.
    fn is_interchangeable(&self, call: &Call) -> bool {
        let _ = call;
        false
    }

    /// Returns the calls that a thread must still make after these calls of its own, in order, for example the releases of the
    /// locks that it holds. [`Library::covered`] has the calls with them, so the specification covers executions in which
    /// threads wait for ever. A call after which its thread must still make others waits only while another thread must, too.
    fn unfinished(&self, events: &[&Event]) -> Vec<Call> {
        let _ = events;
        Vec::new()
    }

    /// Returns the renamings with which the Rust functions of this trait and of [`Library`] commute. Checks leave out clients
    /// that are equal to others up to such a renaming. Terms and relations show by themselves which renamings they allow.
    fn equivariance(&self) -> Equivariance {
        Equivariance::Unknown
    }

    /// True if an event only looks, so that a round of such events that does not break has no lasting effect. Return
    /// true only if the event can be removed from every consistent execution. By default the table decides.
    fn only_looks(&self, event: &Event) -> bool {
        method::find(self.methods(), &event.call).is_some_and(|m| m.looks.with(event.ret))
    }
}

/// The definitions in force. No library can replace them, so proofs read in its terms what checks run.
impl dyn Hints + '_ {
    /// Returns the ways in which an event can happen: those of [`Library::shape_terms`], cut off where threads or nodes may crash, or
    /// else [`Library::shapes_by_function`].
    #[must_use]
    pub fn shapes(&self, world: &World, event: &Event) -> Vec<Shape> {
        match self.shape_terms() {
            None => self.shapes_by_function(world, event),
            Some(terms) if world.crashes.is_empty() => terms.of(world, event),
            Some(terms) => self.cut_off(world, event, terms.of(world, event)),
        }
    }

    /// Returns the value that the update of an event writes if it reads `read`: as the shape says, or else
    /// [`Library::step_by_function`]. Returns `None` if an event with this result cannot read that. The search calls it with
    /// every value.
    #[must_use]
    pub fn step(&self, event: &Event, read: Val) -> Option<Val> {
        match self.shape_terms().and_then(|terms| terms.step(event)) {
            Some(step) => step(read),
            None => self.step_by_function(event, read),
        }
    }

    /// True if the plain execution alone permits consistency, as [`Library::admitted`] says.
    #[must_use]
    pub fn admits(&self, world: &World, events: &[&Event]) -> bool {
        self.admitted().has(world, events)
    }

    /// True if the specification covers these calls, as [`Library::covered`] says.
    #[must_use]
    pub fn is_well_formed(&self, world: &World, events: &[&Event]) -> bool {
        self.covered().has(world, events)
    }

    /// True if calls come in rounds.
    #[must_use]
    pub fn has_rounds(&self) -> bool {
        matches!(self.admitted(), PlainSet::InRounds)
    }

    /// Returns the initial value of a cell, as [`Library::initial`] says it.
    #[must_use]
    pub fn init(&self, world: &World, cell: Cell) -> Val {
        self.initial().at(world, cell)
    }
}

/// Pairwise disjoint libraries with their specifications, ready for use: the Lambda of LOCO Def. 3.6, over a stamp
/// order.
#[derive(Clone)]
pub struct Libraries {
    entries: BTreeMap<Name, Arc<LibraryEntry>>,
    order: StampOrder,
}

/// A stamp order, with its type of stamps.
#[derive(Clone)]
struct StampOrder {
    kinds: &'static StampKinds,
    to: Arc<dyn Fn(Stamp, Stamp) -> bool + Send + Sync>,
}

impl StampOrder {
    fn new<K: StampKind>(to: impl Fn(K, K) -> bool + Send + Sync + 'static) -> Self {
        Self { kinds: K::kinds(), to: Arc::new(move |a, b| to(K::of(a), K::of(b))) }
    }
}

/// The number of nodes of the network on which two stamp orders are compared. Orders that agree there count as equal.
const COMPARED: u8 = 3;

struct LibraryEntry {
    library: Arc<dyn Hints>,
    spec: Spec,
}

impl Libraries {
    /// Returns the empty set over the stamp order of a memory model: `<a, b> in to` if `to(a, b)`. Then a subevent with
    /// stamp `a` is preserved before a po-later one with `b`.
    #[must_use]
    pub fn over<K: StampKind>(to: impl Fn(K, K) -> bool + Send + Sync + 'static) -> Self {
        Self { entries: BTreeMap::new(), order: StampOrder::new(to) }
    }

    /// Returns the empty set over the stamp order of another set.
    #[must_use]
    pub fn like(other: &Self) -> Self {
        Self { entries: BTreeMap::new(), order: other.order.clone() }
    }

    /// Adds `library`, which replaces a library of the same name.
    #[must_use]
    pub fn with(mut self, library: impl Hints + 'static) -> Self {
        let entry = LibraryEntry { spec: library.spec(), library: Arc::new(library) };
        self.entries.insert(entry.library.name(), Arc::new(entry));
        self
    }

    /// Replaces the specification of one of the libraries.
    ///
    /// # Panics
    /// If there is no library of this name.
    #[must_use]
    pub fn respecified(mut self, name: Name, change: impl FnOnce(&mut Spec)) -> Self {
        let known = &self.entries[&name];
        let mut entry = LibraryEntry { library: Arc::clone(&known.library), spec: known.spec.clone() };
        change(&mut entry.spec);
        self.entries.insert(name, Arc::new(entry));
        self
    }

    /// Changes the shapes of the calls of one library. The demands on it stay the same.
    ///
    /// # Panics
    /// If there is no library of this name.
    #[must_use]
    pub fn reshaped(mut self, name: Name, by: impl Reshaping + 'static) -> Self {
        let LibraryEntry { library, spec } = &*self.entries[&name];
        let entry = LibraryEntry { spec: spec.clone(), library: Arc::new(Reshaped { of: Arc::clone(library), by }) };
        self.entries.insert(name, Arc::new(entry));
        self
    }

    /// Returns the library of this name, to build another one on it.
    #[must_use]
    pub fn shared(&self, name: Name) -> Arc<dyn Hints> {
        Arc::clone(&self.entries[&name].library)
    }

    /// Removes the library of this name.
    #[must_use]
    pub fn without(mut self, name: Name) -> Self {
        self.entries.remove(&name);
        self
    }

    /// Returns the union of both sets. If two libraries have one name, the first is kept.
    ///
    /// # Panics
    /// If they are over different stamp orders, because a set belongs to one memory model. [`Self::with_order_of`]
    /// chooses one of the orders.
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

    /// Replaces the stamp order.
    #[must_use]
    pub fn with_order<K: StampKind>(self, to: impl Fn(K, K) -> bool + Send + Sync + 'static) -> Self {
        Self { order: StampOrder::new(to), ..self }
    }

    /// Replaces the stamp order by the one of another set.
    #[must_use]
    pub fn with_order_of(self, other: &Self) -> Self {
        Self { order: other.order.clone(), ..self }
    }

    /// True if both are the same values, not merely equal ones: copies of one set, or unions of copies.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.order.to, &other.order.to)
            && self.entries.len() == other.entries.len()
            && self.entries.values().zip(other.entries.values()).all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// Returns a pair that only one of the two stamp orders has, if the sets belong to different memory models.
    #[must_use]
    pub fn differs_at(&self, other: &Self) -> Option<(Stamp, Stamp)> {
        if Arc::ptr_eq(&self.order.to, &other.order.to) {
            return None;
        }
        let all = self.stamps(COMPARED);
        let pairs = all.iter().flat_map(|&a| all.iter().map(move |&b| (a, b)));
        pairs.into_iter().find(|&(a, b)| self.to(a, b) != other.to(a, b))
    }

    /// Returns whether `<a, b> in to`, the stamp order.
    #[must_use]
    pub fn to(&self, a: Stamp, b: Stamp) -> bool {
        (self.order.to)(a, b)
    }

    /// True if the stamps of both have one type.
    #[must_use]
    pub fn has_stamps_of(&self, other: &Self) -> bool {
        std::ptr::eq(self.order.kinds, other.order.kinds)
    }

    /// Returns every stamp in a network of `nodes` nodes; see [`StampKind::all`].
    #[must_use]
    pub fn stamps(&self, nodes: u8) -> Vec<Stamp> {
        self.order.kinds.all(nodes)
    }

    /// Returns the library of this name.
    #[must_use]
    pub fn get(&self, name: Name) -> Option<&dyn Hints> {
        self.entries.get(&name).map(|e| &*e.library)
    }

    /// Returns the specification of the library of this name.
    #[must_use]
    pub fn spec(&self, name: Name) -> Option<&Spec> {
        self.entries.get(&name).map(|e| &e.spec)
    }

    /// Iterates over the names, in order.
    pub fn names(&self) -> impl Iterator<Item = Name> + '_ {
        self.entries.keys().copied()
    }

    /// Returns the library of a call.
    ///
    /// # Panics
    /// If this set does not have the library of the call. Programs are checked against their libraries before they run.
    #[must_use]
    pub fn of(&self, call: &Call) -> &dyn Hints {
        self.get(call.library).unwrap_or_else(|| panic!("no library {} for {call}", call.library))
    }

    /// True if a call may wait for calls of other threads; see [`Hints::may_wait`]. If a library does not say
    /// so, its calls may wait where the specification demands something, or does not admit all plain executions. They may also wait if
    /// their shape may block.
    #[must_use]
    pub fn may_wait(&self, world: &World, call: &Call) -> bool {
        let LibraryEntry { library, spec } = &*self.entries[&call.library];
        library.may_wait(world, call).unwrap_or_else(|| {
            let shape = || library.shape_terms().and_then(|shapes| shapes.get(call.method.text()));
            !spec.demands.is_empty()
                || !matches!(library.admitted(), PlainSet::All)
                || shape().is_none_or(ShapeTerm::may_block)
        })
    }

    /// Returns the calls that a thread must still make after these events of its own, of all libraries; see [`Hints::unfinished`].
    #[must_use]
    pub fn unfinished(&self, events: &[&Event]) -> Vec<Call> {
        let of_library = |(name, entry): (&Name, &Arc<LibraryEntry>)| {
            let own: Vec<&Event> = events.iter().filter(|e| e.call.library == *name).copied().collect();
            entry.library.unfinished(&own)
        };
        self.entries.iter().flat_map(of_library).collect()
    }

    /// True if an iteration of a loop with these events, after these `earlier` ones of its thread, is remembered; see
    /// [`Hints::remembers`].
    pub fn remember(&self, world: &World, earlier: &[Event], round: &[Event]) -> bool {
        self.entries.values().any(|entry| entry.library.remembers(world, earlier, round))
    }
}

/// A change of the shapes of a library's calls.
pub trait Reshaping: Send + Sync {
    /// Returns the renamings with which the functions of this trait commute: see [`Hints::equivariance`].
    fn equivariance(&self) -> Equivariance {
        Equivariance::Unknown
    }

    /// Returns the shapes of calls as terms, which then say alone how events happen. By default `None`.
    fn shape_terms(&self) -> Option<&Shapes> {
        None
    }

    /// Returns the shapes of an event, given the shapes in the library. By default the meaning of [`Self::shape_terms`], or else
    /// these shapes.
    fn shapes(&self, world: &World, event: &Event, known: Vec<Shape>) -> Vec<Shape> {
        self.shape_terms().map_or(known, |terms| terms.of(world, event))
    }

    /// Returns the plain executions that the specification covers, given those that it covers by itself.
    fn covered<'a>(&'a self, by_itself: PlainSet<'a>) -> PlainSet<'a> {
        by_itself
    }
}

/// A library with a [`Reshaping`].
struct Reshaped<R> {
    of: Arc<dyn Hints>,
    by: R,
}

impl<R: Reshaping> Library for Reshaped<R> {
    fn name(&self) -> Name {
        self.of.name()
    }

    fn methods(&self) -> &'static [Method] {
        self.of.methods()
    }

    fn object(&self) -> Option<DeclarationForm> {
        self.of.object()
    }

    fn loc(&self, call: &Call) -> Vec<Loc> {
        self.of.loc(call)
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        self.of.fault(world, thread, call)
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        self.by.shape_terms()
    }

    fn shapes_by_function(&self, world: &World, event: &Event) -> Vec<Shape> {
        self.by.shapes(world, event, self.of.shapes(world, event))
    }

    fn cut_off(&self, world: &World, event: &Event, whole: Vec<Shape>) -> Vec<Shape> {
        self.of.cut_off(world, event, whole)
    }

    fn step_by_function(&self, event: &Event, read: Val) -> Option<Val> {
        self.of.step(event, read)
    }

    fn initial(&self) -> Initial {
        self.of.initial()
    }

    fn admitted(&self) -> PlainSet<'_> {
        self.of.admitted()
    }

    fn covered(&self) -> PlainSet<'_> {
        self.by.covered(self.of.covered())
    }

    fn spec(&self) -> Spec {
        self.of.spec()
    }
}

impl<R: Reshaping> Hints for Reshaped<R> {
    fn returns(&self, world: &World, earlier: &[Event], thread: Tid, call: &Call, cells: CellValues<'_>) -> Vec<Val> {
        self.of.returns(world, earlier, thread, call, cells)
    }

    fn is_remembered(&self, call: &Call) -> bool {
        self.of.is_remembered(call)
    }

    fn remembers(&self, world: &World, earlier: &[Event], round: &[Event]) -> bool {
        self.of.remembers(world, earlier, round)
    }

    fn wrong_shape(&self, world: &World, event: &Event) -> Option<String> {
        self.of.wrong_shape(world, event)
    }

    fn must_return(&self, world: &World, events: &[&Event]) -> bool {
        self.of.must_return(world, events)
    }

    fn may_wait(&self, world: &World, call: &Call) -> Option<bool> {
        self.of.may_wait(world, call)
    }

    fn is_optional(&self, event: &Event) -> bool {
        self.of.is_optional(event)
    }

    fn is_interchangeable(&self, call: &Call) -> bool {
        self.of.is_interchangeable(call)
    }

    fn unfinished(&self, events: &[&Event]) -> Vec<Call> {
        self.of.unfinished(events)
    }

    fn only_looks(&self, event: &Event) -> bool {
        self.of.only_looks(event)
    }

    /// The shapes are no terms any more, so nothing is known of data.
    fn equivariance(&self) -> Equivariance {
        self.of.equivariance().min(self.by.equivariance()).min(Equivariance::Names)
    }
}

/// True if all members of an object have made the same number of calls about it. The object is the first argument of a
/// call.
#[must_use]
pub fn is_in_rounds(world: &World, events: &[&Event]) -> bool {
    let mut counts: BTreeMap<(Loc, Tid), usize> = BTreeMap::new();
    for e in events {
        *counts.entry((e.call.loc(0), e.thread)).or_default() += 1;
    }
    let calls = |x: Loc, t: Tid| counts.get(&(x, t)).copied().unwrap_or(0);
    let as_often = |x: Loc, t: Tid| move |o: &Object| o.members.iter().all(|&p| calls(x, p) == calls(x, t));
    counts.keys().all(|&(x, t)| world.objects.get(&x).is_some_and(as_often(x, t)))
}
