//! The calls of RDMA-TSO-RMW: its methods, and for operations and polls their queue pairs and identifiers.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_core::algebra::SubView;
use mowgli_core::event::{Call, Event};
use mowgli_core::ids::Node;
use mowgli_core::stamp::StampKind;
use mowgli_core::term::method::methods;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};

use crate::stamp::Qp;
use crate::stamp::RdmaStamp::{self, aNLW, aNRW};
use crate::wait::{self, words};
use crate::way::Way;

methods! {
    /// The methods of RDMA-TSO-RMW. Operations return their identifiers, a poll that of the operation that it takes.
    pub enum Method of TSO = "rdma-tso-rmw" as statements {
        /// `Write(x, v)`.
        fn write = Write(x: Local, v: Value);
        /// `Read(x)`.
        fn read = Read(x: Local) -> Value;
        /// `CAS(x, v1, v2)`, which returns the old value.
        fn cas = CAS(x: Local, v1: Value, v2: Value) -> Value;
        /// `Xchg(x, v)`, which returns the old value.
        fn xchg = Xchg(x: Local, v: Value) -> Value;
        /// `FAA(x, v)`: adds v to x, and returns the old value.
        fn faa = FAA(x: Local, v: Value) -> Value;
        /// `Mfence()`.
        fn mfence = Mfence();
        /// `Get(x, y)`: copies remote y to local x.
        fn get = Get(x: Local, y: Placed) -> Handle;
        /// `Put(x, y)`: copies local y to remote x.
        fn put = Put(x: Placed, y: Local) -> Handle;
        /// `Poll(n)`: waits for the oldest operation towards n that no poll has taken.
        fn poll = Poll(n: Node) -> Handle;
        /// `Rfence(n)`.
        fn rfence = Rfence(n: Node);
        /// `RCAS(x, y, v1, v2)`: compare and swap on remote y, the old value to local x.
        fn rcas = RCAS(x: Local, y: Placed, v1: Value, v2: Value) -> Handle;
        /// `RFAA(x, y, v)`: fetch and add on remote y, the old value to local x.
        fn rfaa = RFAA(x: Local, y: Placed, v: Value) -> Handle;
        /// `RXchg(x, y, v)`: writes v to remote y, the old value to local x.
        fn rxchg = RXchg(x: Local, y: Placed, v: Value) -> Handle;
        /// As `Get`, by the queue pair that `w` says.
        fn get_by = GetBy(w: Way, x: Local, y: Placed) -> Handle;
        /// As `Put`, by the queue pair that `w` says.
        fn put_by = PutBy(w: Way, x: Placed, y: Local) -> Handle;
        /// As `Rfence`, of the queue pair that `w` says.
        fn rfence_by = RfenceBy(w: Way, n: Node);
        /// As `RCAS`, by the queue pair that `w` says.
        fn rcas_by = RCASBy(w: Way, x: Local, y: Placed, v1: Value, v2: Value) -> Handle;
        /// As `RFAA`, by the queue pair that `w` says.
        fn rfaa_by = RFAABy(w: Way, x: Local, y: Placed, v: Value) -> Handle;
        /// As `RXchg`, by the queue pair that `w` says.
        fn rxchg_by = RXchgBy(w: Way, x: Local, y: Placed, v: Value) -> Handle;
        /// As `Get` of several words, in any order.
        fn get_words = GetWords(w: Way, xs: Locals, ys: Places) -> Handle;
        /// As `Put` of several words, in any order.
        fn put_words = PutWords(w: Way, xs: Places, ys: Locals) -> Handle;
        /// As `Poll`, of the queue pair that `w` says.
        fn poll_by = PollBy(w: Way, n: Node) -> Handle;
        /// `PollAny()`: waits for a completion of whichever queue pair, which share a completion queue, and returns the node and the
        /// number of that one.
        fn poll_any = PollAny() -> Value;
        /// `TryPoll(n)`: takes the completion that `Poll(n)` would take if it has come, and says whether it has; with the switch `events`.
        fn try_poll = TryPoll(n: Node) -> Bool;
        /// `TryPollAny()`: takes a completion of whichever queue pair if one has come, and returns what `PollAny` would return, else bottom.
        fn try_poll_any = TryPollAny() -> Value;
        /// `Arm()`: asks for an event, which the next completion raises that comes into the completion queue of the thread.
        fn arm = Arm() -> Handle;
        /// `Event()`: waits for the event that was asked for, and takes it.
        fn event = Event() -> Handle;
        /// `SetAdd(s, v)`: adds v to the thread's set s.
        fn set_add = SetAdd(s: Value, v: Value);
        /// `SetRemove(s, v)`.
        fn set_remove = SetRemove(s: Value, v: Value);
        /// `SetIsEmpty(s)`.
        fn set_is_empty = SetIsEmpty(s: Value) -> Handle;
    }
}

