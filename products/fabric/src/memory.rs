//! The words of memory of a group, as fabrics see them: by number. Also the orders in which CPUs access them.

use std::sync::atomic::{AtomicU64, Ordering};

use mowgli_core::ids::Loc;

use crate::emitted::mowgli_port::Word;

/// The orders of loads and stores as in x86-TSO. On such a CPU every load acquires and every store releases. The CPU
/// also keeps the order of stores, which the language does not promise for these orders. On other CPUs all accesses are
/// sequentially consistent.
#[cfg(target_arch = "x86_64")]
pub(crate) const LOADS: Ordering = Ordering::Acquire;
#[cfg(target_arch = "x86_64")]
pub(crate) const STORES: Ordering = Ordering::Release;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const LOADS: Ordering = Ordering::SeqCst;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const STORES: Ordering = Ordering::SeqCst;

/// The number of words in a line of the cache.
pub(crate) const LINE: usize = 8;

/// A word of memory.
pub(crate) struct MemoryWord {
    /// The name, if a program can name the word.
    pub(crate) name: Option<Loc>,
    /// The node, counted from 1.
    pub(crate) node: u8,
    /// The content at first.
    pub(crate) initial: i64,
    /// True if its library declares that it is never read. A get may bring anything into such a word.
    pub(crate) is_unread: bool,
    /// True if a buffer of several words begins here.
    pub(crate) begins: bool,
}

impl MemoryWord {
    /// Describes a word that only emitted code uses.
    pub(crate) fn new(node: u8, initial: i64) -> Self {
        Self { name: None, node, initial, is_unread: false, begins: false }
    }
}

/// True if words are of one node, and lie side by side in their order by these places. Objects make the words of a row one after the other,
/// so the two ends tell.
#[inline]
pub(crate) fn are_in_a_row(words: &[Word], place: impl Fn(&Word) -> usize) -> bool {
    let is_row = match words {
        [first, .., last] => first.node == last.node && place(last) == place(first) + words.len() - 1,
        [] | [_] => true,
    };
    debug_assert!(!is_row || words.windows(2).all(|pair| place(&pair[1]) == place(&pair[0]) + 1), "{words:?}");
    is_row
}

/// Waits until the stores of this thread are in memory.
#[inline]
pub(crate) fn fence() {
    #[cfg(test)]
    counted::add();
    std::sync::atomic::fence(Ordering::SeqCst);
}

/// Reads a word after the stores of this thread are in memory. An addition of nothing does so, and is quicker than a fence.
#[inline]
pub(crate) fn fenced_load(word: &AtomicU64) -> u64 {
    #[cfg(test)]
    counted::add();
    word.fetch_add(0, Ordering::SeqCst)
}

/// The number of fences of a thread, for tests. A missing one is seen by its effect only in optimised code.
#[cfg(test)]
pub(crate) mod counted {
    use std::cell::Cell;

    thread_local!(static FENCES: Cell<u64> = const { Cell::new(0) });

    pub(crate) fn add() {
        FENCES.set(FENCES.get() + 1);
    }

    pub(crate) fn fences() -> u64 {
        FENCES.get()
    }
}
