//! Results in the formats of other tools: annotations of GitHub, JUnit's XML, SARIF, and a table in Markdown.
//!
//! A [`Record`] is the result of one litmus test or one check. `litmus` and `check` make records of the answers that their
//! `--json` prints, and each format is a function of records.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::diagnostic::{self, Colours};
use crate::error::InputError;
use crate::interrupt::Failure;
use mowgli_web::markup::escaped;

/// A format that another tool reads.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    /// Workflow commands of GitHub Actions: an annotation for each finding.
    Github,
    /// JUnit's XML: a test case for each litmus test or check.
    Junit,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// A table in Markdown.
    Markdown,
}

impl Format {
    /// Writes records of `command` in this format.
    pub(crate) fn write(self, command: &str, records: &[Record]) -> String {
        match self {
            Self::Github => github(records),
            Self::Junit => junit(command, records),
            Self::Sarif => sarif(records),
            Self::Markdown => markdown(records),
        }
    }
}

/// The kind of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum FindingKind {
    /// Something allowed that is probably a mistake.
    Warning,
    /// A limit stopped the search, executions are stuck, or no execution ends.
    Undecided,
    /// An assertion fails, or a verdict is not the expected one.
    Violated,
    /// The input cannot be read.
    BadInput,
}

impl FindingKind {
    const ALL: [Self; 4] = [Self::Warning, Self::Undecided, Self::Violated, Self::BadInput];

    fn word(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Undecided => "undecided",
            Self::Violated => "violated",
            Self::BadInput => "bad-input",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Warning => "The litmus test contains a statement that is probably a mistake.",
            Self::Undecided => "A limit stopped the search, executions are stuck, or no execution ends.",
            Self::Violated => "An assertion does not hold, or a verdict is not the expected one.",
            Self::BadInput => "The input cannot be read.",
        }
    }

    /// The level of GitHub's annotations and of SARIF's results.
    fn level(self) -> &'static str {
        match self {
            Self::Warning | Self::Undecided => "warning",
            Self::Violated | Self::BadInput => "error",
        }
    }
}

/// A finding about a test or a check.
#[derive(Serialize, Deserialize)]
pub(crate) struct FormatFinding {
    pub(crate) kind: FindingKind,
    /// Line and column in the record's file, from 1.
    pub(crate) place: Option<(usize, usize)>,
    /// One line.
    pub(crate) message: String,
    /// The lines that explain it, for example a counterexample; may be empty.
    pub(crate) details: String,
}

impl FormatFinding {
    /// The message and the details.
    fn text(&self) -> String {
        format!("{}\n\n{}", self.message, self.details).trim_end().to_owned()
    }
}

/// The result of one litmus test or one check.
#[derive(Serialize, Deserialize)]
pub(crate) struct Record {
    /// The name of the test, or of the library with its variant.
    pub(crate) name: String,
    /// The file of the test; a check has none.
    pub(crate) file: Option<String>,
    /// The verdict in a few words, for example `unsound, as expected`.
    pub(crate) verdict: String,
    pub(crate) seconds: f64,
    pub(crate) findings: Vec<FormatFinding>,
}

impl Record {
    /// A record of something without an answer, because the input cannot be read or a limit was hit.
    pub(crate) fn failed(name: String, file: Option<String>, failure: &Failure) -> Self {
        match failure {
            Failure::Input(error) => Self::bad_input(name, file, error),
            Failure::Undecided(_) => Self::of_one(name, file, "undecided", FindingKind::Undecided, failure.to_string()),
            Failure::Bug(_) => Self::of_one(name, file, "bad input", FindingKind::BadInput, failure.to_string()),
        }
    }

    /// A record of input that cannot be read. The finding has the place of the error, if that is in the file of the record.
    pub(crate) fn bad_input(name: String, file: Option<String>, error: &InputError) -> Self {
        let mut record = Self::of_one(name, file, "bad input", FindingKind::BadInput, error.message.clone());
        record.findings[0].place = error.place.as_ref().map(|place| (place.line, place.column));
        let drawn = diagnostic::drawn(error, Colours::None);
        record.findings[0].details = drawn.split_once('\n').map_or(String::new(), |(_, lines)| lines.to_owned());
        record
    }

    /// A record with one finding, which has one line.
    fn of_one(name: String, file: Option<String>, verdict: &str, kind: FindingKind, message: String) -> Self {
        let finding = FormatFinding { kind, place: None, message, details: String::new() };
        Self { name, file, verdict: verdict.to_owned(), seconds: 0.0, findings: vec![finding] }
    }

    /// The record of a test or a check that the command did not begin before it was interrupted.
    pub(crate) fn interrupted(name: String, file: Option<String>) -> Self {
        let message = "the command was interrupted before this".to_owned();
        Self::of_one(name, file, "undecided", FindingKind::Undecided, message)
    }

    /// The worst finding beside warnings.
    fn worst(&self) -> Option<&FormatFinding> {
        let first_of = |kind| self.findings.iter().find(move |f| f.kind == kind);
        [FindingKind::BadInput, FindingKind::Violated, FindingKind::Undecided].into_iter().find_map(first_of)
    }

    fn has(&self, kind: FindingKind) -> bool {
        self.worst().is_some_and(|f| f.kind == kind)
    }
}

