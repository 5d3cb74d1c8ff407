//! Local soundness (LOCO Def. 3.13) for every client. From a specification, an implementation and the specifications
//! below it, the crate derives obligations in first-order logic, for a solver of satisfiability modulo theories (SMT).
//!
//! The bounded check shows that no client up to some size is a counterexample. Here plain executions of any length are
//! the models of a theory. `docs/prove.md` says why the obligations imply the definition, and what they do not cover.

mod area;
pub mod certificate;
mod classes;
mod compiled;
pub mod encode;
pub mod error;
mod ground;
pub mod instances;
pub mod kind;
pub mod model;
mod no_template;
pub mod numbers;
mod paths;
pub mod pattern;
pub mod plain;
pub mod polls;
pub mod prove;
pub mod reading;
mod ready;
pub mod robust;
mod role;
#[cfg(test)]
mod runs;
mod shapes;
pub mod solve;
pub mod source;
mod split;
mod stated;
mod template;
pub mod term;
pub mod theorem;

pub mod witness;
