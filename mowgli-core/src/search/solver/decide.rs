//! Decisions: the source of a read, and the last write of a cell.

use super::{Solver, Source};
use crate::execution::Execution;
use crate::search::compile::UnfilledChoice;
use crate::search::relation::matrix::{meet, ones};

impl Solver<'_> {
    /// Returns the sources that a read can still have.
    pub(in crate::search) fn options(&self, choice: usize, read: usize) -> Vec<Source> {
        let UnfilledChoice::ReadsFrom { excluded, candidates, .. } = &self.compiled.choices[choice].2 else {
            unreachable!("only reads-from has reads")
        };
        let out = self.compiled.net.row(*excluded, read);
        let initial = (out[read / 64] >> (read % 64) & 1 == 0).then_some(Source::Initial);
        let left: Vec<u64> = candidates.row(read).iter().zip(out).map(|(c, o)| c & !o).collect();
        let writes = ones(&left).map(Source::Write).collect::<Vec<_>>();
        let all = initial.into_iter().chain(writes);
        all.filter(|&o| self.source_values(read, o) & self.domains.reads[read] != 0).collect()
    }

    pub(in crate::search) fn decide(&mut self, choice: usize, read: usize, source: Source) {
        let UnfilledChoice::ReadsFrom { chosen, before, candidates, .. } = &self.compiled.choices[choice].2 else {
            unreachable!("only reads-from has reads")
        };
        self.sources[read] = source;
        match source {
            Source::Write(w) => self.compiled.net.add(*chosen, w, read),
            _ => self.compiled.net.add_row(*before, read, candidates.row(read)),
        }
    }

    /// Makes the choices of an execution of the beginnings of these runs. `places` has the subevents of this search, for each one
    /// of the execution.
    pub fn begin_as(&mut self, execution: &Execution, places: &[usize]) {
        for choice in 0..self.compiled.choices.len() {
            let (library, name, open) = &self.compiled.choices[choice];
            let Some(chosen) = execution.chosen.iter().find(|c| c.library == *library && c.name == *name) else {
                continue;
            };
            match open {
                UnfilledChoice::Order { raw, .. } => {
                    chosen.pairs.iter().for_each(|&(a, b)| self.compiled.net.add(*raw, places[a], places[b]));
                }
                UnfilledChoice::ReadsFrom { reads, .. } => {
                    let source = |read: usize| {
                        let pair = chosen.pairs.iter().find(|(_, r)| *r == read);
                        pair.map_or(Source::Initial, |&(w, _)| Source::Write(places[w]))
                    };
                    let known = (0..places.len()).filter(|&s| reads.contains(&places[s]));
                    let decided: Vec<_> = known.map(|s| (places[s], source(s))).collect();
                    decided.into_iter().for_each(|(read, source)| self.decide(choice, read, source));
                }
            }
        }
    }

    /// True if the source of some read of this rank is undecided.
    pub fn has_open_read_of_rank(&self, rank: u8) -> bool {
        let is_open = |r: &usize| self.sources[*r] == Source::Open && self.rank[*r] == rank;
        self.compiled.choices.iter().any(|(_, _, open)| match open {
            UnfilledChoice::ReadsFrom { reads, .. } => reads.iter().any(is_open),
            UnfilledChoice::Order { .. } => false,
        })
    }

    /// Returns a read whose value distinguishes the runs of its thread.
    pub(super) fn distinguishing_read(&self) -> Option<usize> {
        (0..self.graph.skeletons.len()).find_map(|t| self.values.telling(t, &self.domains))
    }

    /// Returns the read to decide next: the lowest rank first, then an open value before a known one, then the fewest
    /// sources, then the position.
    pub(in crate::search) fn open_read(&self) -> Option<(usize, usize)> {
        let mut best = None;
        for (choice, (_, _, open)) in self.compiled.choices.iter().enumerate() {
            let UnfilledChoice::ReadsFrom { reads, .. } = open else { continue };
            for &read in reads.iter().filter(|&&r| self.sources[r] == Source::Open) {
                let count =
                    (self.rank[read], self.domains.reads[read].is_power_of_two(), self.options(choice, read).len());
                if best.as_ref().is_none_or(|(fewest, _)| count < *fewest) {
                    best = Some((count, (choice, read)));
                }
            }
        }
        best.map(|(_, place)| place)
    }

    /// The first observed cell whose last write is open, with the writes that can be last.
    pub(in crate::search) fn open_last(&self) -> Option<(usize, Vec<usize>)> {
        self.observed.iter().enumerate().find_map(|(index, (writes, order))| {
            let lasts = self.lasts(writes, *order);
            (order.is_some() && lasts.len() > 1).then_some((index, lasts))
        })
    }

    /// True if a write of an observed cell is the last one. No library orders the messages of a ring, for example.
    #[must_use]
    pub fn has_last(&self, index: usize) -> bool {
        let (writes, order) = &self.observed[index];
        order.is_some() || ones(writes).nth(1).is_none()
    }

    pub(super) fn lasts(&self, writes: &[u64], order: Option<usize>) -> Vec<usize> {
        let Some(order) = order else { return ones(writes).collect() };
        let UnfilledChoice::Order { closed, .. } = &self.compiled.choices[order].2 else { unreachable!("an order") };
        let after = |w: usize| meet(self.compiled.net.row(*closed, w), writes);
        ones(writes).filter(|&w| !after(w)).collect()
    }

    pub(in crate::search) fn decide_last(&mut self, index: usize, last: usize) {
        let (writes, order) = &self.observed[index];
        let UnfilledChoice::Order { raw, .. } = &self.compiled.choices[order.expect("several writes are ordered")].2
        else {
            unreachable!("an order")
        };
        for w in ones(writes).filter(|&w| w != last) {
            self.compiled.net.add(*raw, w, last);
        }
    }
}
