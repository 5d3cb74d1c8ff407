//! `mowgli cat`.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::cat::CatDialect;

use crate::cat::{cat, cat_for, write_for_herd};
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli cat RDMA_TSO > rdma-tso.cat\n  mowgli cat sv\n  mowgli cat RDMA_WAIT --for herd --out rdma-wait"
)]
pub(super) struct CatArgs {
    /// A model as RDMA_TSO, or a library as sv.
    name: String,
    /// The tool that is to load it as it is.
    #[arg(long = "for", value_enum, value_name = "TOOL")]
    tool: Option<Tool>,
    /// The folder for the three files that herd7 needs: the model, what it takes as given, and the marks of tests.
    #[arg(long, value_name = "DIR", requires = "tool")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Tool {
    /// herd7, which runs what `mowgli convert --to lisa` writes.
    Herd,
    /// Dartagnan, whose cat has no `with`.
    Dat3m,
}

pub(super) fn written(args: &CatArgs, catalogue: &Catalogue) -> Result<String, InputError> {
    match (args.tool, &args.out) {
        (None, _) => cat(catalogue, &args.name),
        (Some(Tool::Herd), Some(folder)) => write_for_herd(catalogue, &args.name, folder),
        (Some(Tool::Herd), None) => {
            Err(InputError::new(Code::Argument, "--for herd writes three files: name their folder with --out DIR"))
        }
        (Some(Tool::Dat3m), None) => Ok(cat_for(CatDialect::Dat3m, catalogue, &args.name)?.text),
        (Some(Tool::Dat3m), Some(_)) => {
            Err(InputError::new(Code::Argument, "--for dat3m prints one file: leave --out away"))
        }
    }
}
