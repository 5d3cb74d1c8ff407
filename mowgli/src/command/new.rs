//! The `new` command.

use std::path::PathBuf;

use clap::Args;

use crate::error::InputError;
use crate::new::{Example, Sources};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli new my-library\n  mowgli new my-stack --example stack\n  mowgli new my-latch --mowgli ~/mowgli"
)]
pub(super) struct NewArgs {
    /// The folder; its name is that of the crate, as my-library.
    folder: PathBuf,
    /// The library that the crate begins with.
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    example: Example,
    /// A checkout of Mowgli, on which the crate depends by paths. The default is the checkout that this command was built in,
    /// or this version from the registry.
    #[arg(long, value_name = "DIR")]
    mowgli: Option<PathBuf>,
}

/// Writes a new crate, and prints the next steps.
pub(super) fn new(args: &NewArgs) -> Result<u8, InputError> {
    let sources = args.mowgli.as_deref().map_or_else(|| Ok(Sources::of_this_build()), Sources::checkout)?;
    for file in crate::new::new(&args.folder, &sources, args.example)? {
        println!("{}", file.display());
    }
    println!("Next: cd {} && cargo test && cargo run -- check {}", args.folder.display(), args.example.library());
    Ok(0)
}
