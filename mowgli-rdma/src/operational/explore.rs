//! The exploration of the machine: every state, with a partial-order reduction.
//!
//! **Computes**: the outcomes of the runs of a program that end, and the ways in which runs are stuck.
//! [`Machine::explore`] enumerates all states, depth first.
//!
//! **Invariant**: every state in `visited` is *settled*, which means that it has no step of `Machine::at_once` left.
//! The settled successors of each explored state are in `visited`, and those still to explore are in `todo`.
//!
//! **Example**: store buffering, `x := 1; a := y` beside `y := 1; b := x`. Both writes enter their store buffers at
//! once, so these two steps are never interleaved. In the first settled state a buffer can drain or a thread can read.
//! If both threads read first, the outcome is a=0, b=0.
//!
//! **Correct because**: a step of `at_once` stays possible until it is taken and disables no other step, so it commutes
//! with every other step. It does not change memory, and its result is fixed. So each run has the same end if these
//! steps come first: such a step is a persistent set by itself (Godefroid 1996). They do not go on for ever if
//! [`Machine::within`] bounds the iterations that are not idle. `tests/tests/machine.rs` compares the outcomes with
//! those of [`Machine::explore_slowly`], which does not reduce, and with the axioms (SYNC Theorem 7).
//!
//! **Cost**: one copy and one look-up of a state for each step. The number of states grows exponentially with the
//! writes and operations that are under way at the same time. [`MachineRuns`] has the number of states and their average size.

use std::collections::{BTreeSet, VecDeque};

use mowgli_core::event::Cell;
use mowgli_core::ids::{Loc, Tid};
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::runs::Stop;
use mowgli_core::value::Val;
use rustc_hash::FxHashSet;

use super::buffers::FilledBuffer;
use super::machine::Machine;
use super::programs::Next;
use super::state::{PipeEntry, State};
use super::step::Step;
use super::stuck::{Standstill, Visited};
use crate::stamp::Qp;

/// The result of an exploration.
#[derive(Clone, Debug, Default)]
pub struct MachineRuns {
    /// The outcomes of the runs that end.
    pub outcomes: BTreeSet<Outcome>,
    /// The number of states that were explored. With the reduction only settled states count.
    pub states: usize,
    /// The average number of bytes of memory that a state takes.
    pub bytes: usize,
    /// The ways in which runs are stuck; empty if a limit cut the exploration short.
    pub stuck: BTreeSet<Standstill>,
    /// The reason why the exploration ended early, if it did.
    pub stop: Option<Stop>,
}

/// The end of one run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WalkEnd {
    /// Every thread has ended.
    Outcome(Outcome),
    /// An assumption of the program is false, so the run does not count.
    Discarded,
    /// The run is stuck.
    Stuck(Standstill),
}

/// A condition on a state: on the outputs of the threads that have ended, and the outcome if everything has.
type Accepts<'f> = dyn Fn(&[Option<Val>], Option<&Outcome>) -> bool + 'f;

