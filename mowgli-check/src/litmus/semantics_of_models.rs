//! The semantics and the notation of each model.

use mowgli_core::ids::Name;

use super::core_rma::CoreRma;
use super::model::Model;
use super::semantics::{OwnNotation, Semantics};

impl Model {
    /// Returns its semantics.
    #[must_use]
    pub fn semantics(self) -> Semantics {
        if self == Self::CoreRma { Semantics::Own(&CoreRma) } else { Semantics::Axioms }
    }

    /// Returns its notation, if that is not the one of the method tables.
    pub(crate) fn notation(self) -> Option<&'static dyn OwnNotation> {
        (self == Self::CoreRma).then_some(&CoreRma)
    }

    /// Returns the notation of the calls of a library, if that is not the one of the method tables.
    pub(crate) fn notation_of(library: Name) -> Option<&'static dyn OwnNotation> {
        Self::ALL.into_iter().filter(|model| model.memory() == library).find_map(Self::notation)
    }
}
