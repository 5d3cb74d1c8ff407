//! The commands `mutants` and `necessity`: implementations with one change, and whether the check notices it.

use clap::Args;
use mowgli_core::term::bound::Bound;

use super::libraries::VariantArgs;
use crate::args::bounds::Placement;
use crate::catalogue::Catalogue;
use crate::check::{CheckOptions, shapes};
use crate::error::InputError;
use crate::interrupt::Deadline;
use crate::necessity::{self, ChangeKind, ChangeResult, Needed};
use crate::out::unknown;
use crate::terminal::{bar, moving};

#[derive(Args)]
#[command(after_help = "Examples:\n  mowgli mutants sv\n  mowgli mutants bal --threads 2 --nodes 2")]
pub(super) struct MutantsArgs {
    #[command(flatten)]
    pub(super) of: VariantArgs,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  mowgli necessity bal\n  mowgli necessity nlock --json")]
pub(super) struct NecessityArgs {
    #[command(flatten)]
    pub(super) of: VariantArgs,
}

/// Checks implementations with each mistake that the method tables give.
pub(super) fn mutants(args: &MutantsArgs, catalogue: &Catalogue) -> Result<u8, InputError> {
    changes(ChangeKind::Mutants, &args.of, catalogue)
}

/// Checks implementations without each of their operations.
pub(super) fn necessity(args: &NecessityArgs, catalogue: &Catalogue) -> Result<u8, InputError> {
    changes(ChangeKind::Necessity, &args.of, catalogue)
}

fn changes(question: ChangeKind, args: &VariantArgs, catalogue: &Catalogue) -> Result<u8, InputError> {
    args.of.set_jobs();
    let deadline = Deadline::after(args.of.timeout);
    let (json, mut code) = (args.of.json, 0);
    for (entry, variant) in args.chosen(catalogue)? {
        let bar = bar(format!("{} {}", entry.name, variant.name), "clients");
        let progress = moving(&bar);
        let loopback = args.loopback(Placement::Any);
        let options =
            CheckOptions { deadline: deadline.clone(), loopback, progress: &progress, ..CheckOptions::default() };
        let bounds = args.of.within.limited(question.bounds(entry, variant));
        if !json {
            let covered: Vec<Bound> = bounds.iter().map(|b| entry.covered(b, &|| deadline.expired())).collect();
            println!("{} ({}): threads, nodes, calls up to {}", entry.name, variant.name, shapes(&covered));
        }
        let mut each = |row: &ChangeResult| {
            bar.suspend(|| println!("{}", if json { row.json() } else { row.text(question) }));
        };
        let found = necessity::necessity(question, entry, variant, bounds, &options, &mut each)?;
        bar.finish_and_clear();
        if let Some(stop) = &found.stop {
            unknown(json, format!("{} ({}): whether it is sound as it is", entry.name, variant.name), stop);
        }
        if found.stop.is_some() || found.rows.iter().any(|row| row.needed == Needed::Undecided) {
            code = 3;
        }
        if !json {
            print!("{}", found.text(question));
        }
    }
    Ok(code)
}
