//! The `spec` command.

use clap::Args;
use mowgli_core::unknown::Unknown;

use super::libraries::LibraryArgs;
use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::interrupt::Deadline;
use crate::out::worst;
use crate::properties::{Specification, specifications};
use crate::terminal::{bar, moving};

#[derive(Args)]
#[command(after_help = "Examples:\n  mowgli spec wlock\n  mowgli spec rdma-wait")]
pub(super) struct SpecArgs {
    #[command(flatten)]
    pub(super) of: LibraryArgs,
}

/// Checks specifications themselves.
pub(super) fn spec(args: &SpecArgs, catalogue: Catalogue) -> Result<u8, InputError> {
    let args = &args.of;
    args.set_jobs();
    let deadline = Deadline::after(args.timeout);
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
        let found = specification.check(args.within.limited(specification.bounds()), &deadline, &progress);
        bar.finish_and_clear();
        println!("{}", if args.json { found.json() } else { found.text() });
        let of_limit = if found.properties.stop.is_some() { 3 } else { 0 };
        code = worst(code, if found.is_good() { of_limit } else { 1 });
    }
    Ok(code)
}
