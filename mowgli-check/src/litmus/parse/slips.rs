//! What is said of text that is no litmus test: what was expected, and what is usually meant.

use pest::Span;
use pest::error::{Error, ErrorVariant, InputLocation};

use super::Rule;

/// Words that begin statements of languages with loops and branches.
pub(super) const FOREIGN: [&str; 8] = ["while", "if", "for", "do", "loop", "repeat", "until", "goto"];

/// What is said of such a word.
pub(super) fn not_straight(word: &str) -> String {
    format!(
        "there is no {word}: a thread makes its statements once each, from top to bottom; to speak of what happens after p \
         was seen to be 1, read it, as a := p, and say a=1 in the assertion, as forbidden (a=1 /\\ ...)"
    )
}

/// What is wrong where the statement that cannot be read is one of a language with loops or branches.
pub(super) fn foreign(text: &str, error: &Error<Rule>) -> Option<Box<Error<Rule>>> {
    let (ErrorVariant::ParsingError { .. }, InputLocation::Pos(at)) = (&error.variant, &error.location) else {
        return None;
    };
    let cell = text[text[..*at].rfind(['|', ';', '}'])? + 1..].trim_start();
    let is_first = |word: &&str| {
        let rest = cell.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '\''))
    };
    let word = FOREIGN.into_iter().find(is_first)?;
    let start = text.len() - cell.len();
    let span = Span::new(text, start, start + word.len())?;
    Some(Box::new(Error::new_from_span(ErrorVariant::CustomError { message: not_straight(word) }, span)))
}

/// What is meant, where a test is written in a way that others have.
pub(super) fn help(text: &str, error: &Error<Rule>) -> Option<&'static str> {
    let (ErrorVariant::ParsingError { .. }, InputLocation::Pos(at)) = (&error.variant, &error.location) else {
        return None;
    };
    let (before, rest) = text.split_at(*at);
    let line = text.lines().nth(before.matches('\n').count()).unwrap_or_default();
    let asserts = |l: &str| {
        ["allowed", "forbidden", "forall", "exists", "~exists", "locations", "vacuous"].iter().any(|q| l.starts_with(q))
    };
    if !before.contains('}') {
        before.contains('{').then_some("a declaration is written as x@1 = 0; with a semicolon")
    } else if before.lines().any(asserts) || asserts(line) {
        None
    } else if rest.trim_start().starts_with('=') {
        Some("an assignment is written with :=, as x := 1")
    } else if !line.trim_end().ends_with(';') {
        Some("each row of the table ends with a semicolon")
    } else {
        None
    }
}

pub(super) fn describe(rule: Rule) -> String {
    match rule {
        Rule::EOI => "the end of the file".into(),
        Rule::node => "a number".into(),
        Rule::name => "a name".into(),
        Rule::test_name => "the test's name".into(),
        Rule::cell | Rule::statement | Rule::action => "a statement".into(),
        Rule::placement => "a thread with its node, as P1@1".into(),
        Rule::footer => "an assertion".into(),
        Rule::quantifier => "allowed, forbidden or forall".into(),
        Rule::sign => "+".into(),
        Rule::address => "an address, as &x".into(),
        Rule::pointee => "an access through a register, as *p".into(),
        Rule::arguments => "arguments, as (x, y)".into(),
        Rule::atomicity => "a or n".into(),
        Rule::undefined => "top".into(),
        Rule::kind => "a kind of object".into(),
        Rule::names => "threads, as {P1, P2}".into(),
        Rule::roles => "threads, as P1 -> {P2}".into(),
        Rule::value => "a value".into(),
        Rule::at => "a node, as at 1".into(),
        Rule::words => "a size, as [2]".into(),
        Rule::size => "a size, as size 4".into(),
        Rule::begins => "an initial value, or threads, after =".into(),
        other => format!("{other:?}").replace('_', " "),
    }
}
