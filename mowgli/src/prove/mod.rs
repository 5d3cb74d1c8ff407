//! Local soundness of implementations for every client: a solver proves it, or a client refutes it.

mod questions;
pub(crate) mod run;
pub(crate) mod subjects;
pub mod theorems;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::check::{CheckOptions, CheckQuestion, Checked, check};
use crate::error::{Bug, Code, InputError};
use crate::interrupt::Failure;
use crate::terminal::{columns, keep_words};
use comfy_table::{ContentArrangement, Table, presets};
use itertools::Itertools;
use mowgli_core::ids::Name;
use mowgli_core::judge::judge;
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::verdict::Verdict;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::entry::{Entry, Expected, Variant};
use mowgli_prove::prove::{ObligationResult, Proof, ProofOptions, prove};
use mowgli_prove::smt::solve::{Query, SolverAnswer, SolverLimit, SolverProgram};
use mowgli_prove::template::source::ProofSource;
use mowgli_rdma::Network;
use serde_json::json;

/// The result for one implementation.
pub struct Proved {
    /// The library.
    pub library: &'static str,
    /// The libraries that it is implemented over.
    pub over: String,
    /// The variant.
    pub variant: &'static str,
    /// The network of the memory model, if it has one.
    pub network: Option<Network>,
    /// The libraries below that are no memory model, whose implementations the proof does not read.
    layers: Vec<String>,
    expected: Expected,
    /// The proof, with the answers of the solvers.
    pub proof: Proof,
    /// A client with an execution that has no concretisation g, if the search found one.
    pub refutation: Option<Checked>,
    time: Duration,
}

/// The verdict on an implementation or a theorem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProofVerdict {
    /// The claim holds in general.
    Proved,
    /// Not locally sound: a client refutes it.
    Refuted,
    /// Neither proved nor refuted.
    Undecided,
    /// Proved and refuted, which is a bug of this project.
    Contradiction,
}

impl ProofVerdict {
    /// Returns the verdict as it is printed.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Refuted => "refuted",
            Self::Undecided => "undecided",
            Self::Contradiction => "contradiction",
        }
    }

    /// Combines a proof and a refutation into a verdict.
    pub(crate) fn of(is_proved: bool, is_refuted: bool) -> Self {
        match (is_proved, is_refuted) {
            (true, true) => Self::Contradiction,
            (true, false) => Self::Proved,
            (false, true) => Self::Refuted,
            (false, false) => Self::Undecided,
        }
    }
}

/// The result for a library or a theorem.
pub trait ProofResult {
    /// Returns the verdict.
    fn word(&self) -> ProofVerdict;

    /// Returns its name, with the variant.
    fn title(&self) -> String;

    /// Whether the verdict is the expected one; `None` if it is undecided.
    fn is_expected(&self) -> Option<bool>;

    /// Returns the exit code: 0 for the expected verdict, 1 for another, 2 for a contradiction, 3 for an open claim.
    fn code(&self) -> u8 {
        match (self.word(), self.is_expected()) {
            (ProofVerdict::Contradiction, _) => 2,
            (_, Some(false)) => 1,
            (_, None) => 3,
            (_, Some(true)) => 0,
        }
    }

    /// Returns the message about our bug, if the claim is both proved and refuted.
    fn contradiction(&self) -> Option<Bug> {
        (self.word() == ProofVerdict::Contradiction).then(|| Bug {
            message: format!(
                "{} is proved, and there is a counterexample; take neither for an answer, and report the command with what it \
                 printed",
                self.title()
            ),
        })
    }

    /// Returns the table of obligations, the verdict, and the refutation.
    fn text(&self) -> String;

    /// Returns one JSON object.
    fn json(&self) -> String;

    /// Returns the beginning of the names of its files.
    fn prefix(&self) -> String;

    /// Returns the proof.
    fn proof(&self) -> &Proof;

