//! Arguments for the size of clients and programs.

use clap::Args;
use mowgli_core::term::bound::Bound;

/// Parses a number of a bound.
pub(crate) fn at_least_one(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(0) => Err("a bound of 0 covers nothing; give at least 1".to_owned()),
        Ok(n) if n <= Bound::MOST as u64 => Ok(n),
        _ => Err(format!("write a number from 1 to {}", Bound::MOST)),
    }
}

/// Bounds on the size of clients or programs.
#[derive(Args, Default, PartialEq, Eq)]
pub(crate) struct SizeBounds {
    /// At most this many threads.
    #[arg(long, value_name = "T", value_parser = at_least_one)]
    threads: Option<u64>,
    /// At most this many nodes.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    nodes: Option<u64>,
    /// At most this many calls of each thread.
    #[arg(long, value_name = "C", value_parser = at_least_one)]
    calls: Option<u64>,
}

impl SizeBounds {
    /// True if any of these arguments was given.
    pub(crate) fn is_given(&self) -> bool {
        [self.threads, self.nodes, self.calls].iter().any(Option::is_some)
    }

    /// Returns a bound with the given arguments in place of its own values.
    pub(crate) fn of(&self, bound: Bound) -> Bound {
        Bound {
            threads: self.threads.map_or(bound.threads, |n| n as usize),
            nodes: self.nodes.map_or(bound.nodes, |n| n as u8),
            calls: self.calls.map_or(bound.calls, |n| n as usize),
            ..bound
        }
    }
}
