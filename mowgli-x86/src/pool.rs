//! Records from a pool: an allocator that hands out locations, each once.
//!
//! `New(x)` returns the location of a record that the thread has not got before, of a pool that is named by `x`. What words
//! a record has is up to who declares them ([`records`] tells which there can be); an access to a word that is not
//! declared is a fault. An allocation orders nothing: its stamp is W, and what comes before a write or after it is so
//! without it too.

use mowgli_core::algebra::Spec;
use mowgli_core::event::{Call, Cell, Event, Shape, Sub};
use mowgli_core::fault::{Arg, fault};
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::library::Library;
use mowgli_core::program::Prog;
use mowgli_core::value::Val;
use mowgli_core::world::World;

use crate::stamp::Stamp::{self, W};

/// The pool's name.
pub const POOL: Name = Name::literal("x86-pool");

/// `New(x)`.
#[must_use]
pub fn new(x: Loc) -> Prog {
    Prog::call(Call::new(POOL, "New", &[x.into()]))
}

/// The records that a thread gets first, in this order.
pub fn records(x: Loc, thread: Tid) -> impl Iterator<Item = Val> {
    (1..).map(move |k: usize| x.part(format_args!("record_{thread}_{k}")).into())
}

/// The pool as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pool;

impl Library<Stamp> for Pool {
    fn name(&self) -> Name {
        POOL
    }

    fn loc(&self, _: &Call) -> Vec<Loc> {
        Vec::new()
    }

    fn returns(&self, world: &World, thread: Tid, call: &Call, cells: &dyn Fn(Cell) -> Vec<Val>) -> Vec<Val> {
        self.returns_after(world, &[], thread, call, cells)
    }

    fn returns_after(
        &self,
        _: &World,
        earlier: &[Event],
        thread: Tid,
        call: &Call,
        _: &dyn Fn(Cell) -> Vec<Val>,
    ) -> Vec<Val> {
        let gone = earlier.iter().filter(|e| e.call == *call).count();
        records(call.loc(0), thread).nth(gone).into_iter().collect()
    }

    fn is_remembered(&self, _: &Call) -> bool {
        true
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        fault(world, thread, call, (call.method.text() == "New").then_some(&[Arg::Any]))
    }

    fn shapes(&self, _: &World, _: &Event) -> Vec<Shape<Stamp>> {
        vec![Shape::from_slice(&[Sub::quiet(W)])]
    }

    fn spec(&self) -> Spec<Stamp> {
        Spec::default()
    }
}
