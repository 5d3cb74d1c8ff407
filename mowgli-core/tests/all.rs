//! The framework without RDMA, as one program: what is generic in the search is compiled once for its tests.

mod edits;
mod limits;
mod lock;
mod notation;
mod progress;
mod properties;
mod x86_tso;
