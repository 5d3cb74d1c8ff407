//! Error messages for text that is not a litmus test: the expected form, and the likely intention.

use mowgli_core::unknown::did_you_mean;
use pest::error::{Error, ErrorVariant, InputLocation};

use super::grammar::Rule;
use crate::error::{Code, InputError, Place};

/// The words that begin statements with conditions and blocks, here or in other languages, each with its form here.
const WORDS: [(&str, &str); 11] = [
    ("if", "if a = 1 {, with a condition on registers and the brace in the same cell, and } in a later row"),
    ("while", "while a != 1 {, with a condition on registers and the brace in the same cell, and } in a later row"),
    ("else", "} else {, in one cell with the brace that ends the first block"),
    ("await", "await x = 1, or await x != 0, with what is read before the comparison"),
    ("assume", "assume a = 1, with a condition on registers"),
    ("for", LOOP),
    ("do", LOOP),
    ("loop", LOOP),
    ("repeat", LOOP),
    ("until", LOOP),
    ("goto", LOOP),
];

/// The form here for the loops of other languages.
const LOOP: &str = "while a != 1 {, with } in a later row; to wait until x is 1, await x = 1";

/// Returns the message for a cell that begins with such a word and is not a statement.
pub(super) fn written(word: &str) -> Option<String> {
    let (_, form) = WORDS.iter().find(|(known, _)| *known == word)?;
    let is_here = *form != LOOP;
    Some(if is_here {
        format!("{word} is written as {form}")
    } else {
        format!("there is no {word}: a loop is written as {form}")
    })
}

/// The help for `==`.
const DOUBLED: &str = "conditions compare with =, !=, <, <=, > and >=; there is no ==";

/// The help for `=<` and `=>`.
const TURNED: &str = "at most is written as <=, and at least as >=";

/// The help where the second character of an operator makes it one that does not exist.
fn operator(before: &str, rest: &str) -> Option<&'static str> {
    match rest.chars().next().filter(|_| before.ends_with('='))? {
        '=' => Some(DOUBLED),
        '<' | '>' => Some(TURNED),
        _ => None,
    }
}

/// Returns the error for a cell that cannot be read and begins with such a word.
fn foreign(text: &str, error: &Error<Rule>) -> Option<InputError> {
    let (ErrorVariant::ParsingError { .. }, InputLocation::Pos(at)) = (&error.variant, &error.location) else {
        return None;
    };
    let cell = text[text[..*at].rfind(['|', ';', '{', '}'])? + 1..].trim_start();
    let is_first = |word: &&str| {
        let rest = cell.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '\''))
    };
    let word = WORDS.iter().map(|(word, _)| *word).find(is_first)?;
    let start = text.len() - cell.len();
    let message = operator(&text[start..*at], &text[*at..]).map(ToOwned::to_owned).or_else(|| written(word))?;
    Some(InputError::new(Code::Syntax, message).at(Place::of("", text, start..start + word.len())))
}

/// The words by which other languages join and negate conditions, each with its form here.
const CONNECTIVES: [(&str, &str); 6] =
    [("&&", "/\\"), ("||", "\\/"), ("and", "/\\"), ("or", "\\/"), ("not", "~"), ("!", "~")];

