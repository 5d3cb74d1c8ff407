//! A library and an implementation that are given by functions: all that is needed where the method table says what calls
//! there are, each call can happen in one way, and objects need nothing but a name.

use crate::algebra::Spec;
use crate::event::{Call, Event, Shape};
use crate::ids::{Loc, Name, Tid};
use crate::implementation::Implementation;
use crate::library::Library;
use crate::method::{self, Method};
use crate::program::Prog;
use crate::soundness::client::{Bound, Subject};
use crate::stamp::Stamp;
use crate::world::{Object, World};

/// A library by its method table, the shape of a call, and its specification. Its clients make every call of the table, of
/// as many objects as the bound says.
#[derive(Clone, Copy, Debug)]
pub struct Simple<S> {
    /// The name.
    pub name: Name,
    /// The methods.
    pub methods: &'static [Method],
    /// `stmp(e)` with what each subevent does; empty for what cannot happen.
    pub shape: fn(&World, &Event) -> Shape<S>,
    /// The consistency predicate.
    pub spec: fn(&mut Spec<S>),
}

impl<S: Stamp> Library<S> for Simple<S> {
    fn name(&self) -> Name {
        self.name
    }

    fn methods(&self) -> &'static [Method] {
        self.methods
    }

    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape<S>> {
        Some((self.shape)(world, event)).filter(|shape| !shape.is_empty()).into_iter().collect()
    }

    fn spec(&self) -> Spec<S> {
        let mut c = Spec::default();
        (self.spec)(&mut c);
        c
    }
}

/// What objects are called in clients.
const NAMES: [&str; 6] = ["x", "y", "z", "u", "v", "w"];

impl<S: Stamp> Subject for Simple<S> {
    fn worlds(&self, empty: &World, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let with = |count: usize| {
            let mut world = empty.clone();
            world.objects.extend(NAMES[..count].iter().map(|x| (Loc::new(x), Object::new(self.name))));
            world
        };
        (1..=bound.objects.min(NAMES.len())).map(with).collect()
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        method::calls(self.name, self.methods, world, thread, bound, expired)
    }
}

/// An implementation by what each object is made of, and the program of each call.
pub struct Over<P, B> {
    target: Name,
    parts: P,
    body: B,
}

impl<P, B> Over<P, B>
where
    P: Fn(&World, Loc) -> Vec<(Loc, Object)> + Send + Sync,
    B: Fn(&World, Tid, &Call) -> Prog + Send + Sync,
{
    /// The implementation of `target` in which an object at a location has these `parts`, and a call of a thread this
    /// `body`.
    pub fn new(target: Name, parts: P, body: B) -> Self {
        Self { target, parts, body }
    }
}

impl<P, B> Implementation for Over<P, B>
where
    P: Fn(&World, Loc) -> Vec<(Loc, Object)> + Send + Sync,
    B: Fn(&World, Tid, &Call) -> Prog + Send + Sync,
{
    fn target(&self) -> Name {
        self.target
    }

    fn declare(&self, world: &mut World) {
        let parts: Vec<_> = world.locations(self.target).into_iter().flat_map(|x| (self.parts)(world, x)).collect();
        world.objects.extend(parts);
    }

    fn body(&self, world: &World, thread: Tid, call: &Call) -> Prog {
        (self.body)(world, thread, call)
    }
}
