//! Work that processes share, on one machine or on many. Each process writes its results to a [`log`]; all logs
//! together give the answer of a single process.

pub mod identity;
pub mod log;
