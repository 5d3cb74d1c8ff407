//! Relations on subevents as bit matrices.

pub mod matrix;
pub mod rows;

pub use matrix::Matrix;
