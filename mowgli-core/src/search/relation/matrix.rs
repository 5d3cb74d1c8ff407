//! A square bit matrix: row `a`, column `b` set means `(a, b)` is in the relation.
//!
//! Written for speed: one to a few words a row, and every operation works on whole words.

use std::fmt;

/// A relation on `0..n`.
#[derive(Clone, PartialEq, Eq)]
pub struct Matrix {
    n: usize,
    width: usize,
    bits: Vec<u64>,
}

/// The positions of the bits that are set in a row.
#[inline]
pub fn ones(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(i, &word)| WordOnes(word).map(move |b| i * 64 + b))
}

/// True if two rows of equal length have a member in common.
#[inline]
#[must_use]
pub fn meet(one: &[u64], other: &[u64]) -> bool {
    (0..one.len()).any(|word| one[word] & other[word] != 0)
}

/// The positions of the bits that are set in a word.
#[derive(Clone)]
pub struct WordOnes(pub u64);

impl Iterator for WordOnes {
    type Item = usize;
    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

impl Matrix {
    /// The empty relation on `0..n`.
    #[must_use]
    pub fn empty(n: usize) -> Self {
        let width = n.div_ceil(64).max(1);
        Self { n, width, bits: vec![0; n * width] }
    }

    /// The relation of all pairs for which `holds`.
    pub fn from_fn(n: usize, mut holds: impl FnMut(usize, usize) -> bool) -> Self {
        let mut matrix = Self::empty(n);
        for a in 0..n {
            for b in 0..n {
                if holds(a, b) {
                    matrix.set(a, b);
                }
            }
        }
        matrix
    }

    /// The size of the carrier.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether no pair is in the relation.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|&w| w == 0)
    }

    /// Words in a row.
    #[inline]
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// One row.
    #[inline]
    #[must_use]
    pub fn row(&self, a: usize) -> &[u64] {
        &self.bits[a * self.width..(a + 1) * self.width]
    }

    /// One row, to change.
    #[inline]
    pub fn row_mut(&mut self, a: usize) -> &mut [u64] {
        &mut self.bits[a * self.width..(a + 1) * self.width]
    }

    /// Whether `(a, b)` is in the relation.
    #[inline]
    #[must_use]
    pub fn has(&self, a: usize, b: usize) -> bool {
        self.bits[a * self.width + b / 64] >> (b % 64) & 1 == 1
    }

    /// Adds `(a, b)`.
    #[inline]
    pub fn set(&mut self, a: usize, b: usize) {
        self.bits[a * self.width + b / 64] |= 1 << (b % 64);
    }

    /// The pairs, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.n).flat_map(move |a| ones(self.row(a)).map(move |b| (a, b)))
    }

    fn zip(mut self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        for (x, &y) in self.bits.iter_mut().zip(&other.bits) {
            *x = f(*x, y);
        }
        self
    }

    /// Union.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        self.zip(other, |x, y| x | y)
    }

    /// Intersection.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        self.zip(other, |x, y| x & y)
    }

    /// Difference.
    #[must_use]
    pub fn minus(self, other: &Self) -> Self {
        self.zip(other, |x, y| x & !y)
    }

    /// Composition `self; other`.
    #[must_use]
    pub fn then(&self, other: &Self) -> Self {
        let mut result = Self::empty(self.n);
        for a in 0..self.n {
            for b in ones(self.row(a)) {
                for (x, &y) in result.row_mut(a).iter_mut().zip(other.row(b)) {
                    *x |= y;
                }
            }
        }
        result
    }

    /// Inverse.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut result = Self::empty(self.n);
        for (a, b) in self.pairs() {
            result.set(b, a);
        }
        result
    }

    /// Transitive closure (Warshall, a word at a time).
    #[must_use]
    pub fn closure(mut self) -> Self {
        let mut via = vec![0; self.width];
        for k in 0..self.n {
            via.copy_from_slice(self.row(k));
            for a in 0..self.n {
                if self.has(a, k) {
                    for (x, &y) in self.row_mut(a).iter_mut().zip(&via) {
                        *x |= y;
                    }
                }
            }
        }
        self
    }

    /// Whether every pair is also in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.bits.iter().zip(&other.bits).all(|(x, y)| x & !y == 0)
    }
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.pairs()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn relation() -> impl Strategy<Value = (usize, BTreeSet<(usize, usize)>)> {
        (1usize..90).prop_flat_map(|n| (Just(n), prop::collection::btree_set((0..n, 0..n), 0..60)))
    }

    fn matrix(n: usize, pairs: &BTreeSet<(usize, usize)>) -> Matrix {
        Matrix::from_fn(n, |a, b| pairs.contains(&(a, b)))
    }

    fn naive_then(r: &BTreeSet<(usize, usize)>, s: &BTreeSet<(usize, usize)>) -> BTreeSet<(usize, usize)> {
        r.iter().flat_map(|&(a, b)| s.iter().filter(move |p| p.0 == b).map(move |p| (a, p.1))).collect()
    }

    proptest! {
        #[test]
        fn agrees_with_sets_of_pairs((n, r) in relation()) {
            let m = matrix(n, &r);
            prop_assert_eq!(m.pairs().collect::<BTreeSet<_>>(), r.clone());
            prop_assert_eq!(m.inverse().pairs().collect::<BTreeSet<_>>(), r.iter().map(|&(a, b)| (b, a)).collect());
            prop_assert_eq!(m.then(&m).pairs().collect::<BTreeSet<_>>(), naive_then(&r, &r));
            let mut closed = r.clone();
            loop {
                let more = naive_then(&closed, &r);
                let before = closed.len();
                closed.extend(more);
                if closed.len() == before { break; }
            }
            prop_assert_eq!(m.closure().pairs().collect::<BTreeSet<_>>(), closed);
        }
    }
}
