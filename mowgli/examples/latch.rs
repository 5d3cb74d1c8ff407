//! A library of one's own: a latch that tells every node that something is done.
//!
//! `Raise(x)` raises the latch, `Check(x)` looks at it. Promise: whoever sees it raised also sees everything that the raiser
//! did before, remote writes included. Over shared variables; the fence is what makes it true.

use std::process::ExitCode;

use mowgli_core::algebra::{Spec, reads, same_event, writes};
use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::library::{Libraries, Library};
use mowgli_core::method::{self, methods};
use mowgli_core::program::{Prog, prog};
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::{Entry, Expected, Memory, variant};
use mowgli_libraries::sv::{self, Sv};
use mowgli_rdma::Stamp::{self, aCR, aGF};
use mowgli_rdma::to;

methods! {
    /// What can be done with a latch.
    enum Method of LATCH = "latch" {
        /// `Raise(x)`: it is done.
        fn raise = Raise(x: Object);
        /// `Check(x)`: 1 if the latch is raised.
        fn check = Check(x: Object) -> Value;
    }
}

/// The specification.
struct Latch;

impl Library<Stamp> for Latch {
    fn name(&self) -> Name {
        LATCH
    }

    fn methods(&self) -> &'static [method::Method] {
        Method::TABLE
    }

    /// A raise is a global fence towards every node; the first of its subevents raises the latch. A check is a CPU read.
    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape<Stamp>> {
        let latch = |x| Cell { loc: x, node: Node(1) };
        vec![match Method::of(&event.call) {
            Method::Check { x } => Shape::from_slice(&[Sub::read(aCR, latch(x), Reads::Is(event.ret))]),
            Method::Raise { x } => {
                let raised = Sub::write(aGF(Node(1)), latch(x), Writes::Is(Val::Int(1)));
                let fences = world.all_nodes().iter().skip(1).map(|n| Sub::quiet(aGF(n)));
                [raised].into_iter().chain(fences).collect()
            }
        }]
    }

    /// so: from every part of a raise to each check that sees it.
    fn spec(&self) -> Spec<Stamp> {
        let mut c = Spec::default();
        let (rf, _) = c.reads_from("rf", reads(), writes());
        let seen = same_event().then(&rf).named("seen", "{b} saw the latch that {a} raised");
        c.so([&seen]);
        c
    }
}

/// The implementation over shared variables, with its fence or without.
struct LatchOverSv {
    fence: bool,
}

/// The shared variable of a latch: a part of it, which no client can name.
fn raised(x: Loc) -> Loc {
    x.part("raised")
}

impl Implementation for LatchOverSv {
    fn target(&self) -> Name {
        LATCH
    }

    fn declare(&self, world: &mut World) {
        world.objects.extend(world.locations(LATCH).into_iter().map(|x| (raised(x), sv::variable())));
    }

    fn body(&self, world: &World, thread: Tid, call: &Call) -> Prog {
        let all = world.all_nodes();
        let fence = if self.fence { sv::gf(all) } else { Prog::unit() };
        match Method::of(call) {
            Method::Check { x } => sv::read(raised(x)),
            Method::Raise { x } => prog! {
                fence.clone();
                sv::write(raised(x), 1);
                sv::bcast(raised(x), Val::NoWid, all.without(world.node_of(thread)))
            },
        }
    }
}

/// What clients can do: there is one latch, and every thread may raise and check it.
impl Subject for Latch {
    fn worlds(&self, empty: &World, _: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let mut world = empty.clone();
        world.objects.insert(Loc::new("x"), Object::new(LATCH));
        vec![world]
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        method::calls(LATCH, Method::TABLE, world, thread, bound, expired)
    }
}

/// The latch with its implementation, and the variant that is to be caught.
pub fn entry() -> Entry {
    let of = |name, about, expected, fence| variant(name, about, expected, LatchOverSv { fence }, &[(2, 2, 2)]);
    Entry {
        name: LATCH.text(),
        memory: Memory::rdma_wait(),
        specification: Libraries::over(to).with(Latch),
        below: Libraries::over(to).with(Sv),
        subject: Box::new(Latch),
        probes: Vec::new(),
        variants: vec![
            of("published", "a fence, a write, a broadcast", Expected::Sound, true),
            of("no-fence", "Raise has no fence", Expected::Unsound, false),
        ],
    }
}

fn main() -> ExitCode {
    mowgli::main_with([entry().into()])
}
