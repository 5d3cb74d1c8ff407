//! The language of specifications: relational algebra over declared choices.
//!
//! A specification is written once, as in the papers and as in `cat`. It has three readers: the [judge](crate::judge)
//! takes it literally, a search as constraints, and pictures and text use its names. Choices are declared
//! ([`Spec::reads_from`], [`Spec::order`], [`Spec::orient`]); all other relations are derived from them.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::ops::{BitAnd, BitOr, Shr, Sub as Minus};
use std::sync::Arc;

use crate::event::{Event, Sub};
use crate::few::Few;
use crate::ids::Node;
use crate::stamp::{Stamp, StampKind};
use crate::value::Val;
use crate::world::World;

pub use crate::{rel, set, spec};

/// A subevent in the form that predicates and keys take.
#[derive(Clone, Copy, Debug)]
pub struct SubView<'a> {
    /// The surroundings.
    pub world: &'a World,
    /// Its event. Results and data arguments may differ between executions that share a search: do not look at them.
    pub event: &'a Event,
    /// The subevent.
    pub sub: &'a Sub,
    /// The number of earlier events of the thread that make the same call, data aside: `o(e) - 1` of a barrier.
    pub nth: usize,
}

impl SubView<'_> {
    /// Returns the node of the event's thread.
    #[must_use]
    pub fn node(&self) -> Node {
        self.world.node_of(self.event.thread)
    }
}

type SharedFn<T> = Arc<dyn Fn(&SubView) -> T + Send + Sync>;

/// Returns the name of a function, for text: the name of a predicate or a key in a specification.
fn name_of<F>() -> &'static str {
    let path = std::any::type_name::<F>();
    let path = path.split('<').next().unwrap_or(path);
    path.rsplit("::").next().unwrap_or(path)
}

/// A property of a subevent that may be a part of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attribute {
    /// The argument of its call at this position.
    Argument(usize),
    /// The first argument of its call that is a work identifier.
    Identifier,
    /// The thread.
    Thread,
    /// The number of earlier events of the thread that make the same call, data aside: [`SubView::nth`].
    Count,
    /// The node of its stamp.
    Target,
    /// The channel to that node, where stamps distinguish several: [`StampKind::channel`].
    Channel,
    /// The cell that it touches.
    Cell,
    /// The node of that cell, or the node of the thread if it touches none.
    Place,
}

impl Attribute {
    fn of(self, s: &SubView) -> Option<Val> {
        match self {
            Self::Argument(i) => s.event.call.args.get(i).copied(),
            Self::Identifier => s.event.call.args.iter().find(|v| matches!(v, Val::Wid(_))).copied(),
            Self::Thread => Some(s.event.thread.into()),
            Self::Count => Some(Val::Int(s.nth as i64)),
            Self::Target => s.sub.stamp.node().map(Val::Node),
            Self::Channel => s.sub.stamp.channel().map(|number| Val::Int(number.into())),
            Self::Cell => s.sub.cell.map(|c| Val::tuple(&[Val::Loc(c.loc), Val::Node(c.node)])),
            Self::Place => Some(s.sub.cell.map_or(s.node(), |c| c.node).into()),
        }
    }
}

/// A function by whose values subevents are compared.
#[derive(Clone)]
pub struct Key {
    /// The name of the function.
    pub name: &'static str,
    of: Keyed,
}

#[derive(Clone)]
enum Keyed {
    Attributes(&'static [Attribute]),
    Function(SharedFn<Option<Val>>),
}

impl Key {
    /// Returns the key that consists of these attributes. A subevent that lacks one of them has no key. Provers can
    /// analyse it, unlike a function.
    #[must_use]
    pub const fn by(name: &'static str, attributes: &'static [Attribute]) -> Self {
        Self { name, of: Keyed::Attributes(attributes) }
    }

    /// Returns its attributes; `None` if it is a Rust function.
    #[must_use]
    pub fn attributes(&self) -> Option<&'static [Attribute]> {
        if let Keyed::Attributes(all) = self.of { Some(all) } else { None }
    }

