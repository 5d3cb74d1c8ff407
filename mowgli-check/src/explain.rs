//! Explanations of outcomes: an execution that has the outcome, or each way to get it with the cycle that forbids it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::execution::Execution;
use mowgli_core::ids::Name;
use mowgli_core::judge::{Judged, judge};
use mowgli_core::library::Libraries;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::{Found, Limits};
use mowgli_core::search::refute::{CycleEnd, Edge, Refutation};
use mowgli_core::search::runs::Stop;
use mowgli_core::search::solver::Flow;
use mowgli_core::soundness::local::witness as witness_of;
use mowgli_core::stamp;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::value::Val;
use mowgli_libraries::catalogue::named;
use mowgli_rdma::{RdmaStamp, crash};
use mowgli_x86::X86Stamp;
use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;
use crate::error::{Code, InputError, Place};
use crate::interrupt::{Failure, Undecided};
use crate::litmus::answer::vacuous;
use crate::litmus::parse::parse_in;
use crate::litmus::run::{ends, replaced, with_problem};
use crate::litmus::stuck;
use crate::litmus::test::{Assertion, Model, Test};
use crate::show::{self, Names, Scene};

/// The number of ways to get a forbidden outcome that are printed in full.
const SHOWN: usize = 10;

/// A finding in the form that is kept on disk, in RON. It has no derived data, because [`explain()`] judges it anew.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// A line that says what the check found.
    pub title: String,
    /// The program, as a litmus test.
    pub litmus: String,
    /// The implementations that the execution runs, for example `bal:no-fence`.
    pub implemented: Vec<String>,
    /// The position of the assertion of the test that it is about, from 0.
    pub assertion: usize,
    /// An execution in which the assertion's condition holds, or a stuck one if the program asserts that it `ends`; `None` if there is
    /// none.
    pub execution: Option<Execution>,
}

impl Finding {
    /// True if it is about stuck executions: its program asserts nothing of outcomes.
    #[must_use]
    pub fn is_endless(&self, test: &Test) -> bool {
        test.assertions.is_empty()
    }
}

/// A finding that has been read, judged and explained.
pub struct Explained {
    /// The finding.
    pub finding: Finding,
    /// The values that its test shows of its execution.
    pub shown: Vec<Val>,
    /// The relations that the judge derived from its execution.
    pub judged: Option<Judged>,
    /// The program.
    pub test: Test,
    /// The libraries of its model.
    pub libraries: Libraries,
    /// The reasons why the specifications forbid the outcome; `None` if they allow it.
    pub refutations: Option<Found<Vec<Refutation>>>,
    /// Whether no execution of the program ends, so that no condition holds in any.
    pub vacuous: bool,
}

/// Reads a finding.
///
/// # Errors
/// The text is not a finding (the error names line and column), or its program is not a test.
pub fn read(catalogue: &Catalogue, text: &str) -> Result<Finding, InputError> {
    #[derive(Deserialize)]
    struct Program {
        litmus: String,
    }
    let finding = || {
        ron::from_str(text).map_err(|e| {
            let at = e.position.line.saturating_sub(1);
            let begin = text.split_inclusive('\n').take(at).map(str::len).sum::<usize>();
            let column = text[begin..].char_indices().nth(e.position.col.saturating_sub(1)).map_or(0, |(at, _)| at);
            InputError::new(Code::Syntax, e.code.to_string())
                .help("`mowgli check --out FILE` and `mowgli explain TEST.litmus --out FILE` write findings")
                .at(Place::of("", text, begin + column..begin + column))
        })
    };
    let Ok(Program { litmus }) = ron::from_str(text) else { return finding() };
    // The stamps of its execution are those of its program's model.
    match parse_in(catalogue, "the finding's program", &litmus)?.model {
        Model::X86Tso => stamp::reading::<X86Stamp, _>(finding),
        _ => stamp::reading::<RdmaStamp, _>(finding),
    }
}

/// Prints a finding as RON.
///
/// # Panics
/// Never: all its parts have a form in RON.
#[must_use]
pub fn written(finding: &Finding) -> String {
    ron::ser::to_string_pretty(finding, ron::ser::PrettyConfig::default().depth_limit(4)).expect("a form in RON") + "\n"
}

