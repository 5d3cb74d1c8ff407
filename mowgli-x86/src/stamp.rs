//! The stamps of x86-TSO and the stamp order `to`.

use mowgli_core::stamp::plain_stamps;

/// The kind of an instruction, as far as its processor's order is concerned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum X86Stamp {
    /// A read.
    R,
    /// A write, which goes through the store buffer.
    W,
    /// An update: a locked instruction that reads and writes at once.
    U,
    /// A fence.
    F,
}

plain_stamps! { X86Stamp:
    R = "a read",
    W = "a write, which goes through the store buffer",
    U = "an update, which reads and writes at once",
    F = "a fence",
}

/// The stamp order of x86-TSO: program order except from a write to a later read, because the write may still be in the
/// store buffer.
#[must_use]
pub fn to(earlier: X86Stamp, later: X86Stamp) -> bool {
    (earlier, later) != (X86Stamp::W, X86Stamp::R)
}
