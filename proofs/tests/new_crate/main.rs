//! The crates that `mowgli new` writes, their tests as they are written there.

mod counter;
mod latch;
mod stack;
mod ticketlock;
