//! The ways in which an operation can be issued, other than the usual one: programs write them behind its name, `put@q2(z, x)`.

use std::fmt;
use std::sync::LazyLock;

use mowgli_core::algebra::{Attribute, Key, SubView};
use mowgli_core::expr::{Expr, Opaque};
use mowgli_core::ids::{Name, Node};
use mowgli_core::value::Val;

use crate::error::Error;
use crate::stamp::Qp;

/// The queue pair of the thread to the node, and the meaning of the completion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Way {
    /// From 1, which is the only one of the papers.
    pub queue: u8,
    /// Whether a completion tells of it: what is *unsignalled* has none (`IBV_SEND_SIGNALED`).
    pub signalled: bool,
    /// Whether the completion of a put means that memory has the data (`FI_DELIVERY_COMPLETE`).
    pub delivered: bool,
}

/// The most queue pairs of a thread to one node.
const QUEUES: u8 = 9;

impl Way {
    /// As in the papers.
    pub const USUAL: Self = Self { queue: 1, signalled: true, delivered: false };

    /// The way that an argument is.
    ///
    /// # Errors
    /// If there is no such way, with what there is.
    pub fn of(argument: Val) -> Result<Self, Error> {
        let Val::Way(name) = argument else { return Err(Error::NotAWay(argument)) };
        name.text().split(',').try_fold(Self::USUAL, |way, part| match (part, part.strip_prefix('q')) {
            ("unsignalled", _) => Ok(Self { signalled: false, ..way }),
            ("delivered", _) => Ok(Self { delivered: true, ..way }),
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

/// As programs write it, without the `@`.
impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = format!("q{}", self.queue);
        let all = [(self.queue != 1, &*number), (!self.signalled, "unsignalled"), (self.delivered, "delivered")];
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

/// Whether a subevent is of an operation that has no completion.
pub(crate) fn is_unsignalled(s: &SubView) -> bool {
    s.event.call.args.first().is_some_and(|w| matches!(Way::of(*w), Ok(Way { signalled: false, .. })))
}

/// Whether a subevent is of a put whose completion means that memory has the data.
pub(crate) fn is_delivered(s: &SubView) -> bool {
    s.event.call.args.first().is_some_and(|w| matches!(Way::of(*w), Ok(Way { delivered: true, .. })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_as_they_are_written() {
        for (queue, signalled) in (1..=QUEUES).flat_map(|queue| [true, false].map(|signalled| (queue, signalled))) {
            for way in [true, false].map(|delivered| Way { queue, signalled, delivered }) {
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
