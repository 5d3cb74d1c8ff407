//! The stamps of x86-TSO and the stamp order `to`.

use std::fmt;

use mowgli_core::stamp::{StampKind, StampKinds};

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

/// All of them, in the order of the declaration.
const ALL: [X86Stamp; 4] = [X86Stamp::R, X86Stamp::W, X86Stamp::U, X86Stamp::F];

/// The stamp order of x86-TSO: program order except from a write to a later read, because the write may still be in the
/// store buffer.
#[must_use]
pub fn to(earlier: X86Stamp, later: X86Stamp) -> bool {
    (earlier, later) != (X86Stamp::W, X86Stamp::R)
}

static KINDS: StampKinds = StampKinds::of::<X86Stamp>();

impl StampKind for X86Stamp {
    fn kinds() -> &'static StampKinds {
        &KINDS
    }

    fn number(self) -> u32 {
        self as u32
    }

    fn numbered(number: u32) -> Self {
        ALL[number as usize]
    }

    fn all(_: u8) -> Vec<Self> {
        ALL.to_vec()
    }

    fn about(self) -> String {
        let text = match self {
            Self::R => "a read",
            Self::W => "a write, which goes through the store buffer",
            Self::U => "an update, which reads and writes at once",
            Self::F => "a fence",
        };
        text.to_owned()
    }
}

impl fmt::Display for X86Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
