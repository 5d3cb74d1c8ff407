//! The ways in which an operation can be issued, other than the usual one: programs write them behind its name, `put@q2(z, x)`.

use std::fmt;
use std::sync::LazyLock;

use mowgli_core::algebra::{Attribute, Key, Set, ways};
use mowgli_core::expr::{Expr, Opaque};
use mowgli_core::ids::{Name, Node};
use mowgli_core::value::Val;

use crate::error::Error;
use crate::stamp::Qp;

/// The queue pair of the thread to the node, the meaning of the completion, and the flags of the operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Way {
    /// From 1, which is the only one of the papers.
    pub queue: u8,
    /// Whether a completion tells of it: what is *unsignalled* has none (`IBV_SEND_SIGNALED`).
    pub signalled: bool,
    /// Whether the completion of a put means that memory has the data (`FI_DELIVERY_COMPLETE`).
    pub delivered: bool,
    /// Whether the operation has the fence flag (`IBV_SEND_FENCE`, `FI_FENCE`): a remote fence of its queue pair that is
    /// part of it.
    pub fence: bool,
    /// Whether the key of the memory that it writes is without relaxed ordering, on a network with relaxed ordering.
    pub strict: bool,
    /// The earlier operations of its queue pair that are visible when an atomic operation is, if it is a signal.
    pub signal: Signal,
}

/// The earlier operations of its queue pair whose writes are visible before an atomic operation reads. They are the
/// signals of NCCL's GIN, whose contexts are queue pairs here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Signal {
    /// Those that the network orders, because the operation is no signal.
    No,
    /// The operation directly before it too.
    Weak,
    /// All of them.
    Strong,
}

/// The most queue pairs of a thread to one node.
const QUEUES: u8 = 9;

impl Way {
    /// As in the papers.
    pub const USUAL: Self =
        Self { queue: 1, signalled: true, delivered: false, fence: false, strict: false, signal: Signal::No };

    /// The way that an argument is.
    ///
    /// # Errors
    /// If there is no such way, with what there is.
    pub fn of(argument: Val) -> Result<Self, Error> {
        let Val::Way(name) = argument else { return Err(Error::NotAWay(argument)) };
        name.text().split(',').try_fold(Self::USUAL, |way, part| match (part, part.strip_prefix('q')) {
            ("unsignalled", _) => Ok(Self { signalled: false, ..way }),
            ("delivered", _) => Ok(Self { delivered: true, ..way }),
            ("fence", _) => Ok(Self { fence: true, ..way }),
            ("strict", _) => Ok(Self { strict: true, ..way }),
            ("weak", _) => Ok(Self { signal: Signal::Weak, ..way }),
            ("strong", _) => Ok(Self { signal: Signal::Strong, ..way }),
            (_, Some(number)) => {
                let queue = number.parse().ok().filter(|q| (1..=QUEUES).contains(q));
                let queue = queue.ok_or_else(|| Error::QueuePair { name: part.to_owned(), most: QUEUES })?;
                Ok(Self { queue, ..way })
            }
            _ => Err(Error::Way(part.to_owned())),
        })
    }

    /// The queue pair to a node.
    #[must_use]
    pub fn to(self, node: Node) -> Qp {
        Qp { to: node, number: self.queue }
    }
}

impl From<Way> for Val {
    fn from(way: Way) -> Self {
        Self::Way(Name::new(&way.to_string()))
    }
}

impl From<Way> for Expr {
    fn from(way: Way) -> Self {
        Val::from(way).into()
    }
}

/// The number of the queue pair by which a call is made in a way, as an expression.
///
/// # Panics
/// Its value panics if there is no such way, which is a fault of the call.
#[must_use]
pub fn queue(w: Expr) -> Expr {
    static QUEUE: LazyLock<Opaque> = LazyLock::new(|| {
        Opaque::new(|args| Val::Int(Way::of(args[0]).unwrap_or_else(|why| panic!("{why}")).queue.into()))
    });
    Expr::opaque("queue", *QUEUE, [w])
}

/// Whether an operation has the fence flag, as an expression of its way.
pub(crate) fn is_fenced(w: Expr) -> Expr {
    static FENCED: LazyLock<Opaque> =
        LazyLock::new(|| Opaque::new(|args| Val::Bool(matches!(Way::of(args[0]), Ok(Way { fence: true, .. })))));
    Expr::opaque("fenced", *FENCED, [w])
}

/// As programs write it, without the `@`.
impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = format!("q{}", self.queue);
        let Self { queue, signalled, delivered, fence, strict, signal } = *self;
        let all = [
            (queue != 1, &*number),
            (!signalled, "unsignalled"),
            (delivered, "delivered"),
            (fence, "fence"),
            (strict, "strict"),
            (signal == Signal::Weak, "weak"),
            (signal == Signal::Strong, "strong"),
        ];
        let on: Vec<&str> = all.into_iter().filter(|(on, _)| *on).map(|(_, name)| name).collect();
        if on.is_empty() { f.write_str("q1") } else { f.write_str(&on.join(",")) }
    }
}

/// The most words of one operation.
pub const WORDS: usize = 8;

/// The node that a subevent of the NIC is about, as a key.
pub const TARGET: Key = Key::by("target", &[Attribute::Target]);

/// The queue pair of a subevent of the NIC: thread, node and number.
pub(crate) const QUEUE_PAIR: Key = Key::by("queue_pair", &[Attribute::Thread, Attribute::Target, Attribute::Channel]);

/// The subevents of operations that have no completion.
pub(crate) fn is_unsignalled() -> Set {
    ways("is_unsignalled", |w| matches!(Way::of(w), Ok(Way { signalled: false, .. })))
}

/// The subevents of operations whose key is strict.
pub(crate) fn is_strict() -> Set {
    ways("is_strict", |w| matches!(Way::of(w), Ok(Way { strict: true, .. })))
}

/// The subevents of strong signals.
pub(crate) fn is_strong() -> Set {
    ways("is_strong", |w| matches!(Way::of(w), Ok(Way { signal: Signal::Strong, .. })))
}

/// The subevents of weak signals.
pub(crate) fn is_weak() -> Set {
    ways("is_weak", |w| matches!(Way::of(w), Ok(Way { signal: Signal::Weak, .. })))
}

/// The subevents of puts whose completion means that memory has the data.
pub(crate) fn is_delivered() -> Set {
    ways("is_delivered", |w| matches!(Way::of(w), Ok(Way { delivered: true, .. })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_as_they_are_written() {
        for (queue, signalled) in (1..=QUEUES).flat_map(|queue| [true, false].map(|signalled| (queue, signalled))) {
            let flags = (0..8).map(|bits| [1, 2, 4].map(|bit| bits & bit > 0));
            let signals = [Signal::No, Signal::Weak, Signal::Strong];
            for ([delivered, fence, strict], signal) in flags.flat_map(|f| signals.map(|s| (f, s))) {
                let way = Way { queue, signalled, delivered, fence, strict, signal };
                assert_eq!(Way::of(way.into()), Ok(way));
            }
        }
        for (wrong, why) in [("q0", "q1 to q9"), ("q10", "q1 to q9"), ("fast", "@q2")] {
            let help = Way::of(Val::Way(Name::new(wrong))).unwrap_err().help();
            assert!(help.is_some_and(|help| help.contains(why)), "{wrong}");
        }
        assert!(Way::of(Val::Int(2)).is_err());
    }
}