/// True if no execution of a test ends, with these libraries replaced by their implementations.
///
/// # Errors
/// If an implementation does not exist, or if the search was stopped.
pub fn is_vacuous(
    catalogue: &Catalogue,
    test: &Test,
    implemented: &[String],
    limits: Limits<'_>,
) -> Result<bool, Failure> {
    let chain = replaced(catalogue, test, implemented)?;
    let ends = ends(&catalogue.libraries(test.model), test, &chain, limits);
    Ok(!ends.map_err(|stop| Undecided::new(format!("{}: whether some execution ends", test.name), stop))?)
}

/// Prints an execution of a test with the condition of its first assertion. It also prints why the specification of the library allows the
/// execution (LOCO Def. 3.13). The events of each call stand below it: this is f. Behind the subevents that stand for a
/// stamp of the specification are these stamps: this is g. Below are the parts of so', and edges of the memory between threads.
///
/// # Errors
/// If the library or an implementation does not exist, or the implementation has no such execution, or the execution no witness.
pub fn concretised(
    catalogue: &Catalogue,
    test: &Test,
    implemented: &str,
    limits: Limits<'_>,
) -> Result<String, InputError> {
    let chain = replaced(catalogue, test, &[implemented.to_owned()])?;
    let library = chain[0].target();
    let entry = named(catalogue.entries(), library.text())?;
    let all = catalogue.libraries(test.model);
    let wanted = test.assertions.first().ok_or_else(|| wrong("the test has no assertion".to_owned()))?;
    let is_wanted = |outcome: &Outcome| wanted.condition.holds(&test.values(outcome));
    let found = with_problem(&all, test, &chain, limits, |problem| {
        witness_of(problem, (&entry.specification, library), &is_wanted).ok_or_else(|| problem.outcomes().all())
    });
    let (execution, witness) = found.map_err(|outcomes| match outcomes {
        Err(stop) => wrong(format!("{implemented}: {stop}")),
        Ok(all) if !all.keys().any(is_wanted) => wrong(format!("no execution of {implemented} has ({})", wanted.text)),
        Ok(_) => {
            wrong(format!("no execution of {implemented} with ({}) has a witness of local soundness", wanted.text))
        }
    })?;
    let of_implementation = all.without(library);
    let judged = judge(&of_implementation, &execution).map_err(|complaint| wrong(complaint.to_string()))?;
    let names = &Names::of(test);
    let scene = Scene { libraries: &of_implementation, execution: &execution, judged: &judged, names };
    Ok(format!("{}\n\n{}", accepted_line(test, wanted, implemented), show::witness(&scene, &witness)))
}

/// Returns the line above an accepted execution, as in `accepted: (a=1) by bal`.
fn accepted_line(test: &Test, assertion: &Assertion, implemented: &str) -> String {
    format!("{}: ({}) by {implemented}", test.name, assertion.text)
}

/// Returns the program of a snapshot with an accepted execution: what stands above [`accepted_line`].
fn accepted_in(catalogue: &Catalogue, snapshot: &str) -> Option<(Mark, String, Test)> {
    let (at, implemented) = snapshot.lines().enumerate().find_map(|(at, l)| Some((at, l.rsplit_once(") by ")?.1)))?;
    let text: String = snapshot.lines().take(at).map(|l| format!("{l}\n")).collect();
    let test = parse_in(catalogue, "the snapshot's program", &text).ok()?;
    let line = accepted_line(&test, test.assertions.first()?, implemented);
    (snapshot.lines().nth(at) == Some(&line))
        .then(|| (Mark { implemented: vec![implemented.to_owned()], assertion: 1 }, text, test))
}

/// The finding on one assertion, or the limit that was hit.
pub type Decided = Result<Finding, Undecided>;

