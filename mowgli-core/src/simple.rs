//! A library and an implementation that are given by functions: all that is needed where the method table says what calls
//! there are, each call can happen in one way, and objects need nothing but a name.

use std::fmt;
use std::sync::Arc;

use crate::algebra::Spec;
use crate::event::{Call, Event, Shape};
use crate::ids::{Loc, Name, Tid};
use crate::implementation::Implementation;
use crate::library::Library;
use crate::method::{self, Method, Methods};
use crate::program::Prog;
use crate::soundness::client::{Bound, Subject};
use crate::stamp::Stamp;
use crate::world::{Object, World};

/// A library by its method table `M`, the shape of a call, and its specification. Its clients make every call of the table,
/// of as many objects as the bound says.
pub struct Simple<M, S> {
    shape: fn(&World, &Event, M) -> Shape<S>,
    spec: fn(&mut Spec<S>),
}

impl<M, S> Simple<M, S> {
    /// The library in which an event of this method has this `shape`, `stmp(e)` with what each subevent does, which is empty
    /// for what cannot happen; and executions are consistent by this `spec`.
    pub fn new(shape: fn(&World, &Event, M) -> Shape<S>, spec: fn(&mut Spec<S>)) -> Self {
        Self { shape, spec }
    }
}

impl<M, S> Clone for Simple<M, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, S> Copy for Simple<M, S> {}

impl<M: Methods, S> fmt::Debug for Simple<M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Simple({})", M::LIBRARY)
    }
}

impl<M: Methods, S: Stamp> Library<S> for Simple<M, S> {
    fn name(&self) -> Name {
        M::LIBRARY
    }

    fn methods(&self) -> &'static [Method] {
        M::ALL
    }

    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape<S>> {
        let shape = (self.shape)(world, event, M::of(&event.call));
        Some(shape).filter(|shape| !shape.is_empty()).into_iter().collect()
    }

    fn spec(&self) -> Spec<S> {
        let mut c = Spec::default();
        (self.spec)(&mut c);
        c
    }
}

/// What objects are called in clients.
const NAMES: [&str; 6] = ["x", "y", "z", "u", "v", "w"];

impl<M: Methods, S: Stamp> Subject for Simple<M, S> {
    fn worlds(&self, empty: &World, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let with = |count: usize| {
            let mut world = empty.clone();
            world.objects.extend(NAMES[..count].iter().map(|x| (Loc::new(x), Object::new(M::LIBRARY))));
            world
        };
        (1..=bound.objects.min(NAMES.len())).map(with).collect()
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        method::calls(M::LIBRARY, M::ALL, world, thread, bound, expired)
    }
}

/// An implementation by what each object is made of, and the program of each call of a method table `M`.
pub struct Over<M> {
    parts: Arc<dyn Fn(&World, Loc) -> Vec<(Loc, Object)> + Send + Sync>,
    body: Arc<dyn Fn(&World, Tid, M) -> Prog + Send + Sync>,
}

impl<M> Clone for Over<M> {
    fn clone(&self) -> Self {
        Self { parts: self.parts.clone(), body: self.body.clone() }
    }
}

impl<M: Methods> Over<M> {
    /// The implementation in which a call of a thread has this `body`, and objects have no parts.
    pub fn new(body: impl Fn(&World, Tid, M) -> Prog + Send + Sync + 'static) -> Self {
        Self { parts: Arc::new(|_, _| Vec::new()), body: Arc::new(body) }
    }

    /// The same with one more part of each object: at `x.part(role)` for an object at `x`.
    #[must_use]
    pub fn part(self, role: &'static str, object: Object) -> Self {
        self.parts(move |_, x| vec![(x.part(role), object.clone())])
    }

    /// The same with more parts of each object, at locations made by [`Loc::part`].
    #[must_use]
    pub fn parts(self, more: impl Fn(&World, Loc) -> Vec<(Loc, Object)> + Send + Sync + 'static) -> Self {
        let parts = self.parts;
        let parts = Arc::new(move |world: &World, x| [parts(world, x), more(world, x)].concat());
        Self { parts, ..self }
    }
}

impl<M: Methods> Implementation for Over<M> {
    fn target(&self) -> Name {
        M::LIBRARY
    }

    fn declare(&self, world: &mut World) {
        let parts: Vec<_> = world.locations(M::LIBRARY).into_iter().flat_map(|x| (self.parts)(world, x)).collect();
        world.objects.extend(parts);
    }

    fn body(&self, world: &World, thread: Tid, call: &Call) -> Prog {
        (self.body)(world, thread, M::of(call))
    }
}
