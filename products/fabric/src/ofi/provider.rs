//! The transports between processes.

use std::str::FromStr;

use crate::left;
use crate::port::Fault;

/// The transport of operations between processes.
///
/// A library is checked for a reliable connection of InfiniBand. Where a provider promises less, each operation waits for those
/// that it must not pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Provider {
    /// Sockets, by libfabric.
    Tcp,
    /// Messages through shared memory between the processes of one machine, by libfabric.
    Shm,
    /// Memory that the processes of one machine map. The CPU performs all operations, and libfabric is not needed.
    Memory,
    /// InfiniBand and RoCE, by libfabric. It is untried, because it needs such a card.
    Verbs,
    /// The Elastic Fabric Adapter of Amazon, by libfabric. It is untried, because it needs such a card.
    Efa,
    /// Slingshot of HPE, by libfabric. It is untried, because it needs such a card.
    Cxi,
    /// Sockets, of which no order is requested, and the CPU performs no operation over the network. So code for `Efa` and `Verbs`
    /// runs without their cards.
    Unordered,
}

impl Provider {
    /// All providers.
    pub const ALL: [Self; 7] = [Self::Memory, Self::Shm, Self::Tcp, Self::Verbs, Self::Efa, Self::Cxi, Self::Unordered];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Shm => "shm",
            Self::Memory => "memory",
            Self::Verbs => "verbs",
            Self::Efa => "efa",
            Self::Cxi => "cxi",
            Self::Unordered => "unordered",
        }
    }

    /// Returns how libfabric opens it at a host. `tcp` and `verbs` have connections only, and `ofi_rxm` builds endpoints on them
    /// that reach every peer.
    pub(super) fn opening(self, host: &str) -> Result<Opening, Fault> {
        let by_cpu = |provider, source| Opening {
            provider,
            source,
            is_ordered: true,
            cpu_excludes: true,
            words_by_atomics: false,
        };
        let by_card = |provider, source| Opening { cpu_excludes: false, ..by_cpu(provider, source) };
        Ok(match self {
            Self::Tcp => Opening { words_by_atomics: true, ..by_cpu("tcp;ofi_rxm", host.to_owned()) },
            Self::Unordered => {
                Opening { is_ordered: false, words_by_atomics: true, ..by_card("tcp;ofi_rxm", host.to_owned()) }
            }
            Self::Shm => by_cpu("shm", left::name()),
            Self::Verbs => by_card("verbs;ofi_rxm", host.to_owned()),
            Self::Efa => by_card("efa", String::new()),
            Self::Cxi => by_card("cxi", String::new()),
            Self::Memory => return Err(Fault::Wrong("memory: this needs a provider of libfabric".to_owned())),
        })
    }
}

/// Reads the name of a provider.
impl FromStr for Provider {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let none =
            || Fault::Wrong(format!("there is no provider {text}, but {}", Self::ALL.map(Self::name).join(", ")));
        Self::ALL.into_iter().find(|one| one.name() == text).ok_or_else(none)
    }
}

/// The arguments with which libfabric opens a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Opening {
    /// Libfabric's name of the provider.
    pub(super) provider: &'static str,
    /// The source of endpoint names: the address of the machine, a name of this process, or nothing if the provider has its own.
    pub(super) source: String,
    /// False if no order is requested.
    pub(super) is_ordered: bool,
    /// True if the provider makes atomic operations by locked instructions of the CPU at the target. Then those of the CPU there
    /// exclude them.
    pub(super) cpu_excludes: bool,
    /// True if puts and gets are atomic operations. Over `tcp` the bytes of a put are placed as they arrive. So where a segment of the
    /// network ends inside a word, a reader would see half of it. An atomic operation is placed by words after all of it has arrived, and its
    /// source is read when it is posted.
    pub(super) words_by_atomics: bool,
}
