//! The common part of libraries over x86-TSO: locations as values, broken compare-and-swaps.

use mowgli_core::expr::Expr;
use mowgli_core::term::body::{Body, body};
use mowgli_core::value::Val;
use mowgli_x86::tso::Method as Tso;

/// A compare-and-swap that is not atomic: a read, and then a write.
pub(crate) fn in_two_steps(x: Expr, v1: Expr, v2: Expr) -> Body {
    body! { let v = Tso::read(x); if (v == v1) { Tso::write(x, v2) } v }
}

/// A compare-and-swap that does not compare: a write, as if it had found the expected value.
pub(crate) fn without_comparing(x: Expr, v1: Expr, v2: Expr) -> Body {
    body! { Tso::write(x, v2); v1 }
}

/// No location: what a word holds that nobody has written.
pub const NULL: Val = Val::Int(0);

/// A word of the record at a location that was read. Any other value has no such word, and an access to it is an error.
#[must_use]
pub fn field(record: impl Into<Expr>, role: &'static str) -> Expr {
    record.into().part(role, [])
}
