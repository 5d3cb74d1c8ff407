//! The tests that need one process, as one program, so that the crates are linked once for them.

use mowgli_fabric::mowgli_port;

mod applications;
mod assumptions;
mod early;
mod explore;
mod objects;
mod twin;

#[path = "common/crowd.rs"]
mod crowd;
#[path = "../examples/store/history.rs"]
mod history;
#[path = "../src/emitted/objects.rs"]
#[rustfmt::skip]
mod objects_code;
#[path = "common/random_programs.rs"]
mod random_programs;
#[path = "common/scenarios.rs"]
mod scenarios;
#[allow(dead_code, reason = "the libraries below one")]
#[path = "../../../mowgli/tests/common/stack.rs"]
mod stack;
