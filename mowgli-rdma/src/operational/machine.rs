//! The machine with a program, and its initial state.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mowgli_core::ids::{Loc, NodeSet};
use mowgli_core::term::implementation::Implementations;
use mowgli_core::term::script::Script;
use mowgli_core::world::World;

use super::programs::Programs;
use super::state::{ConflictingAccesses, PendingEvent, QueuePair, State};
use crate::error::Error;
use crate::stamp::Qp;
use crate::switches::Switches;
use crate::tso::TSO;

/// The machine with a program.
pub struct Machine<'a> {
    pub(super) world: Arc<World>,
    pub(super) programs: Programs<'a>,
    pub(super) locs: Vec<Loc>,
    pub(super) switches: Switches,
    /// The names of the threads in pictures.
    pub(super) names: Vec<String>,
    /// The conflicting accesses that were seen, if the machine watches for them.
    pub(super) watched: Option<BTreeMap<ConflictingAccesses, usize>>,
}

impl<'a> Machine<'a> {
    /// Builds the machine for a program whose calls are those of RDMA-TSO-RMW.
    ///
    /// # Errors
    /// If an object is not a memory word, or has no node.
    pub fn new(world: &World, programs: &'a [Script]) -> Result<Self, Error> {
        for (x, object) in &world.objects {
            if object.library != TSO || object.node.is_none() {
                return Err(Error::NotAWord(*x, object.library));
            }
        }
        let locs = world.objects.keys().copied().collect();
        let world = Arc::new(world.clone());
        let names = world.tids().map(|t| t.to_string()).collect();
        let programs = Programs::new(Arc::clone(&world), programs);
        Ok(Self { programs, world, locs, switches: Switches::OFF, names, watched: None })
    }

    /// Sets the names of the threads in pictures, which are P1, P2 and so on otherwise.
    #[must_use]
    pub fn named(self, names: Vec<String>) -> Self {
        Self { names, ..self }
    }

    /// Sets the limit on the iterations of a loop that are not idle.
    #[must_use]
    pub fn within(mut self, rounds: usize) -> Self {
        self.programs.rounds = rounds;
        self
    }

    /// Sets the implementations of calls that are not those of RDMA-TSO-RMW.
    #[must_use]
    pub fn implementing(mut self, implementations: Implementations) -> Self {
        self.programs.implementations = implementations;
        self
    }

    /// Sets the switches of the hardware.
    #[must_use]
    pub fn with(mut self, switches: Switches) -> Self {
        self.programs.completes_in_order = switches.network.completes_in_order;
        Self { switches, ..self }
    }

    pub(super) fn start(&mut self) -> State {
        let at = (0..self.world.threads.len()).map(|t| self.programs.add(t, Vec::new(), None)).collect();
        State { at, ..self.hardware() }
    }

    /// Returns the initial state of the hardware, without programs.
    pub(super) fn hardware(&self) -> State {
        let threads = self.world.threads.len();
        State {
            at: Vec::new(),
            buffers: vec![VecDeque::new(); threads],
            pairs: vec![QueuePair::default(); threads * usize::from(self.world.nodes)],
            memory: self.world.objects.values().map(|o| o.init).collect(),
            locked: NodeSet::default(),
            crashed: NodeSet::default(),
            asked: vec![PendingEvent::No; threads],
        }
    }

    pub(super) fn word(&self, x: Loc) -> usize {
        self.locs.binary_search(&x).expect("a declared word")
    }

    /// Returns the position of a queue pair of a thread in `State::pairs`. It may lie beyond the end as long as no
    /// thread has used queue pairs of this number.
    pub(super) fn pair(&self, t: usize, q: Qp) -> usize {
        let nodes = usize::from(self.world.nodes);
        let first = t * nodes + usize::from(q.to.0) - 1;
        first + (usize::from(q.number) - 1) * self.world.threads.len() * nodes
    }

    /// Lists the queue pairs that each thread has: the first one to each node, then the second ones.
    pub(super) fn queue_pairs(&self, state: &State) -> impl Iterator<Item = Qp> + use<> {
        let of_one = self.world.threads.len() * usize::from(self.world.nodes);
        let numbers = 1..=u8::try_from(state.pairs.len() / of_one).expect("a few");
        let nodes = self.world.all_nodes();
        numbers.flat_map(move |number| nodes.iter().map(move |to| Qp { to, number }))
    }

    /// Makes room for a queue pair, unless there is room already.
    pub(super) fn with_pair(&self, state: &mut State, q: Qp) {
        let of_one = self.world.threads.len() * usize::from(self.world.nodes);
        let needed = of_one * usize::from(q.number);
        if state.pairs.len() < needed {
            state.pairs.resize(needed, QueuePair::default());
        }
    }

    /// True if a part of the operation that was posted last to a queue pair is under way.
    pub(super) fn is_under_way(&self, state: &mut State, t: usize, q: Qp) -> bool {
        self.with_pair(state, q);
        let (pair, mut is_there) = (self.pair(t, q), false);
        let posted = state.pairs[pair].posted;
        state.each_number(t, q, pair, &mut |nth| is_there |= *nth + 1 == posted);
        is_there
    }

    /// Returns the number of the next operation of a queue pair. If completions come in order, no result shows a number,
    /// only their order counts. So those that are under way are numbered from 0, and a loop has finitely many states.
    pub(super) fn next_number(&self, state: &mut State, t: usize, q: Qp) -> u32 {
        self.with_pair(state, q);
        let pair = self.pair(t, q);
        if self.switches.network.completes_in_order {
            state.renumber(t, q, pair);
        }
        state.pairs[pair].posted
    }
}
