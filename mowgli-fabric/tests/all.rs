//! The tests that need one process, as one program, so that the crates are linked once for them.

mod applications;
mod compiled;
mod early;
mod explore;
mod library;
mod many;
mod objects;
mod store;

#[path = "common/bytes.rs"]
mod bytes;
#[path = "common/crowd.rs"]
mod crowd;
#[path = "../examples/store/history.rs"]
mod history;
#[path = "common/refused.rs"]
mod refused;
