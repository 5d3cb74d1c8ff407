//! The machine as hardware for programs that run beside it: they make calls, and their caller chooses the next step.

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Tid};
use mowgli_core::value::Val;
use mowgli_core::world::World;

use super::machine::Machine;
use super::state::State;
use super::step::Step;
use crate::error::Error;
use crate::switches::Switches;

/// Store buffers, queue pairs and memory, without programs.
///
/// ```
/// use mowgli_core::ids::{Loc, Node, Tid};
/// use mowgli_core::world::World;
/// use mowgli_rdma::operational::Driven;
/// use mowgli_rdma::{Switches, tso};
///
/// let mut world = World::new(1, &[Node(1)]);
/// let x = Loc::new("x");
/// world.objects.insert(x, tso::word(Node(1)));
/// let mut machine = Driven::new(&world, Switches::OFF)?;
/// assert!(machine.call(Tid(1), &tso::Method::Write { x, v: 1.into() }.into()).is_some());
/// // The write is in the store buffer.
/// assert_eq!(machine.memory(x), 0.into());
/// assert!(machine.call(Tid(1), &tso::Method::Mfence {}.into()).is_none());
/// assert_eq!(machine.steps().len(), 1);
/// machine.take(0);
/// assert_eq!(machine.memory(x), 1.into());
/// # Ok::<(), mowgli_rdma::Error>(())
/// ```
pub struct Driven {
    machine: Machine<'static>,
    state: State,
    /// The possible next steps, once they are computed.
    next: Option<Vec<(Step, State)>>,
}

impl Driven {
    /// Builds the machine in its initial state.
    ///
    /// # Errors
    /// If an object is not a memory word, or has no node.
    pub fn new(world: &World, switches: Switches) -> Result<Self, Error> {
        let machine = Machine::new(world, &[])?.with(switches);
        let state = machine.hardware();
        Ok(Self { machine, state, next: None })
    }

    /// Makes a call of RDMA-TSO-RMW. Returns `None` if the call has to wait, for example a fence or a poll. The result
    /// is that of RDMA-WAIT-RMW, in which operations and polls return unit.
    ///
    /// # Panics
    /// If the call names a word or a node that does not exist; [`mowgli_core::library::Library::fault`] finds such
    /// calls.
    pub fn call(&mut self, thread: Tid, call: &Call) -> Option<Val> {
        let t = thread.index();
        let result = match self.machine.access(&self.state, t, call) {
            Some((result, after)) => {
                self.state = after;
                result
            }
            None => self.machine.silent_call(&mut self.state, t, call, Some(Val::Unit))?,
        };
        self.next = None;
        Some(result)
    }

    /// True if [`Self::call`] can make this call now.
    #[must_use]
    pub fn is_possible(&self, thread: Tid, call: &Call) -> bool {
        let t = thread.index();
        self.machine.access(&self.state, t, call).is_some()
            || self.machine.silent_call(&mut self.state.clone(), t, call, Some(Val::Unit)).is_some()
    }

    /// Lists the steps that the hardware can take.
    pub fn steps(&mut self) -> Vec<&Step> {
        if self.next.is_none() {
            // The caller need not choose when these steps happen, because they commute with all others.
            while self.machine.hardware_at_once(&mut self.state).is_some() {}
            let mut all = Vec::new();
            for t in 0..self.state.buffers.len() {
                self.machine.hardware_steps(&self.state, t, &mut |step, after| all.push((step, after)));
            }
            self.next = Some(all);
        }
        self.next.iter().flatten().map(|(step, _)| step).collect()
    }

    /// Takes one of [`Self::steps`].
    ///
    /// # Panics
    /// If `step` is not less than the number of steps.
    pub fn take(&mut self, step: usize) -> Step {
        self.steps();
        let (step, after) = self.next.take().expect("asked above").swap_remove(step);
        self.state = after;
        step
    }

    /// Returns the values of all words in memory, in the order of their locations.
    #[must_use]
    pub fn all_memory(&self) -> &[Val] {
        &self.state.memory
    }

    /// Returns the value of a word in memory.
    ///
    /// # Panics
    /// If the world has no such word.
    #[must_use]
    pub fn memory(&self, x: Loc) -> Val {
        self.state.memory[self.machine.word(x)]
    }
}
