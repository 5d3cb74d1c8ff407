//! The configurations of the machine.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use mowgli_core::ids::{Loc, NodeSet, Tid};
use mowgli_core::value::Val;

use crate::message::QUEUE;
use crate::network::{Completion, Fence, Network, Order, Part as Place, Remote};
use crate::stamp::Qp;
use crate::switches::Switches;

/// An entry of a store buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Buffered {
    /// A write, and the place of its call, or 0 (see `conflicts`).
    Write(Loc, Val, u32),
    Operation(Qp, PipeEntry),
}

/// The part that an entry of a pipe plays in its operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EntryPart {
    /// Whether the operation has a completion.
    pub signalled: bool,
    /// Whether the entry before it is another word of the same operation.
    pub joined: bool,
    /// Whether the completion of a put means that memory has the data.
    pub delivered: bool,
    /// The number of earlier operations of the queue pair.
    pub nth: u32,
    /// Whether its writes go to memory behind earlier ones, because its key is strict.
    pub strict: bool,
    /// The operations whose remote writes come before it, if it is a signal that has not read.
    pub signal: Signalled,
    /// The place of its call, or 0 (see `conflicts`).
    pub call: u32,
}

/// The earlier operations of its queue pair that an atomic operation signals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Signalled {
    /// None.
    No,
    /// The one with this number.
    One(u32),
    /// All.
    All,
}

impl Signalled {
    /// True if it signals the operation with this number, which is an earlier one.
    fn has(self, nth: u32) -> bool {
        match self {
            Self::No => false,
            Self::One(of) => of == nth,
            Self::All => true,
        }
    }
}

/// An entry of a pipe.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PipeEntry {
    /// A remote fence.
    Rfence,
    /// A put that has not read yet: to, from. An operation of several words has one entry for each word.
    Put(Loc, Loc, EntryPart),
    /// The write of a put that has read.
    RemoteWrite(Loc, Val, EntryPart),
    /// The acknowledgement of an operation that is over, before its completion.
    Ack(EntryPart),
    /// A get that has not read yet: to, from. An operation of several words has one entry for each word.
    Get(Loc, Loc, EntryPart),
    /// The local write of a value that came back.
    LocalWrite(Loc, Val, EntryPart),
    /// A compare-and-swap that has not read yet: to, on, the expected and the new value.
    Rcas(Loc, Loc, Val, Val, EntryPart),
    /// A fetch-and-add that has not read yet: to, on, the number to add.
    Rfaa(Loc, Loc, Val, EntryPart),
    /// An exchange that has not read yet: to, on, the new value.
    Rxchg(Loc, Loc, Val, EntryPart),
    /// The remote write of an atomic operation, with the place of its call and the number of earlier operations.
    AtomicWrite(Loc, Val, u32, u32),
}

/// An entry of the buffer of local writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum LocalWrite {
    /// A write, with the part that its entry played.
    Write(Loc, Val, EntryPart),
    Confirmation(EntryPart),
}

/// A write in the buffer of remote writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Arrived {
    pub(super) x: Loc,
    pub(super) v: Val,
    /// The kind of its operation.
    pub(super) of: Remote,
    /// The number of earlier operations of the queue pair.
    pub(super) nth: u32,
    /// Whether it stays behind earlier writes.
    pub(super) strict: bool,
    /// The place of the call of its operation, or 0 (see `conflicts`).
    pub(super) call: u32,
}

/// A queue pair of a thread; the oldest entry of each buffer is the first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct QueuePair {
    pub(super) pipe: Vec<PipeEntry>,
    pub(super) remote: VecDeque<Arrived>,
    pub(super) local: VecDeque<LocalWrite>,
    /// The number of operations that were posted.
    pub(super) posted: u32,
    /// The messages that have arrived and that no thread has taken.
    pub(super) received: VecDeque<Val>,
    /// The number of confirmations at the front of `local` that are known to have come into the completion queue.
    pub(super) come: usize,
    /// The number of confirmations that had come when the thread asked for its pending event.
    pub(super) before: usize,
}

