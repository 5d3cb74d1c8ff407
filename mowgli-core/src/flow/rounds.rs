//! Where no thread goes on: the rounds of loops that threads may repeat for ever.

use std::collections::BTreeSet;

use super::{Explorer, OfThread, Place, State};
use crate::event::Cell;
use crate::ids::{Name, Tid};
use crate::search::prefix::{Advance, Available, Prefix};
use crate::stamp::Stamp;
use crate::thread::{Going, Point, Stand};
use crate::value::Val;

impl<'n, S: Stamp> Explorer<'_, '_, 'n, S> {
    /// The rounds that a thread can end without a break, with no other result that depends on memory than that of the call
    /// at which it stands, where cells can hold these values. What it looked at before it has read, or it would not be there.
    fn rounds_of(&self, thread: Tid, point: &'n Point<'n, S>, cells: &dyn Fn(Cell) -> Vec<Val>) -> Vec<Going<'n, S>> {
        let results = self.threads.returns(thread, point, cells);
        results.into_iter().flat_map(|ret| self.threads.rounds(point, thread, ret).to_vec()).collect()
    }

    /// Where no thread goes on: those that have not ended may go round in a loop, if what they can read is not what they
    /// wait for. The last of the rounds come at `now`.
    pub(super) fn idle(&mut self, state: &State<'n, S>, names: &[Name], any: &Available, now: u32) {
        let mut prefixes = self.prefixes.take();
        let prefix = prefixes.get_mut(names).expect("it was looked at");
        let waits = |t: usize| state[t].point.stand != Stand::Ended;
        let going = self.going(state, &waits, &|_| false, prefix, any);
        if going.iter().all(|(_, rounds)| !rounds.is_empty()) {
            self.choose_rounds(prefix, &mut self.path.clone(), now, &going, &mut Vec::new(), state);
        }
        self.prefixes.replace(prefixes);
    }

    /// The rounds that each thread that `waits` can repeat, as far as what they read can be last: of cells that others may
    /// still write (`is_open`) that is not known.
    pub(super) fn going(
        &self,
        state: &State<'n, S>,
        waits: &dyn Fn(usize) -> bool,
        is_open: &dyn Fn(Cell) -> bool,
        prefix: &Prefix<'_, 'n, S>,
        any: &Available,
    ) -> Vec<OfThread<'n, S>> {
        let mut going: Vec<OfThread<'n, S>> = Vec::new();
        for (t, place) in state.iter().enumerate().filter(|(t, _)| waits(*t)) {
            let cells = |cell: Cell| self.values(prefix, any, cell);
            going.push((t, self.rounds_of(Tid::from_index(t), place.point, &cells)));
            if going.iter().any(|(_, rounds)| rounds.is_empty()) {
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
            rounds.retain(|(point, start)| {
                let mut reads = point.run().shapes[*start..].iter().flatten().filter_map(|s| Some((s.cell?, s.reads?)));
                reads.all(|(cell, reads)| {
                    let last = || prefix.last_values(any, cell, (*t, *start..known(*t)), &may_change);
                    may_change(cell) || last().is_none_or(|last| last.iter().any(|&v| reads.allows(v)))
                })
            });
        }
        going
    }

    /// Chooses a round for each of the threads that go round in loops, and keeps what may begin an execution.
    fn choose_rounds(
        &mut self,
        prefix: &mut Prefix<'_, 'n, S>,
        path: &mut Vec<Advance<'n, S>>,
        now: u32,
        going: &[OfThread<'n, S>],
        chosen: &mut Vec<Going<'n, S>>,
        state: &State<'n, S>,
    ) {
        // What is too large to be looked at here is looked at later.
        let looked_at = prefix.go_to(path);
        if looked_at == Ok(false) {
            return;
        }
        let Some(((thread, rounds), rest)) = going.split_first() else {
            let mut chosen = chosen.iter();
            let of_thread = |p: &Place<'n, S>| match p.point.stand {
                Stand::Ended => (p.point, None),
                _ => chosen.next().map(|&(point, start)| (point, Some(start))).expect("one for each"),
            };
            let last: Vec<(&Point<'n, S>, Option<usize>)> = state.iter().map(of_thread).collect();
            if self.threads.notes {
                self.together.insert(last.iter().map(|(point, _)| point.id).collect());
            }
            if looked_at.is_err() || prefix.may_end(now) {
                self.idle.insert(last.into_iter().map(|(point, start)| (point.run().clone(), start)).collect());
            }
            return;
        };
        for &(point, start) in rounds {
            path.push(Advance { thread: *thread, point, now, window: None });
            chosen.push((point, start));
            self.choose_rounds(prefix, path, now, rest, chosen, state);
            chosen.pop();
            path.pop();
        }
    }
}
