//! Single runs of the machine, whose steps the caller chooses.
//!
//! **Computes**: one run after the other, each from the initial state to its end.
//!
//! **Invariant**: the next steps of a state are computed once, for all runs. All states are *settled*, as in `explore`.
//!
//! **Example**: a thousand runs of store buffering visit the same few states. The first ones compute their steps, and the
//! others choose among these.
//!
//! **Correct because**: the next steps depend on the state alone. So a run makes the same choices with known states as
//! without them.
//!
//! **Cost**: memory for the states that a run visits and those next to them. A run forgets those of earlier runs if they are many.

use std::collections::BTreeSet;
use std::sync::Arc;

use mowgli_core::event::Cell;
use mowgli_core::search::runs::Stop;
use rustc_hash::{FxHashMap, FxHashSet};

use super::explore::WalkEnd;
use super::machine::Machine;
use super::state::{ConflictingAccesses, State};
use super::step::Step;

/// The most states that a run takes over from earlier ones.
const KNOWN: usize = 1 << 16;

/// A machine that makes single runs.
pub struct MachineWalks<'a> {
    machine: Machine<'a>,
    /// The first state, and the steps before it.
    first: Option<Arc<NextState>>,
    numbers: FxHashMap<Arc<State>, u32>,
    states: Vec<Arc<State>>,
    /// The next steps of each state, once a run has come there.
    next: Vec<Option<Arc<[NextState]>>>,
}

/// Steps, and the number of the settled state after them.
struct NextState {
    steps: Vec<Step>,
    after: u32,
}

impl<'a> MachineWalks<'a> {
    /// Makes runs of this machine.
    #[must_use]
    pub fn of(machine: Machine<'a>) -> Self {
        Self { machine, first: None, numbers: FxHashMap::default(), states: Vec::new(), next: Vec::new() }
    }

    /// Lists the conflicting accesses of the last run, each with the number of steps before it.
    pub fn conflicts(&self) -> impl Iterator<Item = (ConflictingAccesses, usize)> + '_ {
        self.machine.conflicts()
    }

    /// Follows one run to its end. At each point `choose` gets positions among the possible steps, and picks one. If
    /// some steps lead to states that the run has not visited, it gets only theirs, so that the run leaves loops that
    /// wait. `show` gets each step. The run is stuck if it has visited every state that it can still reach.
    ///
    /// # Errors
    /// If the time is up before the run has ended, or a thread makes a call that no program may make.
    pub fn walk(
        &mut self,
        observed: &[Cell],
        choose: &mut dyn FnMut(&[usize]) -> usize,
        show: &mut dyn FnMut(&Step),
        expired: &dyn Fn() -> bool,
    ) -> Result<WalkEnd, Stop> {
        let first = self.begin(expired)?;
        let (mut been, mut shown) = (FxHashSet::default(), 0);
        let mut show = |step: &Step, shown: &mut usize| {
            *shown += 1;
            show(step);
        };
        first.steps.iter().for_each(|step| show(step, &mut shown));
        let mut at = first.after;
        loop {
            if expired() {
                return Err(Stop::Time);
            }
            let next = self.next_states(at, expired)?;
            let state = Arc::clone(&self.states[at as usize]);
            if let Some(stop) = self.machine.cut(&state).or_else(|| self.machine.no_sum(&state)) {
                return Err(stop);
            }
            if self.machine.is_discarded(&state) {
                return Ok(WalkEnd::Discarded);
            }
            self.machine.watch(&state, shown);
            been.insert(at);
            if next.is_empty() {
                let outcome = self.machine.outcome(&state, observed);
                let stuck = |machine: &mut Machine<'_>| WalkEnd::Stuck(machine.standstill(&[&state], observed));
                return Ok(outcome.map_or_else(|| stuck(&mut self.machine), WalkEnd::Outcome));
            }
            let mut open: Vec<usize> = (0..next.len()).filter(|&k| !been.contains(&next[k].after)).collect();
            if open.is_empty() {
                if let Some(closed) = self.closed(at, &been, expired)? {
                    let closed: Vec<&State> = closed.iter().map(|&s| &*self.states[s as usize]).collect();
                    return Ok(WalkEnd::Stuck(self.machine.standstill(&closed, observed)));
                }
                open.extend(0..next.len());
            }
            let chosen = &next[choose(&open)];
            chosen.steps.iter().for_each(|step| show(step, &mut shown));
            at = chosen.after;
        }
    }

    /// Draws the machine after each step of a run in which [`Self::walk`] made these choices.
    ///
    /// # Errors
    /// If the time is up.
    ///
    /// # Panics
    /// If a choice is not the position of a possible step.
    pub fn pictures(&mut self, choices: &[usize], expired: &dyn Fn() -> bool) -> Result<Vec<String>, Stop> {
        let mut states = Vec::new();
        let mut state = self.machine.start();
        let mut choices = choices.iter();
        loop {
            state = self.machine.settled_in_time(state, &mut |_, after| states.push(after.clone()), expired)?;
            let Some(&choice) = choices.next() else { break };
            let mut all = Vec::new();
            self.machine.steps(&state, &mut |_, _, after| all.push(after));
            state = all.swap_remove(choice);
            states.push(state.clone());
        }
        Ok(states.iter().map(|state| self.machine.picture(state)).collect())
    }

    /// Begins a run.
    fn begin(&mut self, expired: &dyn Fn() -> bool) -> Result<Arc<NextState>, Stop> {
        self.machine.forget_conflicts();
        if self.states.len() > KNOWN {
            self.first = None;
            self.numbers.clear();
            self.states.clear();
            self.next.clear();
        }
        if let Some(first) = &self.first {
            return Ok(Arc::clone(first));
        }
        let (state, mut steps) = (self.machine.start(), Vec::new());
        let state = self.machine.settled_in_time(state, &mut |step, _| steps.push(step.clone()), expired)?;
        let first = Arc::new(NextState { steps, after: self.number(state) });
        self.first = Some(Arc::clone(&first));
        Ok(first)
    }

    fn number(&mut self, state: State) -> u32 {
        if let Some(&known) = self.numbers.get(&state) {
            return known;
        }
        let (number, state) = (self.states.len() as u32, Arc::new(state));
        self.numbers.insert(Arc::clone(&state), number);
        self.states.push(state);
        self.next.push(None);
        number
    }

    fn next_states(&mut self, at: u32, expired: &dyn Fn() -> bool) -> Result<Arc<[NextState]>, Stop> {
        if let Some(known) = &self.next[at as usize] {
            return Ok(Arc::clone(known));
        }
        let state = Arc::clone(&self.states[at as usize]);
        let mut all = Vec::new();
        self.machine.steps(&state, &mut |_, step, after| all.push((step, after)));
        let next = all.into_iter().map(|(step, after)| {
            let mut steps = vec![step];
            let after = self.machine.settled_in_time(after, &mut |step, _| steps.push(step.clone()), expired)?;
            Ok(NextState { steps, after: self.number(after) })
        });
        let next = next.collect::<Result<Arc<[NextState]>, Stop>>()?;
        self.next[at as usize] = Some(Arc::clone(&next));
        Ok(next)
    }

    /// Returns the states that are reachable from this one; `None` if the run has not visited one of them.
    fn closed(
        &mut self,
        from: u32,
        been: &FxHashSet<u32>,
        expired: &dyn Fn() -> bool,
    ) -> Result<Option<BTreeSet<u32>>, Stop> {
        let (mut seen, mut todo) = (BTreeSet::from([from]), vec![from]);
        while let Some(state) = todo.pop() {
            if !been.contains(&state) {
                return Ok(None);
            }
            let next = self.next_states(state, expired)?;
            todo.extend(next.iter().map(|next| next.after).filter(|&after| seen.insert(after)));
        }
        Ok(Some(seen))
    }
}

