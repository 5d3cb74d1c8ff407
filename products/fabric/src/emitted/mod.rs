//! The code of the objects: a copy of what `mowgli emit rust` writes for their libraries, and the trait of its port.

pub mod mowgli_port;
#[rustfmt::skip]
pub(crate) mod objects;
