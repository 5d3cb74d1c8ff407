//! A program with all that gives it a meaning and limits a search, and what a search that may have been stopped found.

use crate::denote::Unfolder;
use crate::event::{Cell, Event};
use crate::implementation::Implementations;
use crate::library::{Libraries, Library};
use crate::program::Prog;
use crate::runs::{Stop, initial_value};
use crate::value::Val;
use crate::world::World;

/// What limits a search.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// How many rounds of a loop with effects may end without a break.
    pub rounds: usize,
    /// How many plain executions a thread may have.
    pub traces: usize,
    /// Whether the time is up. Asked often; the core reads no clock.
    pub expired: &'a dyn Fn() -> bool,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self { rounds: 3, traces: 200_000, expired: &|| false }
    }
}

/// A program with everything that gives it a meaning.
pub struct Problem<'a> {
    /// The libraries of the calls that are not replaced.
    pub libraries: &'a Libraries,
    /// The implementations that replace the other calls; their objects are in `world`.
    pub implementations: &'a Implementations,
    /// The surroundings.
    pub world: &'a World,
    /// One program for each thread.
    pub programs: &'a [Prog],
    /// Cells whose last value is observed.
    pub observed: &'a [Cell],
    /// Limits.
    pub limits: Limits<'a>,
}

impl Problem<'_> {
    /// Whether every library admits these events. Runs that share a skeleton differ in results, so each is asked about.
    pub(crate) fn admits(&self, events: &[&Event]) -> bool {
        self.all_say(events, |library, own| library.admits(self.world, own))
    }

    /// Whether every library says so of its own events.
    pub(crate) fn all_say(&self, events: &[&Event], says: impl Fn(&dyn Library, &[&Event]) -> bool) -> bool {
        self.libraries.names().all(|name| {
            let own: Vec<&Event> = events.iter().filter(|e| e.call.library == name).copied().collect();
            own.is_empty() || self.libraries.get(name).is_some_and(|l| says(l, &own))
        })
    }

    pub(crate) fn unfolder(&self) -> Unfolder<'_> {
        Unfolder {
            libraries: self.libraries,
            implementations: self.implementations,
            world: self.world,
            rounds: self.limits.rounds,
            limit: self.limits.traces,
            expired: self.limits.expired,
        }
    }

    pub(crate) fn initial(&self, cell: Cell) -> Val {
        initial_value(self.libraries, self.world, cell)
    }
}

/// What a search found, which may be less than there is: nobody reads it without looking at what stopped the search.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a search that was stopped has not found everything"]
pub struct Found<T> {
    so_far: T,
    stop: Option<Stop>,
}

impl<T> Found<T> {
    /// What was found until `stop`, or all there is.
    pub fn new(so_far: T, stop: Option<Stop>) -> Self {
        Self { so_far, stop }
    }

    /// All there is.
    ///
    /// # Errors
    /// What stopped the search before it had found everything.
    pub fn all(self) -> Result<T, Stop> {
        self.stop.map_or(Ok(self.so_far), Err)
    }

    /// What was found, and what stopped the search, if anything did.
    pub fn so_far(&self) -> (&T, Option<&Stop>) {
        (&self.so_far, self.stop.as_ref())
    }

    /// The same, to keep.
    pub fn into_parts(self) -> (T, Option<Stop>) {
        (self.so_far, self.stop)
    }
}
