//! The memory that threads and operations share, as words of the model.
//!
//! **Computes**: the *cells*, disjoint ranges of 1, 2, 4 or 8 bytes, from all accesses and operations that runs have
//! made so far. Memory that is in no cell belongs to one thread alone, so it costs the search nothing.
//!
//! **Invariant**: a cell has each byte that two threads touch and one of them writes. It also has each byte that a
//! thread touches and an operation writes. If an operation copies into a cell, its source is a cell, too.
//!
//! **Example**: one thread does `x = 1; y = 2`, another reads x. Then x is a cell, and y is not. If an operation copies
//! y to z and a thread reads z, then z and y are cells.
//!
//! **Correct because**: the explorer starts again when the cells have changed, until no run makes an access that
//! needs another cell. So in the last round every byte outside the cells has been seen to be one thread's own.
//! Cells are only added, and memory is finite. `memory_of_one_thread_is_no_cell` and the tests of programs in
//! `mowgli/tests/explored.rs` compare outcomes.
//!
//! **Cost**: a pass over the accesses, sorted by address, for each round.

use std::collections::{BTreeMap, BTreeSet};

use crate::process::{CallStack, EPILOGUE, MemoryAccess};

/// A copy by the card. A source inside a work request has no address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Copy {
    pub(crate) from: Option<u64>,
    pub(crate) to: u64,
    pub(crate) size: u64,
}

/// All that runs have done with memory.
#[derive(Default)]
pub(crate) struct Uses {
    accesses: Vec<MemoryAccess>,
    /// The memory whose cells decide what runs do, in the order of the reports, each with its thread: that of accesses, and that of looks.
    decisive: Vec<(usize, (u64, u64))>,
    pub(crate) copies: BTreeSet<Copy>,
    /// Words that are cells for certain, for example those of atomic operations.
    words: BTreeSet<(u64, u64)>,
    /// The words to which additions overflow.
    pub(crate) wraps: BTreeSet<u64>,
    /// Whether races are looked for. Then what operations read is a cell, too, if a thread writes it.
    pub(crate) for_races: bool,
    /// The memory that threads have allocated: the largest size at each address.
    blocks: BTreeMap<u64, u64>,
}

/// Two uses of a word with different sizes.
#[derive(Debug)]
pub(crate) struct Mixed {
    pub(crate) one: (u64, u64),
    pub(crate) other: (u64, u64),
}

/// The cells: the size of each, by its address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cells(pub(crate) BTreeMap<u64, u64>);

impl Cells {
    /// Lists the cells that have some byte of a range, in the order of the addresses.
    pub(crate) fn in_range(&self, at: u64, size: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let first = self.0.range(..=at).next_back().filter(|(a, n)| *a + *n > at).map_or(at, |(a, _)| *a);
        self.0.range(first..at.saturating_add(size)).map(|(a, n)| (*a, *n))
    }

    /// Adds a cell; true if it is new.
    fn add(&mut self, at: u64, size: u64) -> Result<bool, Mixed> {
        let known = self.in_range(at, size).next();
        match known {
            None => Ok(self.0.insert(at, size).is_none()),
            Some(known) if known == (at, size) => Ok(false),
            Some(other) => Err(Mixed { one: (at, size), other }),
        }
    }

    /// Adds cells for the bytes of a range that are in none, each as large as its alignment allows.
    fn fill(&mut self, at: u64, size: u64) -> Result<bool, Mixed> {
        let (mut from, end, mut is_new) = (at, at + size, false);
        while from < end {
            if let Some((a, n)) = self.in_range(from, 1).next() {
                from = a + n;
                continue;
            }
            let room = self.in_range(from, end - from).next().map_or(end, |(a, _)| a) - from;
            let fits = |n: &u64| from.is_multiple_of(*n) && *n <= room;
            let n = [8, 4, 2].into_iter().find(fits).unwrap_or(1);
            is_new |= self.add(from, n)?;
            from += n;
        }
        Ok(is_new)
    }
}

/// True if two ranges have a byte in common.
pub(crate) fn overlap((a, n): (u64, u64), (b, m): (u64, u64)) -> bool {
    a < b + m && b < a + n
}

