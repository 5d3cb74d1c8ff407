//! Switches for hardware that promises less, or more, than RDMA-TSO-RMW and RDMA-WAIT-RMW. All are off by default.
//!
//! Each switch changes a definition: [`Network::to`] is the stamp order, [`wait::switched`](crate::wait::switched) ib and
//! so, and [`Machine`](crate::operational::Machine) the transitions. docs/models.md gives the source of each
//! assumption.

use std::fmt;

use mowgli_core::unknown::Unknown;

use crate::axioms::{Axioms, addresses, crashes, global, network, unsignalled, ways};
use crate::error::Error;
use crate::network::{Network, Order, Remote};
use crate::presets::PRESETS;

/// The switches that are on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Switches {
    /// The orders that the hardware promises. The switch `relaxed-ordering` is the network `rc-relaxed`.
    pub network: Network,
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
    /// [`crate::tso::completions`].
    pub events: bool,
}

impl Switches {
    /// All off: the models as they are published.
    pub const OFF: Self = Self {
        network: Network::RC,
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
    pub fn fit(self) -> Result<Self, Error> {
        let with = |other, why| Err(Error::Together { one: "messages", other, why });
        match self {
            Self { messages: true, crashes: true, .. } => {
                with("crashes", "of a message nothing is said where it is cut off")
            }
            Self { events: true, messages: true, .. } => {
                with("events", "whether a message comes into the completion queue of its receiver is left open")
            }
            Self { events: true, crashes: true, .. } => {
                let why = "of a completion nothing is said where its operation is cut off";
                Err(Error::Together { one: "events", other: "crashes", why })
            }
            Self { network, .. } => match self.undefined() {
                Some(switch) => {
                    let others = PRESETS.iter().map(|(network, _)| *network);
                    let others = others.filter(|network| Self { network: *network, ..self }.undefined().is_none());
                    Err(Error::NeedsOrder { switch, network, others: others.collect() })
                }
                None => Ok(self),
            },
        }
    }

    /// Returns a switch that is not defined on the network.
    fn undefined(self) -> Option<&'static str> {
        if self.network.is_in_order() {
            return None;
        }
        let Self { network, unsignalled, increasing_addresses, messages, crashes, events, .. } = self;
        let stands = unsignalled && !network.completes_in_order;
        let on = [(stands, "unsignalled"), (increasing_addresses, "increasing-addresses"), (crashes, "crashes")];
        let messages = messages && !network.orders_messages();
        let mut all = on.into_iter().chain([(messages, "messages"), (events, "events")]);
        all.find_map(|(on, switch)| on.then_some(switch))
    }

    /// Events alone.
    pub const EVENTS: Self = Self { events: true, ..Self::OFF };

    /// Crashes alone.
    pub const CRASHES: Self = Self { crashes: true, ..Self::OFF };

    /// The names, as tests write them behind the name of a model.
    pub const NAMES: [&'static str; 7] =
        ["relaxed-ordering", "global-atomics", "unsignalled", "increasing-addresses", "messages", "crashes", "events"];

    /// Turns on the switch of this name, or chooses the network of this name.
    ///
    /// # Errors
    /// If no switch and no network has this name, or if a network is chosen already. The message lists the names.
    pub fn with(self, name: &str) -> Result<Self, Error> {
        Ok(match name {
            "relaxed-ordering" => return self.over(Network::RC_RELAXED),
            "global-atomics" => Self { global_atomics: true, ..self },
            "unsignalled" => Self { unsignalled: true, ..self },
            "increasing-addresses" => Self { increasing_addresses: true, ..self },
            "messages" => Self { messages: true, ..self },
            "crashes" => Self { crashes: true, ..self },
            "events" => Self { events: true, ..self },
            _ => {
                let network = Network::named(name).map_err(|networks| Error::Switch {
                    switches: Unknown::new("switch", name, Self::NAMES),
                    networks: Box::new(networks),
                })?;
                return self.over(network);
            }
        })
    }

    /// Chooses the network.
    fn over(self, network: Network) -> Result<Self, Error> {
        match self.network {
            Network::RC => Ok(Self { network, ..self }),
            known if known == network => Ok(self),
            known => Err(Error::TwoNetworks(known, network)),
        }
    }

    /// Applies the switches to the axioms of a model.
    pub(crate) fn patched(self, mut a: Axioms) -> Axioms {
        if self.unsignalled {
            unsignalled::patch(&mut a);
        }
        if self.increasing_addresses {
            addresses::patch(&mut a, self.network.remote(Remote::Write, Remote::Write) < Order::Placed);
        }
        network::patch(&mut a, self.network);
        ways::patch(&mut a, self.network);
        if self.global_atomics {
            global::patch(&mut a);
        }
        if self.crashes {
            crashes::patch(&mut a);
        }
        a
    }
}

/// Prints the switches that are on, each behind a plus, in the notation of tests.
impl fmt::Display for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { network, global_atomics, unsignalled, increasing_addresses, messages, crashes, events } = *self;
        let is_relaxed = network == Network::RC_RELAXED;
        if network != Network::RC && !is_relaxed {
            write!(f, "+{network}")?;
        }
        let on = [is_relaxed, global_atomics, unsignalled, increasing_addresses, messages, crashes, events];
        Self::NAMES.iter().zip(on).filter(|(_, on)| *on).try_for_each(|(name, _)| write!(f, "+{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::PRESETS;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in Switches::NAMES {
            assert_eq!(Switches::OFF.with(name).expect("a switch").to_string(), format!("+{name}"));
        }
        for (network, _) in PRESETS.iter().filter(|(network, _)| *network != Network::RC_RELAXED).skip(1) {
            assert_eq!(Switches::OFF.with(network.name).expect("a network").to_string(), format!("+{network}"));
        }
        assert!(Switches::OFF.with("fast").unwrap_err().help().is_some_and(|help| help.contains("relaxed-ordering")));
        let two = Switches::OFF.with("cxi").and_then(|s| s.with("efa")).unwrap_err();
        assert!(two.to_string().contains("one network: cxi or efa"));
        assert_eq!(Switches::OFF.to_string(), String::new());
    }
}
