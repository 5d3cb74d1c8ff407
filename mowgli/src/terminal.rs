//! The terminal that a command prints to: its width, and the colours of verdicts.

use std::io::{IsTerminal, stdout};

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};

use crate::diagnostic::Colours;

/// The width of tables if standard output is not a terminal, so that files and pipes do not depend on a window.
const COLUMNS: u16 = 80;

/// Returns the number of columns for a table.
pub(crate) fn columns() -> u16 {
    let is_terminal = stdout().is_terminal();
    let size = is_terminal.then(|| rustix::termios::tcgetwinsize(stdout()).ok()).flatten();
    size.map(|size| size.ws_col).filter(|columns| *columns > 0).unwrap_or(COLUMNS)
}

/// Returns an empty table. It fits the terminal, or it is as wide as its cells with `is_wide`.
pub(crate) fn table(is_wide: bool) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_FULL_CONDENSED);
    if !is_wide {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns());
    }
    table
}

/// Keeps the words of a narrow table whole: no column is narrower than its longest word. A table whose words need more
/// room is wider than the terminal.
pub(crate) fn keep_words(table: &mut Table) {
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    let mut longest = vec![0; table.column_count()];
    let header = table.header().into_iter().flat_map(|row| row.cell_iter().enumerate());
    let cells = table.row_iter().flat_map(|row| row.cell_iter().enumerate());
    for (column, cell) in header.chain(cells) {
        let words = cell.content();
        let word = words.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
        longest[column] = longest[column].max(word);
    }
    for (column, words) in table.column_iter_mut().zip(longest) {
        let width = u16::try_from(words + 1).unwrap_or(COLUMNS);
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
    }
}

/// Returns the colours that a stream can show. `NO_COLOR` switches them off (no-color.org).
pub(crate) fn colours_of(stream: &impl IsTerminal) -> Colours {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted && stream.is_terminal() { Colours::Ansi } else { Colours::None }
}

/// Returns a verdict in its colour: green if it is as it should be, red if not, and yellow if it is not known.
pub(crate) fn verdict(text: &str, is_good: Option<bool>, colours: Colours) -> String {
    let colour = match (colours, is_good) {
        (Colours::None, _) => return text.to_owned(),
        (Colours::Ansi, Some(true)) => 32,
        (Colours::Ansi, Some(false)) => 31,
        (Colours::Ansi, None) => 33,
    };
    format!("\u{1b}[{colour}m{text}\u{1b}[0m")
}

/// Colours the lines of herd's text that are verdicts on assertions.
pub(crate) fn assertions(text: &str, colours: Colours) -> String {
    let line = |line: &str| match line.trim_end() {
        word @ "Ok" => verdict(word, Some(true), colours) + "\n",
        word @ "No" => verdict(word, Some(false), colours) + "\n",
        word @ "Undecided" => verdict(word, None, colours) + "\n",
        _ => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Makes a progress bar with a message and the unit that it counts. Only terminals show it.
pub(crate) fn bar(message: String, of_what: &'static str) -> indicatif::ProgressBar {
    let bar = indicatif::ProgressBar::new(0);
    bar.set_message(message);
    bar.set_prefix(of_what);
    bar.set_style(
        indicatif::ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {prefix}, {eta} left")
            .expect("a fixed template"),
    );
    bar
}

/// Returns a progress callback `(done, total)` that moves a bar.
pub(crate) fn moving(bar: &indicatif::ProgressBar) -> impl Fn(usize, usize) + Sync + '_ {
    |done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_fit_eighty_columns() {
        let row = ["bal (no-fence)", "sv", "threads 2\nnodes 2\ncalls 2", "46 (30 never end)", &"long ".repeat(20)];
        let widest = |mut table: Table| {
            table.add_row(row);
            table.lines().map(|line| line.chars().count()).max().unwrap_or(0)
        };
        let mut narrow = table(false);
        narrow.set_width(COLUMNS);
        narrow.add_row(row);
        keep_words(&mut narrow);
        assert!(narrow.to_string().contains("(no-fence)"), "{narrow}");
        assert!(widest(narrow) <= usize::from(COLUMNS));
        assert!(widest(table(true)) > 100);
    }

    #[test]
    fn verdicts_have_colours_on_terminals_only() {
        let text = "Test t Allowed\nOk\nNo\n";
        assert_eq!(assertions(text, Colours::None), text);
        assert_eq!(assertions(text, Colours::Ansi), "Test t Allowed\n\u{1b}[32mOk\u{1b}[0m\n\u{1b}[31mNo\u{1b}[0m\n");
        assert_eq!(verdict("undecided", None, Colours::Ansi), "\u{1b}[33mundecided\u{1b}[0m");
    }
}
