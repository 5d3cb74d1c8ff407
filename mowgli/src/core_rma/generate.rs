//! Tests of coreRMA for the command `generate`.

use std::time::{Duration, Instant};

use mowgli_rdma::core_rma::execution::Rule;
use mowgli_rdma::core_rma::generate::TableRow;

use super::table::{RowTests, TABLE_6, make};
use crate::error::{Code, InputError};
use crate::generated::{GenerateRequest, Generated};
use crate::shards::log::{ShardContext, is_shard};
use crate::terminal;
use crate::terminal::{bar, moving};

/// The name of the model.
pub(crate) const DEFAULT: &str = "core-rma";

/// Makes the tests of a row, and shows a progress bar.
fn made(row: TableRow, shared: ShardContext<'_>) -> RowTests {
    let (deadline, log) = shared;
    let part = log.map(|log| log.part(format!("{} {} {}", row.rule, row.processes, row.size)));
    let bar = bar(row.rule.to_string(), "programs");
    let mut made = make(row, deadline, part.as_ref(), &moving(&bar));
    made.time += Duration::from_secs_f64(part.map_or(0.0, |part| part.seconds()));
    bar.finish_and_clear();
    if let Some(stop) = &made.stop {
        eprintln!("{}: incomplete: {stop}", row.rule);
    }
    made
}

/// Makes the tests of the requested rows. The code is 3 if a limit stopped the search for them.
pub(crate) fn rows(ask: &GenerateRequest<'_>, shared: ShardContext<'_>) -> Result<(u8, Vec<Generated>), InputError> {
    let rules = if ask.pivot == "all" { Rule::ALL.to_vec() } else { vec![ask.pivot.parse()?] };
    let (processes, size) = (ask.threads, ask.size.unwrap_or(8));
    if processes > 3 || size > 13 {
        return Err(InputError::new(Code::Argument, "tests are made for up to 3 processes and 13 actions"));
    }
    let (mut code, mut all) = (0, Vec::new());
    for rule in rules {
        let made = made(TableRow { rule, processes, size }, shared);
        if !is_shard(shared.1) {
            eprintln!("{}", made.text());
        }
        all.extend(made.generated().take(ask.each.unwrap_or(usize::MAX)));
        if made.stop.is_some() {
            code = 3;
        }
    }
    Ok((code, all))
}

/// Prints the rows of CORERMA Table 6, with the paper's numbers beside ours. Returns the tests, and the code 3 if a limit stopped the search
/// for them.
pub(crate) fn table(is_json: bool, shared: ShardContext<'_>) -> (u8, Vec<Generated>) {
    let start = Instant::now();
    let (mut code, mut all) = (0, Vec::new());
    let mut table = terminal::table(false);
    table.set_header([
        "rule",
        "processes",
        "size",
        "tests",
        "paper",
        "outputs",
        "paper",
        "telling",
        "ms/test",
        "paper",
    ]);
    let (mut tests, mut outputs) = (0, 0);
    for published in TABLE_6 {
        let made = made(published.row(), shared);
        if is_shard(shared.1) {
            continue;
        }
        tests += made.tests.len();
        outputs += made.outputs();
        if is_json {
            println!("{}", made.json(published));
        }
        table.add_row(made.cells(published));
        if made.stop.is_some() {
            code = 3;
        }
        all.extend(made.generated());
    }
    if !is_json && !is_shard(shared.1) {
        terminal::keep_words(&mut table);
        println!("{table}");
        let more = if code == 0 { "" } else { " or more" };
        println!(
            "{tests}{more} tests with {outputs}{more} outputs in {:.1} s; the paper has 7441 with 19937, in about 25 hours",
            start.elapsed().as_secs_f64()
        );
    }
    (code, all)
}
