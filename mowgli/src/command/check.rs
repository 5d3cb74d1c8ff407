//! The `check` command and its further questions.

use std::path::PathBuf;
use std::time::Duration;

use crate::catalogue::{Catalogue, Stamped};
use crate::check::{Ask, Checked, Options, shapes};
use crate::explain::written;
use crate::interrupt::{self, Deadline, Undecided};
use crate::necessity::{Needed, Question};
use crate::properties::{Specification, specifications, x86_specifications};
use crate::{distinguish, mutation, necessity};
use clap::Args;
use comfy_table::{ColumnConstraint, Table, Width, presets};
use mowgli_core::runs::Stop;
use mowgli_core::soundness::client::Bound;
use mowgli_core::soundness::ledger::Piece;
use mowgli_core::soundness::verdict::Verdict;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Entry, Variant};

use super::bounds::{Placement, Within, at_least_one, budget};
use super::out::{bar, keep, moving, stopped_line, told, worst};
use super::shards::{Done, is_piece, share};
use super::stages::check_bounds;
use crate::shards::book::Book;
use crate::shards::estimate::{Estimate, SAMPLED, estimate, largest};
use crate::shards::identity::Hash;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli check --list\n  mowgli check bal\n  mowgli check bal --variant no-fence --out why.ron\n  mowgli check sv --threads 3 --nodes 2 --calls 1 --timeout 60\n  mowgli check bal --threads 4 --estimate\n  mowgli check bal --shard 1/2 --out 1.shard"
)]
pub(super) struct CheckArgs {
    /// The libraries; by default your own, or all if you have none, at their default bounds.
    names: Vec<String>,
    /// A variant of the implementation, for example no-fence.
    #[arg(long)]
    variant: Option<String>,
    #[command(flatten)]
    within: Within,
    /// How clients may access memory of their own node in the search for a wrong outcome; `any` if not given, `remote` for
    /// --through.
    #[arg(long, value_enum)]
    placement: Option<Placement>,
    /// Leave out and weaken each operation of the implementations in turn, and say which are needed.
    #[arg(long, conflicts_with_all = ["through", "out", "spec"])]
    necessity: bool,
    /// Change each operation of the implementations in every way that the method tables give, and say
    /// which mistakes the check notices.
    #[arg(long, conflicts_with_all = ["through", "out", "spec", "necessity", "mutate_spec", "distinguish"])]
    mutants: bool,
    /// Weaken the specifications in one place at a time, and say which broken variants are then no longer caught.
    #[arg(long, conflicts_with_all = ["variant", "through", "spec", "necessity"])]
    mutate_spec: bool,
    /// Look for the smallest client that tells the two named specifications of one library apart.
    #[arg(long, conflicts_with_all = ["variant", "through", "out", "spec", "necessity", "mutate_spec"])]
    distinguish: bool,
    /// Check specifications themselves: monotone, decomposable, satisfiable. Names may be memory models too.
    #[arg(long, conflicts_with_all = ["variant", "through", "out"])]
    spec: bool,
    /// Do not ask whether calls return wherever the specification lets them.
    #[arg(long)]
    no_progress: bool,
    /// Compare outcomes of the whole stack, down to the memory model, with the specification, at a smaller bound.
    #[arg(long)]
    through: bool,
    /// Worker threads; all cores if not given.
    #[arg(long, value_name = "J", value_parser = at_least_one)]
    jobs: Option<u64>,
    /// Seconds for the whole command.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
    /// Print on standard error which clients were looked at and which were dropped, and counts of the search.
    #[arg(long, conflicts_with_all = ["necessity", "spec", "mutate_spec", "distinguish"])]
    stats: bool,
    /// Print one JSON object per check, one per line.
    #[arg(long)]
    json: bool,
    /// Keep the counterexample in this file, for `mowgli explain`; several go to FILE, FILE.2.ron and so on. With --shard, where
    /// its lines go.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Look at a share of the clients only, as 3/16 for the third of sixteen, and write what is found to --out: `mowgli merge`
    /// puts all shares together. Started again, it goes on where it was.
    #[arg(long, value_name = "I/N", value_parser = share, requires = "out", conflicts_with_all = ["necessity", "mutants", "spec", "distinguish", "stats", "list"])]
    shard: Option<Piece>,
    /// Say how many clients and executions there are, and how long it takes, from some of them, and check nothing.
    #[arg(long, conflicts_with_all = ["necessity", "mutants", "spec", "mutate_spec", "distinguish", "through", "shard", "out", "stats", "list"])]
    estimate: bool,
    /// With --estimate: the largest bound that is done in this time, as 90s, 10m or 2h.
    #[arg(long, value_name = "TIME", requires = "estimate", value_parser = budget)]
    budget: Option<Duration>,
    /// Show libraries, variants and default bounds, and check nothing.
    #[arg(long)]
    list: bool,
}

