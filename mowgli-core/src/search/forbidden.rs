//! The pairs that relations must not get. [`Forbidden::find`] passes them from the demands down to the choices, while
//! the network passes pairs up.
//!
//! **Computes** for each relation `r` that depends on a choice a set `F(r)` of pairs, such that each breaks a demand.
//!
//! **Invariant.** Adding a pair of `F(r)` to `r` breaks a demand, given the present pairs of the network:
//!  - `F(r)` has all pairs if `r` must be empty. It has the diagonal if `r` must be irreflexive, and the inverse of `r`
//!    if `r` is also a closure.
//!  - `F(o) ⊇ F(r)` if `r` is the closure of `o`, or a union with `o`. `F(o) ⊇ F(r)^-1` if `r` is the inverse of `o`.
//!  - `F(a) ⊇ F(r) & b` if `r = a & b`.
//!  - Let `r = a; b`. Then `F(a)` has `(x, y)` if `(y, z)` is in `b` and `(x, z)` in `F(r)`.
//!  - Then also `F(b)` has `(y, z)` if `(x, y)` is in `a` and `(x, z)` in `F(r)`.
//!
//! **Example.** Let `hb` be the closure of `ppo | rf`, and let `ppo` order a read before a write of the same cell. Then
//! `F(hb)` has the pair (write, read), so `F(rf)` has it too, and the read cannot read from the write.
//!
//! **Correct because** each rule is the contraposition of an operator: the pair and the present ones would give a pair
//! of `F(r)`. All operators of the network are monotone, so a forbidden pair stays forbidden when choices add more
//! pairs (docs/search.md, "Consequences are drawn at once"). Operands precede the relations derived from them, so one
//! pass from the last relation to the first is enough. `tests/tests/agreement.rs` compares the search with plain
//! enumeration.
//!
//! **Cost.** One pass over the relations with `n²/64` words each, and up to `n³/64` word operations for each
//! composition of `n` subevents.

use smallvec::SmallVec;

use super::network::{Check, Derivation, RelationId, RelationNetwork};
use crate::search::relation::matrix::{meet, ones};

/// Adds the pairs of a relation to the first ones of another.
fn pass_all(to: &mut [u64], pairs: &[u64]) {
    to.iter_mut().zip(pairs).for_each(|(to, bits)| *to |= bits);
}

/// The pairs that relations of a network must not get.
pub struct Forbidden {
    width: usize,
    /// The number of words of one relation.
    size: usize,
    pairs: Vec<u64>,
}

impl Forbidden {
    /// Returns empty sets for the relations of this network.
    #[must_use]
    pub fn of(net: &RelationNetwork) -> Self {
        let (width, size) = (net.width(), net.capacity() * net.width());
        Self { width, size, pairs: vec![0; net.relations() * size] }
    }

    /// True if a relation must not get this pair.
    #[must_use]
    pub fn has(&self, relation: RelationId, a: usize, b: usize) -> bool {
        self.row(relation, a)[b / 64] >> (b % 64) & 1 == 1
    }

    /// Returns the pairs of one row that a relation must not get.
    #[must_use]
    pub fn row(&self, relation: RelationId, a: usize) -> &[u64] {
        let start = relation * self.size + a * self.width;
        &self.pairs[start..start + self.width]
    }

    /// Computes the forbidden pairs of every relation that is `open`, that is, depends on a choice.
    pub fn find(&mut self, net: &RelationNetwork, open: &[bool]) {
        let (n, width, size) = (net.live(), self.width, self.size);
        let used = n * width;
        let out = &mut self.pairs;
        for r in (0..net.relations()).filter(|&r| open[r]) {
            out[r * size..r * size + used].fill(0);
        }
        for r in (0..net.relations()).rev().filter(|&r| open[r]) {
            match net.demand(r) {
                Check::None => {}
                Check::Empty => out[r * size..r * size + used].fill(u64::MAX),
                Check::Irreflexive => {
                    for a in 0..n {
                        out[r * size + a * width + a / 64] |= 1 << (a % 64);
                        if matches!(net.derivation(r), Derivation::Plus(_)) {
                            for b in ones(net.row(r, a)) {
                                out[r * size + b * width + a / 64] |= 1 << (a % 64);
                            }
                        }
                    }
                }
            }
            let (below, above) = out.split_at_mut(r * size);
            let above = &above[..used];
            if above.iter().all(|&bits| bits == 0) {
                continue;
            }
            let mut pass =
                |to: RelationId, a: usize, word: usize, bits: u64| below[to * size + a * width + word] |= bits;
            match net.derivation(r) {
                Derivation::Base => {}
                Derivation::Union(of) => {
                    of.iter().filter(|&&o| open[o]).for_each(|o| pass_all(&mut below[o * size..], above));
                }
                Derivation::Plus(o) => pass_all(&mut below[o * size..], above),
                Derivation::Inter(a, b) => {
                    for (one, other) in [(*a, *b), (*b, *a)] {
                        if open[one] {
                            let words = below[one * size..].iter_mut().zip(above).zip(net.rows(other));
                            words.for_each(|((to, bits), within)| *to |= bits & within);
                        }
                    }
                }
                Derivation::Inverse(o) => {
                    for a in 0..n {
                        for b in ones(&above[a * width..(a + 1) * width]).filter(|&b| b < n) {
                            pass(*o, b, a / 64, 1 << (a % 64));
                        }
                    }
                }
                Derivation::Seq(a, b) => {
                    let begins = |y: &usize| net.row(*b, *y).iter().any(|&bits| bits != 0);
                    let between: SmallVec<[usize; 64]> = (0..n).filter(begins).collect();
                    for x in 0..n {
                        let row = &above[x * width..(x + 1) * width];
                        if row.iter().all(|&w| w == 0) {
                            continue;
                        }
                        if open[*b] {
                            for y in ones(net.row(*a, x)) {
                                for (word, &bits) in row.iter().enumerate() {
                                    pass(*b, y, word, bits);
                                }
                            }
                        }
                        if open[*a] {
                            for &y in &between {
                                if meet(net.row(*b, y), row) {
                                    pass(*a, x, y / 64, 1 << (y % 64));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
