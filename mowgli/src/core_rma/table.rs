//! Tests of coreRMA (CORERMA §6), and the rows of its Table 6.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mowgli_core::search::runs::Stop;
use mowgli_rdma::core_rma::execution::{Rule, Value};
use mowgli_rdma::core_rma::generate::{GeneratedTest, TableRow, programs, test};
use mowgli_rdma::core_rma::program::Program;
use rayon::iter::Either;
use rayon::prelude::*;
use serde::Serialize;

use crate::generated::Generated;
use crate::interrupt::{Deadline, cause};
use crate::litmus::core_rma::{condition, names, text};
use crate::shards::log::RunPart;

/// The numbers that the paper has in a row of Table 6: the bound on the size, tests, outputs, and milliseconds a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Published {
    /// The pivot's rule.
    #[serde(serialize_with = "as_text")]
    pub rule: Rule,
    /// The number of processes.
    pub processes: usize,
    /// The bound on the number of actions.
    pub size: usize,
    /// The number of tests.
    pub tests: usize,
    /// The milliseconds for one test.
    pub millis: usize,
    /// The number of outputs of all tests.
    pub outputs: usize,
}

fn as_text<S: serde::Serializer>(rule: &Rule, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(rule)
}

/// CORERMA Table 6.
pub const TABLE_6: [Published; 24] = {
    const fn row(rule: Rule, processes: usize, [size, tests, millis, outputs]: [usize; 4]) -> Published {
        Published { rule, processes, size, tests, millis, outputs }
    }
    [
        row(Rule::R1, 1, [8, 863, 20, 1492]),
        row(Rule::R1, 2, [9, 1040, 25, 3616]),
        row(Rule::R2, 1, [7, 419, 15, 532]),
        row(Rule::R2, 2, [8, 684, 22, 1514]),
        row(Rule::F1, 1, [9, 326, 34, 338]),
        row(Rule::F1, 2, [10, 172, 49, 452]),
        row(Rule::F2, 1, [9, 350, 35, 374]),
        row(Rule::F2, 2, [10, 188, 47, 492]),
        row(Rule::F3, 1, [10, 810, 49, 1320]),
        row(Rule::F3, 2, [11, 200, 52, 356]),
        row(Rule::Ir, 1, [10, 104, 55, 104]),
        row(Rule::Ir, 2, [11, 127, 120, 368]),
        row(Rule::Ga, 1, [10, 299, 27, 1091]),
        row(Rule::Ga, 2, [11, 48, 84, 624]),
        row(Rule::Pg, 1, [8, 164, 15, 276]),
        row(Rule::Pg, 2, [10, 260, 27, 1024]),
        row(Rule::CasF, 1, [10, 12, 36, 12]),
        row(Rule::CasF, 2, [12, 48, 75, 288]),
        row(Rule::CasT, 1, [10, 12, 36, 12]),
        row(Rule::CasT, 2, [12, 48, 75, 288]),
        row(Rule::Lo, 1, [7, 146, 21, 250]),
        row(Rule::Lo, 2, [8, 362, 19, 1004]),
        row(Rule::Ws, 1, [9, 282, 34, 934]),
        row(Rule::Ws, 2, [10, 477, 47, 3176]),
    ]
};

impl Published {
    /// Returns the row.
    #[must_use]
    pub fn row(self) -> TableRow {
        TableRow { rule: self.rule, processes: self.processes, size: self.size }
    }
}

/// The tests of a row, and the time that they took.
#[derive(Clone, Debug)]
pub struct RowTests {
    /// The row.
    pub row: TableRow,
    /// Its tests.
    pub tests: Vec<GeneratedTest>,
    /// The time that they took, with all their outputs.
    pub time: Duration,
    /// The limit that stopped the generation, if any.
    pub stop: Option<Stop>,
}

/// The number of programs between two reports of progress.
const REPORTED: usize = 256;

/// The test that a program gives: its outputs, and one that only the pivot forbids, if any.
type PivotTest = (Vec<Vec<Value>>, Option<Vec<Value>>);