    /// Returns the key of a subevent, if it has one.
    #[must_use]
    pub fn of(&self, s: &SubView) -> Option<Val> {
        match &self.of {
            Keyed::Function(of) => of(s),
            Keyed::Attributes([one]) => one.of(s),
            Keyed::Attributes(all) => {
                let all: Option<Few<Val>> = all.iter().map(|attribute| attribute.of(s)).collect();
                all.map(|all| Val::tuple(&all))
            }
        }
    }
}

/// A named function is a key, because text prints its name.
impl<F: Fn(&SubView) -> Option<Val> + Send + Sync + 'static> From<F> for Key {
    fn from(of: F) -> Self {
        Self { name: name_of::<F>(), of: Keyed::Function(Arc::new(of)) }
    }
}

/// A set of subevents.
#[derive(Clone)]
pub struct Set(SetDefinition);

/// The definition of a set.
#[derive(Clone)]
pub enum SetDefinition {
    /// All subevents.
    All,
    /// The subevents that read.
    Reads,
    /// The subevents that write.
    Writes,
    /// The subevents whose stamp satisfies this predicate.
    Stamped(Arc<dyn Fn(Stamp) -> bool + Send + Sync>),
    /// The subevents that satisfy this predicate, which has a name.
    Where(&'static str, SharedFn<bool>),
    /// The subevents of calls of these methods.
    Calls(&'static [&'static str]),
    /// The subevents of calls whose first argument is a way to make the call that satisfies this predicate, which has a name.
    Ways(&'static str, fn(Val) -> bool),
    /// The members of two sets.
    Either(Arc<(Set, Set)>),
    /// The common members of two sets.
    Both(Arc<(Set, Set)>),
    /// The same set, under a name.
    Named(&'static str, Arc<Set>),
}

/// Returns the subevents whose stamp satisfies `is`.
pub fn stamps<K: StampKind>(is: impl Fn(K) -> bool + Send + Sync + 'static) -> Set {
    Set(SetDefinition::Stamped(Arc::new(move |stamp| is(K::of(stamp)))))
}

/// Returns the subevents with this stamp.
pub fn stamped(stamp: impl Into<Stamp>) -> Set {
    let stamp = stamp.into();
    Set(SetDefinition::Stamped(Arc::new(move |other| other == stamp)))
}

/// Returns the subevents of calls of these methods.
#[must_use]
pub const fn calls(methods: &'static [&'static str]) -> Set {
    Set(SetDefinition::Calls(methods))
}

/// Returns the subevents of calls that are made in a way for which `is` holds. `name` is for text.
#[must_use]
pub const fn ways(name: &'static str, is: fn(Val) -> bool) -> Set {
    Set(SetDefinition::Ways(name, is))
}

/// Returns the subevents for which `is` holds. `is` should be a named function, because text prints its name.
pub fn events<F: Fn(&SubView) -> bool + Send + Sync + 'static>(is: F) -> Set {
    Set(SetDefinition::Where(name_of::<F>(), Arc::new(is)))
}

/// Returns `R`: the subevents that read.
#[must_use]
pub fn reads() -> Set {
    Set(SetDefinition::Reads)
}

/// Returns `W`: the subevents that write.
#[must_use]
pub fn writes() -> Set {
    Set(SetDefinition::Writes)
}

impl Set {
    /// Returns its definition.
    #[must_use]
    pub fn members(&self) -> &SetDefinition {
        &self.0
    }

