//! The `distinguish` command.

use clap::Args;
use mowgli_libraries::catalogue::named;

use super::libraries::LibraryArgs;
use crate::catalogue::Catalogue;
use crate::distinguish::{SpecComparison, bounds, distinguish as compared};
use crate::error::{Code, InputError};
use crate::interrupt::Deadline;
use crate::terminal::{bar, moving};

#[derive(Args)]
#[command(after_help = "Examples:\n  mowgli distinguish rbl rbl-weak")]
pub(super) struct DistinguishArgs {
    #[command(flatten)]
    pub(super) of: LibraryArgs,
}

/// Searches for a client that distinguishes two specifications.
pub(super) fn distinguish(args: &DistinguishArgs, catalogue: &Catalogue) -> Result<u8, InputError> {
    let args = &args.of;
    args.set_jobs();
    let deadline = Deadline::after(args.timeout);
    let [one, other] = &args.names[..] else {
        return Err(InputError::new(Code::Argument, "name the two specifications, as mowgli distinguish rbl rbl-weak"));
    };
    args.chosen(None, catalogue)?;
    let (one, other) = (named(catalogue.entries(), one)?, named(catalogue.entries(), other)?);
    if !one.specification.has_stamps_of(&other.specification) {
        let names = format!("{} and {}", one.name, other.name);
        return Err(InputError::new(
            Code::Argument,
            format!("{names} are over different memory models, so no client has both"),
        ));
    }
    let bar = bar(format!("{} {}", one.name, other.name), "clients");
    let progress = moving(&bar);
    let found = match one.name == other.name {
        true => SpecComparison::default(),
        false => compared(one, other, &args.within.limited(bounds(one)), &deadline, &progress)?,
    };
    bar.finish_and_clear();
    if args.json {
        println!("{}", found.json(one.name, other.name));
    } else {
        print!("{}", found.text(one.name, other.name));
    }
    Ok(if found.is_distinct().is_none() { 3 } else { 0 })
}