/// Returns the findings of a litmus test: for each assertion an execution in which its condition holds, if there is
/// one.
///
/// # Errors
/// If an implementation does not exist.
pub fn of_test(
    catalogue: &Catalogue,
    test: &Test,
    text: &str,
    implemented: &[String],
    limits: Limits<'_>,
) -> Result<Vec<Decided>, InputError> {
    let (libraries, chain) = (catalogue.libraries(test.model), replaced(catalogue, test, implemented)?);
    let finding = |(position, assertion): (usize, &Assertion)| {
        let found = execution_with(&libraries, test, assertion, &chain, limits)?;
        let happens = if found.is_some() { "possible" } else { "impossible" };
        let by = if implemented.is_empty() { String::new() } else { format!(" by {}", implemented.join(", ")) };
        Ok(Finding {
            title: format!("{}: ({}) is {happens}{by}", test.name, assertion.text),
            litmus: text.to_owned(),
            implemented: implemented.to_vec(),
            assertion: position,
            execution: found,
        })
    };
    Ok(test.assertions.iter().enumerate().map(finding).collect())
}

/// Returns an execution in which the condition of an assertion holds, if there is one.
///
/// # Errors
/// If the search was stopped before one was found.
fn execution_with(
    libraries: &Libraries,
    test: &Test,
    assertion: &Assertion,
    chain: &[Arc<dyn Implementation>],
    limits: Limits<'_>,
) -> Result<Option<Execution>, Undecided> {
    let mut found = None;
    let (explored, over) = with_problem(libraries, test, chain, limits, |problem| {
        let explored = problem.explore(&mut |solver| {
            let outcome = test.values(&problem.outcome_of(solver));
            if !assertion.condition.holds(&outcome) {
                return Flow::Continue;
            }
            assert!(solver.complete(), "a class has a completion");
            found = solver.execution();
            Flow::Stop
        });
        (explored, stuck::over(test, problem))
    });
    let (over, stop) = over.into_parts();
    let found = found.or_else(|| over.into_iter().find(|(_, shown)| assertion.condition.holds(shown)).map(|(e, _)| e));
    match (found, explored.stop.or(stop)) {
        (None, Some(stop)) => {
            Err(Undecided::new(format!("{}: whether ({}) is possible", test.name, assertion.text), stop))
        }
        (found, _) => Ok(found),
    }
}

/// The beginning of the line before the program of a finding, in a text for people. A [`Mark`] as JSON follows it.
const BEGIN: &str = "// finding ";
/// The line after the program.
const END: &str = "// end of finding";

/// The data of a marked program in a text, for [`of_snapshot`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    implemented: Vec<String>,
    /// The number of the assertion, from 1 as in the command.
    assertion: usize,
}

/// Prints the program of a finding for a text that people read, between two comments by which [`of_snapshot`] finds it.
///
/// # Panics
/// Never: a mark consists of strings and a number.
#[must_use]
pub fn marked(litmus: &str, implemented: &[String], assertion: usize) -> String {
    let mark = Mark { implemented: implemented.to_vec(), assertion: assertion + 1 };
    let mark = ron::to_string(&mark).expect("strings and a number");
    format!("{BEGIN}{mark}\n{}\n{END}\n", litmus.trim_end())
}

/// Returns the first program that is marked in a reviewed snapshot, or that of an accepted execution, with its text; `None` if it has neither.
fn marked_in(catalogue: &Catalogue, snapshot: &str) -> Result<Option<(Mark, String, Test)>, InputError> {
    let mut lines = snapshot.lines();
    let Some(mark) = lines.find_map(|l| l.strip_prefix(BEGIN)) else { return Ok(accepted_in(catalogue, snapshot)) };
    let mark: Mark = ron::from_str(mark).map_err(|e| InputError::new(Code::Syntax, format!("{BEGIN}{mark}: {e}")))?;
    let text: String = lines.take_while(|l| *l != END).map(|l| format!("{l}\n")).collect();
    let test = parse_in(catalogue, "the snapshot's program", &text)?;
    Ok(Some((mark, text, test)))
}

/// Returns the finding of a reviewed snapshot: its first marked program or that of its accepted execution, with an execution from a new
/// search. Returns `None` if it has neither.
///
/// # Errors
/// If the mark or the program cannot be read, an implementation does not exist, or the search was stopped.
pub fn of_snapshot(catalogue: &Catalogue, snapshot: &str, limits: Limits<'_>) -> Result<Option<Finding>, Failure> {
    let Some((mark, text, test)) = marked_in(catalogue, snapshot)? else { return Ok(None) };
    let findings = of_test(catalogue, &test, &text, &mark.implemented, limits)?;
    let none = wrong(format!("the snapshot's program has no assertion {}", mark.assertion));
    Ok(Some(findings.into_iter().nth(mark.assertion.wrapping_sub(1)).ok_or(none)??))
}

