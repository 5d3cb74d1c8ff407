//! The `completions` command: the arguments of all commands for a shell, with the names of libraries and variants.

use std::collections::BTreeSet;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command};

use crate::catalogue::Catalogue;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli completions bash > /etc/bash_completion.d/mowgli\n  mowgli completions zsh"
)]
pub(super) struct CompletionsArgs {
    /// The shell.
    shell: clap_complete::Shell,
}

/// Prints the completions of the command for a shell.
pub(super) fn print(args: &CompletionsArgs, cli: Command, catalogue: &Catalogue) -> u8 {
    clap_complete::generate(args.shell, &mut with_names(cli, catalogue), "mowgli", &mut std::io::stdout());
    0
}

/// Returns the command with the names that its arguments take. A shell offers them; parsing needs none of this.
fn with_names(cli: Command, catalogue: &Catalogue) -> Command {
    cli.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        command.mut_args(|arg| match names(&name, &arg, catalogue) {
            names if names.is_empty() => arg,
            names => arg.value_parser(PossibleValuesParser::new(names)),
        })
    })
}

/// Returns the names that an argument takes; none if it also takes files, which a shell offers otherwise.
fn names(command: &str, arg: &Arg, catalogue: &Catalogue) -> BTreeSet<String> {
    let variants = |before: fn(&str) -> String| {
        let of = move |entry: &mowgli_libraries::entry::Entry| {
            let before = before(entry.name);
            entry.variants.iter().map(move |variant| format!("{before}{}", variant.name)).collect::<Vec<_>>()
        };
        catalogue.entries().iter().flat_map(of)
    };
    let libraries = || catalogue.names().into_iter().map(str::to_owned);
    match (command, arg.get_id().as_str()) {
        ("networks", "names") => BTreeSet::new(),
        (_, "names") => libraries().collect(),
        (_, "variant") => variants(|_| String::new()).collect(),
        ("show" | "cat", "name") | (_, "implemented" | "over") => {
            libraries().chain(variants(|library| format!("{library}:"))).collect()
        }
        _ => BTreeSet::new(),
    }
}