    /// Returns a file with the questions about each obligation: names and contents.
    fn files(&self) -> Vec<(String, String)> {
        files(&self.prefix(), self.proof())
    }

    /// Returns the number of obligations.
    fn obligations(&self) -> usize {
        self.proof().rows.len()
    }

    /// Returns the questions that closed cases, each with a name for its files.
    fn leaves(&self) -> Vec<(String, Query)> {
        leaves(&self.prefix(), self.proof())
    }
}

/// The number of clients that are searched before a proof is tried, if the entry expects a client without g. The same number
/// holds on another network than `rc`, because the entry expects nothing there.
const SOON: usize = 2_000;

/// The same if the entry expects that there is none.
const AT_ONCE: usize = 200;

/// The steps for a question if a client already refutes the claim.
const BRIEF: u64 = 2 * SolverLimit::SECOND;

/// The times at which the search for a wrong outcome asks whether to stop, before it does.
const OUTCOMES: usize = 1_000_000;

/// The most calls of the smallest clients, which are searched before a proof is tried.
const CALLS: usize = 3;

/// Searches small clients for a refutation, asks the solvers, and searches larger clients if there is neither proof nor
/// refutation.
///
/// # Errors
/// If the parts of the entry do not fit together.
pub fn proved(entry: &Entry, variant: &Variant, options: &ProofOptions, search: usize) -> Result<Proved, InputError> {
    let start = std::time::Instant::now();
    entry.library()?;
    let source = ProofSource {
        specification: &entry.specification,
        library: Name::literal(entry.name),
        below: &entry.below,
        implementation: variant.implementation.clone(),
        subject: &*entry.subject,
    };
    let (smallest, expected) = (small(variant), variant.expected);
    let network = entry.memory.switches.map(|switches| switches.network);
    let is_elsewhere = network.is_some_and(|network| network != Network::RC);
    let early = if is_unsound(expected) || is_elsewhere { SOON } else { AT_ONCE };
    let found = refutation(entry, variant, &smallest, search.min(early))?;
    // The solvers get a refuted claim too, with fewer steps, because their answers name the obligations that fail.
    let limit = if found.is_some() { options.limit.at_most(BRIEF) } else { options.limit };
    let proof = prove(&source, &ProofOptions { limit, ..options.clone() });
    let refutation = match found {
        None if !proof.is_proved() => {
            let all: Vec<Bound> = smallest.into_iter().chain(variant.bounds.iter().cloned()).collect();
            refutation(entry, variant, &all, search)?
        }
        known => known,
    };
    Ok(Proved {
        library: entry.name,
        over: entry.over(),
        layers: layers(entry),
        variant: variant.name,
        network,
        expected,
        proof,
        refutation,
        time: start.elapsed(),
    })
}

/// Returns the prover's verdict for every client, without a search for a counterexample, and what it left open.
///
/// # Errors
/// If the parts of the entry do not fit together, or a proof contradicts a client.
pub(crate) fn for_every_client(
    entry: &Entry,
    variant: &Variant,
    options: &ProofOptions,
) -> Result<(ProofVerdict, Vec<String>), Failure> {
    let found = proved(entry, variant, options, 0)?;
    let open = if found.word() == ProofVerdict::Proved { Vec::new() } else { open(&found.proof) };
    found.contradiction().map_or_else(|| Ok((found.word(), open)), |bug| Err(bug.into()))
}

/// Returns the libraries below an entry that are no memory model.
fn layers(entry: &Entry) -> Vec<String> {
    let is_layer = |name: &Name| entry.memory.libraries.get(*name).is_none();
    entry.below.names().filter(is_layer).map(|name| name.to_string()).collect()
}

/// True if the entry expects a client without g.
fn is_unsound(expected: Expected) -> bool {
    matches!(expected, Expected::Unsound | Expected::NotLocallySound)
}

