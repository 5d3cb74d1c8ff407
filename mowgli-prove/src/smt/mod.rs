//! First-order logic: terms, theories, their instances, and questions to solvers.

pub mod certificate;
pub mod encode;
pub(crate) mod ground;
pub(crate) mod prepared;
pub mod solve;
pub mod term;
