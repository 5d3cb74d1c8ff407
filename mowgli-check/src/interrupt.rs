//! Interruption of work before it is done: at a time limit, or at Ctrl-C. Results so far are kept, and undecided
//! questions are reported.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mowgli_core::runs::Stop;

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

/// The time by which work is to stop, if there is one; Ctrl-C comes before any.
#[derive(Clone, Copy, Default, Debug)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// Returns the deadline this number of seconds from now; `None` means never.
    #[must_use]
    pub fn after(seconds: Option<u64>) -> Self {
        Self(seconds.map(|s| Instant::now() + Duration::from_secs(s)))
    }

    /// Returns this deadline, or the one this number of seconds from now if that is earlier.
    #[must_use]
    pub fn within(self, seconds: u64) -> Self {
        self.after_at_most(Duration::from_secs(seconds))
    }

    /// Returns this deadline, or the one after this time from now if that is earlier.
    #[must_use]
    pub fn after_at_most(self, time: Duration) -> Self {
        let own = Instant::now() + time;
        Self(Some(self.0.map_or(own, |d| d.min(own))))
    }

    /// True if work is to stop.
    #[must_use]
    pub fn expired(self) -> bool {
        requested() || self.0.is_some_and(|d| Instant::now() >= d)
    }
}

/// Returns the reason why a search stopped at a [`Deadline`]: the time limit, or an interruption.
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