impl Uses {
    /// Records accesses; true if there are any.
    pub(crate) fn touch(&mut self, accesses: Vec<MemoryAccess>) -> bool {
        let is_new = !accesses.is_empty();
        self.decisive.extend(accesses.iter().map(|a| (a.thread, (a.at, a.size))));
        self.accesses.extend(accesses);
        is_new
    }

    /// Records memory of which a thread looks which bytes are cells.
    pub(crate) fn look(&mut self, thread: usize, looks: &[(u64, u64)]) {
        self.decisive.extend(looks.iter().map(|memory| (thread, *memory)));
    }

    /// Returns the number of accesses and looks that are recorded.
    pub(crate) fn reported(&self) -> usize {
        self.decisive.len()
    }

    /// Returns the number of accesses and looks before the first one of a thread at one of these cells.
    pub(crate) fn first_at(&self, thread: usize, cells: &[(u64, u64)]) -> usize {
        let is_at = |memory: (u64, u64)| cells.iter().any(|cell| overlap(memory, *cell));
        let first = self.decisive.iter().position(|(own, memory)| *own == thread && is_at(*memory));
        first.unwrap_or(self.decisive.len())
    }

    /// True if a thread touches such a cell in a frame of another thread.
    pub(crate) fn is_in_other_frame(&self, cell: (u64, u64)) -> bool {
        self.accesses.iter().any(|a| a.in_other_frame && overlap((a.at, a.size), cell))
    }

    /// Records a copy; true if it is new.
    pub(crate) fn copy(&mut self, copy: Copy) -> bool {
        copy.size > 0 && self.copies.insert(copy)
    }

    /// Records a word that is a cell; true if it is new.
    pub(crate) fn word(&mut self, at: u64, size: u64) -> bool {
        self.words.insert((at, size))
    }

    /// Records memory that a thread has allocated.
    pub(crate) fn allocate(&mut self, blocks: &[(u64, u64)]) {
        for &(at, size) in blocks {
            let known = self.blocks.entry(at).or_insert(size);
            *known = size.max(*known);
        }
    }

    /// Lists the memory that threads have allocated: address and size, in the order of the addresses.
    pub(crate) fn blocks(&self) -> Vec<(u64, u64)> {
        self.blocks.iter().map(|(at, size)| (*at, *size)).collect()
    }

    /// Lists what `main` touches behind its first join.
    pub(crate) fn at_the_end(&self) -> impl Iterator<Item = &MemoryAccess> {
        self.accesses.iter().filter(|a| a.thread == EPILOGUE)
    }

    /// True if a thread touches these bytes in a way that conflicts with such an access.
    pub(crate) fn conflicts_with(&self, other: &MemoryAccess, thread: impl Fn(usize) -> bool) -> bool {
        let conflicts = |a: &&MemoryAccess| {
            thread(a.thread) && (a.writes || other.writes) && overlap((a.at, a.size), (other.at, other.size))
        };
        self.accesses.iter().any(|a| conflicts(&a))
    }

    /// Lists the threads that touch a range, with the place of an access of each.
    pub(crate) fn threads(&self, at: u64, size: u64) -> BTreeMap<usize, CallStack> {
        let touches = self.accesses.iter().filter(|a| overlap((a.at, a.size), (at, size)));
        touches.map(|a| (a.thread, a.places.clone())).collect()
    }

    /// Returns the place of an access of this size.
    pub(crate) fn place(&self, (at, size): (u64, u64)) -> Option<&MemoryAccess> {
        self.accesses.iter().find(|a| (a.at, a.size) == (at, size))
    }

    /// Lists the ranges that the code behind the last join reads.
    pub(crate) fn read_at_the_end(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.at_the_end().map(|a| (a.at, a.size))
    }

    /// Lists the accesses that conflict with one of another thread, or may do so.
    fn conflicts(&self) -> Vec<&MemoryAccess> {
        let mut sorted: Vec<&MemoryAccess> =
            self.accesses.iter().filter(|a| a.thread != EPILOGUE || !a.writes).collect();
        sorted.sort_by_key(|a| (a.at, a.size));
        let largest = sorted.iter().map(|a| a.size).max().unwrap_or(0);
        let mut found = Vec::new();
        for (i, a) in sorted.iter().enumerate() {
            let before = sorted[..i].iter().rev().take_while(|b| b.at + largest > a.at);
            let after = sorted[i + 1..].iter().take_while(|b| b.at < a.at + a.size);
            let conflict = |b: &&MemoryAccess| {
                b.thread != a.thread && (a.writes || b.writes) && overlap((a.at, a.size), (b.at, b.size))
            };
            if a.in_other_frame || before.chain(after).any(conflict) {
                found.push(*a);
            }
        }
        found
    }

