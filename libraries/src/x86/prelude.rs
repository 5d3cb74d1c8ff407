//! Exports all that the source of a library over x86-TSO needs: `use mowgli_libraries::x86::prelude::*;`. A word is `word()`.
//! `Tso` has the calls of words for bodies, for example `Tso::cas(x, 0, 1)`, and their patterns for edits. An edit replaces a
//! call by a program, for example `cas(x, 0, 1)`. There is one node, so a cell is `x.on(MACHINE)`.
//! [`field`] is a word of the record at a location that was read, which is [`NULL`] where there is none.

pub use mowgli_x86::X86Stamp::{self, *};
pub use mowgli_x86::tso::{MACHINE, Method as Tso, cas, faa, mfence, read, word, word_term, write, xchg};

pub use super::{NULL, field};
pub use crate::prelude::any::*;
