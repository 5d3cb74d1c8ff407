//! `mowgli convert`.

use std::path::PathBuf;

use clap::Args;

use crate::cat::lisa::to_lisa;
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::interrupt::Failure;
use crate::litmus::test::Liveness;
use crate::litmus::x86;
use crate::out::{parsed, text_of};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli convert sb.litmus --to herd > sb-x86.litmus\n  mowgli convert sb-x86.litmus --to mowgli\n  mowgli convert put.litmus --to lisa > put-lisa.litmus"
)]
pub(super) struct ConvertArgs {
    /// A litmus test: Mowgli's, or one that begins with X86_64.
    file: PathBuf,
    /// The format to convert to.
    #[arg(long, value_enum, value_name = "FORM")]
    to: ConvertForm,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ConvertForm {
    /// herd's X86_64, for tests of CPU accesses on one node.
    Herd,
    /// LISA, for herd7 with the files that `mowgli cat MODEL --for herd` writes.
    Lisa,
    /// Mowgli's, from herd's X86_64.
    Mowgli,
}

pub(super) fn converted(args: &ConvertArgs, catalogue: &Catalogue) -> Result<String, Failure> {
    let text = text_of(&args.file)?;
    if args.to == ConvertForm::Mowgli {
        return Ok(x86::from_herd(&args.file.display().to_string(), &text)?);
    }
    let test = parsed(catalogue, &args.file, &text)?;
    if let Some(Liveness { text, .. }) = test.liveness.first() {
        let message = "herd does not speak of executions that are stuck: leave it out of the test that is converted";
        return Err(InputError::new(Code::Argument, format!("{}: {text}: {message}", args.file.display())).into());
    }
    if args.to == ConvertForm::Herd {
        return Ok(x86::to_herd(&test)?);
    }
    Ok(to_lisa(&test)?.text)
}
