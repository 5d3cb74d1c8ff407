//! The values that updates make of a cell, if not every order of them is allowed.
//!
//! **Computes** the values along each chain of updates in which each reads what the one before it wrote. **Example**: two
//! threads push three values each. If program order is kept there are 69 stacks, and 1956 in any order. **Cost**: a
//! propagation for each chain, so it is used only where the values in any order are too many for a search.

use std::collections::BTreeSet;

use super::{Solver, Source};
use crate::event::{Event, Writes};
use crate::value::Val;

/// The largest number of chains that are followed.
const CHAINS: usize = 4096;

/// An update whose result is that of [`step_by_function`](crate::library::Library::step_by_function).
#[derive(Clone, Copy)]
struct Update {
    choice: usize,
    read: usize,
    write: usize,
}

/// The chains so far.
struct Chains<'f> {
    updates: Vec<Update>,
    step: &'f dyn Fn(&Event, Val) -> Option<Val>,
    made: BTreeSet<Val>,
    followed: usize,
}

impl Solver<'_> {
    /// Returns the values that updates make in some order that nothing rules out. `None` if a thread has several runs, or if
    /// there are too many orders.
    pub(super) fn made_by_steps(&mut self, step: &dyn Fn(&Event, Val) -> Option<Val>) -> Option<BTreeSet<Val>> {
        if self.graph.skeletons.iter().any(|s| s.runs.len() > 1) {
            return None;
        }
        let updates = (0..self.graph.len()).filter_map(|s| self.update(s)).collect::<Option<Vec<_>>>()?;
        let mut chains = Chains { updates, step, made: BTreeSet::new(), followed: 0 };
        let before = self.snapshot();
        let firsts = if self.propagate() { 0..chains.updates.len() } else { 0..0 };
        for first in firsts {
            let Update { choice, read, .. } = chains.updates[first];
            for source in self.store.sources(choice, read) {
                let v = match source {
                    Source::Write(w) => match self.graph.subs[w].sub.writes? {
                        Writes::Is(v) => v,
                        Writes::Step(_) => continue,
                        Writes::Copy(_) => return None,
                    },
                    _ => self.values.numbering.single(self.store.init[read])?,
                };
                self.follow(&mut chains, first, source, v)?;
            }
        }
        self.restore(before);
        Some(chains.made)
    }

    /// The update at a subevent, if it is one; `Some(None)` for one that nothing can be known of.
    fn update(&self, s: usize) -> Option<Option<Update>> {
        let place = self.graph.subs[s];
        let Some(Writes::Step(from)) = place.sub.writes else { return None };
        let read = place.base + from;
        Some(self.store.choice_of(read).map(|choice| Update { choice, read, write: s }))
    }

    /// Lets an update read `v` from a source, and others from it. `None` if there is too much.
    fn follow(&mut self, chains: &mut Chains<'_>, update: usize, source: Source, v: Val) -> Option<()> {
        let Update { choice, read, write } = chains.updates[update];
        let event = self.graph.events[self.graph.subs[write].event];
        let Some(made) = (chains.step)(event, v) else { return Some(()) };
        chains.followed += 1;
        let before = self.snapshot();
        self.store.decide(choice, read, source);
        if self.propagate() {
            chains.made.insert(made);
            if chains.followed > CHAINS {
                return None;
            }
            for next in 0..chains.updates.len() {
                let Update { choice, read, .. } = chains.updates[next];
                let is_open = [Source::Open, Source::Write(write)].contains(&self.source(read));
                if is_open && self.store.sources(choice, read).contains(&Source::Write(write)) {
                    self.follow(chains, next, Source::Write(write), made)?;
                }
            }
        }
        self.restore(before);
        Some(())
    }
}