    /// Computes the cells.
    ///
    /// # Errors
    /// If a word is used with different sizes.
    pub(crate) fn cells(&self) -> Result<Cells, Mixed> {
        self.cells_by(&|a| (a.at, a.size)).or_else(|_| {
            // A part of a word may be read with the rest of it.
            let all = self.accesses.iter().filter(|a| a.scalar).map(|a| (a.at, a.size));
            let all: BTreeSet<(u64, u64)> = all.chain(self.words.iter().copied()).collect();
            let has = |(at, size): (u64, u64), a: &MemoryAccess| at <= a.at && a.at + a.size <= at + size;
            self.cells_by(&|a| {
                let around =
                    all.range((a.at.saturating_sub(7), 0)..=(a.at, u64::MAX)).filter(|w| !a.writes && has(**w, a));
                around.max_by_key(|(_, size)| *size).copied().unwrap_or((a.at, a.size))
            })
        })
    }

    /// Computes the cells. `word` is the one that an access of one word needs.
    fn cells_by(&self, word: &dyn Fn(&MemoryAccess) -> (u64, u64)) -> Result<Cells, Mixed> {
        let mut cells = Cells::default();
        for &(at, size) in &self.words {
            cells.add(at, size)?;
        }
        let conflicts = self.conflicts();
        let is_target = |a: &MemoryAccess| self.copies.iter().any(|c| overlap((c.to, c.size), (a.at, a.size)));
        let targets: Vec<&MemoryAccess> = self.accesses.iter().filter(|a| is_target(a)).collect();
        for access in conflicts.iter().chain(&targets).filter(|a| a.scalar) {
            let (at, size) = word(access);
            cells.add(at, size)?;
        }
        while self.extend(&mut cells, word)? || self.extend_to_targets(&mut cells) {}
        for access in conflicts.iter().chain(&targets).filter(|a| !a.scalar) {
            // Only the bytes that others touch, too.
            let shared: Vec<(u64, u64)> = self.shared_part(access);
            for (at, size) in shared {
                cells.fill(at, size)?;
            }
        }
        while self.extend(&mut cells, word)? {}
        Ok(cells)
    }

    /// Adds cells where a word is copied to memory that somebody touches, so that a text there is not cut into other words. A
    /// word that crosses a cell is left to [`Self::extend`], which reports it.
    fn extend_to_targets(&self, cells: &mut Cells) -> bool {
        let mut is_new = false;
        for copy in &self.copies {
            let Some(from) = copy.from else { continue };
            for word in self.accesses.iter().filter(|a| a.scalar && from <= a.at && a.at + a.size <= from + copy.size) {
                let target = (copy.to + (word.at - from), word.size);
                let is_touched = self.accesses.iter().any(|a| overlap((a.at, a.size), target));
                is_new |=
                    (is_touched || self.for_races && word.writes) && cells.add(target.0, target.1).unwrap_or(false);
            }
        }
        is_new
    }

    /// Lists the parts of a copy of many bytes that other threads or operations touch.
    fn shared_part(&self, access: &MemoryAccess) -> Vec<(u64, u64)> {
        let own = (access.at, access.size);
        let others = self.accesses.iter().filter(|b| b.thread != access.thread && (b.writes || access.writes));
        let others = others.filter(|b| b.thread != EPILOGUE || !b.writes).map(|b| (b.at, b.size));
        let cut = |(at, size): (u64, u64)| {
            let (from, to) = (at.max(own.0), (at + size).min(own.0 + own.1));
            (from < to).then(|| (from, to - from))
        };
        let whole = access.in_other_frame.then_some(own);
        others.chain(whole).chain(self.copies.iter().map(|c| (c.to, c.size))).filter_map(cut).collect()
    }

