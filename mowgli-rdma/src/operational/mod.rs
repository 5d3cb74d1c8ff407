//! RDMA-TSO-RMW as a machine: store buffers, queue pairs and memory, one transition a step.
//!
//! SYNC App. D.1, Fig. 21, rules 1 to 13. By Theorem 7 its outcomes are those of the declarative model
//! ([`crate::tso`]). [`Machine::explore`] visits every state, and [`MachineWalks::walk`] takes one run. [`Driven`] is the
//! hardware for programs that run beside it.
//!
//! The machine takes a step at once if only its own thread or queue pair can notice it. Such a step stays possible
//! until it is taken, and disables no other step. The steps of the CPU are an append to the store buffer, a fence of an
//! empty one, and a poll of one queue pair. Those of the card are the issue of an operation, the removal of a remote
//! fence, and an acknowledgement. Each of them commutes with every other step, so no final state is lost (see
//! `explore.rs`).

mod buffers;
mod completions;
mod conflicts;
mod driven;
mod explore;
mod machine;
mod play;
mod programs;
mod state;
mod step;
mod stuck;
mod walk;

pub use self::buffers::FilledBuffer;
pub use self::driven::Driven;
pub use self::explore::{MachineRuns, WalkEnd};
pub use self::machine::Machine;
pub use self::play::ChoicePoint;
pub use self::state::{ConflictingAccesses, NextAccess, PipeEntry};
pub use self::step::{Act, Step};
pub use self::stuck::{Standstill, StuckThread};
pub use self::walk::MachineWalks;
