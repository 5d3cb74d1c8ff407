//! The identity of a run, so that shards of different runs are not merged.

use std::ffi::OsString;

use mowgli_core::cat;
use mowgli_core::ids::Name;
use mowgli_core::library::Libraries;
use mowgli_core::soundness::unfolded;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Entry, Variant};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::catalogue::Catalogue;
use crate::entry::own_calls;
use crate::error::{Code, InputError};

/// A run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The version of Mowgli.
    pub mowgli: String,
    /// The arguments, without those for the share, the output, the threads and the time.
    pub command: Vec<String>,
    /// A hash of the specifications, implementations and files of the run.
    pub hash: String,
}

impl Identity {
    /// Returns the identity of a run of a command, with the hash of its inputs.
    #[must_use]
    pub fn new(command: Vec<String>, hash: Hash) -> Self {
        Self { mowgli: env!("CARGO_PKG_VERSION").to_owned(), command, hash: hash.text() }
    }

    /// Returns the difference of another run from this one as a text that follows `the file`; `None` if they are the
    /// same.
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

    /// Checks that the specifications, implementations and tests have not changed since the run: `hash` is theirs now.
    ///
    /// # Errors
    /// If they have.
    pub fn is_of(&self, hash: Hash) -> Result<(), InputError> {
        let now = Self::new(self.command.clone(), hash);
        let why = now.difference(self).map(|why| format!("the shards cannot be merged here: each file {why}"));
        why.map_or(Ok(()), |why| Err(InputError::new(Code::Argument, why)))
    }
}

/// The arguments that may differ between the shards of a run.
const TAKEN: [&str; 4] = ["--shard", "--out", "--jobs", "--timeout"];

/// Returns the arguments of a command that determine the results. It drops those for the share, the output, the
/// number of threads and the time.
///
/// # Errors
/// If an argument is not UTF-8.
pub fn question(arguments: &[OsString]) -> Result<Vec<String>, InputError> {
    let mut left = Vec::new();
    let not_text = |a: &OsString| InputError::new(Code::Argument, format!("{}: not UTF-8", a.display()));
    let mut arguments = arguments.iter().map(|a| a.to_str().map(str::to_owned).ok_or_else(|| not_text(a)));
    while let Some(argument) = arguments.next().transpose()? {
        // The time limit of `litmus` and `networks` is one for each result, so it determines results.
        let is_of_each = left.first().is_some_and(|command| command == "litmus" || command == "networks");
        let is_taken = |flag: &str| TAKEN.contains(&flag) && !(flag == "--timeout" && is_of_each);
        if is_taken(&argument) {
            arguments.next();
        } else if !argument.split_once('=').is_some_and(|(flag, _)| is_taken(flag)) {
            left.push(argument);
        }
    }
    Ok(left)
}

/// A hash that grows.
#[derive(Clone, Default)]
pub struct Hash(Sha256);

impl Hash {
    /// Adds a text with its length, so that it cannot run into the texts before and after it.
    pub fn add(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
    }

    fn text(self) -> String {
        self.0.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Adds an implementation as bal:no-fence, if the catalogue has its library.
    ///
    /// # Errors
    /// If the library has no such variant, or see [`Self::add_library`].
    pub fn add_implementation(&mut self, catalogue: &Catalogue, name: &str) -> Result<(), InputError> {
        let (library, variant) = name.split_once(':').unwrap_or((name, "published"));
        let Ok(entry) = named(catalogue.entries(), library) else { return Ok(()) };
        let variant = entry.variant(variant)?;
        self.add_library(entry, variant, &variant.bounds)
    }

    /// Adds a library: its specification, the bodies of a variant, and the calls of the clients within these bounds.
    ///
    /// # Errors
    /// If the entry has no library of its name, or the bodies are not terms.
    pub fn add_library(&mut self, entry: &Entry, variant: &Variant, bounds: &[Bound]) -> Result<(), InputError> {
        entry.library()?;
        self.add(&format!("{} {} {:?} {bounds:?}", entry.name, variant.name, variant.expected));
        for name in entry.specification.names().chain(entry.below.names()) {
            let of = if entry.specification.get(name).is_some() { &entry.specification } else { &entry.below };
            self.add(&said(of, name));
        }
        let calls = own_calls(entry, bounds, &|| false).unwrap_or_default();
        unfolded::shapes(&entry.specification, &calls, &mut |text| self.add(text));
        unfolded::bodies(&*variant.implementation, &calls, &mut |text| self.add(text))
            .map_err(|error| InputError::of(Code::Library, error))
    }
}

/// Returns a specification in cat, or the reason why cat cannot express it.
fn said(libraries: &Libraries, name: Name) -> String {
    cat::cat(name.text(), libraries, name).unwrap_or_else(|why| why.to_string())
}