impl CheckArgs {
    /// The share that is looked at, and where its lines go.
    pub(super) fn shard(&self) -> Option<(Piece, PathBuf)> {
        Some((self.shard?, self.out.clone()?))
    }

    /// Whether clients may reach memory of their own node through the network.
    fn loopback(&self) -> bool {
        let usual = if self.through { Placement::Remote } else { Placement::Any };
        self.placement.unwrap_or(usual) == Placement::Any
    }
}

/// Entries over one memory model, each with a variant.
type Entries<'a, S> = Vec<(&'a Entry<S>, &'a Variant)>;

/// The entries that are asked for, by the stamps of their memory models.
struct Chosen<'a> {
    over_rdma: Entries<'a, mowgli_rdma::Stamp>,
    over_x86: Entries<'a, mowgli_x86::Stamp>,
}

impl<'a> Chosen<'a> {
    fn of(args: &CheckArgs, catalogue: &'a Catalogue) -> Result<Self, String> {
        let known = catalogue.names();
        if let Some(unknown) = args.names.iter().find(|n| !known.contains(&n.as_str())) {
            let of_variant = unknown.split_once(':').filter(|(library, _)| known.contains(library));
            return Err(of_variant.map_or_else(
                || catalogue.no_library(unknown),
                |(library, variant)| format!("a variant is named apart here, as check {library} --variant {variant}"),
            ));
        }
        let (over_rdma, over_x86) = (chosen(args, catalogue)?, chosen(args, catalogue)?);
        if over_rdma.is_empty() && over_x86.is_empty() {
            return Err("no library has this variant; see mowgli check --list".to_owned());
        }
        Ok(Self { over_rdma, over_x86 })
    }
}

/// The entries of a catalogue that are asked for, with the variant of each.
fn chosen<'a, S: Stamped>(args: &CheckArgs, catalogue: &'a Catalogue) -> Result<Entries<'a, S>, String> {
    let names: Vec<&str> = if args.names.is_empty() {
        catalogue.usual().collect()
    } else {
        args.names.iter().map(String::as_str).collect()
    };
    let wanted = catalogue.entries::<S>().iter().filter(|e| names.contains(&e.name));
    let mut chosen = Vec::new();
    for entry in wanted {
        let name = args.variant.as_deref().unwrap_or("published");
        match entry.variant(name) {
            Ok(variant) => chosen.push((entry, variant)),
            Err(_) if args.names.is_empty() => {}
            Err(message) => return Err(message),
        }
    }
    Ok(chosen)
}

/// The bounds for a variant: its defaults, or one with what was asked for.
fn bounds<S: Stamped>(entry: &Entry<S>, variant: &Variant, args: &CheckArgs) -> Vec<Bound> {
    args.within.limited(if args.through { vec![entry.through()] } else { variant.bounds.clone() })
}

/// The libraries that are named, or else all, one's own first.
fn list(args: &CheckArgs, catalogue: &Catalogue) -> Result<u8, String> {
    let known = catalogue.names();
    let asked: Vec<&str> = args.names.iter().map(String::as_str).collect();
    for name in if asked.is_empty() { &known } else { &asked } {
        let of_x86 = || named(catalogue.entries::<mowgli_x86::Stamp>(), name);
        match (named(catalogue.entries::<mowgli_rdma::Stamp>(), name), of_x86()) {
            (Ok(entry), _) => list_one(entry, args.json),
            (_, Ok(entry)) => list_one(entry, args.json),
            _ => return Err(catalogue.no_library(name)),
        }
    }
    Ok(0)
}

fn list_one<S: Stamped>(entry: &Entry<S>, json: bool) {
    if json {
        for v in &entry.variants {
            let expected = format!("{:?}", v.expected);
            let line = serde_json::json!({
                "library": entry.name, "over": entry.over(), "variant": v.name, "about": v.about,
                "expected": expected, "bounds": v.bounds,
            });
            println!("{line}");
        }
        return;
    }
    println!("{} over {}", entry.name, entry.over());
    for v in &entry.variants {
        println!("  {:<20} {:?}: {}", v.name, v.expected, v.about);
        for Bound { threads, nodes, calls, objects, .. } in &v.bounds {
            println!("  {:<20} threads {threads}, nodes {nodes}, calls {calls}, objects {objects}", "");
        }
    }
}

