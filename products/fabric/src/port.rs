//! The interface of a fabric to a thread: the operations of RDMA-WAIT-RMW on words that have numbers.

use std::time::Duration;

use mowgli_core::ids::Tid;
use mowgli_core::unknown::Unknown;
use serde::{Deserialize, Serialize};

use crate::emitted::mowgli_port::{self, Id, Word};

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

/// The access of one thread to a fabric: the operations that emitted code makes, and two that only litmus tests make. A word holds
/// any 64 bits.
pub(crate) trait Port: mowgli_port::Port<Fault = Fault> {
    /// Posts an exchange of the word `on`; `to` gets what was there.
    fn rxchg(&mut self, _to: Word, _on: Word, _v: i64, _d: Id) -> Result<(), Fault> {
        Err(Fault::Wrong("an exchange over the network: only litmus tests have it".to_owned()))
    }

    /// Waits for the oldest operation towards a node that polls have not taken.
    fn poll(&mut self, _n: i64) -> Result<(), Fault> {
        Err(Fault::Wrong("a poll: only litmus tests have it".to_owned()))
    }

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

    /// Delivers everything that is under way, for [`RemoteFabric::last`].
    fn settle(&self) {}

    /// Returns the content of a word at the end, where litmus tests run.
    fn last(&self, _: Word) -> i64 {
        unreachable!("litmus tests run in one process")
    }
}
