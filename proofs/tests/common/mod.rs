//! Questions that several proofs ask.

use mowgli::check::CheckOptions;
use mowgli::necessity::{self, ChangeKind, ChangeResult};
use mowgli_libraries::catalogue::{catalogue, named};

/// Finds which operations of an implementation are needed, at the default bounds.
///
/// # Panics
/// If the library or variant does not exist, or the variant is not sound.
pub fn necessity(library: &str, variant: &str) -> Vec<ChangeResult> {
    let all = catalogue();
    let entry = named(&all, library).expect("a library of the catalogue");
    let variant = entry.variant(variant).expect("a variant of the library");
    let (question, bounds) = (ChangeKind::Necessity, necessity::bounds(entry));
    let found = necessity::necessity(question, entry, variant, bounds, &CheckOptions::default(), &mut |_| {});
    found.expect("a sound implementation").rows
}