    /// True if a subevent is in the set.
    #[must_use]
    pub fn has(&self, s: &SubView) -> bool {
        match &self.0 {
            SetDefinition::All => true,
            SetDefinition::Reads => s.sub.reads.is_some(),
            SetDefinition::Writes => s.sub.writes.is_some(),
            SetDefinition::Stamped(is) => is(s.sub.stamp),
            SetDefinition::Where(_, is) => is(s),
            SetDefinition::Calls(methods) => methods.contains(&s.event.call.method.text()),
            SetDefinition::Ways(_, is) => s.event.call.args.first().is_some_and(|v| matches!(v, Val::Way(_)) && is(*v)),
            SetDefinition::Either(sets) => sets.0.has(s) || sets.1.has(s),
            SetDefinition::Both(sets) => sets.0.has(s) && sets.1.has(s),
            SetDefinition::Named(_, set) => set.has(s),
        }
    }

    /// Returns `[self]`: the identity on the set.
    #[must_use]
    pub fn on(&self) -> Rel {
        Rel::new(RelExpr::On(self.clone()))
    }

    /// Returns `self x other`.
    #[must_use]
    pub fn cross(&self, other: &Self) -> Rel {
        Rel::new(RelExpr::Cross(self.clone(), other.clone()))
    }

    /// Returns the same set under a name for text.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self(SetDefinition::Named(name, Arc::new(self)))
    }
}

/// A name that stands for a set of subevents in `spec!`. Names are sets, stamps, families of stamps without the index,
/// functions that return a set, and predicates of a [`SubView`]. `Kind` distinguishes them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name a set of subevents",
    note = "a set is named by a stamp, a family of stamps, a `Set`, a function that returns one, or a predicate of a `SubView`"
)]
pub trait SetName<Kind> {
    /// Returns the set.
    fn set(self) -> Set;
}

impl SetName<()> for &Set {
    fn set(self) -> Set {
        self.clone()
    }
}

/// A function without arguments names the set that it returns.
impl<F: Fn() -> Set> SetName<Set> for &F {
    fn set(self) -> Set {
        self()
    }
}

/// A stamp names the subevents with this stamp.
impl<K: StampKind> SetName<K> for &K {
    fn set(self) -> Set {
        stamped(*self)
    }
}

/// A family of stamps names the subevents whose stamp is of the family, whatever the index.
impl<I: From<Node>, K: StampKind, F: Fn(I) -> K> SetName<(I, K)> for &F {
    fn set(self) -> Set {
        let family = std::mem::discriminant(&self(Node(1).into()));
        stamps(move |stamp: K| std::mem::discriminant(&stamp) == family)
    }
}

/// A named function names the subevents for which it holds, because text prints its name.
impl<F: Fn(&SubView) -> bool + Copy + Send + Sync + 'static> SetName<bool> for &F {
    fn set(self) -> Set {
        events(*self)
    }
}

/// The expression that defines a relation.
#[derive(Clone)]
pub enum RelExpr {
    /// Program order.
    Po,
    /// Preserved program order.
    Ppo,
    /// Happens-before.
    Hb,
    /// The pairs within one event.
    SameEvent,
    /// The pairs within one thread.
    SameThread,
    /// The pairs with equal key.
    Same(Key),
    /// The i-th member of one set with the i-th member of the other, in the program order of a thread, among those with
    /// equal key.
    InTurn(Set, Set, Key),
    /// The identity on a set.
    On(Set),
    /// All pairs of two sets.
    Cross(Set, Set),
    /// The pairs of the choice at this position: reads-from, or an order.
    Chosen(usize),
    /// For the reads-from choice at this position: `(r, w)` where r reads the initial value and w writes the same cell.
    BeforeAny(usize),
    /// Union.
    Union(Rel, Rel),
    /// Intersection.
    Inter(Rel, Rel),
    /// Difference.
    Minus(Rel, Rel),
    /// Composition.
    Seq(Rel, Rel),
    /// Inverse.
    Inverse(Rel),
    /// Transitive closure.
    Plus(Rel),
}

/// The name of a relation and a sentence for its edges. In the sentence `{a}` and `{b}` stand for the two ends,
/// `{a reads}`, `{a writes}` and so on for their values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeWords {
    /// The name of an edge.
    pub name: &'static str,
    /// The name by which the specification defines the relation, which may differ from that of an edge.
    pub own: &'static str,
    /// The sentence.
    pub sentence: &'static str,
}