/// A hash of what is asked about.
pub(super) fn hash(args: &CheckArgs, catalogue: &Catalogue) -> Result<Hash, String> {
    let chosen = Chosen::of(args, catalogue)?;
    let mut hash = Hash::default();
    add_to(&mut hash, &chosen.over_rdma, args, catalogue)?;
    add_to(&mut hash, &chosen.over_x86, args, catalogue)?;
    Ok(hash)
}

fn add_to<S: Stamped>(
    hash: &mut Hash,
    chosen: &Entries<'_, S>,
    args: &CheckArgs,
    catalogue: &Catalogue,
) -> Result<(), String> {
    for (entry, variant) in chosen {
        if args.mutate_spec {
            let bounds = args.within.limited(necessity::bounds(entry));
            entry.variants.iter().try_for_each(|variant| hash.add_library(entry, variant, &bounds))?;
        } else {
            hash.add_library(entry, variant, &bounds(entry, variant, args))?;
        }
    }
    // What the stack below is made of.
    let below = catalogue.entries::<S>().iter().filter(|_| args.through && !chosen.is_empty());
    for (entry, published) in below.filter_map(|entry| Some((entry, entry.variants.first()?))) {
        hash.add_library(entry, published, &published.bounds)?;
    }
    Ok(())
}

/// Looks at a share of the clients.
pub(super) fn piece(args: &CheckArgs, catalogue: Catalogue, book: &Book) -> Done {
    set_jobs(args);
    let deadline = Deadline::after(args.timeout);
    let result = if args.mutate_spec {
        check_mutations(args, catalogue, deadline, Some(book))
    } else {
        check_implementations(args, &catalogue, deadline, Some(book))
    };
    Done::of(told(result), deadline.expired())
}

fn set_jobs(args: &CheckArgs) {
    if let Some(jobs) = args.jobs {
        // The pool can be set once in a process, and nothing has used it yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(jobs as usize).build_global();
    }
}

/// Checks, with what other processes have found in a `book`.
pub(super) fn check(args: &CheckArgs, catalogue: Catalogue, book: Option<&Book>) -> u8 {
    if args.list {
        return told(list(args, &catalogue));
    }
    set_jobs(args);
    let deadline = Deadline::after(args.timeout);
    let result = match args {
        CheckArgs { estimate: true, .. } => estimates(args, &catalogue, deadline),
        CheckArgs { spec: true, .. } => check_specifications(args, catalogue, deadline),
        CheckArgs { necessity: true, .. } => check_changes(Question::Necessity, args, &catalogue, deadline),
        CheckArgs { mutants: true, .. } => check_changes(Question::Mutants, args, &catalogue, deadline),
        CheckArgs { mutate_spec: true, .. } => check_mutations(args, catalogue, deadline, book),
        CheckArgs { distinguish: true, .. } => check_difference(args, &catalogue, deadline),
        _ => check_implementations(args, &catalogue, deadline, book),
    };
    told(result)
}

/// Says how much work there is.
fn estimates(args: &CheckArgs, catalogue: &Catalogue, deadline: Deadline) -> Result<u8, String> {
    let found = estimated(args, catalogue, deadline)?;
    for estimate in &found {
        println!("{}", if args.json { serde_json::to_string(estimate).expect("numbers") } else { estimate.text() });
    }
    Ok(0)
}

/// The seconds that a check takes on one core, by an estimate.
pub(super) fn seconds(args: &CheckArgs, catalogue: &Catalogue) -> Option<f64> {
    let is_plain =
        !(args.through || args.spec || args.necessity || args.mutants || args.mutate_spec || args.distinguish);
    let found = estimated(args, catalogue, Deadline::default()).ok().filter(|_| is_plain)?;
    Some(found.iter().map(|found| found.seconds * found.threads as f64).sum())
}

fn estimated(args: &CheckArgs, catalogue: &Catalogue, deadline: Deadline) -> Result<Vec<Estimate>, String> {
    let chosen = Chosen::of(args, catalogue)?;
    let mut found = estimates_of(&chosen.over_rdma, args, deadline)?;
    found.extend(estimates_of(&chosen.over_x86, args, deadline)?);
    Ok(found)
}