/// Returns the error for a condition that another language would join or negate so. The parser fails before or at the word.
fn joined(text: &str, error: &Error<Rule>) -> Option<InputError> {
    let (ErrorVariant::ParsingError { .. }, InputLocation::Pos(at)) = (&error.variant, &error.location) else {
        return None;
    };
    let begin = text[..*at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[begin..].lines().next().unwrap_or_default();
    let is_condition = ["if ", "while ", "assume "].into_iter().chain(FOOTERS).any(|word| line.contains(word));
    let rest = &text[*at..begin + line.len()];
    // Behind a name or a number stands the word, or another character of the name.
    let skipped =
        rest.find(|c: char| !c.is_alphanumeric()).filter(|_| !rest.starts_with(char::is_alphabetic)).unwrap_or(0);
    let start = *at + skipped + (rest[skipped..].len() - rest[skipped..].trim_start().len());
    let (word, form) = CONNECTIVES.into_iter().find(|(word, _)| {
        let behind = text[start..].strip_prefix(word).map(|behind| behind.starts_with(char::is_alphanumeric));
        behind.is_some_and(|goes_on| !goes_on || !word.ends_with(char::is_alphabetic))
    })?;
    let message = format!("there is no {word} in a condition: it is written as {form}");
    let place = Place::of("", text, start..start + word.len());
    is_condition.then(|| InputError::new(Code::Syntax, message).at(place).help("as a=1 /\\ ~(b=1 \\/ c=1)"))
}

/// Words of other languages that begin assertions, each with its form here.
const QUANTIFIERS: [(&str, &str); 5] =
    [("never", "forbidden"), ("always", "forall"), ("assert", "forall"), ("possible", "allowed"), ("final", "allowed")];

/// The words that begin lines below the table.
const FOOTERS: [&str; 10] =
    ["allowed", "forbidden", "forall", "exists", "~exists", "locations", "vacuous", "hangs", "stuck", "ends"];

/// Returns the error for a line below the table whose first word is nearly one of these.
fn misspelt(text: &str, error: &Error<Rule>) -> Option<InputError> {
    let (ErrorVariant::ParsingError { .. }, InputLocation::Pos(at)) = (&error.variant, &error.location) else {
        return None;
    };
    // The grammar stops at the word, or behind the words of a line that it takes for the rest of a condition.
    let is_word = text[..*at].ends_with('\n') && text[*at..].starts_with(|c: char| c.is_alphabetic() || c == '~');
    let start = if is_word { *at } else { text[..*at].trim_end().rfind('\n')? + 1 };
    let line = &text[start..];
    let word = &line[..line.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '~').unwrap_or(line.len())];
    let meant = QUANTIFIERS.into_iter().find(|(other, _)| *other == word).map_or(word, |(_, form)| form);
    let near = did_you_mean(meant, FOOTERS).filter(|_| !FOOTERS.contains(&word) && text[..start].contains('}'))?;
    let place = Place::of("", text, start..start + word.len());
    Some(InputError::new(Code::Unknown, format!("{word} is no assertion")).at(place).help(near))
}

/// Returns the error for a text that the grammar rejects: in the words of this language, or with what was expected.
pub(super) fn error(text: &str, error: Error<Rule>) -> InputError {
    if let Some(foreign) = foreign(text, &error) {
        return foreign;
    }
    if let Some(joined) = joined(text, &error) {
        return joined;
    }
    if let Some(misspelt) = misspelt(text, &error) {
        return misspelt;
    }
    let help = help(text, &error);
    let bytes = match error.location {
        InputLocation::Pos(at) => {
            let word = text[at..].chars().take_while(|c| c.is_alphanumeric() || *c == '_');
            at..at + word.map(char::len_utf8).sum::<usize>()
        }
        InputLocation::Span((start, end)) => start..end,
    };
    if let Some(end) = missing_semicolon(text, bytes.start, help) {
        return InputError::new(Code::Syntax, "expected ;".to_owned()).at(Place::of("", text, end..end)).help_if(help);
    }
    let error = error.renamed_rules(|rule| describe(*rule));
    InputError::new(Code::Syntax, error.variant.message()).at(Place::of("", text, bytes)).help_if(help)
}

/// The help where a declaration or a row ends without a semicolon.
const SEMICOLONS: [&str; 2] =
    ["a declaration is written as x@1 = 0; with a semicolon", "each row of the table ends with a semicolon"];

/// Returns the place of a missing semicolon: the end of the text before. The parser fails at the beginning of a later line, or where the next
/// declaration begins, or at the brace behind the last one.
fn missing_semicolon(text: &str, at: usize, help: Option<&str>) -> Option<usize> {
    let before = text[..at].trim_end();
    let is_later_line = text[before.len()..at].contains('\n') && !before.ends_with([';', '{', '}']);
    let is_next = before.len() < at && text[at..].starts_with(|c: char| c.is_ascii_alphabetic());
    let has_ended =
        before.ends_with(|c: char| c.is_ascii_digit() || c == ')') && (is_next || text[at..].starts_with('}'));
    let help = help.filter(|help| SEMICOLONS.contains(help))?;
    (is_later_line || (help == SEMICOLONS[0] && has_ended)).then_some(before.len())
}

