//! The record of a litmus test that was solved, for the formats of other tools.

use mowgli_core::value::Val;

use super::format::{FindingKind, FormatFinding, Record};
use crate::litmus::run::{Answer, TestVerdict, WHY_NONE};
use crate::litmus::stuck;
use crate::litmus::test::{Assertion, Quantifier, Test};

/// Makes the record of a test in a file.
pub(crate) fn record(file: String, test: &Test, answer: &Answer, seconds: f64) -> Record {
    let verdict = answer.verdict(test);
    let is_vacuous = verdict == TestVerdict::Vacuous;
    let mut findings = if is_vacuous { vec![vacuous(test, answer)] } else { violations(test, answer) };
    findings.extend(answer.stop().map(|stop| {
        let message = format!("the search did not end: {stop}");
        finding(FindingKind::Undecided, (1, 1), message)
    }));
    let is_stuck = answer.is_stuck(test) && !is_vacuous;
    findings.extend(is_stuck.then(|| unexpected(test, answer)));
    let warnings = test.warnings.iter();
    findings.extend(warnings.map(|w| finding(FindingKind::Warning, (w.place.line, w.place.column), w.message.clone())));
    Record { name: test.name.clone(), file: Some(file), verdict: verdict.text().to_owned(), seconds, findings }
}

fn finding(kind: FindingKind, place: (usize, usize), message: String) -> FormatFinding {
    FormatFinding { kind, place: Some(place), message, details: String::new() }
}

/// Makes the finding for a test no execution of which ends, with the threads that wait.
fn vacuous(test: &Test, answer: &Answer) -> FormatFinding {
    let message = format!(
        "no execution ends, so assertions about all executions mean nothing: {WHY_NONE}; write a line `vacuous` if \
         that is intended"
    );
    FormatFinding {
        details: waits(test, answer),
        ..finding(FindingKind::Undecided, (first_wait(test, answer), 1), message)
    }
}

/// Makes the finding for stuck executions of a test that asserts nothing about them.
fn unexpected(test: &Test, answer: &Answer) -> FormatFinding {
    let message =
        format!("executions are stuck in which {}; write `may hang` if that is intended", waits(test, answer));
    finding(FindingKind::Undecided, (first_wait(test, answer), 1), message)
}

/// Returns the line at which a thread waits in the first kind of stuck executions, or else that of the header.
fn first_wait(test: &Test, answer: &Answer) -> usize {
    let statement = |kind: &stuck::StuckKind| (0..test.threads.len()).find_map(|thread| kind.statement(test, thread));
    answer.kinds().keys().next().and_then(statement).map_or(1, |(line, _)| line)
}

/// Returns the statements at which the threads of the first kind of stuck executions wait.
fn waits(test: &Test, answer: &Answer) -> String {
    let first = answer.kinds().iter().next().map(|(kind, whys)| kind.waits_in_words(test, whys));
    first.unwrap_or_default().join("; ")
}

/// Makes a finding for each assertion that does not hold.
fn violations(test: &Test, answer: &Answer) -> Vec<FormatFinding> {
    let on_outcomes = test.assertions.iter().zip(&answer.holds).map(|(assertion, &holds)| {
        let reason = || format!("{assertion} does not hold: {}", reason(test, assertion, answer));
        (holds == Some(false)).then(|| finding(FindingKind::Violated, (assertion.line, 1), reason()))
    });
    let on_stuck = test.liveness.iter().zip(&answer.liveness).map(|(liveness, &holds)| {
        let reason = || match answer.kinds().is_empty() {
            true => format!("{} does not hold: no execution is stuck", liveness.text),
            false => format!("{} does not hold: executions are stuck in which {}", liveness.text, waits(test, answer)),
        };
        (holds == Some(false)).then(|| finding(FindingKind::Violated, (liveness.line, 1), reason()))
    });
    on_outcomes.chain(on_stuck).flatten().collect()
}

/// Names the outcome that decides against an assertion, if there is one.
fn reason(test: &Test, assertion: &Assertion, answer: &Answer) -> String {
    let decides = |values: &&Vec<Val>| match assertion.quantifier {
        Quantifier::Allowed => false,
        Quantifier::Forbidden | Quantifier::Vacuous => assertion.condition.holds(values),
        Quantifier::Forall => !assertion.condition.holds(values),
    };
    match answer.outcomes.keys().find(decides) {
        Some(values) if values.is_empty() => "an execution ends".to_owned(),
        Some(values) => {
            let shown = test.named(values).map(|(name, v)| format!("{name}={v}"));
            format!("the outcome {} is possible", shown.collect::<Vec<_>>().join(" "))
        }
        None => "no execution has such an outcome".to_owned(),
    }
}
