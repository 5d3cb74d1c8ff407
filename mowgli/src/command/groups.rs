//! The first screen: the commands by the questions that they answer.

use std::fmt::Write as _;

use clap::Command;

use super::installed;

/// The questions, each with its first commands: twelve in all. A smaller build has fewer commands.
const GROUPS: [(&str, &[&str]); 4] = [
    ("About a library", &["check", "prove", "show", "new"]),
    ("About a litmus test", &["litmus", "explain", "repair"]),
    ("About memory models and networks", &["compare", "networks"]),
    ("Code and pages", &["emit", "report", "serve"]),
];

/// The width of the first screen.
const COLUMNS: usize = 78;

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
    let is_first = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let other = built.get_subcommands().filter(|c| !c.is_hide_set() && !is_first(c.get_name()));
    let _ = writeln!(text, "\nMore commands:\n{}", lines(&other.map(Command::get_name).collect::<Vec<_>>()));
    let installed = installed::listed();
    if !installed.is_empty() {
        let _ = writeln!(text, "\nInstalled programs, as `mowgli NAME`:");
    }
    for (name, about) in installed {
        let _ = writeln!(text, "  {name:<12} {about}");
    }
    let example = "Begin with `mowgli check bal`. `mowgli COMMAND --help` has examples.";
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{example}\n{text}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// Returns names with commas between them, in lines that fit the screen.
fn lines(names: &[&str]) -> String {
    let mut text = String::from("  ");
    let mut column = 2;
    for (position, name) in names.iter().enumerate() {
        let end = if position + 1 < names.len() { ", " } else { "" };
        if column + name.len() > COLUMNS {
            text = text.trim_end().to_owned() + "\n  ";
            column = 2;
        }
        text += &format!("{name}{end}");
        column += name.len() + end.len();
    }
    text
}
