//! The `emit` command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::out::save;
use crate::catalogue::Catalogue;
use crate::emit::{PORT, in_c};
use crate::error::InputError;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli emit c bal\n  mowgli emit c slock:published sv --out locks\n\nThe code calls the operations of mowgli_port.h, which --out writes beside it."
)]
pub(super) struct EmitArgs {
    /// The language.
    #[arg(value_enum)]
    language: Language,
    /// Libraries, as bal, or variants of them, as bal:no-fence. What they stand on is written too.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// The folder for NAME.h and mowgli_port.h; without it NAME.h goes to standard output.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Language {
    /// C11 over libibverbs.
    C,
}

/// Writes implementations as source code. Returns what goes to standard output.
pub(super) fn emitted(args: &EmitArgs, catalogue: &Catalogue) -> Result<String, InputError> {
    let Language::C = args.language;
    let entries = catalogue.entries();
    let variant_of = |name: &String| {
        let (entry, variant) = catalogue.entry(name)?;
        Ok((entry, variant.map_or_else(|| entry.default_variant(), Ok)?))
    };
    let wanted = args.names.iter().map(variant_of).collect::<Result<Vec<_>, InputError>>()?;
    let text = in_c(entries, &wanted)?;
    let Some(folder) = &args.out else { return Ok(text) };
    std::fs::create_dir_all(folder).map_err(|e| InputError::file(folder, e))?;
    let name = wanted.iter().map(|(entry, _)| entry.name).collect::<Vec<_>>().join("-");
    let file = folder.join(format!("{name}.h"));
    save(&file, &text)?;
    save(&folder.join(PORT.0), PORT.1)?;
    Ok(format!("{}\n", file.display()))
}
