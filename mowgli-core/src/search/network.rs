//! A network of relations that only grow: each is derived from others, and the network carries a new pair to all that
//! depend on it. Undo goes back to a mark.
//!
//! **Computes** the pairs of all derived relations when pairs are added to the given ones, and the first check that
//! a pair breaks.
//!
//! **Invariant**: when [`RelationNetwork::settle`] has returned true, each derived relation is what
//! its [`Derivation`] makes of its operands, and no check is broken. Before that, `queue` has the new bits
//! that were not carried on. `trail` has the former value of each word that has changed since the first state, the latest last.
//!
//! **Example**: r is a; b, and s is the transitive closure of r. The pair (0, 1) is in a. Adding (1, 2) to b puts it into the
//! queue. `settle` finds (0, 1) in a and adds (0, 2) to r, and that to s. If (2, 0) is in s, so are (0, 0) and (2, 2) then, and
//! a check that s is irreflexive fails.
//!
//! **Correct because** every operator is monotone, so carrying each new bit once through each operator reaches the least
//! fixed point in any order. Undo restores words in the opposite order of their changes. The tests compare with `evaluated`.
//!
//! **Cost**: a row of n elements has n/64 words. A new pair of a composition costs a row or a column of the other
//! operand, and so does one of a closure. Undo costs the words that changed.

use std::rc::Rc;

use crate::search::relation::Matrix;
use crate::search::relation::matrix::WordOnes;

/// A relation of the network.
pub type RelationId = usize;

/// The derivation of a relation. Operands precede the relations derived from them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Derivation {
    /// Given: its pairs come with the elements, or from a choice.
    Base,
    /// Union.
    Union(Vec<RelationId>),
    /// Intersection.
    Inter(RelationId, RelationId),
    /// Composition.
    Seq(RelationId, RelationId),
    /// Inverse.
    Inverse(RelationId),
    /// Transitive closure.
    Plus(RelationId),
}

/// A condition on a relation that makes a state of the network impossible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// Nothing.
    None,
    /// A pair `(a, a)`.
    Irreflexive,
    /// Any pair.
    Empty,
}

/// A forbidden pair in a checked relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The relation.
    pub relation: RelationId,
    /// First element.
    pub from: usize,
    /// Second element.
    pub to: usize,
}

#[derive(Clone)]
struct Delta {
    relation: u32,
    row: u32,
    word: u32,
    new: u64,
}

/// The derivations of a network, which do not change any more when pairs are added.
#[derive(Clone, Default)]
struct Wiring {
    derivations: Vec<Derivation>,
    checks: Vec<Check>,
    users: Vec<Vec<RelationId>>,
}

/// The network: see the module's documentation.
#[derive(Clone)]
pub struct RelationNetwork {
    n: usize,
    /// The number of elements that may occur in pairs: the first ones.
    live: usize,
    width: usize,
    wiring: Rc<Wiring>,
    bits: Vec<u64>,
    trail: Vec<(u32, u64)>,
    queue: Vec<Delta>,
    conflict: Option<Conflict>,
    /// A conflict of the first state, which no undo removes.
    standing: Option<Conflict>,
}

