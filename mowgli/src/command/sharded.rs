//! Commands whose work processes can share: `--shard` does one share, and `mowgli merge` puts all together.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use mowgli_core::soundness::client_log::Shard;

use super::out::reported;
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::interrupt::Deadline;
use crate::shards::identity::{Hash, Identity, question};
use crate::shards::log::ShardLog;

/// A command whose work processes can share.
pub(super) trait Sharded {
    /// Returns the share of the work that this process does, and the file for its lines; `None` if it does all.
    fn share(&self) -> Option<(Shard, PathBuf)>;

    /// Returns the seconds for the whole command; `None` without a limit.
    fn timeout(&self) -> Option<u64>;

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

/// A deadline, and the results of other processes.
pub(crate) type ShardContext<'a> = (&'a Deadline, Option<&'a ShardLog>);

/// True if this process does one share of several.
pub(crate) fn is_shard(log: Option<&ShardLog>) -> bool {
    log.is_some_and(|log| log.shard().is_some())
}

/// The most shards of a run.
const MOST: usize = 100_000;

/// Parses a share, for example `3/16`.
fn share(text: &str) -> Result<Shard, InputError> {
    let numbers = text.split_once('/').and_then(|(n, of)| Some((n.parse().ok()?, of.parse().ok()?)));
    let shard = numbers.filter(|(_, of)| *of <= MOST).and_then(|(n, of)| Shard::new(n, of));
    shard.ok_or_else(|| {
        InputError::new(Code::Argument, format!("`{text}` is no share"))
            .help(format!("the third of sixteen is 3/16, and there are at most {MOST}"))
    })
}

/// The share of a run to explore.
#[derive(Args, Default)]
pub(super) struct Share {
    /// Look at a share of the work only, as 3/16 for the third of sixteen, and write what is found to --out: `mowgli merge` puts all
    /// shares together. Started again, it goes on where it was.
    #[arg(long, value_name = "I/N", value_parser = share, requires = "out")]
    shard: Option<Shard>,
}

impl Share {
    /// Returns the share, and the file for its lines.
    pub(super) fn with(&self, out: Option<&Path>) -> Option<(Shard, PathBuf)> {
        Some((self.shard?, out?.to_owned()))
    }
}

/// The same, for a command that writes no other file.
#[derive(Args, Default)]
pub(super) struct ShareToFile {
    #[command(flatten)]
    share: Share,
    /// With --shard, where its lines go.
    #[arg(long, value_name = "FILE", requires = "shard")]
    out: Option<PathBuf>,
}

impl ShareToFile {
    /// Returns the share, and the file for its lines.
    pub(super) fn share(&self) -> Option<(Shard, PathBuf)> {
        self.share.with(self.out.as_deref())
    }
}
