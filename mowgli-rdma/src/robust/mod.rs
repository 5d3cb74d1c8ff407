//! Robustness: conditions under which a program with polls has only sequentially consistent behaviours.
//!
//! ROBUST §4, §5 and App. B. The conditions depend only on program order and on which poll completes which operation:
//! [`PreExecution::gb`], [`PreExecution::races`] (Def. 7), [`PreExecution::unfenced`] (Defs. 8, 13), [`PreExecution::not_tree_fenced`]
//! (Defs. 9, 14). Locally data-race free and fenced programs are robust (Theorems 5, 17). For other programs
//! [`sc_cycle`] decides each execution.
//!
//! The theorems are about programs without remote read-modify-writes.

mod conditions;
mod cycles;
mod relations;

pub use conditions::{Cpu, NotATree, PartPosition, PreExecution, Reordered};
pub use cycles::{ScEdge, sc_cycle};
pub use relations::{Relations, order};
