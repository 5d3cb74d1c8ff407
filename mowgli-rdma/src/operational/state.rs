//! The configurations of the machine.

use std::collections::VecDeque;
use std::fmt;

use mowgli_core::ids::{Loc, NodeSet};
use mowgli_core::value::Val;

use crate::stamp::Qp;

/// An entry of a store buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Buffered {
    Write(Loc, Val),
    Operation(Qp, Entry),
}

/// The part that an entry of a pipe plays in its operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// Whether the operation has a completion.
    pub signalled: bool,
    /// Whether the entry before it is another word of the same operation.
    pub joined: bool,
}

/// An entry of a pipe.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    /// A remote fence.
    Rfence,
    /// A put that has not read yet: to, from. An operation of several words has one entry for each word.
    Put(Loc, Loc, Part),
    /// The write of a put that has read.
    RemoteWrite(Loc, Val, Part),
    /// The acknowledgement of a put.
    Ack,
    /// A get that has not read yet: to, from. An operation of several words has one entry for each word.
    Get(Loc, Loc, Part),
    /// The local write of a value that came back.
    LocalWrite(Loc, Val, Part),
    /// A compare-and-swap that has not read yet: to, on, the expected and the new value.
    Rcas(Loc, Loc, Val, Val, Part),
    /// A fetch-and-add that has not read yet: to, on, the number to add.
    Rfaa(Loc, Loc, Val, Part),
    /// An exchange that has not read yet: to, on, the new value.
    Rxchg(Loc, Loc, Val, Part),
    /// The remote write of an atomic operation.
    AtomicWrite(Loc, Val),
}

/// An entry of the buffer of local writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Local {
    Write(Loc, Val),
    Confirmation,
}

/// A queue pair of a thread; the oldest entry of each buffer is the first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct QueuePair {
    pub(super) pipe: Vec<Entry>,
    /// Remote writes, and whether each is the write of an atomic operation.
    pub(super) remote: VecDeque<(Loc, Val, bool)>,
    pub(super) local: VecDeque<Local>,
    /// The messages that have arrived and that no thread has taken.
    pub(super) received: VecDeque<Val>,
    /// The number of confirmations at the front of `local` that are known to have come into the completion queue.
    pub(super) come: usize,
    /// The number of confirmations that had come when the thread asked for its pending event.
    pub(super) before: usize,
}

/// The event that a thread has asked for and has not taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum Asked {
    /// The thread has not asked for an event.
    #[default]
    No,
    /// The event is pending: no new completion is known to have come.
    Open,
    /// A new completion has come, so the event is raised.
    Raised,
}

impl QueuePair {
    /// Counts the confirmations that may have come into the completion queue, because no write is before them.
    pub(super) fn confirmed(&self) -> usize {
        self.local.iter().take_while(|l| **l == Local::Confirmation).count()
    }

    pub(super) fn has_local_write(&self) -> bool {
        self.local.iter().any(|l| matches!(l, Local::Write(..)))
    }

    /// Returns the positions of the remote writes that may go to memory: the oldest one. With relaxed ordering, also
    /// all others before the first atomic operation.
    pub(super) fn remote_writes(&self, relaxed: bool) -> impl Iterator<Item = usize> + '_ {
        let free = self.remote.iter().take_while(|(_, _, is_atomic)| !is_atomic).count();
        0..if relaxed { free.max(1).min(self.remote.len()) } else { self.remote.len().min(1) }
    }

    /// Returns the local writes that may go to memory, with their positions: the oldest one, and with relaxed ordering
    /// all.
    pub(super) fn local_writes(&self, relaxed: bool) -> impl Iterator<Item = (usize, Loc, Val)> + '_ {
        let writes = self.local.iter().enumerate().filter_map(|(place, local)| match *local {
            Local::Write(x, v) => Some((place, x, v)),
            Local::Confirmation => None,
        });
        writes.take(if relaxed { usize::MAX } else { 1 })
    }

    /// True if an atomic operation has read this word and not yet written it.
    fn updates(&self, x: Loc) -> bool {
        self.pipe.iter().any(|e| matches!(e, Entry::AtomicWrite(on, _) if *on == x))
            || self.remote.iter().any(|&(on, _, is_atomic)| is_atomic && on == x)
    }

    /// Returns the position of the first entry of the operation to which an entry belongs.
    fn beginning(&self, place: usize) -> usize {
        (0..=place).rev().find(|&p| !self.pipe[p].is_joined()).expect("the oldest entry is joined to none")
    }

    /// Removes the entry of a word that is over. Returns whether the whole operation is over.
    pub(super) fn end_word(&mut self, place: usize) -> bool {
        let others = self.pipe.get(place + 1).is_some_and(Entry::is_joined);
        let is_over = !others && !self.pipe[place].is_joined();
        if others && !self.pipe[place].is_joined() {
            self.pipe[place + 1].part_mut().expect("it is joined").joined = false;
        }
        self.pipe.remove(place);
        is_over
    }
}

