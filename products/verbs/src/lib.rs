//! C and C++ programs over libibverbs, explored under every execution of RDMA_TSO.
//!
//! A [`Toolchain`] makes a program whose loads, stores and calls of verbs our runtime answers. [`explore()`] runs it: the
//! process runs one thread at a time, and the machine of `mowgli-rdma` chooses what each load and poll returns.
//!
//! The exploration is that of litmus tests and of Rust code. The machine asks for the next call of a thread after the
//! results of its earlier calls. See `code` for how a process answers, and `cells` for the memory that counts.

pub mod cards;
mod cells;
mod code;
mod compile;
mod error;
mod execution;
mod explore;
mod externals;
mod lines;
mod probes;
mod process;
mod races;
mod setup;
mod tree;

pub use self::code::{FailureKind, RecordedValues};
pub use self::compile::Toolchain;
pub use self::error::Error;
pub use self::execution::{ExecutionStep, ProgramExecution};
pub use self::explore::{Ask, ExploredProgram, ProgramFailure, RandomRuns, StuckThreads, explore, replay, run};
pub use self::lines::SourcePlace;
pub use self::process::ProgramCommand;
pub use self::races::{ProgramRace, RacingAccess};