/// Returns bounds of few calls.
fn small(variant: &Variant) -> [Bound; 2] {
    let first = variant.bounds.first().cloned().unwrap_or_default();
    [1, CALLS].map(|calls| Bound { total: Some(calls), ..first.clone() })
}

/// Searches `search` clients of each of these bounds, or a few more, for one with an execution without g. The judge accepts that
/// execution. Returns a client with a wrong outcome instead, if one is found soon. The limits are counts.
///
/// # Errors
/// If the parts of the entry do not fit together, or a body makes a call with a fault (LOCO Def. 3.9): the solvers ask of
/// executions without faults only.
fn refutation(
    entry: &Entry,
    variant: &Variant,
    bounds: &[Bound],
    search: usize,
) -> Result<Option<Checked>, InputError> {
    for bound in bounds {
        let asked = |ask, stops: &(dyn Fn() -> bool + Sync), progress: &(dyn Fn(usize, usize) + Sync)| {
            let options = CheckOptions { ask, stops, progress, ..CheckOptions::default() };
            let checked = check(entry, variant, bound, &options)?;
            match &checked.report.verdict {
                Verdict::Undecided(stop @ Stop::IllDefined(_)) => {
                    Err(InputError::new(Code::Library, format!("{} ({}): {stop}", entry.name, variant.name)))
                }
                _ => Ok(Some(checked).filter(is_refuted)),
            }
        };
        let clients = AtomicUsize::new(0);
        let stops = || clients.load(Ordering::Relaxed) >= search;
        let count = |done, _| clients.store(done, Ordering::Relaxed);
        if let Some(found) = asked(CheckQuestion::Local, &stops, &count)? {
            let times = AtomicUsize::new(0);
            let stops = || times.fetch_add(1, Ordering::Relaxed) >= OUTCOMES;
            return Ok(Some(asked(CheckQuestion::Soundness, &stops, &|_, _| {})?.unwrap_or(found)));
        }
    }
    Ok(None)
}

/// True if a check has found an execution without g that the judge accepts.
fn is_refuted(checked: &Checked) -> bool {
    let execution = match (&checked.report.verdict, &checked.report.violation) {
        (Verdict::Unsound(counterexample), _) => &counterexample.execution,
        (Verdict::NotLocallySound, Some((_, _, violation))) => &violation.execution,
        _ => return false,
    };
    judge(&checked.libraries, execution).is_ok()
}

impl Proved {
    /// Lists what the proof says nothing of.
    fn not_covered(&self) -> Vec<String> {
        let mut all = vec![
            "progress: that calls return".to_owned(),
            "calls for an empty set of nodes, which are not made".to_owned(),
            "calls whose arguments have other forms".to_owned(),
            "bodies that make a call with a fault in large clients alone (Def. 3.9)".to_owned(),
        ];
        all.extend(
            self.proof.covers.iter().filter_map(|of| {
                Some(format!("objects of another size than {}", of.strip_prefix("objects of size ")?))
            }),
        );
        if !self.layers.is_empty() {
            let layers = self.layers.join(", ");
            let given = format!("it uses the specifications that {} gives them, and checks no tower", self.library);
            all.push(format!("the implementations of {layers}: {given}"));
        }
        let alone = self.proof.rows.iter().filter(|row| row.is_by_simplifier_alone()).count();
        all.extend(
            (alone > 0).then(|| format!("errors of Mowgli's simplifier, on which {alone} obligations rest alone")),
        );
        all
    }
}

impl ProofResult for Proved {
    fn word(&self) -> ProofVerdict {
        ProofVerdict::of(self.proof.is_proved(), self.refutation.is_some())
    }

    fn title(&self) -> String {
        let elsewhere = self.network.filter(|network| *network != Network::RC);
        let on = elsewhere.map(|network| format!(" on {network}")).unwrap_or_default();
        format!("{} ({}) over {}{on}", self.library, self.variant, self.over)
    }

