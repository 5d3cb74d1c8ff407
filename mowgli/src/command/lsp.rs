//! The `lsp` command: a language server for editors.

use clap::Args;

use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::interrupt::SECOND;
use crate::lsp;

#[derive(Args)]
#[command(
    after_help = "Example:\n  mowgli lsp --timeout 10    as the command of an editor; editors/vscode is an extension"
)]
pub(super) struct LspArgs {
    /// Steps of the search for one test.
    #[arg(long, value_name = "N", default_value_t = 30 * SECOND)]
    steps: u64,
    /// Seconds after which a test is cancelled.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
}

/// Serves one editor.
pub(super) fn serve(args: &LspArgs, catalogue: &Catalogue) -> Result<u8, InputError> {
    lsp::serve(catalogue, args.steps, args.timeout)?;
    Ok(0)
}
