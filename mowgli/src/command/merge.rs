//! The `merge` command.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::sharded::Sharded;
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::interrupt::Deadline;
use crate::out::reported;
use crate::shards::log::{Merged, merged};

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

/// Parses the words of a command line; `None` for a command whose work is not shared.
type Parse<'a> = &'a dyn Fn(&[OsString]) -> Result<Option<Box<dyn Sharded>>, clap::Error>;

/// Merges the shards of a run: runs the command itself, with all their results.
pub(super) fn merge(args: &MergeArgs, catalogue: Catalogue, parse: Parse<'_>) -> u8 {
    let all = match merged(&args.files) {
        Ok(Some(all)) => all,
        Ok(None) => {
            println!("undecided: nothing is in any of these files yet");
            return 3;
        }
        Err(error) => return reported(Err(error)),
    };
    if let Some(lack) = all.lack() {
        println!("{lack}");
        return 3;
    }
    reported(answered(args, &all, catalogue, parse))
}

/// Runs the command of the shards, if it has not changed.
fn answered(args: &MergeArgs, all: &Merged, catalogue: Catalogue, parse: Parse<'_>) -> Result<u8, InputError> {
    let wrong = |message: String| InputError::new(Code::Argument, message);
    let out = args.out.iter().flat_map(|out| ["--out".into(), out.into()]);
    let words: Vec<OsString> =
        ["mowgli".into()].into_iter().chain(all.run.command.iter().map(OsString::from)).chain(out).collect();
    let command =
        parse(&words).map_err(|e| wrong(format!("the shards are of a command that there is not here: {e}")))?;
    let command = command
        .ok_or_else(|| wrong("only `check`, `litmus`, `generate`, `compare` and `networks` have shards".to_owned()))?;
    all.run.is_of(command.hash(&catalogue)?)?;
    Ok(command.run(catalogue, &Deadline::after(command.timeout()), Some(&all.log)))
}