    /// Compares the verdict with the expected one. A variant whose only defect is that it never ends is locally sound.
    fn is_expected(&self) -> Option<bool> {
        let refuted = is_unsound(self.expected);
        match self.word() {
            ProofVerdict::Proved => Some(!refuted),
            ProofVerdict::Refuted => Some(refuted),
            ProofVerdict::Contradiction => Some(false),
            ProofVerdict::Undecided => None,
        }
    }

    /// Returns the table of obligations, g, and the verdict; for a refutation also the client and the execution.
    fn text(&self) -> String {
        let proof = &self.proof;
        let mut out = table(proof);
        if proof.plain > 0 {
            out.push_str(&format!(
                "condition 1 holds {} more times by definition: the stamps are the same\n",
                proof.plain
            ));
        }
        proof.concretisation.iter().for_each(|line| out.push_str(&format!("g: {line}\n")));
        out.push_str(&found_in(proof));
        out.push_str(&format!("{}: {}", self.title(), self.word().text()));
        match proof.is_proved() {
            true => out.push_str(&format!(", for every client\n  covers {}\n", proof.covers.join(", "))),
            false => out.push('\n'),
        }
        if proof.is_proved() {
            self.not_covered().iter().for_each(|line| out.push_str(&format!("  does not cover {line}\n")));
        }
        if !proof.is_proved() {
            open(&self.proof).iter().for_each(|line| out.push_str(&format!("  not shown: {line}\n")));
        }
        if let Some(refutation) = &self.refutation {
            out.push_str(&format!("\n{}", refutation.explanation()));
        }
        out
    }

    fn json(&self) -> String {
        let refutation = self.refutation.as_ref();
        json!({
            "library": self.library, "over": self.over, "variant": self.variant,
            "network": self.network.map(|network| network.name), "verdict": self.word().text(),
            "expected": self.is_expected(), "obligations": rows(&self.proof),
            "g": self.proof.concretisation, "executions": self.proof.executions, "covers": self.proof.covers,
            "not_covered": if self.proof.is_proved() { self.not_covered() } else { Vec::new() },
            "open": if self.proof.is_proved() { Vec::new() } else { open(&self.proof) },
            "client": refutation.and_then(Checked::litmus), "why": refutation.map(Checked::explanation), "seconds": self.time.as_secs_f64(),
        })
        .to_string()
    }

    fn prefix(&self) -> String {
        format!("{}-{}", self.library, self.variant)
    }

    fn proof(&self) -> &Proof {
        &self.proof
    }
}

/// Returns the table of obligations, or nothing if there are none.
pub(crate) fn table(proof: &Proof) -> String {
    if proof.rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["obligation", "questions", "solver", "seconds", "result"]);
    for row in &proof.rows {
        let solvers = row.answers.iter().map(|(solver, _)| solver.to_string()).join(", ");
        let solvers = match row.closed {
            Some(closed) if row.answers.is_empty() => format!("{closed}; {}", confirmed(row)),
            _ => solvers,
        };
        let time = format!("{:.2}", row.time.as_secs_f64());
        table.add_row([row.obligation.clone(), row.cases.to_string(), solvers, time, explained(proof, row)]);
    }
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns());
    keep_words(&mut table);
    format!("{}\n", table.trim_fmt())
}

/// Describes whether a solver confirms an obligation that none has closed.
fn confirmed(row: &ObligationResult) -> &'static str {
    if row.is_by_simplifier_alone() { "by Mowgli's simplifier alone" } else { "confirmed as a whole" }
}

/// Reports the number of executions in which every axiom holds.
pub(crate) fn found_in(proof: &Proof) -> String {
    match proof.executions {
        0 => String::new(),
        n => format!("every axiom holds in {n} executions of small clients that the judge accepts\n"),
    }
}

