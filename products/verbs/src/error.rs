//! The errors of a program and of its exploration.

use std::path::Path;

/// An error of the input or of a tool.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: String,
        /// The reason.
        why: String,
    },
    /// A tool is missing, or fails.
    #[error("{name}: {why}")]
    Tool {
        /// The tool.
        name: String,
        /// The reason.
        why: String,
    },
    /// The program uses something that is not supported.
    #[error("{place}{what} is not supported")]
    Unsupported {
        /// The source line, with a colon behind it.
        place: String,
        /// The name of the call or of the feature.
        what: String,
    },
    /// The time was over. The text says where.
    #[error("{0}")]
    Late(String),
    /// `main` does more than set up and join, so it has to be a thread. [`crate::explore()`] starts again then.
    #[error("`main` shares memory with its threads")]
    MainTakesPart,
    /// The program ends, or behaves in another way than a program does that `mowgli verbs cc` has made.
    #[error("{0}")]
    Program(String),
}

impl Error {
    pub(crate) fn file(path: &Path, why: &std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), why: why.to_string() }
    }
}
