//! What a library over x86-TSO is written with: `use mowgli_libraries::x86::prelude::*;`. A word is `word()`, its calls are
//! functions, as `cas(x, 0, 1)`, and `Tso` has their patterns. There is one node, so a cell is `x.on(MACHINE)`.
//! [`field`] is a word of the record at a location that was read, which is [`NULL`] where there is none.

pub use mowgli_x86::X86Stamp::{self, *};
pub use mowgli_x86::tso::{MACHINE, Method as Tso, cas, faa, mfence, read, word, write, xchg};

pub use super::{NULL, field};
pub use crate::prelude::any::*;
