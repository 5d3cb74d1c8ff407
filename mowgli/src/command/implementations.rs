//! Checks of implementations, for `check` and `through`.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::soundness::client_log::Shard;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::entry::{Entry, Variant};

use super::libraries::VariantArgs;
use crate::args::share::Share;
use crate::catalogue::Catalogue;
use crate::check::CheckOptions;
use crate::error::InputError;
use crate::interrupt;
use crate::selection::quick_first;
use crate::shards::log::{ShardLog, is_shard};
use crate::stages::check_bounds;
use crate::verdicts::format::Format;
use crate::verdicts::table::{Printing, Verdicts};

/// The output of checks.
#[derive(Args)]
pub(super) struct VerdictArgs {
    /// Print on standard error which clients were explored and which were dropped, and counts of the search.
    #[arg(long, conflicts_with = "shard")]
    stats: bool,
    /// Print the verdicts in a format that another tool reads.
    #[arg(long, value_enum, conflicts_with = "json")]
    format: Option<Format>,
    /// Keep the counterexample in this file, for `mowgli explain`; several go to FILE, FILE.2.ron and so on. With --shard,
    /// the file for its lines.
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    share: Share,
}

impl VerdictArgs {
    /// Returns the share to check, and the file for its lines.
    pub(super) fn share(&self) -> Option<(Shard, PathBuf)> {
        self.share.with(self.out.as_deref())
    }

    /// Returns the form in which the verdicts about these implementations are printed.
    pub(super) fn printing(&self, of: &VariantArgs) -> Printing {
        Printing {
            command: "check",
            is_json: of.of.json,
            format: self.format,
            is_wide: false,
            has_counts: self.stats,
            explains_all: of.has_variant(),
        }
    }
}

/// Checks the implementations that the arguments name. It prints a line for each verdict as soon as it is known. The
/// counterexamples follow, and then the table. An expected one is explained only if the arguments name the variant.
pub(super) fn check_implementations(
    args: &VariantArgs,
    (printing, kept): (Printing, &VerdictArgs),
    catalogue: &Catalogue,
    bounds: &dyn Fn(&Entry, &Variant) -> Vec<Bound>,
    options: &CheckOptions<'_>,
    log: Option<&ShardLog>,
) -> Result<u8, InputError> {
    let mut shown = Verdicts::new(printing);
    let chosen = match args.chosen(catalogue) {
        Ok(chosen) => chosen,
        Err(wrong) => {
            shown.add_bad_input(None, wrong);
            shown.print_rest();
            return Ok(shown.code);
        }
    };
    for (entry, variant) in quick_first(chosen) {
        if interrupt::requested() {
            shown.add_interrupted(entry, variant);
            continue;
        }
        let mut each = |checked| {
            if !is_shard(log) {
                shown.add(&checked);
            }
        };
        if let Err(wrong) = check_bounds(entry, variant, &bounds(entry, variant), options, log, &mut each) {
            shown.add_bad_input(Some((entry, variant)), wrong);
        }
    }
    if is_shard(log) {
        return Ok(shown.code);
    }
    shown.print_rest();
    kept.out.as_ref().map_or(Ok(()), |path| shown.keep(path))?;
    Ok(shown.code)
}
