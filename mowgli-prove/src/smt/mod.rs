//! First-order logic, and the solvers that are asked about it.

pub mod certificate;
pub mod encode;
pub(crate) mod ground;
pub(crate) mod prepared;
pub mod solve;
pub mod term;
