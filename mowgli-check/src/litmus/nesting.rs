//! Limits how deep the brackets of a text are within each other.

use crate::error::{Code, InputError, Place};

/// The most brackets, blocks and negations within each other: the parser needs stack for each.
const DEEPEST: usize = 200;

/// Refuses a text whose brackets or negations are too deep within each other.
pub(super) fn is_flat(text: &str) -> Result<(), InputError> {
    let (mut open, mut negations) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '{' | '[' => open += 1,
            ')' | '}' | ']' => open = open.saturating_sub(1),
            '~' => negations += 1,
            _ if c.is_whitespace() => {}
            _ => negations = 0,
        }
        if open + negations > DEEPEST {
            let error =
                InputError::new(Code::Syntax, format!("more than {DEEPEST} brackets, blocks or ~ within each other"));
            return Err(error.at(Place::of("", text, at..at + c.len_utf8())));
        }
    }
    Ok(())
}