impl Method {
    /// Returns the method of RDMA-WAIT-RMW of the same name; `None` for polls and for the methods of sets.
    #[must_use]
    pub fn of_wait(self) -> Option<wait::Method> {
        use wait::Method as W;
        let d = Val::NoWid;
        Some(match self {
            Self::GetBy { w, x, y } => W::GetBy { w, x, y, d },
            Self::PutBy { w, x, y } => W::PutBy { w, x, y, d },
            Self::RfenceBy { w, n } => W::RfenceBy { w, n },
            Self::RCASBy { w, x, y, v1, v2 } => W::RCASBy { w, x, y, v1, v2, d },
            Self::RFAABy { w, x, y, v } => W::RFAABy { w, x, y, v, d },
            Self::RXchgBy { w, x, y, v } => W::RXchgBy { w, x, y, v, d },
            Self::GetWords { w, xs, ys } => W::GetWords { w, xs, ys, d },
            Self::PutWords { w, xs, ys } => W::PutWords { w, xs, ys, d },
            Self::Write { x, v } => W::Write { x, v },
            Self::Read { x } => W::Read { x },
            Self::CAS { x, v1, v2 } => W::CAS { x, v1, v2 },
            Self::Xchg { x, v } => W::Xchg { x, v },
            Self::FAA { x, v } => W::FAA { x, v },
            Self::Mfence {} => W::Mfence {},
            Self::Get { x, y } => W::Get { x, y, d },
            Self::Put { x, y } => W::Put { x, y, d },
            Self::Rfence { n } => W::Rfence { n },
            Self::RCAS { x, y, v1, v2 } => W::RCAS { x, y, v1, v2, d },
            Self::RFAA { x, y, v } => W::RFAA { x, y, v, d },
            Self::RXchg { x, y, v } => W::RXchg { x, y, v, d },
            Self::Poll { .. }
            | Self::PollBy { .. }
            | Self::PollAny {}
            | Self::TryPoll { .. }
            | Self::TryPollAny {}
            | Self::Arm {}
            | Self::Event {}
            | Self::SetAdd { .. }
            | Self::SetRemove { .. }
            | Self::SetIsEmpty { .. } => return None,
        })
    }

    /// Returns the method of a call, if it is one of RDMA-TSO-RMW.
    pub(crate) fn read_of_tso(call: &Call) -> Option<Self> {
        Self::of_any(call).filter(|_| call.library == TSO)
    }

    /// True if it looks into the completion queue.
    pub(super) fn waits(self) -> bool {
        let polls = matches!(self, Self::Poll { .. } | Self::PollBy { .. } | Self::PollAny {});
        polls || matches!(self, Self::TryPoll { .. } | Self::TryPollAny {} | Self::Arm {} | Self::Event {})
    }

    /// Returns the same method in the usual way, and the way in which it is made.
    ///
    /// # Panics
    /// If the argument is not a way. [`mowgli_core::library::Library::fault`] finds such calls.
    #[must_use]
    pub fn usual(self) -> (Self, Way) {
        let (usual, w) = match self {
            Self::GetBy { w, x, y } => (Self::Get { x, y }, w),
            Self::PutBy { w, x, y } => (Self::Put { x, y }, w),
            Self::RfenceBy { w, n } => (Self::Rfence { n }, w),
            Self::RCASBy { w, x, y, v1, v2 } => (Self::RCAS { x, y, v1, v2 }, w),
            Self::RFAABy { w, x, y, v } => (Self::RFAA { x, y, v }, w),
            Self::RXchgBy { w, x, y, v } => (Self::RXchg { x, y, v }, w),
            Self::PollBy { w, n } => (Self::Poll { n }, w),
            Self::GetWords { w, .. } | Self::PutWords { w, .. } => (self, w),
            usual => return (usual, Way::USUAL),
        };
        (usual, Way::of(w).unwrap_or_else(|why| panic!("{why}")))
    }
}

/// Returns a memory word on `node`.
#[must_use]
pub fn word(node: Node) -> Object {
    Object::new(TSO).at(node)
}

/// Returns the node that an operation goes to, or that a poll asks about.
#[must_use]
pub fn towards(world: &World, call: &Call) -> Option<Node> {
    let is_fence = matches!(Method::of(call).usual().0, Method::Rfence { .. });
    queue_pair(world, call).filter(|_| !is_fence).map(|q| q.to)
}

