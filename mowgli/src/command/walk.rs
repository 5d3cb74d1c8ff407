//! `mowgli walk`.

use std::path::PathBuf;

use clap::Args;

use crate::args::network::On;
use crate::catalogue::Catalogue;
use crate::interrupt::{Deadline, Failure};
use crate::litmus::run;
use crate::out::{json, parsed, stopped_line};

#[derive(Args)]
#[command(after_help = "Examples:\n  mowgli walk polls.litmus --seed 3")]
pub(super) struct WalkArgs {
    /// A litmus test of RDMA_TSO.
    file: PathBuf,
    /// The seed of the run: equal seeds give equal runs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Seconds before it gives up.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    on: On,
}

/// Takes a run: returns the text to print, and the exit code.
pub(super) fn walked(args: &WalkArgs, catalogue: &Catalogue) -> Result<(String, u8), Failure> {
    let text = args.on.text_of(&args.file)?;
    let test = parsed(catalogue, &args.file, &text)?;
    let deadline = Deadline::after(args.timeout);
    match run::walk(&test, args.seed, &|| deadline.expired()) {
        Ok(walked) => Ok((if args.json { json(&walked) + "\n" } else { walked.text() }, 0)),
        Err(Failure::Undecided(undecided)) if args.json => Ok((stopped_line(&undecided), 3)),
        Err(failure) => Err(failure.within(&args.file.display())),
    }
}
