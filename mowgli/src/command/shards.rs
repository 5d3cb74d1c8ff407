//! Shards of a run, and the `merge` command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use itertools::Itertools;
use mowgli_core::soundness::client_log::Shard;

use super::out::reported;
use crate::error::{Code, InputError};
use crate::shards::identity::{Hash, Identity};
use crate::shards::log::{Merged, ShardLog, merged};

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
pub(super) struct SharedArgs {
    #[command(flatten)]
    share: Share,
    /// With --shard, where its lines go.
    #[arg(long, value_name = "FILE", requires = "shard")]
    out: Option<PathBuf>,
}

impl SharedArgs {
    /// Returns the share, and the file for its lines.
    pub(super) fn share(&self) -> Option<(Shard, PathBuf)> {
        self.share.with(self.out.as_deref())
    }
}

/// The most shards of a run.
const MOST: usize = 100_000;

/// The arguments that may differ between the shards of a run.
const TAKEN: [&str; 4] = ["--shard", "--out", "--jobs", "--timeout"];

/// Returns the arguments of this process that determine the results. It drops those for the share, the output, the
/// number of threads and the time.
fn question(arguments: impl Iterator<Item = OsString>) -> Result<Vec<String>, InputError> {
    let mut left = Vec::new();
    let mut arguments = arguments
        .map(|a| a.into_string().map_err(|a| InputError::new(Code::Argument, format!("{}: not UTF-8", a.display()))));
    while let Some(argument) = arguments.next().transpose()? {
        // The time limit of `litmus` and `networks` is one for each result, so it determines results.
        let is_of_each = left.first().is_some_and(|command| command == "litmus" || command == "networks");
        let is_taken = |flag: &str| TAKEN.contains(&flag) && !(flag == "--timeout" && is_of_each);
        if is_taken(&argument) {
            arguments.next();
        } else if !argument.split_once('=').is_some_and(|(flag, _)| is_taken(flag)) {
            left.push(argument);
        }
    }
    Ok(left)
}

/// Does one share of a command's work, and writes the results to a file.
pub(super) fn shard(
    shard: Shard,
    out: &Path,
    hash: Hash,
    work: impl FnOnce(&ShardLog) -> Done,
) -> Result<u8, InputError> {
    let run = Identity::new(question(std::env::args_os().skip(1))?, hash);
    let log = ShardLog::open(out, &run, shard)?;
    let done = if log.is_over() { Done::All } else { work(&log) };
    let (number, of, lines, out) = (shard.number(), shard.of(), log.lines(), out.display());
    match done {
        Done::All => {
            log.end()?;
            eprintln!("shard {number}/{of} is done: {lines} lines in {out}");
            Ok(0)
        }
        Done::Part => {
            log.failure()?;
            eprintln!("shard {number}/{of} is not done: {lines} lines in {out}; the same command goes on with it");
            Ok(3)
        }
        Done::Wrong => Ok(2),
    }
}

/// True if this process does one share of several.
pub(super) fn is_shard(log: Option<&ShardLog>) -> bool {
    log.is_some_and(|log| log.shard().is_some())
}

/// The progress of a share.
pub(super) enum Done {
    /// The share is complete.
    All,
    /// The time was up before the end of the share.
    Part,
    /// The input is bad, and the error has been printed.
    Wrong,
}

impl Done {
    /// Derives the progress from the exit code, and from whether the time is up.
    pub(super) fn of(code: u8, expired: bool) -> Self {
        match code {
            2 => Self::Wrong,
            _ if expired => Self::Part,
            _ => Self::All,
        }
    }
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli check bal --shard 1/2 --out 1.shard\n  mowgli check bal --shard 2/2 --out 2.shard\n  mowgli merge 1.shard 2.shard"
)]
pub(super) struct MergeArgs {
    /// The files that the shards of one run have written, or a folder with files ending in .shard.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The file or folder that the command itself would have written: --out of `check` or `generate`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Returns the files that paths stand for: themselves, or the shards in a folder.
fn written(paths: &[PathBuf]) -> Result<Vec<PathBuf>, InputError> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).map_err(|e| InputError::file(path, e))?;
        let mut files: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
        files.retain(|file| file.extension().is_some_and(|x| x == "shard"));
        files.sort();
        all.extend(files);
    }
    Ok(all)
}

/// Reads the files of shards. Returns the arguments of the command with all results, or an exit code if the files are
/// bad or incomplete.
pub(super) fn merge(args: &MergeArgs) -> Result<(Vec<OsString>, Merged), u8> {
    if !args.files.iter().any(|path| path.exists()) {
        let names = args.files.iter().map(|path| path.display()).join(", ");
        return Err(reported(Err(InputError::new(Code::Argument, format!("{names}: there is no such file"))
            .help("name what `--out` named, or the folder that it is in"))));
    }
    let all = written(&args.files).and_then(|files| merged(&files)).map_err(|message| reported(Err(message)))?;
    let Some(all) = all else {
        println!("undecided: nothing is in any of these files yet");
        return Err(3);
    };
    if let Some(lack) = all.lack() {
        println!("{lack}");
        return Err(3);
    }
    let out = args.out.iter().flat_map(|out| ["--out".into(), out.into()]);
    let command = ["mowgli".into()].into_iter().chain(all.run.command.iter().map(OsString::from)).chain(out);
    Ok((command.collect(), all))
}

/// Checks that the specifications, implementations and tests have not changed since the shards ran.
pub(super) fn unchanged(run: &Identity, hash: Hash) -> Result<(), InputError> {
    let now = Identity::new(run.command.clone(), hash);
    let why = now.difference(run);
    why.map_or(Ok(()), |why| {
        Err(InputError::new(Code::Argument, format!("the shards cannot be merged here: each file {why}")))
    })
}
