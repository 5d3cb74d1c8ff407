//! A check whose clients are shared among processes: the share of one process, and the results of the others.
//!
//! A line about a client depends only on the client. So any process with all lines reports the same as a single process, however the clients were dealt
//! (`shares`). It repeats the search only where a line has an execution to show.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::local::{ConcretisationText, LocalResult};
use super::progress::Progress;
use crate::ids::Name;
use crate::search::outcome::Explored;
use crate::search::runs::Stop;
use crate::search::solver::Stats;

/// One share of several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// Returns share `number`, counted from 1, of `of` shares; `None` if that does not exist.
    #[must_use]
    pub fn new(number: usize, of: usize) -> Option<Self> {
        (1..=of).contains(&number).then_some(Self { number, of })
    }

    /// Returns its number, from 1.
    #[must_use]
    pub fn number(self) -> usize {
        self.number
    }

    /// Returns the number of shares.
    #[must_use]
    pub fn of(self) -> usize {
        self.of
    }

    /// True if it has the work at this place, where work is dealt in turn. Each turn begins one later, so that periodic
    /// work is dealt evenly too.
    #[must_use]
    pub fn has(self, place: usize) -> bool {
        (place + place / self.of) % self.of == self.number - 1
    }
}

/// The subject of a line, which identifies the work in every process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// A client by its position among all, and whether the check asks for its termination.
    Client(usize, bool),
    /// A client whose outcomes are compared, by the number of clients before it.
    Outcomes(usize),
}

/// The result of a client, without its executions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientLine {
    /// The client.
    pub work: Work,
    /// Whether it has a violation. To show that, a process searches the client again.
    pub fails: bool,
    /// The reason why the search stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Counts of the search.
    #[serde(default)]
    pub stats: Stats,
    /// Whether these are counted with another client, whose search answers for this one.
    #[serde(default)]
    pub copied: bool,
    /// Ways for all calls to return.
    #[serde(default)]
    pub outcomes: u64,
    /// The subevents that stand for each stamp of each method.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concretisation: Vec<(Name, String, Vec<String>)>,
    /// Whether it does not end where it must. To show that, a process searches the client again.
    #[serde(default)]
    pub stays: bool,
    /// The reason why that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Stop>,
}

impl ClientLine {
    pub(super) fn of_client(work: Work, local: &LocalResult, progress: &Progress, copied: bool) -> Self {
        let words = local.concretisation.iter();
        let words = words.map(|((method, stamp), words)| (*method, stamp.clone(), words.iter().cloned().collect()));
        let open = if let Progress::Undecided(stop) = progress { Some(stop.clone()) } else { None };
        Self {
            work,
            fails: local.violation.is_some(),
            stop: local.explored.stop.clone(),
            stats: local.explored.stats,
            copied,
            outcomes: local.outcomes,
            concretisation: words.collect(),
            stays: matches!(progress, Progress::Blocks(..) | Progress::Stuck(..)),
            open,
        }
    }

    pub(super) fn of_outcomes(number: usize, fails: bool, stop: Option<Stop>) -> Self {
        Self {
            work: Work::Outcomes(number),
            fails,
            stop,
            stats: Stats::default(),
            copied: false,
            outcomes: 0,
            concretisation: Vec::new(),
            stays: false,
            open: None,
        }
    }

    /// Returns the result without its executions.
    pub(super) fn local(self) -> LocalResult {
        let words = self.concretisation.into_iter().map(|(method, stamp, words)| ((method, stamp), words));
        LocalResult {
            explored: Explored { stats: self.stats, stop: self.stop, traces: 0, ..Explored::default() },
            outcomes: self.outcomes,
            ends: BTreeSet::new(),
            concretisation: words
                .map(|(key, words)| (key, words.into_iter().collect()))
                .collect::<ConcretisationText>(),
            violation: None,
        }
    }
}

/// A store of lines.
pub trait ClientLog: Sync {
    /// Returns the share of the clients that this process checks; `None` for all.
    fn shard(&self) -> Option<Shard>;

    /// Returns the line of a client, if there is one.
    fn line(&self, work: Work) -> Option<ClientLine>;

    /// Stores the line of a client.
    fn keep(&self, line: ClientLine);
}
