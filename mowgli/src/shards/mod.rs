//! Work that is shared among processes, on one machine or on many: each writes what it finds to a [`book`], and who has all
//! books says what one process would have said.

pub mod book;
pub mod estimate;
pub mod identity;
mod sample;
pub mod slurm;