impl Machine<'_> {
    /// Explores every state, with the reduction. Stops after `limit` states, or when `expired` returns true.
    pub fn explore(&mut self, observed: &[Cell], limit: usize, expired: &dyn Fn() -> bool) -> MachineRuns {
        self.explore_all(true, observed, limit, expired)
    }

    /// Explores every state without the reduction, so that tests can compare the two.
    pub fn explore_slowly(&mut self, observed: &[Cell], limit: usize) -> MachineRuns {
        self.explore_all(false, observed, limit, &|| false)
    }

    fn explore_all(
        &mut self,
        reduced: bool,
        observed: &[Cell],
        limit: usize,
        expired: &dyn Fn() -> bool,
    ) -> MachineRuns {
        let mut runs = MachineRuns::default();
        let mut first = self.start();
        if reduced {
            first = self.settled(first);
        }
        let mut visited = Visited::default();
        let mut todo = vec![(visited.number(&first).0, first)];
        while let Some((number, state)) = todo.pop() {
            runs.states += 1;
            if runs.states >= limit {
                runs.stop = Some(Stop::States(limit));
                break;
            }
            if runs.states % 1024 == 1 && expired() {
                runs.stop = Some(Stop::Time);
                break;
            }
            if let Some(stop) = self.cut(&state).or_else(|| self.no_sum(&state)) {
                runs.stop = Some(stop);
                continue;
            }
            if self.is_discarded(&state) {
                visited.ends(number);
                continue;
            }
            self.watch(&state, 0);
            let mut next = Vec::new();
            let slow = if reduced { Vec::new() } else { self.slow_steps(&state) };
            next.extend(slow.into_iter().map(|after| (after, true)));
            self.steps(&state, &mut |machine, step, after| {
                let must = !machine.is_optional(&state, &step);
                next.push((if reduced { machine.settled(after) } else { after }, must));
            });
            // A thread or a node that crashes need not take its next step, so a run may also end in a state with
            // successors.
            if (next.is_empty() || !self.world.crashes.is_empty())
                && let Some(outcome) = self.outcome(&state, observed)
            {
                runs.outcomes.insert(outcome);
                visited.ends(number);
            }
            let mut after = Vec::new();
            for (state, must) in next {
                let (number, is_new) = visited.number(&state);
                after.extend(must.then_some(number));
                todo.extend(is_new.then_some((number, state)));
            }
            visited.add(number, &after);
        }
        runs.bytes = visited.numbers.keys().map(State::bytes).sum::<usize>() / visited.numbers.len();
        if runs.stop.is_none() {
            runs.stuck = self.standstills(&visited, observed);
        }
        runs
    }

    /// Returns the state after all steps that are taken at once, with what arrived in one order.
    fn settled(&mut self, mut state: State) -> State {
        while self.at_once(&mut state).is_some() {}
        state.pairs.iter_mut().for_each(|pair| pair.sort(self.switches.network));
        state
    }

    /// Takes all steps that are taken at once. `show` gets each with the state after it. The time is checked after each
    /// step, because a loop that only writes takes such steps for ever if nothing bounds its iterations.
    ///
    /// # Errors
    /// If the time is up.
    pub(super) fn settled_in_time(
        &mut self,
        mut state: State,
        show: &mut dyn FnMut(&Step, &State),
        expired: &dyn Fn() -> bool,
    ) -> Result<State, Stop> {
        while let Some(step) = self.at_once(&mut state) {
            show(&step, &state);
            if expired() {
                return Err(Stop::Time);
            }
        }
        Ok(state)
    }

    /// Finds a run to a state that `is` accepts, with as few steps as possible that are not taken at once, and returns
    /// its steps. `is` gets the outputs of the threads that have ended, and the outcome if everything has. Returns `None`
    /// if the first `limit` states have none, or the time is up.
    pub fn shortest(
        &mut self,
        observed: &[Cell],
        is: &Accepts<'_>,
        limit: usize,
        expired: &dyn Fn() -> bool,
    ) -> Option<Vec<Step>> {
        let is = |machine: &Self, state: &State| is(&machine.outputs(state), machine.outcome(state, observed).as_ref());
        self.shortest_to(&is, limit, expired)
    }

    /// Finds a run to a state that `is` accepts, as [`Self::shortest`] does.
    pub(super) fn shortest_to(
        &mut self,
        is: &dyn Fn(&Self, &State) -> bool,
        limit: usize,
        expired: &dyn Fn() -> bool,
    ) -> Option<Vec<Step>> {
        let first = self.start();
        let mut steps = Vec::new();
        let first = self.settled_in_time(first, &mut |step, _| steps.push(step.clone()), expired).ok()?;
        let mut seen = FxHashSet::from_iter([first.clone()]);
        // Each state with the position of the one before it, and the steps between them.
        let mut states = vec![(first, usize::MAX, steps)];
        let mut at = 0;
        while at < states.len() && at < limit && !expired() {
            let state = states[at].0.clone();
            if is(self, &state) {
                let mut path = Vec::new();
                while at != usize::MAX {
                    path.extend(states[at].2.iter().rev().cloned());
                    at = states[at].1;
                }
                path.reverse();
                return Some(path);
            }
            let mut next = Vec::new();
            self.steps(&state, &mut |_, step, after| next.push((step, after)));
            for (step, after) in next {
                let mut steps = vec![step];
                let after = self.settled_in_time(after, &mut |step, _| steps.push(step.clone()), expired).ok()?;
                if seen.insert(after.clone()) {
                    states.push((after, at, steps));
                }
            }
            at += 1;
        }
        None
    }

    /// Returns the reason why some thread does not go on, if it is a limit or an invalid call.
    pub(super) fn cut(&self, state: &State) -> Option<Stop> {
        let of = |place: &u32| if let Next::Cut(stop) = self.programs.next(*place) { Some(stop.clone()) } else { None };
        state.at.iter().find_map(of)
    }

    pub(super) fn is_discarded(&self, state: &State) -> bool {
        state.at.iter().any(|&place| matches!(self.programs.next(place), Next::Discarded))
    }

    /// Returns the output of each thread that has ended.
    fn outputs(&self, state: &State) -> Vec<Option<Val>> {
        let output = |&place: &u32| match self.programs.next(place) {
            Next::End(v) => Some(*v),
            _ => None,
        };
        state.at.iter().map(output).collect()
    }

    /// Returns the outcome of a state in which everything has ended.
    pub(super) fn outcome(&self, state: &State, observed: &[Cell]) -> Option<Outcome> {
        let outputs = self.outputs(state).into_iter().collect::<Option<Vec<Val>>>()?;
        let is_over = |t: usize, q: Qp| {
            let pair = &state.pairs[self.pair(t, q)];
            let is_cut_off = self.world.may_stop(Tid::from_index(t)) || self.world.crashes.nodes.contains(q.to);
            // A queue pair that is cut off may leave entries in its pipe. But writes that have arrived reach memory,
            // and an atomic operation that has read also writes, because it is indivisible at its node.
            let is_done = |e: &PipeEntry| is_cut_off && !matches!(e, PipeEntry::AtomicWrite(..));
            pair.pipe.iter().all(is_done) && pair.remote.is_empty() && !pair.has_local_write()
        };
        let all_over = |t: usize| self.queue_pairs(state).all(|q| is_over(t, q));
        let ended = state.buffers.iter().all(VecDeque::is_empty) && (0..state.at.len()).all(all_over);
        let finals = observed.iter().map(|c| state.memory[self.word(c.loc)]).collect();
        ended.then_some(Outcome { outputs, finals })
    }

    /// Draws a state: memory, store buffers and queue pairs.
    pub(super) fn picture(&self, state: &State) -> String {
        let place = |x: &Loc| self.world.objects[x].node.map_or_else(|| x.to_string(), |node| format!("{x}@{node}"));
        let memory = self.locs.iter().zip(&state.memory).map(|(x, v)| format!("{}={v}", place(x)));
        let mut lines = vec![format!("memory {}", memory.collect::<Vec<_>>().join(" "))];
        let line = |b: FilledBuffer| format!("{} {}: {}", self.names[b.thread.index()], b.name, b.entries.join(", "));
        lines.extend(self.buffers(state).into_iter().map(line));
        lines.join("\n")
    }
}
