//! Options of `check` that are commands now, as they were written before.

use std::ffi::OsString;

/// The options, each with its command.
const FORMER: [(&str, &str); 6] = [
    ("--spec", "spec"),
    ("--mutants", "mutants"),
    ("--necessity", "necessity"),
    ("--distinguish", "distinguish"),
    ("--mutate-spec", "worth"),
    ("--through", "through"),
];

/// Returns the words of a command line. If it is `check` with such an option, these are the words of the command, and a warning goes to
/// standard error.
pub(super) fn renamed(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_check = words.get(1).is_some_and(|command| command == "check");
    let of = |word: &OsString| FORMER.iter().find(|(option, _)| word == option);
    if let Some((position, (option, command))) =
        words.iter().enumerate().filter(|_| is_check).find_map(|(position, word)| Some((position, of(word)?)))
    {
        eprintln!("warning: `mowgli check {option}` is `mowgli {command}` now; the next version has no such option");
        words.remove(position);
        words[1] = (*command).into();
    }
    words
}
