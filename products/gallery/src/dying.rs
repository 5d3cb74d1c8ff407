//! Libraries whose writer crashes. Its last call stands for its end, others wait for that, and its earlier operations
//! may be late for ever.

use std::fmt;

use mowgli_core::term::method::{self, Methods};
use mowgli_core::world::DeclarationForm;
use mowgli_libraries::prelude::*;
use mowgli_rdma::Switches;

use crate::shared::SharedLibrary;

/// A library with the method table `M`, in whose worlds the writers crash.
pub struct Dying<M> {
    /// The library without crashes.
    pub kind: SharedLibrary<M>,
    /// The last call of a writer, which stands for its crash.
    pub ends: fn(M) -> bool,
    /// True for calls that wait for the end of the writer.
    pub waits: fn(M) -> bool,
    /// True for calls that may come too late, and then do nothing.
    pub may_be_late: fn(M) -> bool,
}

impl<M> Clone for Dying<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Dying<M> {}

impl<M: Methods> fmt::Debug for Dying<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dying({})", M::LIBRARY)
    }
}

impl<M: Methods> Dying<M> {
    /// Returns the entry over RDMA-WAIT-RMW with crashes.
    #[must_use]
    pub fn entry(self) -> Entry {
        let crashes = wait::switched(Switches::CRASHES);
        Entry::new(Memory::switched(Switches::CRASHES), self, crashes, Vec::new())
    }

    fn is_end(&self, event: &Event) -> bool {
        (self.ends)(M::of(&event.call))
    }
}

impl<M: Methods> Library for Dying<M> {
    fn name(&self) -> Name {
        M::LIBRARY
    }

    fn object(&self) -> Option<DeclarationForm> {
        self.kind.object()
    }

    fn methods(&self) -> &'static [method::Method] {
        M::METHODS
    }

    fn shapes_by_function(&self, world: &World, event: &Event) -> Vec<Shape> {
        let in_time = self.kind.shapes_by_function(world, event);
        let nothing = |shape: &Shape| shape.iter().map(|sub| Sub::quiet(sub.stamp)).collect();
        let late: Vec<Shape> = match (self.may_be_late)(M::of(&event.call)) {
            true => in_time.iter().map(nothing).collect(),
            false => Vec::new(),
        };
        in_time.into_iter().chain(late).collect()
    }

    /// A thread makes no more calls after its end.
    fn covered(&self) -> PlainSet<'_> {
        PlainSet::Where(Box::new(|_, events| {
            events.windows(2).all(|pair| !self.is_end(pair[0]) || pair[0].thread != pair[1].thread)
        }))
    }

    fn spec(&self) -> Spec {
        self.kind.spec()
    }
}

impl<M: Methods> Hints for Dying<M> {
    /// A call that waits for an end need not return if the end does not come.
    fn must_return(&self, _: &World, events: &[&Event]) -> bool {
        let ends = |x: Loc| events.iter().any(|e| self.is_end(e) && e.call.loc(0) == x);
        events.iter().all(|e| !(self.waits)(M::of(&e.call)) || ends(e.call.loc(0)))
    }
}

impl<M: Methods> Subject for Dying<M> {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        let mut worlds = self.kind.worlds(empty, bound, expired);
        worlds.iter_mut().for_each(|w| w.crashes.threads = w.objects.values().map(|o| o.members[0]).collect());
        worlds
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        self.kind.calls(world, thread, bound, expired)
    }
}
