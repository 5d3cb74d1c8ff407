//! Executions over very weak memory, and a judge of them that knows nothing of any search (LOCO §3).
//!
//! A [`Library`](library::Library) has methods, shapes for their calls, and a consistency predicate written in the
//! relational [`algebra`]. An [`Execution`](execution::Execution) has events, subevents and every choice filled in. The
//! [`judge`] evaluates the definitions on it, word for word: small, slow, obviously right. Whatever a search finds goes
//! through here before anybody sees it, so this crate depends on nothing that searches.
pub mod algebra;
pub mod event;
pub mod execution;
pub mod expr;
pub mod few;
pub mod ids;
pub mod judge;
pub mod library;
pub mod method;
mod notation;
pub mod shape;
pub mod stamp;
pub mod value;
pub mod world;