/// Judges a finding, and decides whether the specifications allow its outcome.
///
/// # Errors
/// If the program cannot be parsed, an implementation does not exist, the execution is not consistent, or it does not
/// have the outcome. Also if a limit stopped the search before the outcome was decided.
pub fn explain(catalogue: &Catalogue, finding: Finding, limits: Limits<'_>) -> Result<Explained, Failure> {
    let test = parse_in(catalogue, "the finding's program", &finding.litmus)?;
    let (libraries, chain) = (catalogue.libraries(test.model), replaced(catalogue, &test, &finding.implemented)?);
    if finding.is_endless(&test) {
        return Err(
            wrong("the finding is a client that never ends: `mowgli explain` shows it as text or a picture").into()
        );
    }
    let Some(assertion) = test.assertions.get(finding.assertion) else {
        return Err(wrong(format!("the finding's program has no assertion {}", finding.assertion + 1)).into());
    };
    let shown = |e: &Execution| {
        with_problem(&libraries, &test, &chain, limits, |problem| match problem.has_run(e) {
            true => Some(outcome(&libraries, &test, &finding, e)),
            false => {
                stuck::over(&test, problem).so_far().0.iter().find(|(o, _)| o == e).map(|(_, shown)| shown.clone())
            }
        })
    };
    let shown = finding
        .execution
        .as_ref()
        .map(|e| shown(e).ok_or_else(|| wrong("the execution is not one of the finding's program")));
    let shown = shown.transpose()?;
    if finding.execution.is_none() && execution_with(&libraries, &test, assertion, &chain, limits)?.is_some() {
        return Err(wrong(format!("the finding says that {} is impossible, and it is not", assertion.text)).into());
    }
    if shown.as_ref().is_some_and(|shown| !assertion.condition.holds(shown)) {
        return Err(wrong(format!("the execution is not one with {}", assertion.text)).into());
    }
    let judged = finding.execution.as_ref().map(|e| check(&libraries, &finding, e)).transpose()?;
    let wanted = |o: &Outcome| assertion.condition.holds(&test.values(o));
    let refutations = with_problem(&libraries, &test, &[], limits, |problem| {
        let mut possible = false;
        let explored = problem.explore(&mut |solver| {
            possible = wanted(&problem.outcome_of(solver));
            if possible { Flow::Stop } else { Flow::Continue }
        });
        match explored.stop {
            _ if possible => Ok(None),
            Some(stop) => Err(Undecided::new(format!("{}: whether the specifications allow it", finding.title), stop)),
            None => match stuck::over(&test, problem).into_parts() {
                (over, _) if over.iter().any(|(_, shown)| assertion.condition.holds(shown)) => Ok(None),
                (_, Some(stop)) => {
                    Err(Undecided::new(format!("{}: whether the specifications allow it", finding.title), stop))
                }
                (_, None) if test.servers.is_empty() => Ok(Some(problem.refutations(&wanted, SHOWN))),
                (_, None) => Ok(Some(Found::new(Vec::new(), None))),
            },
        }
    })?;
    let vacuous = finding.execution.is_none() && is_vacuous(catalogue, &test, &finding.implemented, limits)?;
    Ok(Explained { libraries, finding, shown: shown.unwrap_or_default(), judged, test, refutations, vacuous })
}

/// Makes the error for a finding that its program does not have.
fn wrong(message: impl Into<String>) -> InputError {
    InputError::new(Code::Finding, message)
}

/// Returns the libraries below those that a finding replaces.
fn below(libraries: &Libraries, finding: &Finding) -> Libraries {
    let replaced = finding.implemented.iter().map(|name| name.split(':').next().unwrap_or(name));
    replaced.fold(libraries.clone(), |all, name| all.without(Name::new(name)))
}

/// Judges the execution of a finding.
fn check(libraries: &Libraries, finding: &Finding, execution: &Execution) -> Result<Judged, InputError> {
    judge(&below(libraries, finding), execution).map_err(|e| wrong(format!("the judge rejects this execution: {e}")))
}

