//! The stamps of x86-TSO and the stamp order `to`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an instruction does, as far as its processor's order is concerned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Stamp {
    /// A read.
    R,
    /// A write, which goes through the store buffer.
    W,
    /// An update: a locked instruction that reads and writes at once.
    U,
    /// A fence.
    F,
}

/// The stamp order of x86-TSO. All of program order but a write before a read: that one may still wait in the store buffer.
#[must_use]
pub fn to(earlier: Stamp, later: Stamp) -> bool {
    (earlier, later) != (Stamp::W, Stamp::R)
}

mowgli_core::compile_search!(Stamp);

impl mowgli_core::stamp::Kind for Stamp {
    fn all(_: u8) -> Vec<Self> {
        vec![Self::R, Self::W, Self::U, Self::F]
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

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