struct RelTerm {
    expr: RelExpr,
    said: Option<EdgeWords>,
}

/// A relation on the subevents of one library, as an expression, which may have a name.
#[derive(Clone)]
pub struct Rel(Arc<RelTerm>);

impl Rel {
    fn new(expr: RelExpr) -> Self {
        Self(Arc::new(RelTerm { expr, said: None }))
    }

    /// Returns the same relation with a name and a sentence for its edges. Explanations print an edge of it as one
    /// step. In the sentence `{a}` and `{b}` stand for the two ends, `{a reads}`, `{a writes}` and so on for their
    /// values.
    #[must_use]
    pub fn named(&self, name: &'static str, sentence: &'static str) -> Self {
        Self(Arc::new(RelTerm { expr: self.0.expr.clone(), said: Some(EdgeWords { name, own: name, sentence }) }))
    }

    /// Returns the same relation with the name by which the specification defines it. Text in cat has this name.
    #[must_use]
    pub fn defined_as(&self, own: &'static str) -> Self {
        Self(Arc::new(RelTerm { expr: self.0.expr.clone(), said: self.0.said.map(|said| EdgeWords { own, ..said }) }))
    }

    /// Returns the expression that defines it.
    #[must_use]
    pub fn expr(&self) -> &RelExpr {
        &self.0.expr
    }

    /// Returns its name and its sentence, if it has them.
    #[must_use]
    pub fn said(&self) -> Option<EdgeWords> {
        self.0.said
    }

    /// True if the expression mentions hb.
    #[must_use]
    pub fn mentions_hb(&self) -> bool {
        match self.expr() {
            RelExpr::Hb => true,
            RelExpr::Union(a, b) | RelExpr::Inter(a, b) | RelExpr::Minus(a, b) | RelExpr::Seq(a, b) => {
                a.mentions_hb() || b.mentions_hb()
            }
            RelExpr::Inverse(a) | RelExpr::Plus(a) => a.mentions_hb(),
            _ => false,
        }
    }

    /// True if the expression mentions one of these choices, by their positions.
    fn mentions_choice(&self, is_one: &dyn Fn(usize) -> bool) -> bool {
        match self.expr() {
            RelExpr::Chosen(choice) => is_one(*choice),
            RelExpr::Union(a, b) | RelExpr::Inter(a, b) | RelExpr::Minus(a, b) | RelExpr::Seq(a, b) => {
                a.mentions_choice(is_one) || b.mentions_choice(is_one)
            }
            RelExpr::Inverse(a) | RelExpr::Plus(a) => a.mentions_choice(is_one),
            _ => false,
        }
    }

    /// True if the relation may have pairs only because there is no path through other subevents. This is so for a
    /// difference that takes away a composition.
    fn denies_a_path(&self) -> bool {
        match self.expr() {
            RelExpr::Minus(a, b) => b.has_path() || a.denies_a_path() || b.denies_a_path(),
            RelExpr::Union(a, b) | RelExpr::Inter(a, b) | RelExpr::Seq(a, b) => a.denies_a_path() || b.denies_a_path(),
            RelExpr::Inverse(a) | RelExpr::Plus(a) => a.denies_a_path(),
            _ => false,
        }
    }

    /// True if the relation may have pairs only because of other subevents.
    fn has_path(&self) -> bool {
        let is_identity = |rel: &Self| matches!(rel.expr(), RelExpr::On(_));
        match self.expr() {
            RelExpr::Seq(a, b) => (!is_identity(a) && !is_identity(b)) || a.has_path() || b.has_path(),
            RelExpr::Union(a, b) | RelExpr::Inter(a, b) | RelExpr::Minus(a, b) => a.has_path() || b.has_path(),
            RelExpr::Inverse(a) => a.has_path(),
            RelExpr::Plus(_) => true,
            _ => false,
        }
    }

