//! The `necessity` and `mutants` commands: which operations of an implementation are needed, and which
//! mistakes does the check notice?
//!
//! Both commands change each operation in turn, and check the changed implementation. `necessity` leaves the
//! operation out, or removes a node from a set. The operation is needed if the check then fails. A change that keeps
//! all clients from ending is vacuous: nothing wrong can happen, and nothing else either. `mutants` changes the
//! operation in every way that the method tables give, within the bounds of `check`. It also checks whether clients
//! end. A surviving mutant means that the bound is too small, or that the body has more than it needs.

use std::collections::BTreeSet;
use std::sync::Arc;

use mowgli_core::rewrite::mutants::{edits, weaker};
use mowgli_core::rewrite::sites::{Site, sites};
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::are_at_most;
use mowgli_core::soundness::progress::Progress;
use mowgli_core::soundness::verdict::Verdict;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::method::{self, Method};
use mowgli_libraries::entry::{Entry, Expected, Variant};
use serde::Serialize;

use crate::check::{CheckOptions, Checked, arguments, check};
use crate::entry::own_calls;
use crate::error::{Code, InputError};
use crate::interrupt::{SECOND, cause};

/// Whether an operation is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needed {
    /// Without it a client has a wrong outcome.
    Yes,
    /// Without it the implementation is not locally sound; no wrong outcome was found.
    Locally,
    /// Not within the bound.
    No,
    /// Without it clients do not end.
    Vacuous,
    /// The mutant has an execution that loops for ever although the specification could go on.
    Stuck,
    /// Without it a call does nothing at all, or ends with a break (LOCO Def. 3.9).
    IllDefined,
    /// There is nothing to change: every body stays as it is.
    Same,
    /// A limit stopped the check.
    Undecided,
}

/// The kind of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    /// Changes that only remove something.
    Necessity,
    /// All changes.
    Mutants,
}

impl ChangeKind {
    /// Returns the default bounds for a variant.
    #[must_use]
    pub fn bounds(self, entry: &Entry, variant: &Variant) -> Vec<Bound> {
        match self {
            Self::Necessity => bounds(entry),
            Self::Mutants => variant.bounds.clone(),
        }
    }
}

/// The result of one change.
pub struct ChangeResult {
    /// The operation.
    pub site: Site,
    /// The change, in words.
    pub change: String,
    /// The answer.
    pub needed: Needed,
    /// The number of ways for all calls to return, with the change and without it. If the first number is smaller, the
    /// operation is needed for something to happen, though not for safety.
    pub outcomes: (u64, u64),
    /// The check that gave the answer.
    pub checked: Checked,
}

/// The answers for one implementation.
pub struct Necessity {
    /// The library.
    pub library: &'static str,
    /// The implementation.
    pub variant: &'static str,
    /// The bounds that were checked, one after the other.
    pub bounds: Vec<Bound>,
    /// The limit that stopped the check of the unchanged implementation or the search for its operations, if any.
    pub stop: Option<Stop>,
    /// The operations and their changes.
    pub rows: Vec<ChangeResult>,
}

/// The most clients of a default bound.
const CLIENTS: u128 = 10_000;

/// The steps for the check of one change.
const STEPS: u64 = 60 * SECOND;

/// Returns the default bounds: two threads with one call each, and one thread with three. If two threads with two calls
/// are few enough clients, they are the last bound. If a client needs several calls, for example of a lock, the bounds
/// are two threads with that many each, and one with twice as many.
#[must_use]
pub fn bounds(entry: &Entry) -> Vec<Bound> {
    let like = &entry.variants[0].bounds[0];
    let least = entry.through().calls;
    let bound = |threads, calls| Bound { threads, nodes: 2, calls, ..like.clone() };
    if least > 1 {
        return vec![bound(2, least), bound(1, 2 * least)];
    }
    let last = Some(bound(2, 2)).filter(|b| are_at_most(&*entry.subject, b, CLIENTS));
    [bound(2, 1), bound(1, 3)].into_iter().chain(last).collect()
}

