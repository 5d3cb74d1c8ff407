//! All outputs of a program.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use mowgli_core::search::problem::Found;
use mowgli_core::search::runs::Stop;

use super::rules::Rules;
use super::search::ExecutionSearch;
use super::values::{ComputedValues, Value};
use crate::core_rma::program::Program;
use crate::error::Error;

/// The outputs that were found, each with data of type `T`; incomplete if the search was stopped. An output lists the
/// registers of all processes, then the observed variables at the end.
pub type Outputs<T> = Found<BTreeMap<Vec<Value>, T>>;

/// Computes all outputs of a program, with the last values of these variables and the number of executions of each.
///
/// # Errors
/// If the program is too large.
pub fn outcomes(
    program: &Program,
    rules: &Rules,
    observed: &[usize],
    expired: &dyn Fn() -> bool,
) -> Result<Outputs<u64>, Error> {
    each_output(program, rules, observed, expired, |counts, output, _| *counts.entry(output).or_insert(0) += 1)
}

/// Computes all outputs of a program, with the last values of these variables. Calls `note` for each execution.
pub(super) fn each_output<T>(
    program: &Program,
    rules: &Rules,
    observed: &[usize],
    expired: &dyn Fn() -> bool,
    note: impl Fn(&mut BTreeMap<Vec<Value>, T>, Vec<Value>, &mut ComputedValues<'_>),
) -> Result<Outputs<T>, Error> {
    let actions = program.actions()?;
    let search = ExecutionSearch::new(&actions, rules, expired);
    let mut found = BTreeMap::new();
    let ended = search.each(&mut |e| {
        search.values(e).try_for_each(|mut values| {
            if let Ok(Some(shown)) = values.shown(observed) {
                note(&mut found, shown, &mut values);
            }
            if expired() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    });
    Ok(Found::new(found, ended.is_break().then_some(Stop::Time)))
}

/// Computes all outputs of a program: the values of its registers.
///
/// # Errors
/// If the program is too large.
pub fn outputs(program: &Program, rules: &Rules) -> Result<BTreeSet<Vec<Value>>, Error> {
    let all = outcomes(program, rules, &[], &|| false)?.all().map_err(Error::Stopped)?;
    Ok(all.into_keys().collect())
}