    /// Returns a number that distinguishes this expression from all others that exist at the same time.
    #[must_use]
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Returns the composition `self; next`.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        Self::new(RelExpr::Seq(self.clone(), next.clone()))
    }

    /// Returns the inverse.
    #[must_use]
    pub fn inv(&self) -> Self {
        Self::new(RelExpr::Inverse(self.clone()))
    }

    /// Returns the transitive closure.
    #[must_use]
    pub fn plus(&self) -> Self {
        Self::new(RelExpr::Plus(self.clone()))
    }

    /// Splits `[A]; r`, if the relation is such a composition. A part with a name stays whole, because explanations
    /// print an edge of it as one step.
    fn split_identity(&self) -> Option<(&Set, Self)> {
        let (RelExpr::Seq(first, rest), None) = (self.expr(), self.said()) else { return None };
        match (first.expr(), first.said()) {
            (RelExpr::On(from), None) => Some((from, rest.clone())),
            _ => first.split_identity().map(|(from, inner)| (from, inner.then(rest))),
        }
    }

    /// Visits the sets and the keys of its definition.
    fn visit(&self, set: &mut dyn FnMut(&Set), key: &mut dyn FnMut(&Key)) {
        match self.expr() {
            RelExpr::Po | RelExpr::Ppo | RelExpr::Hb | RelExpr::SameEvent | RelExpr::SameThread => {}
            RelExpr::Chosen(_) | RelExpr::BeforeAny(_) => {}
            RelExpr::Same(of) => key(of),
            RelExpr::InTurn(from, to, of) => {
                set(from);
                set(to);
                key(of);
            }
            RelExpr::On(of) => set(of),
            RelExpr::Cross(a, b) => [a, b].into_iter().for_each(set),
            RelExpr::Union(a, b) | RelExpr::Inter(a, b) | RelExpr::Minus(a, b) | RelExpr::Seq(a, b) => {
                a.visit(set, key);
                b.visit(set, key);
            }
            RelExpr::Inverse(a) | RelExpr::Plus(a) => a.visit(set, key),
        }
    }

    /// Returns `[from]; self; [to]`.
    #[must_use]
    pub fn between(&self, from: &Set, to: &Set) -> Self {
        self & from.cross(to)
    }
}

/// Returns program order, between the subevents of different events.
#[must_use]
pub fn po() -> Rel {
    Rel::new(RelExpr::Po)
}

/// Returns preserved program order (LOCO §3.2).
#[must_use]
pub fn ppo() -> Rel {
    Rel::new(RelExpr::Ppo)
}

/// Returns happens-before (LOCO Def. 3.6): at least `(ppo u so)+`. It is for demands only, because `so` is part of it.
#[must_use]
pub fn hb() -> Rel {
    Rel::new(RelExpr::Hb)
}

/// Returns all pairs of subevents of one event, also of a subevent with itself.
#[must_use]
pub fn same_event() -> Rel {
    Rel::new(RelExpr::SameEvent)
}

/// Returns all pairs of subevents of one thread.
#[must_use]
pub fn same_thread() -> Rel {
    Rel::new(RelExpr::SameThread)
}

/// Returns all pairs on which `key` is defined and equal.
pub fn same(key: impl Into<Key>) -> Rel {
    Rel::new(RelExpr::Same(key.into()))
}

/// Pairs, on each thread, the i-th of `from` with the i-th of `to` in program order, among those with an equal `key`.
/// An example is a queue, from which the oldest entry is taken first.
pub fn in_turn(from: Set, to: Set, key: impl Into<Key>) -> Rel {
    Rel::new(RelExpr::InTurn(from, to, key.into()))
}

/// Returns the identity.
#[must_use]
pub fn id() -> Rel {
    Set(SetDefinition::All).on()
}

