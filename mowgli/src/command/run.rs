//! The work of each subcommand.

use std::ffi::OsString;

use super::sharded::Sharded;
use super::subcommand::{Command, parsed};
use super::{cat, changes, completions, convert, distinguish, emit, explain, installed, lsp, man, merge};
use super::{new, prove, repair, report, robust, serve, sharded, show, site, spec, walk};
use crate::catalogue::Catalogue;
use crate::out::{coded, printed, reported, reported_in};

impl Command {
    /// Returns the command as one whose work processes can share, or as it is.
    fn into_sharded(self) -> Result<Box<dyn Sharded>, Self> {
        let sharded: Box<dyn Sharded> = match self {
            Self::Litmus(args) => args,
            Self::Check(args) => args,
            Self::Worth(args) => args,
            Self::Through(args) => args,
            Self::Networks(args) => args,
            Self::Compare(args) => args,
            Self::Generate(args) => args,
            other => return Err(other),
        };
        Ok(sharded)
    }

    /// True if the results by the time of Ctrl-C are worth printing; other commands end at once.
    pub(super) fn keeps_what_is_done(&self) -> bool {
        use Command::*;
        let is_about_libraries =
            matches!(self, Check(_) | Spec(_) | Mutants(_) | Necessity(_) | Distinguish(_) | Worth(_) | Through(_));
        is_about_libraries
            || matches!(self, Litmus(_) | Merge(_) | Robust(_) | Repair(_) | Compare(_) | Generate(_) | Report(_))
    }

    /// True if the command goes on when nobody reads its output any more.
    pub(super) fn outlives_its_readers(&self) -> bool {
        matches!(self, Self::Serve(_))
    }
}

/// Runs a subcommand, or its share of the work; returns the exit code.
pub(super) fn answered(command: Command, catalogue: Catalogue, cli: clap::Command, words: &[OsString]) -> u8 {
    let command = match command.into_sharded() {
        Ok(sharded) => return sharded::run(&*sharded, catalogue, words),
        Err(command) => command,
    };
    match command {
        Command::Spec(args) => reported_in(args.of.json, spec::spec(&args, catalogue)),
        Command::Mutants(args) => reported_in(args.of.of.json, changes::mutants(&args, &catalogue)),
        Command::Necessity(args) => reported_in(args.of.of.json, changes::necessity(&args, &catalogue)),
        Command::Distinguish(args) => reported_in(args.of.json, distinguish::distinguish(&args, &catalogue)),
        Command::Cat(args) => printed(cat::written(&args, &catalogue)),
        Command::Show(args) => printed(show::shown(&args, &catalogue)),
        Command::Walk(args) => coded(args.json, walk::walked(&args, &catalogue)),
        Command::Explain(args) => coded(args.json, explain::explained(&args, &catalogue)),
        Command::Merge(args) => merge::merge(&args, catalogue, &|words| Ok(parsed(&cli, words)?.into_sharded().ok())),
        Command::Prove(args) => reported_in(args.json, prove::prove(&args, catalogue)),
        Command::Robust(args) => robust::robust(&args, &catalogue),
        Command::Repair(args) => repair::repaired(&args, catalogue),
        Command::Emit(args) => printed(emit::emitted(&args, &catalogue)),
        Command::Report(args) => reported(report::report(&args, catalogue)),
        Command::Serve(args) => reported(serve::serve(&args, &catalogue)),
        Command::SolveForPage(args) => reported(serve::solve_for_page(&args, &catalogue)),
        Command::Site(args) => reported(site::site(&args, catalogue)),
        Command::Lsp(args) => reported(lsp::serve(&args, &catalogue)),
        Command::New(args) => reported(new::new(&args)),
        Command::Convert(args) => printed(convert::converted(&args, &catalogue)),
        Command::Completions(args) => completions::print(&args, cli, &catalogue),
        Command::Man(args) => reported(man::man(&args, cli)),
        Command::Installed(words) => reported(installed::run(&words, &cli)),
        Command::Litmus(_)
        | Command::Check(_)
        | Command::Worth(_)
        | Command::Through(_)
        | Command::Networks(_)
        | Command::Compare(_)
        | Command::Generate(_) => unreachable!("processes can share its work"),
    }
}
