//! The memory models of tests.

use std::fmt;

use mowgli_core::ids::Name;
use mowgli_core::library::Libraries;
use mowgli_core::unknown::Unknown;
use mowgli_rdma::core_rma::CORE_RMA;
use mowgli_rdma::crash::CRASH;
use mowgli_rdma::tso::TSO;
use mowgli_rdma::wait::WAIT;
use mowgli_rdma::{Network, Switches};
use mowgli_x86::tso::X86;

use crate::error::{Code, InputError};

/// The memory model of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// RDMA-WAIT-RMW together with LOCO's libraries. With a switch other than a network it lacks the libraries that are
    /// checked over the published model.
    RdmaWait(Switches),
    /// RDMA-TSO-RMW, with polls.
    RdmaTso(Switches),
    /// RDMA-SC, with polls and a sequentially consistent CPU.
    RdmaSc,
    /// coreRMA: one process a node, and rules that give happens-before.
    CoreRma,
    /// x86-TSO: one machine, no network.
    X86Tso,
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RdmaWait(switches) => write!(f, "RDMA_WAIT{switches}"),
            Self::RdmaTso(switches) => write!(f, "RDMA_TSO{switches}"),
            Self::RdmaSc => f.write_str("RDMA_SC"),
            Self::CoreRma => f.write_str("CORE_RMA"),
            Self::X86Tso => f.write_str("X86_TSO"),
        }
    }
}

impl std::str::FromStr for Model {
    type Err = InputError;

    /// Parses the name of a model in tests, in capitals or not, with switches as in `RDMA_TSO+relaxed-ordering`.
    fn from_str(text: &str) -> Result<Self, InputError> {
        let (name, on) = text.split_once('+').map_or((text, None), |(name, on)| (name, Some(on)));
        let upper = name.to_uppercase().replace('-', "_");
        let known = Self::ALL.into_iter().find(|m| m.to_string() == upper);
        let model = known.ok_or_else(|| Unknown::new("model", name, Self::ALL))?;
        on.into_iter().flat_map(|on| on.split('+')).try_fold(model, Self::with)
    }
}

impl Model {
    /// All models.
    pub const ALL: [Self; 5] = [Self::RDMA_WAIT, Self::RDMA_TSO, Self::RdmaSc, Self::CoreRma, Self::X86Tso];

    /// RDMA-WAIT-RMW as it is published.
    pub const RDMA_WAIT: Self = Self::RdmaWait(Switches::OFF);

    /// RDMA-TSO-RMW as it is published.
    pub const RDMA_TSO: Self = Self::RdmaTso(Switches::OFF);

    /// Returns the error for a model without switches or networks.
    fn lacks(self, what: &str) -> InputError {
        let error = InputError::new(Code::Unsupported, format!("{self} has no {what}"));
        error.help(format!("those are of {} and {}", Self::RDMA_WAIT, Self::RDMA_TSO))
    }

    /// Turns one more switch on.
    fn with(self, switch: &str) -> Result<Self, InputError> {
        match self {
            Self::RdmaWait(_) if switch == "events" => {
                let message = format!("the switch events is of {}, where threads poll", Self::RDMA_TSO);
                Err(InputError::new(Code::Unsupported, message).help(format!("{self} has no polls")))
            }
            Self::RdmaWait(switches) => Ok(Self::RdmaWait(switches.with(switch)?.fit()?)),
            Self::RdmaTso(switches) => Ok(Self::RdmaTso(switches.with(switch)?.fit()?)),
            _ => Err(self.lacks("switches")),
        }
    }

    /// Returns the model on this network, in place of its own.
    ///
    /// # Errors
    /// If it has none, or a switch that is not defined on this one.
    pub fn on(self, network: Network) -> Result<Self, InputError> {
        let on = |switches| Switches { network, ..switches }.fit();
        match self {
            Self::RdmaWait(switches) => Ok(Self::RdmaWait(on(switches)?)),
            Self::RdmaTso(switches) => Ok(Self::RdmaTso(on(switches)?)),
            _ => Err(self.lacks("networks")),
        }
    }

    /// True if it differs from the published model by its network alone, so that tests make the same calls.
    pub(crate) fn is_published_but_for_network(self) -> bool {
        self.on(Network::RC).is_ok_and(|model| model == self.published())
    }

    /// Returns the model as it is published.
    #[must_use]
    pub fn published(self) -> Self {
        match self {
            Self::RdmaWait(_) => Self::RDMA_WAIT,
            Self::RdmaTso(_) => Self::RDMA_TSO,
            other => other,
        }
    }

    /// Returns its switches, if it has any.
    #[must_use]
    pub fn switches(self) -> Option<Switches> {
        match self {
            Self::RdmaWait(switches) | Self::RdmaTso(switches) => Some(switches),
            Self::RdmaSc | Self::CoreRma | Self::X86Tso => None,
        }
    }

    /// Checks that the model is as it is published.
    ///
    /// # Errors
    /// If a switch is on that `what` does not support.
    pub fn is_published(self, what: &str) -> Result<(), InputError> {
        let plain = self.published();
        if self == plain {
            Ok(())
        } else {
            let message = format!("{what} is for models as they are published: {plain}, not {self}");
            Err(InputError::new(Code::Unsupported, message))
        }
    }

    /// Returns the model whose memory is among these libraries.
    #[must_use]
    pub fn of(libraries: &Libraries) -> Self {
        match () {
            () if libraries.get(X86).is_some() => Self::X86Tso,
            () if libraries.get(TSO).is_some() => Self::RDMA_TSO,
            () if libraries.get(CRASH).is_some() => Self::RdmaWait(Switches::CRASHES),
            () => Self::RDMA_WAIT,
        }
    }

    /// Returns the library of its memory words.
    #[must_use]
    pub fn memory(self) -> Name {
        match self {
            Self::RdmaWait(_) => WAIT,
            Self::RdmaTso(_) | Self::RdmaSc => TSO,
            Self::CoreRma => CORE_RMA,
            Self::X86Tso => X86,
        }
    }
}
