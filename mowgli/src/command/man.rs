//! The `man` command.

use std::path::PathBuf;

use clap::Args;

use crate::error::InputError;

#[derive(Args)]
#[command(after_help = "Examples:\n  mowgli man --out /usr/local/share/man/man1")]
pub(super) struct ManArgs {
    /// The folder to write to.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes the manual pages of the command and of its subcommands.
pub(super) fn man(args: &ManArgs, cli: clap::Command) -> Result<u8, InputError> {
    std::fs::create_dir_all(&args.out).map_err(|e| InputError::file(&args.out, e))?;
    clap_mangen::generate_to(cli, &args.out).map_err(|e| InputError::file(&args.out, e))?;
    Ok(0)
}
