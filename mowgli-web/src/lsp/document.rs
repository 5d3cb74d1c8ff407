//! The answers about one document, as the protocol has them: positions are lines and UTF-16 units, from 0.

use std::time::Instant;

use mowgli_check::guard::guarded;
use mowgli_core::search::problem::Limits;
use serde_json::{Value, json};

use mowgli_check::catalogue::Catalogue;
use mowgli_check::error::{Code, InputError, Place};
use mowgli_check::explain;
use mowgli_check::interrupt::Failure;
use mowgli_check::litmus::machine::answered;
use mowgli_check::litmus::notation::{Notation, NotationKind, completions, described, statement_at};
use mowgli_check::litmus::parse::parse_in;
use mowgli_check::litmus::report;
use mowgli_check::litmus::semantics::Semantics;
use mowgli_check::litmus::test::Test;

/// A document with a litmus test.
pub(super) struct LitmusDocument<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) uri: &'a str,
    pub(super) text: &'a str,
}

impl LitmusDocument<'_> {
    fn test(&self) -> Result<Test, InputError> {
        guarded(self.uri, || parse_in(self.catalogue, self.uri, self.text))
    }

    /// Returns the line and its byte at a position of the editor; the end of the line if it is shorter.
    pub(super) fn byte(&self, line: Option<u64>, unit: Option<u64>) -> (usize, usize) {
        let line = usize::try_from(line.unwrap_or(0)).unwrap_or(usize::MAX);
        let mut left = unit.unwrap_or(0);
        let row = self.text.lines().nth(line).unwrap_or_default();
        let passed = row.chars().take_while(|c| {
            let is_before = left >= c.len_utf16() as u64;
            left = left.saturating_sub(c.len_utf16() as u64);
            is_before
        });
        (line, passed.map(char::len_utf8).sum())
    }

    /// Returns the error, or the warnings.
    pub(super) fn diagnostics(&self) -> Value {
        let test = match self.test() {
            Ok(test) => test,
            Err(error) => {
                let help = error.help.iter().map(|help| format!("\n{help}"));
                let message = format!("{}{}", error.message, help.collect::<String>());
                let place = error.place.as_deref().filter(|place| place.file == self.uri);
                return json!([diagnostic(place, 1, &message, Some(error.code.name()))]);
            }
        };
        test.warnings.iter().map(|warning| diagnostic(Some(&warning.place), 2, &warning.message, None)).collect()
    }

    /// Returns the description of the statement at a position; null if the position is in no statement.
    pub(super) fn hover(&self, (line, byte): (usize, usize)) -> Value {
        let Ok(test) = self.test() else { return Value::Null };
        let Some(at) = statement_at(&test, self.text, line, byte) else { return Value::Null };
        let Ok(parts) = guarded::<_, InputError>(self.uri, || Ok(described(self.catalogue, &test, at))) else {
            return Value::Null;
        };
        json!({ "contents": { "kind": "plaintext", "value": parts.join("\n\n") } })
    }

    /// Returns the words that can be written at a position: models, declarations, or calls with their arguments.
    pub(super) fn completions(&self, (line, byte): (usize, usize)) -> Value {
        let begin: usize = self.text.split_inclusive('\n').take(line).map(str::len).sum();
        let before = self.text.get(..begin + byte).unwrap_or(self.text);
        let all = completions(self.catalogue, self.text, before.len());
        let item = |notation: Notation| {
            let Notation { kind, text, library, about } = notation;
            json!({ "label": text, "kind": number(kind), "detail": library, "documentation": about })
        };
        all.into_iter().map(item).collect()
    }

    /// Returns the lenses: *run* at the first line, and *why* at each assertion.
    pub(super) fn lenses(&self) -> Value {
        let Ok(test) = self.test() else { return json!([]) };
        let lens = |line: usize, title: &str, arguments: Value| {
            let at = json!({ "line": line, "character": 0 });
            let command = json!({ "title": title, "command": format!("mowgli.{title}"), "arguments": arguments });
            json!({ "range": { "start": at, "end": at }, "command": command })
        };
        let assertions = test.assertions.iter().enumerate();
        let why = assertions.map(|(k, assertion)| lens(assertion.line - 1, "why", json!([self.uri, k])));
        [lens(0, "run", json!([self.uri]))].into_iter().chain(why).collect()
    }

    /// Returns the outcomes as text.
    pub(super) fn outcomes(&self, expired: &dyn Fn() -> bool) -> Result<String, Failure> {
        let limits = Limits { expired, ..Limits::default() };
        let (test, begun) = (self.test()?, Instant::now());
        guarded(self.uri, || {
            let answer = answered(self.catalogue, &test, &[], limits);
            if let Some(error) = answer.error(&test) {
                return Err(error.into());
            }
            let text = report::text(&test, &answer, limits.rounds, begun.elapsed().as_micros());
            Ok(format!("{text}Verdict {} {}\n", test.name, answer.verdict(&test).text()))
        })
    }

    /// Returns the explanation of an assertion as text.
    pub(super) fn explanation(&self, assertion: usize, expired: &dyn Fn() -> bool) -> Result<String, Failure> {
        let limits = Limits { expired, ..Limits::default() };
        let test = self.test()?;
        let Some(asserted) = test.assertions.get(assertion) else {
            let all = test.assertions.len();
            return Err(InputError::new(
                Code::Argument,
                format!("no assertion {assertion}: the test has {all}, counted from 0"),
            )
            .into());
        };
        guarded(self.uri, || {
            if let Semantics::Own(own) = test.model.semantics() {
                return Ok(own.explain(&test, asserted, &own.executions(&test, limits), limits)?);
            }
            let mut findings = explain::of_test(self.catalogue, &test, self.text, &[], limits)?;
            Ok(explain::explain(self.catalogue, findings.swap_remove(assertion)?, limits)?.text())
        })
    }
}

/// Returns the number of a kind of completions in the protocol.
fn number(kind: NotationKind) -> u8 {
    match kind {
        NotationKind::Call => 3,
        NotationKind::Library => 9,
        NotationKind::Word => 14,
    }
}

/// Makes a diagnostic: 1 is an error, 2 a warning. Without a place it is at the beginning.
fn diagnostic(place: Option<&Place>, severity: u8, message: &str, code: Option<&str>) -> Value {
    let position = |place: &Place, byte: usize| {
        let units = place.text.get(..byte).unwrap_or_default().encode_utf16().count();
        json!({ "line": place.line - 1, "character": units })
    };
    let none = json!({ "line": 0, "character": 0 });
    let [start, end] = place.map_or([none.clone(), none], |place| {
        let next = || place.text[place.part.start..].chars().next().map_or(0, char::len_utf8);
        let end = if place.part.is_empty() { place.part.start + next() } else { place.part.end };
        [position(place, place.part.start), position(place, end)]
    });
    let range = json!({ "start": start, "end": end });
    json!({ "range": range, "severity": severity, "source": "mowgli", "message": message, "code": code })
}
