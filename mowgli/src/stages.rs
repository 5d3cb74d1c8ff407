//! Checks of a variant at one bound after the other, for `check` and `report`.

use std::time::Duration;

use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::verdict::Verdict;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::entry::{Entry, Variant};

use crate::check::{CheckOptions, Checked, check};
use crate::error::InputError;
use crate::shards::log::{ShardLog, is_shard};
use crate::terminal::{bar, moving};

/// Checks a variant at one bound after the other, up to the first bound at which it is not sound. Each check shows a
/// progress bar. If processes share the work, `log` holds their results.
pub(crate) fn check_bounds(
    entry: &Entry,
    variant: &Variant,
    bounds: &[Bound],
    options: &CheckOptions<'_>,
    log: Option<&ShardLog>,
    each: &mut dyn FnMut(Checked),
) -> Result<(), InputError> {
    for (number, bound) in (1..).zip(bounds) {
        let part = log.map(|log| log.part(format!("{} {} {number}", entry.name, variant.name)));
        let clients = part.as_ref().map(|part| part as _);
        let bar = bar(format!("{} {}", entry.name, variant.name), "clients");
        let progress = moving(&bar);
        let mut checked =
            check(entry, variant, bound, &CheckOptions { progress: &progress, log: clients, ..options.clone() })?;
        bar.finish_and_clear();
        checked.time += Duration::from_secs_f64(part.map_or(0.0, |part| part.seconds()));
        // A share may have only clients that never end, so this verdict says nothing about all clients.
        let sound = match checked.report.verdict {
            Verdict::Sound | Verdict::NoWrongOutcome => true,
            Verdict::Undecided(Stop::Vacuous) => is_shard(log),
            _ => false,
        };
        let failed = checked.has_failed();
        each(checked);
        if !sound || failed {
            break;
        }
    }
    Ok(())
}
