//! The verdicts of checks: a line for each as soon as it is known, and then counterexamples and a table.

use std::fmt::Write as _;
use std::io::stdout;
use std::path::Path;

use comfy_table::{Table, TableComponent, presets};
use itertools::Itertools;
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::progress::Progress;
use mowgli_core::soundness::verdict::Verdict;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::entry::{Entry, Variant};

use super::format::{Format, Record};
use super::of_check::{named, record};
use crate::check::{Checked, word};
use crate::error::InputError;
use crate::explain::written;
use crate::out::{keep, reported_in, worst};
use crate::terminal::{self, colours_of};

/// The form in which verdicts are printed.
#[derive(Clone, Copy)]
pub(crate) struct Printing {
    /// The command, `check` or `through`.
    pub(crate) command: &'static str,
    pub(crate) is_json: bool,
    pub(crate) format: Option<Format>,
    /// The table is as wide as its cells.
    pub(crate) is_wide: bool,
    /// Counts of the search go to standard error.
    pub(crate) has_counts: bool,
    /// Expected counterexamples are explained, too.
    pub(crate) explains_all: bool,
}

/// The results of checks so far.
pub(crate) struct Verdicts {
    printing: Printing,
    /// Counterexamples as text; they are printed after all verdicts.
    details: String,
    table: Table,
    /// The rest of each bound, with the rows that have it.
    within: Vec<(String, Vec<String>)>,
    /// The columns that the table has.
    columns: &'static [usize],
    records: Vec<Record>,
    /// Counterexamples, as RON.
    findings: Vec<String>,
    /// The exit code.
    pub(crate) code: u8,
}

/// The columns of a wide table.
const HEADER: [&str; 10] = [
    "library",
    "over",
    "bound",
    "clients",
    "endless",
    "executions",
    "verdict",
    "progress",
    "seconds",
    "concretisation",
];

/// The columns of a narrow table, by position: all but the libraries below and the concretisation.
const NARROW: [usize; 8] = [0, 2, 3, 4, 5, 6, 7, 8];

/// The columns of a wide table, by position.
const WIDE: [usize; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

impl Verdicts {
    pub(crate) fn new(printing: Printing) -> Self {
        let is_wide = printing.is_wide;
        let columns: &[usize] = if is_wide { &WIDE } else { &NARROW };
        let mut table = terminal::table(is_wide);
        if !is_wide {
            // Eight columns with lines between them have no room in 80 columns.
            table.load_preset(presets::NOTHING).set_style(TableComponent::HeaderLines, '─');
        }
        table.set_header(columns.iter().map(|&column| HEADER[column]));
        let (details, records, findings) = (String::new(), Vec::new(), Vec::new());
        Self { printing, details, table, within: Vec::new(), columns, records, findings, code: 0 }
    }

    /// Adds an implementation that was not checked, because the command was interrupted before.
    pub(crate) fn add_interrupted(&mut self, entry: &Entry, variant: &Variant) {
        eprintln!("interrupted: {} ({}) was not checked", entry.name, variant.name);
        self.code = worst(self.code, 3);
        self.records.push(Record::interrupted(named(entry.name, variant.name), None));
    }

    /// Prints the verdict of a check, and keeps the rest.
    pub(crate) fn add(&mut self, c: &Checked) {
        let printing = self.printing;
        let code = match c.is_expected() {
            Some(true) => 0,
            Some(false) => 1,
            None => 3,
        };
        self.code = worst(self.code, code);
        match (printing.is_json, printing.format) {
            (true, _) => println!("{}", c.json()),
            (false, Some(_)) => self.records.push(record(c)),
            (false, None) => {
                println!("{}{}", line(c), how_to_explain(c, &printing));
                print!("{}", unreached(c));
                if is_explained(c, &printing) {
                    self.details.push_str(&c.explanation());
                }
                if let (true, Verdict::Undecided(stop)) = (printing.command == "through", &c.report.verdict) {
                    let _ = writeln!(self.details, "{}: the tower was not checked whole: {stop}", c.title());
                }
                let row = row(c, printing.is_wide);
                self.table.add_row(self.columns.iter().map(|&column| &row[column]));
                let (beside, [name, ..]) = (beside(&c.bound), row);
                match self.within.iter_mut().find(|(known, _)| *known == beside) {
                    Some((_, names)) => names.push(name),
                    None => self.within.push((beside, vec![name])),
                }
            }
        }
        if printing.has_counts {
            eprintln!("{}\n{}", c.title(), c.stats());
        }
        self.findings.extend(c.finding().as_ref().map(written));
    }

    /// Adds the error of an implementation, or of the arguments.
    pub(crate) fn add_bad_input(&mut self, of: Option<(&Entry, &Variant)>, wrong: InputError) {
        let name = of.map_or_else(|| "check".to_owned(), |(entry, variant)| named(entry.name, variant.name));
        self.records.push(Record::bad_input(name, None, &wrong));
        self.code = worst(self.code, reported_in(self.printing.is_json, Err(wrong)));
    }

    /// Prints the output that follows the verdicts: the counterexamples and the table, or the records in the requested format.
    pub(crate) fn print_rest(&self) {
        if let Some(format) = self.printing.format {
            print!("{}", format.write("check", &self.records));
        } else if self.table.row_count() > 0 {
            let mut table = self.table.clone();
            if self.columns == NARROW {
                terminal::keep_words(&mut table);
            }
            if !self.details.is_empty() {
                println!("\n{}", self.details.trim_end());
            }
            println!("\n{table}");
            if self.columns == NARROW {
                self.within
                    .iter()
                    .for_each(|(beside, names)| println!("{beside}: {}", names.iter().unique().join(", ")));
            }
        }
    }

    /// Keeps the counterexamples in a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn keep(&self, path: &Path) -> Result<(), InputError> {
        if self.findings.is_empty() {
            eprintln!("no client has a wrong outcome or never ends, so nothing was written to {}", path.display());
        }
        keep(path, &self.findings)
    }
}

