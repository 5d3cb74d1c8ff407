//! The `explain` command.

use mowgli_core::search::problem::Limits;

use crate::catalogue::Catalogue;
use crate::explaining::{ExplainArgs, ExplainRequest, explained as explanations};
use crate::interrupt::{Deadline, Failure};
use crate::pdf;

/// Explains a file: returns the text to print, and the exit code. Pictures as PDF are written to their file.
pub(super) fn explained(args: &ExplainArgs, catalogue: &Catalogue) -> Result<(String, u8), Failure> {
    if args.pdf.is_some() {
        pdf::is_there()?;
    }
    let (text, deadline) = (args.on.text_of(&args.file)?, Deadline::after(args.timeout));
    let limits = Limits { expired: &|| deadline.expired(), ..Limits::default() };
    let request = ExplainRequest { catalogue, limits, form: args.form(), args };
    let (text, code) = explanations(&text, &request)?;
    let Some(file) = &args.pdf else { return Ok((text, code)) };
    // What was not decided has no picture.
    if !text.is_empty() {
        pdf::write(file, &text)?;
        eprintln!("written to {}", file.display());
    }
    Ok((String::new(), code))
}