impl Entry {
    /// Returns the value that a remote read-modify-write writes if it succeeds and has read `old`; `None` if the two
    /// have no sum.
    pub(super) fn updated(&self, old: Val) -> Option<Val> {
        match self {
            Self::Rfaa(_, _, add, _) => old.plus(add.int()?),
            Self::Rcas(_, _, _, new, _) | Self::Rxchg(_, _, new, _) => Some(*new),
            _ => None,
        }
    }

    pub(super) fn is_joined(&self) -> bool {
        let mut entry = *self;
        entry.part_mut().is_some_and(|part| part.joined)
    }

    fn part_mut(&mut self) -> Option<&mut Part> {
        match self {
            Self::Put(_, _, part)
            | Self::RemoteWrite(_, _, part)
            | Self::Get(_, _, part)
            | Self::LocalWrite(_, _, part)
            | Self::Rcas(.., part)
            | Self::Rfaa(.., part)
            | Self::Rxchg(.., part) => Some(part),
            Self::Rfence | Self::Ack | Self::AtomicWrite(..) => None,
        }
    }
}

/// True if these are gets, local writes and acknowledgements.
fn are_past_reads(older: &[Entry]) -> bool {
    older.iter().all(|e| matches!(e, Entry::Get(..) | Entry::LocalWrite(..) | Entry::Ack))
}

/// True if the entry at this place of a pipe can act, other than at once. The conditions are those of rules 2, 3, 6, 7
/// and 9 to 12. The other words of its operation do not block it; with `increasing` addresses the earlier ones do.
pub(super) fn can_act(queue: &QueuePair, place: usize, is_locked: bool, increasing: bool) -> bool {
    let beginning = queue.beginning(place);
    let older = &queue.pipe[..if increasing { place } else { beginning }];
    match queue.pipe[place] {
        Entry::Rfence | Entry::Ack => false,
        Entry::Put(..) => {
            let blocks = |e: &Entry| matches!(e, Entry::Put(..) | Entry::Rfence);
            !older.iter().any(blocks) && !queue.has_local_write()
        }
        Entry::RemoteWrite(..) | Entry::AtomicWrite(..) => are_past_reads(older),
        Entry::Get(..) => {
            let words_before = &queue.pipe[beginning..older.len()];
            let is_next = !words_before.iter().any(|e| matches!(e, Entry::Get(..)));
            are_past_reads(older) && queue.remote.is_empty() && is_next
        }
        Entry::Rcas(..) | Entry::Rfaa(..) | Entry::Rxchg(..) => {
            are_past_reads(older) && queue.remote.is_empty() && !is_locked
        }
        Entry::LocalWrite(..) => older.is_empty(),
    }
}

/// A configuration of the machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    /// For each thread the number of its place in `Programs`.
    pub(super) at: Vec<u32>,
    pub(super) buffers: Vec<VecDeque<Buffered>>,
    /// The first queue pair to each node, by thread and node; then, if there are any, the second ones, and so on.
    pub(super) pairs: Vec<QueuePair>,
    pub(super) memory: Vec<Val>,
    /// The nodes whose remote-atomic lock is taken.
    pub(super) locked: NodeSet,
    /// The event of each thread.
    pub(super) asked: Vec<Asked>,
}

impl State {
    /// True if an atomic operation of some card has read this word and not yet written it.
    pub(super) fn is_being_updated(&self, x: Loc) -> bool {
        self.pairs.iter().any(|pair| pair.updates(x))
    }

    /// Returns the number of bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let of_pair = |q: &QueuePair| {
            size_of_val(q)
                + q.pipe.capacity() * size_of::<Entry>()
                + q.remote.capacity() * size_of::<(Loc, Val, bool)>()
                + q.local.capacity() * size_of::<Local>()
                + q.received.capacity() * size_of::<Val>()
        };
        let of_buffer = |b: &VecDeque<Buffered>| size_of_val(b) + b.capacity() * size_of::<Buffered>();
        size_of_val(self)
            + size_of_val(&self.at[..])
            + self.buffers.iter().map(of_buffer).sum::<usize>()
            + self.pairs.iter().map(of_pair).sum::<usize>()
            + size_of_val(&self.memory[..])
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rfence => f.write_str("rfence"),
            Self::Put(to, from, _) => write!(f, "put({to}, {from})"),
            Self::RemoteWrite(to, v, _) => write!(f, "remote write {to} := {v}"),
            Self::Ack => f.write_str("ack"),
            Self::Get(to, from, _) => write!(f, "get({to}, {from})"),
            Self::LocalWrite(to, v, _) => write!(f, "local write {to} := {v}"),
            Self::Rcas(to, on, old, new, _) => write!(f, "rcas({to}, {on}, {old}, {new})"),
            Self::Rfaa(to, on, add, _) => write!(f, "rfaa({to}, {on}, {add})"),
            Self::Rxchg(to, on, new, _) => write!(f, "rxchg({to}, {on}, {new})"),
            Self::AtomicWrite(to, v) => write!(f, "atomic write {to} := {v}"),
        }
    }
}