/// Changes every operation in turn, and checks each changed implementation.
///
/// # Errors
/// If the implementation is not sound without a change, or if it has no bodies, in which operations cannot
/// be found.
pub fn necessity(
    question: ChangeKind,
    entry: &Entry,
    variant: &Variant,
    mut bounds: Vec<Bound>,
    options: &CheckOptions<'_>,
    each: &mut dyn FnMut(&ChangeResult),
) -> Result<Necessity, InputError> {
    entry.library()?;
    if variant.implementation.bodies().is_none() {
        return Err(InputError::new(
            Code::Unsupported,
            format!("{} ({}) has no bodies, so its operations are not known", entry.name, variant.name),
        )
        .help("write them with bodies!"));
    }
    let expired = || options.deadline.expired();
    // Drops bounds without clients. A bound stays if the time is up, because the check then reports the limit.
    bounds.retain(|b| entry.clients(b, &expired).map_or(true, |all| !all.is_empty()));
    let run = |variant: &Variant| -> Result<Vec<Checked>, InputError> {
        let options = CheckOptions { ends: question == ChangeKind::Mutants, ..options.within(STEPS) };
        let mut all = Vec::new();
        for bound in &bounds {
            all.push(check(entry, variant, bound, &options)?);
            if all.last().is_some_and(Checked::has_failed) {
                break;
            }
        }
        Ok(all)
    };
    let whole = run(variant)?;
    let is_ill_defined = |c: &Checked| matches!(c.report.verdict, Verdict::Undecided(Stop::IllDefined(_)));
    if let Some(bad) = whole.iter().find(|c| c.report.violation.is_some() || is_ill_defined(c)) {
        return Err(InputError::new(Code::Unsupported, bad.title()).help("ask about an implementation that is sound"));
    }
    // If a limit stopped this check, it stays open whether a change keeps more clients from ending.
    let mut stop = whole.iter().find_map(Checked::stop).cloned();
    let is_stuck = whole.iter().any(|c| c.stuck().is_some());
    let vacuous = |all: &[Checked]| all.iter().map(|c| c.report.vacuous).sum::<usize>();
    let outcomes = |all: &[Checked]| all.iter().map(|c| c.report.outcomes).sum::<u64>();
    let (vacuous_before, outcomes_before) = (vacuous(&whole), outcomes(&whole));
    let mut rows = Vec::new();
    let all = all_sites(entry, variant, &bounds, &expired).unwrap_or_else(|late| {
        stop.get_or_insert(cause(late));
        Vec::new()
    });
    for site in all {
        let Some(method) = below(entry, &site) else { continue };
        let changes = if question == ChangeKind::Necessity { weaker(method) } else { edits(method) };
        for edit in changes {
            let edited = Arc::new(edit.at(variant.implementation.clone(), &site));
            let changed = Variant {
                about: "with one operation changed",
                expected: Expected::Unsound,
                implementation: edited.clone(),
                bounds: Vec::new(),
                thorough: Vec::new(),
                ..variant.clone()
            };
            let mut all = run(&changed)?;
            let outcomes = (outcomes(&all), outcomes_before);
            let all_end = vacuous(&all) == 0 || stop.is_none() && vacuous(&all) <= vacuous_before;
            let stopped = all.iter().position(|c| matches!(c.report.verdict, Verdict::Undecided(_)));
            let stopped = stopped.filter(|_| !all.last().is_some_and(Checked::has_failed));
            let checked = match stopped {
                Some(position) => all.swap_remove(position),
                None => all.pop().expect("at least one bound"),
            };
            let is_same = !edited.differs();
            let needed = match (&checked.report.verdict, &checked.report.violation) {
                (_, None) if matches!(checked.report.progress, Progress::Stuck(..)) && !is_stuck => Needed::Stuck,
                (_, None) if checked.stuck().is_some() && !is_stuck => Needed::Vacuous,
                (Verdict::Sound | Verdict::NoWrongOutcome, None) if is_same => Needed::Same,
                (Verdict::Unsound(_), _) => Needed::Yes,
                (_, Some(_)) => Needed::Locally,
                (Verdict::Sound | Verdict::NoWrongOutcome, None) if all_end => Needed::No,
                (Verdict::Undecided(Stop::IllDefined(_)), None) => Needed::IllDefined,
                (Verdict::Undecided(Stop::Vacuous), None) => Needed::Vacuous,
                (Verdict::Undecided(_), None) => Needed::Undecided,
                _ if stop.is_some() => Needed::Undecided,
                _ => Needed::Vacuous,
            };
            let row = ChangeResult { site: site.clone(), change: edit.name, needed, outcomes, checked };
            each(&row);
            rows.push(row);
        }
    }
    Ok(Necessity { library: entry.name, variant: variant.name, bounds, stop, rows })
}

/// Returns the method that is called at a site.
fn below(entry: &Entry, site: &Site) -> Option<&'static Method> {
    method::named(entry.below.get(site.library)?.methods(), site.calls)
}

/// Lists the operations in the bodies of the methods that clients within these bounds call.
fn all_sites(
    entry: &Entry,
    variant: &Variant,
    bounds: &[Bound],
    expired: &dyn Fn() -> bool,
) -> Result<Vec<Site>, Stop> {
    let calls = own_calls(entry, bounds, expired)?;
    let methods: BTreeSet<&str> = calls.iter().map(|(_, _, call)| call.method.text()).collect();
    let all = variant.implementation.bodies().map_or_else(Vec::new, sites);
    Ok(all.into_iter().filter(|site| methods.contains(site.method)).collect())
}

