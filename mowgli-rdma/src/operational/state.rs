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

/// An entry of a pipe.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    /// A remote fence.
    Rfence,
    /// Not yet read: to, from, and whether there is a completion of it.
    Put(Loc, Loc, bool),
    /// The write of a put that has read.
    RemoteWrite(Loc, Val, bool),
    /// The acknowledgement of a put.
    Ack,
    /// Not yet read: to, from, and whether there is a completion of it.
    Get(Loc, Loc, bool),
    /// The write of what came back.
    LocalWrite(Loc, Val, bool),
    /// Not yet read: to, on, the expected and the new value.
    Rcas(Loc, Loc, Val, Val, bool),
    /// Not yet read: to, on, the number to add.
    Rfaa(Loc, Loc, Val, bool),
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
}

impl QueuePair {
    pub(super) fn has_local_write(&self) -> bool {
        self.local.iter().any(|l| matches!(l, Local::Write(..)))
    }

    /// The remote writes that may go to memory, by their places: the oldest, and with relaxed ordering all that no atomic
    /// operation comes before.
    pub(super) fn remote_writes(&self, relaxed: bool) -> impl Iterator<Item = usize> + '_ {
        let free = self.remote.iter().take_while(|(_, _, is_atomic)| !is_atomic).count();
        0..if relaxed { free.max(1).min(self.remote.len()) } else { self.remote.len().min(1) }
    }

    /// The local writes that may go to memory, by their places: the oldest, and with relaxed ordering all.
    pub(super) fn local_writes(&self, relaxed: bool) -> impl Iterator<Item = (usize, Loc, Val)> + '_ {
        let writes = self.local.iter().enumerate().filter_map(|(place, local)| match *local {
            Local::Write(x, v) => Some((place, x, v)),
            Local::Confirmation => None,
        });
        writes.take(if relaxed { usize::MAX } else { 1 })
    }

    /// Whether an atomic operation has read this word and not yet written it.
    fn updates(&self, x: Loc) -> bool {
        self.pipe.iter().any(|e| matches!(e, Entry::AtomicWrite(on, _) if *on == x))
            || self.remote.iter().any(|&(on, _, is_atomic)| is_atomic && on == x)
    }

    /// Whether all that is older than an entry are gets, local writes and acknowledgements.
    pub(super) fn is_past_reads(&self, place: usize) -> bool {
        self.pipe[..place].iter().all(|e| matches!(e, Entry::Get(..) | Entry::LocalWrite(..) | Entry::Ack))
    }
}

/// Whether the entry at this place of a pipe can act, other than at once: the conditions of rules 2, 3, 6, 7 and 9 to 12.
pub(super) fn can_act(queue: &QueuePair, place: usize, is_locked: bool) -> bool {
    match queue.pipe[place] {
        Entry::Rfence | Entry::Ack => false,
        Entry::Put(..) => {
            let blocks = |e: &Entry| matches!(e, Entry::Put(..) | Entry::Rfence);
            !queue.pipe[..place].iter().any(blocks) && !queue.has_local_write()
        }
        Entry::RemoteWrite(..) | Entry::AtomicWrite(..) => queue.is_past_reads(place),
        Entry::Get(..) => queue.is_past_reads(place) && queue.remote.is_empty(),
        Entry::Rcas(..) | Entry::Rfaa(..) => queue.is_past_reads(place) && queue.remote.is_empty() && !is_locked,
        Entry::LocalWrite(..) => place == 0,
    }
}

/// A configuration of the machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    /// For each thread how far its program is, as a number of [`Programs`].
    pub(super) at: Vec<u32>,
    pub(super) buffers: Vec<VecDeque<Buffered>>,
    /// The first queue pair to each node, by thread and node; then, if there are any, the second ones, and so on.
    pub(super) pairs: Vec<QueuePair>,
    pub(super) memory: Vec<Val>,
    /// The nodes whose remote-atomic lock is taken.
    pub(super) locked: NodeSet,
}

impl State {
    /// Whether an atomic operation of some card has read this word and not yet written it.
    pub(super) fn is_being_updated(&self, x: Loc) -> bool {
        self.pairs.iter().any(|pair| pair.updates(x))
    }

    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        let of_pair = |q: &QueuePair| {
            size_of_val(q)
                + q.pipe.capacity() * size_of::<Entry>()
                + q.remote.capacity() * size_of::<(Loc, Val, bool)>()
                + q.local.capacity() * size_of::<Local>()
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
            Self::AtomicWrite(to, v) => write!(f, "atomic write {to} := {v}"),
        }
    }
}
