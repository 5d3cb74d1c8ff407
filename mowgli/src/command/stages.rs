//! A variant within one bound after the other, as `check` and `report` go through them.

use mowgli_core::soundness::client::Bound;
use mowgli_core::soundness::verdict::Verdict;
use mowgli_libraries::entry::{Entry, Variant};

use super::out::{bar, moving};
use crate::catalogue::Stamped;
use crate::check::{Checked, Options, check};

/// Checks a variant at one bound after the other, each with a bar, up to the first at which it is not sound.
pub(super) fn check_bounds<S: Stamped>(
    entry: &Entry<S>,
    variant: &Variant,
    bounds: &[Bound],
    options: &Options<'_, S>,
    each: &mut dyn FnMut(Checked<S>),
) -> Result<(), String> {
    for bound in bounds {
        let bar = bar(format!("{} {}", entry.name, variant.name), "clients");
        let progress = moving(&bar);
        let checked = check(entry, variant, bound, &Options { progress: &progress, ..*options })?;
        bar.finish_and_clear();
        let sound = matches!(checked.report.verdict, Verdict::Sound | Verdict::NoWrongOutcome);
        let failed = checked.has_failed();
        each(checked);
        if !sound || failed {
            break;
        }
    }
    Ok(())
}
