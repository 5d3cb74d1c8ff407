//! Parts that applications share: the place where they run, the seeds of their runs, and figures.

pub mod among;
pub mod place;
pub mod plot;
pub mod repeat;
