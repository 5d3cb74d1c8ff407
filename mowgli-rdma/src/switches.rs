//! Switches for hardware that promises less, or more, than RDMA-TSO-RMW and RDMA-WAIT-RMW. All are off by default.
//!
//! Each switch changes a definition: [`Switches::to`] the stamp order, [`wait::switched`](crate::wait::switched) ib and
//! so, and [`Machine`](crate::operational::Machine) the transitions. docs/models.md gives the source of each
//! assumption.

use std::fmt;

use crate::axioms::{Axioms, addresses, crashes, global, relaxed, unsignalled};
use crate::stamp::RdmaStamp::{aNLW, aNRW};
use crate::stamp::{self, RdmaStamp};

/// The switches that are on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Switches {
    /// Writes of the card reach memory in any order: `IBV_ACCESS_RELAXED_ORDERING` of all memory, as libibverbs' manual
    /// page `ibv_reg_mr` defines it. Reads, atomics and completions keep their place.
    pub relaxed_ordering: bool,
    /// Read-modify-writes of one word by the card and by a CPU exclude each other: the device has `IBV_ATOMIC_GLOB`.
    pub global_atomics: bool,
    /// Operations may be unsignalled: a completion stands for all operations that its queue pair issued before.
    pub unsignalled: bool,
    /// The card reads and writes the words of one operation in the order of their addresses. Hardware that does this
    /// reports it by `ibv_query_qp_data_in_order`. With relaxed ordering only the issue of the words is in this order.
    pub increasing_addresses: bool,
    /// Threads may send messages: see [`crate::message`].
    pub messages: bool,
    /// Threads and nodes may crash if a program declares it: see [`crate::crash`].
    pub crashes: bool,
    /// Threads may look into their completion queue, and sleep until a completion enters it: see
    /// [`crate::completions`].
    pub events: bool,
}

impl Switches {
    /// All off: the models as they are published.
    pub const OFF: Self = Self {
        relaxed_ordering: false,
        global_atomics: false,
        unsignalled: false,
        increasing_addresses: false,
        messages: false,
        crashes: false,
        events: false,
    };

    /// Increasing addresses alone.
    pub const INCREASING: Self = Self { increasing_addresses: true, ..Self::OFF };

    /// Messages alone.
    pub const MESSAGES: Self = Self { messages: true, ..Self::OFF };

    /// Returns the switches if they can be on together.
    ///
    /// # Errors
    /// Names two switches that cannot be on together, and gives the reason.
    pub fn fit(self) -> Result<Self, String> {
        let with = |other: &str, why: &str| {
            Err(format!("the switches messages and {other} cannot be on together: {why}; leave one of them out"))
        };
        match self {
            Self { messages: true, crashes: true, .. } => {
                with("crashes", "of a message nothing is said where it is cut off")
            }
            Self { messages: true, relaxed_ordering: true, .. } => {
                with("relaxed-ordering", "a message has the stamp of a write, which others may pass then")
            }
            Self { events: true, messages: true, .. } => {
                with("events", "whether a message comes into the completion queue of its receiver is left open")
            }
            Self { events: true, crashes: true, .. } => Err(
                "the switches events and crashes cannot be on together: of a completion nothing is said where its operation is \
                 cut off; leave one of them out"
                    .to_owned(),
            ),
            fit => Ok(fit),
        }
    }

    /// Events alone.
    pub const EVENTS: Self = Self { events: true, ..Self::OFF };

    /// Crashes alone.
    pub const CRASHES: Self = Self { crashes: true, ..Self::OFF };

    /// The names, as tests write them behind the name of a model.
    pub const NAMES: [&'static str; 7] =
        ["relaxed-ordering", "global-atomics", "unsignalled", "increasing-addresses", "messages", "crashes", "events"];

    /// Turns on the switch of this name; `None` if there is none.
    #[must_use]
    pub fn with(self, name: &str) -> Option<Self> {
        match name {
            "relaxed-ordering" => Some(Self { relaxed_ordering: true, ..self }),
            "global-atomics" => Some(Self { global_atomics: true, ..self }),
            "unsignalled" => Some(Self { unsignalled: true, ..self }),
            "increasing-addresses" => Some(Self { increasing_addresses: true, ..self }),
            "messages" => Some(Self { messages: true, ..self }),
            "crashes" => Some(Self { crashes: true, ..self }),
            "events" => Some(Self { events: true, ..self }),
            _ => None,
        }
    }

    /// Applies the switches to the axioms of a model.
    pub(crate) fn patched(self, mut a: Axioms) -> Axioms {
        if self.unsignalled {
            unsignalled::patch(&mut a);
        }
        if self.increasing_addresses {
            addresses::patch(&mut a, self.relaxed_ordering);
        }
        if self.relaxed_ordering {
            relaxed::patch(&mut a);
        }
        if self.global_atomics {
            global::patch(&mut a);
        }
        if self.crashes {
            crashes::patch(&mut a);
        }
        a
    }

    /// True if the stamp order of RDMA has (a, b). With relaxed ordering it lacks (aNRW, aNRW) and (aNLW, aNLW).
    #[must_use]
    pub fn to(self, a: RdmaStamp, b: RdmaStamp) -> bool {
        let are_writes = matches!((a, b), (aNRW(_), aNRW(_)) | (aNLW(_), aNLW(_)));
        stamp::to(a, b) && !(self.relaxed_ordering && are_writes)
    }
}

/// Prints the switches that are on, each behind a plus, in the notation of tests.
impl fmt::Display for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { relaxed_ordering, global_atomics, unsignalled, increasing_addresses, messages, crashes, events } =
            *self;
        let on = [relaxed_ordering, global_atomics, unsignalled, increasing_addresses, messages, crashes, events];
        Self::NAMES.iter().zip(on).filter(|(_, on)| *on).try_for_each(|(name, _)| write!(f, "+{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mowgli_core::stamp::Kind as _;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in Switches::NAMES {
            assert_eq!(Switches::OFF.with(name).expect("a switch").to_string(), format!("+{name}"));
        }
        assert_eq!((Switches::OFF.with("fast"), Switches::OFF.to_string()), (None, String::new()));
    }

    #[test]
    fn relaxed_ordering_takes_two_cells() {
        let relaxed = Switches { relaxed_ordering: true, ..Switches::OFF };
        let all = RdmaStamp::all(2);
        let pairs = all.iter().flat_map(|&a| all.iter().map(move |&b| (a, b)));
        let (mut gone, mut more) = (Vec::new(), 0);
        for (a, b) in pairs {
            match (stamp::to(a, b), relaxed.to(a, b)) {
                (true, false) => gone.push(format!("{a} {b}")),
                (false, true) => more += 1,
                _ => assert_eq!(stamp::to(a, b), Switches::OFF.to(a, b)),
            }
        }
        assert_eq!(
            (gone.join(", "), more),
            ("aNRW_1 aNRW_1, aNRW_2 aNRW_2, aNLW_1 aNLW_1, aNLW_2 aNLW_2".to_owned(), 0)
        );
    }
}
