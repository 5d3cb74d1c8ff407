//! A lock with two modes, or one whose release depends on the calling thread. Locks of the gallery use it if they
//! promise more than [`crate::shared::lock`].

use mowgli_core::method;
use mowgli_core::world::{DeclarationForm, DeclarationPart};
use mowgli_libraries::lock::{self, Sections};
use mowgli_libraries::prelude::*;

use crate::shared::home;

methods! {
    /// Calls of a lock that readers share.
    pub enum Method as statements {
        /// Begins a section that no other one overlaps.
        fn acq = Acq(x: Object);
        /// Ends a section of either kind.
        fn rel = Rel(x: Object);
        /// Begins a section that others of this kind may overlap.
        fn share = Share(x: Object);
    }
}

/// A lock as a library. Acq {aMF}, Share {aMF}. A Rel has one subevent, with the stamp that `release` gives to a
/// thread.
#[derive(Clone, Copy, Debug)]
pub struct GuardLock {
    name: Name,
    methods: &'static [method::Method],
    release: fn(&World, Tid, Loc) -> RdmaStamp,
}

impl GuardLock {
    /// Makes a lock with exclusive sections only.
    #[must_use]
    pub fn exclusive(name: Name, release: fn(&World, Tid, Loc) -> RdmaStamp) -> Self {
        Self { name, methods: &Method::TABLE[..2], release }
    }

    /// Makes a lock with exclusive and shared sections. It promises that puts to its node are over when the next
    /// section begins.
    #[must_use]
    pub fn shared(name: Name) -> Self {
        Self { name, methods: Method::TABLE, release: |world, _, x| aNRW(home(world, x).into()) }
    }

    /// Returns the entry of this lock over memory, with its probes.
    #[must_use]
    pub fn entry(self) -> Entry {
        Entry { probes: vec![Box::new(Sections { library: self.name })], ..Entry::rdma(self, Wait) }
    }
}

/// Returns the lock of a call.
fn locked(s: &SubView) -> Option<Val> {
    s.event.call.args.first().copied()
}

fn is_exclusive(s: &SubView) -> bool {
    s.event.call.method.text() == "Acq"
}

impl Library for GuardLock {
    fn name(&self) -> Name {
        self.name
    }

    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm { kind: self.name.text(), parts: &[DeclarationPart::Node] })
    }

    fn methods(&self) -> &'static [method::Method] {
        self.methods
    }

    fn is_well_formed(&self, _: &World, events: &[&Event]) -> bool {
        lock::is_well_formed(events)
    }

    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape> {
        let stamp = match Method::of(&event.call) {
            Method::Acq { .. } | Method::Share { .. } => aMF,
            Method::Rel { x } => (self.release)(world, event.thread, x),
        };
        vec![Shape::from([Sub::quiet(stamp)])]
    }

    /// Two sections do not overlap if one of them is exclusive: `so = {<r, a> | r ends a section before that of a}`.
    fn spec(&self) -> Spec {
        let ends = stamps(|a: RdmaStamp| a != aMF);
        spec! {
            let lo = orient(is_exclusive * aMF & same(locked) - id);
            let later = po & same(locked);
            let section = [aMF]; later - (later; later); [ends];
            let after = section^-1; lo;
            say after as lo = "{a} lets {b} in";
            so = after;
        }
    }
}

impl Hints for GuardLock {
    fn may_wait(&self, call: &Call) -> bool {
        !matches!(Method::of(call), Method::Rel { .. })
    }

    fn unfinished(&self, events: &[&Event]) -> Vec<Call> {
        lock::held(events).into_iter().map(|x| Method::Rel { x }.call(self.name)).collect()
    }
}

impl Subject for GuardLock {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        lock::worlds(self.name, empty, bound, expired)
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        method::calls(self.name, self.methods, world, thread, bound, expired)
    }
}
