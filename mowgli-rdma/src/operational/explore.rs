//! Every state of the machine, and one run of it.

use std::collections::{BTreeSet, VecDeque};

use mowgli_core::event::Cell;
use mowgli_core::ids::{Loc, Tid};
use mowgli_core::outcome::Outcome;
use mowgli_core::runs::Stop;
use mowgli_core::value::Val;
use rustc_hash::FxHashSet;

use super::machine::Machine;
use super::programs::Next;
use super::state::{Buffered, Entry, Local, State};
use super::step::Step;
use super::stuck::{Standstill, Visited};
use crate::stamp::Qp;

/// What an exploration found.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// The outcomes of the runs that end.
    pub outcomes: BTreeSet<Outcome>,
    /// How many states there are, after the steps that are taken at once.
    pub states: usize,
    /// The bytes of memory that a state takes, on average.
    pub bytes: usize,
    /// The ways in which runs are stuck; empty if a limit cut the exploration short.
    pub stuck: BTreeSet<Standstill>,
    /// What stopped the exploration.
    pub stop: Option<Stop>,
}

impl Machine<'_> {
    /// Every final state, from the first one; stops after `limit` states.
    pub fn explore(&mut self, observed: &[Cell], limit: usize, expired: &dyn Fn() -> bool) -> Runs {
        self.explore_all(true, observed, limit, expired)
    }

    /// As [`Self::explore`], without taking any step at once: more states, to hold the reduction against.
    pub fn explore_slowly(&mut self, observed: &[Cell], limit: usize) -> Runs {
        self.explore_all(false, observed, limit, &|| false)
    }

    fn explore_all(&mut self, reduced: bool, observed: &[Cell], limit: usize, expired: &dyn Fn() -> bool) -> Runs {
        let mut runs = Runs::default();
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
            if let Some(stop) = self.cut(&state) {
                runs.stop = Some(stop);
                continue;
            }
            if self.is_discarded(&state) {
                visited.ends(number);
                continue;
            }
            let mut next = Vec::new();
            let slow = if reduced { Vec::new() } else { self.slow_steps(&state) };
            next.extend(slow.into_iter().map(|after| (after, true)));
            self.steps(&state, &mut |machine, step, after| {
                let must = !machine.is_optional(&state, &step);
                next.push((if reduced { machine.settled(after) } else { after }, must));
            });
            // What crashes need not go on, so that a run may end before its last state.
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

    /// The state after all steps that are taken at once.
    fn settled(&mut self, mut state: State) -> State {
        while self.at_once(&mut state).is_some() {}
        state
    }

    /// All states that come after this one; `None` if there is a way out of those where the run has been.
    fn closed(&mut self, from: &State, been: &FxHashSet<State>) -> Option<FxHashSet<State>> {
        let mut seen = FxHashSet::from_iter([from.clone()]);
        let mut todo = vec![from.clone()];
        while let Some(state) = todo.pop() {
            if !been.contains(&state) {
                return None;
            }
            self.steps(&state, &mut |machine, _, after| {
                let after = machine.settled(after);
                if seen.insert(after.clone()) {
                    todo.push(after);
                }
            });
        }
        Some(seen)
    }

    /// One run: at each point `choose` picks one of so many steps, of those that lead to where it was not yet if there are any:
    /// rounds that wait are passed. `show` gets each step and what the machine looks like
    /// after it. Returns the outcome, or how the run is stuck. A run that comes to a state for the second time, and can leave the states
    /// where it has been in no way, is stuck.
    ///
    /// # Errors
    /// If the time is up before the run has ended, or a thread makes a call that no program may make.
    pub fn walk(
        &mut self,
        observed: &[Cell],
        choose: &mut dyn FnMut(usize) -> usize,
        show: &mut dyn FnMut(&Step, &str),
        expired: &dyn Fn() -> bool,
    ) -> Result<Result<Outcome, Standstill>, Stop> {
        let mut state = self.start();
        let mut been = FxHashSet::default();
        loop {
            if expired() {
                return Err(Stop::Time);
            }
            while let Some(step) = self.at_once(&mut state) {
                show(&step, &self.picture(&state));
            }
            let mut all = Vec::new();
            self.steps(&state, &mut |_, step, after| all.push((step, after)));
            if let Some(stop) = self.cut(&state) {
                return Err(stop);
            }
            been.insert(state.clone());
            if all.is_empty() {
                let standstill = |machine: &mut Self| machine.standstill(&[&state], observed);
                return Ok(self.outcome(&state, observed).ok_or_else(|| standstill(self)));
            }
            let is_new = |machine: &mut Self, after: &State| !been.contains(&machine.settled(after.clone()));
            let new: Vec<bool> = all.iter().map(|(_, after)| is_new(self, after)).collect();
            if new.contains(&true) {
                let mut new = new.iter();
                all.retain(|_| *new.next().expect("one for each"));
            } else if let Some(closed) = self.closed(&state, &been) {
                return Ok(Err(self.standstill(&closed.iter().collect::<Vec<_>>(), observed)));
            }
            let (step, after) = all.swap_remove(choose(all.len()));
            state = after;
            show(&step, &self.picture(&state));
        }
    }

    /// Why a thread does not go on, if it is not for what it reads.
    fn cut(&self, state: &State) -> Option<Stop> {
        let of = |place: &u32| if let Next::Cut(stop) = self.programs.next(*place) { Some(stop.clone()) } else { None };
        state.at.iter().find_map(of)
    }

    fn is_discarded(&self, state: &State) -> bool {
        state.at.iter().any(|&place| matches!(self.programs.next(place), Next::Discarded))
    }

    /// The outcome of a state in which everything has ended.
    fn outcome(&self, state: &State, observed: &[Cell]) -> Option<Outcome> {
        let output = |&place: &u32| match self.programs.next(place) {
            Next::End(v) => Some(*v),
            _ => None,
        };
        let outputs = state.at.iter().map(output).collect::<Option<Vec<Val>>>()?;
        let is_over = |t: usize, q: Qp| {
            let pair = &state.pairs[self.pair(t, q)];
            let is_cut_off = self.world.may_stop(Tid::from_index(t)) || self.world.crashes.nodes.contains(q.to);
            // What has arrived is written; what an atomic operation does at its node is one thing.
            let is_done = |e: &Entry| is_cut_off && !matches!(e, Entry::AtomicWrite(..));
            pair.pipe.iter().all(is_done) && pair.remote.is_empty() && !pair.has_local_write()
        };
        let all_over = |t: usize| self.queue_pairs(state).all(|q| is_over(t, q));
        let ended = state.buffers.iter().all(VecDeque::is_empty) && (0..state.at.len()).all(all_over);
        let finals = observed.iter().map(|c| state.memory[self.word(c.loc)]).collect();
        ended.then_some(Outcome { outputs, finals })
    }

    /// Memory, and what is under way.
    fn picture(&self, state: &State) -> String {
        let memory = self.locs.iter().zip(&state.memory).map(|(x, v)| format!("{x}={v}"));
        let mut lines = vec![format!("memory {}", memory.collect::<Vec<_>>().join(" "))];
        for t in 0..state.at.len() {
            let list = |name: &str, all: Vec<String>| (!all.is_empty()).then(|| format!("{name} {}", all.join(", ")));
            let thread = Tid::from_index(t);
            let buffered = |b: &Buffered| match b {
                Buffered::Write(x, v) => format!("{x} := {v}"),
                Buffered::Operation(q, e) => format!("{e} to {q}"),
            };
            lines.extend(list(&format!("{thread} store buffer:"), state.buffers[t].iter().map(buffered).collect()));
            for pair in self.queue_pairs(state) {
                let q = &state.pairs[self.pair(t, pair)];
                let name = |part: &str| format!("{thread} to {}, {part}:", pair.in_words());
                let remote = |(x, v, _): &(Loc, Val, bool)| format!("{x} := {v}");
                let local = |l: &Local| match l {
                    Local::Write(x, v) => format!("{x} := {v}"),
                    Local::Confirmation => "done".to_owned(),
                };
                lines.extend(list(&name("pipe"), q.pipe.iter().map(ToString::to_string).collect()));
                lines.extend(list(&name("remote writes"), q.remote.iter().map(remote).collect()));
                lines.extend(list(&name("local writes"), q.local.iter().map(local).collect()));
                lines.extend(list(&name("messages"), q.received.iter().map(Val::to_string).collect()));
            }
        }
        lines.join("\n")
    }
}