fn estimates_of<S: Stamped>(
    chosen: &Entries<'_, S>,
    args: &CheckArgs,
    deadline: Deadline,
) -> Result<Vec<Estimate>, String> {
    let options = Options { deadline, ends: !args.no_progress, ..Options::default() };
    let mut found = Vec::new();
    for (entry, variant) in chosen {
        let bounds = bounds(entry, variant, args);
        let Some(budget) = args.budget else {
            for bound in &bounds {
                found.push(estimate(entry, variant, bound, &options, SAMPLED)?);
            }
            continue;
        };
        if let Some(bound) = bounds.first() {
            let fits = largest(entry, variant, bound, &options, budget)?;
            let none =
                || format!("{} ({}): not even clients of one call are done in that time", entry.name, variant.name);
            found.push(fits.ok_or_else(none)?);
        }
    }
    Ok(found)
}

fn check_specifications(args: &CheckArgs, catalogue: Catalogue, deadline: Deadline) -> Result<u8, String> {
    let (over_rdma, over_x86) = catalogue.into_entries();
    let (over_rdma, over_x86) = (specifications(over_rdma), x86_specifications(over_x86));
    let known: Vec<&str> = over_rdma.iter().map(|s| s.name).chain(over_x86.iter().map(|s| s.name)).collect();
    if let Some(unknown) = args.names.iter().find(|n| !known.contains(&n.as_str())) {
        return Err(format!("no specification {unknown}; there are {}", known.join(", ")));
    }
    Ok(worst(check_properties(&over_rdma, args, deadline), check_properties(&over_x86, args, deadline)))
}

fn check_properties<S: Stamped>(all: &[Specification<S>], args: &CheckArgs, deadline: Deadline) -> u8 {
    let mut code = 0;
    let wanted = |s: &&Specification<S>| {
        if args.names.is_empty() { !s.is_language } else { args.names.iter().any(|n| n == s.name) }
    };
    for specification in all.iter().filter(wanted) {
        let bar = bar(specification.name.to_owned(), "clients");
        let progress = moving(&bar);
        let found = specification.check(args.within.limited(specification.bounds()), deadline, &progress);
        bar.finish_and_clear();
        println!("{}", if args.json { found.json() } else { found.text() });
        let stopped = found.properties.stop.is_some();
        code = worst(
            code,
            if !found.is_good() {
                1
            } else if stopped {
                3
            } else {
                0
            },
        );
    }
    code
}

fn check_changes(
    question: Question,
    args: &CheckArgs,
    catalogue: &Catalogue,
    deadline: Deadline,
) -> Result<u8, String> {
    let Chosen { over_rdma, over_x86 } = Chosen::of(args, catalogue)?;
    let rdma = changes_of(question, over_rdma, args, deadline)?;
    Ok(worst(rdma, changes_of(question, over_x86, args, deadline)?))
}

fn changes_of<S: Stamped>(
    question: Question,
    chosen: Entries<'_, S>,
    args: &CheckArgs,
    deadline: Deadline,
) -> Result<u8, String> {
    let mut code = 0;
    for (entry, variant) in chosen {
        let bar = bar(format!("{} {}", entry.name, variant.name), "clients");
        let progress = moving(&bar);
        let loopback = args.loopback();
        let options = Options { deadline, loopback, progress: &progress, ..Options::default() };
        let bounds = match question {
            Question::Necessity => args.within.limited(necessity::bounds(entry)),
            Question::Mutants => bounds(entry, variant, args),
        };
        if !args.json {
            println!("{} ({}): threads, nodes, calls up to {}", entry.name, variant.name, shapes(&bounds));
        }
        let mut each = |row: &necessity::Row<S>| {
            bar.suspend(|| println!("{}", if args.json { row.json() } else { row.text(question) }));
        };
        let found = necessity::necessity(question, entry, variant, bounds, &options, &mut each)?;
        bar.finish_and_clear();
        if let Some(stop) = &found.stop {
            unknown(args, format!("{} ({}): whether it is sound as it is", entry.name, variant.name), stop);
        }
        if found.stop.is_some() || found.rows.iter().any(|row| row.needed == Needed::Undecided) {
            code = 3;
        }
        if !args.json && question == Question::Mutants {
            println!("  {}", found.score());
        }
        if !args.json && question == Question::Necessity {
            for row in &found.rows {
                if let Some(litmus) = row.checked.litmus() {
                    println!("\n{}, {}:\n\n{litmus}", row.site, row.change);
                }
            }
        }
    }
    Ok(code)
}

