//! A library and an implementation that are given by functions. They suffice if the method table describes the calls,
//! each call can happen in one way, and objects need only a name.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::algebra::Spec;
use crate::event::{Call, Event, Reads, Sub};
use crate::expr::Expr;
use crate::ids::{Name, Tid};
use crate::library::{Equivariance, Hints, Initial, Library};
use crate::soundness::client::{Subject, object_names};
use crate::term::body::Bodies;
use crate::term::bound::Bound;
use crate::term::implementation::Implementation;
use crate::term::lemma::Lemma;
use crate::term::method::{self, Method, Methods, Returns};
use crate::term::parts::{ObjectTerm, Parts, parts};
use crate::term::shape::Shapes;
use crate::value::Val;
use crate::world::{Object, World};

/// A library by its method table `M`, the shapes of its calls, and its specification. Its clients make every call of the
/// table, with as many objects as the bound has.
pub struct Simple<M> {
    shapes: &'static Shapes,
    spec: fn() -> Spec,
    init: Option<Val>,
    methods: PhantomData<fn() -> M>,
}

impl<M> Simple<M> {
    /// Returns the library whose calls have these shapes, written with [`shapes!`](crate::term::shape::shapes), and whose
    /// consistency predicate is this `spec`.
    pub fn new(shapes: &'static Shapes, spec: fn() -> Spec) -> Self {
        Self { shapes, spec, init: None, methods: PhantomData }
    }

    /// Returns the same with this initial value of its cells in place of 0.
    #[must_use]
    pub fn init(self, init: impl Into<Val>) -> Self {
        Self { init: Some(init.into()), ..self }
    }
}

impl<M> Clone for Simple<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Simple<M> {}

impl<M: Methods> fmt::Debug for Simple<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Simple({})", M::LIBRARY)
    }
}

impl<M: Methods> Library for Simple<M> {
    fn name(&self) -> Name {
        M::LIBRARY
    }

    fn methods(&self) -> &'static [Method] {
        M::METHODS
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(self.shapes)
    }

    fn initial(&self) -> Initial {
        self.init.map_or(Initial::OfObject, Initial::Value)
    }

    fn spec(&self) -> Spec {
        (self.spec)()
    }
}

impl<M: Methods> Hints for Simple<M> {
    fn wrong_shape(&self, world: &World, event: &Event) -> Option<String> {
        self.shapes.of(world, event).iter().find_map(|shape| mistake::<M>(event, shape))
    }

    fn equivariance(&self) -> Equivariance {
        Equivariance::DataIndependent
    }
}

/// Returns an error if the result of a call is a value that no subevent reads.
fn not_read(event: &Event, shape: &[Sub]) -> Option<String> {
    let reads = shape.iter().any(|sub| sub.reads == Some(Reads::Is(event.ret)));
    let what = "it returns a value, and no subevent reads it: one is to be `stamp: reads x at n, ret()`, whatever the value is";
    (!reads).then(|| what.to_owned())
}

/// Returns the error in the shape of an event, if there is one. The result `Val::Top`, which calls never return, stands
/// for any value.
fn mistake<M: Methods>(event: &Event, shape: &[Sub]) -> Option<String> {
    let is_asked =
        event.ret == Val::Top && method::find(M::METHODS, &event.call).is_some_and(|m| m.returns == Returns::Value);
    not_read(event, shape).filter(|_| is_asked)
}

impl<M: Methods> Subject for Simple<M> {
    fn worlds(&self, empty: &World, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let with = |count: usize| {
            let mut world = empty.clone();
            let names = object_names(&["x", "y", "z", "u", "v", "w"]);
            world.objects.extend(names.take(count).map(|x| (x, Object::new(M::LIBRARY))));
            world
        };
        (1..=bound.objects).map(with).collect()
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        method::calls(M::LIBRARY, M::METHODS, world, thread, bound, expired)
    }
}

/// An implementation by the parts of each object, and the body of each method of a table `M`.
pub struct Over<M> {
    target: Name,
    parts: Parts,
    bodies: Arc<Bodies>,
    lemmas: fn() -> Vec<Lemma>,
    methods: PhantomData<fn() -> M>,
}

impl<M> Clone for Over<M> {
    fn clone(&self) -> Self {
        Self { parts: self.parts.clone(), bodies: self.bodies.clone(), ..*self }
    }
}

impl<M: Methods> Over<M> {
    /// Returns the implementation with these bodies, written with [`bodies!`](crate::term::body::bodies). Its objects have no
    /// parts.
    #[must_use]
    pub fn terms(bodies: Bodies) -> Self {
        Self::terms_of(M::LIBRARY, bodies)
    }
}

impl<M> Over<M> {
    /// Returns the same as [`Over::terms`] for one of several libraries that share a method table.
    #[must_use]
    pub fn terms_of(target: Name, bodies: Bodies) -> Self {
        let (bodies, lemmas) = (Arc::new(bodies), Vec::new as fn() -> Vec<Lemma>);
        Self { target, parts: parts! { x => }, bodies, lemmas, methods: PhantomData }
    }

    /// Adds lemmas about the bodies, for proofs for all clients.
    #[must_use]
    pub fn lemmas(self, lemmas: fn() -> Vec<Lemma>) -> Self {
        Self { lemmas, ..self }
    }

