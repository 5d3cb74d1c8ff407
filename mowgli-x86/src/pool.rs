//! Records from a pool: an allocator that hands out locations, each once.
//!
//! `New(x)` returns the location of a record that the thread has not got before, from the pool `x`. Whoever declares a
//! record chooses its words ([`records`] lists the possible records). An access to a word that is not declared is a
//! fault. An allocation adds no order. Its stamp is W, and whatever is ordered through a write is ordered without it
//! too.

use mowgli_core::algebra::Spec;
use mowgli_core::event::{Call, Event};
use mowgli_core::expr::Expr;
use mowgli_core::ids::{Loc, Tid};
use mowgli_core::library::{CellValues, Equivariance, Hints, Library};
use mowgli_core::term::method::{methods, named_by};
use mowgli_core::term::shape::{Shapes, shapes};
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, World};

use crate::stamp::X86Stamp::W;

methods! {
    /// The one call of a pool.
    pub enum Method of POOL = "x86-pool" {
        /// `New(x)`: a record of the pool x.
        fn new = New(x: Value) -> Handle;
    }
}

/// Returns the record that a thread gets as number `k`, counted from 1.
#[must_use]
pub fn record(x: impl Into<Expr>, thread: impl Into<Expr>, k: impl Into<Expr>) -> Expr {
    x.into().part("record", [thread.into(), k.into()])
}

/// Returns the records that a thread gets, in this order.
pub fn records(x: Loc, thread: Tid) -> impl Iterator<Item = Val> {
    (1..).map(move |k: usize| x.part(format_args!("record_{thread}_{k}")).into())
}

/// The pool as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pool;

impl Library for Pool {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        None
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method: New { .. } => { W } })
    }

    fn spec(&self) -> Spec {
        Spec::default()
    }
}

impl Hints for Pool {
    /// Each call has a result in every state.
    fn may_wait(&self, _: &World, _: &Call) -> Option<bool> {
        Some(false)
    }

    fn returns(&self, _: &World, earlier: &[Event], thread: Tid, call: &Call, _: CellValues<'_>) -> Vec<Val> {
        let gone = earlier.iter().filter(|e| e.call == *call).count();
        records(call.loc(0), thread).nth(gone).into_iter().collect()
    }
    fn equivariance(&self) -> Equivariance {
        Equivariance::DataIndependent
    }
}
