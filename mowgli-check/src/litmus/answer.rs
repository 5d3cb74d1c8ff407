//! The answer to a litmus test: its outcomes, and the assertions that hold.

use std::collections::BTreeMap;

use mowgli_core::outcome::Explored;
use mowgli_core::problem::Found;
use mowgli_core::runs::Stop;
use mowgli_core::value::Val;
use mowgli_rdma::core_rma::execution::Rules;

use super::stuck::{self, StuckKinds};
use super::test::{Assertion, Quantifier, Test};

/// The answer to a test.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The outcomes: a value for everything that the test shows, with the number of classes of executions.
    pub outcomes: BTreeMap<Vec<Val>, u64>,
    /// For each assertion whether it holds. `None` if that depends on outcomes that a limit kept from being found. Also
    /// `None` if it holds only because there are no outcomes, unless the test says that no execution ends.
    pub holds: Vec<Option<bool>>,
    /// The statistics of the search, and the limit that stopped it.
    pub explored: Explored,
    /// The stuck executions, and the limit that stopped the search for them.
    pub stuck: Found<StuckKinds>,
    /// For each assertion on stuck executions whether it holds; `None` if that depends on executions that were not
    /// found.
    pub liveness: Vec<Option<bool>>,
    /// The rules of coreRMA, if they are not those of the paper.
    pub rules: Option<Rules>,
}

/// The explanation for a program of which no execution ends.
pub const WHY_NONE: &str = "a thread waits for what never happens, or makes a call that cannot be";

/// Returns the message for a program of which no execution ends.
pub(crate) fn vacuous() -> String {
    format!("Vacuous: no execution of the program ends: {WHY_NONE}.\n")
}

impl Answer {
    /// Builds the answer to a test that has these outcomes.
    pub(super) fn new(
        test: &Test,
        outcomes: BTreeMap<Vec<Val>, u64>,
        explored: Explored,
        stuck: Found<StuckKinds>,
    ) -> Self {
        let complete = explored.stop.is_none();
        let holds = test.assertions.iter().map(|a| holds(test, a, &outcomes, complete)).collect();
        let (kinds, stop) = stuck.so_far();
        let liveness = test.liveness.iter().map(|l| stuck::holds(test, l, kinds, stop.is_none())).collect();
        Self { outcomes, holds, explored, stuck, liveness, rules: None }
    }

    /// Returns the kinds of stuck executions.
    #[must_use]
    pub fn kinds(&self) -> &StuckKinds {
        self.stuck.so_far().0
    }

    /// Returns the limit that cut the search for outcomes or for stuck executions short, if one did.
    #[must_use]
    pub fn stop(&self) -> Option<&Stop> {
        self.explored.stop.as_ref().or(self.stuck.so_far().1)
    }

    /// True if executions are stuck and the test has no assertion about that.
    #[must_use]
    pub fn is_stuck(&self, test: &Test) -> bool {
        !self.kinds().is_empty() && !test.speaks_of_stuck()
    }

    /// True if no execution ends. Statements about all executions are then trivial.
    #[must_use]
    pub fn is_vacuous(&self) -> bool {
        self.outcomes.is_empty() && self.explored.stop.is_none()
    }
}

fn holds(test: &Test, assertion: &Assertion, outcomes: &BTreeMap<Vec<Val>, u64>, complete: bool) -> Option<bool> {
    // One such outcome settles the assertion. If there is none, all outcomes must be known.
    let (settled_by, answer) = match assertion.quantifier {
        Quantifier::Allowed => (true, true),
        Quantifier::Forbidden | Quantifier::Vacuous => (true, false),
        Quantifier::Forall => (false, false),
    };
    if outcomes.keys().any(|o| assertion.condition.holds(o) == settled_by) {
        return Some(answer);
    }
    let is_empty_truth = !answer && outcomes.is_empty() && !test.is_meant_vacuous();
    (complete && !is_empty_truth).then_some(!answer)
}
