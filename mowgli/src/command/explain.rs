//! The `explain` command.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::search::problem::Limits;

use super::network::On;
use super::out::{json, keep, parsed, reported, stopped_line, worst};
use super::pdf;
use crate::catalogue::Catalogue;
use crate::drawing::{Drawing, Picture};
use crate::error::{Code, InputError};
use crate::explain;
use crate::interrupt::{Deadline, Failure};
use crate::litmus::machine::answered;
use crate::litmus::parse::parse_in;
use crate::litmus::run::replaced;
use crate::litmus::semantics::{OwnSemantics, Semantics};
use crate::litmus::test::{Test, Warning};
use crate::show::{Names, Scene, dot};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli explain put.litmus\n  mowgli explain put.litmus --assertion 1 --svg > put.svg\n  mowgli explain locks.litmus --stuck\n  mowgli explain why.ron\n\nExit codes: of a test those of `mowgli litmus`, and 3 if a limit left the reasons open."
)]
pub(super) struct ExplainArgs {
    /// A finding in RON, as `check --out` keeps it, or a litmus test.
    file: PathBuf,
    /// For a litmus test: replace these libraries by their implementations, from left to right.
    #[arg(long, value_delimiter = ',', value_name = "LIBRARY")]
    implemented: Vec<String>,
    /// The number of one assertion of the litmus test, from 1; all if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    assertion: Option<u64>,
    /// Explain the stuck executions of a litmus test, and not its assertions.
    #[arg(long, conflicts_with_all = ["assertion", "json", "out"])]
    stuck: bool,
    /// Print the execution as a graph in the DOT language.
    #[arg(long, conflicts_with_all = ["svg", "tikz", "pdf"])]
    dot: bool,
    /// Print a picture: the execution, or the cycle that forbids the outcome.
    #[arg(long, conflicts_with_all = ["tikz", "pdf"])]
    svg: bool,
    /// Print the picture in TikZ, for LaTeX, with a macro for each relation.
    #[arg(long, conflicts_with = "pdf")]
    tikz: bool,
    /// Write the pictures to this file as PDF, one on each page; pdflatex makes it.
    #[arg(long, value_name = "FILE")]
    pdf: Option<PathBuf>,
    /// Print the finding, with its execution, as one JSON object a line.
    #[arg(long, conflicts_with_all = ["dot", "svg", "tikz", "pdf"])]
    json: bool,
    /// Keep the finding in this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seconds before it gives up.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    #[command(flatten)]
    on: On,
}

impl ExplainArgs {
    /// True if the command prints JSON.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// True if the command draws pictures.
    fn is_drawn(&self) -> bool {
        self.svg || self.tikz || self.pdf.is_some()
    }

    /// Returns a graph in the form that the arguments ask for.
    fn drawn(&self, graph: &Drawing) -> String {
        let drawing = Picture::new(graph);
        match self {
            Self { svg: true, .. } => drawing.svg(),
            Self { tikz: true, .. } => drawing.tikz(),
            _ => pdf::page(&drawing.tikz()),
        }
    }
}

/// A request: its arguments, libraries and limits.
struct ExplainRequest<'a> {
    args: &'a ExplainArgs,
    catalogue: &'a Catalogue,
    limits: Limits<'a>,
}

/// Returns the positions of the assertions to explain.
fn chosen_assertions(test: &Test, args: &ExplainArgs) -> Result<Vec<usize>, InputError> {
    let all = test.assertions.len();
    match args.assertion {
        _ if all == 0 => Err(InputError::new(Code::Argument, "no assertion to explain")
            .help("add one, as `allowed (a=1)`, or ask for --stuck")),
        Some(n) if n as usize > all => Err(InputError::new(Code::Argument, format!("there are {all} assertions"))),
        Some(n) => Ok(vec![n as usize - 1]),
        None => Ok((0..all).collect()),
    }
}

/// Explains assertions of a test whose executions have actions in place of subevents.
fn explained_own(
    own: &dyn OwnSemantics,
    test: &Test,
    chosen: &[usize],
    asked: &ExplainRequest<'_>,
) -> Result<(String, u8), InputError> {
    let ExplainRequest { args, limits, .. } = *asked;
    if args.dot || args.json || args.out.is_some() || !args.implemented.is_empty() {
        return Err(InputError::new(Code::Argument, format!("of {} there are texts and pictures only", test.model)));
    }
    let executions = own.executions(test, limits);
    let mut code = 0;
    let mut out = Vec::new();
    for &i in chosen {
        let assertion = &test.assertions[i];
        if args.is_drawn() {
            let found = executions.so_far().0.iter().find(|(o, _)| assertion.condition.holds(o));
            out.extend(found.map(|(_, execution)| args.drawn(&Drawing::of_own(test, execution))));
            continue;
        }
        let why = own.explain(test, assertion, &executions, limits).unwrap_or_else(|undecided| {
            code = 3;
            format!("Undecided: {undecided}\n")
        });
        out.push(format!("{assertion}\n{why}"));
    }
    Ok((out.join("\n"), code))
}

