//! A list of sets of subevents, each a row of equally many words.

use std::ops::Range;

use super::matrix::ones;

/// A list of sets.
#[derive(Clone)]
pub struct Rows {
    width: usize,
    words: Vec<u64>,
}

impl Rows {
    /// Returns so many empty sets of `width` words each.
    #[must_use]
    pub fn new(sets: usize, width: usize) -> Self {
        Self { width, words: vec![0; sets * width] }
    }

    /// Appends an empty set, and returns its position.
    pub fn push(&mut self) -> usize {
        self.words.resize(self.words.len() + self.width, 0);
        self.words.len() / self.width - 1
    }

    /// Returns the words of a set.
    #[inline]
    #[must_use]
    pub fn row(&self, set: usize) -> &[u64] {
        &self.words[set * self.width..][..self.width]
    }

    /// Returns one word of a set.
    #[inline]
    #[must_use]
    pub fn word(&self, set: usize, word: usize) -> u64 {
        self.words[set * self.width + word]
    }

    /// Replaces one word of a set.
    #[inline]
    pub fn set_word(&mut self, set: usize, word: usize, bits: u64) {
        self.words[set * self.width + word] = bits;
    }

    /// True if a set has this member.
    #[inline]
    #[must_use]
    pub fn has(&self, set: usize, member: usize) -> bool {
        self.word(set, member / 64) >> (member % 64) & 1 == 1
    }

    /// Adds a member to a set.
    #[inline]
    pub fn insert(&mut self, set: usize, member: usize) {
        self.words[set * self.width + member / 64] |= 1 << (member % 64);
    }

    /// Iterates over the members of a set.
    pub fn members(&self, set: usize) -> impl Iterator<Item = usize> + '_ {
        ones(self.row(set))
    }

    /// Removes the members from `end` on from these sets.
    pub fn keep_below(&mut self, end: usize, sets: Range<usize>) {
        for row in self.words[sets.start * self.width..sets.end * self.width].chunks_mut(self.width) {
            row.iter_mut().enumerate().for_each(|(word, bits)| *bits &= below(end, word));
        }
    }

    /// Returns the positions of all sets.
    #[must_use]
    pub fn all(&self) -> Range<usize> {
        0..self.words.len() / self.width
    }
}

/// Returns one word of the set of all members below `end`.
#[inline]
#[must_use]
pub fn below(end: usize, word: usize) -> u64 {
    match end.saturating_sub(word * 64) {
        bits @ 0..64 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}

/// Returns one word of the set of one member.
#[inline]
#[must_use]
pub fn only(member: usize, word: usize) -> u64 {
    if member / 64 == word { 1 << (member % 64) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_members_below_an_end_fill_words() {
        let first_two = |end| [below(end, 0), below(end, 1)];
        assert_eq!(first_two(0), [0, 0]);
        assert_eq!(first_two(1), [1, 0]);
        assert_eq!(first_two(64), [u64::MAX, 0]);
        assert_eq!(first_two(65), [u64::MAX, 1]);
        assert_eq!(first_two(128), [u64::MAX; 2]);
        assert_eq!([only(65, 0), only(65, 1)], [0, 2]);
    }

    #[test]
    fn members_go_when_the_end_falls() {
        let mut rows = Rows::new(1, 2);
        assert_eq!(rows.push(), 1);
        [3, 64, 100].into_iter().for_each(|s| rows.insert(1, s));
        rows.keep_below(100, 0..2);
        assert_eq!(rows.members(1).collect::<Vec<_>>(), [3, 64]);
        assert!(rows.has(1, 64) && !rows.has(0, 3));
    }
}