/// Returns the values that a test shows of an execution.
fn outcome(libraries: &Libraries, test: &Test, finding: &Finding, execution: &Execution) -> Vec<Val> {
    let libraries = &below(libraries, finding);
    let finals = test.observed.iter().map(|&cell| {
        let initial = || execution.world.objects.get(&cell.loc).map_or(Val::Int(0), |o| o.init);
        execution.last(libraries, cell).unwrap_or_else(initial)
    });
    test.values(&Outcome { outputs: execution.outputs.clone(), finals: finals.collect() })
}

impl Explained {
    /// Returns the limit that kept some reasons from being found, if one did.
    #[must_use]
    pub fn stop(&self) -> Option<&Stop> {
        self.refutations.as_ref().and_then(|found| found.so_far().1)
    }

    /// Returns the statements of the program.
    #[must_use]
    pub fn words(&self) -> ProgramWords {
        ProgramWords { statements: self.test.texts(), names: self.names() }
    }

    /// Returns the names of threads and words in the program.
    #[must_use]
    pub fn names(&self) -> Names {
        Names::of(&self.test)
    }

    /// Prints the events of the execution, if there is one.
    #[must_use]
    pub fn events(&self) -> Option<String> {
        self.finding.execution.as_ref().map(|e| show::events(e, &self.names()))
    }

    /// Returns the execution, to be printed with these names, if there is one.
    #[must_use]
    pub fn scene<'a>(&'a self, names: &'a Names) -> Option<Scene<'a>> {
        let (execution, judged) = (self.finding.execution.as_ref()?, self.judged.as_ref()?);
        Some(Scene { libraries: &self.libraries, execution, judged, names })
    }

    /// Prints the execution as a graph in the DOT language, if there is one.
    #[must_use]
    pub fn dot(&self) -> Option<String> {
        Some(show::dot(&self.finding.title, &self.scene(&self.names())?))
    }

    /// Prints the explanation as text.
    #[must_use]
    pub fn text(&self) -> String {
        let Finding { title, litmus, implemented, assertion, .. } = &self.finding;
        let mut out = format!("{title}\n\n{}", marked(litmus, implemented, *assertion));
        if let Some(scene) = self.scene(&self.names()) {
            let outcome: Vec<_> = self.test.named(&self.shown).map(|(name, v)| (name.to_owned(), v)).collect();
            out.push_str(&witness(&outcome, implemented, &scene));
            if let Model::RdmaTso(_) = self.test.model {
                out.extend(show::weak_cycle(&scene));
            }
        }
        if self.vacuous {
            out.push_str(&format!("\n{}", vacuous()));
        }
        match &self.refutations {
            _ if self.vacuous && implemented.is_empty() => {}
            None if implemented.is_empty() => {}
            None => out.push_str("\nThe specifications allow it.\n"),
            Some(found) if !self.test.servers.is_empty() && found.so_far().0.is_empty() => {
                out.push_str(
                    "\nThe specifications forbid it. Executions in which servers wait have no reasons here.\n",
                );
            }
            Some(refutations) => {
                out.push_str(&self.words().refutations(refutations));
            }
        }
        out
    }
}

/// A stuck execution of each kind that a test has, as text; and the first as data.
pub struct Standstills {
    /// For each the place and the reason of each waiting thread, and the events; empty if no execution is stuck.
    pub text: String,
    /// The first one, with the libraries and the relations that the judge derived.
    pub first: Option<(Libraries, Execution, Judged)>,
    /// The limit that cut the search short, if one did.
    pub stop: Option<Stop>,
}

