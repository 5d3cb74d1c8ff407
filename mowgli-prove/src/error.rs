//! The errors of the prover, by kind: a refusal is a limit, a contradiction is a bug, and an unknown name is bad input.
//!
//! A violation is none of these: if an execution shows that an implementation is wrong, an obligation stays open.

use std::fmt;

use mowgli_core::event::SourceLine;
use mowgli_core::unknown::Unknown;

/// A part of an implementation or of a specification that the prover cannot translate, so that nothing is proved.
///
/// It says nothing against the implementation: the bounded check may still decide it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The method, lemma or library that contains the part.
    pub about: Option<String>,
    /// The reason.
    pub why: String,
    /// The line of the part in the source.
    pub place: SourceLine,
}

impl Refusal {
    /// Makes a refusal for this reason.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self { about: None, why: why.into(), place: SourceLine::default() }
    }

    /// Names the method, lemma or library that contains the part: the outermost one comes first.
    #[must_use]
    pub fn about(self, thing: impl fmt::Display) -> Self {
        let about = self.about.map_or_else(|| thing.to_string(), |inner| format!("{thing}: {inner}"));
        Self { about: Some(about), ..self }
    }

    /// Adds the line.
    #[must_use]
    pub fn at(self, place: SourceLine) -> Self {
        Self { place, ..self }
    }

    /// Returns the reason with the line.
    #[must_use]
    pub fn reason(&self) -> String {
        self.place.text().map_or_else(|| self.why.clone(), |place| format!("{} ({place})", self.why))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.about.as_ref().map_or(Ok(()), |about| write!(f, "{about}: "))?;
        f.write_str(&self.reason())
    }
}

impl std::error::Error for Refusal {}

/// A bug: an execution that the judge accepts contradicts the theory, so that a proof from the theory would be void.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Contradiction(pub String);

/// An error that keeps the prover from a proof.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// The prover cannot translate a part of the input.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// An execution contradicts the theory.
    #[error(transparent)]
    Contradicted(#[from] Contradiction),
    /// No variant of a theorem has this name.
    #[error(transparent)]
    Unknown(#[from] Unknown),
}

/// Makes a [`Refusal`] whose reason is written like the argument of `format!`.
macro_rules! refusal {
    ($($why:tt)*) => { $crate::error::Refusal::new(format!($($why)*)) };
}

/// Makes a [`Contradiction`] whose text is written like the argument of `format!`.
macro_rules! contradiction {
    ($($text:tt)*) => { $crate::error::Contradiction(format!($($text)*)) };
}

pub(crate) use {contradiction, refusal};

#[cfg(test)]
mod tests {
    use std::panic::Location;

    #[test]
    fn a_refusal_names_the_method_first_and_the_line_last() {
        let refusal = refusal!("it has {} loops", 2).about("Acq").about("nlock");
        assert_eq!(refusal.to_string(), "nlock: Acq: it has 2 loops");
        let here = Location::caller();
        let refusal = refusal.at(here.into());
        assert_eq!(refusal.to_string(), format!("nlock: Acq: it has 2 loops (error.rs:{})", here.line()));
    }
}
