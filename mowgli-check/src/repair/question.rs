//! The questions of the search for repairs about a test with edits: what is forbidden, allowed or stuck then, and why.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_core::rewrite::repair::{Insertions, Repairable};
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::Limits;
use mowgli_core::search::refute::{CycleEnd, Edge};
use mowgli_core::search::runs::Stop;
use mowgli_core::search::solver::Flow;
use mowgli_core::value::Val;

use super::edits::{EditableTest, RepairedTest};
use crate::catalogue::Catalogue;
use crate::explain::ProgramWords;
use crate::interrupt::cause;
use crate::litmus::run::{stuck_kinds, with_problem};
use crate::litmus::stuck::StuckKind;
use crate::litmus::test::{Assertion, Claim, Quantifier, Test};
use crate::show::Names;

/// The question, of a program over the libraries of its model.
pub(super) struct RepairQuestion<'a> {
    pub(super) program: &'a EditableTest<'a>,
    libraries: mowgli_core::library::Libraries,
    limits: Limits<'a>,
    /// The sets with which no execution ends.
    pub(super) endless: BTreeSet<Insertions>,
    /// The executions of the test as it stands that are stuck, if they were asked for.
    stuck: Option<BTreeSet<TestStandstill>>,
    /// The sets with which further executions are stuck.
    pub(super) hanging: BTreeSet<Insertions>,
    /// The sets with which a thread makes a call that no program may make. They are no repairs.
    pub(super) ill_defined: BTreeSet<Insertions>,
    /// Whether a thread makes such a call in the test as it stands, if that was asked.
    is_ill_defined: OnceCell<bool>,
    /// Whether a set is wrong with which executions are stuck: the test says `ends`, or nothing about them.
    pub(super) wants_end: bool,
}

/// The place in which a thread is stuck: it has ended, or waits in a statement of the test, or in one that is new.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StuckAt {
    Ended,
    Own(usize),
    New,
}

/// The places of all threads of a stuck execution, and what the test shows then.
type TestStandstill = (Vec<StuckAt>, Vec<Val>);

/// True if an assertion of a test excludes an outcome.
fn is_wrong(test: &Test, values: &[Val]) -> bool {
    test.assertions.iter().any(|a| match a.quantifier {
        Quantifier::Forbidden => a.condition.holds(values),
        Quantifier::Forall => !a.condition.holds(values),
        Quantifier::Allowed | Quantifier::Vacuous => false,
    })
}

/// True if a test says that none of its executions is stuck.
pub(super) fn says_ends(test: &Test) -> bool {
    test.liveness.iter().any(|l| matches!(l.claim, Claim::Ends))
}

impl<'a> RepairQuestion<'a> {
    pub(super) fn new(catalogue: &Catalogue, program: &'a EditableTest<'a>, limits: Limits<'a>) -> Self {
        let libraries = catalogue.libraries(program.test.model);
        let (endless, hanging, ill_defined, is_ill_defined) = Default::default();
        let wants_end = says_ends(program.test) || !program.test.speaks_of_stuck();
        Self { program, libraries, limits, endless, stuck: None, hanging, ill_defined, is_ill_defined, wants_end }
    }

    /// True if a thread makes a call that no program may make, in the test as it stands.
    pub(super) fn is_ill_defined(&self) -> bool {
        let has_fault = || {
            let whole = self.program.with(&self.program.whole());
            let stops = [self.explore(&whole.test, &mut |_| false).err(), self.standstills(&whole).err()];
            stops.iter().any(|stop| matches!(stop, Some(Stop::IllDefined(_))))
        };
        *self.is_ill_defined.get_or_init(has_fault)
    }