/// The event that a thread has asked for and has not taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum PendingEvent {
    /// The thread has not asked for an event.
    #[default]
    No,
    /// The event is pending: no new completion is known to have come.
    Open,
    /// A new completion has come, so the event is raised.
    Raised,
}

impl QueuePair {
    /// Returns the positions of the confirmations that may have come into the completion queue. If operations complete
    /// in order, each but the first comes after the one before it.
    pub(super) fn confirmed(&self, network: Network) -> impl Iterator<Item = usize> + '_ {
        let is_over = move |(at, local): (usize, &LocalWrite)| match local {
            LocalWrite::Confirmation(part) => Some((at, self.is_over(at, *part, network))),
            LocalWrite::Write(..) => None,
        };
        let all = self.local.iter().enumerate().filter_map(is_over);
        let may_come =
            move |(at, is_over): (usize, bool)| (is_over || network.completes_in_order).then_some((at, is_over));
        all.filter_map(may_come).take_while(|(_, is_over)| *is_over).map(|(at, _)| at)
    }

    /// True if the operation of the confirmation at this position is over.
    fn is_over(&self, at: usize, part: EntryPart, network: Network) -> bool {
        let is_awaited = |nth: u32| match network.completes_in_order {
            true => network.returns >= Order::Issued || nth <= part.nth,
            false => nth == part.nth,
        };
        let blocks = |local: &LocalWrite| matches!(*local, LocalWrite::Write(.., part) if is_awaited(part.nth));
        let is_placed = |of: Remote| match of {
            Remote::Read => false,
            Remote::Write => part.delivered || network.completion == Completion::Placed,
            Remote::Atomic => network.places_atomics(),
        };
        let is_under_way = |w: &Arrived| w.nth == part.nth && is_placed(w.of);
        let is_open = self.local.iter().take(at).any(blocks) || self.remote.iter().any(is_under_way);
        !is_open
    }

    /// Sorts what arrived by its operations, if completions and results come in any order. The order of arrival then decides
    /// nothing, so n operations have one state in place of n! of them.
    pub(super) fn sort(&mut self, network: Network) {
        if !network.completes_in_order && network.returns == Order::None {
            self.remote.make_contiguous().sort_by_key(|arrived| arrived.nth);
            self.local.make_contiguous().sort_by_key(LocalWrite::nth);
        }
    }

    /// Returns the position of the confirmation of the oldest operation whose confirmation was not taken, if it has
    /// come.
    pub(super) fn oldest_confirmed(&self, network: Network) -> Option<usize> {
        let number =
            |at: &usize| if let LocalWrite::Confirmation(part) = self.local[*at] { part.nth } else { u32::MAX };
        let oldest = self.confirmed(network).min_by_key(number)?;
        let is_older = |nth: u32| nth < number(&oldest);
        let waits = |local: &LocalWrite| matches!(*local, LocalWrite::Confirmation(part) if is_older(part.nth));
        let is_open = |e: &PipeEntry| e.signalled_number().is_some_and(is_older);
        (!self.local.iter().any(waits) && !self.pipe.iter().any(is_open)).then_some(oldest)
    }

    pub(super) fn has_local_write(&self) -> bool {
        self.local.iter().any(|l| matches!(l, LocalWrite::Write(..)))
    }

    /// Returns the positions of the remote writes that may go to memory: those that no write has to precede.
    pub(super) fn remote_writes(&self, network: Network) -> impl Iterator<Item = usize> + '_ {
        let place = |w: &Arrived| if w.x == QUEUE { Place::Message } else { Place::Remote(w.of) };
        let precedes = move |a: &Arrived, b: &Arrived| {
            a.nth <= b.nth && (b.strict && a.nth < b.nth || network.parts(place(a), place(b)) == Order::Placed)
        };
        let is_first = move |&at: &usize| !self.remote.iter().take(at).any(|w| precedes(w, &self.remote[at]));
        (0..self.remote.len()).filter(is_first)
    }

    /// Returns the local writes that may go to memory, with their positions: the oldest one, or all if the network does
    /// not order them.
    pub(super) fn local_writes(&self, network: Network) -> impl Iterator<Item = (usize, Loc, Val)> + '_ {
        let writes = self.local.iter().enumerate().filter_map(|(place, local)| match *local {
            LocalWrite::Write(x, v, part) => Some((place, x, v, part)),
            LocalWrite::Confirmation(_) => None,
        });
        let oldest = writes.clone().next().map(|(.., part)| part.nth);
        let all = writes.take(if network.returns == Order::Placed { 1 } else { usize::MAX });
        let is_free = move |part: EntryPart| !part.strict || oldest == Some(part.nth);
        all.filter(move |(.., part)| is_free(*part)).map(|(place, x, v, _)| (place, x, v))
    }

    /// Returns the positions in the pipe of remote fences that are over (rule 1) and of acknowledgements that become
    /// confirmations (rule 4).
    pub(super) fn done(&self, network: Network) -> impl Iterator<Item = usize> + '_ {
        let is_silent =
            move |e: &PipeEntry| matches!(e, PipeEntry::RemoteWrite(..)) && network.completion == Completion::Sent;
        (0..self.pipe.len()).filter(move |&place| match self.pipe[place] {
            PipeEntry::Ack(_) => !network.completes_in_order || self.pipe[..place].iter().all(is_silent),
            PipeEntry::Rfence => {
                let is_placed = self.remote.is_empty() && !self.has_local_write();
                may_pass(&self.pipe[..place], Place::Fence, network) && (is_placed || network.fence != Fence::All)
            }
            _ => false,
        })
    }

    /// Lets the put at this place, whose last word was read, complete if its completion says no more.
    pub(super) fn complete_if_sent(&mut self, place: usize, network: Network) {
        let end = (place + 1..).find(|&p| !self.pipe.get(p).is_some_and(PipeEntry::is_joined)).expect("pipes end");
        let beginning = self.beginning(place);
        let words = &mut self.pipe[beginning..end];
        let Some(&PipeEntry::RemoteWrite(.., part)) = words.last() else { return };
        let is_sent = part.signalled && !part.delivered && network.completion == Completion::Sent;
        if is_sent && words.iter().all(|e| matches!(e, PipeEntry::RemoteWrite(..))) {
            words.iter_mut().filter_map(PipeEntry::part_mut).for_each(|part| part.signalled = false);
            self.pipe.insert(end, PipeEntry::Ack(part));
        }
    }

    /// True if an atomic operation has read this word and not yet written it.
    fn updates(&self, x: Loc) -> bool {
        self.pipe.iter().any(|e| matches!(e, PipeEntry::AtomicWrite(on, ..) if *on == x))
            || self.remote.iter().any(|w| w.of == Remote::Atomic && w.x == x)
    }

    /// Returns the position of the first entry of the operation to which an entry belongs.
    fn beginning(&self, place: usize) -> usize {
        (0..=place).rev().find(|&p| !self.pipe[p].is_joined()).expect("the oldest entry is joined to none")
    }

    /// Removes the entry of a word that is over. Returns whether the whole operation is over.
    pub(super) fn end_word(&mut self, place: usize) -> bool {
        let others = self.pipe.get(place + 1).is_some_and(PipeEntry::is_joined);
        let is_over = !others && !self.pipe[place].is_joined();
        if others && !self.pipe[place].is_joined() {
            self.pipe[place + 1].part_mut().expect("it is joined").joined = false;
        }
        self.pipe.remove(place);
        is_over
    }
}