#[cfg(test)]
mod tests {
    use mowgli_core::ids::{Loc, Node};
    use mowgli_core::term::body::body;
    use mowgli_core::term::script::Script;
    use mowgli_core::world::World;

    use super::*;
    use crate::tso::{self, read, write};

    /// Makes a run, and returns its end, its steps and its choices.
    fn run(walks: &mut MachineWalks<'_>, seed: usize) -> (WalkEnd, Vec<Step>, Vec<usize>) {
        let (mut random, mut steps, mut choices) = (seed, Vec::new(), Vec::new());
        let mut choose = |open: &[usize]| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            choices.push(open[(random >> 33) % open.len()]);
            choices[choices.len() - 1]
        };
        let end = walks.walk(&[], &mut choose, &mut |step| steps.push(step.clone()), &|| false).expect("no limit");
        (end, steps, choices)
    }

    /// Store buffering, and then a wait for the other thread.
    #[test]
    fn a_run_with_known_states_is_that_without_them() {
        let [x, y] = ["x", "y"].map(Loc::new);
        let mut world = World::new(1, &[Node(1), Node(1)]);
        world.objects = [(x, tso::word(Node(1))), (y, tso::word(Node(1)))].into();
        let thread = |own: Loc, other: Loc| {
            body! { write(own, 1); let first = read(other); loop { let v = read(other); if (v == 1) { break } } first }
        };
        let programs = [thread(x, y), thread(y, x)].map(Script::from);
        let walks = || MachineWalks::of(Machine::new(&world, &programs).expect("words"));
        let (mut all, mut ends) = (walks(), BTreeSet::new());
        for seed in 0..100 {
            let (end, steps, choices) = run(&mut all, seed);
            let pictures = all.pictures(&choices, &|| false).expect("no limit");
            assert_eq!(pictures.len(), steps.len());
            assert!(pictures[pictures.len() - 1].starts_with("memory x@1=1 y@1=1"), "{pictures:?}");
            ends.insert(end.clone());
            assert_eq!((end, steps, choices), run(&mut walks(), seed));
        }
        assert_eq!(ends.len(), 4, "{ends:?}");
        assert!(all.states.len() < 50, "{}", all.states.len());
    }
}