/// Lists the open obligations, and the other gaps of the proof.
pub(crate) fn open(proof: &Proof) -> Vec<String> {
    let rows = proof.rows.iter().filter(|row| !row.is_shown());
    // Drops vacuous obligations if there were no executions, because then nothing could witness their hypotheses.
    let rows = rows.filter(|row| proof.executions > 0 || !is_vacuous(row));
    // Drops obligations that could not be asked, because the table has them with the reason.
    let rows = rows.filter(|row| row.why.is_none()).map(|row| format!("{}: {}", row.obligation, row.result()));
    proof.errors.iter().map(ToString::to_string).chain(rows).collect()
}

fn is_vacuous(row: &ObligationResult) -> bool {
    row.closed.is_some() && !row.is_shown()
}

fn result(proof: &Proof, row: &ObligationResult) -> String {
    if proof.executions == 0 && is_vacuous(row) { "unsat".to_owned() } else { row.result() }
}

/// Returns the result, with the reason if nothing could be asked.
fn explained(proof: &Proof, row: &ObligationResult) -> String {
    let result = result(proof, row);
    row.why.as_ref().map_or_else(|| result.clone(), |why| format!("{result}: {why}"))
}

/// Returns the obligations in JSON.
pub(crate) fn rows(proof: &Proof) -> Vec<serde_json::Value> {
    let row = |row: &ObligationResult| {
        let answers = row.answers.iter().map(|(solver, answer)| (solver.to_string(), json!(answer.to_string())));
        json!({
            "obligation": row.obligation, "questions": row.cases,
            "closed": row.closed.map(|closed| closed.to_string()), "by_simplifier_alone": row.is_by_simplifier_alone(), "seconds": row.time.as_secs_f64(),
            "answers": answers.collect::<serde_json::Map<_, _>>(), "witnessed": row.witnessed,
            "result": result(proof, row), "why": row.why,
        })
    };
    proof.rows.iter().map(row).collect()
}

/// Returns a file with the questions about each obligation. Its name has this prefix and the number of the obligation.
fn files(prefix: &str, proof: &Proof) -> Vec<(String, String)> {
    let plain = |text: &str| {
        let text: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        text.split('-').filter(|part| !part.is_empty()).join("-")
    };
    let file = |(i, row): (usize, &ObligationResult)| {
        let name = format!("{prefix}-{:02}-{}.smt2", i + 1, plain(&row.obligation));
        Some((name, row.file()?))
    };
    proof.rows.iter().enumerate().filter_map(file).collect()
}

/// Returns the questions that closed cases. The name of each has this prefix, the number of its obligation and its own.
fn leaves(prefix: &str, proof: &Proof) -> Vec<(String, Query)> {
    let of_row = |(i, row): (usize, &ObligationResult)| {
        let first = row.questions.first().map(|query| query.program);
        let closing =
            row.questions.iter().filter(move |q| q.answer == SolverAnswer::Follows && Some(q.program) == first);
        let name = move |k: usize| format!("{prefix}-{:02}-{:03}", i + 1, k + 1);
        let whole = row.whole.iter().filter_map(|(_, query)| query.as_ref());
        closing.chain(whole).enumerate().map(|(k, query)| (name(k), query.clone())).collect::<Vec<_>>()
    };
    proof.rows.iter().enumerate().filter(|(_, row)| row.is_shown()).flat_map(of_row).collect()
}

