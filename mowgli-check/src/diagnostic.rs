//! Drawings of errors and warnings: the line of the input with the word underlined, and the remedy below it.
//!
//! ```text
//! error[unknown-name]: y is not declared
//!  --> mp.litmus:4:2
//!   |
//! 4 |  y := 1 ;
//!   |  ^
//!   |
//!   = help: did you mean x?
//! ```

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::{Value, json};

use crate::error::{InputError, Place};
use crate::interrupt::{Failure, Undecided};
use crate::litmus::test::Warning;

/// The colours of a drawing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colours {
    /// Plain text.
    None,
    /// Escape sequences of terminals.
    Ansi,
}

impl Colours {
    fn renderer(self) -> Renderer {
        if self == Self::Ansi { Renderer::styled() } else { Renderer::plain() }
    }
}

/// Draws an error, without a line break at the end.
#[must_use]
pub fn drawn(error: &InputError, colours: Colours) -> String {
    let title = Level::ERROR.primary_title(&error.message).id(error.code.name());
    let line = error.place.as_deref().map(line);
    let group = with_line(Group::with_title(title), error.place.as_deref(), line.as_deref());
    let drawn = colours.renderer().render(&[match &error.help {
        Some(help) => group.element(Level::HELP.message(help)),
        None => group,
    }]);
    // Without a line of the input the gutter is empty.
    let with_text = drawn.lines().filter(|line| !is_gutter(line)).collect::<Vec<_>>();
    if error.place.is_some() { drawn } else { with_text.join("\n") }
}

/// True if a line has only the bar to the left of the input, perhaps in colour.
fn is_gutter(line: &str) -> bool {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    let plain = parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest));
    plain.trim() == "|"
}

/// Draws a warning, without a line break at the end.
#[must_use]
pub fn warning(warning: &Warning, colours: Colours) -> String {
    let title = Level::WARNING.primary_title(&warning.message);
    let line = line(&warning.place);
    colours.renderer().render(&[with_line(Group::with_title(title), Some(&warning.place), Some(&line))])
}

/// Returns the line of a place. The place of a panic has no text, so this reads the source, if it is there.
fn line(place: &Place) -> String {
    if !place.text.is_empty() {
        return place.text.clone();
    }
    let source = std::fs::read_to_string(&place.file).unwrap_or_default();
    source.lines().nth(place.line - 1).unwrap_or_default().to_owned()
}

/// Adds the line of the input to a drawing, with the part underlined.
fn with_line<'a>(group: Group<'a>, place: Option<&'a Place>, line: Option<&'a str>) -> Group<'a> {
    let (Some(place), Some(line)) = (place, line) else { return group };
    let part = if place.text.is_empty() {
        let from = line.char_indices().nth(place.column - 1).map_or(line.len(), |(at, _)| at);
        from..from
    } else {
        place.part.clone()
    };
    let snippet = Snippet::source(line).line_start(place.line).path(&place.file);
    group.element(snippet.annotation(AnnotationKind::Primary.span(part)))
}

/// Returns a failure as one JSON object. An error has the fields `file`, `line`, `column`, `code`, `message` and `help`.
/// A limit has `undecided` and `stopped`, and a bug has `bug`.
///
/// # Panics
/// Never: the object has strings and numbers.
#[must_use]
pub fn json(failure: &Failure) -> Value {
    match failure {
        Failure::Input(error) => serde_json::to_value(error).expect("strings and numbers"),
        Failure::Undecided(Undecided { question, stop }) => {
            json!({ "undecided": question, "stopped": stop.to_string() })
        }
        Failure::Bug(bug) => json!({ "bug": bug.message }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::litmus::parse::parse;

    #[test]
    fn the_word_is_underlined() {
        let text = "RDMA_TSO t\n{ x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, X, d) ;\n";
        let error = parse("t.litmus", &text.replace("X, d", "y")).unwrap_err();
        assert_eq!(
            drawn(&error, Colours::None),
            "error[unknown-name]: y is not declared\n \
             --> t.litmus:4:9\n  |\n4 |  put(z, y) ;\n  |         ^"
        );
    }
}
