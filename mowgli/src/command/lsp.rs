//! The `lsp` command: a language server for editors.

use clap::Args;

use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::lsp;

#[derive(Args)]
#[command(
    after_help = "Example:\n  mowgli lsp --timeout 10    as the command of an editor; editors/vscode is an extension"
)]
pub(super) struct LspArgs {
    /// Seconds for one test.
    #[arg(long, default_value_t = 30, value_name = "S")]
    timeout: u64,
}

/// Serves one editor.
pub(super) fn serve(args: &LspArgs, catalogue: &Catalogue) -> Result<u8, InputError> {
    lsp::serve(catalogue, args.timeout)?;
    Ok(0)
}
