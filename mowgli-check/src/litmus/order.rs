//! The worth of each cell of the stamp order `to`: the litmus tests whose answers change without it.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_core::library::Libraries;
use mowgli_core::search::problem::Limits;
use mowgli_core::search::runs::Stop;
use mowgli_rdma::{RdmaStamp, to};
use rayon::prelude::*;
use serde::Serialize;

use super::run::{Answer, libraries, solve, solve_over};
use super::test::{Model, Test};
use crate::interrupt::Deadline;

/// A cell of `to`, and the tests whose answers change when its pairs are no longer ordered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OrderCell {
    /// The family of the earlier stamp: the row.
    pub earlier: String,
    /// The family of the later stamp: the column.
    pub later: String,
    /// The tests with an assertion whose answer changes.
    pub noticed_by: Vec<String>,
    /// The tests for which a limit left that open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<String>,
    /// The limit, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// Lists the cells of the stamp order that order anything, row by row.
#[must_use]
pub fn cells(libraries: &Libraries) -> Vec<(String, String)> {
    let all = libraries.stamps(2);
    let ordered = all.iter().cartesian_product(&all).filter(|(a, b)| libraries.to(**a, **b));
    ordered.map(|(a, b)| (a.family(), b.family())).unique().collect()
}

/// The models that have the stamps of RDMA.
const MODELS: [Model; 3] = [Model::RDMA_WAIT, Model::RDMA_TSO, Model::RdmaSc];

/// Finds for each cell the tests whose answers change without it. Tests of models with other stamps, or without stamps,
/// do not take part.
#[must_use]
pub fn worth(tests: &[Test], deadline: &Deadline) -> Vec<OrderCell> {
    let expired = || deadline.expired();
    let limits = || Limits { expired: &expired, ..Limits::default() };
    let tests: Vec<&Test> = tests.iter().filter(|t| MODELS.contains(&t.model)).collect();
    let whole: Vec<_> = tests.par_iter().map(|t| solve(t, &[], limits())).collect();
    let of_cell = |(earlier, later): (String, String)| {
        let gone = (earlier.clone(), later.clone());
        let weaker = MODELS.map(|model| without(&libraries(model), &gone));
        let of_model = |test: &Test| MODELS.iter().position(|m| *m == test.model).expect("one of all");
        let (mut noticed, mut undecided, mut stopped) = (BTreeSet::new(), BTreeSet::new(), None);
        for (test, before) in tests.iter().zip(&whole) {
            match differ(before, &solve_over(&weaker[of_model(test)], test, &[], limits())) {
                Ok(true) => _ = noticed.insert(test.name.clone()),
                Ok(false) => {}
                Err(stop) => {
                    undecided.insert(test.name.clone());
                    stopped.get_or_insert(stop.to_string());
                }
            }
        }
        let [noticed_by, undecided] = [noticed, undecided].map(|names| names.into_iter().collect());
        OrderCell { earlier, later, noticed_by, undecided, stopped }
    };
    cells(&Libraries::over(to)).into_par_iter().map(of_cell).collect()
}

/// True if some assertion has another answer. Returns the limit if it left that open.
fn differ(before: &Answer, after: &Answer) -> Result<bool, Stop> {
    match before.explored.stop.as_ref().or(after.explored.stop.as_ref()) {
        None => Ok(before.holds != after.holds),
        Some(stop) => {
            let mut answers = before.holds.iter().zip(&after.holds).filter_map(|(a, b)| a.zip(*b));
            if answers.any(|(a, b)| a != b) { Ok(true) } else { Err(stop.clone()) }
        }
    }
}

/// Returns the same libraries, with the pairs of this cell no longer ordered.
#[must_use]
pub fn without(libraries: &Libraries, cell: &(String, String)) -> Libraries {
    let (whole, cell) = (libraries.clone(), cell.clone());
    libraries.clone().with_order(move |a: RdmaStamp, b| {
        let (a, b) = (a.into(), b.into());
        whole.to(a, b) && (a.family(), b.family()) != cell
    })
}

impl OrderCell {
    /// Returns one line of text.
    #[must_use]
    pub fn text(&self) -> String {
        let noticed = match &self.noticed_by[..] {
            [] if !self.undecided.is_empty() => "no test is known to notice".to_owned(),
            [] => "no test notices".to_owned(),
            tests => tests.join(", "),
        };
        let undecided = match &self.stopped {
            Some(stop) => format!("; undecided: {} ({stop})", self.undecided.join(", ")),
            None => String::new(),
        };
        format!("{:<5} before {:<5} {noticed}{undecided}", self.earlier, self.later)
    }
}
