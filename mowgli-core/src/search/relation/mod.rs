//! Relations on subevents as bit matrices.

pub mod matrix;

pub use matrix::Matrix;
