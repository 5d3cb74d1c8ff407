//! Measures how checks grow with calls and with threads: a table, and with `--svg FILE` a figure.
//!
//! Compare counts between versions: clients, symmetric clients, states, executions. The seconds depend on the
//! machine.

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use comfy_table::Table;
use mowgli_core::ids::Name;
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::verdict::{Question, Verdict, local};
use mowgli_core::term::bound::Bound;
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_libraries::entry::Entry;
use plotters::prelude::*;

/// A library, its variant, the most calls of two threads, and the most threads. With more threads each makes as many
/// calls as a meaningful client needs.
const CHECKED: [(&str, &str, usize, (usize, usize)); 7] = [
    ("sv", "published", 2, (3, 1)),
    ("bal", "published", 4, (4, 1)),
    ("msw", "published", 2, (3, 1)),
    ("rbl", "fenced", 3, (4, 1)),
    ("wlock", "published", 4, (3, 2)),
    ("nlock", "published", 4, (3, 2)),
    ("sc-rmw", "published", 2, (3, 1)),
];

/// The longest that one check may take, in seconds.
const LIMIT: u64 = 60;

/// The counts of one check, and its time.
struct Row {
    bound: (usize, usize),
    counts: [u64; 4],
    seconds: f64,
}

/// The rows of a library.
struct Growth {
    library: &'static str,
    rows: Vec<Row>,
}

fn row(entry: &Entry, variant: &str, (threads, calls): (usize, usize)) -> Option<Row> {
    let variant = entry.variant(variant).expect("a variant of the catalogue");
    let first = variant.bounds[0].clone();
    let bound = Bound { threads, nodes: threads as u8, calls, objects: 1, total: None, ..first };
    let start = Instant::now();
    let report = local(&Question {
        library: Name::literal(entry.name),
        specification: entry.specification.clone(),
        below: entry.below.clone(),
        beside: entry.below.clone(),
        chain: vec![variant.implementation.clone()],
        subject: &*entry.subject,
        probes: &[],
        bound,
        asks_progress: false,
        crashing: None,
        log: None,
        expired: &|| start.elapsed().as_secs() >= LIMIT,
        progress: &|_, _| {},
    });
    let counts = [report.clients as u64, report.renamed as u64, report.stats.states, report.executions];
    let seconds = start.elapsed().as_secs_f64();
    // With an odd number of calls no thread releases all locks that it holds.
    let is_sound = matches!(report.verdict, Verdict::Sound | Verdict::Undecided(Stop::Vacuous));
    is_sound.then_some(Row { bound: (threads, calls), counts, seconds })
}

/// Bounds one after the other, up to the first that takes too long.
fn growth(entries: &[Entry], bounds: impl Fn(usize, (usize, usize)) -> Vec<(usize, usize)>) -> Vec<Growth> {
    let of = |(library, variant, calls, threads): (&'static str, &str, usize, (usize, usize))| {
        let entry = named(entries, library).expect("a library of the catalogue");
        Growth { library, rows: bounds(calls, threads).into_iter().map_while(|b| row(entry, variant, b)).collect() }
    };
    CHECKED.into_iter().map(of).collect()
}

/// By how much executions grow from one row to the next, on average.
fn factor(growth: &Growth) -> Option<f64> {
    let first = growth.rows.iter().position(|row| row.counts[3] > 0)?;
    let steps = growth.rows.len() - 1 - first;
    let grown = growth.rows.last()?.counts[3] as f64 / growth.rows[first].counts[3] as f64;
    (steps > 0).then(|| grown.powf(1.0 / steps as f64))
}

fn table(title: &str, all: &[Growth]) -> Table {
    let mut table = Table::new();
    table.set_header([title, "threads", "calls", "clients", "renamed", "states", "executions", "seconds", "factor"]);
    for growth in all {
        for (i, Row { bound, counts, seconds }) in growth.rows.iter().enumerate() {
            let last = i + 1 == growth.rows.len();
            let factor = factor(growth).filter(|_| last).map_or(String::new(), |f| format!("{f:.0}"));
            let bound = [bound.0, bound.1].map(|n| n.to_string());
            let counts = counts.map(|n| n.to_string());
            let library = [growth.library.to_owned()].into_iter();
            table.add_row(library.chain(bound).chain(counts).chain([format!("{seconds:.2}"), factor]));
        }
    }
    table
}

/// Executions above and seconds below, over calls on the left and over threads on the right.
fn figure(path: &PathBuf, [calls, threads]: [&[Growth]; 2]) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, (900, 840)).into_drawing_area();
    root.fill(&WHITE)?;
    let parts = root.split_evenly((2, 2));
    let of_calls = |row: &Row| row.bound.1;
    let of_threads = |row: &Row| row.bound.0;
    let executions: fn(&Row) -> f64 = |row| row.counts[3] as f64;
    let seconds: fn(&Row) -> f64 = |row| row.seconds.max(SHORTEST);
    for (parts, y) in parts.chunks(2).zip([("executions", 1.0, executions), ("seconds", SHORTEST, seconds)]) {
        panel(&parts[0], calls, ("calls of each of two threads", of_calls), y)?;
        panel(&parts[1], threads, ("threads, on as many nodes", of_threads), y)?;
    }
    root.present()?;
    Ok(())
}

/// The least number of seconds in the figure, because its scale is logarithmic.
const SHORTEST: f64 = 0.001;

fn panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    all: &[Growth],
    (along, x): (&str, fn(&Row) -> usize),
    (up, least, y): (&str, f64, fn(&Row) -> f64),
) -> Result<(), Box<dyn Error>> {
    let rows = || all.iter().flat_map(|g| &g.rows);
    let most = rows().map(y).fold(least, f64::max);
    let last = rows().map(x).max().unwrap_or(1);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(1..last, (least..2.0 * most).log_scale())?;
    let digits = |y: &f64| format!("{y}");
    let mut mesh = chart.configure_mesh();
    mesh.x_desc(along).y_desc(up).x_labels(last).y_label_formatter(&digits).disable_x_mesh().draw()?;
    for (i, growth) in all.iter().enumerate() {
        let colour = Palette99::pick(i).to_rgba();
        let points = || growth.rows.iter().filter(|row| row.counts[3] > 0).map(|row| (x(row), y(row)));
        let line = LineSeries::new(points(), colour.stroke_width(2));
        let key = move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2));
        chart.draw_series(line)?.label(growth.library).legend(key);
        chart.draw_series(points().map(|at| Circle::new(at, 3, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .border_style(BLACK)
        .background_style(WHITE)
        .draw()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let svg = std::env::args().skip_while(|arg| arg != "--svg").nth(1).map(PathBuf::from);
    let entries = catalogue();
    let by_calls = growth(&entries, |most, _| (1..=most).map(|calls| (2, calls)).collect());
    println!("{}", table("by calls", &by_calls));
    let by_threads = growth(&entries, |_, (most, calls)| (1..=most).map(|threads| (threads, calls)).collect());
    println!("{}", table("by threads", &by_threads));
    svg.map_or(Ok(()), |path| figure(&path, [&by_calls, &by_threads]))
}