macro_rules! operator {
    ($trait:ident, $method:ident, $expr:ident) => {
        impl<R: Borrow<Rel>> $trait<R> for Rel {
            type Output = Rel;
            fn $method(self, other: R) -> Rel {
                Rel::new(RelExpr::$expr(self, other.borrow().clone()))
            }
        }
        impl<R: Borrow<Rel>> $trait<R> for &Rel {
            type Output = Rel;
            fn $method(self, other: R) -> Rel {
                self.clone().$method(other)
            }
        }
    };
}
operator!(BitOr, bitor, Union);
operator!(BitAnd, bitand, Inter);
operator!(Minus, sub, Minus);

/// Composition. `[A]; r; [B]` becomes the restriction of r to A x B, because a search computes that without a path.
impl Shr for Rel {
    type Output = Self;
    fn shr(self, next: Self) -> Self {
        match (self.split_identity(), next.expr(), next.said()) {
            (Some((from, inner)), RelExpr::On(to), None) => inner.between(from, to),
            _ => self.then(&next),
        }
    }
}

impl BitOr for Set {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(SetDefinition::Either(Arc::new((self, other))))
    }
}

impl BitAnd for Set {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(SetDefinition::Both(Arc::new((self, other))))
    }
}

/// A declared choice, which an execution fills in.
#[derive(Clone)]
pub enum Choice {
    /// At most one write of the same cell and value for each read.
    ReadsFrom {
        /// The reads.
        reads: Set,
        /// The writes.
        writes: Set,
    },
    /// A strict total order on each class of equal key.
    Order {
        /// The subevents that are ordered.
        members: Set,
        /// The key that the members of a class share.
        key: Key,
    },
    /// One of the two directions for every pair of two subevents.
    Orient {
        /// The pairs.
        pairs: Rel,
    },
}

/// The role of a choice in a specification, whatever its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChoiceRole {
    /// From each write to the reads that read it: [`Spec::reads_from`].
    ReadsFrom,
    /// A total order on each class of its members: [`Spec::order`].
    Order,
    /// One direction for every pair: [`Spec::orient`].
    Orientation,
}

/// A condition on a derived relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// No element is related to itself.
    Irreflexive,
    /// No pair is related.
    Empty,
}

