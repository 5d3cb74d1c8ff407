//! Robustness: when a program with polls has no behaviour that a sequentially consistent one has not.
//!
//! ROBUST §4, §5 and App. B. The conditions look at program order and at which poll completes which operation, and at
//! nothing else: [`Program::gb`], [`Program::races`] (Def. 7), [`Program::unfenced`] (Defs. 8, 13),
//! [`Program::not_tree_fenced`] (Defs. 9, 14). Locally data-race free and fenced imply robust (Theorems 5, 17). What is not robust by theorem
//! is decided by [`sc_cycle`] on each execution. [`repairs`] finds what to insert.
//!
//! The theorems are about programs without remote read-modify-writes.

mod conditions;
mod cycles;
mod relations;
mod repair;

pub use conditions::{Cpu, NotATree, Place, Program, Reordered};
pub use cycles::{ScEdge, sc_cycle};
pub use relations::{Relations, order};
pub use repair::{Insertion, Repair, candidates, dummies, inserted, repairs, with_dummies};
