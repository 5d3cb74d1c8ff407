//! The `show` command.

use clap::Args;

use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::listing::shown as listed;

#[derive(Args)]
#[command(after_help = "Examples:\n  mowgli show bal\n  mowgli show bal:no-fence\n  mowgli show bal --latex")]
pub(super) struct ShowArgs {
    /// A library, as bal, or one of its variants, as bal:no-fence.
    name: String,
    /// Prints LaTeX for a paper's appendix. It needs the packages amsmath, amssymb and alltt.
    #[arg(long)]
    latex: bool,
}

/// Returns a library as text, or in LaTeX.
pub(super) fn shown(args: &ShowArgs, catalogue: &Catalogue) -> Result<String, InputError> {
    listed(catalogue, &args.name, args.latex)
}