    /// Adds a part of each object: at `x.part(role)` for an object at `x`.
    #[must_use]
    pub fn part(self, role: &'static str, object: Object) -> Self {
        let object = ObjectTerm {
            library: object.library,
            node: object.node.map(Expr::from),
            init: object.init.into(),
            members: (!object.members.is_empty()).then(|| Expr::tuple(object.members.iter().map(|t| (*t).into()))),
            size: (object.size as i64).into(),
        };
        self.with_parts(parts! { x => x.part(role, []) => object; })
    }

    /// Adds parts of each object, as terms.
    #[must_use]
    pub fn with_parts(self, more: Parts) -> Self {
        Self { parts: self.parts.and(more), ..self }
    }
}

impl<M> Implementation for Over<M> {
    fn target(&self) -> Name {
        self.target
    }

    fn parts(&self) -> Option<&Parts> {
        Some(&self.parts)
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(&self.bodies)
    }

    fn lemmas(&self) -> Vec<Lemma> {
        (self.lemmas)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::ret;
    use crate::ids::{Loc, Node};
    use crate::methods;
    use crate::stamp::plain_stamps;
    use crate::term::shape::shapes;

    /// Reads and writes.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    enum Plain {
        R,
        W,
    }
    use Plain::{R, W};

    plain_stamps!(Plain: R, W);

    methods! {
        enum Word of CELL = "cell" {
            /// Sets it.
            fn set = Set(x: Object, v: Value);
            /// Looks at it.
            fn get = Get(x: Object) -> Value, looks;
        }
    }

    /// Asks for the shapes and the results of a call.
    fn asked(shapes: &'static Shapes, method: Word) -> (usize, Vec<Val>) {
        let library = Simple::<Word>::new(shapes, Spec::default);
        let mut world = World::new(1, &[Node(1)]);
        world.objects.insert(Loc::new("x"), Object::new(CELL));
        let event = Event { thread: Tid(1), call: method.into(), ret: Val::Unit };
        let results = library.returns(&world, &[], Tid(1), &event.call, &|_| vec![Val::Int(5)]);
        (library.shapes_by_function(&world, &event).len(), results)
    }

    /// Names do not run out: the bound on objects is the number of objects.
    #[test]
    fn there_are_worlds_with_as_many_objects_as_the_bound_says() {
        let bound = Bound { objects: 9, ..Bound::default() };
        let worlds = Simple::<Word>::new(good(), Spec::default).worlds(&World::new(1, &[Node(1)]), &bound, &|| false);
        let counts: Vec<usize> = worlds.iter().map(|world| world.objects.len()).collect();
        assert_eq!(counts, (1..=9).collect::<Vec<_>>());
        assert!(worlds[7].objects.contains_key(&Loc::new("x8")) && worlds[2].objects.contains_key(&Loc::new("z")));
    }

    fn x() -> Loc {
        Loc::new("x")
    }

    fn good() -> &'static Shapes {
        shapes! { Word:
            Set { x, v } => { W: writes x, v }
            Get { x } => { R: reads x, ret() }
        }
    }

    #[test]
    fn values_that_are_returned_are_those_that_are_read() {
        assert_eq!(asked(good(), Word::Get { x: x() }), (1, vec![Val::Int(5)]));
        assert_eq!(asked(good(), Word::Set { x: x(), v: 7.into() }), (1, vec![Val::Unit]));
        let library = Simple::<Word>::new(good(), Spec::default);
        let looks = |call: Word| library.only_looks(&Event { thread: Tid(1), call: call.into(), ret: Val::Unit });
        assert!(looks(Word::Get { x: x() }) && !looks(Word::Set { x: x(), v: 7.into() }));
    }

    /// A result is a value of the cell that is read, or one with which a condition compares it.
    #[test]
    fn what_a_condition_compares_is_a_result() {
        let may = shapes! { Word:
            Set { x, v } => { if (ret().is(false)) { R } else { W: writes x, v } }
            Get { x } => { if (ret().is(-1)) { R } else { if (ret().is_in(Expr::tuple([7.into(), 8.into()]))) { R } else { R: reads x, ret() } } }
        };
        let library = Simple::<Word>::new(may, Spec::default);
        let mut world = World::new(1, &[Node(1)]);
        world.objects.insert(Loc::new("x"), Object::new(CELL));
        let results =
            |call: Word| library.returns(&world, &[], Tid(1), &call.into(), &|_| vec![Val::Int(5), Val::Int(7)]);
        assert_eq!(results(Word::Get { x: x() }), [5, 7, -1, 8].map(Val::Int));
        assert_eq!(results(Word::Set { x: x(), v: 7.into() }), [Val::Unit, Val::Bool(false)]);
    }

    #[test]
    fn a_result_that_nothing_reads_is_reported() {
        let quiet = shapes! { Word: Set { x, v } => { W: writes x, v } Get { .. } => { R } };
        let event = Event { thread: Tid(1), call: Word::Get { x: x() }.into(), ret: Val::Top };
        let why = Simple::<Word>::new(quiet, Spec::default).wrong_shape(&World::new(1, &[Node(1)]), &event);
        assert!(why.unwrap().starts_with("it returns a value, and no subevent reads it"));
    }
}
