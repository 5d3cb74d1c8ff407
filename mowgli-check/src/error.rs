//! Errors in the input: the kind, the message, the place, and what to write instead.
//!
//! The command draws them: it shows the line of the input with the word underlined, and prints the help below it.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use mowgli_core::unknown::Unknown;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// The kind of an error in the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// The text does not have the form of a test, a finding or an argument.
    Syntax,
    /// Nothing has this name.
    Unknown,
    /// Two things have this name.
    Duplicate,
    /// A call, a declaration or a statement is written in another way.
    Form,
    /// A statement stands where it has no meaning, for example an `else` without an `if`.
    Misplaced,
    /// A word is on another node than the statement needs.
    Node,
    /// A value is out of range, or of another type.
    Value,
    /// The model or the command does not have this.
    Unsupported,
    /// A library's file contradicts itself.
    Library,
    /// A finding is not one of its program.
    Finding,
    /// A file cannot be read or written.
    File,
    /// Arguments of the command do not fit together.
    Argument,
    /// A program that the command needs fails, or is not installed.
    Tool,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 13] = [
        Self::Syntax,
        Self::Unknown,
        Self::Duplicate,
        Self::Form,
        Self::Misplaced,
        Self::Node,
        Self::Value,
        Self::Unsupported,
        Self::Library,
        Self::Finding,
        Self::File,
        Self::Argument,
        Self::Tool,
    ];

    /// Returns the name of the code in messages and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Unknown => "unknown-name",
            Self::Duplicate => "duplicate-name",
            Self::Form => "wrong-form",
            Self::Misplaced => "misplaced",
            Self::Node => "wrong-node",
            Self::Value => "wrong-value",
            Self::Unsupported => "unsupported",
            Self::Library => "library",
            Self::Finding => "finding",
            Self::File => "file",
            Self::Argument => "argument",
            Self::Tool => "tool",
        }
    }
}

/// A part of one line of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Place {
    /// The file, as the user named it.
    #[serde(skip)]
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
    /// The text of the line; empty if it is not at hand.
    #[serde(skip)]
    pub text: String,
    /// The bytes of the part in the text of the line.
    #[serde(skip)]
    pub part: Range<usize>,
}

impl Place {
    /// Returns a place in a file whose text is not at hand, for example in the source of a library.
    #[must_use]
    pub fn in_source(file: &str, line: usize, column: usize) -> Self {
        Self { file: file.to_owned(), line, column, text: String::new(), part: 0..0 }
    }

    /// Returns the place of some bytes of a text: up to the end of the line in which they begin.
    #[must_use]
    pub fn of(file: &str, text: &str, bytes: Range<usize>) -> Self {
        let begin = text[..bytes.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[bytes.start..].find('\n').map_or(text.len(), |at| bytes.start + at);
        let part = bytes.start - begin..bytes.end.clamp(bytes.start, end) - begin;
        Self {
            file: file.to_owned(),
            line: text[..begin].matches('\n').count() + 1,
            column: text[begin..bytes.start].chars().count() + 1,
            text: text[begin..end].trim_end_matches('\r').to_owned(),
            part,
        }
    }
}

/// Prints `file:line:column`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// An error in the input: in a test, a library's file, or an argument.
///
/// ```
/// use mowgli_check::error::{Code, InputError, Place};
/// let text = "RDMA_TSO t\n{ x@1 = 0; }\n P1@1 ;\n y := 1 ;\n";
/// let error = InputError::new(Code::Unknown, "y is not declared").help("declare y@1 = 0;");
/// let error = error.at(Place::of("t.litmus", text, 33..34));
/// assert_eq!(error.to_string(), "t.litmus:4:2: y is not declared; declare y@1 = 0;");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputError {
    /// The kind.
    pub code: Code,
    /// The message, without the place and the remedy.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// The place, if the error is in a file.
    pub place: Option<Box<Place>>,
}