impl LocalWrite {
    /// Returns the number of operations before its own.
    fn nth(&self) -> u32 {
        let (Self::Write(.., part) | Self::Confirmation(part)) = self;
        part.nth
    }

    /// Returns the place of the call of its operation.
    pub(super) fn call(&self) -> u32 {
        let (Self::Write(.., part) | Self::Confirmation(part)) = self;
        part.call
    }
}

impl PipeEntry {
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

    fn part_mut(&mut self) -> Option<&mut EntryPart> {
        match self {
            Self::Put(_, _, part)
            | Self::RemoteWrite(_, _, part)
            | Self::Get(_, _, part)
            | Self::LocalWrite(_, _, part)
            | Self::Rcas(.., part)
            | Self::Rfaa(.., part)
            | Self::Rxchg(.., part) => Some(part),
            Self::Rfence | Self::Ack(_) | Self::AtomicWrite(..) => None,
        }
    }

    /// Returns the numbers of operations that it has: that of its own, and that of the one that it signals.
    fn numbers_mut(&mut self) -> impl Iterator<Item = &mut u32> {
        let (own, signalled) = match self {
            Self::AtomicWrite(.., nth) => (Some(nth), None),
            Self::Ack(part) => (Some(&mut part.nth), None),
            _ => match self.part_mut() {
                Some(EntryPart { nth, signal: Signalled::One(of), .. }) => (Some(nth), Some(of)),
                part => (part.map(|part| &mut part.nth), None),
            },
        };
        own.into_iter().chain(signalled)
    }

