//! The errors of an entry: a variant or a library that it does not have, and networks that it cannot be moved to.

use itertools::Itertools;
use mowgli_core::ids::Name;
use mowgli_core::unknown::Unknown;

/// An error in an entry, or in what a caller wants of it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// No variant of the entry has this name.
    #[error("{entry} has {unknown}")]
    Variant {
        /// The entry.
        entry: &'static str,
        /// The name, and the variants that exist.
        unknown: Unknown,
    },
    /// No variant of the entry is expected to be correct.
    #[error(
        "{entry} has no variant that is expected to be sound: ask for one of {} by its name", variants.iter().join(", ")
    )]
    NoSoundVariant {
        /// The entry.
        entry: &'static str,
        /// Its variants.
        variants: Vec<&'static str>,
    },
    /// The specification of the entry has no library of the entry's name.
    #[error(
        "the entry {entry} specifies no library of that name, but {}: let name be what Library::name gives",
        specified.iter().join(", ")
    )]
    NoLibrary {
        /// The entry.
        entry: &'static str,
        /// The libraries that it specifies.
        specified: Vec<Name>,
    },
    /// The memory model of the entry has no network.
    #[error("{0} is over a memory model without a network")]
    NoNetwork(&'static str),
    /// A switch of the entry's memory model is not defined on the network.
    #[error("{entry}: {why}")]
    Network {
        /// The entry.
        entry: &'static str,
        /// The reason.
        why: mowgli_rdma::Error,
    },
}
