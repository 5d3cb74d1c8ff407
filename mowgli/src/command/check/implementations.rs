//! Implementations against their specifications: a table of what was found.

use comfy_table::{ColumnConstraint, Table, Width, presets};
use mowgli_core::soundness::verdict::Verdict;
use mowgli_libraries::entry::Entry;

use super::super::out::{keep, told, worst};
use super::super::shards::is_piece;
use super::super::stages::check_bounds;
use super::args::{CheckArgs, Chosen, Entries, bounds};
use crate::catalogue::{Catalogue, Stamped};
use crate::check::Checked;
use crate::explain::written;
use crate::interrupt::{self, Deadline};
use crate::shards::book::Book;

/// Checks what is asked for, and prints what is found.
pub(super) fn check_implementations(
    args: &CheckArgs,
    catalogue: &Catalogue,
    deadline: Deadline,
    book: Option<&Book>,
) -> Result<u8, String> {
    let chosen = Chosen::of(args, catalogue)?;
    let mut shown = Shown::default();
    shown.check(&chosen.over_rdma, catalogue.entries(), args, (deadline, book));
    shown.check(&chosen.over_x86, catalogue.entries(), args, (deadline, book));
    if is_piece(book) {
        return Ok(shown.code);
    }
    if !args.json && shown.table.row_count() > 0 {
        println!("{}", shown.table);
    }
    if let Some(path) = &args.out {
        keep(path, &shown.findings)?;
        if shown.findings.is_empty() {
            eprintln!("no counterexample was found, so nothing was written to {}", path.display());
        }
    }
    Ok(shown.code)
}

/// What checks have found so far.
struct Shown {
    table: Table,
    /// Counterexamples, as RON.
    findings: Vec<String>,
    code: u8,
}

impl Default for Shown {
    fn default() -> Self {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_FULL_CONDENSED);
        table.set_header([
            "library",
            "over",
            "bound",
            "clients",
            "executions",
            "verdict",
            "progress",
            "concretisation",
            "time",
        ]);
        // Why something is undecided can be long.
        if let Some(verdict) = table.column_mut(5) {
            verdict.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(48)));
        }
        Self { table, findings: Vec::new(), code: 0 }
    }
}

impl Shown {
    /// Checks entries over one memory model, and prints what is found of each, or what is wrong with it.
    fn check<S: Stamped>(
        &mut self,
        chosen: &Entries<'_, S>,
        entries: &[Entry<S>],
        args: &CheckArgs,
        (deadline, book): (Deadline, Option<&Book>),
    ) {
        let is_shown = !is_piece(book);
        for &(entry, variant) in chosen {
            if interrupt::requested() {
                eprintln!("interrupted: {} ({}) was not checked", entry.name, variant.name);
                self.code = worst(self.code, 3);
                continue;
            }
            let options = args.options(entries, deadline);
            let mut each = |checked: Checked<S>| {
                if !is_shown {
                    return;
                }
                print!("{}", if args.json { checked.json() + "\n" } else { checked.explanation() });
                if args.stats {
                    eprintln!("{}\n{}", checked.title(), checked.stats());
                }
                self.add(&checked);
            };
            if let Err(wrong) = check_bounds(entry, variant, &bounds(entry, variant, args), &options, book, &mut each) {
                self.code = worst(self.code, told(Err(wrong)));
            }
        }
    }

    fn add<S: Stamped>(&mut self, c: &Checked<S>) {
        let code = match c.is_expected() {
            Some(true) => 0,
            Some(false) => 1,
            None => 3,
        };
        self.code = worst(self.code, code);
        self.findings.extend(c.finding().as_ref().map(written));
        self.table.add_row(row(c));
    }
}

/// A row of the table.
fn row<S: Stamped>(c: &Checked<S>) -> [String; 9] {
    let vacuous = if c.report.vacuous > 0 { format!(" ({} never end)", c.report.vacuous) } else { String::new() };
    let unreached = c.unreached().iter().map(|m| format!("\n{m} in no execution")).collect::<String>();
    let expected = match c.is_expected() {
        Some(false) => format!(" (expected {:?})", c.expected),
        _ => String::new(),
    };
    let stop = match &c.report.verdict {
        Verdict::Undecided(stop) => format!(": {stop}"),
        _ => String::new(),
    };
    [
        if c.variant == "published" { c.library.to_owned() } else { format!("{} ({})", c.library, c.variant) },
        c.over.clone(),
        c.bound_parts().join("\n"),
        format!("{}{vacuous}{unreached}", c.report.clients),
        c.report.executions.to_string(),
        format!("{}{expected}{stop}", c.verdict()),
        c.progress().to_owned(),
        c.concretisation().join("\n"),
        format!("{:.2} s", c.time.as_secs_f64()),
    ]
}
