//! The answers about one document, as the protocol has them: positions are lines and UTF-16 units, from 0.

use std::time::Instant;

use itertools::Itertools as _;
use mowgli_check::guard::guarded;
use mowgli_core::problem::Limits;
use serde_json::{Value, json};

use crate::catalogue::Catalogue;
use crate::error::{Code, InputError, Place};
use crate::explain;
use crate::interrupt::Failure;
use crate::litmus::notation::{Notation, calls, declarations, described, statement_at};
use crate::litmus::parse::parse_in;
use crate::litmus::run::solve_in;
use crate::litmus::test::{Model, Test};
use crate::litmus::{core_rma, report};

/// The kinds of completions in the protocol.
const FUNCTION: u8 = 3;
/// See [`FUNCTION`].
const MODULE: u8 = 9;
/// See [`FUNCTION`].
const KEYWORD: u8 = 14;

/// The words of the language itself.
const WORDS: [&str; 12] = [
    "if",
    "else",
    "while",
    "await",
    "assume",
    "allowed",
    "forbidden",
    "forall",
    "locations",
    "vacuous",
    "ends",
    "may hang",
];

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

    /// Returns the description of a statement; null if there is none.
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
        let Some(model) = self.text.split_whitespace().find_map(|word| word.parse::<Model>().ok()) else {
            return Model::ALL.iter().map(|model| json!({ "label": model.to_string(), "kind": KEYWORD })).collect();
        };
        let item = |kind: u8, notation: Notation| {
            let (label, library, about) = (notation.text, notation.library, notation.about);
            json!({ "label": label, "kind": kind, "detail": library, "documentation": about })
        };
        if is_in_declarations(before) {
            return declarations(self.catalogue, model).into_iter().map(|notation| item(KEYWORD, notation)).collect();
        }
        let all = calls(self.catalogue, model);
        let word = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
        if let Some(object) = word.strip_suffix('.') {
            return self.methods(object, model, all).into_iter().map(|notation| item(FUNCTION, notation)).collect();
        }
        let words = WORDS.iter().map(|word| json!({ "label": word, "kind": KEYWORD }));
        let libraries = self.catalogue.names().into_iter().map(|name| json!({ "label": name, "kind": MODULE }));
        all.into_iter().map(|notation| item(FUNCTION, notation)).chain(words).chain(libraries).collect()
    }

    /// Returns the calls of an object, or of a library, without it: those of its library, if its declaration is known.
    fn methods(&self, before: &str, model: Model, all: Vec<Notation>) -> Vec<Notation> {
        let object = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let is_declared = |kind: &str| self.text.contains(&format!("{kind} {object} "));
        let forms = declarations(self.catalogue, model);
        let declared = forms.iter().filter_map(|form| Some((form.text.split_once(" x")?.0, form.library)));
        let library = declared.filter(|(kind, _)| is_declared(kind)).map(|(_, library)| library).next();
        let is_of = |call: &Notation| library.or(Some(object)).is_some_and(|name| name == call.library);
        let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_of);
        let of_object = |call: Notation| Some(Notation { text: call.text.split_once('.')?.1.to_owned(), ..call });
        let chosen = if own.is_empty() { others } else { own };
        chosen.into_iter().filter_map(of_object).collect()
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
            let answer = solve_in(self.catalogue, &test, &[], limits);
            Ok(report::text(&test, &answer, limits.rounds, begun.elapsed().as_micros()))
        })
    }

    /// Returns the explanation of an assertion as text.
    pub(super) fn explanation(&self, assertion: usize, expired: &dyn Fn() -> bool) -> Result<String, Failure> {
        let limits = Limits { expired, ..Limits::default() };
        let test = self.test()?;
        let Some(asserted) = test.assertions.get(assertion) else {
            let all = test.assertions.len();
            return Err(InputError::new(Code::Argument, format!("there are {all} assertions, counted from 0")).into());
        };
        guarded(self.uri, || {
            if test.model == Model::CoreRma {
                let witnesses = core_rma::witnesses(&test, limits);
                return Ok(core_rma::explain(&test, asserted, &witnesses, limits)?);
            }
            let mut findings = explain::of_test(self.catalogue, &test, self.text, &[], limits)?;
            Ok(explain::explain(self.catalogue, findings.swap_remove(assertion)?, limits)?.text())
        })
    }
}

/// True if a text ends among the declarations: its first brace is still open.
fn is_in_declarations(before: &str) -> bool {
    let mut depth = 0_i32;
    let depths = before.chars().map(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth
    });
    let depths = depths.skip_while(|depth| *depth == 0).collect_vec();
    !depths.is_empty() && depths.iter().all(|depth| *depth > 0)
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