/// A finding as one JSON object, with facts about its program.
#[derive(serde::Serialize)]
struct FindingLine<'a> {
    #[serde(flatten)]
    finding: &'a explain::Finding,
    vacuous: bool,
    warnings: &'a [Warning],
}

/// Formats a finding as one line of JSON.
fn line(explained: &explain::Explained) -> String {
    let explain::Explained { finding, vacuous, test, .. } = explained;
    let line = FindingLine { finding, vacuous: *vacuous, warnings: &test.warnings };
    json(&line) + "\n"
}

/// Returns an explanation in the requested form, if it has that form, and the exit code.
fn explanation(finding: explain::Finding, asked: &ExplainRequest<'_>) -> Result<(Option<String>, u8), Failure> {
    let ExplainRequest { args, catalogue, limits } = *asked;
    let explained = explain::explain(catalogue, finding, limits)?;
    let vacuous = if explained.vacuous && !explained.test.is_meant_vacuous() { 3 } else { 0 };
    if args.json {
        // The object holds no reasons, so a limit on the search for reasons does not change the exit code.
        return Ok((Some(line(&explained)), vacuous));
    }
    let stopped = if explained.stop().is_some() { 3 } else { 0 };
    let code = worst(stopped, vacuous);
    let text = match args {
        ExplainArgs { dot: true, .. } => explained.dot(),
        _ if args.is_drawn() => Some(args.drawn(&Drawing::explained(&explained))),
        _ => Some(explained.text()),
    };
    Ok((text, code))
}

/// Explains a file: returns the text to print, and the exit code. Pictures as PDF are written to their file.
pub(super) fn explained(args: &ExplainArgs, catalogue: &Catalogue) -> Result<(String, u8), Failure> {
    let Some(file) = &args.pdf else { return explained_file(args, catalogue) };
    pdf::is_there()?;
    let (pages, code) = explained_file(args, catalogue)?;
    // What was not decided has no picture.
    if !pages.is_empty() {
        pdf::write(file, &pages)?;
        eprintln!("written to {}", file.display());
    }
    Ok((String::new(), code))
}

fn explained_file(args: &ExplainArgs, catalogue: &Catalogue) -> Result<(String, u8), Failure> {
    let path = args.file.display();
    let text = args.on.text_of(&args.file)?;
    let deadline = Deadline::after(args.timeout);
    let expired = || deadline.expired();
    let limits = Limits { expired: &expired, ..Limits::default() };
    let asked = ExplainRequest { args, catalogue, limits };
    if args.file.extension().is_none_or(|x| x != "litmus") {
        let finding = explain::read(catalogue, &text).map_err(|e| e.within(&path))?;
        let test = parse_in(catalogue, "the finding's program", &finding.litmus).map_err(|e| e.within(&path))?;
        // A search finds its stuck executions again.
        if finding.is_endless(&test) && !args.json {
            let (text, code) = explained_stuck(&test, &finding.implemented, &asked)?;
            let is_text = !(args.dot || args.is_drawn());
            return Ok((if is_text { format!("{}\n\n{}\n{text}", finding.title, finding.litmus) } else { text }, code));
        }
        return explained_findings(vec![Ok(finding)], &asked);
    }
    let test = parsed(catalogue, &args.file, &text)?;
    let is_text = !(args.dot || args.json || args.is_drawn() || args.out.is_some());
    let chain = replaced(catalogue, &test, &args.implemented)?;
    let answer = answered(catalogue, &test, &chain, limits);
    if let Some(error) = answer.error(&test) {
        return Err(error.about(&path).into());
    }
    let speaks = !test.liveness.is_empty() || test.assertions.is_empty() || answer.is_stuck(&test);
    let own_semantics = if let Semantics::Own(own) = test.model.semantics() { Some(own) } else { None };
    let with_stuck = speaks && own_semantics.is_none() && args.assertion.is_none() && is_text;
    let mut out = if is_text { answer.outside_text() } else { String::new() };
    let mut code = answer.verdict(&test).code();
    if args.stuck {
        if own_semantics.is_some() {
            let message = format!("{path}: statements of {} do not wait", test.model);
            return Err(InputError::new(Code::Argument, message).into());
        }
        let (text, own) = explained_stuck(&test, &args.implemented, &asked)?;
        return Ok((out + &text, worst(code, own)));
    }
    if !(with_stuck && test.assertions.is_empty()) {
        let chosen = chosen_assertions(&test, args).map_err(|e| e.about(&path))?;
        let (text, own) = match own_semantics {
            Some(own) => explained_own(own, &test, &chosen, &asked).map_err(|e| e.about(&path))?,
            None => explained_test(&test, &text, &chosen, &asked)?,
        };
        out += &text;
        code = worst(code, own);
    }
    if with_stuck {
        let (claims, own) = explained_claims(&test, &asked)?;
        out += if test.assertions.is_empty() { "" } else { "\n" };
        out += &claims;
        code = worst(code, own);
    }
    Ok((out, code))
}