/// A consistency predicate `C`: choices, demands, and `so` as a union of named parts.
#[derive(Clone, Default)]
pub struct Spec {
    /// The choices, by name.
    pub choices: Vec<(&'static str, Choice)>,
    /// The parts of so, by name.
    pub so: Vec<(&'static str, Rel)>,
    /// The demands, by name.
    pub demands: Vec<(&'static str, Demand, Rel)>,
    /// The parts of so that are paths of other parts.
    paths: BTreeSet<&'static str>,
}

impl Spec {
    /// Visits the sets and the keys of all choices, parts of so and demands.
    pub fn visit(&self, set: &mut dyn FnMut(&Set), key: &mut dyn FnMut(&Key)) {
        for (_, choice) in &self.choices {
            match choice {
                Choice::ReadsFrom { reads, writes } => [reads, writes].into_iter().for_each(&mut *set),
                Choice::Order { members, key: of } => {
                    set(members);
                    key(of);
                }
                Choice::Orient { pairs } => pairs.visit(set, key),
            }
        }
        self.so.iter().for_each(|(_, rel)| rel.visit(set, key));
        self.demands.iter().for_each(|(_, _, rel)| rel.visit(set, key));
    }

    /// Returns the reads-from choices whose reads have a subevent. A read has one source, so there is one at most.
    pub fn sources<'s>(&'s self, read: &'s SubView<'_>) -> impl Iterator<Item = &'static str> + 's {
        let has = |choice: &Choice| matches!(choice, Choice::ReadsFrom { reads, .. } if reads.has(read));
        self.choices.iter().filter(move |(_, choice)| has(choice)).map(|(name, _)| *name)
    }

    /// Declares `name` as reads-from between `writes` and `reads`: same cell, equal values, at most one write for each
    /// read. A read without a write reads the initial value. Returns the relation, and the part of `rb`
    /// without `rf^-1; mo`. That part has the pairs of a read of the initial value and any write of its cell.
    ///
    /// # Panics
    /// If another choice has this name.
    #[track_caller]
    pub fn reads_from(&mut self, name: &'static str, reads: Set, writes: Set) -> (Rel, Rel) {
        let choice = self.choose(name, Choice::ReadsFrom { reads, writes });
        (Rel::new(RelExpr::Chosen(choice)), Rel::new(RelExpr::BeforeAny(choice)))
    }

    /// Declares `rf` and `mo` of a memory, and returns them with `rb`. rf relates the writes of a cell to its reads. mo
    /// is a strict total order on the writes of each cell. rb = (rf^-1; mo) u (reads of the initial value x writes of
    /// the cell), without the identity: from a read to the later writes.
    #[track_caller]
    pub fn coherence(&mut self) -> [Rel; 3] {
        self.coherence_as([
            "{b} read {b reads}, which {a} wrote",
            "{a} wrote before {b} did",
            "{a} read {a reads}, before {b} wrote",
        ])
    }

    /// Declares the same relations, with these sentences for the edges of rf, mo and rb.
    #[track_caller]
    pub fn coherence_as(&mut self, [rf_is, mo_is, rb_is]: [&'static str; 3]) -> [Rel; 3] {
        let (rf, initial) = self.reads_from("rf", reads(), writes());
        let rf = rf.named("rf", rf_is);
        let mo = self.order("mo", writes(), CELL).named("mo", mo_is);
        let rb = ((rf.inv().then(&mo) | initial) - id()).named("rb", rb_is);
        [rf, mo, rb]
    }

    /// Declares `name` as a strict total order on each class of `members` with equal `key`.
    ///
    /// # Panics
    /// If another choice has this name.
    #[track_caller]
    pub fn order(&mut self, name: &'static str, members: Set, key: impl Into<Key>) -> Rel {
        let choice = self.choose(name, Choice::Order { members, key: key.into() });
        Rel::new(RelExpr::Chosen(choice))
    }

    /// Declares `name` as a relation that orders every pair of `pairs`, one way or the other. It has no pair of a subevent and itself.
    /// `pairs` must not depend on other choices.
    ///
    /// # Panics
    /// If another choice has this name.
    #[track_caller]
    pub fn orient(&mut self, name: &'static str, pairs: Rel) -> Rel {
        let choice = self.choose(name, Choice::Orient { pairs });
        Rel::new(RelExpr::Chosen(choice))
    }

    #[track_caller]
    fn choose(&mut self, name: &'static str, choice: Choice) -> usize {
        let is_new = self.choices.iter().all(|(known, _)| *known != name);
        assert!(is_new, "the specification has two choices with the name {name}: give one of them another");
        self.choices.push((name, choice));
        self.choices.len() - 1
    }

    /// Returns the role of the choice of this name, if there is one.
    #[must_use]
    pub fn role(&self, choice: &str) -> Option<ChoiceRole> {
        self.choices.iter().find(|(name, _)| *name == choice).map(|(_, choice)| match choice {
            Choice::ReadsFrom { .. } => ChoiceRole::ReadsFrom,
            Choice::Order { .. } => ChoiceRole::Order,
            Choice::Orient { .. } => ChoiceRole::Orientation,
        })
    }

    /// True if edges of a part of so with this name follow a chosen order, as those of locks follow the order of their acquisitions.
    #[must_use]
    pub fn follows_order(&self, edge: &str) -> bool {
        let is_order = |choice: usize| matches!(self.choices[choice].1, Choice::Order { .. });
        let has_name = |rel: &Rel| rel.said().is_some_and(|said| said.name == edge);
        self.so.iter().any(|(_, rel)| has_name(rel) && rel.mentions_choice(&is_order))
    }

    /// Returns the relation of the choice of this name, if there is one.
    #[must_use]
    pub fn chosen(&self, choice: &str) -> Option<Rel> {
        let position = self.choices.iter().position(|(name, _)| *name == choice)?;
        Some(Rel::new(RelExpr::Chosen(position)))
    }

    /// Returns the part of so of this name, if there is one.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&Rel> {
        self.so.iter().find(|(part, _)| *part == name).map(|(_, rel)| rel)
    }

    /// True if a demand mentions hb: then more of hb can make an execution inconsistent (LOCO Def. 3.13, 3).
    #[must_use]
    pub fn mentions_hb(&self) -> bool {
        self.demands.iter().any(|(_, _, rel)| rel.mentions_hb())
    }

    /// True if a demand or a part of so may be there only because there is no path through other subevents. If it is
    /// false, an execution stays consistent without some subevents that only read, for example those of idle
    /// iterations.
    #[must_use]
    pub fn denies_a_path(&self) -> bool {
        let mut all = self.so.iter().map(|(_, rel)| rel).chain(self.demands.iter().map(|(_, _, rel)| rel));
        all.any(Rel::denies_a_path)
    }

    /// Drops the demands that mention hb.
    pub fn forget_hb(&mut self) {
        self.demands.retain(|(_, _, rel)| !rel.mentions_hb());
    }

    /// Adds these relations to `so`, each under the name that [`Rel::named`] gave it, or under that of its choice.
    ///
    /// # Panics
    /// If a relation has no name, or mentions hb, of which so is a part.
    #[track_caller]
    pub fn so<'r>(&mut self, parts: impl IntoIterator<Item = &'r Rel>) {
        self.so_written(parts.into_iter().map(|part| ("a relation", part)));
    }

    /// Adds the same relations, each with the text by which the author wrote it.
    ///
    /// # Panics
    /// As [`Self::so`].
    #[track_caller]
    pub fn so_written<'r>(&mut self, parts: impl IntoIterator<Item = (&'static str, &'r Rel)>) {
        for (text, part) in parts {
            let Some(name) = self.name(part) else {
                panic!(
                    "{text} is a part of so and has no sentence: write `say {text} = \"{{a}} .. {{b}}\";`, or `Rel::named`"
                )
            };
            assert!(!part.mentions_hb(), "so part {name} mentions hb, of which so is a part");
            self.so.push((name, part.clone()));
        }
    }