impl RelationNetwork {
    /// Returns an empty network of relations on `0..n`, of which no element is live yet.
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self {
            n,
            live: 0,
            width: n.div_ceil(64).max(1),
            wiring: Rc::default(),
            bits: Vec::new(),
            trail: Vec::new(),
            queue: Vec::new(),
            conflict: None,
            standing: None,
        }
    }

    /// Declares that only the first `live` elements occur in pairs, until the next call.
    pub fn set_live(&mut self, live: usize) {
        self.live = live;
    }

    /// Returns the number of elements that can be in pairs.
    #[inline]
    #[must_use]
    pub fn live(&self) -> usize {
        self.live
    }

    /// Returns the largest number of elements.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.n
    }

    /// Returns the number of words of a row.
    #[inline]
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Adds a relation without a derivation.
    pub fn base(&mut self) -> RelationId {
        self.derive(Derivation::Base)
    }

    /// Adds a derived relation. All relations must be added before the first pair.
    pub fn derive(&mut self, derivation: Derivation) -> RelationId {
        let Wiring { derivations, checks, users } = Rc::make_mut(&mut self.wiring);
        let id = derivations.len();
        let operands = match &derivation {
            Derivation::Base => Vec::new(),
            Derivation::Union(of) => of.clone(),
            Derivation::Inter(a, b) | Derivation::Seq(a, b) => vec![*a, *b],
            Derivation::Inverse(a) | Derivation::Plus(a) => vec![*a],
        };
        for operand in operands {
            if !users[operand].contains(&id) {
                users[operand].push(id);
            }
        }
        derivations.push(derivation);
        checks.push(Check::None);
        users.push(Vec::new());
        self.bits.resize(self.bits.len() + self.n * self.width, 0);
        id
    }

    /// Adds the part of a relation within another one, which gets no pair that the relation has already. So a new pair of
    /// the other one derives nothing, and is not carried.
    pub fn restrict(&mut self, relation: RelationId, to: RelationId) -> RelationId {
        let id = self.derive(Derivation::Inter(relation, to));
        Rc::make_mut(&mut self.wiring).users[to].retain(|&user| user != id);
        id
    }

    /// Adds a check of a relation. All checks must be added before the first pair.
    pub fn check(&mut self, relation: RelationId, check: Check) {
        Rc::make_mut(&mut self.wiring).checks[relation] = check;
    }

    /// Makes the present state the first one, to which [`Self::undo`] comes back. All pairs are carried, even if a check is broken.
    /// Its conflict is that of the first such relation, so it does not depend on the order of additions.
    pub fn begin(&mut self) {
        while let Some(delta) = self.queue.pop() {
            self.carry(&delta);
        }
        self.trail.clear();
        if self.conflict.is_some() {
            self.conflict = (0..self.relations()).find_map(|relation| self.broken(relation));
        }
        self.standing = self.conflict;
    }

    /// Returns the first pair of a relation that breaks its check.
    fn broken(&self, relation: RelationId) -> Option<Conflict> {
        let check = self.demand(relation);
        let is_bad = |&(a, b): &(usize, usize)| check == Check::Empty || check == Check::Irreflexive && a == b;
        self.matrix(relation).pairs().find(is_bad).map(|(from, to)| Conflict { relation, from, to })
    }

    /// Returns the number of relations.
    #[inline]
    #[must_use]
    pub fn relations(&self) -> usize {
        self.wiring.derivations.len()
    }

    /// Returns the derivation of a relation.
    #[inline]
    #[must_use]
    pub fn derivation(&self, relation: RelationId) -> &Derivation {
        &self.wiring.derivations[relation]
    }

    /// Returns the check of a relation.
    #[inline]
    #[must_use]
    pub fn demand(&self, relation: RelationId) -> Check {
        self.wiring.checks[relation]
    }

    /// Returns the present pairs of a relation, on the live elements.
    #[must_use]
    pub fn matrix(&self, relation: RelationId) -> Matrix {
        let mut matrix = Matrix::empty(self.live);
        for a in 0..self.live {
            let row = matrix.row_mut(a);
            row.copy_from_slice(&self.row(relation, a)[..row.len()]);
        }
        matrix
    }

    /// Returns one row of a relation.
    #[inline]
    #[must_use]
    pub fn row(&self, relation: RelationId, a: usize) -> &[u64] {
        let start = (relation * self.n + a) * self.width;
        &self.bits[start..start + self.width]
    }

    /// Returns all rows of a relation, one after the other.
    #[inline]
    #[must_use]
    pub fn rows(&self, relation: RelationId) -> &[u64] {
        let size = self.n * self.width;
        &self.bits[relation * size..][..size]
    }

    /// True if a pair is in a relation.
    #[inline]
    #[must_use]
    pub fn has(&self, relation: RelationId, a: usize, b: usize) -> bool {
        self.row(relation, a)[b / 64] >> (b % 64) & 1 == 1
    }

    /// Returns a mark for [`Self::undo`].
    #[must_use]
    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Undoes all additions since `mark`.
    pub fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let (index, old) = self.trail.pop().expect("longer than the mark");
            self.bits[index as usize] = old;
        }
        self.queue.clear();
        self.conflict = self.standing;
    }

    /// Returns the demand that the present state breaks, if it breaks one.
    #[inline]
    #[must_use]
    pub fn conflict(&self) -> Option<Conflict> {
        self.conflict
    }

    /// Adds a pair to a relation, without carrying it further yet.
    pub fn add(&mut self, relation: RelationId, a: usize, b: usize) {
        self.add_word(relation, a, b / 64, 1 << (b % 64));
    }

    /// Adds pairs `(a, b)` for every b in `row`.
    pub fn add_row(&mut self, relation: RelationId, a: usize, row: &[u64]) {
        for (word, &bits) in row.iter().enumerate() {
            self.add_word(relation, a, word, bits);
        }
    }

    /// Adds the pairs of `row` with the elements of one word.
    pub fn add_word(&mut self, relation: RelationId, row: usize, word: usize, bits: u64) {
        let index = (relation * self.n + row) * self.width + word;
        let old = self.bits[index];
        let new = bits & !old;
        if new == 0 {
            return;
        }
        self.trail.push((index as u32, old));
        self.bits[index] = old | new;
        if self.wiring.checks[relation] != Check::None {
            self.test(relation, row, word, new);
        }
        if !self.wiring.users[relation].is_empty() {
            self.queue.push(Delta { relation: relation as u32, row: row as u32, word: word as u32, new });
        }
    }

    fn test(&mut self, relation: RelationId, row: usize, word: usize, new: u64) {
        let bad = match self.wiring.checks[relation] {
            Check::None => 0,
            Check::Irreflexive if row / 64 == word => new & (1 << (row % 64)),
            Check::Irreflexive => 0,
            Check::Empty => new,
        };
        if bad != 0 && self.conflict.is_none() {
            let to = word * 64 + bad.trailing_zeros() as usize;
            self.conflict = Some(Conflict { relation, from: row, to });
        }
    }

    /// True if all additions to operands have been carried through the network.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.queue.is_empty()
    }

    /// Carries all additions through the network. Returns `false` as soon as a check fails.
    pub fn settle(&mut self) -> bool {
        while self.conflict.is_none() {
            let Some(delta) = self.queue.pop() else { return true };
            self.carry(&delta);
        }
        false
    }

    /// Carries new pairs to all relations that are derived from theirs.
    fn carry(&mut self, &Delta { relation, row, word, new }: &Delta) {
        for position in 0..self.wiring.users[relation as usize].len() {
            let user = self.wiring.users[relation as usize][position];
            self.carry_to(user, relation as usize, row as usize, word as usize, new);
        }
    }

    fn carry_to(&mut self, user: RelationId, from: RelationId, row: usize, word: usize, new: u64) {
        match self.wiring.derivations[user] {
            Derivation::Base => unreachable!("given relations depend on none"),
            Derivation::Union(_) => self.add_word(user, row, word, new),
            Derivation::Inter(a, b) => {
                let other = if a == from { b } else { a };
                let both = new & self.row(other, row)[word];
                self.add_word(user, row, word, both);
            }
            Derivation::Inverse(_) => {
                for b in WordOnes(new) {
                    self.add(user, word * 64 + b, row);
                }
            }
            Derivation::Seq(a, b) => {
                if a == from {
                    for y in WordOnes(new) {
                        self.or_row(user, row, b, word * 64 + y);
                    }
                }
                if b == from {
                    for x in 0..self.live {
                        if self.has(a, x, row) {
                            self.add_word(user, x, word, new);
                        }
                    }
                }
            }
            Derivation::Plus(_) => self.close(user, row, word, new),
        }
    }

    /// Adds row `of` of `other` to row `into` of `relation`.
    fn or_row(&mut self, relation: RelationId, into: usize, other: RelationId, of: usize) {
        for word in 0..self.width {
            let bits = self.row(other, of)[word];
            self.add_word(relation, into, word, bits);
        }
    }

    /// Closes a relation under new pairs `(row, b)`: whatever reaches `row` now reaches every `b` and what it reaches.
    fn close(&mut self, relation: RelationId, row: usize, word: usize, new: u64) {
        for b in WordOnes(new) {
            let b = word * 64 + b;
            if self.has(relation, row, b) {
                continue;
            }
            for x in 0..self.live {
                if x == row || self.has(relation, x, row) {
                    self.add(relation, x, b);
                    self.or_row(relation, x, relation, b);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns what `derivation` derives, by definition, from the present state of its operands.
    fn evaluated(net: &RelationNetwork, derivation: &Derivation) -> Matrix {
        match derivation {
            Derivation::Base => Matrix::empty(net.live()),
            Derivation::Union(of) => of.iter().fold(Matrix::empty(net.live()), |m, &r| m.or(&net.matrix(r))),
            Derivation::Inter(a, b) => net.matrix(*a).and(&net.matrix(*b)),
            Derivation::Seq(a, b) => net.matrix(*a).then(&net.matrix(*b)),
            Derivation::Inverse(a) => net.matrix(*a).inverse(),
            Derivation::Plus(a) => net.matrix(*a).closure(),
        }
    }

    fn build(n: usize) -> (RelationNetwork, [RelationId; 2]) {
        let mut net = RelationNetwork::new(n);
        let [a, b] = [(); 2].map(|()| net.base());
        let seq = net.derive(Derivation::Seq(a, b));
        let inverse = net.derive(Derivation::Inverse(seq));
        let twice = net.derive(Derivation::Seq(a, a));
        let inter = net.derive(Derivation::Inter(inverse, twice));
        let union = net.derive(Derivation::Union(vec![inverse, b, inter]));
        let closed = net.derive(Derivation::Plus(union));
        net.derive(Derivation::Seq(closed, a));
        let before = net.base();
        net.restrict(closed, before);
        net.set_live(n);
        (0..n)
            .flat_map(|a| (0..n).map(move |b| (a, b)))
            .filter(|(a, b)| a < b)
            .for_each(|(a, b)| net.add(before, a, b));
        net.begin();
        (net, [a, b])
    }

    fn plain(net: &RelationNetwork) -> Vec<Matrix> {
        (0..net.relations()).map(|r| net.matrix(r)).collect()
    }

    fn is_settled(net: &RelationNetwork) -> bool {
        (0..net.relations())
            .all(|r| *net.derivation(r) == Derivation::Base || net.matrix(r) == evaluated(net, net.derivation(r)))
    }

    proptest! {
        #[test]
        fn settling_reaches_the_definitions_and_undo_goes_back(
            n in 2usize..70,
            first in prop::collection::vec((0usize..2, 0usize..70, 0usize..70), 0..30),
            second in prop::collection::vec((0usize..2, 0usize..70, 0usize..70), 0..30),
        ) {
            let (mut net, bases) = build(n);
            for (r, a, b) in first { net.add(bases[r], a % n, b % n); }
            prop_assert!(net.settle());
            prop_assert!(is_settled(&net));
            let (before, mark) = (plain(&net), net.mark());
            for (r, a, b) in second { net.add(bases[r], a % n, b % n); prop_assert!(net.settle()); }
            prop_assert!(is_settled(&net));
            net.undo(mark);
            prop_assert_eq!(plain(&net), before);
        }
    }

    #[test]
    fn a_conflict_of_the_first_state_stays() {
        let mut net = RelationNetwork::new(2);
        let loops = net.base();
        net.check(loops, Check::Irreflexive);
        net.set_live(2);
        net.add(loops, 1, 1);
        net.begin();
        let mark = net.mark();
        assert!(!net.settle());
        net.undo(mark);
        assert!(!net.settle());
    }

    #[test]
    fn a_cycle_is_a_conflict_until_it_is_undone() {
        let mut net = RelationNetwork::new(3);
        let edges = net.base();
        let closed = net.derive(Derivation::Plus(edges));
        net.check(closed, Check::Irreflexive);
        net.set_live(3);
        net.add(edges, 0, 1);
        net.add(edges, 1, 2);
        assert!(net.settle());
        let mark = net.mark();
        net.add(edges, 2, 0);
        assert!(!net.settle());
        assert_eq!(net.conflict().unwrap().relation, closed);
        net.undo(mark);
        assert!(net.settle());
        assert!(net.has(closed, 0, 2));
    }
}