/// Explains the executions of a test that are stuck.
///
/// # Errors
/// If an implementation does not exist.
///
/// # Panics
/// If the search and the judge disagree.
pub fn standstills(
    catalogue: &Catalogue,
    test: &Test,
    implemented: &[String],
    limits: Limits<'_>,
) -> Result<Standstills, InputError> {
    let (libraries, chain) = (catalogue.libraries(test.model), replaced(catalogue, test, implemented)?);
    let (all, stop) = with_problem(&libraries, test, &chain, limits, |p| stuck::executions(test, p)).into_parts();
    let names = Names::of(test);
    let (mut text, mut first) = (String::new(), None);
    for (kind, stuck) in all.into_iter().filter(|(kind, _)| !kind.is_over(test)) {
        let whys = stuck::whys(&libraries, &stuck);
        let replaced = chain.iter().map(|i| i.target());
        let libraries = replaced.fold(libraries.clone(), |all, name| all.without(name));
        let judged = judge(&libraries, &stuck.execution).expect("what is stuck is consistent");
        let scene = Scene { libraries: &libraries, execution: &stuck.execution, judged: &judged, names: &names };
        let events = show::events(&stuck.execution, &names);
        let _ =
            writeln!(text, "{}{events}{}", stuck::text(test, &BTreeMap::from([(kind, whys)])), show::relations(&scene));
        first.get_or_insert((libraries, stuck.execution, judged));
    }
    Ok(Standstills { text, first, stop })
}

/// Prints an execution with its outcome.
#[must_use]
pub fn witness(outcome: &[(String, String)], implemented: &[String], scene: &Scene<'_>) -> String {
    let values = outcome.iter().map(|(name, v)| format!("{name}={v}")).join(", ");
    let of = if implemented.is_empty() { String::new() } else { format!(" of {}", implemented.join(", ")) };
    let (events, relations) = (show::events(scene.execution, scene.names), show::relations(scene));
    let head = if values.is_empty() {
        format!("This execution{of} ends:")
    } else {
        format!("The outcome {values} is that of this execution{of}:")
    };
    format!("\n{head}\n{events}{relations}")
}

/// The words of a program.
pub struct ProgramWords {
    /// The statements of each thread that are calls, as they are written, by the places of their events.
    pub statements: Vec<Vec<String>>,
    /// The names of threads and words.
    pub names: Names,
}

impl ProgramWords {
    /// Prints why an outcome is forbidden, in the words of the program.
    #[must_use]
    pub fn refutations(&self, refutations: &Found<Vec<Refutation>>) -> String {
        let (refutations, stop) = refutations.so_far();
        match stop {
            Some(stop) if refutations.is_empty() => {
                return format!("\nThe specifications forbid it; why was not found before {stop}.\n");
            }
            None if refutations.is_empty() => {
                return "\nNo run of the program has these values: a call reads only what a call writes, or what a cell begins with.\n".to_owned();
            }
            _ => {}
        }
        let mut out = String::from("\nThe specifications forbid it:\n");
        let of_all = common(refutations.iter());
        for (reason, ways) in self.by_reason(refutations) {
            let own = common(ways.iter().copied()).into_iter().filter(|a| !of_all.contains(a));
            let assumed = own.map(|a| self.assumption(ways[0], a)).collect::<Vec<_>>().join(", and ");
            if !assumed.is_empty() {
                let _ = writeln!(out, "  if {assumed}:");
            }
            out.push_str(&reason);
        }
        if let Some(stop) = stop {
            let _ = writeln!(out, "  and whether there are more ways to get it was not known before {stop}");
        } else if refutations.len() >= SHOWN {
            out.push_str("  and so on: there are more ways to get it, each impossible\n");
        }
        out
    }

