//! Work that processes share, on one machine or on many. Each process writes its results to a [`book`]; all books
//! together give the answer of a single process.

pub mod book;
pub mod estimate;
pub mod identity;
mod sample;
pub mod slurm;
