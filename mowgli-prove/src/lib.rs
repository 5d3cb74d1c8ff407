//! Local soundness (LOCO Def. 3.13) for every client. From a specification, an implementation and the specifications
//! below it, the crate derives obligations in first-order logic, for a solver of satisfiability modulo theories (SMT).
//!
//! The bounded check shows that no client up to some size is a counterexample. Here plain executions of any length are
//! the models of a theory. `docs/prove.md` says why the obligations imply the definition, and what they do not cover.

mod cases;
pub mod error;
pub mod model;
pub mod prove;
pub mod smt;
pub mod template;
pub mod theorems;
