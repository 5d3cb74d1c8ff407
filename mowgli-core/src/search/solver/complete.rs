//! Completion of the orders, once all sources are decided.

use super::Solver;
use crate::search::network::RelationId;
use crate::search::relation::matrix::ones;
use crate::search::schema::SchemaChoice;

impl Solver<'_> {
    /// Decides all orders of a visited class in one consistent way. It ignores the deadline, because the search has
    /// already found such a way in time. Returns `false` if none exists.
    pub fn complete(&mut self) -> bool {
        let expired = std::mem::replace(&mut self.expired, &|| false);
        let complete = self.completed();
        self.expired = expired;
        complete == Some(true)
    }

    /// Decides all open orders in one consistent way. Returns `None` if the deadline passes first.
    pub(super) fn completed(&mut self) -> Option<bool> {
        let open = self.open_pairs();
        let Some(&(raw, a, b)) = open.first() else { return Some(true) };
        if (self.expired)() {
            return None;
        }
        let snapshot = self.snapshot();
        for &(raw, a, b) in &open {
            self.store.net.add(raw, a, b);
        }
        if self.propagate() && self.open_pairs().is_empty() {
            return Some(true);
        }
        self.restore(snapshot);
        for (a, b) in [(a, b), (b, a)] {
            let snapshot = self.snapshot();
            self.store.net.add(raw, a, b);
            match if self.propagate() { self.completed() } else { Some(false) } {
                Some(false) => self.restore(snapshot),
                found => return found,
            }
        }
        Some(false)
    }

    /// The pairs of orders that are undecided, each once, in the direction of one linear extension of hb.
    #[must_use]
    pub fn open_pairs(&self) -> Vec<(RelationId, usize, usize)> {
        let net = &self.store.net;
        let count = |s: usize| net.row(self.store.schema.hb, s).iter().map(|w| w.count_ones()).sum();
        let successors: Vec<u32> = (0..self.graph.len()).map(count).collect();
        let mut open = Vec::new();
        for choice in 0..self.store.schema.choices.len() {
            let SchemaChoice::Order { raw, closed, .. } = self.store.choice(choice) else { continue };
            for a in 0..self.graph.len() {
                for b in ones(self.store.partners(choice, a)).filter(|&b| a < b) {
                    if net.has(closed, a, b) || net.has(closed, b, a) {
                        continue;
                    }
                    let forward = (successors[b], a) <= (successors[a], b);
                    open.push(if forward { (raw, a, b) } else { (raw, b, a) });
                }
            }
        }
        open
    }
}