/// Returns the queue pair that an operation or a remote fence goes by, or that a poll asks about.
#[must_use]
pub fn queue_pair(world: &World, call: &Call) -> Option<Qp> {
    let (usual, way) = Method::of(call).usual();
    let node = match usual {
        Method::Put { x: far, .. }
        | Method::Get { y: far, .. }
        | Method::RCAS { y: far, .. }
        | Method::RFAA { y: far, .. }
        | Method::RXchg { y: far, .. } => world.home(far)?,
        Method::PutWords { xs: far, .. } | Method::GetWords { ys: far, .. } => world.home(*words(far).first()?)?,
        Method::Poll { n } | Method::TryPoll { n } | Method::Rfence { n } => n,
        _ => return None,
    };
    Some(way.to(node))
}

/// True if a call is an operation that a poll takes: all but those without a completion.
pub(super) fn is_operation(call: &Call) -> bool {
    if call.library != TSO {
        return false;
    }
    let (usual, way) = Method::of(call).usual();
    way.signalled && is_remote(usual)
}

pub(crate) fn is_remote(usual: Method) -> bool {
    use Method::{Get, GetWords, Put, PutWords, RCAS, RFAA, RXchg};
    let is_atomic = matches!(usual, RCAS { .. } | RFAA { .. } | RXchg { .. });
    is_atomic || matches!(usual, Put { .. } | Get { .. } | PutWords { .. } | GetWords { .. })
}

pub(crate) fn polls(call: &Call) -> bool {
    call.library == TSO && matches!(Method::of(call), Method::Poll { .. } | Method::PollBy { .. } | Method::PollAny {})
}

/// Returns the result of a poll of all queue pairs that takes a completion of this one: its node and its number.
#[must_use]
pub fn reported(q: Qp) -> Val {
    Val::tuple(&[Val::Int(q.to.0.into()), Val::Int(q.number.into())])
}

/// Returns the queue pair of which a poll takes a completion.
pub(super) fn polled(world: &World, poll: &Event) -> Option<Qp> {
    match (Method::of(&poll.call), poll.ret) {
        (Method::PollAny {} | Method::TryPollAny {}, Val::Tuple(reported)) => {
            let number = |at: usize| u8::try_from(reported.parts().get(at)?.int()?).ok();
            Some(Qp { to: Node(number(0)?), number: number(1)? })
        }
        (Method::Poll { .. } | Method::PollBy { .. }, _) | (Method::TryPoll { .. }, Val::Bool(true)) => {
            queue_pair(world, &poll.call)
        }
        _ => None,
    }
}

/// Returns the queue pair of which a call has taken a completion.
pub(crate) fn taken(world: &World, event: &Event) -> Option<Qp> {
    (event.call.library == TSO).then(|| polled(world, event)).flatten()
}

/// Returns the queue pair of an operation that has a completion.
pub(crate) fn issued(world: &World, call: &Call) -> Option<Qp> {
    if is_operation(call) { queue_pair(world, call) } else { None }
}

/// True if a call looked for a completion and found none.
pub(super) fn has_failed(event: &Event) -> bool {
    let tries = matches!(Method::of(&event.call), Method::TryPoll { .. } | Method::TryPollAny {});
    tries && matches!(event.ret, Val::Bool(false) | Val::Bot)
}

/// Counts the operations of a queue pair among these events, and the completions of it that calls have taken.
pub(super) fn issued_and_taken(world: &World, events: &[Event], q: Qp) -> (usize, usize) {
    let issued = events.iter().filter(|e| issued(world, &e.call) == Some(q)).count();
    (issued, events.iter().filter(|e| taken(world, e) == Some(q)).count())
}

/// Returns the identifier of an operation: its queue pair, and the number of earlier operations of the thread by it.
#[must_use]
pub fn identifier(q: Qp, nth: usize) -> Val {
    let nth = Val::Int(nth as i64);
    match q.number {
        1 => Val::tuple(&[q.to.into(), nth]),
        number => Val::tuple(&[q.to.into(), Val::Int(number.into()), nth]),
    }
}

/// Returns the queue pair of an operation, and the number of earlier operations of the thread by it, from its
/// identifier.
pub(crate) fn numbered(identifier: Val) -> Option<(Qp, usize)> {
    let Val::Tuple(parts) = identifier else { return None };
    let (to, number, nth) = match *parts.parts() {
        [Val::Node(to), Val::Int(nth)] => (to, 1, nth),
        [Val::Node(to), Val::Int(number), Val::Int(nth)] => (to, u8::try_from(number).ok()?, nth),
        _ => return None,
    };
    Some((Qp { to, number }, usize::try_from(nth).ok()?))
}

