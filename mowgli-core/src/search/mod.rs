//! The search for the consistent executions of a program.
//!
//! [`flow`] runs the threads of a [`problem`] together, one [`thread`] at a time. [`network`] keeps the relations that must
//! hold, incrementally and with undo; `schema` makes one from the specifications. `store` adds what each subevent can still read
//! and write, and its source, and propagates. Two searches work on it: `prefix` adds and removes the events of a path, and
//! [`solver`] has all events. It decides reads-from, then finds out whether the orders can be completed. [`witness`] makes an
//! execution of a state, and [`outcome`] collects results. [`denote`] and [`enumerate`] are the definitions, for tests.

pub mod abstraction;
pub mod automorphism;
mod coherence;
pub mod denote;
pub mod enumerate;
pub mod fault;
mod faults;
pub mod flow;
pub mod forbidden;
pub mod graph;
#[cfg(test)]
pub(crate) mod memory;
pub mod network;
pub mod numbers;
pub mod outcome;
pub(crate) mod prefix;
pub(crate) mod prepared;
pub mod problem;
mod reachability;
pub(crate) mod read_class;
pub mod refute;
pub mod relation;
pub mod runs;
pub(crate) mod schema;
pub mod solver;
pub(crate) mod store;
pub mod stuck;
pub mod thin_air;
pub mod thread;
pub mod values;
pub mod witness;