/// Returns the assertions of a test about stuck executions, and below them the executions, and the exit code.
fn explained_claims(test: &Test, asked: &ExplainRequest<'_>) -> Result<(String, u8), Failure> {
    let (text, code) = explained_stuck(test, &asked.args.implemented, asked)?;
    let claims: String = test.liveness.iter().map(|l| format!("{}\n", l.text)).collect();
    Ok((claims + &text, code))
}

/// Returns the text about the stuck executions of a test with these implementations, and the exit code.
fn explained_stuck(test: &Test, implemented: &[String], asked: &ExplainRequest<'_>) -> Result<(String, u8), Failure> {
    let ExplainRequest { args, catalogue, limits } = *asked;
    let path = args.file.display();
    let found = explain::standstills(catalogue, test, implemented, limits)?;
    let code = if found.stop.is_some() { 3 } else { 0 };
    if args.dot || args.is_drawn() {
        let (libraries, execution, judged) = found.first.ok_or_else(|| {
            InputError::new(Code::Argument, format!("{path}: no execution is stuck, so a drawing would be empty"))
        })?;
        let names = Names::of(test);
        let scene = Scene { libraries: &libraries, execution: &execution, judged: &judged, names: &names };
        let title = format!("{}: stuck", test.name);
        let graph = || Drawing::new(&title, &scene).with_statements(&test.texts());
        return Ok((if args.dot { dot(&title, &scene) } else { args.drawn(&graph()) }, code));
    }
    let stopped = found.stop.map(|stop| format!("Incomplete: more executions may be stuck: {stop}\n"));
    let none = found.text.is_empty().then(|| format!("{}: no execution is stuck\n", test.name));
    Ok((found.text + &none.filter(|_| stopped.is_none()).unwrap_or_default() + &stopped.unwrap_or_default(), code))
}

/// Explains these assertions of a test.
fn explained_test(
    test: &Test,
    text: &str,
    chosen: &[usize],
    asked: &ExplainRequest<'_>,
) -> Result<(String, u8), Failure> {
    let findings = explain::of_test(asked.catalogue, test, text, &asked.args.implemented, asked.limits)?;
    let findings = findings.into_iter().enumerate().filter(|(i, _)| chosen.contains(i)).map(|(_, f)| f);
    explained_findings(findings.collect(), asked)
}

/// Explains findings: returns the text to print, and the exit code.
fn explained_findings(findings: Vec<explain::Decided>, asked: &ExplainRequest<'_>) -> Result<(String, u8), Failure> {
    let args = asked.args;
    let path = args.file.display();
    if let Some(out) = &args.out {
        let found: Vec<String> = findings.iter().flatten().map(explain::written).collect();
        keep(out, &found)?;
    }
    let (mut out, mut code) = (Vec::new(), 0);
    for finding in findings {
        let explained = finding.map_err(Failure::from).and_then(|finding| explanation(finding, asked));
        let (text, own) = match explained {
            Ok(reported) => reported,
            Err(Failure::Undecided(undecided)) if args.json => (Some(stopped_line(&undecided)), 3),
            Err(Failure::Undecided(undecided)) if args.dot || args.is_drawn() => (None, reported(Err(undecided))),
            Err(Failure::Undecided(undecided)) => (Some(format!("Undecided: {undecided}\n")), 3),
            Err(failure) => return Err(failure.within(&path)),
        };
        out.extend(text);
        code = worst(code, own);
    }
    if out.is_empty() && code != 3 {
        let message = "there is no execution to draw; without --dot the reason is printed";
        return Err(InputError::new(Code::Argument, format!("{path}: {message}")).into());
    }
    Ok((out.join(if args.json { "" } else { "\n" }), code))
}