    /// Prints why each way is impossible, and lists the ways with one reason together.
    fn by_reason<'r>(&self, refutations: &'r [Refutation]) -> Vec<(String, Vec<&'r Refutation>)> {
        let mut all: Vec<(String, Vec<&Refutation>)> = Vec::new();
        for way in refutations {
            let end = refutation_end(way).unwrap_or_else(|| "back to the first event: a cycle".to_owned());
            let lines =
                way.edges.iter().map(|edge| self.sentence(edge)).chain([end]).chain(self.other_order(way, false));
            let reason = lines.map(|line| format!("    {line}\n")).collect::<String>();
            match all.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, ways)) => ways.push(way),
                None => all.push((reason, vec![way])),
            }
        }
        all
    }

    /// Prints where a read of a way gets its value from. The stamp distinguishes the reads of a call that reads several times.
    fn assumption(&self, way: &Refutation, (read, write): &Assumed) -> String {
        let place = |end: &CycleEnd| (end.thread, end.position);
        let several = way.assumed.iter().filter(|a| place(&a.0) == place(read)).count() > 1;
        let reader = if several { format!("{} as {}", self.end(read), read.stamp) } else { self.end(read) };
        match write {
            Some(write) => format!("{reader} reads from {}", self.end(write)),
            None => format!("{reader} reads the initial value"),
        }
    }

    /// Returns the lines on the other order, if a cycle follows an order such as that of a lock: the edges that forbid it, or one line.
    #[must_use]
    pub fn other_order(&self, way: &Refutation, in_short: bool) -> Vec<String> {
        let Some(ordered) = way.edges.iter().find(|edge| edge.is_ordered) else { return Vec::new() };
        let is_reversed = |edge: &Edge| {
            edge.is_ordered && (edge.from.thread, edge.to.thread) == (ordered.to.thread, ordered.from.thread)
        };
        // A cycle that follows the first order, too, says nothing of the other one.
        let all_are = way.in_other_order.iter().filter(|edge| edge.is_ordered).all(is_reversed);
        if in_short || way.in_other_order.is_empty() || !all_are || !way.in_other_order.iter().any(is_reversed) {
            return vec![format!("the other order of {} is impossible, too", ordered.relation)];
        }
        let edges = way.in_other_order.iter().map(|edge| format!("  {}", self.sentence(edge)));
        std::iter::once(format!("in the other order of {}:", ordered.relation)).chain(edges).collect()
    }

    /// Prints an edge as a sentence.
    #[must_use]
    pub fn sentence(&self, edge: &Edge) -> String {
        let value = |v: Option<Val>| v.map_or_else(|| "a value".to_owned(), |v| v.to_string());
        let sentence = edge
            .sentence
            .replace("{a}", &self.end(&edge.from))
            .replace("{b}", &self.end(&edge.to))
            .replace("{a reads}", &value(edge.from.read))
            .replace("{b reads}", &value(edge.to.read))
            .replace("{a writes}", &value(edge.from.wrote))
            .replace("{b writes}", &value(edge.to.wrote))
            .replace("{a stamp}", &edge.from.stamp)
            .replace("{b stamp}", &edge.to.stamp);
        format!("{sentence}  ({})", edge.relation)
    }

    /// Prints the statement of an event. Adds the thread if several threads have the same text, and the number of the
    /// occurrence if one thread has it several times. In a thread that branches, prints the call.
    fn end(&self, end: &CycleEnd) -> String {
        let own = self.statements.get(end.thread.index()).map_or(&[][..], |texts| texts);
        let thread = self.names.thread(end.thread);
        if let Some(what) = crash::in_words(&end.event.call) {
            return format!("{thread}: {what}");
        }
        let Some(text) = own.get(end.position) else {
            let which = show::among(end.nth);
            // If several runs are left, the result is printed only if all of them have it.
            let is_known = end.read == Some(end.event.ret);
            let call = if is_known { self.names.statement(&end.event) } else { self.names.call(&end.event.call) };
            return format!("{thread}: {call}{which}");
        };
        let alike = |texts: &[String]| texts.iter().filter(|t| *t == text).count();
        // A call that sends a value and the write of this value just before it have the same text.
        let of_each = if self.names.is_sent(&end.event.call) { 2 } else { 1 };
        let (before, of) = (alike(&own[..end.position]) / of_each, alike(own) / of_each);
        if of > 1 {
            format!("{text} ({thread}, {} of {of})", show::ordinal(before + 1))
        } else if self.statements.iter().map(|texts| alike(texts)).sum::<usize>() > of_each {
            format!("{text} ({thread})")
        } else {
            text.clone()
        }
    }
}

/// Returns the line behind the edges of a refutation; `None` if they are a cycle.
#[must_use]
pub fn refutation_end(refutation: &Refutation) -> Option<String> {
    match refutation.demand {
        _ if refutation.edges.is_empty() => Some("no write has the values that are then to be read".to_owned()),
        Some((library, demand)) => Some(format!("which {library} excludes ({demand})")),
        None => None,
    }
}

type Assumed = (CycleEnd, Option<CycleEnd>);

/// Returns the assumptions that all refutations share.
fn common<'r>(mut refutations: impl Iterator<Item = &'r Refutation> + Clone) -> Vec<&'r Assumed> {
    let first = refutations.next().expect("there are some");
    first.assumed.iter().filter(|a| refutations.clone().all(|r| r.assumed.contains(a))).collect()
}
