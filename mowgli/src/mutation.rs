//! The `check --mutate-spec` command: what is each axiom of a specification worth?
//!
//! The specification is weakened in one place, and the broken variants are checked against what is left. Those that pass
//! now are the ones that only this place catches.

use mowgli_core::ids::Name;
use mowgli_core::soundness::client::Bound;
use mowgli_core::soundness::mutation::{mutations, weakened};
use mowgli_core::soundness::verdict::Verdict;
use mowgli_libraries::catalogue::{Entry, Expected, Variant};
use serde::Serialize;

use crate::check::{Ask, Options, check};
use crate::necessity::own_calls;

/// How long one variant may take against one specification.
const SECONDS: u64 = 20;

/// What one weaker specification no longer catches.
#[derive(Clone, Debug, Serialize)]
pub struct Worth {
    /// The library.
    pub library: &'static str,
    /// What was taken away.
    pub without: String,
    /// The variants that the specification catches and the weaker one does not.
    pub no_longer_caught: Vec<&'static str>,
    /// The variants for which a limit stopped the check.
    pub undecided: Vec<&'static str>,
}

/// The answers for one specification.
#[derive(Clone, Debug)]
pub struct Worths {
    /// The bounds that were checked, one after the other.
    pub bounds: Vec<Bound>,
    /// The variants that the whole specification catches at these bounds.
    pub caught: Vec<&'static str>,
    /// What each place is worth.
    pub all: Vec<Worth>,
}

/// Weakens the specification of an entry in every place, and checks its broken variants for local soundness.
///
/// # Errors
/// If the entry cannot be checked at all.
pub fn worths(
    mut entry: Entry,
    bounds: Vec<Bound>,
    options: &Options<'_>,
    each: &mut dyn FnMut(&Worth),
) -> Result<Worths, String> {
    let name = Name::literal(entry.name);
    let whole = entry.specification.clone();
    let is_caught = |entry: &Entry, variant: &Variant| -> Result<Option<bool>, String> {
        let options = Options { ask: Ask::Local, ..options.within(SECONDS) };
        let mut stopped = false;
        for bound in &bounds {
            let report = check(entry, variant, bound, &options)?.report;
            if report.violation.is_some() {
                return Ok(Some(true));
            }
            stopped |= matches!(report.verdict, Verdict::Undecided(_));
        }
        Ok((!stopped).then_some(false))
    };
    let mut caught = Vec::new();
    for variant in entry.variants.iter().filter(|v| v.expected != Expected::Sound) {
        if is_caught(&entry, variant)? == Some(true) {
            caught.push(variant.clone());
        }
    }
    let mut all = Vec::new();
    for mutation in mutations(&whole, name, &own_calls(&entry, &bounds)) {
        entry.specification = weakened(&whole, name, &mutation);
        let answer = |v: &Variant| Ok((v.name, is_caught(&entry, v)?));
        let answers = caught.iter().map(answer).collect::<Result<Vec<(&str, Option<bool>)>, String>>()?;
        let with = |wanted| answers.iter().filter(|(_, a)| *a == wanted).map(|(name, _)| *name).collect();
        let worth = Worth {
            library: entry.name,
            without: mutation.to_string(),
            no_longer_caught: with(Some(false)),
            undecided: with(None),
        };
        each(&worth);
        all.push(worth);
    }
    Ok(Worths { bounds, caught: caught.iter().map(|v| v.name).collect(), all })
}

impl Worth {
    /// One line.
    #[must_use]
    pub fn text(&self) -> String {
        let lost = match &self.no_longer_caught[..] {
            [] => "all variants are still caught".to_owned(),
            lost => format!("no longer caught: {}", lost.join(", ")),
        };
        let undecided = if self.undecided.is_empty() {
            String::new()
        } else {
            format!("; undecided: {}", self.undecided.join(", "))
        };
        format!("  without {:<24} {lost}{undecided}", self.without)
    }
}