    /// Returns the number of operations before that of this entry, if the operation has a completion to come.
    fn signalled_number(&self) -> Option<u32> {
        let mut entry = *self;
        let own = if let Self::Ack(part) = self { Some(*part) } else { entry.part_mut().copied() };
        own.filter(|part| part.signalled).map(|part| part.nth)
    }

    /// Returns the parts of its operation that are to come, the next one first.
    fn left(&self) -> &'static [Place] {
        match self {
            Self::Rfence => &[Place::Fence],
            Self::Put(..) => &[Place::Source, Place::Remote(Remote::Write)],
            Self::RemoteWrite(QUEUE, ..) => &[Place::Message],
            Self::RemoteWrite(..) => &[Place::Remote(Remote::Write)],
            Self::Ack(_) => &[],
            Self::Get(..) => &[Place::Remote(Remote::Read), Place::Return],
            Self::LocalWrite(..) => &[Place::Return],
            Self::Rcas(..) | Self::Rfaa(..) | Self::Rxchg(..) => &[Place::Remote(Remote::Atomic), Place::Return],
            Self::AtomicWrite(..) => &[Place::Remote(Remote::Atomic)],
        }
    }
}

/// True if the network does not issue a part of these older entries before this one.
fn may_pass(older: &[PipeEntry], next: Place, network: Network) -> bool {
    older.iter().flat_map(PipeEntry::left).all(|&part| !network.issues(part, next))
}

/// True if the entry at this place of a pipe can act, other than at once. The conditions are those of rules 2, 3, 6, 7
/// and 9 to 12, for the orders that the network issues operations in. The other words of its operation do not block it;
/// with increasing addresses the earlier ones do.
pub(super) fn can_act(queue: &QueuePair, place: usize, is_locked: bool, switches: Switches) -> bool {
    let (network, beginning) = (switches.network, queue.beginning(place));
    let older = &queue.pipe[..if switches.increasing_addresses { place } else { beginning }];
    let entry = &queue.pipe[place];
    let Some(&next) = entry.left().first() else { return false };
    let reads = |kind: Remote| !queue.remote.iter().any(|w| network.flushes(w.of, kind));
    let is_ready = match *entry {
        PipeEntry::Put(..) => !queue.has_local_write(),
        PipeEntry::Get(..) => {
            let words_before = &queue.pipe[beginning..older.len()];
            reads(Remote::Read) && !words_before.iter().any(|e| matches!(e, PipeEntry::Get(..)))
        }
        PipeEntry::Rcas(.., part) | PipeEntry::Rfaa(.., part) | PipeEntry::Rxchg(.., part) => {
            reads(Remote::Atomic) && !is_locked && !is_before(queue, older, part)
        }
        // The result of an atomic operation comes back after its own write.
        PipeEntry::LocalWrite(.., part) => {
            !older.iter().any(|e| matches!(e, PipeEntry::AtomicWrite(.., nth) if *nth == part.nth))
        }
        PipeEntry::RemoteWrite(..) | PipeEntry::AtomicWrite(..) => true,
        PipeEntry::Rfence | PipeEntry::Ack(_) => false,
    };
    is_ready && may_pass(older, next, network)
}