    /// Whether the test as it stands has every outcome that is to stay allowed; for a weakening, also whether it has
    /// none that is forbidden. Returns the limit that stopped the search, if any.
    ///
    /// # Errors
    /// If the test lacks such an outcome or has a forbidden one, because the question then makes no sense.
    pub(super) fn is_meaningful(&mut self, weaken: bool) -> Result<Option<Stop>, &'static str> {
        let whole = self.program.whole();
        // The test as it stands may be stuck.
        let wants_end = std::mem::replace(&mut self.wants_end, false);
        let kept = self.kept(&whole);
        self.wants_end = wants_end;
        match kept {
            // An insertion may take the wrong access away.
            Ok(true) | Err(Stop::IllDefined(_)) => {}
            Ok(false) => {
                return Err(
                    "something that it says is allowed is not possible, or no execution ends; insertions only take away",
                );
            }
            Err(stop) => return Ok(Some(stop)),
        }
        // What is stuck without an assertion may stay so.
        if weaken && self.wants_end && !says_ends(self.program.test) {
            match self.is_stuck(&whole) {
                Ok(is_stuck) => self.wants_end = !is_stuck,
                Err(stop) => return Ok(Some(stop)),
            }
        }
        match weaken.then(|| self.is_wrong(&whole)) {
            Some(Ok(true)) => Err(
                "something forbidden is possible, or executions are stuck, as it is; repair it first, without --weaken",
            ),
            Some(Err(stop)) => Ok(Some(stop)),
            Some(Ok(false)) | None => Ok(None),
        }
    }

    /// Explores outcomes until `is_enough` returns true, which may depend on all outcomes so far.
    fn explore(&self, test: &Test, is_enough: &mut dyn FnMut(Vec<Val>) -> bool) -> Result<bool, Stop> {
        let mut found = false;
        let explored = with_problem(&self.libraries, test, &[], self.limits, |problem| {
            problem.explore(&mut |solver| {
                found = is_enough(test.values(&problem.outcome_of(solver)));
                if found { Flow::Stop } else { Flow::Continue }
            })
        });
        if !found && !test.servers.is_empty() {
            let kinds = stuck_kinds(&self.libraries, test, self.limits).all().map_err(cause)?;
            found = kinds.into_keys().filter(|kind| kind.is_over(test)).any(|kind| is_enough(kind.shown));
        }
        match explored.stop {
            Some(stop) if !found => Err(cause(stop)),
            _ if !found && (self.limits.expired)() => Err(cause(Stop::Time)),
            _ => Ok(found),
        }
    }

    /// Lists the ways in which executions of a test with edits are stuck.
    fn standstills(&self, repaired: &RepairedTest) -> Result<BTreeSet<TestStandstill>, Stop> {
        let kinds = stuck_kinds(&self.libraries, &repaired.test, self.limits).all().map_err(cause)?;
        let rest = |(t, at): (usize, &Option<usize>)| match at {
            None => StuckAt::Ended,
            Some(at) => repaired.origins[t][*at].own.map_or(StuckAt::New, StuckAt::Own),
        };
        let rests = |kind: &StuckKind| kind.waits.iter().enumerate().map(rest).collect();
        let kinds = kinds.into_keys().filter(|kind| !kind.is_over(&repaired.test));
        Ok(kinds.map(|kind| (rests(&kind), kind.shown)).collect())
    }

    /// True if executions of the test with these edits are stuck in its own statements. Further edits can only take them away.
    pub(super) fn is_stuck(&self, set: &Insertions) -> Result<bool, Stop> {
        let is_own = |(places, _): &TestStandstill| !places.contains(&StuckAt::New);
        Ok(self.standstills(&self.program.with(set))?.iter().any(is_own))
    }

    /// Returns the edits that alone make no thread wait in what is new.
    pub(super) fn harmless(&self) -> Result<Insertions, Stop> {
        let waits = |i: usize| {
            let found = self.standstills(&self.program.with(&Insertions::from([i])))?;
            Ok(found.iter().any(|(places, _)| places.contains(&StuckAt::New)))
        };
        let all = (0..self.program.costs().len()).map(|i| Ok((i, waits(i)?))).collect::<Result<Vec<_>, Stop>>()?;
        Ok(all.into_iter().filter(|(_, waits)| !waits).map(|(i, _)| i).collect())
    }

    /// True if an execution of a test with edits is stuck in a way in which none is stuck without them.
    fn hangs(&mut self, repaired: &RepairedTest) -> Result<bool, Stop> {
        let now = self.standstills(repaired)?;
        if now.is_empty() || self.wants_end {
            return Ok(!now.is_empty());
        }
        if self.stuck.is_none() {
            self.stuck = Some(self.standstills(&self.program.with(&self.program.whole()))?);
        }
        Ok(!self.stuck.as_ref().is_some_and(|before| now.is_subset(before)))
    }

    /// Returns for each edit, in words, the first edges through it of a cycle that forbids a wrong outcome. An edit may
    /// have no such cycle: a poll may only let the next poll complete the next operation. Then the reasons say so; if
    /// no edit has a cycle, they begin with a whole cycle.
    pub(super) fn reasons(&self, set: &Insertions, repaired: &RepairedTest) -> Vec<String> {
        let test = &repaired.test;
        let wanted = |o: &Outcome| is_wrong(test, &test.values(o));
        let refutations =
            with_problem(&self.libraries, test, &[], self.limits, |problem| problem.refutations(&wanted, WAYS));
        let edges = refutations.so_far().0.iter().flat_map(|r| &r.edges).collect_vec();
        if edges.is_empty() && self.is_ill_defined() {
            return vec!["with it no thread makes an access that no program may make".to_owned()];
        }
        if edges.is_empty() && self.wants_end {
            return vec!["with it no execution is stuck".to_owned()];
        }
        let through = |i: usize| {
            let is_of = |end: &CycleEnd| repaired.edit(end) == Some(i);
            let into = edges.iter().find(|e| is_of(&e.to) && !is_of(&e.from));
            let out = edges.iter().find(|e| is_of(&e.from) && !is_of(&e.to));
            into.into_iter().chain(out).copied().collect_vec()
        };
        let (with_cycle, without): (Vec<usize>, Vec<usize>) = set.iter().partition(|&&i| !through(i).is_empty());
        let mut reported: Vec<&Edge> = with_cycle.into_iter().flat_map(through).collect();
        if reported.is_empty() {
            reported.extend(refutations.so_far().0.iter().take(1).flat_map(|r| &r.edges));
        }
        let words = ProgramWords { statements: test.texts(), names: Names::of(test) };
        let whole = self.program.whole();
        let missed = without.iter().filter(|i| !whole.contains(i));
        let missed = match set.difference(&whole).count() {
            n if n > 0 && n == missed.clone().count() => {
                vec!["no cycle that was found goes through this repair".to_owned()]
            }
            _ => missed.map(|&i| format!("no cycle that was found goes through {}", self.program.text(i))).collect(),
        };
        reported.into_iter().map(|e| words.sentence(e)).unique().chain(missed).collect()
    }
}

