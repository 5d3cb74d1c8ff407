//! The record of a check, for the formats of other tools.

use super::format::{FindingKind, FormatFinding, Record};
use crate::check::Checked;

/// Makes the record of a check. An expected verdict is not a finding.
pub(super) fn record(checked: &Checked) -> Record {
    let kind = match checked.is_expected() {
        Some(true) => None,
        Some(false) => Some(FindingKind::Violated),
        None => Some(FindingKind::Undecided),
    };
    let finding = kind.map(|kind| FormatFinding {
        kind,
        place: None,
        message: format!("{} (expected {})", checked.title(), checked.expected.word()),
        details: checked.explanation(),
    });
    Record {
        name: named(checked.library, checked.variant),
        file: None,
        verdict: checked.judgement(),
        seconds: checked.time.as_secs_f64(),
        findings: finding.into_iter().collect(),
    }
}

/// Returns the name of a library with its variant.
pub(super) fn named(library: &str, variant: &str) -> String {
    if variant == "published" { library.to_owned() } else { format!("{library} ({variant})") }
}
