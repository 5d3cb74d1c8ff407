//! The first screen: the commands by the questions that they answer.

use std::fmt::Write as _;

use clap::Command;

/// The questions, each with its commands. A smaller build has fewer commands.
const GROUPS: [(&str, &[&str]); 7] = [
    ("About a library", &["check", "prove", "spec", "through", "show", "new"]),
    ("About the strength of a check", &["mutants", "necessity", "worth", "distinguish"]),
    ("About a litmus test", &["litmus", "explain", "walk", "robust", "repair", "run", "convert"]),
    ("About a program in C or C++", &["cc", "explore", "replay"]),
    ("About memory models and networks", &["cat", "compare", "networks", "generate"]),
    ("Code and pages", &["emit", "report", "serve", "site"]),
    ("Beside other tools", &["lsp", "merge", "completions", "man", "help"]),
];

/// Returns the command with its help in groups. A line has the beginning of a command's description.
pub(super) fn grouped(command: Command) -> Command {
    let mut built = command.clone();
    built.build();
    let mut text = String::new();
    for (question, names) in GROUPS {
        let found: Vec<&Command> = names.iter().filter_map(|name| built.find_subcommand(name)).collect();
        if !found.is_empty() {
            let _ = writeln!(text, "\n{question}:");
        }
        for one in found {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            let first = about.split([',', ':', '?', '.']).next().unwrap_or_default().to_owned();
            let _ = writeln!(text, "  {:<12} {first}", one.get_name());
        }
    }
    let example = "Begin with `mowgli check bal`. `mowgli COMMAND --help` has examples.";
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{example}\n{text}\nOptions:\n{{options}}{{after-help}}"
    ))
}