/// Says what was not known before a limit.
fn unknown(args: &CheckArgs, question: String, stop: &Stop) {
    let undecided = Undecided::new(question, stop.clone());
    if args.json {
        print!("{}", stopped_line(&undecided));
    }
    eprintln!("{undecided}");
}

fn check_mutations(
    args: &CheckArgs,
    catalogue: Catalogue,
    deadline: Deadline,
    book: Option<&Book>,
) -> Result<u8, String> {
    let shared = (deadline, book);
    let Chosen { over_rdma, over_x86 } = Chosen::of(args, &catalogue)?;
    let names: Vec<&str> = over_rdma.iter().map(|(e, _)| e.name).chain(over_x86.iter().map(|(e, _)| e.name)).collect();
    let (over_rdma, over_x86) = catalogue.into_entries();
    let rdma = mutations_of(over_rdma.into_iter().filter(|e| names.contains(&e.name)), args, shared)?;
    Ok(worst(rdma, mutations_of(over_x86.into_iter().filter(|e| names.contains(&e.name)), args, shared)?))
}

fn mutations_of<S: Stamped>(
    chosen: impl Iterator<Item = Entry<S>>,
    args: &CheckArgs,
    (deadline, book): (Deadline, Option<&Book>),
) -> Result<u8, String> {
    let mut code = 0;
    let is_shown = !is_piece(book);
    for entry in chosen {
        let bar = bar(entry.name.to_owned(), "clients");
        let options = Options { deadline, ..Options::default() };
        let bounds = args.within.limited(necessity::bounds(&entry));
        let name = entry.name;
        let mut each = |worth: &mutation::Worth| {
            if !is_shown {
                return;
            }
            let line = if args.json { serde_json::to_string(worth).expect("strings") } else { worth.text() };
            bar.suspend(|| println!("{line}"));
        };
        if is_shown && !args.json {
            println!("{name}");
        }
        let part = book.map(|book| book.part(format!("{name} weakened")));
        let found = mutation::worths(entry, bounds, &options, part.as_ref(), &mut each)?;
        bar.finish_and_clear();
        if is_shown && !args.json {
            println!(
                "  the whole catches {}, with threads, nodes, calls up to {}",
                match &found.caught[..] {
                    [] if !found.undecided.is_empty() => "no variant that is known".to_owned(),
                    [] => "no variant".to_owned(),
                    caught => caught.join(", "),
                },
                shapes(&found.bounds)
            );
        }
        if let Some(stop) = &found.stop {
            unknown(args, format!("{name}: what there is to weaken"), stop);
        }
        if found.stop.is_some()
            || !found.undecided.is_empty()
            || found.all.iter().any(|worth| !worth.undecided.is_empty())
        {
            code = 3;
        }
    }
    Ok(code)
}

fn check_difference(args: &CheckArgs, catalogue: &Catalogue, deadline: Deadline) -> Result<u8, String> {
    let [one, other] = &args.names[..] else {
        return Err("name the two specifications, as mowgli check --distinguish rbl rbl-weak".to_owned());
    };
    let chosen = Chosen::of(args, catalogue)?;
    match (chosen.over_rdma.len(), chosen.over_x86.len()) {
        (_, 0) => difference_of(catalogue.entries::<mowgli_rdma::Stamp>(), [one, other], args, deadline),
        (0, _) => difference_of(catalogue.entries::<mowgli_x86::Stamp>(), [one, other], args, deadline),
        _ => Err(format!("{one} and {other} are over different memory models, so no client has both")),
    }
}

fn difference_of<S: Stamped>(
    all: &[Entry<S>],
    [one, other]: [&str; 2],
    args: &CheckArgs,
    deadline: Deadline,
) -> Result<u8, String> {
    let (one, other) = (named(all, one)?, named(all, other)?);
    let bounds = args.within.limited(distinguish::bounds(one));
    let bar = bar(format!("{} {}", one.name, other.name), "clients");
    let progress = moving(&bar);
    let compared = distinguish::distinguish(one, other, &bounds, deadline, &progress)?;
    bar.finish_and_clear();
    if args.json {
        println!("{}", compared.json(one.name, other.name));
    } else {
        print!("{}", compared.text(one.name, other.name));
    }
    Ok(if compared.is_distinct().is_none() { 3 } else { 0 })
}

fn check_implementations(
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
            let ask = if args.through { Ask::Through } else { Ask::Soundness };
            let loopback = args.loopback();
            let options = Options { deadline, loopback, ask, ends: !args.no_progress, entries, ..Options::default() };
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
