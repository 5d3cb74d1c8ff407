//! Commands whose work processes can share: `--shard` does one share, and `mowgli merge` puts all together.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use mowgli_core::soundness::client_log::Shard;

use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::interrupt::Deadline;
use crate::out::reported;
use crate::shards::identity::{Hash, Identity, question};
use crate::shards::log::ShardLog;

/// A command whose work processes can share.
pub(super) trait Sharded {
    /// Returns the share of the work that this process does, and the file for its lines; `None` if it does all.
    fn share(&self) -> Option<(Shard, PathBuf)>;

    /// Returns the seconds for the whole command; `None` without a limit.
    fn timeout(&self) -> Option<u64> {
        None
    }

    /// Hashes the inputs.
    ///
    /// # Errors
    /// If an input cannot be read.
    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError>;

    /// Runs the command, and returns its exit code. `log` holds the results of other processes, and the share.
    fn run(&self, catalogue: Catalogue, deadline: &Deadline, log: Option<&ShardLog>) -> u8;
}

/// Runs a command, or its share of the work. Returns the exit code.
pub(super) fn run(command: &dyn Sharded, catalogue: Catalogue, words: &[OsString]) -> u8 {
    match command.share() {
        Some((shard, out)) => reported(run_shard(command, catalogue, (shard, &out), words)),
        None => command.run(catalogue, &Deadline::after(command.timeout()), None),
    }
}

/// Does one share of a command's work, and writes the results to a file.
fn run_shard(
    command: &dyn Sharded,
    catalogue: Catalogue,
    (shard, out): (Shard, &Path),
    words: &[OsString],
) -> Result<u8, InputError> {
    let hash = command.hash(&catalogue)?;
    let log = ShardLog::open(out, &Identity::new(question(&words[1..])?, hash), shard)?;
    let deadline = Deadline::after(command.timeout());
    let code = if log.is_over() { 0 } else { command.run(catalogue, &deadline, Some(&log)) };
    if code == 2 {
        return Ok(2);
    }
    let (number, of, lines, out) = (shard.number(), shard.of(), log.lines(), out.display());
    if !log.is_over() && deadline.expired() {
        log.failure()?;
        eprintln!("shard {number}/{of} is not done: {lines} lines in {out}; the same command goes on with it");
        return Ok(3);
    }
    log.end()?;
    eprintln!("shard {number}/{of} is done: {lines} lines in {out}");
    Ok(0)
}
