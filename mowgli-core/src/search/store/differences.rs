//! Differences `a - b`, whose pairs are known only once `b` cannot get them any more.

use super::ConstraintStore;
use crate::search::network::{Derivation, RelationId};
use crate::search::relation::Matrix;
use crate::search::relation::matrix::ones;
use crate::search::schema::{Difference, SchemaChoice};
use crate::search::values::Source;

impl ConstraintStore {
    /// Adds pairs to each difference once they can no longer be in its subtrahend.
    pub(super) fn grow_differences(&mut self, changed: &mut bool) {
        for index in 0..self.schema.differences.len() {
            let Difference { relation, minuend, subtrahend } = self.schema.differences[index];
            let gone = self.net.matrix(minuend).minus(&self.at_most(subtrahend));
            for (x, y) in gone.pairs() {
                if !self.net.has(relation, x, y) {
                    *changed = true;
                    self.net.add(relation, x, y);
                }
            }
        }
    }

    /// Returns an upper bound on the pairs of a relation, if no further event comes.
    pub(super) fn at_most(&self, relation: RelationId) -> Matrix {
        if let Some(difference) = self.schema.differences.iter().find(|d| d.relation == relation) {
            return self.at_most(difference.minuend).minus(&self.net.matrix(difference.subtrahend));
        }
        let none = Matrix::empty(self.len());
        match self.net.derivation(relation) {
            Derivation::Base => self.choice_at_most(relation),
            Derivation::Union(of) => of.iter().fold(none, |all, &o| all.or(&self.at_most(o))),
            Derivation::Inter(a, b) => self.at_most(*a).and(&self.at_most(*b)),
            Derivation::Seq(a, b) => self.at_most(*a).then(&self.at_most(*b)),
            Derivation::Inverse(a) => self.at_most(*a).inverse(),
            Derivation::Plus(a) => self.at_most(*a).closure(),
        }
    }

    fn choice_at_most(&self, relation: RelationId) -> Matrix {
        let mut most = self.net.matrix(relation);
        for choice in 0..self.schema.choices.len() {
            match self.choice(choice) {
                SchemaChoice::ReadsFrom { chosen, before, .. } if [chosen, before].contains(&relation) => {
                    for read in self.reads(choice).filter(|&r| self.domains.sources[r] == Source::Open) {
                        for source in self.sources(choice, read) {
                            match source {
                                Source::Write(w) if relation == chosen => most.set(w, read),
                                Source::Initial if relation == before => {
                                    ones(self.partners(choice, read)).for_each(|w| most.set(read, w));
                                }
                                _ => {}
                            }
                        }
                    }
                }
                SchemaChoice::Order { raw, closed, .. } if raw == relation => {
                    return self.pairs_of_order(choice).minus(&self.net.matrix(closed).inverse());
                }
                _ => {}
            }
        }
        most
    }

    /// Returns the pairs that an order has to decide, in both directions.
    fn pairs_of_order(&self, choice: usize) -> Matrix {
        let mut pairs = Matrix::empty(self.len());
        for a in 0..self.len() {
            let row = pairs.row_mut(a);
            row.copy_from_slice(&self.partners(choice, a)[..row.len()]);
        }
        pairs
    }
}
