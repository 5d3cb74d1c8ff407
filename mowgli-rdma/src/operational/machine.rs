//! The machine with a program, at its beginning.

use std::collections::VecDeque;
use std::sync::Arc;

use mowgli_core::ids::{Loc, NodeSet};
use mowgli_core::program::Prog;
use mowgli_core::world::World;

use super::programs::Programs;
use super::state::{Asked, QueuePair, State};
use crate::stamp::Qp;
use crate::switches::Switches;
use crate::tso::TSO;

/// The machine with a program.
pub struct Machine<'a> {
    pub(super) world: Arc<World>,
    pub(super) programs: Programs<'a>,
    pub(super) locs: Vec<Loc>,
    pub(super) switches: Switches,
}

impl<'a> Machine<'a> {
    /// The machine at the beginning of a program, whose calls are those of RDMA-TSO-RMW.
    ///
    /// # Errors
    /// If an object is no memory word, or lives on no node.
    pub fn new(world: &World, programs: &'a [Prog]) -> Result<Self, String> {
        for (x, object) in &world.objects {
            if object.library != TSO || object.node.is_none() {
                return Err(format!("{x} is an object of {}; the machine has memory words only", object.library));
            }
        }
        let locs = world.objects.keys().copied().collect();
        let world = Arc::new(world.clone());
        Ok(Self { programs: Programs::new(Arc::clone(&world), programs), world, locs, switches: Switches::OFF })
    }

    /// With at most so many rounds of a loop that do more than look.
    #[must_use]
    pub fn within(mut self, rounds: usize) -> Self {
        self.programs.rounds = rounds;
        self
    }

    /// On hardware that promises less or more.
    #[must_use]
    pub fn with(self, switches: Switches) -> Self {
        Self { switches, ..self }
    }

    pub(super) fn start(&mut self) -> State {
        let at = (0..self.world.threads.len()).map(|t| self.programs.add(t, Vec::new(), None)).collect();
        State { at, ..self.hardware() }
    }

    /// The state at the beginning, without programs.
    pub(super) fn hardware(&self) -> State {
        let threads = self.world.threads.len();
        State {
            at: Vec::new(),
            buffers: vec![VecDeque::new(); threads],
            pairs: vec![QueuePair::default(); threads * usize::from(self.world.nodes)],
            memory: self.world.objects.values().map(|o| o.init).collect(),
            locked: NodeSet::default(),
            asked: vec![Asked::No; threads],
        }
    }

    pub(super) fn word(&self, x: Loc) -> usize {
        self.locs.binary_search(&x).expect("a declared word")
    }

    /// Where a queue pair of a thread stands; those that nothing was issued by may be missing.
    pub(super) fn pair(&self, t: usize, q: Qp) -> usize {
        let nodes = usize::from(self.world.nodes);
        let first = t * nodes + usize::from(q.to.0) - 1;
        first + (usize::from(q.number) - 1) * self.world.threads.len() * nodes
    }

    /// The queue pairs of each thread that are there: the first to each node, then the second ones.
    pub(super) fn queue_pairs(&self, state: &State) -> impl Iterator<Item = Qp> + use<> {
        let of_one = self.world.threads.len() * usize::from(self.world.nodes);
        let numbers = 1..=u8::try_from(state.pairs.len() / of_one).expect("a few");
        let nodes = self.world.all_nodes();
        numbers.flat_map(move |number| nodes.iter().map(move |to| Qp { to, number }))
    }

    /// Makes room for a queue pair, if it is not there.
    pub(super) fn with_pair(&self, state: &mut State, q: Qp) {
        let of_one = self.world.threads.len() * usize::from(self.world.nodes);
        let needed = of_one * usize::from(q.number);
        if state.pairs.len() < needed {
            state.pairs.resize(needed, QueuePair::default());
        }
    }
}