/// True if a counterexample is printed: it is not expected, or the arguments ask about a variant.
fn is_explained(c: &Checked, printing: &Printing) -> bool {
    printing.explains_all || !c.is_no_surprise()
}

/// Returns the end of a line about an expected counterexample: the command that explains it. Otherwise nothing.
fn how_to_explain(c: &Checked, printing: &Printing) -> String {
    if is_explained(c, printing) || !c.has_failed() {
        return String::new();
    }
    let command = printing.command;
    // What is published has a theorem.
    let finding = if c.variant == "published" { "; a finding against its theorem: docs/findings.md" } else { "" };
    format!("; why: mowgli {command} {} --variant {}{finding}", c.library, c.variant)
}

/// Returns a line about the methods of which nothing was checked; empty if there are none, or a limit ended the check.
fn unreached(c: &Checked) -> String {
    let all = c.unreached().join(", ");
    if all.is_empty() || c.stop().is_some() {
        String::new()
    } else {
        format!("{}: in no execution: {all}\n", named(c.library, c.variant))
    }
}

/// Returns what a bound says beside its word: the values that clients write, and how many objects and iterations there are at most.
fn beside(bound: &Bound) -> String {
    let objects = if bound.objects > 1 { format!(", objects {}", bound.objects) } else { String::new() };
    format!("values {{{}}}{objects}, loops {}", bound.values.iter().join(", "), bound.loops)
}

/// Returns one line, for example `bal (no-fence) 2x2x1: unsound, as expected in 0.35 s`.
fn line(c: &Checked) -> String {
    let name = named(c.library, c.variant);
    let verdict = terminal::verdict(&verdict(c), c.is_expected(), colours_of(&stdout()));
    format!("{name} {}: {verdict} in {:.2} s", word(&c.bound), c.time.as_secs_f64())
}

/// Returns a verdict, with the reason if it is undecided.
fn verdict(c: &Checked) -> String {
    match &c.report.verdict {
        Verdict::Undecided(stop) if c.stuck().is_none() => format!("{}: {stop}", c.judgement()),
        _ => c.judgement(),
    }
}

/// Returns a row of the table.
fn row(c: &Checked, is_wide: bool) -> [String; 10] {
    // The line of the verdict has the reasons, and says what was expected.
    let judgement = c.judgement().replace(", as expected", "");
    let verdict = judgement.split(" (").next().unwrap_or_default().to_owned();
    // After a mistake progress was not asked for.
    let is_open = matches!(c.report.progress, Progress::Undecided(Stop::NotAsked));
    let progress = if is_open { "-" } else { c.progress() };
    [
        // One word, so that the row is one line.
        if c.variant == "published" { c.library.to_owned() } else { format!("{}:{}", c.library, c.variant) },
        c.over.clone(),
        if is_wide { c.bound_text() } else { word(&c.bound) },
        c.report.clients.to_string(),
        c.report.vacuous.to_string(),
        c.report.executions.to_string(),
        verdict,
        progress.to_owned(),
        format!("{:.2}", c.time.as_secs_f64()),
        c.concretisation().join("\n"),
    ]
}