/// Makes the tests of a row, with all expected outputs. `progress` is a callback `(done, total)` for the programs. If
/// processes share the work, `part` holds their results.
#[must_use]
pub fn make(
    row: TableRow,
    deadline: &Deadline,
    part: Option<&RunPart<'_>>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> RowTests {
    let start = Instant::now();
    let found = programs(row, &|| deadline.expired());
    let (programs, stop) = found.so_far();
    let done = AtomicUsize::new(0);
    let made = |program: &Program| {
        let test = test(program, row.rule, &|| deadline.expired())?;
        Ok(test.map(|test| (test.outputs.into_iter().collect(), test.forbidden)))
    };
    let of = |(place, program): (usize, &Program)| {
        let number = done.fetch_add(1, Ordering::Relaxed);
        if number.is_multiple_of(REPORTED) {
            progress(number, programs.len());
        }
        let found: Option<Result<Option<PivotTest>, Stop>> = match part {
            Some(part) => part.unit(place, &|| deadline.expired(), || made(program)),
            None => Some(made(program)),
        };
        let test = |(outputs, forbidden): PivotTest| {
            let (program, outputs) = (program.clone(), outputs.into_iter().collect());
            GeneratedTest { program, outputs, forbidden }
        };
        found.unwrap_or(Ok(None)).map(|found| found.map(test))
    };
    let (made, stops): (Vec<Option<GeneratedTest>>, Vec<Stop>) =
        programs.par_iter().enumerate().map(of).partition_map(|found| match found {
            Ok(made) => Either::Left(made),
            Err(stop) => Either::Right(stop),
        });
    let tests = made.into_iter().flatten().collect();
    let stop = stop.cloned().or(stops.into_iter().next()).map(cause);
    RowTests { row, tests, time: start.elapsed(), stop }
}

impl RowTests {
    /// Counts the outputs of all tests.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.tests.iter().map(|t| t.outputs.len()).sum()
    }

    /// Counts the tests with an outcome that only the pivot forbids.
    #[must_use]
    pub fn telling(&self) -> usize {
        self.tests.iter().filter(|t| t.forbidden.is_some()).count()
    }

    /// Returns one line of text.
    #[must_use]
    pub fn text(&self) -> String {
        let TableRow { rule, processes, size } = self.row;
        let so_far = match &self.stop {
            Some(stop) if self.tests.is_empty() => {
                return format!("{rule}, {processes} processes, up to {size} actions: no test was found before {stop}");
            }
            Some(stop) => format!("before {stop}, "),
            None => String::new(),
        };
        format!(
            "{rule}, {processes} processes, up to {size} actions: {so_far}{} tests with {} outputs, {} of them with an outcome that \
             the pivot alone forbids, {:.2} s",
            self.tests.len(),
            self.outputs(),
            self.telling(),
            self.time.as_secs_f64()
        )
    }

    /// Formats a number of results, with "or more" if a limit stopped the search.
    fn count(&self, found: usize) -> String {
        if self.stop.is_some() { format!("{found} or more") } else { found.to_string() }
    }

    /// Returns the milliseconds for one test.
    fn millis(&self) -> f64 {
        self.time.as_secs_f64() * 1e3 / self.tests.len().max(1) as f64
    }

    /// Returns the row with the paper's numbers beside: rule, processes, size, tests, outputs, telling tests, time.
    #[must_use]
    pub fn cells(&self, published: Published) -> [String; 10] {
        [
            published.rule.to_string(),
            published.processes.to_string(),
            published.size.to_string(),
            self.count(self.tests.len()),
            published.tests.to_string(),
            self.count(self.outputs()),
            published.outputs.to_string(),
            self.count(self.telling()),
            if self.tests.is_empty() { "-".to_owned() } else { format!("{:.2}", self.millis()) },
            published.millis.to_string(),
        ]
    }

    /// Returns one JSON object.
    ///
    /// # Panics
    /// Never: it consists of numbers and strings.
    #[must_use]
    pub fn json(&self, published: Published) -> String {
        #[derive(Serialize)]
        struct Line {
            tests: usize,
            outputs: usize,
            telling: usize,
            millis: f64,
            complete: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            stopped: Option<String>,
            published: Published,
        }
        let (tests, outputs, telling) = (self.tests.len(), self.outputs(), self.telling());
        let stopped = self.stop.as_ref().map(ToString::to_string);
        let (millis, complete) = (self.millis(), stopped.is_none());
        let line = Line { tests, outputs, telling, millis, complete, stopped, published };
        serde_json::to_string(&line).expect("numbers and strings")
    }

    /// Returns the tests with names and expectations.
    pub fn generated(&self) -> impl Iterator<Item = Generated> {
        let TableRow { rule, processes, .. } = self.row;
        (1..).zip(&self.tests).map(move |(number, test)| {
            let name = format!("{rule}-{processes}p-{number:04}").to_lowercase();
            let one = |output: &Vec<Value>| condition(output);
            let outputs: Vec<String> = test.outputs.iter().map(one).collect();
            let forbidden = test.forbidden.as_ref().map(one);
            let mut assertions = vec![format!("forall ({})", outputs.join(" \\/ "))];
            assertions.extend(outputs.iter().map(|o| format!("allowed ({o})")));
            assertions.extend(forbidden.iter().map(|o| format!("forbidden ({o})")));
            let about = format!("A cycle of happens-before that one edge by rule {rule} closes");
            let litmus = text(&name, Some(&about), &test.program, &names(&test.program), &assertions);
            Generated { name, pivot: rule.to_string(), litmus, outputs, forbidden }
        })
    }
}
