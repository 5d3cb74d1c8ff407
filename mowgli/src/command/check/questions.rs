//! The further questions of `check`: about specifications, and about changed implementations.

use mowgli_core::search::runs::Stop;
use mowgli_core::term::bound::Bound;
use mowgli_core::unknown::Unknown;
use mowgli_libraries::catalogue::named;

use super::super::out::{bar, json, moving, stopped_line, worst};
use super::super::shards::is_shard;
use super::args::{CheckArgs, bounds, chosen};
use crate::catalogue::Catalogue;
use crate::check::{CheckOptions, shapes};
use crate::error::{Code, InputError};
use crate::interrupt::{Deadline, Undecided};
use crate::necessity::{ChangeKind, Needed};
use crate::properties::{Specification, specifications};
use crate::shards::log::ShardLog;
use crate::{distinguish, mutation, necessity};

/// Checks specifications themselves.
pub(super) fn check_specifications(
    args: &CheckArgs,
    catalogue: Catalogue,
    deadline: &Deadline,
) -> Result<u8, InputError> {
    let all = specifications(catalogue.into_entries());
    let known: Vec<&str> = all.iter().map(|s| s.name).collect();
    if let Some(unknown) = args.names.iter().find(|n| !known.contains(&n.as_str())) {
        return Err(Unknown::new("specification", unknown, known).into());
    }
    let mut code = 0;
    let wanted = |s: &&Specification| {
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
    Ok(code)
}

/// Checks changed implementations.
pub(super) fn check_changes(
    question: ChangeKind,
    args: &CheckArgs,
    catalogue: &Catalogue,
    deadline: &Deadline,
) -> Result<u8, InputError> {
    let mut code = 0;
    for (entry, variant) in chosen(args, catalogue)? {
        let bar = bar(format!("{} {}", entry.name, variant.name), "clients");
        let progress = moving(&bar);
        let loopback = args.loopback();
        let options =
            CheckOptions { deadline: deadline.clone(), loopback, progress: &progress, ..CheckOptions::default() };
        let bounds = match question {
            ChangeKind::Necessity => args.within.limited(necessity::bounds(entry)),
            ChangeKind::Mutants => bounds(entry, variant, args),
        };
        if !args.json {
            let covered: Vec<Bound> = bounds.iter().map(|b| entry.covered(b, &|| deadline.expired())).collect();
            println!("{} ({}): threads, nodes, calls up to {}", entry.name, variant.name, shapes(&covered));
        }
        let mut each = |row: &necessity::ChangeResult| {
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
        if !args.json && question == ChangeKind::Mutants {
            println!("  {}", found.score());
            found.advice().iter().for_each(|advice| println!("  {advice}"));
        }
        if !args.json && question == ChangeKind::Necessity {
            for row in &found.rows {
                if let Some(litmus) = row.checked.litmus() {
                    println!("\n{}, {}:\n\n{litmus}", row.site, row.change);
                }
            }
        }
    }
    Ok(code)
}

/// Prints the question that a limit left open.
fn unknown(args: &CheckArgs, question: String, stop: &Stop) {
    let undecided = Undecided::new(question, stop.clone());
    if args.json {
        print!("{}", stopped_line(&undecided));
    }
    eprintln!("{undecided}");
}

/// Checks variants against weakened specifications.
pub(super) fn check_mutations(
    args: &CheckArgs,
    catalogue: Catalogue,
    deadline: &Deadline,
    log: Option<&ShardLog>,
) -> Result<u8, InputError> {
    let names: Vec<&str> = chosen(args, &catalogue)?.iter().map(|(entry, _)| entry.name).collect();
    let mut code = 0;
    let is_shown = !is_shard(log);
    for entry in catalogue.into_entries().into_iter().filter(|entry| names.contains(&entry.name)) {
        let bar = bar(entry.name.to_owned(), "clients");
        let options = CheckOptions { deadline: deadline.clone(), ..CheckOptions::default() };
        let bounds = args.within.limited(necessity::bounds(&entry));
        let name = entry.name;
        let mut each = |worth: &mutation::Worth| {
            if !is_shown {
                return;
            }
            let line = if args.json { json(worth) } else { worth.text() };
            bar.suspend(|| println!("{line}"));
        };
        if is_shown && !args.json {
            println!("{name}");
        }
        let part = log.map(|log| log.part(format!("{name} weakened")));
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

/// Searches for a client that distinguishes two specifications.
pub(super) fn check_difference(args: &CheckArgs, catalogue: &Catalogue, deadline: &Deadline) -> Result<u8, InputError> {
    let [one, other] = &args.names[..] else {
        return Err(InputError::new(Code::Argument, "name the two specifications, as mowgli distinguish rbl rbl-weak"));
    };
    chosen(args, catalogue)?;
    let (one, other) = (named(catalogue.entries(), one)?, named(catalogue.entries(), other)?);
    if !one.specification.has_stamps_of(&other.specification) {
        let names = format!("{} and {}", one.name, other.name);
        return Err(InputError::new(
            Code::Argument,
            format!("{names} are over different memory models, so no client has both"),
        ));
    }
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
