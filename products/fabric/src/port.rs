//! The interface of a fabric to a thread: the operations of RDMA-WAIT-RMW on words that have numbers.

use std::time::Duration;

use mowgli_core::ids::Tid;
use mowgli_core::unknown::Unknown;
use serde::{Deserialize, Serialize};

use crate::emitted::mowgli_port;

/// The reason why a thread does not continue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum Fault {
    /// The thread would wait for ever: nothing that is left can end its wait. The text names the wait.
    #[error("this never ends: {0}")]
    Endless(String),
    /// The limit of time, or of steps, is reached. The text says where.
    #[error("the time is up: {0}")]
    Late(String),
    /// An illegal call, or a group that cannot be run. The text says why.
    #[error("{0}")]
    Wrong(String),
    /// An assumption of the program does not hold in this run.
    #[error("what the program assumes does not hold in this run")]
    Discarded,
    /// Another process has gone, or does not answer. The text says which.
    #[error("{0}")]
    Gone(String),
}

impl From<Unknown> for Fault {
    fn from(error: Unknown) -> Self {
        Self::Wrong(error.to_string())
    }
}

impl From<mowgli_libraries::error::Error> for Fault {
    fn from(error: mowgli_libraries::error::Error) -> Self {
        Self::Wrong(error.to_string())
    }
}

/// The access of one thread to a fabric: the operations that emitted code makes. A word holds any 64 bits.
pub(crate) trait Port: mowgli_port::Port<Fault = Fault> {
    /// Sets the time that a call, a loop that waits, or an operation outside of both may take.
    fn within(&mut self, _: Duration) {}

    /// Begins such a call, loop or operation. All waits in it end when its time is up.
    fn begins(&mut self) {}

    /// Lets others run while the thread waits in a loop.
    fn relax(&mut self) {}
}

/// A fabric with memory of its own.
pub(crate) trait RemoteFabric: Sync {
    /// Returns the port of a thread. A thread has one port at a time.
    fn port(&self, thread: Tid) -> Box<dyn Port + '_>;
}
