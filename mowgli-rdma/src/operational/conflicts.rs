//! Conflicting accesses that are not ordered: two steps of one state, one of which the CPU makes.
//!
//! **Computes**: for each state that is explored, the pairs of possible next steps that access one word. One of the two
//! writes, one of them is by a CPU, and they are not both by the CPU of one thread. A compare-and-swap of a CPU counts as a
//! write even if it fails: x86 writes the old value then.
//!
//! **Invariant**: with [`Machine::watching`] each entry of a buffer or pipe has the place of the call that made it.
//! Without it the place is 0, so the states are those of the machine alone.
//!
//! **Example**: `put(z, x); put@q2(f, x)` beside `while (!f); a := z`. The write of f may be in memory while that of z is
//! still at the card. Then the CPU may read z, and the card may write z. By one queue pair there is no such state.
//!
//! **Correct because**: let hb be program order as the CPU and the card keep it, completions, and reads-from between accesses
//! that synchronise. A pair of reads-from does not order its own two accesses: two updates read one from the other in either
//! order. If two conflicting accesses are not in hb, take the accesses that are in hb before one of them. In the
//! order of the execution they are a run, because each reads from the last write before it. After this run both accesses are
//! possible. Conversely, two steps of one state have nothing between them. `the_machine_sees_the_conflicts_of_the_definition` in
//! `tests/tests/conflicts.rs` computes hb literally. Of some races behind others the machine sees only the first.
//! `a_race_is_found_and_its_twin_has_none` in `mowgli/tests/explored.rs` has examples.
//!
//! **Cost**: the square of the number of next steps, for each state.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use mowgli_core::ids::{Loc, Tid};

use super::machine::Machine;
use super::programs::Next;
use super::state::{Buffered, ConflictingAccesses, NextAccess, PipeEntry, State, can_act};
use super::step::Step;

impl Machine<'_> {
    /// Watches for conflicting accesses in all states from now on.
    #[must_use]
    pub fn watching(self) -> Self {
        Self { watched: Some(BTreeMap::new()), ..self }
    }

    /// Lists the conflicting accesses that were seen, each with the number of steps before it in a single run.
    pub fn conflicts(&self) -> impl Iterator<Item = (ConflictingAccesses, usize)> + '_ {
        self.watched.iter().flatten().map(|(both, steps)| (*both, *steps))
    }

    /// Forgets the conflicting accesses that were seen.
    pub(super) fn forget_conflicts(&mut self) {
        self.watched.iter_mut().for_each(BTreeMap::clear);
    }

    /// Finds a shortest run to a state in which two of these accesses are possible, and returns them with it. Steps that are
    /// taken at once do not count.
    pub fn shortest_to_conflict(
        &mut self,
        any: &BTreeSet<ConflictingAccesses>,
        limit: usize,
        expired: &dyn Fn() -> bool,
    ) -> Option<(ConflictingAccesses, Vec<Step>)> {
        let found = Cell::new(None);
        let is = |machine: &Self, state: &State| {
            found.set(machine.conflicts_of(state).into_iter().find(|both| any.contains(both)));
            found.get().is_some()
        };
        let steps = self.shortest_to(&is, limit, expired)?;
        Some((found.get()?, steps))
    }

    /// Returns the place of the next call of a thread, if the machine watches.
    pub(super) fn place_of_call(&self, state: &State, t: usize) -> u32 {
        if self.watched.is_some() { state.at[t] } else { 0 }
    }

    /// Notes the conflicting accesses of a state, if the machine watches.
    pub(super) fn watch(&mut self, state: &State, steps: usize) {
        if self.watched.is_none() {
            return;
        }
        let all = self.conflicts_of(state);
        for both in all {
            self.watched.iter_mut().for_each(|known| _ = known.entry(both).or_insert(steps));
        }
    }

    fn conflicts_of(&self, state: &State) -> Vec<ConflictingAccesses> {
        let all = self.next_accesses(state);
        let conflict = |a: &NextAccess, b: &NextAccess| {
            let is_of_one = a.thread == b.thread && a.by_cpu && b.by_cpu;
            a.x == b.x && (a.writes || b.writes) && (a.by_cpu || b.by_cpu) && !is_of_one
        };
        let pairs = all.iter().enumerate().flat_map(|(i, a)| all[i + 1..].iter().map(move |b| (a, b)));
        pairs.filter(|(a, b)| conflict(a, b)).map(|(a, b)| (*a.min(b), *a.max(b))).collect()
    }

    /// Lists the possible next steps that access memory.
    fn next_accesses(&self, state: &State) -> Vec<NextAccess> {
        let mut all = Vec::new();
        for t in 0..state.at.len() {
            let mut add = |place: u32, by_cpu: bool, x: Loc, writes: bool| {
                let call = self.programs.name(place);
                all.push(NextAccess { thread: Tid::from_index(t), call, by_cpu, x, writes });
            };
            if let Next::Call(call) = self.programs.next(state.at[t])
                && self.access(state, t, call).is_some()
            {
                add(state.at[t], true, call.loc(0), call.method.text() != "Read");
            }
            if let Some(&Buffered::Write(x, _, place)) = state.buffers[t].front() {
                add(place, true, x, true);
            }
            for q in self.queue_pairs(state) {
                let queue = &state.pairs[self.pair(t, q)];
                let (is_locked, network) = (state.locked.contains(q.to), self.switches.network);
                for at in (0..queue.pipe.len()).filter(|&at| can_act(queue, at, is_locked, self.switches)) {
                    if let Some((x, place)) = reads(&queue.pipe[at]) {
                        add(place, false, x, false);
                    }
                }
                for at in queue.remote_writes(network) {
                    add(queue.remote[at].call, false, queue.remote[at].x, true);
                }
                for (at, x, _) in queue.local_writes(network) {
                    add(queue.local[at].call(), false, x, true);
                }
            }
        }
        all
    }
}

/// Returns the word that an entry of a pipe reads, and the place of its call.
fn reads(entry: &PipeEntry) -> Option<(Loc, u32)> {
    match entry {
        PipeEntry::Put(_, x, part)
        | PipeEntry::Get(_, x, part)
        | PipeEntry::Rcas(_, x, .., part)
        | PipeEntry::Rfaa(_, x, _, part)
        | PipeEntry::Rxchg(_, x, _, part) => Some((*x, part.call)),
        _ => None,
    }
}
