//! The `check --estimate` command: the work of a check.

use super::super::out::json;
use super::args::{CheckArgs, bounds, chosen};
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::interrupt::Deadline;
use crate::shards::estimate::{Estimate, SAMPLED, estimate, largest};

/// Prints the estimates.
pub(super) fn estimates(args: &CheckArgs, catalogue: &Catalogue, deadline: Deadline) -> Result<u8, InputError> {
    let found = estimated(args, catalogue, deadline)?;
    for estimate in &found {
        println!("{}", if args.json { json(estimate) } else { estimate.text() });
    }
    Ok(0)
}

/// Estimates the seconds that a check takes on one core. `None` if the command asks a further question, or cannot be
/// estimated.
pub(in super::super) fn seconds(args: &CheckArgs, catalogue: &Catalogue) -> Option<f64> {
    let is_plain = !(args.spec || args.necessity || args.mutants || args.mutate_spec || args.distinguish);
    let found = estimated(args, catalogue, Deadline::default()).ok().filter(|_| is_plain)?;
    Some(found.iter().map(|found| found.seconds * found.threads as f64).sum())
}

fn estimated(args: &CheckArgs, catalogue: &Catalogue, deadline: Deadline) -> Result<Vec<Estimate>, InputError> {
    let options = args.options(catalogue.entries(), deadline);
    let mut found = Vec::new();
    for (entry, variant) in chosen(args, catalogue)? {
        let bounds = bounds(entry, variant, args);
        let Some(budget) = args.budget else {
            for bound in &bounds {
                found.push(estimate(entry, variant, bound, &options, SAMPLED)?);
            }
            continue;
        };
        if let Some(bound) = bounds.first() {
            let fits = largest(entry, variant, bound, &options, budget)?;
            let none = || {
                let (name, variant) = (entry.name, variant.name);
                let message = format!("{name} ({variant}): not even clients of one call are done in that time");
                InputError::new(Code::Argument, message).help("give more with --budget")
            };
            found.push(fits.ok_or_else(none)?);
        }
    }
    Ok(found)
}