/// Returns the help for a test in the notation of other languages.
fn help(text: &str, error: &Error<Rule>) -> Option<&'static str> {
    let (ErrorVariant::ParsingError { .. }, InputLocation::Pos(at)) = (&error.variant, &error.location) else {
        return None;
    };
    match text.split_whitespace().next() {
        Some("X86_64") => {
            return Some("this is a test of herd7: `mowgli convert FILE --to mowgli` writes it in this notation");
        }
        Some("X86") => return Some(crate::litmus::x86::INTEL),
        None => return Some("a test begins with its model and its name, as RDMA_WAIT mp { x@1 = 0; }"),
        _ => {}
    }
    let (before, rest) = text.split_at(*at);
    // If the end of a line lacks something, the parser fails only at the beginning of the next line.
    let begins_line = before.rsplit('\n').next().is_some_and(|own| own.trim().is_empty());
    let upto = if begins_line { before.trim_end() } else { before };
    let line = text.lines().nth(upto.matches('\n').count()).unwrap_or_default();
    let asserts = |l: &str| {
        let all = ["allowed", "forbidden", "forall", "exists", "~exists", "locations", "vacuous"];
        let of_stuck = ["ends", "may hang", "hangs", "stuck"];
        all.iter().chain(&of_stuck).any(|q| l.starts_with(q))
    };
    // The cell in which the parser fails, as far as it goes.
    let cell = before.rsplit(['|', ';', '{', '}', '\n']).next().unwrap_or_default();
    let is_name = !cell.trim().is_empty() && cell.trim().chars().all(|c| c.is_alphanumeric() || c == '_');
    if let Some(help) = operator(before, rest) {
        Some(help)
    } else if !before.contains('}') && (rest.starts_with(":=") || rest.starts_with('(')) {
        Some("the declarations end with }, and below it stand the threads")
    } else if asserts(line) && (before.ends_with("/\\") || before.ends_with("\\/")) {
        Some("a condition stands on both sides of /\\ and of \\/, as a=1 /\\ b=0")
    } else if asserts(line) && before.ends_with(' ') && !rest.starts_with('(') {
        Some("an assertion has its condition in parentheses, as allowed (a=1 /\\ b=0)")
    } else if rest.starts_with('+') && before.ends_with('+') {
        Some("there is no ++: write a := a + 1, with a register a")
    } else if cell.contains(":=") && rest.starts_with(['+', '-']) {
        Some("a sum begins with a register: write r := &w[1], and then r + 1")
    } else if before.contains('}') && before.ends_with(' ') && is_name && rest.starts_with(char::is_alphabetic) {
        Some("a call has its arguments in parentheses, as put(y, x)")
    } else if cell.matches('(').count() > cell.matches(')').count() && !rest.trim_start().starts_with(')') {
        Some("a parenthesis is open here: each ( has its )")
    } else if !before.contains('}') {
        before.contains('{').then_some(SEMICOLONS[0])
    } else if before.lines().any(asserts) || asserts(line) {
        None
    } else if rest.trim_start().starts_with('=') {
        Some("an assignment is written with :=, as x := 1")
    } else if !line.trim_end().ends_with(';') {
        Some(SEMICOLONS[1])
    } else {
        None
    }
}

fn describe(rule: Rule) -> String {
    match rule {
        Rule::EOI => "the end of the file".into(),
        Rule::node => "a number".into(),
        Rule::name => "a name".into(),
        Rule::test_name => "the test's name".into(),
        Rule::cell | Rule::statement | Rule::action => "a statement".into(),
        Rule::placement => "a thread with its node, as P1@1".into(),
        Rule::footer => "an assertion".into(),
        Rule::quantifier => "allowed, forbidden or forall".into(),
        Rule::waiter => "a thread, as P1 or P1 at line 4".into(),
        Rule::sign => "+ or -".into(),
        Rule::opening | Rule::is_if | Rule::is_while => "if or while".into(),
        Rule::otherwise | Rule::is_else => "} else {".into(),
        Rule::closing => "}".into(),
        Rule::bar => "|".into(),
        Rule::row_end => ";".into(),
        Rule::comparison => "a comparison, as = or <".into(),
        Rule::side => "a value or a register".into(),
        Rule::list | Rule::sides => "values in parentheses, as (a, 1)".into(),
        Rule::element => "an element, as x[a]".into(),
        Rule::address => "an address, as &x".into(),
        Rule::pointee => "an access through a register, as *p".into(),
        Rule::argument => "an argument".into(),
        Rule::arguments => "arguments, as (x, y)".into(),
        Rule::atomicity => "a or n".into(),
        Rule::undefined => "top, which stands for no value".into(),
        Rule::kind => "a kind of object".into(),
        Rule::names => "threads, as {P1, P2}".into(),
        Rule::roles => "threads, as P1 -> {P2}".into(),
        Rule::value => "a value".into(),
        Rule::at => "a node, as at 1".into(),
        Rule::head => "a row of threads, as P1@1 | P2@2 ;".into(),
        Rule::words => "a size, as [2]".into(),
        Rule::size => "a size, as size 4".into(),
        Rule::begins => "an initial value, or threads, after =".into(),
        other => format!("{other:?}").replace('_', " "),
    }
}