    /// Adds the cells that the known ones need: accesses to them, and the sources of what is copied to them.
    fn extend(&self, cells: &mut Cells, word: &dyn Fn(&MemoryAccess) -> (u64, u64)) -> Result<bool, Mixed> {
        let mut is_new = false;
        for a in self.accesses.iter().filter(|a| a.scalar && (a.thread != EPILOGUE || !a.writes)) {
            if cells.in_range(a.at, a.size).next().is_some() {
                let (at, size) = word(a);
                is_new |= cells.add(at, size)?;
            }
        }
        for copy in &self.copies {
            let Some(from) = copy.from else { continue };
            let targets: Vec<(u64, u64)> = cells.in_range(copy.to, copy.size).collect();
            for (at, size) in targets {
                if at < copy.to || at + size > copy.to + copy.size {
                    return Err(Mixed { one: (at, size), other: (copy.to, copy.size) });
                }
                is_new |= cells.add(from + (at - copy.to), size)?;
            }
        }
        Ok(is_new)
    }

    /// Records that all bytes of a range are in cells, for example those of a message.
    pub(crate) fn fill(&mut self, at: u64, size: u64) -> bool {
        let mut is_new = false;
        let (mut from, end) = (at, at + size);
        while from < end {
            let n = [8, 4, 2].into_iter().find(|n| *n <= end - from).unwrap_or(1);
            is_new |= self.word(from, n);
            from += n;
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(thread: usize, at: u64, size: u64, writes: bool) -> MemoryAccess {
        MemoryAccess { thread, at, size, writes, scalar: size <= 8, in_other_frame: false, open: 0, places: Vec::new() }
    }

    fn cells(accesses: Vec<MemoryAccess>, copies: &[Copy]) -> Vec<(u64, u64)> {
        let mut uses = Uses::default();
        uses.touch(accesses);
        copies.iter().for_each(|&copy| _ = uses.copy(copy));
        uses.cells().expect("no mixed sizes").0.into_iter().collect()
    }

    #[test]
    fn memory_of_one_thread_is_no_cell() {
        assert_eq!(
            cells(vec![access(0, 16, 8, true), access(0, 24, 4, true), access(1, 16, 8, false)], &[]),
            [(16, 8)]
        );
        assert_eq!(cells(vec![access(0, 16, 8, false), access(1, 16, 8, false)], &[]), []);
    }

    #[test]
    fn the_source_of_a_cell_is_a_cell() {
        let copy = Copy { from: Some(100), to: 200, size: 16 };
        assert_eq!(cells(vec![access(0, 100, 8, true), access(1, 208, 4, false)], &[copy]), [(108, 4), (208, 4)]);
    }

    #[test]
    fn a_large_copy_is_cut_along_the_words_of_others() {
        let all = vec![access(0, 16, 32, true), access(1, 20, 4, false)];
        assert_eq!(cells(all, &[]), [(20, 4)]);
        let both = vec![access(0, 16, 32, true), access(1, 24, 12, false)];
        assert_eq!(cells(both, &[]), [(24, 8), (32, 4)]);
    }

    #[test]
    fn a_text_is_cut_into_the_words_that_are_copied_to_it() {
        let copy = Copy { from: Some(100), to: 200, size: 8 };
        let text = MemoryAccess { scalar: false, ..access(1, 200, 1, false) };
        assert_eq!(cells(vec![access(0, 100, 8, true), text], &[copy]), [(100, 8), (200, 8)]);
    }

    #[test]
    fn a_look_at_cells_concerns_a_run_as_an_access_does() {
        let mut uses = Uses::default();
        uses.touch(vec![access(0, 16, 8, true), access(1, 32, 1, false)]);
        uses.look(1, &[(40, 2)]);
        uses.touch(vec![access(1, 41, 1, false)]);
        assert_eq!((uses.reported(), uses.first_at(1, &[(41, 1)]), uses.first_at(0, &[(41, 1)])), (4, 2, 4));
    }

    #[test]
    fn mixed_sizes_are_an_error() {
        let mut uses = Uses::default();
        uses.touch(vec![access(0, 16, 8, true), access(1, 20, 4, false)]);
        let whole: Vec<(u64, u64)> = uses.cells().expect("a part is read with the rest").0.into_iter().collect();
        assert_eq!(whole, [(16, 8)]);
        uses.touch(vec![access(1, 20, 4, true)]);
        assert_eq!(uses.cells().unwrap_err().one, (20, 4));
    }
}
