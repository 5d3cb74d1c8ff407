//! What each cell of the stamp order `to` is worth: which litmus tests notice when it is taken away.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_core::library::Libraries;
use mowgli_core::outcome::Limits;
use mowgli_core::soundness::mutation::family;
use mowgli_core::stamp::Stamp as _;
use mowgli_rdma::Stamp;
use rayon::prelude::*;
use serde::Serialize;

use super::run::{libraries, solve, solve_over};
use super::test::{Model, Test};

/// A cell of `to` and the tests that notice when its pairs are no longer ordered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cell {
    /// The family of the earlier stamp: the row.
    pub earlier: String,
    /// The family of the later stamp: the column.
    pub later: String,
    /// The tests one of whose assertions then has another answer.
    pub noticed_by: Vec<String>,
}

/// The cells of the stamp order that order anything, row by row.
#[must_use]
pub fn cells(libraries: &Libraries<Stamp>) -> Vec<(String, String)> {
    let all = Stamp::all(2);
    let ordered = all.iter().cartesian_product(&all).filter(|(a, b)| libraries.to(**a, **b));
    ordered.map(|(a, b)| (family(*a), family(*b))).unique().collect()
}

/// For each cell the tests that notice when it is taken away. Tests of coreRMA, which has no stamps, do not take part.
#[must_use]
pub fn worth(tests: &[Test]) -> Vec<Cell> {
    let tests: Vec<&Test> = tests.iter().filter(|t| t.model != Model::CoreRma).collect();
    let whole: Vec<_> = tests.par_iter().map(|t| solve(t, &[], Limits::default()).holds).collect();
    let of_cell = |(earlier, later): (String, String)| {
        let gone = (earlier.clone(), later.clone());
        let weaker = Model::ALL.map(|model| without(&libraries(model), &gone));
        let of_model = |test: &Test| Model::ALL.iter().position(|m| *m == test.model).expect("one of all");
        let notices = |(test, before): &(&&Test, &Vec<Option<bool>>)| {
            solve_over(&weaker[of_model(test)], test, &[], Limits::default()).holds != **before
        };
        let noticed: BTreeSet<String> =
            tests.iter().zip(&whole).filter(notices).map(|(test, _)| test.name.clone()).collect();
        Cell { earlier, later, noticed_by: noticed.into_iter().collect() }
    };
    cells(&Libraries::default()).into_par_iter().map(of_cell).collect()
}

/// The same libraries, with the pairs of this cell no longer ordered.
#[must_use]
pub fn without(libraries: &Libraries<Stamp>, cell: &(String, String)) -> Libraries<Stamp> {
    let (whole, cell) = (libraries.clone(), cell.clone());
    libraries.clone().with_order(move |a: Stamp, b| whole.to(a, b) && (family(a), family(b)) != cell)
}

impl Cell {
    /// One line.
    #[must_use]
    pub fn text(&self) -> String {
        let noticed = match &self.noticed_by[..] {
            [] => "no test notices".to_owned(),
            tests => tests.join(", "),
        };
        format!("{:<5} before {:<5} {noticed}", self.earlier, self.later)
    }
}
