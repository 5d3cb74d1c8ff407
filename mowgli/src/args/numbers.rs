//! Numbers that options take, and the messages about wrong ones.

use std::error::Error as _;
use std::num::{IntErrorKind, ParseIntError};

use clap::error::ContextKind;
use clap::{Arg, Command};

/// Returns the command with options that take negative numbers, so that the message about `--threads -1` says which numbers it takes.
pub fn with_negative_numbers(cli: Command) -> Command {
    let with = |arg: Arg| if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg };
    cli.mut_subcommands(|command| command.mut_args(with))
}

/// Returns the error with words for what is expected in place of a number: the library of arguments speaks of digits and types.
pub fn with_expected_number(error: clap::Error) -> clap::Error {
    let text = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let expected = match error.source().and_then(|why| why.downcast_ref::<ParseIntError>()).map(ParseIntError::kind) {
        Some(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => "this number is too large",
        Some(_) if text(ContextKind::InvalidValue).starts_with('-') => "write a number from 0",
        Some(_) => "write a number, as 2",
        None => return error,
    };
    let (value, arg) = (text(ContextKind::InvalidValue), text(ContextKind::InvalidArg));
    let message = format!("invalid value '{value}' for '{arg}': {expected}\n\nFor more information, try '--help'.\n");
    clap::Error::raw(error.kind(), message)
}
