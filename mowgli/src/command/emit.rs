//! The `emit` command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::catalogue::Catalogue;
use crate::emit::{C_PORT, RUST_PORT, in_c, in_rust};
use crate::error::InputError;
use crate::out::{save, with_header};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli emit c bal\n  mowgli emit rust bal\n  mowgli emit c slock:published sv --out locks\n  mowgli emit rust bal sc-rmw --out src/checked\n\nThe code calls the operations of mowgli_port.h or mowgli_port.rs, which --out writes beside it. Without --out the text in C has them itself."
)]
pub(super) struct EmitArgs {
    /// The language.
    #[arg(value_enum)]
    language: Language,
    /// Libraries, as bal, or variants of them, as bal:no-fence. What they stand on is written too.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// The folder for NAME.h and mowgli_port.h, or NAME.rs and mowgli_port.rs; without it NAME goes to standard output.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Language {
    /// C11 over libibverbs.
    C,
    /// Rust over a trait with the operations of RDMA-WAIT-RMW.
    Rust,
}

/// Writes implementations as source code. Returns what goes to standard output.
pub(super) fn emitted(args: &EmitArgs, catalogue: &Catalogue) -> Result<String, InputError> {
    let entries = catalogue.entries();
    let variant_of = |name: &String| {
        let (entry, variant) = catalogue.entry(name)?;
        Ok((entry, variant.map_or_else(|| entry.default_variant(), Ok)?))
    };
    let wanted = args.names.iter().map(variant_of).collect::<Result<Vec<_>, InputError>>()?;
    let (text, port, extension) = match args.language {
        Language::C => (in_c(entries, &wanted)?, C_PORT, "h"),
        Language::Rust => (in_rust(entries, &wanted)?, RUST_PORT, "rs"),
    };
    let Some(folder) = &args.out else {
        return Ok(match args.language {
            Language::C => with_header(&text, port),
            Language::Rust => text,
        });
    };
    std::fs::create_dir_all(folder).map_err(|e| InputError::file(folder, e))?;
    let name = wanted.iter().map(|(entry, _)| entry.name).collect::<Vec<_>>();
    let name = match args.language {
        Language::C => name.join("-"),
        // A module has a name without dashes.
        Language::Rust => name.join("_").replace('-', "_"),
    };
    let file = folder.join(format!("{name}.{extension}"));
    save(&file, &text)?;
    save(&folder.join(port.0), port.1)?;
    Ok(format!("{}\n", file.display()))
}
