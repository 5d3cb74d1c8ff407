//! RDMA instances of the framework.
//!
//! [`stamp`] is the stamp order of RDMA; [`wait`] is RDMA-WAIT-RMW, the model in which LOCO's libraries are written.

pub mod probes;
pub mod stamp;
pub mod wait;

pub use stamp::Stamp;