impl InputError {
    /// Makes an error without a place and without a remedy.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None, place: None }
    }

    /// Makes an error of this kind from the error of another library.
    #[must_use]
    pub fn of(code: Code, cause: impl fmt::Display) -> Self {
        Self::new(code, cause.to_string())
    }

    /// Makes the error for a file that cannot be read or written.
    #[must_use]
    pub fn file(path: &Path, cause: impl fmt::Display) -> Self {
        Self::new(Code::File, format!("{}: {cause}", path.display()))
    }

    /// Adds the remedy.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Adds the remedy, if there is one.
    #[must_use]
    pub fn help_if(self, help: Option<impl Into<String>>) -> Self {
        Self { help: help.map(Into::into), ..self }
    }

    /// Adds the place, unless the error has one.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place: self.place.or_else(|| Some(Box::new(place))), ..self }
    }

    /// Names the file of the place.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        if let Some(place) = &mut self.place {
            file.clone_into(&mut place.file);
        }
        self
    }

    /// Names the file that contains the input: before the place, or else before the message.
    ///
    /// ```
    /// use mowgli_check::error::{Code, InputError, Place};
    /// let error = InputError::new(Code::Finding, "no assertion 3");
    /// assert_eq!(error.clone().within(&"a.snap").to_string(), "a.snap: no assertion 3");
    /// let error = error.at(Place::of("the program", "P1", 0..2));
    /// assert_eq!(error.within(&"a.snap").to_string(), "a.snap: the program:1:1: no assertion 3");
    /// ```
    #[must_use]
    pub fn within(mut self, file: &impl fmt::Display) -> Self {
        match &mut self.place {
            Some(place) if place.file.is_empty() => place.file = file.to_string(),
            Some(place) if place.file == file.to_string() => {}
            Some(place) => place.file = format!("{file}: {}", place.file),
            None => return self.about(file),
        }
        self
    }

    /// Puts the thing that the error is about before the message.
    #[must_use]
    pub fn about(self, thing: &impl fmt::Display) -> Self {
        Self { message: format!("{thing}: {}", self.message), ..self }
    }
}

/// Prints one line: place, message and remedy.
impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for InputError {}

/// Has the fields `file`, `line`, `column`, `code`, `message` and `help`. Unknown ones are `null`.
impl Serialize for InputError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = self.place.as_deref();
        let mut map = serializer.serialize_map(Some(6))?;
        map.serialize_entry("file", &place.map(|place| &place.file))?;
        map.serialize_entry("line", &place.map(|place| place.line))?;
        map.serialize_entry("column", &place.map(|place| place.column))?;
        map.serialize_entry("code", self.code.name())?;
        map.serialize_entry("message", &self.message)?;
        map.serialize_entry("help", &self.help)?;
        map.end()
    }
}

/// A mistake of Mowgli itself.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("bug: {message}")]
pub struct Bug {
    /// The contradiction.
    pub message: String,
}

impl From<Unknown> for InputError {
    fn from(unknown: Unknown) -> Self {
        Self::new(Code::Unknown, format!("no {} {}", unknown.kind, unknown.name)).help(unknown.help())
    }
}

impl From<mowgli_rdma::Error> for InputError {
    fn from(error: mowgli_rdma::Error) -> Self {
        use mowgli_rdma::Error;
        let code = match error {
            Error::Unknown(unknown) => return unknown.into(),
            Error::Switch { .. } => Code::Unknown,
            Error::Together { .. } | Error::NeedsOrder { .. } | Error::TwoNetworks(..) => Code::Argument,
            Error::NotAWay(_) | Error::Way(_) | Error::QueuePair { .. } => Code::Form,
            Error::NotAWord(..) | Error::TooLarge { .. } | Error::Stopped(_) => Code::Unsupported,
        };
        Self::of(code, &error).help_if(error.help())
    }
}

impl From<mowgli_libraries::error::Error> for InputError {
    fn from(error: mowgli_libraries::error::Error) -> Self {
        use mowgli_libraries::error::Error;
        match error {
            Error::Variant { entry, unknown } => {
                let help = unknown.help();
                Self::new(Code::Unknown, format!("{entry} has no variant {}", unknown.name)).help(help)
            }
            Error::Network { entry, why } => Self::from(why).about(&entry),
            Error::NoNetwork(_) => Self::of(Code::Unsupported, error),
            Error::NoSoundVariant { .. } => Self::of(Code::Unknown, error),
            Error::NoLibrary { .. } => Self::of(Code::Library, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let text = "a\nβ := 1\r\nc";
        let place = |bytes| Place::of("f", text, bytes);
        assert_eq!((place(0..1).to_string(), place(0..1).part), ("f:1:1".to_owned(), 0..1));
        let far = place(5..12);
        assert_eq!((far.to_string().as_str(), far.text.as_str(), far.part), ("f:2:3", "β := 1", 3..8));
        assert_eq!(place(text.len()..text.len()).to_string(), "f:3:2");
    }

    #[test]
    fn fields_are_the_same_as_the_message() {
        let unknown = Unknown::new("network", "cix", ["rc", "cxi"]);
        let error = InputError::from(unknown).at(Place::of("f", "cix", 0..3));
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"file":"f","line":1,"column":1,"code":"unknown-name","message":"no network cix","help":"did you mean cxi? there are rc, cxi"}"#
        );
    }
}