/// The most ways to get an outcome that are searched for reasons.
const WAYS: usize = 20;

impl Repairable for RepairQuestion<'_> {
    /// A wrong access needs an execution that has it, so further edits can only take it away.
    fn is_wrong(&mut self, set: &Insertions) -> Result<bool, Stop> {
        let is_wrong = self.has_wrong_outcome(set);
        self.or_ill_defined(set, is_wrong, true)
    }

    fn keeps(&mut self, set: &Insertions) -> Result<bool, Stop> {
        let kept = self.kept(set);
        self.or_ill_defined(set, kept, false)
    }
}

impl RepairQuestion<'_> {
    /// Returns an answer, or `otherwise` if a thread makes a call that no program may make. Then it notes the set.
    fn or_ill_defined(&mut self, set: &Insertions, answer: Result<bool, Stop>, otherwise: bool) -> Result<bool, Stop> {
        let Err(Stop::IllDefined(_)) = answer else { return answer };
        self.ill_defined.insert(set.clone());
        Ok(otherwise)
    }

    /// True if an outcome is wrong, or if executions are stuck that are not to be.
    fn has_wrong_outcome(&self, set: &Insertions) -> Result<bool, Stop> {
        let test = self.program.with(set).test;
        let is_wrong = self.explore(&test, &mut |values| is_wrong(&test, &values))?;
        Ok(is_wrong || self.wants_end && self.is_stuck(set)?)
    }

    /// True if some execution ends, every outcome that is to be allowed is still there, and nothing is stuck that was
    /// not.
    fn kept(&mut self, set: &Insertions) -> Result<bool, Stop> {
        let repaired = self.program.with(set);
        let test = &repaired.test;
        let allowed = |a: &&Assertion| a.quantifier == Quantifier::Allowed;
        let mut wanted: Vec<&Assertion> = test.assertions.iter().filter(allowed).collect();
        let mut some_end = false;
        let keeps = self.explore(test, &mut |values| {
            some_end = true;
            wanted.retain(|a| !a.condition.holds(&values));
            wanted.is_empty()
        })?;
        if !some_end {
            self.endless.insert(set.clone());
        }
        if keeps && self.hangs(&repaired)? {
            self.hanging.insert(set.clone());
            return Ok(false);
        }
        Ok(keeps)
    }
}