/// Prints the result of an operation or a poll for people: the operation of its thread that it is, or that it
/// completes. Returns `None` for other calls.
#[must_use]
pub fn in_words(event: &Event) -> Option<String> {
    if let (Method::Arm {}, Val::Tuple(found)) = (Method::read_of_tso(&event.call)?, event.ret) {
        let found = found.parts().iter().filter_map(|v| operation_in_words(*v)).join(" and ");
        return Some(if found.is_empty() { "finds nothing new".to_owned() } else { format!("finds {found} complete") });
    }
    let operation = operation_in_words(event.ret)?;
    match Method::of(&event.call) {
        _ if is_operation(&event.call) => Some(operation),
        Method::Event {} => Some(format!("learns that {operation} is complete")),
        _ => polls(&event.call).then(|| format!("completes {operation}")),
    }
}

/// Prints the operation that an identifier is of.
fn operation_in_words(identifier: Val) -> Option<String> {
    let Val::Tuple(parts) = identifier else { return None };
    let by = |pair: i64| if pair == 1 { String::new() } else { format!(" by queue pair {pair}") };
    Some(match *parts.parts() {
        [Val::Node(n), Val::Int(nth)] => format!("operation {} to node {n}", nth + 1),
        [Val::Node(n), Val::Int(pair), Val::Int(nth)] => format!("operation {} to node {n}{}", nth + 1, by(pair)),
        [Val::Int(n), Val::Int(pair)] => format!("an operation to node {n} by queue pair {pair}"),
        _ => return None,
    })
}

/// Returns the result of a call after these calls of its thread, if it does not depend on memory. Returns `None` for a
/// poll without an operation to take, and for one that takes the completion that comes first.
#[must_use]
pub fn result(world: &World, earlier: &[Event], call: &Call) -> Option<Val> {
    let own = || earlier.iter().map(|e| &e.call).filter(|c| c.library == TSO);
    match Method::of(call) {
        Method::PollAny {} | Method::TryPoll { .. } | Method::TryPollAny {} | Method::Arm {} | Method::Event {} => None,
        Method::SetIsEmpty { s: asked } => {
            let mut set = BTreeSet::new();
            for call in own() {
                match Method::of(call) {
                    Method::SetAdd { s, v } if s == asked => _ = set.insert(v),
                    Method::SetRemove { s, v } if s == asked => _ = set.remove(&v),
                    _ => {}
                }
            }
            Some(Val::Bool(set.is_empty()))
        }
        _ if polls(call) => {
            let q = queue_pair(world, call)?;
            let (issued, taken) = issued_and_taken(world, earlier, q);
            (taken < issued).then(|| identifier(q, taken))
        }
        _ if is_operation(call) => {
            let q = queue_pair(world, call)?;
            Some(identifier(q, issued_and_taken(world, earlier, q).0))
        }
        _ => Some(Val::Unit),
    }
}

/// Returns the identifiers of the operations of a queue pair whose completions none of these calls has taken, where a
/// poll takes any of them.
pub(super) fn open_operations(world: &World, earlier: &[Event], q: Qp) -> Vec<Val> {
    let issued = earlier.iter().filter(|e| issued(world, &e.call) == Some(q)).map(|e| e.ret);
    let is_open = |id: &Val| !earlier.iter().any(|e| polls(&e.call) && e.ret == *id);
    issued.filter(is_open).collect()
}

/// Returns the results that a poll of all queue pairs can have after these calls of its thread.
pub(super) fn open_completions(world: &World, earlier: &[Event]) -> Vec<Val> {
    let pairs: BTreeSet<Qp> = earlier.iter().filter_map(|e| issued(world, &e.call)).collect();
    let is_open = |q: &Qp| {
        let (issued, taken) = issued_and_taken(world, earlier, *q);
        taken < issued
    };
    pairs.into_iter().filter(is_open).map(reported).collect()
}

/// True for the subevents that are over when a poll takes the completion: the local writes, and for a Put the remote
/// ones.
pub(crate) fn is_confirmed(s: &SubView) -> bool {
    let call = &s.event.call;
    is_operation(call)
        && match Method::of(call).usual().0 {
            Method::Put { .. } | Method::PutWords { .. } => matches!(RdmaStamp::of(s.sub.stamp), aNRW(_)),
            _ => matches!(RdmaStamp::of(s.sub.stamp), aNLW(_)),
        }
}

/// True for one subevent of each operation: that of its first word.
pub(crate) fn is_first_confirmed(s: &SubView) -> bool {
    is_confirmed(s) && RdmaStamp::of(s.sub.stamp).word() == Some(0)
}

pub(super) fn is_poll(s: &SubView) -> bool {
    taken(s.world, s.event).is_some()
}

/// Returns the queue pair of an operation or of a poll.
pub(crate) fn node_towards(s: &SubView) -> Option<Val> {
    let call = &s.event.call;
    let q = match call.library {
        TSO if Method::of(call).waits() => polled(s.world, s.event),
        TSO => queue_pair(s.world, call),
        _ => None,
    };
    q.map(|q| Val::tuple(&[q.to.into(), Val::Int(q.number.into())]))
}
