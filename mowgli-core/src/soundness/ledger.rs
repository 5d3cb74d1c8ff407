//! A check whose clients are shared among processes: which of them one process looks at, and what the others have found.
//!
//! What a line says of a client depends on nothing but the client: of those that come after it, each that it was compared with
//! is it, renamed, or is not. So whoever knows the lines of all gives the report that one process would give alone, however the
//! clients were dealt (`shares`), and looks again only where a line says that there is something to show.

use serde::{Deserialize, Serialize};

use super::local::{Concretisation, Local};
use super::progress::Progress;
use crate::ids::Name;
use crate::outcome::Explored;
use crate::runs::Stop;
use crate::search::solver::Stats;

/// One share of several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Piece {
    number: usize,
    of: usize,
}

impl Piece {
    /// Share `number`, from 1, of so many; `None` if there is none such.
    #[must_use]
    pub fn new(number: usize, of: usize) -> Option<Self> {
        (1..=of).contains(&number).then_some(Self { number, of })
    }

    /// Its number, from 1.
    #[must_use]
    pub fn number(self) -> usize {
        self.number
    }

    /// How many there are.
    #[must_use]
    pub fn of(self) -> usize {
        self.of
    }

    /// Whether it has the work at this place, where work is dealt in turn. Each turn begins one later, so that work that comes
    /// in a pattern is dealt evenly too.
    #[must_use]
    pub fn has(self, place: usize) -> bool {
        (place + place / self.of) % self.of == self.number - 1
    }
}

/// Of what a line is: work is known by it in every process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// A client, by its position among all, and whether it is asked whether it ends.
    Client(usize, bool),
    /// A client that is looked at for its outcomes, by how many come before it.
    Outcomes(usize),
}

/// What was found of a client, as far as it can be said without its executions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The client.
    pub work: Work,
    /// Whether something is wrong with it: who wants to show that looks at it again.
    pub fails: bool,
    /// What stopped the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Counts of the search.
    #[serde(default)]
    pub stats: Stats,
    /// Ways for all calls to return.
    #[serde(default)]
    pub outcomes: u64,
    /// The positions of those that are it, renamed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renamed: Vec<usize>,
    /// What stands for each stamp of each method.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concretisation: Vec<(Name, String, Vec<String>)>,
    /// Whether it does not end where it must; then who wants to show that looks at it again.
    #[serde(default)]
    pub stays: bool,
    /// What kept that from being known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Stop>,
}

impl Line {
    pub(super) fn of_client(work: Work, local: &Local, progress: &Progress, renamed: &[usize]) -> Self {
        let words = local.concretisation.iter();
        let words = words.map(|((method, stamp), words)| (*method, stamp.clone(), words.iter().cloned().collect()));
        let open = if let Progress::Undecided(stop) = progress { Some(stop.clone()) } else { None };
        Self {
            work,
            fails: local.violation.is_some(),
            stop: local.explored.stop.clone(),
            stats: local.explored.stats,
            outcomes: local.outcomes,
            renamed: renamed.to_vec(),
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
            outcomes: 0,
            renamed: Vec::new(),
            concretisation: Vec::new(),
            stays: false,
            open: None,
        }
    }

    /// What was found, but for its executions.
    pub(super) fn local(self) -> Local {
        let words = self.concretisation.into_iter().map(|(method, stamp, words)| ((method, stamp), words));
        Local {
            explored: Explored { stats: self.stats, stop: self.stop, traces: 0 },
            outcomes: self.outcomes,
            concretisation: words.map(|(key, words)| (key, words.into_iter().collect())).collect::<Concretisation>(),
            violation: None,
        }
    }
}

/// Where lines are kept.
pub trait Ledger: Sync {
    /// The share of the clients that is looked at; all if there is none.
    fn piece(&self) -> Option<Piece>;

    /// What is known of a client.
    fn line(&self, work: Work) -> Option<Line>;

    /// Keeps what was found of a client.
    fn keep(&self, line: Line);
}
