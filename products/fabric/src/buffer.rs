//! Consecutive words of memory on a node. One operation of the network copies them, in any order.

use std::ops::Range;
use std::sync::Arc;

use mowgli_core::ids::{Loc, Node};
use mowgli_rdma::wait::word;

use crate::emitted::mowgli_port::{Id, Word, World};
use crate::group::Group;
use crate::objects::Begun;
use crate::port::{Fault, Port};
use crate::thread::Thread;

/// The bytes of a word.
const WORD: usize = size_of::<i64>();

/// Consecutive bytes of memory on a node, or a part of them, eight in a word. The threads of that node read and write them. A put or get
/// copies them by one operation (RDMA-WAIT-RMW, SYNC §3). Each word is copied whole, and the words in any order. What is explored has no
/// buffers.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    name: Loc,
    /// The first word of this part, and the number of its words.
    begin: usize,
    words: usize,
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
        let (room, given, x) = (self.len(), bytes.len(), self.name);
        if given > room {
            return Err(Fault::Wrong(format!("{x} has room for {room} bytes, and {given} are to be written")));
        }
        let word = |bytes: &[u8]| {
            let mut word = [0; WORD];
            word[..bytes.len()].copy_from_slice(bytes);
            i64::from_le_bytes(word)
        };
        self.with(thread, self, |port, own, _| {
            own.iter().zip(bytes.chunks(WORD)).try_for_each(|(&x, bytes)| port.write(x, word(bytes)))
        })
    }

    /// Reads all bytes, by the CPU.
    ///
    /// # Errors
    /// If the buffer is on another node.
    pub fn read(&self, thread: &mut Thread<'_>) -> Result<Vec<u8>, Fault> {
        let words = self.with(thread, self, |port, own, _| {
            own.iter().map(|&x| port.read(x).map(i64::to_le_bytes)).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(words.concat())
    }

    /// Posts a put of `from`, a buffer of the thread's node, into this one.
    ///
    /// # Errors
    /// If one has more bytes than the other, or the fabric fails.
    pub fn put(&self, thread: &mut Thread<'_>, from: Self) -> Result<Begun, Fault> {
        self.begin(thread, from, |port, own, far, d| port.put_words(far, own, d))
    }

    /// Posts a get of this buffer into `into`, a buffer of the thread's node.
    ///
    /// # Errors
    /// If one has more bytes than the other, or the fabric fails.
    pub fn get(&self, thread: &mut Thread<'_>, into: Self) -> Result<Begun, Fault> {
        self.begin(thread, into, |port, own, far, d| port.get_words(own, far, d))
    }

    fn begin(
        &self,
        thread: &mut Thread<'_>,
        own: Self,
        act: impl FnOnce(&mut dyn Port, &[Word], &[Word], Id) -> Result<(), Fault>,
    ) -> Result<Begun, Fault> {
        if self.words != own.words {
            let [own, far] = [&own, self].map(|x| format!("{} has {} bytes", x.name, x.len()));
            return Err(Fault::Wrong(format!("{own}, and {far}: let both have as many")));
        }
        let posted = thread.posted();
        own.with(thread, self, |port, own, far| act(port, own, far, posted.0))?;
        Ok(Begun(posted))
    }

    /// Does something with the words of this buffer, which is of the thread's node, and of another one.
    fn with<R>(
        &self,
        thread: &mut Thread<'_>,
        far: &Self,
        act: impl FnOnce(&mut dyn Port, &[Word], &[Word]) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        thread.reach(self.name)?;
        let (made, port) = thread.port()?;
        let [own, far] =
            [self, far].map(|x| made.object::<Arc<[Word]>>(x.name).map(|row| &row[x.begin..x.begin + x.words]));
        act(port, own?, far?)
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
        let make = move |world: &mut World| (0..words).map(|_| world.word(node.into(), 0)).collect::<Arc<[Word]>>();
        Buffer { name: self.add(name, word(Node(node)).size(words), make), begin: 0, words }
    }
}
