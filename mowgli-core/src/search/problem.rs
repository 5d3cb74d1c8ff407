//! A program with its libraries, world and limits, and the possibly incomplete result of a search.

use crate::event::{Cell, Event};
use crate::library::{Hints, Libraries};
use crate::search::denote::Unfolder;
use crate::search::runs::{Stop, initial_value};
use crate::term::implementation::Implementations;
use crate::term::script::Script;
use crate::value::Val;
use crate::world::World;

/// The limits of a search.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// The number of rounds of a loop with effects that may end without a break.
    pub rounds: usize,
    /// The number of plain executions that a thread may have.
    pub traces: usize,
    /// Whether the deadline has passed. The search asks often. The core itself reads no clock.
    pub expired: &'a dyn Fn() -> bool,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self { rounds: 3, traces: 200_000, expired: &|| false }
    }
}

/// A program with everything that defines its meaning.
pub struct Problem<'a> {
    /// The libraries of the calls that are not replaced.
    pub libraries: &'a Libraries,
    /// The implementations that replace the other calls; their objects are in `world`.
    pub implementations: &'a Implementations,
    /// The objects, nodes and threads.
    pub world: &'a World,
    /// One program for each thread.
    pub programs: &'a [Script],
    /// Cells whose last value is observed.
    pub observed: &'a [Cell],
    /// Limits.
    pub limits: Limits<'a>,
}

impl<'a> Problem<'a> {
    /// Returns the problem of these programs, without implementations and observed cells, with the default limits.
    #[must_use]
    pub fn of(libraries: &'a Libraries, world: &'a World, programs: &'a [Script]) -> Self {
        static NONE: Implementations = Implementations::new();
        Self { libraries, implementations: &NONE, world, programs, observed: &[], limits: Limits::default() }
    }
}

impl Problem<'_> {
    /// True if every library admits these events. Runs that share a skeleton differ in results, so callers ask for each
    /// run.
    pub(crate) fn admits(&self, events: &[&Event]) -> bool {
        self.all_say(events, |library, own| library.admits(self.world, own))
    }

    /// True if `says` holds for every library and its own events.
    pub(crate) fn all_say(&self, events: &[&Event], says: impl Fn(&dyn Hints, &[&Event]) -> bool) -> bool {
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

/// The possibly incomplete result of a search. Its type makes every reader consider the reason why the search stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a search that was stopped has not found everything"]
pub struct Found<T> {
    so_far: T,
    stop: Option<Stop>,
}

impl<T> Found<T> {
    /// Wraps the results found until `stop`; all results if that is `None`.
    pub fn new(so_far: T, stop: Option<Stop>) -> Self {
        Self { so_far, stop }
    }

    /// Returns the complete result.
    ///
    /// # Errors
    /// The reason why the search stopped before it was complete.
    pub fn all(self) -> Result<T, Stop> {
        self.stop.map_or(Ok(self.so_far), Err)
    }

    /// Returns the results so far, and the reason why the search stopped, if it did.
    pub fn so_far(&self) -> (&T, Option<&Stop>) {
        (&self.so_far, self.stop.as_ref())
    }

    /// Returns the same by value.
    pub fn into_parts(self) -> (T, Option<Stop>) {
        (self.so_far, self.stop)
    }
}
