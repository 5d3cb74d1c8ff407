//! RDMA-TSO-RMW as a machine: store buffers, queue pairs and memory, one transition a step.
//!
//! SYNC App. D.1, Fig. 21, rules 1 to 13. Theorem 7: its outcomes are those of the declarative model
//! ([`crate::tso`]). [`Machine::explore`] visits every state, [`Machine::walk`] takes one random run, and [`Driven`] is the hardware for
//! programs that run beside it.
//!
//! Steps that only their own thread or queue pair can notice, that stay possible once they are, and that never make
//! another step impossible, are taken at once: an append to the store buffer, a fence of an empty one, the issue of an
//! operation, the removal of a remote fence, an acknowledgement, a poll. Each commutes with every other step, so no final
//! state is lost.

mod completions;
mod driven;
mod explore;
mod machine;
mod programs;
mod state;
mod step;
mod stuck;

pub use self::driven::Driven;
pub use self::explore::Runs;
pub use self::machine::Machine;
pub use self::state::Entry;
pub use self::step::{Act, Step};
pub use self::stuck::{Rest, Standstill};
