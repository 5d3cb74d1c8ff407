//! The `worth` command: which broken variants does each axiom of a specification catch?
//!
//! The command weakens the specification in one place, and checks the broken variants against the result. Only this
//! place catches the variants that pass now.

use mowgli_core::ids::Name;
use mowgli_core::rewrite::mutation::{mutations, weakened};
use mowgli_core::search::runs::Stop;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::entry::{Entry, Expected, Variant};
use serde::Serialize;

use crate::check::{CheckOptions, CheckQuestion, check, shapes};
use crate::entry::own_calls;
use crate::error::{Code, InputError};
use crate::interrupt::{SECOND, cause};
use crate::shards::log::RunPart;

/// The steps for the check of one variant against one specification.
const STEPS: u64 = 20 * SECOND;

/// The broken variants that one weaker specification no longer catches.
#[derive(Clone, Debug, Serialize)]
pub struct Worth {
    /// The library.
    pub library: &'static str,
    /// The part that was removed from the specification.
    pub without: String,
    /// The variants that the specification catches and the weaker one does not.
    pub no_longer_caught: Vec<&'static str>,
    /// The variants for which a limit stopped the check, against this specification or against the whole.
    pub undecided: Vec<&'static str>,
    /// The limit, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// The answers for one specification.
#[derive(Clone, Debug)]
pub struct Worths {
    /// The bounds that were checked, one after the other, but without sizes for which the library has no worlds.
    pub bounds: Vec<Bound>,
    /// The variants that the whole specification catches at these bounds.
    pub caught: Vec<&'static str>,
    /// The variants for which a limit left that open.
    pub undecided: Vec<&'static str>,
    /// The result for each place.
    pub all: Vec<Worth>,
    /// The limit that stopped the search for places, if any.
    pub stop: Option<Stop>,
}

/// Weakens the specification of an entry in every place, and checks its broken variants for local soundness. If
/// processes share the work, `part` holds their results; a check of another shard counts as caught.
///
/// # Errors
/// If the entry cannot be checked at all.
pub fn worths(
    mut entry: Entry,
    bounds: Vec<Bound>,
    options: &CheckOptions<'_>,
    part: Option<&RunPart<'_>>,
    each: &mut dyn FnMut(&Worth),
) -> Result<Worths, InputError> {
    let name = Name::literal(entry.name);
    let whole = entry.specification.clone();
    let is_caught = |entry: &Entry, variant: &Variant| -> Result<Result<bool, Stop>, InputError> {
        let options = CheckOptions { ask: CheckQuestion::Local, ..options.within(STEPS) };
        let mut stopped = None;
        for bound in &bounds {
            let checked = check(entry, variant, bound, &options)?;
            if checked.report.violation.is_some() {
                return Ok(Ok(true));
            }
            stopped = stopped.or(checked.stop().cloned());
        }
        Ok(stopped.map_or(Ok(false), Err))
    };
    let (mut caught, mut open) = (Vec::new(), Vec::new());
    let is_known = |number: usize, entry: &Entry, variant: &Variant| {
        let find = || is_caught(entry, variant);
        // A line of a shard has the text of an error.
        let written = || find().map_err(|error| error.to_string());
        match part {
            Some(part) => {
                let found = part.unit(number, &|| options.deadline.expired(), written).unwrap_or(Ok(Ok(true)));
                found.map_err(|error| InputError::new(Code::Library, error))
            }
            None => find(),
        }
    };
    let broken: Vec<Variant> = entry
        .variants
        .iter()
        .filter(|v| matches!(v.expected, Expected::Unsound | Expected::NotLocallySound))
        .cloned()
        .collect();
    let place = |variant: &Variant| broken.iter().position(|v| v.name == variant.name).unwrap_or_default();
    for variant in &broken {
        match is_known(place(variant), &entry, variant)? {
            Ok(true) => caught.push(variant.clone()),
            Ok(false) => {}
            Err(stop) => open.push((variant.name, stop)),
        }
    }
    let mut all = Vec::new();
    let (calls, stop) = match own_calls(&entry, &bounds, &|| options.deadline.expired()) {
        Ok(calls) => (calls, None),
        Err(late) => (Vec::new(), Some(cause(late))),
    };
    for (number, mutation) in (1..).zip(mutations(&whole, name, &calls)) {
        entry.specification = weakened(&whole, name, &mutation);
        let answer = |v: &Variant| Ok((v.name, is_known(number * broken.len() + place(v), &entry, v)?));
        let answers = caught.iter().map(answer).collect::<Result<Vec<(&str, Result<bool, Stop>)>, InputError>>()?;
        let stopped = answers.iter().filter_map(|(name, a)| Some((*name, a.clone().err()?)));
        let stopped: Vec<(&str, Stop)> = stopped.chain(open.iter().cloned()).collect();
        let worth = Worth {
            library: entry.name,
            without: mutation.to_string(),
            no_longer_caught: answers.iter().filter(|(_, a)| *a == Ok(false)).map(|(name, _)| *name).collect(),
            undecided: stopped.iter().map(|(name, _)| *name).collect(),
            stopped: stopped.first().map(|(_, stop)| stop.to_string()),
        };
        each(&worth);
        all.push(worth);
    }
    let undecided = open.into_iter().map(|(name, _)| name).collect();
    let bounds = bounds.iter().map(|bound| entry.covered(bound, &|| options.deadline.expired())).collect();
    Ok(Worths { bounds, caught: caught.iter().map(|v| v.name).collect(), undecided, all, stop })
}

impl Worths {
    /// Returns one line about the whole specification.
    #[must_use]
    pub fn text(&self) -> String {
        let caught = match &self.caught[..] {
            [] if !self.undecided.is_empty() => "no variant that is known".to_owned(),
            [] => "no variant".to_owned(),
            caught => caught.join(", "),
        };
        format!("the whole catches {caught}, with threads, nodes, calls up to {}", shapes(&self.bounds))
    }

    /// True if a limit left something open.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        self.stop.is_some() || !self.undecided.is_empty() || self.all.iter().any(|worth| !worth.undecided.is_empty())
    }
}

impl Worth {
    /// Returns one line of text.
    #[must_use]
    pub fn text(&self) -> String {
        let lost = match &self.no_longer_caught[..] {
            [] if self.undecided.is_empty() => "all variants are still caught".to_owned(),
            [] => "no variant is known to be no longer caught".to_owned(),
            lost => format!("no longer caught: {}", lost.join(", ")),
        };
        let undecided = if self.undecided.is_empty() {
            String::new()
        } else {
            let stop = self.stopped.as_ref().map_or_else(String::new, |stop| format!(" ({stop})"));
            format!("; undecided: {}{stop}", self.undecided.join(", "))
        };
        format!("  without {:<24} {lost}{undecided}", self.without)
    }
}
