//! Explanations of litmus tests and of findings, as text, objects and pictures.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::search::problem::Limits;

use crate::args::network::On;
use crate::catalogue::Catalogue;
use crate::drawing::{Drawing, Picture};
use crate::error::{Code, InputError};
use crate::explain;
use crate::interrupt::{Failure, Undecided};
use crate::litmus::machine::answered;
use crate::litmus::parse::parse_in;
use crate::litmus::run::replaced;
use crate::litmus::semantics::{OwnSemantics, Semantics};
use crate::litmus::test::{Test, Warning};
use crate::out::{idle_warnings, json, keep, parsed, reported, stopped_line, worst};
use crate::pdf;
use crate::show::{Names, Scene, dot};

/// The form of an explanation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExplainForm {
    Text,
    Dot,
    Svg,
    Tikz,
    /// Pages for [`pdf::write`].
    Pdf,
}

impl ExplainForm {
    /// True for pictures.
    fn is_drawn(self) -> bool {
        matches!(self, Self::Svg | Self::Tikz | Self::Pdf)
    }

    /// Returns a picture of a graph.
    fn drawn(self, graph: &Drawing) -> String {
        let drawing = Picture::new(graph);
        match self {
            Self::Svg => drawing.svg(),
            Self::Tikz => drawing.tikz(),
            _ => pdf::page(&drawing.tikz()),
        }
    }
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli explain put.litmus\n  mowgli explain put.litmus --assertion 1 --svg > put.svg\n  mowgli explain locks.litmus --stuck\n  mowgli explain why.ron\n\nExit codes: of a test those of `mowgli litmus`, and 3 if a limit left nothing to show."
)]
pub(crate) struct ExplainArgs {
    /// A finding in RON, as `check --out` keeps it, or a litmus test.
    pub(crate) file: PathBuf,
    /// For a litmus test: replace these libraries by their implementations, from left to right.
    #[arg(long, value_delimiter = ',', value_name = "LIBRARY")]
    pub(crate) implemented: Vec<String>,
    /// The number of one assertion of the litmus test, from 1; all if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) assertion: Option<u64>,
    /// Explain the stuck executions of a litmus test, and not its assertions.
    #[arg(long, conflicts_with = "assertion")]
    pub(crate) stuck: bool,
    /// Print the execution as a graph in the DOT language.
    #[arg(long, conflicts_with_all = ["svg", "tikz", "pdf"])]
    pub(crate) dot: bool,
    /// Print a picture: the execution, or the cycle that forbids the outcome.
    #[arg(long, conflicts_with_all = ["tikz", "pdf"])]
    pub(crate) svg: bool,
    /// Print the picture in TikZ, for LaTeX, with a macro for each relation.
    #[arg(long, conflicts_with = "pdf")]
    pub(crate) tikz: bool,
    /// Write the pictures to this file as PDF, one on each page; pdflatex makes it.
    #[arg(long, value_name = "FILE")]
    pub(crate) pdf: Option<PathBuf>,
    /// Print the finding, with its execution, as one JSON object a line.
    #[arg(long, conflicts_with_all = ["dot", "svg", "tikz", "pdf"])]
    pub(crate) json: bool,
    /// Keep the finding in this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Seconds before it gives up.
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<u64>,
    #[command(flatten)]
    pub(crate) on: On,
}

impl ExplainArgs {
    /// True if the answer is data: an object, or a finding that is kept.
    fn is_data(&self) -> bool {
        self.json || self.out.is_some()
    }

    pub(crate) fn form(&self) -> ExplainForm {
        match self {
            Self { dot: true, .. } => ExplainForm::Dot,
            Self { svg: true, .. } => ExplainForm::Svg,
            Self { tikz: true, .. } => ExplainForm::Tikz,
            Self { pdf: Some(_), .. } => ExplainForm::Pdf,
            _ => ExplainForm::Text,
        }
    }
}

/// A request for explanations.
pub(crate) struct ExplainRequest<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) limits: Limits<'a>,
    pub(crate) form: ExplainForm,
    pub(crate) args: &'a ExplainArgs,
}