/// True if a remote write that a signal stands behind is not in memory. The entries of the pipe are those before it.
fn is_before(queue: &QueuePair, older: &[PipeEntry], of_signal: EntryPart) -> bool {
    let signal = of_signal.signal;
    let number = |e: &PipeEntry| {
        let mut entry = *e;
        entry.numbers_mut().next().map(|nth| *nth)
    };
    let writes = |e: &PipeEntry| {
        let is_write = |part: &Place| matches!(part, Place::Remote(Remote::Write | Remote::Atomic));
        e.left().iter().any(is_write) && number(e).is_some_and(|nth| signal.has(nth))
    };
    older.iter().any(writes) || queue.remote.iter().any(|w| w.nth < of_signal.nth && signal.has(w.nth))
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
    /// The nodes that have crashed because one of their threads has stopped.
    pub(super) crashed: NodeSet,
    /// The event of each thread.
    pub(super) asked: Vec<PendingEvent>,
}

impl State {
    /// Numbers the operations that are under way on a queue pair of a thread from 0, in their order.
    pub(super) fn renumber(&mut self, t: usize, q: Qp, pair: usize) {
        let mut used = BTreeSet::new();
        self.each_number(t, q, pair, &mut |nth| _ = used.insert(*nth));
        let used: Vec<u32> = used.into_iter().collect();
        self.each_number(t, q, pair, &mut |nth| *nth = used.partition_point(|earlier| earlier < nth) as u32);
        self.pairs[pair].posted = used.len() as u32;
    }

    /// Visits the number of each operation that is under way, once for each entry.
    pub(super) fn each_number(&mut self, t: usize, q: Qp, pair: usize, visit: &mut dyn FnMut(&mut u32)) {
        let queue = &mut self.pairs[pair];
        let buffered = self.buffers[t].iter_mut().filter_map(|b| match b {
            Buffered::Operation(by, entry) if *by == q => Some(entry),
            _ => None,
        });
        queue.pipe.iter_mut().chain(buffered).flat_map(PipeEntry::numbers_mut).for_each(&mut *visit);
        queue.remote.iter_mut().for_each(|write| visit(&mut write.nth));
        queue.local.iter_mut().for_each(|local| match local {
            LocalWrite::Write(.., EntryPart { nth, .. }) | LocalWrite::Confirmation(EntryPart { nth, .. }) => {
                visit(nth)
            }
        });
    }

    /// True if an atomic operation of some card has read this word and not yet written it.
    pub(super) fn is_being_updated(&self, x: Loc) -> bool {
        self.pairs.iter().any(|pair| pair.updates(x))
    }

    /// Returns the number of bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let of_pair = |q: &QueuePair| {
            size_of_val(q)
                + q.pipe.capacity() * size_of::<PipeEntry>()
                + q.remote.capacity() * size_of::<Arrived>()
                + q.local.capacity() * size_of::<LocalWrite>()
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

impl fmt::Display for PipeEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rfence => f.write_str("rfence"),
            Self::Put(to, from, _) => write!(f, "put({to}, {from})"),
            Self::RemoteWrite(to, v, _) => write!(f, "remote write {to} := {v}"),
            Self::Ack(_) => f.write_str("ack"),
            Self::Get(to, from, _) => write!(f, "get({to}, {from})"),
            Self::LocalWrite(to, v, _) => write!(f, "local write {to} := {v}"),
            Self::Rcas(to, on, old, new, _) => write!(f, "rcas({to}, {on}, {old}, {new})"),
            Self::Rfaa(to, on, add, _) => write!(f, "rfaa({to}, {on}, {add})"),
            Self::Rxchg(to, on, new, _) => write!(f, "rxchg({to}, {on}, {new})"),
            Self::AtomicWrite(to, v, ..) => write!(f, "atomic write {to} := {v}"),
        }
    }
}

/// An access to memory that is a possible next step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NextAccess {
    /// The thread that makes the call.
    pub thread: Tid,
    /// The name of the thread's state before the call: see [`mowgli_core::term::script::StateName`]. Without names it has the number of
    /// its place.
    pub call: u128,
    /// Whether the CPU makes the access, and not a card for an operation of the thread.
    pub by_cpu: bool,
    /// The word.
    pub x: Loc,
    /// Whether it writes.
    pub writes: bool,
}

/// Two accesses to one word, in either order.
pub type ConflictingAccesses = (NextAccess, NextAccess);
