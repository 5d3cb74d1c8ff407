//! Interruption of work before it is done: at a limit of steps or of time, or at Ctrl-C. Results so far are kept, and
//! undecided questions are reported.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mowgli_core::search::runs::Stop;

use crate::error::{Bug, InputError};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Asks all work of this process to stop; `false` if that had been asked before.
pub fn request() -> bool {
    !REQUESTED.swap(true, Ordering::Relaxed)
}

/// True if work is to stop.
#[must_use]
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// The steps that a search takes in about a second.
pub const SECOND: u64 = 100_000;

/// The limit by which work is to stop, if there is one; Ctrl-C comes before any. A step is a time at which a search asks whether
/// to stop. Steps are counted, so a busy machine changes no verdict; a time cancels the work. Searches whose deadlines come
/// from one call of [`Deadline::after`] share its count.
#[derive(Clone, Default, Debug)]
pub struct Deadline {
    time: Option<Instant>,
    end: Option<u64>,
    taken: Arc<AtomicU64>,
}

impl Deadline {
    /// Returns the deadline this number of seconds from now; `None` means never.
    #[must_use]
    pub fn after(seconds: Option<u64>) -> Self {
        Self { time: seconds.and_then(|s| Instant::now().checked_add(Duration::from_secs(s))), ..Self::default() }
    }

    /// Returns this deadline, or the one this number of steps from now if that is earlier.
    #[must_use]
    pub fn within(&self, more: u64) -> Self {
        let own = self.steps().saturating_add(more);
        Self { end: Some(self.end.map_or(own, |known| known.min(own))), ..self.clone() }
    }

    /// Returns the number of steps so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Counts a step, and returns whether work is to stop.
    #[must_use]
    pub fn expired(&self) -> bool {
        let step = self.taken.fetch_add(1, Ordering::Relaxed);
        requested() || self.end.is_some_and(|end| step >= end) || self.time.is_some_and(|d| Instant::now() >= d)
    }
}

/// Returns the reason why a search stopped at a [`Deadline`]: its limit, or an interruption.
#[must_use]
pub fn cause(stop: Stop) -> Stop {
    if stop == Stop::Time && requested() { Stop::Interrupted } else { stop }
}

/// A question that a limit kept from being decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undecided {
    /// The question, for example `whether (a=1) is possible`.
    pub question: String,
    /// The limit that stopped the search for the answer.
    pub stop: Stop,
}

impl Undecided {
    /// The question that `stop` kept from being decided.
    #[must_use]
    pub fn new(question: String, stop: Stop) -> Self {
        Self { question, stop: cause(stop) }
    }
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stop {
            Stop::IllDefined(_) => write!(f, "{} has no answer: {}", self.question, self.stop),
            _ => write!(f, "{} was not known before {}", self.question, self.stop),
        }
    }
}

/// The reason why there is no answer. A violation is an answer: see [`mowgli_core::soundness::local::Violation`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The input has an error.
    #[error("{0}")]
    Input(InputError),
    /// A limit came before the answer.
    #[error("{0}")]
    Undecided(Undecided),
    /// Mowgli contradicts itself.
    #[error(transparent)]
    Bug(#[from] Bug),
}

impl Failure {
    /// Names the file of an error of the input: before its place, or else before its message.
    #[must_use]
    pub fn within(self, thing: &impl fmt::Display) -> Self {
        match self {
            Self::Input(error) => Self::Input(error.within(thing)),
            other => other,
        }
    }
}

impl<E: Into<InputError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Input(error.into())
    }
}

impl From<Undecided> for Failure {
    fn from(undecided: Undecided) -> Self {
        Self::Undecided(undecided)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_side_by_side_have_budgets_of_their_own() {
        let [one, other] = [(); 2].map(|()| Deadline::default().within(3));
        assert_eq!([(); 4].map(|()| one.expired()), [false, false, false, true]);
        assert!(!other.expired(), "another search has taken no step");
        let part = other.within(10);
        assert_eq!([(); 3].map(|()| part.expired()), [false, false, true], "a part has no more than the whole");
        assert_eq!(other.steps(), 4);
        assert!(other.expired(), "steps of a part are steps of the whole");
    }
}
