//! The search for consistent executions.
//!
//! [`network`] keeps the relations that must hold, incrementally and with undo; [`compile`] makes one from the
//! specifications; [`solver`] decides reads-from, then finds out whether the orders can be completed;
//! [`values`] keeps what each subevent can still read and write; [`witness`] makes an execution of a state.

pub mod compile;
pub mod forbidden;
pub mod network;
pub(crate) mod prefix;
pub mod refute;
pub(crate) mod schema;
pub mod solver;
pub mod values;
pub mod witness;
