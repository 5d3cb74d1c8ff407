//! The errors of this crate: names that nothing has, and combinations that are not defined.

use itertools::Itertools as _;
use mowgli_core::ids::{Loc, Name};
use mowgli_core::search::runs::Stop;
use mowgli_core::unknown::Unknown;
use mowgli_core::value::Val;

use crate::network::Network;

/// An error in a name, a combination of switches, or a program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// No network, rule, preset or bit of libfabric has this name.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// No switch and no network has this name.
    #[error("no switch {}", switches.name)]
    Switch {
        /// The name, and the switches that exist.
        switches: Unknown,
        /// The error for a network of this name.
        networks: Box<Self>,
    },
    /// Two switches, or a switch and a network, cannot be on together.
    #[error("the switches {one} and {other} cannot be on together: {why}")]
    Together {
        /// One of them.
        one: &'static str,
        /// The other one.
        other: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// A switch is not defined on a network with another order, or with other completions, than `rc`.
    #[error("the switch {switch} is not defined on {network}: it needs {need}", need = needs(switch))]
    NeedsOrder {
        /// The switch.
        switch: &'static str,
        /// The network.
        network: Network,
        /// The networks on which it is defined.
        others: Vec<Network>,
    },
    /// A model was put on two networks.
    #[error("a model is over one network: {0} or {1}")]
    TwoNetworks(Network, Network),
    /// A value is not a way to make a call.
    #[error("{0} is no way to make a call")]
    NotAWay(Val),
    /// A name behind `@` is not a way to make a call.
    #[error("@{0} says of no call how it is made")]
    Way(String),
    /// A queue pair has a number that is too large, or none.
    #[error("{name} is not a queue pair")]
    QueuePair {
        /// The name as it is written.
        name: String,
        /// The largest number.
        most: u8,
    },
    /// The machine has memory words only, and this location is another object, or has no node.
    #[error("{0} is an object of {1}; the machine has memory words only")]
    NotAWord(Loc, Name),
    /// A program has more actions than a search can hold.
    #[error("a program of {model} can have {most} actions, and this one has {actions}")]
    TooLarge {
        /// The model.
        model: &'static str,
        /// The number of actions of the program.
        actions: usize,
        /// The largest number of actions.
        most: usize,
    },
    /// A limit stopped the search.
    #[error("{0}")]
    Stopped(Stop),
}

/// Returns the promise of a network that a switch needs.
fn needs(switch: &str) -> &'static str {
    match switch {
        "messages" => "writes of a queue pair that arrive in order",
        _ => "operations that arrive, and complete, as on rc",
    }
}

impl Error {
    /// Returns the remedy, which is not part of the message except for an unknown name.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Unknown(unknown) => Some(unknown.help()),
            Self::Switch { switches, networks } => match (switches.nearest(), &**networks) {
                (None, Self::Unknown(networks)) if networks.nearest().is_some() => Some(networks.help()),
                (None, networks) => Some(format!("there are {}; and {networks}", switches.known.join(", "))),
                (Some(_), _) => Some(switches.help()),
            },
            Self::Together { .. } | Self::TwoNetworks(..) => Some("leave one of them out".to_owned()),
            Self::NeedsOrder { others, .. } => Some(format!("it is defined on {}", others.iter().join(", "))),
            Self::Way(_) => {
                let others = "@delivered for a put, @weak and @strong for an atomic operation";
                Some(format!("there are @q2, @unsignalled and @q2,unsignalled, @fence, @strict, {others}"))
            }
            Self::QueuePair { most, .. } => Some(format!("queue pairs are q1 to q{most}")),
            Self::NotAWay(_) | Self::NotAWord(..) | Self::TooLarge { .. } | Self::Stopped(_) => None,
        }
    }
}
