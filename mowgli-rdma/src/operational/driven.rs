//! The machine as hardware for programs that run beside it: they make calls, and somebody chooses what happens next.

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Tid};
use mowgli_core::value::Val;
use mowgli_core::world::World;

use super::machine::Machine;
use super::state::State;
use super::step::Step;
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
/// # Ok::<(), String>(())
/// ```
pub struct Driven {
    machine: Machine<'static>,
    state: State,
    /// What can happen next, if that is known.
    next: Option<Vec<(Step, State)>>,
}

impl Driven {
    /// The machine at the beginning.
    ///
    /// # Errors
    /// If an object is no memory word, or lives on no node.
    pub fn new(world: &World, switches: Switches) -> Result<Self, String> {
        let machine = Machine::new(world, &[])?.with(switches);
        let state = machine.hardware();
        Ok(Self { machine, state, next: None })
    }

    /// Makes a call of RDMA-TSO-RMW, if it is possible now: a fence, an atomic operation of the CPU or a poll may have to wait. The
    /// result is that of RDMA-WAIT-RMW: operations and polls return nothing.
    ///
    /// # Panics
    /// If the call names a word or a node that there is not; [`mowgli_core::library::Library::fault`] tells.
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

    /// The steps that the hardware can take.
    pub fn steps(&mut self) -> Vec<&Step> {
        if self.next.is_none() {
            // What only its own queue pair can notice is not waited for.
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
    /// If there are not so many.
    pub fn take(&mut self, step: usize) -> Step {
        self.steps();
        let (step, after) = self.next.take().expect("asked above").swap_remove(step);
        self.state = after;
        step
    }

    /// The values of all words in memory, in an order of its own.
    #[must_use]
    pub fn all_memory(&self) -> &[Val] {
        &self.state.memory
    }

    /// What is in memory.
    ///
    /// # Panics
    /// If there is no such word.
    #[must_use]
    pub fn memory(&self, x: Loc) -> Val {
        self.state.memory[self.machine.word(x)]
    }
}
