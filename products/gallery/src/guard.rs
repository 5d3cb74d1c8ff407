//! A lock with two modes, or one whose release depends on the calling thread. Locks of the gallery use it if they
//! promise more than [`crate::shared::lock`].

use mowgli_core::algebra::Set;
use mowgli_core::term::method;
use mowgli_core::world::{DeclarationForm, DeclarationPart};
use mowgli_libraries::lock::{self, Sections, WELL_FORMED};
use mowgli_libraries::prelude::*;

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

/// A lock as a library.
#[derive(Clone, Copy, Debug)]
pub struct GuardLock {
    name: Name,
    methods: &'static [method::Method],
    shapes: &'static Shapes,
}

impl GuardLock {
    /// Makes a lock with exclusive sections only, whose calls have these shapes: Acq {aMF}, and Rel another subevent.
    #[must_use]
    pub fn exclusive(name: Name, shapes: &'static Shapes) -> Self {
        Self { name, methods: &Method::TABLE[..2], shapes }
    }

    /// Makes a lock with exclusive and shared sections. It promises that puts to its node are over when the next
    /// section begins. Acq {aMF}, Share {aMF}, Rel {aNRW_n}.
    #[must_use]
    pub fn shared(name: Name) -> Self {
        let shapes = shapes! { Method: Acq { .. } => { aMF } Share { .. } => { aMF } Rel { x } => { aNRW(node(x)) } };
        Self { name, methods: Method::TABLE, shapes }
    }

    /// Returns the entry of this lock over memory, with its probes.
    #[must_use]
    pub fn entry(self) -> Entry {
        Entry { probes: vec![Box::new(Sections { library: self.name })], ..Entry::rdma(self, Wait) }
    }
}

/// The lock of a call.
const LOCKED: Key = Key::by("locked", &[Attribute::Argument(0)]);

/// The subevents of calls that begin an exclusive section.
fn exclusive_acq() -> Set {
    calls(&["Acq"]).named("is_exclusive")
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

    fn covered(&self) -> PlainSet<'_> {
        PlainSet::Paired(Paired { opens: &["Acq", "Share"], ..WELL_FORMED })
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(self.shapes)
    }

    /// Two sections do not overlap if one of them is exclusive: `so = {<r, a> | r ends a section before that of a}`.
    fn spec(&self) -> Spec {
        let ends = stamps(|a: RdmaStamp| a != aMF);
        spec! {
            let lo = orient(exclusive_acq * aMF & same(LOCKED) - id);
            let later = po & same(LOCKED);
            let section = [aMF]; later - (later; later); [ends];
            let after = section^-1; lo;
            say after as lo = "{a} lets {b} in";
            so = after;
        }
    }
}

impl Hints for GuardLock {
    fn may_wait(&self, _: &World, call: &Call) -> Option<bool> {
        Some(!matches!(Method::of(call), Method::Rel { .. }))
    }

    fn unfinished(&self, events: &[&Event]) -> Vec<Call> {
        lock::held(events).into_iter().map(|x| Method::Rel { x }.call(self.name)).collect()
    }

    fn equivariance(&self) -> Equivariance {
        Equivariance::NamesAndData
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
