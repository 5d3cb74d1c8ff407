//! What makes a run the one that it is: shards of different runs are not put together.

use mowgli_core::cat;
use mowgli_core::ids::Name;
use mowgli_core::library::Libraries;
use mowgli_core::soundness::client::Bound;
use mowgli_core::soundness::unfolded;
use mowgli_libraries::entry::{Entry, Variant};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::entry::own_calls;

/// A run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The version of Mowgli.
    pub mowgli: String,
    /// What was asked: the arguments, but for those that say which share is looked at, where, and for how long.
    pub command: Vec<String>,
    /// A hash of what was asked about: specifications, implementations, files.
    pub hash: String,
}

impl Identity {
    /// The run of a command, about what the hash is of.
    #[must_use]
    pub fn new(command: Vec<String>, hash: Hash) -> Self {
        Self { mowgli: env!("CARGO_PKG_VERSION").to_owned(), command, hash: hash.text() }
    }

    /// Why another run is not this one, as what follows `the file`; `None` if it is.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.mowgli != other.mowgli {
            return Some(format!("is of Mowgli {}, not {}", other.mowgli, self.mowgli));
        }
        if self.command != other.command {
            return Some(format!("is of `{}`, not `{}`", other.command.join(" "), self.command.join(" ")));
        }
        let why = "is of another specification, implementation or test: what is asked about has changed since";
        (self.hash != other.hash).then(|| why.to_owned())
    }
}

/// A hash that grows.
#[derive(Clone, Default)]
pub struct Hash(Sha256);

impl Hash {
    /// Adds a text, apart from what comes before and after it.
    pub fn add(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
    }

    fn text(self) -> String {
        self.0.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Adds a library: its specification, the bodies of a variant, and the calls of the clients within these bounds.
    ///
    /// # Errors
    /// If the entry has no library of its name, or the bodies are no terms.
    pub fn add_library(&mut self, entry: &Entry, variant: &Variant, bounds: &[Bound]) -> Result<(), String> {
        entry.library()?;
        self.add(&format!("{} {} {:?} {bounds:?}", entry.name, variant.name, variant.expected));
        for name in entry.specification.names().chain(entry.below.names()) {
            let of = if entry.specification.get(name).is_some() { &entry.specification } else { &entry.below };
            self.add(&said(of, name));
        }
        let calls = own_calls(entry, bounds, &|| false).unwrap_or_default();
        unfolded::shapes(&entry.specification, &calls, &mut |text| self.add(text));
        unfolded::bodies(&*variant.implementation, &calls, &mut |text| self.add(text))
    }
}

/// A specification, or why it cannot be said.
fn said(libraries: &Libraries, name: Name) -> String {
    cat::cat(name.text(), libraries, name).unwrap_or_else(|why| why)
}
