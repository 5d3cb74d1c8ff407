//! The transports between processes.

use std::str::FromStr;

use crate::left;
use crate::port::Fault;

/// The transport of operations between processes.
///
/// A library is checked for a reliable connection of InfiniBand. A provider that promises less is refused.
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
}

impl Provider {
    /// All providers.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Shm, Self::Tcp, Self::Verbs];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Shm => "shm",
            Self::Memory => "memory",
            Self::Verbs => "verbs",
        }
    }

    /// Checks that the provider can be used.
    ///
    /// # Errors
    /// If there is no folder of shared memory, or libfabric is needed, and this crate was built without it or libfabric does not have
    /// the provider here.
    pub fn check(self) -> Result<(), Fault> {
        if self == Self::Memory {
            return left::check().map_err(Fault::Wrong);
        }
        #[cfg(libfabric)]
        return self.opened();
        #[cfg(not(libfabric))]
        Err(Fault::Wrong(format!(
            "{}: this was built without libfabric: install libfabric 1.17 or later with its headers (libfabric-dev), `cargo clean -p \
             mowgli-fabric`, and build again",
            self.name()
        )))
    }

    /// Returns how libfabric opens it at a host. `tcp` and `verbs` have connections only, and `ofi_rxm` builds endpoints on them
    /// that reach every peer.
    #[cfg(libfabric)]
    pub(crate) fn opening(self, host: &str) -> Result<Opening, Fault> {
        let (provider, source) = match self {
            Self::Tcp => ("tcp;ofi_rxm", host.to_owned()),
            Self::Shm => ("shm", left::name()),
            Self::Verbs => ("verbs;ofi_rxm", host.to_owned()),
            Self::Memory => return Err(Fault::Wrong("memory: this needs a provider of libfabric".to_owned())),
        };
        Ok(Opening { provider, source, cpu_excludes: self != Self::Verbs, words_by_atomics: self == Self::Tcp })
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
#[cfg(libfabric)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Opening {
    /// Libfabric's name of the provider.
    pub(crate) provider: &'static str,
    /// The source of endpoint names: the address of the machine, a name of this process, or nothing if the provider has its own.
    pub(crate) source: String,
    /// True if the provider makes atomic operations by locked instructions of the CPU at the target. Then those of the CPU there
    /// exclude them.
    pub(crate) cpu_excludes: bool,
    /// True if puts and gets are atomic operations. Over `tcp` the bytes of a put are placed as they arrive. So where a segment of the
    /// network ends inside a word, a reader would see half of it. An atomic operation is placed by words after all of it has arrived, and its
    /// source is read when it is posted.
    pub(crate) words_by_atomics: bool,
}