    fn name(&self, rel: &Rel) -> Option<&'static str> {
        match (rel.said(), rel.expr()) {
            (Some(said), _) => Some(said.name),
            (None, RelExpr::Chosen(choice)) => self.choices.get(*choice).map(|(name, _)| *name),
            (None, RelExpr::Po) => Some("po"),
            (None, RelExpr::Ppo) => Some("ppo"),
            _ => None,
        }
    }

    /// Adds `rel` to `so` under this name. Each of its edges is a path of edges that are printed anyway, so pictures
    /// leave it out.
    ///
    /// # Panics
    /// If it mentions hb, of which so is a part.
    #[track_caller]
    pub fn so_of_paths(&mut self, name: &'static str, rel: &Rel) {
        assert!(!rel.mentions_hb(), "so part {name} mentions hb, of which so is a part");
        self.so.push((name, rel.clone()));
        self.paths.insert(name);
    }

    /// True if the part of so of this name consists of paths of others.
    #[must_use]
    pub fn is_of_paths(&self, part: &str) -> bool {
        self.paths.contains(part)
    }

    /// Demands that `rel` relates nothing to itself.
    pub fn irreflexive(&mut self, name: &'static str, rel: &Rel) {
        self.demands.push((name, Demand::Irreflexive, rel.clone()));
    }

    /// Demands that `rel` is empty.
    pub fn empty(&mut self, name: &'static str, rel: &Rel) {
        self.demands.push((name, Demand::Empty, rel.clone()));
    }
}

/// The key of coherence: the cell, for subevents that touch one.
pub const CELL: Key = Key::by("cell", &[Attribute::Cell]);
