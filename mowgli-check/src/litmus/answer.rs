//! The answer to a litmus test: its outcomes, and the assertions that hold.

use std::collections::{BTreeMap, BTreeSet};

use mowgli_core::search::fault::CallFault;
use mowgli_core::search::outcome::Explored;
use mowgli_core::search::problem::Found;
use mowgli_core::search::runs::Stop;
use mowgli_core::value::Val;
use serde::{Serialize, Serializer};

use super::program::{Standings, wrong_call, wrong_statement};
use super::stuck::{self, StuckKinds};
use super::test::{Assertion, Quantifier, Test};
use crate::error::{Code, InputError};

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
    /// The random runs that looked for what the search left open.
    pub runs: WitnessRuns,
    /// The rules of the semantics, if it has rules that are not those of its paper.
    pub rules: Option<String>,
    /// The ways in which the test is outside of what a specification covers: see [`super::outside`].
    pub outside: Vec<String>,
}

/// Random runs of the machine that looked for outcomes which decide assertions.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct WitnessRuns {
    /// The number of runs.
    pub runs: u64,
    /// The runs that decide an assertion.
    pub seen: Vec<WitnessRun>,
}

/// A run whose outcome decides an assertion.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WitnessRun {
    /// The position of the assertion.
    pub assertion: usize,
    /// The assertion.
    pub text: String,
    /// Whether it holds.
    pub holds: bool,
    /// The seed, with which `mowgli walk` repeats the run.
    pub seed: u64,
    /// The choices of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<usize>,
}

/// The verdict on a test: every command that solves one shows this.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TestVerdict {
    /// Each assertion holds, on outcomes and on stuck executions.
    Holds,
    /// The test has no assertion, and no execution is stuck.
    Unasserted,
    /// An assertion is false.
    Fails,
    /// No execution ends, and the test does not say so.
    Vacuous,
    /// Executions are stuck, and the test has no assertion about that.
    Stuck,
    /// A limit cut the search short.
    Undecided,
    /// A statement has no meaning in some execution, for example a sum of a truth value.
    IllDefined,
}

impl TestVerdict {
    /// Returns the verdict in a word or two.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Unasserted => "asserts nothing",
            Self::Fails => "fails",
            Self::Vacuous => "vacuous",
            Self::Stuck => "stuck",
            Self::Undecided => "undecided",
            Self::IllDefined => "ill-defined",
        }
    }

    /// True if an edit of the test can be a repair: an assertion is false, or executions are stuck.
    #[must_use]
    pub fn is_wrong(self) -> bool {
        matches!(self, Self::Fails | Self::Vacuous | Self::Stuck)
    }

    /// Returns the exit code of a command. It is 0 if nothing is wrong, 1 if an assertion is false, and 2 if the test itself is
    /// wrong. It is 3 if the verdict is open, or if executions are stuck about which the test has no assertion.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Holds | Self::Unasserted => 0,
            Self::Fails => 1,
            Self::IllDefined => 2,
            Self::Vacuous | Self::Stuck | Self::Undecided => 3,
        }
    }
}

/// As its text.
impl Serialize for TestVerdict {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.text())
    }
}

/// The explanation for a program of which no execution ends.
pub const WHY_NONE: &str =
    "a thread waits for what never happens, makes a call that cannot be, or assumes what is never true";

/// Returns the error in a test that has no meaning, because of this fault. Its place is the statement that makes the call.
#[must_use]
pub fn ill_defined(test: &Test, fault: &CallFault) -> InputError {
    let thread = &test.threads[fault.thread.index()];
    let at = fault.call.as_ref().and_then(wrong_statement);
    let Some((line, text)) = at.and_then(|at| thread.source.get(at)) else {
        return InputError::new(Code::Value, format!("{}: {fault}", test.name));
    };
    let message = format!("{}: {} cannot make `{text}`: {}", test.name, thread.name, fault.what);
    InputError::new(Code::Value, message).at(test.place(fault.thread.index(), *line, text))
}

/// Returns the message for a program of which no execution ends.
pub(crate) fn vacuous() -> String {
    format!("Vacuous: no execution of the program ends: {WHY_NONE}.\n")
}

impl Answer {
    /// Builds the answer to a test that has these outcomes.
    pub(super) fn new(
        test: &Test,
        mut outcomes: BTreeMap<Vec<Val>, u64>,
        mut explored: Explored,
        stuck: Found<StuckKinds>,
    ) -> Self {
        // An execution in which only servers wait is over.
        let (kinds, stop) = stuck.into_parts();
        let (over, kinds): (StuckKinds, StuckKinds) = kinds.into_iter().partition(|(kind, _)| kind.is_over(test));
        over.into_keys().for_each(|kind| *outcomes.entry(kind.shown).or_insert(0) += 1);
        if !test.servers.is_empty() {
            explored.stop = explored.stop.or_else(|| stop.clone());
        }
        let stuck = Found::new(kinds, stop);
        if let (Some(Stop::IllDefined(fault)), Some(results)) = (&mut explored.stop, &explored.undefined)
            && let Some(at) = Standings::of(test).standing(fault.thread.index(), results).statement
        {
            let call = wrong_call(test.model.memory(), &test.threads[fault.thread.index()], at, &fault.what);
            (fault.makes, fault.call) = (call.to_string(), Some(call));
        }
        let complete = explored.stop.is_none();
        let holds = test.assertions.iter().map(|a| holds(test, a, &outcomes, complete)).collect();
        let (kinds, stop) = stuck.so_far();
        let liveness = test.liveness.iter().map(|l| stuck::holds(test, l, kinds, stop.is_none())).collect();
        Self {
            outcomes,
            holds,
            explored,
            stuck,
            liveness,
            runs: WitnessRuns::default(),
            rules: None,
            outside: Vec::new(),
        }
    }

