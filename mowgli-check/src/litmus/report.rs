//! The output of the `litmus` command: herd's text, or one JSON object a line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use mowgli_core::value::Val;

use super::run::{Answer, WHY_NONE, WitnessRuns};
use super::stuck::{self, StuckKind};
use super::test::{Quantifier, Test, Warning};

#[derive(Serialize)]
struct ReportLine<'a> {
    name: &'a str,
    model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<String>,
    verdict: &'static str,
    complete: bool,
    vacuous: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
    outcomes: Vec<BTreeMap<&'a str, String>>,
    stuck: Vec<StuckLine<'a>>,
    assertions: Vec<AssertionLine<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    liveness: Vec<LivenessLine<'a>>,
    executions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    random_runs: Option<&'a WitnessRuns>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    outside: &'a [String],
    warnings: &'a [Warning],
    loops: usize,
    micros: u128,
}

#[derive(Serialize)]
struct AssertionLine<'a> {
    kind: String,
    condition: &'a str,
    holds: Option<bool>,
}

/// A kind of stuck executions.
#[derive(Serialize)]
struct StuckLine<'a> {
    /// The threads that wait.
    threads: BTreeMap<&'a str, WaitLine<'a>>,
    values: BTreeMap<&'a str, String>,
}

#[derive(Serialize)]
struct WaitLine<'a> {
    line: usize,
    statement: &'a str,
    why: &'a str,
}

#[derive(Serialize)]
struct LivenessLine<'a> {
    claim: &'a str,
    holds: Option<bool>,
}

/// Returns one line of JSON. `loops` is the bound on iterations of a loop with effects.
///
/// # Panics
/// Never: the line consists of strings and numbers.
#[must_use]
pub fn json<'a>(test: &'a Test, answer: &'a Answer, loops: usize, micros: u128) -> String {
    let outcome = |values: &Vec<Val>| test.named(values).collect();
    let stuck = |(kind, whys): (&StuckKind, &'a Vec<String>)| {
        let wait = |(thread, why): (usize, &'a String)| {
            let (line, statement) = kind.statement(test, thread)?;
            Some((test.threads[thread].name.text(), WaitLine { line, statement, why }))
        };
        let threads = whys.iter().enumerate().filter_map(wait).collect();
        StuckLine { threads, values: outcome(&kind.shown) }
    };
    let liveness = test.liveness.iter().zip(&answer.liveness);
    let assertions = test.assertions.iter().zip(&answer.holds);
    let line = ReportLine {
        name: &test.name,
        model: test.model.to_string(),
        rules: answer.rules.clone(),
        verdict: answer.verdict(test).text(),
        complete: answer.stop().is_none(),
        vacuous: answer.is_vacuous(),
        stopped: answer.stop().map(ToString::to_string),
        outcomes: answer.outcomes.keys().map(outcome).collect(),
        stuck: answer.kinds().iter().map(stuck).collect(),
        liveness: liveness.map(|(l, &holds)| LivenessLine { claim: &l.text, holds }).collect(),
        assertions: assertions
            .map(|(a, &holds)| AssertionLine { kind: a.quantifier.to_string(), condition: &a.text, holds })
            .collect(),
        executions: answer.explored.stats.classes,
        random_runs: (answer.runs.runs > 0).then_some(&answer.runs),
        outside: &answer.outside,
        warnings: &test.warnings,
        loops,
        micros,
    };
    serde_json::to_string(&line).expect("strings and numbers")
}

fn word(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "Ok",
        Some(false) => "No",
        None => "Undecided",
    }
}

/// Returns herd's text. `loops` is the bound on iterations of a loop with effects.
#[must_use]
pub fn text(test: &Test, answer: &Answer, loops: usize, micros: u128) -> String {
    let mut out = answer.outside_text();
    let kind = |q: Quantifier| match q {
        Quantifier::Allowed => "Allowed",
        Quantifier::Forbidden => "Forbidden",
        Quantifier::Forall => "Required",
        Quantifier::Vacuous => "Vacuous",
    };
    let first = test.assertions.first().map_or("Allowed", |a| kind(a.quantifier));
    let _ = writeln!(out, "Test {} {first}", test.name);
    let states = match (answer.outcomes.len(), &answer.explored.stop) {
        (0, Some(_)) => "unknown: the search ended before it found an outcome".to_owned(),
        (states, Some(_)) => format!("at least {states}"),
        (states, None) => states.to_string(),
    };
    let _ = writeln!(out, "States {states}");
    for values in answer.outcomes.keys() {
        let shown = test.named(values).map(|(name, v)| format!("{name}={v};"));
        let _ = writeln!(out, "{}", shown.collect::<Vec<_>>().join(" "));
    }
    for (at, (assertion, &holds)) in test.assertions.iter().zip(&answer.holds).enumerate() {
        let with: u64 = answer.outcomes.iter().filter(|(v, _)| assertion.condition.holds(v)).map(|(_, n)| n).sum();
        let without = answer.outcomes.values().sum::<u64>() - with;
        let is_complete = answer.explored.stop.is_none();
        let often = match (with, without) {
            (1.., 1..) => "Sometimes",
            _ if !is_complete => "Undecided",
            (0, _) => "Never",
            (_, 0) => "Always",
        };
        let _ = writeln!(
            out,
            "{}",
            match holds {
                None if answer.is_vacuous() => "Vacuous",
                holds => word(holds),
            }
        );
        let _ = writeln!(out, "Condition {assertion}");
        let _ = writeln!(out, "Observation {} {often} {with} {without}", test.name);
        if let Some(run) = answer.runs.seen.iter().find(|run| run.assertion == at) {
            let _ = writeln!(out, "Seen in a random run: `mowgli walk FILE --seed {}` shows it step by step", run.seed);
        }
    }
    if answer.runs.runs > 0 {
        let _ = writeln!(out, "Random runs: {}, because a limit stopped the search", answer.runs.runs);
    }
    if answer.is_vacuous() {
        let meant = if test.is_meant_vacuous() { ", as the test says" } else { "" };
        let _ = writeln!(out, "Vacuous: no execution ends{meant}: {WHY_NONE}");
    }
    out.push_str(&stuck::text(test, answer.kinds()));
    for (liveness, holds) in test.liveness.iter().zip(&answer.liveness) {
        let _ = writeln!(out, "{}\nCondition {}", word(*holds), liveness.text);
    }
    match (&answer.explored.stop, answer.stop()) {
        (Some(stop), _) => _ = writeln!(out, "Incomplete: {stop}"),
        (None, Some(stop)) => _ = writeln!(out, "Incomplete: more executions may be stuck: {stop}"),
        (None, None) => {}
    }
    let _ = match &answer.rules {
        Some(rules) => writeln!(out, "Model {}, rules {rules}", test.model),
        None => writeln!(out, "Model {}, loops {loops}", test.model),
    };
    let _ = writeln!(out, "Time {} {:.6}", test.name, micros as f64 / 1e6);
    out
}
