//! What a library over x86-TSO is written with: `use mowgli_libraries::x86::prelude::*;`. A word is `word()`. `Tso` has its
//! calls, as `Tso::cas(x, 0, 1)` in a body, and their patterns for edits; what an edit puts in place of a call is a program, as
//! `cas(x, 0, 1)`. There is one node, so a cell is `x.on(MACHINE)`.
//! [`field`] is a word of the record at a location that was read, which is [`NULL`] where there is none.

pub use mowgli_x86::X86Stamp::{self, *};
pub use mowgli_x86::tso::{MACHINE, Method as Tso, cas, faa, mfence, read, word, write, xchg};

pub use super::{NULL, field};
pub use crate::prelude::any::*;
