//! Tests of the framework without RDMA, in one program, so that the generic code of the search is compiled only once.

mod edits;
mod limits;
mod lock;
mod notation;
mod parts;
mod progress;
mod properties;
mod x86_tso;
