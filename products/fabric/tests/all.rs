//! The tests that need one process, as one program, so that the crates are linked once for them.

mod applications;
mod compiled;
mod early;
mod explore;
mod library;
mod many;
mod objects;
mod run;
mod store;
mod twin;

#[path = "common/bytes.rs"]
mod bytes;
#[path = "common/crowd.rs"]
mod crowd;
#[path = "common/forged.rs"]
mod forged;
#[path = "../examples/store/history.rs"]
mod history;
#[path = "../../../mowgli/tests/common/kinds.rs"]
mod kinds;
#[path = "../src/emitted/mowgli_port.rs"]
mod mowgli_port;
#[path = "common/port.rs"]
mod port;
#[path = "common/ran.rs"]
mod ran;
#[path = "common/refused.rs"]
mod refused;
#[path = "../../../mowgli/tests/common/stack.rs"]
mod stack;
#[path = "../../../mowgli/tests/common/walk.rs"]
mod walk;