/// Writes a line for each record, and an annotation for each finding.
///
/// <https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions>
fn github(records: &[Record]) -> String {
    let mut out = String::new();
    for record in records {
        let _ = writeln!(out, "mowgli: {}: {}", one_line(&record.name), one_line(&record.verdict));
        for finding in &record.findings {
            let title = format!("title={}", github_property(&format!("{} ({})", record.name, finding.kind.word())));
            let file = record.file.iter().map(|file| format!("file={}", github_property(file)));
            let place = finding.place.iter().map(|(line, column)| format!("line={line},col={column}"));
            let properties: Vec<String> = file.chain(place).chain([title]).collect();
            let message = github_data(&finding.text());
            let _ = writeln!(out, "::{} {}::{message}", finding.kind.level(), properties.join(","));
        }
    }
    out
}

fn github_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn github_property(text: &str) -> String {
    github_data(text).replace(':', "%3A").replace(',', "%2C")
}

fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

/// Writes a suite with a test case for each record. Input that cannot be read and open questions are errors, violations failures.
fn junit(command: &str, records: &[Record]) -> String {
    let failures = records.iter().filter(|r| r.has(FindingKind::Violated)).count();
    let errors = records.iter().filter(|r| r.worst().is_some()).count() - failures;
    let counts = format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", records.len());
    let seconds: f64 = records.iter().map(|r| r.seconds).sum();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts} time=\"{seconds:.3}\">\n  \
         <testsuite name=\"mowgli {command}\" {counts} time=\"{seconds:.3}\">\n"
    );
    for record in records {
        junit_case(&mut out, command, record);
    }
    out + "  </testsuite>\n</testsuites>\n"
}

fn junit_case(out: &mut String, command: &str, record: &Record) {
    let class = record.file.as_deref().unwrap_or(command);
    let file = record.file.iter().map(|file| format!(" file=\"{}\"", escaped(file))).collect::<String>();
    let _ = write!(
        out,
        "    <testcase classname=\"{}\" name=\"{}\"{file} time=\"{:.3}\"",
        escaped(class),
        escaped(&record.name),
        record.seconds
    );
    let Some(worst) = record.worst() else {
        out.push_str("/>\n");
        return;
    };
    let tag = if worst.kind == FindingKind::Violated { "failure" } else { "error" };
    let texts: Vec<String> = record.findings.iter().map(|f| escaped(&placed(record, f))).collect();
    let _ = writeln!(
        out,
        ">\n      <{tag} type=\"{}\" message=\"{}\">{}</{tag}>\n    </testcase>",
        worst.kind.word(),
        escaped(&worst.message),
        texts.join("\n\n")
    );
}

/// The text of a finding behind its place.
fn placed(record: &Record, finding: &FormatFinding) -> String {
    match (&record.file, finding.place) {
        (Some(file), Some((line, column))) => format!("{file}:{line}:{column}: {}", finding.text()),
        _ => finding.text(),
    }
}

/// Writes a run with a result for each finding. The rules are the kinds of findings.
fn sarif(records: &[Record]) -> String {
    let rules: Vec<_> = FindingKind::ALL
        .iter()
        .map(|kind| {
            json!({
                "id": kind.word(),
                "shortDescription": { "text": kind.about() },
                "defaultConfiguration": { "level": kind.level() },
            })
        })
        .collect();
    let of = |record: &Record| record.findings.iter().map(|f| sarif_result(record, f)).collect::<Vec<_>>();
    let results: Vec<_> = records.iter().flat_map(of).collect();
    let driver = json!({
        "name": "mowgli",
        "version": env!("CARGO_PKG_VERSION"),
        "informationUri": env!("CARGO_PKG_REPOSITORY"),
        "rules": rules,
    });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "columnKind": "unicodeCodePoints", "results": results }],
    });
    format!("{log:#}\n")
}

fn sarif_result(record: &Record, finding: &FormatFinding) -> serde_json::Value {
    let mut location = json!({ "logicalLocations": [{ "name": record.name }] });
    if let Some(file) = &record.file {
        let (line, column) = finding.place.unwrap_or((1, 1));
        location["physicalLocation"] = json!({
            "artifactLocation": { "uri": uri(file) },
            "region": { "startLine": line, "startColumn": column },
        });
    }
    let index = FindingKind::ALL.iter().position(|kind| *kind == finding.kind);
    json!({
        "ruleId": finding.kind.word(),
        "ruleIndex": index,
        "level": finding.kind.level(),
        "message": { "text": format!("{}: {}", record.name, finding.text()) },
        "locations": [location],
    })
}

/// A path as a reference: relative to the folder of the repository, or else with the scheme of files.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    let mut out = scheme.to_owned();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(byte.into());
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Writes a row for each record.
fn markdown(records: &[Record]) -> String {
    let mut out = "| | name | file | verdict | findings | seconds |\n|---|---|---|---|---|---|\n".to_owned();
    for record in records {
        let sign = match record.worst().map(|f| f.kind) {
            None => "✅",
            Some(FindingKind::Undecided | FindingKind::Warning) => "❓",
            Some(FindingKind::Violated | FindingKind::BadInput) => "❌",
        };
        let place = |f: &FormatFinding| f.place.map_or(String::new(), |(line, _)| format!("line {line}: "));
        let findings: Vec<String> = record.findings.iter().map(|f| place(f) + &markdown_text(&f.message)).collect();
        let (name, verdict) = (markdown_text(&record.name), markdown_text(&record.verdict));
        let file = record.file.as_deref().map(markdown_text).unwrap_or_default();
        let findings = findings.join("<br>");
        let _ = writeln!(out, "| {sign} | {name} | {file} | {verdict} | {findings} | {:.2} |", record.seconds);
    }
    out
}

/// A text as it stands in a cell of a table.
fn markdown_text(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '~' | '#' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
