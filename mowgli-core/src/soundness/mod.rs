//! Bounded checking of implementations: local soundness (LOCO Def. 3.13), and soundness at the level of outcomes
//! (Def. 3.10) where local soundness fails.

mod automorphisms;
pub mod client;
pub mod client_log;
mod client_results;
mod compared;
pub mod crashes;
pub mod form;
mod generals;
mod groups;
pub mod independence;
pub mod local;
pub mod orbits;
mod outcomes;
pub mod progress;
pub mod properties;
mod question;
mod renaming;
mod shares;
pub mod symmetry;
pub mod unfolded;
pub mod verdict;
