//! Stuck states: the iterations of loops that threads may repeat for ever when no thread continues.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::{EndlessWait, Explorer, Last, OfThread, Position, Positions, WaitsAt};
use crate::event::{Call, Cell, Event};
use crate::ids::{Name, Tid};
use crate::search::prefix::{Advance, Available, Prefix, StatePath, Ways};
use crate::search::thread::{Frontier, LastIteration, ThreadState};
use crate::value::Val;

impl<'n> Explorer<'_, '_, 'n> {
    /// Returns the iterations that a thread can end without a break, while cells can hold these values. Only the call at its
    /// frontier still depends on memory, because earlier reads of the iteration have returned.
    fn rounds_of(
        &self,
        thread: Tid,
        point: &'n ThreadState<'n>,
        cells: &dyn Fn(Cell) -> Vec<Val>,
    ) -> Vec<LastIteration<'n>> {
        let results = self.threads.returns(thread, point, cells);
        results.into_iter().flat_map(|ret| self.threads.rounds(point, thread, ret).to_vec()).collect()
    }

    /// Collects the stuck states when no thread goes on. A thread that has not ended may wait in a call. Or it may
    /// repeat a loop, if the values that it can read are not those that it waits for. The last rounds begin at `now`.
    pub(super) fn idle(&mut self, state: &Positions<'n>, names: &[Name], any: &Available, now: u32) {
        let mut prefixes = self.prefixes.take();
        let prefix = prefixes.get_mut(names).expect("it was looked at");
        let waits = |t: usize| state[t].rest().is_none();
        let mut going = self.going(state, &waits, &|_| false, prefix, any).into_iter().peekable();
        let of_thread = |(t, place): (usize, &Position<'n>)| -> Vec<Last<'n>> {
            let rounds = going.next_if(|(thread, _)| *thread == t).map_or_else(Vec::new, |(_, rounds)| rounds);
            let rounds = rounds.into_iter().map(|(point, start)| {
                let wait = EndlessWait { at: WaitsAt::Loop(start), within: point.within(), depth: point.depth() };
                (point, Some(wait))
            });
            let ended = (place.point.frontier == Frontier::Ended).then_some((place.point, None));
            let waits = self.waits_in(place).map(|wait| (place.point, Some(wait)));
            rounds.chain(ended).chain(waits).collect()
        };
        let options: Vec<Vec<Last<'n>>> = state.iter().enumerate().map(of_thread).collect();
        if options.iter().all(|of_thread| !of_thread.is_empty()) {
            self.choose_last(prefix, &mut self.path.clone(), now, &options, &mut Vec::new());
        }
        self.prefixes.replace(prefixes);
    }

    /// Returns the iterations that each thread that `waits` can repeat. Each value that they read must be a possible last value
    /// of its cell. If others may still write the cell (`is_open`), any value is possible.
    pub(super) fn going(
        &self,
        state: &Positions<'n>,
        waits: &dyn Fn(usize) -> bool,
        is_open: &dyn Fn(Cell) -> bool,
        prefix: &Prefix<'_, 'n>,
        any: &Available,
    ) -> Vec<OfThread<'n>> {
        let mut going: Vec<OfThread<'n>> = Vec::new();
        for (t, place) in state.iter().enumerate().filter(|(t, _)| waits(*t)) {
            let cells = |cell: Cell| self.values(prefix, any, cell);
            going.push((t, self.rounds_of(Tid::from_index(t), place.point, &cells)));
            if going.iter().any(|(t, rounds)| rounds.is_empty() && self.waits_in(&state[*t]).is_none()) {
                return going;
            }
        }
        let known = |t: usize| state[t].point.run().shapes.len();
        let mut written: BTreeSet<Cell> = {
            let new =
                going.iter().flat_map(|(t, rounds)| rounds.iter().flat_map(|(p, _)| &p.run().shapes[known(*t)..]));
            new.flatten().filter(|s| s.writes.is_some()).filter_map(|s| s.cell).collect()
        };
        let copies = prefix.open_copies();
        while let Some(c) = copies.iter().find(|c| written.contains(&c.from) && !written.contains(&c.to)) {
            written.insert(c.to);
        }
        let may_change = |cell: Cell| written.contains(&cell) || is_open(cell);
        for (t, rounds) in &mut going {
            let merged = state[*t].merged;
            rounds.retain(|(point, start)| {
                if *start < merged {
                    return true;
                }
                let mut reads = point.run().shapes[*start..].iter().flatten().filter_map(|s| Some((s.cell?, s.reads?)));
                reads.all(|(cell, reads)| {
                    let last = || prefix.last_values(any, cell, (*t, *start..known(*t)), &may_change);
                    may_change(cell) || last().is_none_or(|last| last.iter().any(|&v| reads.allows(v)))
                })
            });
        }
        going
    }

    /// True if each thread may wait in its call. A call after which its thread must still make others, for example an Acq, waits only while
    /// another thread must, too ([`crate::library::Hints::unfinished`]). It is not so if attempts take the lock as well: their thread
    /// may wait for itself. Or its release came behind an attempt that failed.
    fn is_kept_waiting(&self, chosen: &[Last<'n>]) -> bool {
        let libraries = self.problem.libraries;
        let owes = |events: &[Event], call: Option<(&Call, Val)>| {
            let next = call.map(|(call, ret)| Event { thread: Tid(1), call: call.clone(), ret });
            !libraries.unfinished(&events.iter().chain(&next).collect::<Vec<_>>()).is_empty()
        };
        let owing: Vec<bool> = chosen.iter().map(|(point, _)| owes(&point.run().trace.events, None)).collect();
        let has_attempts =
            |call: &Call| libraries.of(call).covered().pairs().is_some_and(|pairs| !pairs.may_open.is_empty());
        chosen.iter().enumerate().all(|(t, (point, wait))| match (wait, &point.frontier) {
            (Some(EndlessWait { at: WaitsAt::Call(call), .. }), Frontier::Free(_, ways)) => {
                let others = || owing.iter().enumerate().any(|(u, owes)| u != t && *owes);
                has_attempts(call) || others() || !owes(&[], Some((call, ways[0].0)))
            }
            _ => true,
        })
    }

    /// Chooses what each thread does in the end, and keeps what may begin an execution.
    fn choose_last(
        &mut self,
        prefix: &mut Prefix<'_, 'n>,
        path: &mut StatePath<'n>,
        now: u32,
        options: &[Vec<Last<'n>>],
        chosen: &mut Vec<Last<'n>>,
    ) {
        // A state that is too large for this prefix is checked later by the solver.
        let looked_at = prefix.go_to(path);
        if looked_at == Ok(false) {
            return;
        }
        let thread = chosen.len();
        let Some(of_thread) = options.get(thread) else {
            if self.is_kept_waiting(chosen) && (looked_at.is_err() || prefix.may_end(now)) {
                self.is_idle_unknown |= path.iter().any(|advance| advance.ways.read.is_some());
                self.idle.insert(chosen.iter().map(|(point, wait)| (point.run().clone(), wait.clone())).collect());
            }
            return;
        };
        for last in of_thread {
            path.push(Rc::new(Advance { thread, point: last.0, ways: Ways::default(), now, window: None }));
            chosen.push(last.clone());
            self.choose_last(prefix, path, now, options, chosen);
            chosen.pop();
            path.pop();
        }
    }
}
