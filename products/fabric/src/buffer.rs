//! Consecutive words of memory on a node. One operation of the network copies them, in any order.

use std::ops::Range;

use mowgli_core::ids::{Loc, Node};
use mowgli_core::value::Val;
use mowgli_core::world::Object;
use mowgli_rdma::Way;
use mowgli_rdma::wait::{Method as Operation, row};

use crate::group::Group;
use crate::memory::{BUFFER, WordRow, named};
use crate::objects::Begun;
use crate::port::Fault;
use crate::thread::Thread;

/// The bytes of a word.
pub(crate) const WORD: usize = size_of::<i64>();

/// Consecutive bytes of memory on a node, or a part of them, eight in a word. The threads of that node read and write them. A put or get
/// copies them by one operation (RDMA-WAIT-RMW, SYNC §3). Each word is copied whole, and the words in any order.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    name: Loc,
    /// The first word of this part, and the number of its words.
    begin: usize,
    words: usize,
    /// The number of words of the whole.
    whole: usize,
}

impl Buffer {
    /// Returns the number of bytes.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a buffer has bytes")]
    pub fn len(&self) -> usize {
        self.words * WORD
    }

    /// Returns a part of the buffer.
    ///
    /// # Panics
    /// If an end of the range is no multiple of eight, or is outside.
    #[must_use]
    pub fn part(&self, bytes: Range<usize>) -> Self {
        let Range { start, end } = bytes;
        let is_part = start.is_multiple_of(WORD) && end.is_multiple_of(WORD) && start <= end && end <= self.len();
        assert!(is_part, "bytes {start}..{end} of {}: ends are multiples of {WORD}, up to {}", self.name, self.len());
        Self { begin: self.begin + start / WORD, words: (end - start) / WORD, ..*self }
    }

    /// Writes bytes, by the CPU. If their number is no multiple of eight, the rest of the last word becomes 0.
    ///
    /// # Errors
    /// If there are more bytes than room, or the buffer is on another node.
    pub fn write(&self, thread: &mut Thread<'_>, bytes: &[u8]) -> Result<(), Fault> {
        let (room, given) = (self.len(), bytes.len());
        if given > room {
            return Err(Fault::Wrong(format!(
                "{} has room for {room} bytes, and {given} are to be written",
                self.name
            )));
        }
        let row = self.own_row(thread)?;
        words_of(bytes).enumerate().try_for_each(|(k, v)| {
            let by_name = |thread: &mut Thread<'_>| {
                thread.operation(Operation::Write { x: self.word(k), v: v.into() }).map(|_| ())
            };
            thread.with_number(row.as_ref().map(|row| row[k]), |port, x| port.write(x, v), by_name)
        })
    }

    /// Reads all bytes, by the CPU.
    ///
    /// # Errors
    /// If the buffer is on another node.
    pub fn read(&self, thread: &mut Thread<'_>) -> Result<Vec<u8>, Fault> {
        let row = self.own_row(thread)?;
        let read = |k: usize| {
            let by_name = |thread: &mut Thread<'_>| {
                let v = thread.operation(Operation::Read { x: self.word(k) })?;
                v.int().ok_or_else(|| Fault::Wrong(format!("{v} is no number")))
            };
            thread.with_number(row.as_ref().map(|row| row[k]), |port, x| port.read(x), by_name)
        };
        Ok(bytes_of((0..self.words).map(read).collect::<Result<Vec<_>, _>>()?))
    }

    /// Posts a put of `from`, a buffer of the thread's node, into this one.
    ///
    /// # Errors
    /// If one has more bytes than the other, or the fabric fails.
    pub fn put(&self, thread: &mut Thread<'_>, from: Self) -> Result<Begun, Fault> {
        let rows = from.rows(self, thread)?;
        let by_name = |d| Operation::PutWords { w: Way::USUAL.into(), xs: self.named(), ys: from.named(), d };
        thread.begin_rows(rows, |port, from, to, d| port.put_words(to, from, d), by_name).map(Begun)
    }

    /// Posts a get of this buffer into `into`, a buffer of the thread's node.
    ///
    /// # Errors
    /// If one has more bytes than the other, or the fabric fails.
    pub fn get(&self, thread: &mut Thread<'_>, into: Self) -> Result<Begun, Fault> {
        let rows = into.rows(self, thread)?;
        let by_name = |d| Operation::GetWords { w: Way::USUAL.into(), xs: into.named(), ys: self.named(), d };
        thread.begin_rows(rows, |port, to, from, d| port.get_words(to, from, d), by_name).map(Begun)
    }

    /// Returns the name of a word of this part.
    fn word(&self, k: usize) -> Loc {
        named(self.name, self.begin + k)
    }

    /// Returns the names of all words of this part, as an argument of operations.
    fn named(&self) -> Val {
        row(&(0..self.words).map(|k| self.word(k)).collect::<Vec<_>>())
    }

    /// Returns the numbers of the words of this part, if there is a fabric.
    fn row(&self, thread: &mut Thread<'_>) -> Result<Option<WordRow>, Fault> {
        let all = thread.row(self.name, || (0..self.whole).map(|k| named(self.name, k)).collect())?;
        Ok(all.map(|all| WordRow { all, part: self.begin..self.begin + self.words }))
    }

    /// Returns the same, unless the buffer is on another node.
    fn own_row(&self, thread: &mut Thread<'_>) -> Result<Option<WordRow>, Fault> {
        thread.reach(self.name)?;
        self.row(thread)
    }

    /// Returns the numbers of the words of this part of the thread's node, and of one of another node that is as long.
    fn rows(&self, far: &Self, thread: &mut Thread<'_>) -> Result<Option<[WordRow; 2]>, Fault> {
        if self.words != far.words {
            let [own, far] =
                [(self.name, self.len()), (far.name, far.len())].map(|(x, len)| format!("{x} has {len} bytes"));
            return Err(Fault::Wrong(format!("{own}, and {far}: let both have as many")));
        }
        Ok(self.own_row(thread)?.zip(far.row(thread)?).map(|(own, far)| [own, far]))
    }
}

impl Group {
    /// Adds a buffer of this many bytes on a node, all 0. The number is rounded up to a multiple of eight.
    ///
    /// # Panics
    /// If it is 0.
    pub fn buffer(&mut self, name: &str, node: u8, bytes: usize) -> Buffer {
        assert!(bytes > 0, "the buffer {name} has no byte");
        let words = bytes.div_ceil(WORD);
        let name = self.object(name, Object::new(BUFFER).at(Node(node)).size(words));
        Buffer { name, begin: 0, words, whole: words }
    }
}

/// Returns the words that hold some bytes. The last one may have zeros behind them.
pub(crate) fn words_of(bytes: &[u8]) -> impl Iterator<Item = i64> {
    let (whole, rest) = bytes.as_chunks::<WORD>();
    let last = (!rest.is_empty()).then(|| {
        let mut word = [0; WORD];
        word[..rest.len()].copy_from_slice(rest);
        word
    });
    whole.iter().copied().chain(last).map(i64::from_le_bytes)
}

/// Returns the bytes in some words.
pub(crate) fn bytes_of(words: impl IntoIterator<Item = i64>) -> Vec<u8> {
    words.into_iter().flat_map(i64::to_le_bytes).collect()
}