/// Returns the requested solvers, if they can be run.
///
/// # Errors
/// If a solver is missing; the message says how to install it.
pub fn solvers(wanted: &[SolverProgram]) -> Result<Vec<SolverProgram>, InputError> {
    let missing = |program: &SolverProgram| {
        let others = match program {
            SolverProgram::Z3 => "brew install z3, or https://github.com/Z3Prover/z3/releases",
            SolverProgram::Cvc5 => "brew install cvc5, or https://github.com/cvc5/cvc5/releases",
        };
        let error = InputError::new(Code::Tool, format!("there is no {program} on the path"));
        error.help(format!("apt-get install {program}; elsewhere {others}"))
    };
    wanted.iter().find(|p| !p.is_there()).map_or_else(|| Ok(wanted.to_vec()), |p| Err(missing(p)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use mowgli_core::expr::{Expr, all_nodes, here};
    use mowgli_core::rewrite::edit::Edits;
    use mowgli_core::term::body::bodies;
    use mowgli_libraries::catalogue::{catalogue, named};
    use mowgli_libraries::sv::{Method as Sv, SvOverWait};
    use mowgli_prove::prove::Closed;
    use mowgli_rdma::wait::Method as Wait;

    /// Returns the line of JSON with these words about what a proof does not cover.
    fn line(sound: &Proved, words: &str) -> String {
        let json: serde_json::Value = serde_json::from_str(&sound.json()).expect("it is JSON");
        let lines = json["not_covered"].as_array().expect("it is a list").iter().map(|line| line.as_str().unwrap());
        lines.into_iter().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words} in {json}")).to_owned()
    }

    fn without_solvers() -> ProofOptions {
        let (limit, executions) = (SolverLimit::of(BRIEF), 1000);
        ProofOptions { solvers: Vec::new(), limit, executions, confirms: true, keep: false, diagnoses: true }
    }

    /// A read of the copies of other nodes is a fault of RDMA-WAIT, and no execution, so the obligations say nothing of it.
    #[test]
    fn a_body_that_makes_a_call_with_a_fault_is_an_error() {
        let all = catalogue();
        let entry = named(&all, "sv").unwrap();
        let copy = |x: Expr, n: Expr| x.part("copy", [n]);
        let far = bodies! { Sv:
            Read { x } => {
                for n in (all_nodes().without(here())) { Wait::read(copy(x, n)); }
                Wait::read(copy(x, here()))
            }
        };
        let implementation = Arc::new(SvOverWait.with("reads other nodes", &far));
        let variant = Variant { implementation, ..entry.variants[0].clone() };
        let said = proved(entry, &variant, &without_solvers(), 20).err().expect("an error").to_string();
        assert!(said.contains("not well defined (LOCO Def. 3.9)"), "{said}");
    }

    /// A claim that is both proved and refuted is an error, whichever of the two is wrong.
    #[test]
    fn what_is_proved_and_refuted_is_an_error() {
        let all = catalogue();
        let entry = named(&all, "sv").unwrap();
        let variant = entry.variant("fence-of-puts").unwrap();
        let options = without_solvers();
        let refuted = proved(entry, variant, &options, 2_000).unwrap();
        assert_eq!((refuted.word(), refuted.contradiction()), (ProofVerdict::Refuted, None));
        let mut row = refuted.proof.rows[0].clone();
        row.closed = Some(Closed::Definition);
        row.why = None;
        let covers = vec!["objects of size 2".to_owned()];
        let proof = Proof { rows: vec![row], executions: 1, covers, ..Proof::default() };
        let layers = vec!["wlock".to_owned()];
        let sound = Proved { proof: proof.clone(), layers, refutation: None, expected: Expected::Sound, ..refuted };
        assert_eq!((sound.word().text(), sound.code()), ("proved", 0));
        assert!(sound.text().contains("proved, for every client"), "{}", sound.text());
        for beside in
            ["progress", "an empty set of nodes", "other forms", "another size than 2", "no tower", "simplifier"]
        {
            assert!(sound.text().contains(&format!("  does not cover {}", line(&sound, beside))), "{}", sound.text());
        }
        let refuted = proved(entry, variant, &options, 2_000).unwrap();
        let both = Proved { proof, ..refuted };
        assert_eq!((both.word(), both.code()), (ProofVerdict::Contradiction, 2));
        let message = both.contradiction().unwrap().to_string();
        assert!(message.contains("bug: sv (fence-of-puts)") && message.contains("counterexample"), "{message}");
        assert!(both.text().contains("Not locally sound"), "{}", both.text());
    }
}
