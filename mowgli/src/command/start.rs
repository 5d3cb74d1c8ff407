//! The start of the command: arguments are parsed, a subcommand does its work, and the process ends with an exit code.

use std::process::ExitCode;

use clap::CommandFactory as _;
use mowgli_check::guard::{Panic, caught, guarded};
use mowgli_libraries::entry::Entry;

use super::run::answered;
use super::subcommand::{Cli, parsed};
use super::{former, groups};
use crate::args::numbers::{with_expected_number, with_negative_numbers};
use crate::catalogue::Catalogue;
use crate::error::{Bug, InputError};
use crate::interrupt::{self, Failure};
use crate::out::reported;

/// The command with the user's libraries beside those that are built in.
///
/// ```no_run
/// # use mowgli_libraries::x86::treiber::entry;
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     mowgli::main_with([entry()])
/// }
/// ```
pub fn main_with(own: impl IntoIterator<Item = Entry>) -> ExitCode {
    let own = guarded("a library of your own", || Ok::<Vec<Entry>, InputError>(own.into_iter().collect()));
    ExitCode::from(own.map_or_else(|error| reported(Err(error)), run))
}

/// Writes the main function of a command with the user's libraries: see [`main_with`].
///
/// ```no_run
/// # use mowgli_libraries::x86::treiber;
/// mowgli::main!(treiber::entry());
/// ```
#[macro_export]
macro_rules! main {
    ($($entry:expr),* $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::main_with(::std::iter::empty()$(.chain(::std::iter::once_with(|| $entry)))*)
        }
    };
}

/// Lets the first Ctrl-C end a search, so that what is done is printed. A second one ends the command.
pub fn stop_on_interrupt() {
    let stop = || {
        if interrupt::request() {
            eprintln!("Stopping: what is done is printed. Once more to stop at once.");
        } else {
            std::process::exit(130);
        }
    };
    if let Err(e) = ctrlc::set_handler(stop) {
        eprintln!("warning: Ctrl-C stops at once: {e}");
    }
}

fn run(own: Vec<Entry>) -> u8 {
    let cli = groups::grouped(with_negative_numbers(Cli::command()));
    let words = former::renamed(std::env::args_os().collect());
    let command = parsed(&cli, &words).unwrap_or_else(|e| with_expected_number(e).exit());
    if command.keeps_what_is_done() {
        stop_on_interrupt();
    }
    // A reader that has seen enough, such as `head`, ends the command quietly; a server outlives its readers.
    if !command.outlives_its_readers() {
        sigpipe::reset();
    }
    let catalogue = match Catalogue::with(own) {
        Ok(catalogue) => catalogue,
        Err(message) => return reported(Err(message)),
    };
    let is_own = !catalogue.own().is_empty();
    let code = caught(|| answered(command, catalogue, cli, &words));
    code.unwrap_or_else(|panic| {
        // A function of the user's library may have panicked.
        let bug =
            |panic: Panic| Failure::Bug(Bug { message: format!("a function panicked {panic}; please report it") });
        reported(Err(if is_own { panic.of_author("mowgli").into() } else { bug(panic) }))
    })
}
