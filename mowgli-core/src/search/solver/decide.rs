//! Decisions: the source of a read, and the last write of a cell.

use std::rc::Rc;

use super::{Solver, Source};
use crate::execution::Execution;
use crate::search::relation::matrix::{meet, ones};
use crate::search::schema::{NamedChoice, SchemaChoice};

impl Solver<'_> {
    /// Makes the choices of an execution of the beginnings of these runs. `places` has the subevents of this search, for each one
    /// of the execution.
    pub fn begin_as(&mut self, execution: &Execution, places: &[usize]) {
        let schema = Rc::clone(&self.store.schema);
        for (choice, NamedChoice { library, name, of }) in schema.choices.iter().enumerate() {
            let library = schema.names[*library];
            let Some(chosen) = execution.chosen.iter().find(|c| c.library == library && c.name == *name) else {
                continue;
            };
            match *of {
                SchemaChoice::Order { raw, .. } => {
                    chosen.pairs.iter().for_each(|&(a, b)| self.store.net.add(raw, places[a], places[b]));
                }
                SchemaChoice::ReadsFrom { .. } => {
                    let source = |read: usize| {
                        let pair = chosen.pairs.iter().find(|(_, r)| *r == read);
                        pair.map_or(Source::Initial, |&(w, _)| Source::Write(places[w]))
                    };
                    let reads: Vec<usize> = self.store.reads(choice).collect();
                    let known = (0..places.len()).filter(|&s| reads.contains(&places[s]));
                    known.for_each(|s| self.store.decide(choice, places[s], source(s)));
                }
            }
        }
    }

    /// True if the source of some read of this rank is undecided.
    pub fn has_open_read_of_rank(&self, rank: u8) -> bool {
        self.store.all_reads().any(|(_, r)| self.source(r) == Source::Open && self.rank[r] == rank)
    }

    /// Returns a read whose value distinguishes the runs of its thread.
    pub(super) fn distinguishing_read(&self) -> Option<usize> {
        (0..self.graph.skeletons.len()).find_map(|t| self.values.telling(t, &self.store.domains))
    }

    /// Returns the read to decide next: the lowest rank first, then an open value before a known one, then the fewest
    /// sources, then the position.
    pub(in crate::search) fn open_read(&self) -> Option<(usize, usize)> {
        let open = self.store.all_reads().filter(|&(_, read)| self.source(read) == Source::Open);
        open.min_by_key(|&(choice, read)| {
            let has_value = self.store.domains.reads[read].is_single_below(self.values.numbering.len());
            (self.rank[read], has_value, self.store.sources(choice, read).len())
        })
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
        let SchemaChoice::Order { closed, .. } = self.store.choice(order) else { unreachable!("an order") };
        let after = |w: usize| meet(&self.store.net.row(closed, w)[..writes.len()], writes);
        ones(writes).filter(|&w| !after(w)).collect()
    }

    pub(in crate::search) fn decide_last(&mut self, index: usize, last: usize) {
        let (writes, order) = &self.observed[index];
        let order = order.expect("several writes are ordered");
        let SchemaChoice::Order { raw, .. } = self.store.choice(order) else { unreachable!("an order") };
        for w in ones(writes).filter(|&w| w != last) {
            self.store.net.add(raw, w, last);
        }
    }
}