/// Returns the positions of the assertions to explain.
fn chosen_assertions(test: &Test, asked: &ExplainRequest<'_>) -> Result<Vec<usize>, InputError> {
    let all = test.assertions.len();
    match asked.args.assertion {
        _ if all == 0 => Err(InputError::new(Code::Argument, "no assertion to explain")
            .help("add one, as `allowed (a=1)`, or ask for --stuck")),
        Some(n) if n as usize > all => {
            Err(InputError::new(Code::Argument, format!("no assertion {n}: the test has {all}")))
        }
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
) -> Result<String, InputError> {
    let limits = asked.limits;
    if asked.form == ExplainForm::Dot || asked.args.is_data() || !asked.args.implemented.is_empty() {
        return Err(InputError::new(Code::Argument, format!("of {} there are texts and pictures only", test.model)));
    }
    let executions = own.executions(test, limits);
    let mut out = Vec::new();
    for &i in chosen {
        let assertion = &test.assertions[i];
        if asked.form.is_drawn() {
            let found = executions.so_far().0.iter().find(|(o, _)| assertion.condition.holds(o));
            out.extend(found.map(|(_, execution)| asked.form.drawn(&Drawing::of_own(test, execution))));
            continue;
        }
        let why = own.explain(test, assertion, &executions, limits);
        let why = why.unwrap_or_else(|undecided| format!("Undecided: {undecided}\n"));
        out.push(format!("{assertion}\n{why}"));
    }
    Ok(out.join("\n"))
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
fn line(finding: &explain::Finding, vacuous: bool, test: &Test) -> String {
    let line = FindingLine { finding, vacuous, warnings: &test.warnings };
    json(&line) + "\n"
}

/// Returns an explanation in the requested form, if it has that form, and the exit code.
fn explanation(finding: explain::Finding, asked: &ExplainRequest<'_>) -> Result<(Option<String>, u8), Failure> {
    let ExplainRequest { catalogue, limits, .. } = *asked;
    let explained = explain::explain(catalogue, finding, limits)?;
    let vacuous = if explained.vacuous && !explained.test.is_meant_vacuous() { 3 } else { 0 };
    if asked.args.json {
        // The object holds no reasons, so a limit on the search for reasons does not change the exit code.
        return Ok((Some(line(&explained.finding, explained.vacuous, &explained.test)), vacuous));
    }
    let stopped = if explained.stop().is_some() { 3 } else { 0 };
    let code = worst(stopped, vacuous);
    let text = match asked.form {
        ExplainForm::Dot => explained.dot(),
        _ if asked.form.is_drawn() => Some(asked.form.drawn(&Drawing::explained(&explained))),
        _ => Some(explained.text()),
    };
    Ok((text, code))
}

/// Explains a file with this text: returns the text to print, and the exit code.
///
/// # Errors
/// If the file is neither a test nor a finding, or has not what the request names.
pub(crate) fn explained(text: &str, asked: &ExplainRequest<'_>) -> Result<(String, u8), Failure> {
    let ExplainRequest { catalogue, limits, .. } = *asked;
    let path = asked.args.file.display();
    if asked.args.file.extension().is_none_or(|x| x != "litmus") {
        let finding = explain::read(catalogue, text).map_err(|e| e.within(&path))?;
        let test = parse_in(catalogue, "the finding's program", &finding.litmus).map_err(|e| e.within(&path))?;
        // A search finds its stuck executions again.
        if finding.is_endless(&test) {
            let (text, code) = explained_stuck(&test, &finding.litmus, &finding.implemented, asked)?;
            let is_text = asked.form == ExplainForm::Text && !asked.args.json;
            return Ok((if is_text { format!("{}\n\n{}\n{text}", finding.title, finding.litmus) } else { text }, code));
        }
        return explained_findings(vec![Ok(finding)], asked);
    }
    let test = parsed(catalogue, &asked.args.file, text)?;
    let is_text = asked.form == ExplainForm::Text && !asked.args.is_data();
    let chain = replaced(catalogue, &test, &asked.args.implemented)?;
    eprint!("{}", idle_warnings(&test, &chain, &asked.args.implemented));
    let answer = answered(catalogue, &test, &chain, limits);
    if let Some(error) = answer.error(&test) {
        return Err(error.within(&path).into());
    }
    let speaks = !test.liveness.is_empty() || test.assertions.is_empty() || answer.is_stuck(&test);
    let own_semantics = if let Semantics::Own(own) = test.model.semantics() { Some(own) } else { None };
    let with_stuck = speaks && own_semantics.is_none() && asked.args.assertion.is_none() && is_text;
    let mut out = if is_text { answer.outside_text() } else { String::new() };
    // A limit on explanations does not change the code, because the verdict is known.
    let mut code = answer.verdict(&test).code();
    let is_only_stuck = test.assertions.is_empty() && own_semantics.is_none();
    if asked.args.stuck || is_only_stuck && asked.args.is_data() && asked.args.assertion.is_none() {
        if own_semantics.is_some() {
            let message = format!("{path}: statements of {} do not wait", test.model);
            return Err(InputError::new(Code::Argument, message).into());
        }
        let (text, _) = explained_stuck(&test, text, &asked.args.implemented, asked)?;
        return Ok((out + &text, code));
    }
    if !(with_stuck && test.assertions.is_empty()) {
        let chosen = chosen_assertions(&test, asked).map_err(|e| e.within(&path))?;
        let (text, own) = match own_semantics {
            Some(own) => (explained_own(own, &test, &chosen, asked).map_err(|e| e.within(&path))?, 0),
            None => explained_test(&test, text, &chosen, asked)?,
        };
        out += &text;
        code = worst(code, own);
    }
    if with_stuck {
        out += if test.assertions.is_empty() { "" } else { "\n" };
        out += &explained_claims(&test, text, asked)?;
    }
    Ok((out, code))
}

/// Returns the assertions of a test about stuck executions, and below them the executions.
fn explained_claims(test: &Test, text: &str, asked: &ExplainRequest<'_>) -> Result<String, Failure> {
    let (text, _) = explained_stuck(test, text, &asked.args.implemented, asked)?;
    let claims: String = test.liveness.iter().map(|l| format!("{}\n", l.text)).collect();
    Ok(claims + &text)
}

/// Returns the text about the stuck executions of a test with these implementations, and the exit code. As a finding it has the
/// first of them.
fn explained_stuck(
    test: &Test,
    litmus: &str,
    implemented: &[String],
    asked: &ExplainRequest<'_>,
) -> Result<(String, u8), Failure> {
    let ExplainRequest { catalogue, limits, .. } = *asked;
    let path = asked.args.file.display();
    let found = explain::standstills(catalogue, test, implemented, limits)?;
    let code = if found.stop.is_some() { 3 } else { 0 };
    if asked.args.is_data() {
        if let (None, Some(stop)) = (&found.first, &found.stop) {
            let undecided = Undecided::new(format!("{}: whether an execution is stuck", test.name), stop.clone());
            return if asked.args.json { Ok((stopped_line(&undecided), 3)) } else { Err(undecided.into()) };
        }
        let finding = explain::Finding {
            title: format!("{}: {} execution is stuck", test.name, if found.first.is_some() { "an" } else { "no" }),
            litmus: litmus.to_owned(),
            implemented: implemented.to_vec(),
            assertion: 0,
            execution: found.first.as_ref().map(|(_, execution, _)| execution.clone()),
        };
        if let Some(out) = &asked.args.out {
            keep(out, &[explain::written(&finding)])?;
        }
        if asked.args.json {
            let vacuous = explain::is_vacuous(catalogue, test, implemented, limits).is_ok_and(|is_vacuous| is_vacuous);
            return Ok((line(&finding, vacuous, test), code));
        }
    }
    if asked.form != ExplainForm::Text {
        let (libraries, execution, judged) = found.first.ok_or_else(|| {
            InputError::new(Code::Argument, format!("{path}: no execution is stuck, so a drawing would be empty"))
        })?;
        let names = Names::of(test);
        let scene = Scene { libraries: &libraries, execution: &execution, judged: &judged, names: &names };
        let title = format!("{}: stuck", test.name);
        let graph = || Drawing::new(&title, &scene).with_statements(&test.texts());
        return Ok((
            if asked.form == ExplainForm::Dot { dot(&title, &scene) } else { asked.form.drawn(&graph()) },
            code,
        ));
    }
    let stopped = found.stop.map(|stop| format!("Incomplete: more executions may be stuck: {stop}\n"));
    let none = found.text.is_empty().then(|| format!("{}: no execution is stuck\n", test.name));
    Ok((found.text + &none.filter(|_| stopped.is_none()).unwrap_or_default() + &stopped.unwrap_or_default(), code))
}

/// Explains these assertions of a test. The exit code is 3 if a limit left nothing to print, or a finding out that was to be kept, and
/// else 0.
fn explained_test(
    test: &Test,
    text: &str,
    chosen: &[usize],
    asked: &ExplainRequest<'_>,
) -> Result<(String, u8), Failure> {
    let findings = explain::of_test(asked.catalogue, test, text, &asked.args.implemented, asked.limits)?;
    let findings = findings.into_iter().enumerate().filter(|(i, _)| chosen.contains(i)).map(|(_, f)| f);
    let findings: Vec<_> = findings.collect();
    let is_lacking = asked.args.out.is_some() && findings.iter().any(Result::is_err);
    let (text, _) = explained_findings(findings, asked)?;
    let code = if text.is_empty() || is_lacking { 3 } else { 0 };
    Ok((text, code))
}

/// Explains findings: returns the text to print, and the exit code.
fn explained_findings(findings: Vec<explain::Decided>, asked: &ExplainRequest<'_>) -> Result<(String, u8), Failure> {
    let path = asked.args.file.display();
    if let Some(out) = &asked.args.out {
        let found: Vec<String> = findings.iter().flatten().map(explain::written).collect();
        keep(out, &found)?;
    }
    let (mut out, mut code) = (Vec::new(), 0);
    for finding in findings {
        let explained = finding.map_err(Failure::from).and_then(|finding| explanation(finding, asked));
        let (text, own) = match explained {
            Ok(reported) => reported,
            Err(Failure::Undecided(undecided)) if asked.args.json => (Some(stopped_line(&undecided)), 3),
            Err(Failure::Undecided(undecided)) if asked.form != ExplainForm::Text => (None, reported(Err(undecided))),
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
    Ok((out.join(if asked.args.json { "" } else { "\n" }), code))
}
