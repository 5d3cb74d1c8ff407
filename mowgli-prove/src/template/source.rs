//! The input from which templates are made.

use std::sync::Arc;

use mowgli_core::ids::Name;
use mowgli_core::library::Libraries;
use mowgli_core::soundness::client::Subject;
use mowgli_core::term::implementation::Implementation;

/// A library with an implementation.
pub struct ProofSource<'a> {
    /// The library with its specification.
    pub specification: &'a Libraries,
    /// The name of the library.
    pub library: Name,
    /// The libraries that the implementation calls.
    pub below: &'a Libraries,
    /// The implementation.
    pub implementation: Arc<dyn Implementation>,
    /// The client generator.
    pub subject: &'a dyn Subject,
}

#[cfg(test)]
impl<'a> ProofSource<'a> {
    /// Returns the published implementation of a library of the catalogue.
    pub(crate) fn published(entry: &'a mowgli_libraries::entry::Entry) -> Self {
        Self {
            specification: &entry.specification,
            library: Name::literal(entry.name),
            below: &entry.below,
            implementation: entry.variant("published").unwrap().implementation.clone(),
            subject: &*entry.subject,
        }
    }
}
