//! Arguments that several commands have.

pub(crate) mod bounds;
pub(crate) mod engine;
pub mod network;
pub(crate) mod numbers;
pub(crate) mod share;
pub(crate) mod size;
