//! Checks of implementations against their specifications, with a table of verdicts.

use std::fmt::Write as _;
use std::io::stdout;

use comfy_table::{Table, TableComponent, presets};
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::progress::Progress;
use mowgli_core::soundness::verdict::Verdict;
use mowgli_libraries::entry::Entry;

use super::super::format::Record;
use super::super::out::{keep, reported_in, worst};
use super::super::shards::is_shard;
use super::super::stages::check_bounds;
use super::args::{CheckArgs, Entries, bounds, chosen};
use super::record::{named, record};
use crate::catalogue::Catalogue;
use crate::check::{Checked, word};
use crate::error::InputError;
use crate::explain::written;
use crate::interrupt::{self, Deadline};
use crate::shards::log::ShardLog;
use crate::terminal::{self, colours_of};

/// Built-in libraries whose checks take more than some seconds, by measured time. They are checked after all others, so that
/// verdicts come early.
const SLOW: [&str; 10] =
    ["bal", "bal-transitive", "bal-puts", "wlock", "nlock", "rbl", "rbl-weak", "msw", "kvstore", "sv"];

/// Sorts entries, the quick ones first.
fn quick_first(mut chosen: Entries<'_>) -> Entries<'_> {
    chosen.sort_by_key(|(entry, _)| SLOW.iter().position(|slow| *slow == entry.name));
    chosen
}

/// Checks the implementations that the arguments name. It prints a line for each verdict as soon as it is known. The
/// counterexamples follow, and then the table. An expected one is explained only if the arguments name the variant.
pub(super) fn check_implementations(
    args: &CheckArgs,
    catalogue: &Catalogue,
    deadline: &Deadline,
    log: Option<&ShardLog>,
) -> Result<u8, InputError> {
    let mut shown = ShownResults::new(args.wide);
    let chosen = match chosen(args, catalogue) {
        Ok(chosen) => chosen,
        Err(wrong) => {
            shown.add_bad_input("check".to_owned(), wrong, args.json);
            shown.print_rest(args);
            return Ok(shown.code);
        }
    };
    shown.check(&quick_first(chosen), catalogue.entries(), args, (deadline, log));
    if is_shard(log) {
        return Ok(shown.code);
    }
    shown.print_rest(args);
    if let Some(path) = &args.out {
        keep(path, &shown.findings)?;
        if shown.findings.is_empty() {
            eprintln!("no client has a wrong outcome or never ends, so nothing was written to {}", path.display());
        }
    }
    Ok(shown.code)
}

/// The results of checks so far.
struct ShownResults {
    /// Counterexamples as text; they are printed after all verdicts.
    details: String,
    table: Table,
    /// The columns that the table has.
    columns: &'static [usize],
    records: Vec<Record>,
    /// Counterexamples, as RON.
    findings: Vec<String>,
    code: u8,
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

impl ShownResults {
    fn new(is_wide: bool) -> Self {
        let columns: &[usize] = if is_wide { &WIDE } else { &NARROW };
        let mut table = terminal::table(is_wide);
        if !is_wide {
            // Eight columns with lines between them have no room in 80 columns.
            table.load_preset(presets::NOTHING).set_style(TableComponent::HeaderLines, '─');
        }
        table.set_header(columns.iter().map(|&column| HEADER[column]));
        Self { details: String::new(), table, columns, records: Vec::new(), findings: Vec::new(), code: 0 }
    }

    /// Checks entries, and prints each verdict.
    fn check(
        &mut self,
        chosen: &Entries<'_>,
        entries: &[Entry],
        args: &CheckArgs,
        (deadline, log): (&Deadline, Option<&ShardLog>),
    ) {
        for &(entry, variant) in chosen {
            if interrupt::requested() {
                eprintln!("interrupted: {} ({}) was not checked", entry.name, variant.name);
                self.code = worst(self.code, 3);
                self.records.push(Record::interrupted(named(entry.name, variant.name), None));
                continue;
            }
            let options = args.options(entries, deadline);
            let mut each = |checked: Checked| {
                if !is_shard(log) {
                    self.add(&checked, args);
                }
            };
            if let Err(wrong) = check_bounds(entry, variant, &bounds(entry, variant, args), &options, log, &mut each) {
                self.add_bad_input(named(entry.name, variant.name), wrong, args.json);
            }
        }
    }

    /// Prints the verdict of a check, and keeps the rest.
    fn add(&mut self, c: &Checked, args: &CheckArgs) {
        let code = match c.is_expected() {
            Some(true) => 0,
            Some(false) => 1,
            None => 3,
        };
        self.code = worst(self.code, code);
        match (args.json, args.format) {
            (true, _) => println!("{}", c.json()),
            (false, Some(_)) => self.records.push(record(c)),
            (false, None) => {
                println!("{}{}", line(c), how_to_explain(c, args));
                print!("{}", unreached(c));
                if is_explained(c, args) {
                    self.details.push_str(&c.explanation());
                }
                if let (true, Verdict::Undecided(stop)) = (args.through, &c.report.verdict) {
                    let _ = writeln!(self.details, "{}: the tower was not checked whole: {stop}", c.title());
                }
                let row = row(c, args.wide);
                self.table.add_row(self.columns.iter().map(|&column| &row[column]));
            }
        }
        if args.stats {
            eprintln!("{}\n{}", c.title(), c.stats());
        }
        self.findings.extend(c.finding().as_ref().map(written));
    }

    fn add_bad_input(&mut self, name: String, wrong: InputError, is_json: bool) {
        self.records.push(Record::bad_input(name, None, &wrong));
        self.code = worst(self.code, reported_in(is_json, Err(wrong)));
    }

    /// Prints the output that follows the verdicts: the counterexamples and the table, or the records in the requested format.
    fn print_rest(&self, args: &CheckArgs) {
        if let Some(format) = args.format {
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
        }
    }
}

/// True if a counterexample is printed: it is not expected, or the arguments ask about a variant.
fn is_explained(c: &Checked, args: &CheckArgs) -> bool {
    args.variant.is_some() || args.names.iter().any(|name| name.contains(':')) || !c.is_no_surprise()
}

/// Returns the end of a line about an expected counterexample: the command that explains it. Otherwise nothing.
fn how_to_explain(c: &Checked, args: &CheckArgs) -> String {
    if is_explained(c, args) || !c.has_failed() {
        return String::new();
    }
    let command = if args.through { "through" } else { "check" };
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

/// Returns one line, for example `bal (no-fence) 2x2x1: unsound, as expected in 0.35 s`.
fn line(c: &Checked) -> String {
    let name = named(c.library, c.variant);
    let verdict = terminal::verdict(&verdict(c), c.is_expected(), colours_of(&stdout()));
    format!("{name} {}: {verdict} in {:.2} s", word(&c.bound), c.time.as_secs_f64())
}

/// Returns a verdict, with the reason if it is undecided.
fn verdict(c: &Checked) -> String {
    match &c.report.verdict {
        Verdict::Undecided(stop) => format!("{}: {stop}", c.judgement()),
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