impl Necessity {
    /// Returns the lines behind those of all changes: counts and advice about mutants, or the counterexamples.
    #[must_use]
    pub fn text(&self, question: ChangeKind) -> String {
        let example = |row: &ChangeResult| {
            row.checked.litmus().map(|litmus| format!("\n{}, {}:\n\n{litmus}\n", row.site, row.change))
        };
        match question {
            ChangeKind::Mutants => {
                [self.score()].into_iter().chain(self.advice()).map(|s| format!("  {s}\n")).collect()
            }
            ChangeKind::Necessity => self.rows.iter().filter_map(example).collect(),
        }
    }

    /// Counts the mutants that were caught, of those that differ from the implementation.
    #[must_use]
    pub fn score(&self) -> String {
        let count = |is: fn(Needed) -> bool| self.rows.iter().filter(|row| is(row.needed)).count();
        let caught = count(|n| {
            matches!(n, Needed::Yes | Needed::Locally | Needed::IllDefined | Needed::Vacuous | Needed::Stuck)
        });
        let (same, survive) = (count(|n| n == Needed::Same), count(|n| n == Needed::No));
        let open = count(|n| n == Needed::Undecided);
        let all = self.rows.len() - same;
        format!("{caught} of {all} mutants are caught, {survive} survive, {open} are undecided; {same} are equivalent")
    }

    /// Suggests a larger bound if mutants survive: one more object if a mutant names another one, or else one more call.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        let mut survivors = self.rows.iter().filter(|row| row.needed == Needed::No).peekable();
        survivors.peek()?;
        let last = self.bounds.last()?;
        let larger = if last.objects == 1 && survivors.any(|row| row.change.starts_with("another ")) {
            Bound { objects: 2, ..last.clone() }
        } else {
            Bound { calls: last.calls + 1, total: last.total.map(|total| total + 1), ..last.clone() }
        };
        let variant = if self.variant == "published" { String::new() } else { format!(" --variant {}", self.variant) };
        Some(format!(
            "a survivor may need a larger bound: try mowgli mutants {}{variant} {}",
            self.library,
            arguments(&larger)
        ))
    }
}

impl ChangeResult {
    /// Returns the answer to a question in words.
    #[must_use]
    pub fn answer(&self, question: ChangeKind) -> String {
        let is_left = self.outcomes.0 < self.outcomes.1;
        let [needed, fate] = match self.needed {
            Needed::Yes => ["needed", "caught"],
            Needed::Locally => ["needed for local soundness; no wrong outcome found", "caught; no wrong outcome found"],
            Needed::No if is_left => ["not needed for safety within the bound", "survives"],
            Needed::No => ["not needed within the bound", "survives"],
            Needed::IllDefined => ["needed: without it the bodies are not well defined", "caught: not well defined"],
            Needed::Same => ["there is nothing to change", "equivalent: there is nothing to change"],
            Needed::Vacuous => ["needed: without it clients no longer end", "blocks: clients no longer end"],
            Needed::Stuck => ["needed: without it an execution is stuck", "caught: an execution is stuck"],
            Needed::Undecided => ["undecided"; 2],
        };
        let more = match self.needed {
            Needed::No if is_left => format!("; {} of {} outcomes are left", self.outcomes.0, self.outcomes.1),
            Needed::Undecided => match self.stopped() {
                Some(stop) => format!(": {stop}"),
                None => ", as it is whether all clients end without the change".to_owned(),
            },
            _ => String::new(),
        };
        format!("{}{more}", if question == ChangeKind::Mutants { fate } else { needed })
    }

    /// Returns the limit that stopped the check, if the answer is undecided because of it.
    fn stopped(&self) -> Option<String> {
        (self.needed == Needed::Undecided).then(|| self.checked.stop().map(ToString::to_string)).flatten()
    }

    /// Returns one line of text.
    #[must_use]
    pub fn text(&self, question: ChangeKind) -> String {
        format!("  {:<24} {:<26} {}", self.site.to_string(), self.change, self.answer(question))
    }

    /// Returns one JSON object.
    ///
    /// # Panics
    /// Never: the object consists of strings and numbers.
    #[must_use]
    pub fn json(&self) -> String {
        let json = NecessityJson {
            library: self.checked.library,
            variant: self.checked.variant,
            operation: self.site.to_string(),
            change: &self.change,
            needed: self.needed,
            stopped: self.stopped(),
            outcomes: self.outcomes.0,
            outcomes_before: self.outcomes.1,
            bound: &self.checked.bound,
            counterexample: self.checked.litmus(),
            seconds: self.checked.time.as_secs_f64(),
        };
        serde_json::to_string(&json).expect("strings and numbers")
    }
}

#[derive(Serialize)]
struct NecessityJson<'a> {
    library: &'a str,
    variant: &'a str,
    operation: String,
    change: &'a str,
    needed: Needed,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
    outcomes: u64,
    outcomes_before: u64,
    bound: &'a Bound,
    #[serde(skip_serializing_if = "Option::is_none")]
    counterexample: Option<String>,
    seconds: f64,
}
