//! Propagation of decisions: the remaining values and sources, and the possible pairs of relations.

use super::{Solver, Source};
use crate::search::compile::UnfilledChoice;
use crate::search::network::{Derivation, RelationId};
use crate::search::relation::Matrix;
use crate::search::relation::matrix::ones;
use crate::search::values::{Vals, intersect};

impl Solver<'_> {
    /// Derives all consequences. Returns `false` if no consistent execution is left.
    pub fn propagate(&mut self) -> bool {
        let mut has_grown = true;
        loop {
            has_grown |= !self.compiled.net.is_settled();
            if !self.compiled.net.settle() {
                return false;
            }
            let mut changed = false;
            if !self.values.narrow(&mut self.domains, &mut changed) || !self.narrow_sources(&mut changed) {
                return false;
            }
            self.grow_differences(&mut changed);
            if changed {
                continue;
            }
            // The forbidden pairs depend on the network alone.
            if has_grown {
                self.forbidden.find(&self.compiled.net, &self.compiled.open);
                self.force(&mut changed);
                has_grown = false;
            }
            if !changed {
                return true;
            }
        }
    }

    /// Derives the consequences of the sources for values alone, even if the orders are in conflict.
    pub(in crate::search) fn narrow_values(&mut self) {
        for _ in 0..self.graph.len() {
            let mut changed = false;
            for read in 0..self.graph.len() {
                if let Source::Write(w) = self.sources[read] {
                    let both = self.domains.reads[read] & self.domains.writes[w];
                    intersect(&mut self.domains.reads[read], both, &mut changed);
                    intersect(&mut self.domains.writes[w], both, &mut changed);
                } else if self.sources[read] == Source::Initial {
                    intersect(&mut self.domains.reads[read], self.values.init[read], &mut changed);
                }
            }
            if !self.values.narrow(&mut self.domains, &mut changed) || !changed {
                return;
            }
        }
    }

    fn narrow_sources(&mut self, changed: &mut bool) -> bool {
        for choice in 0..self.compiled.choices.len() {
            let UnfilledChoice::ReadsFrom { reads, .. } = &self.compiled.choices[choice].2 else { continue };
            for position in 0..reads.len() {
                let UnfilledChoice::ReadsFrom { reads, .. } = &self.compiled.choices[choice].2 else { unreachable!() };
                if !self.narrow_read(choice, reads[position], changed) {
                    return false;
                }
            }
        }
        true
    }

    fn narrow_read(&mut self, choice: usize, read: usize, changed: &mut bool) -> bool {
        match self.sources[read] {
            Source::Write(w) => {
                let both = self.domains.reads[read] & self.domains.writes[w];
                intersect(&mut self.domains.reads[read], both, changed);
                intersect(&mut self.domains.writes[w], both, changed);
            }
            Source::Initial => intersect(&mut self.domains.reads[read], self.values.init[read], changed),
            Source::Open => {
                let options = self.options(choice, read);
                let possible = options.iter().fold(0, |all, o| all | self.source_values(read, *o));
                intersect(&mut self.domains.reads[read], possible, changed);
                if let [only] = options[..] {
                    *changed = true;
                    self.decide(choice, read, only);
                }
            }
        }
        self.domains.reads[read] != 0
    }

    pub(super) fn source_values(&self, read: usize, source: Source) -> Vals {
        match source {
            Source::Write(w) => self.domains.writes[w],
            _ => self.values.init[read],
        }
    }

    /// Adds pairs to each difference once they can no longer be in its subtrahend.
    fn grow_differences(&mut self, changed: &mut bool) {
        for index in 0..self.compiled.differences.len() {
            let (difference, a, b) = self.compiled.differences[index];
            let gone = self.compiled.net.matrix(a).minus(&self.at_most(b));
            for (x, y) in gone.pairs() {
                if !self.compiled.net.has(difference, x, y) {
                    *changed = true;
                    self.compiled.net.add(difference, x, y);
                }
            }
        }
    }

    /// Returns an upper bound on the pairs of a relation.
    fn at_most(&self, relation: RelationId) -> Matrix {
        let net = &self.compiled.net;
        if let Some(&(_, a, b)) = self.compiled.differences.iter().find(|d| d.0 == relation) {
            return self.at_most(a).minus(&net.matrix(b));
        }
        match net.derivation(relation) {
            Derivation::Base => self.choice_at_most(relation),
            Derivation::Union(of) => of.iter().fold(Matrix::empty(self.graph.len()), |m, &o| m.or(&self.at_most(o))),
            Derivation::Inter(a, b) => self.at_most(*a).and(&self.at_most(*b)),
            Derivation::Seq(a, b) => self.at_most(*a).then(&self.at_most(*b)),
            Derivation::Inverse(a) => self.at_most(*a).inverse(),
            Derivation::Plus(a) => self.at_most(*a).closure(),
        }
    }

    fn choice_at_most(&self, relation: RelationId) -> Matrix {
        let net = &self.compiled.net;
        let mut most = net.matrix(relation);
        for (choice, (_, _, open)) in self.compiled.choices.iter().enumerate() {
            match open {
                UnfilledChoice::ReadsFrom { chosen, before, reads, candidates, .. }
                    if [*chosen, *before].contains(&relation) =>
                {
                    for &read in reads.iter().filter(|&&r| self.sources[r] == Source::Open) {
                        for option in self.options(choice, read) {
                            match option {
                                Source::Write(w) if relation == *chosen => most.set(w, read),
                                Source::Initial if relation == *before => {
                                    ones(candidates.row(read)).for_each(|w| most.set(read, w));
                                }
                                _ => {}
                            }
                        }
                    }
                }
                UnfilledChoice::Order { raw, closed, pairs } if *raw == relation => {
                    return pairs.clone().minus(&net.matrix(*closed).inverse());
                }
                _ => {}
            }
        }
        most
    }
}
