//! The `explain` command.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::search::problem::Limits;

use super::network::On;
use crate::catalogue::Catalogue;
use crate::explaining::{ExplainForm, ExplainRequest, explained as explanations};
use crate::interrupt::{Deadline, Failure};
use crate::pdf;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli explain put.litmus\n  mowgli explain put.litmus --assertion 1 --svg > put.svg\n  mowgli explain locks.litmus --stuck\n  mowgli explain why.ron\n\nExit codes: of a test those of `mowgli litmus`, and 3 if a limit left the reasons open."
)]
pub(super) struct ExplainArgs {
    /// A finding in RON, as `check --out` keeps it, or a litmus test.
    file: PathBuf,
    /// For a litmus test: replace these libraries by their implementations, from left to right.
    #[arg(long, value_delimiter = ',', value_name = "LIBRARY")]
    implemented: Vec<String>,
    /// The number of one assertion of the litmus test, from 1; all if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    assertion: Option<u64>,
    /// Explain the stuck executions of a litmus test, and not its assertions.
    #[arg(long, conflicts_with_all = ["assertion", "json", "out"])]
    stuck: bool,
    /// Print the execution as a graph in the DOT language.
    #[arg(long, conflicts_with_all = ["svg", "tikz", "pdf"])]
    dot: bool,
    /// Print a picture: the execution, or the cycle that forbids the outcome.
    #[arg(long, conflicts_with_all = ["tikz", "pdf"])]
    svg: bool,
    /// Print the picture in TikZ, for LaTeX, with a macro for each relation.
    #[arg(long, conflicts_with = "pdf")]
    tikz: bool,
    /// Write the pictures to this file as PDF, one on each page; pdflatex makes it.
    #[arg(long, value_name = "FILE")]
    pdf: Option<PathBuf>,
    /// Print the finding, with its execution, as one JSON object a line.
    #[arg(long, conflicts_with_all = ["dot", "svg", "tikz", "pdf"])]
    pub(super) json: bool,
    /// Keep the finding in this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seconds before it gives up.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    #[command(flatten)]
    on: On,
}

impl ExplainArgs {
    fn form(&self) -> ExplainForm {
        match self {
            Self { dot: true, .. } => ExplainForm::Dot,
            Self { svg: true, .. } => ExplainForm::Svg,
            Self { tikz: true, .. } => ExplainForm::Tikz,
            Self { pdf: Some(_), .. } => ExplainForm::Pdf,
            _ => ExplainForm::Text,
        }
    }
}

/// Explains a file: returns the text to print, and the exit code. Pictures as PDF are written to their file.
pub(super) fn explained(args: &ExplainArgs, catalogue: &Catalogue) -> Result<(String, u8), Failure> {
    if args.pdf.is_some() {
        pdf::is_there()?;
    }
    let (text, deadline) = (args.on.text_of(&args.file)?, Deadline::after(args.timeout));
    let request = ExplainRequest {
        catalogue,
        limits: Limits { expired: &|| deadline.expired(), ..Limits::default() },
        file: &args.file,
        implemented: &args.implemented,
        assertion: args.assertion,
        stuck: args.stuck,
        form: args.form(),
        is_json: args.json,
        out: args.out.as_deref(),
    };
    let (text, code) = explanations(&text, &request)?;
    let Some(file) = &args.pdf else { return Ok((text, code)) };
    // What was not decided has no picture.
    if !text.is_empty() {
        pdf::write(file, &text)?;
        eprintln!("written to {}", file.display());
    }
    Ok((String::new(), code))
}