    /// Adds outcomes that random runs have; each has one class of executions at least.
    pub(super) fn with_runs(mut self, test: &Test, runs: WitnessRuns, outcomes: BTreeSet<Vec<Val>>) -> Self {
        outcomes.into_iter().for_each(|outcome| _ = self.outcomes.entry(outcome).or_insert(1));
        let complete = self.explored.stop.is_none();
        self.holds = test.assertions.iter().map(|a| holds(test, a, &self.outcomes, complete)).collect();
        Self { runs, ..self }
    }

    /// Returns the verdict on the test.
    #[must_use]
    pub fn verdict(&self, test: &Test) -> TestVerdict {
        let fails = || self.holds.iter().chain(&self.liveness).any(|holds| *holds == Some(false));
        match () {
            () if self.error(test).is_some() => TestVerdict::IllDefined,
            // An `allowed` assertion is false here only because no execution ends.
            () if self.is_vacuous() && !test.is_meant_vacuous() => TestVerdict::Vacuous,
            () if fails() => TestVerdict::Fails,
            () if self.stop().is_some() => TestVerdict::Undecided,
            () if self.is_stuck(test) => TestVerdict::Stuck,
            () if test.assertions.is_empty() && test.liveness.is_empty() => TestVerdict::Unasserted,
            () => TestVerdict::Holds,
        }
    }

    /// Returns the error in a test that has no meaning, because a call or a sum in it is not well defined.
    #[must_use]
    pub fn error(&self, test: &Test) -> Option<InputError> {
        if let Stop::IllDefined(fault) = self.stop()? { Some(ill_defined(test, fault)) } else { None }
    }

    /// Returns a line for each way in which the test is outside of what a specification covers.
    #[must_use]
    pub fn outside_text(&self) -> String {
        self.outside.iter().map(|line| format!("Outside of the specification: {line}\n")).collect()
    }

    /// Returns the text of each assertion that is false.
    pub fn false_assertions<'t>(&'t self, test: &'t Test) -> impl Iterator<Item = String> + 't {
        let is_false = |holds: &Option<bool>| *holds == Some(false);
        let on_outcomes = test.assertions.iter().map(ToString::to_string).zip(&self.holds);
        let on_stuck = test.liveness.iter().map(|l| l.text.clone()).zip(&self.liveness);
        on_outcomes.chain(on_stuck).filter(move |(_, holds)| is_false(holds)).map(|(text, _)| text)
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

/// Returns whether an assertion holds, if this outcome decides it.
#[must_use]
pub fn decides(assertion: &Assertion, outcome: &[Val]) -> Option<bool> {
    let (settled_by, answer) = match assertion.quantifier {
        Quantifier::Allowed => (true, true),
        Quantifier::Forbidden | Quantifier::Vacuous => (true, false),
        Quantifier::Forall => (false, false),
    };
    (assertion.condition.holds(outcome) == settled_by).then_some(answer)
}

fn holds(test: &Test, assertion: &Assertion, outcomes: &BTreeMap<Vec<Val>, u64>, complete: bool) -> Option<bool> {
    // One such outcome settles the assertion. Without one, the assertion is settled only if all outcomes are known.
    if let Some(answer) = outcomes.keys().find_map(|outcome| decides(assertion, outcome)) {
        return Some(answer);
    }
    let answer = assertion.quantifier == Quantifier::Allowed;
    let is_empty_truth = !answer && outcomes.is_empty() && !test.is_meant_vacuous();
    (complete && !is_empty_truth).then_some(!answer)
}

#[cfg(test)]
mod tests {
    use mowgli_core::search::problem::Limits;

    use crate::litmus::parse::parse;
    use crate::litmus::run::solve;

    /// Two threads make the same statement in one line, and the call of the second one is wrong. The statement may have a sum.
    #[test]
    fn a_fault_is_placed_at_the_thread_that_makes_the_call() {
        let rows = [("*a := 5", "&x", "7", "7 is no location"), ("b := a + 1", "1", "true", "numbers have sums")];
        for (statement, right, wrong, what) in rows {
            let text = format!(
                "RDMA_WAIT t {{ x@1 = 0; }}\n P1@1 | P2@1 ;\n a := {right} | a := {wrong} ;\n {statement} | {statement} ;\n"
            );
            let test = parse("t", &text).unwrap();
            let error = solve(&test, &[], Limits::default()).error(&test).expect("a fault");
            assert!(error.message.starts_with(&format!("t: P2 cannot make `{statement}`: {what}")), "{error}");
            let column = error.place.map(|place| (place.line, place.column));
            assert_eq!(column, Some((4, 2 + statement.len() + 3)), "{text}");
        }
    }
}
