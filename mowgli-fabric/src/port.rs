//! What a fabric gives a thread: the operations of RDMA-WAIT-RMW.

use std::fmt;

use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::value::Val;
use mowgli_rdma::wait::Method;
use serde::{Deserialize, Serialize};

/// Why what goes by several queue pairs does not run.
pub(crate) const ONE_QUEUE_PAIR: &str = "what runs on a fabric has one queue pair to each node, and operations of one word with a completion; \
     leave out what is behind @, and put or get words one by one";

/// Why a thread does not go on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Fault {
    /// It would wait for ever: nothing that is left can give it what it waits for. The text says what that is.
    Endless(String),
    /// The time, or the number of steps, is up. The text says where.
    Late(String),
    /// A call that no program may make, or a group that cannot be run. The text says why.
    Wrong(String),
    /// An assumption of the program does not hold in this run.
    Discarded,
    /// Another process has gone, or does not answer. The text says which.
    Gone(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endless(why) => write!(f, "this never ends: {why}"),
            Self::Late(at) => write!(f, "the time is up: {at}"),
            Self::Wrong(why) | Self::Gone(why) => f.write_str(why),
            Self::Discarded => f.write_str("what the program assumes does not hold in this run"),
        }
    }
}

impl std::error::Error for Fault {}

/// The end of a fabric at which one thread is.
pub trait Port {
    /// Does an operation of RDMA-WAIT-RMW, and gives what it returns.
    ///
    /// # Errors
    /// If it cannot be done.
    fn make(&mut self, operation: Method) -> Result<Val, Fault>;

    /// Waits for the oldest operation towards a node for which nothing waited.
    ///
    /// # Errors
    /// If it cannot be done.
    fn poll(&mut self, n: Node) -> Result<(), Fault>;

    /// The thread goes round in a loop that waits.
    fn relax(&mut self) {}

    /// The thread ends an iteration of a loop whose iterations are alike: if nothing changed in it, the next one does the same.
    fn again(&mut self) {
        self.relax();
    }
}

/// A fabric with memory of its own.
pub trait Network: Sync {
    /// The port of a thread, of which there is one at a time.
    fn port(&self, thread: Tid) -> Box<dyn Port + '_>;

    /// Lets everything arrive that is under way.
    fn settle(&self) {}

    /// What a word is. There is one of this name.
    fn last(&self, x: Loc) -> Val;
}
