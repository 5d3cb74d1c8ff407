//! RDMA-TSO-RMW as a machine: store buffers, queue pairs and memory, one transition a step.
//!
//! SYNC App. D.1, Fig. 21, rules 1 to 13. Theorem 7: its outcomes are those of the declarative model
//! ([`crate::tso`]). [`Machine::explore`] visits every state, [`Machine::walk`] takes one random run.
//!
//! Steps that only their own thread or queue pair can notice, that stay possible once they are, and that never make
//! another step impossible, are taken at once: an append to the store buffer, a fence of an empty one, the issue of an
//! operation, the removal of a remote fence, an acknowledgement, a poll. Each commutes with every other step, so no final
//! state is lost.

mod explore;
mod programs;
mod state;
mod step;

use std::collections::VecDeque;

use mowgli_core::ids::{Loc, Node, NodeSet};
use mowgli_core::program::Prog;
use mowgli_core::world::World;

use self::programs::Programs;
use self::state::{QueuePair, State};
use crate::tso::TSO;

pub use self::explore::Runs;
pub use self::state::Entry;
pub use self::step::{Act, Step};

/// The machine with a program.
pub struct Machine<'a> {
    world: &'a World,
    programs: Programs<'a>,
    locs: Vec<Loc>,
}

impl<'a> Machine<'a> {
    /// The machine at the beginning of a program, whose calls are those of RDMA-TSO-RMW.
    ///
    /// # Errors
    /// If an object is no memory word, or lives on no node.
    pub fn new(world: &'a World, programs: &'a [Prog]) -> Result<Self, String> {
        for (x, object) in &world.objects {
            if object.library != TSO || object.node.is_none() {
                return Err(format!("{x} is an object of {}; the machine has memory words only", object.library));
            }
        }
        Ok(Self { world, programs: Programs::new(world, programs), locs: world.objects.keys().copied().collect() })
    }

    /// With at most so many rounds of a loop that do more than look.
    #[must_use]
    pub fn within(mut self, rounds: usize) -> Self {
        self.programs.rounds = rounds;
        self
    }

    fn start(&mut self) -> State {
        let threads = self.world.threads.len();
        State {
            at: (0..threads).map(|t| self.programs.add(t, Vec::new(), None)).collect(),
            buffers: vec![VecDeque::new(); threads],
            pairs: vec![QueuePair::default(); threads * usize::from(self.world.nodes)],
            memory: self.world.objects.values().map(|o| o.init).collect(),
            locked: NodeSet::default(),
        }
    }

    fn word(&self, x: Loc) -> usize {
        self.locs.binary_search(&x).expect("a declared word")
    }

    fn pair(&self, t: usize, n: Node) -> usize {
        t * usize::from(self.world.nodes) + usize::from(n.0) - 1
    }
}
