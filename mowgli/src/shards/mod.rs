//! Work that processes share, on one machine or on many. Each process writes its results to a [`log`]; all logs
//! together give the answer of a single process.

pub mod identity;
pub mod log;

use mowgli_core::soundness::client_log::Shard;

use crate::error::{Code, InputError};

/// The most shards of a run.
const MOST: usize = 100_000;

/// Parses a share, for example `3/16`.
///
/// # Errors
/// If the text is no share, or of too many.
pub fn share(text: &str) -> Result<Shard, InputError> {
    let numbers = text.split_once('/').and_then(|(n, of)| Some((n.parse().ok()?, of.parse().ok()?)));
    let shard = numbers.filter(|(_, of)| *of <= MOST).and_then(|(n, of)| Shard::new(n, of));
    shard.ok_or_else(|| {
        InputError::new(Code::Argument, format!("`{text}` is no share"))
            .help(format!("the third of sixteen is 3/16, and there are at most {MOST}"))
    })
}
