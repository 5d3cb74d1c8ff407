//! A library in LaTeX: relations as formulas, shapes and bodies as pseudo-code. The document needs the packages
//! `amsmath`, `amssymb` and `alltt`.

/// A part of the page of a library: a heading with its lines.
pub(super) enum Section {
    /// Pseudo-code.
    Code(String, String),
    /// Relations in cat, a definition or a demand on each line.
    Relations(String, String),
}

/// Returns a page with this title as a subsection of a document.
pub(super) fn page(title: &str, sections: &[Section]) -> String {
    let section = |section: &Section| match section {
        Section::Code(heading, code) => {
            let lines: Vec<String> = code.lines().map(verbatim).collect();
            format!("\\paragraph{{{}}}\n\\begin{{alltt}}\n{}\n\\end{{alltt}}\n", escaped(heading), lines.join("\n"))
        }
        Section::Relations(heading, cat) => {
            let lines: Vec<String> = cat.lines().map(|line| formula(line.trim())).collect();
            format!(
                "\\paragraph{{{}}}\n\\begin{{align*}}\n{}\n\\end{{align*}}\n",
                escaped(heading),
                lines.join(" \\\\\n")
            )
        }
    };
    let sections: Vec<String> = sections.iter().map(section).collect();
    format!("\\subsection*{{{}}}\n{}", escaped(title), sections.join("\n"))
}

/// Escapes a line of `alltt`, in which only three characters have a meaning.
fn verbatim(line: &str) -> String {
    let of = |c: char| match c {
        '\\' => "\\textbackslash{}".to_owned(),
        '{' | '}' => format!("\\{c}"),
        other => other.to_string(),
    };
    line.chars().map(of).collect()
}

/// Escapes plain text.
fn escaped(text: &str) -> String {
    let of = |c: char| match c {
        '\\' => "\\textbackslash{}".to_owned(),
        '{' | '}' | '_' | '&' | '%' | '#' | '$' => format!("\\{c}"),
        '`' => "'".to_owned(),
        '\u{a7}' => "\\S{}".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(of).collect()
}

/// Returns a line of cat as a line of `align*`.
fn formula(line: &str) -> String {
    let words = |kind: &str| format!("\\text{{{kind} }} & ");
    if let Some((name, body)) = line.strip_prefix("let ").and_then(|rest| rest.split_once(" = ")) {
        return format!("{} &\\triangleq {}", name_of(name), expression(body));
    }
    if let Some((name, of)) = line.strip_prefix("with ").and_then(|rest| rest.split_once(" from ")) {
        return format!("{} &\\in {}", name_of(name), expression(of));
    }
    for demand in ["empty", "irreflexive", "acyclic"] {
        if let Some(rest) = line.strip_prefix(demand) {
            let of = rest.split_once(" as ").map_or(rest, |(of, _)| of);
            return format!("{}{}", words(demand), expression(of.trim()));
        }
    }
    format!("& {}", expression(line))
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

/// Returns an expression of cat in mathematical notation.
fn expression(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("^-1") {
            out.push_str("^{-1}");
            rest = after;
        } else if c.is_alphabetic() {
            let end = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
            out.push_str(&name_of(&rest[..end]));
            rest = &rest[end..];
        } else {
            out.push_str(match c {
                ';' => " \\mathbin{;}",
                '|' => "\\cup",
                '&' => "\\cap",
                '\\' => "\\setminus",
                '*' => "\\times",
                '+' => "^{+}",
                '_' => "\\top",
                '0' => "\\emptyset",
                _ => &rest[..c.len_utf8()],
            });
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Returns a name in mathematical notation: sets and stamps upright, relations in italics. A number at the end is a
/// subscript, because cat numbers definitions of one name.
fn name_of(name: &str) -> String {
    let (name, number) = match name.rsplit_once('-') {
        Some((name, number)) if number.chars().all(|c| c.is_ascii_digit()) => (name, Some(number)),
        _ => (name, None),
    };
    let is_stamp = name.starts_with('a') && name.chars().nth(1).is_some_and(char::is_uppercase);
    let is_set = is_stamp || name.chars().all(|c| c.is_uppercase() || c == '_');
    let font = if is_set { "mathsf" } else { "mathit" };
    let text = name.replace('_', "\\_").replace('-', "\\text{-}");
    let number = number.map_or(String::new(), |number| format!("_{{{number}}}"));
    format!("\\{font}{{{text}}}{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_are_formulas() {
        assert_eq!(
            formula("let rb-2 = [aCR]; po^-1 & rb; [aCW]"),
            "\\mathit{rb}_{2} &\\triangleq [\\mathsf{aCR}] \\mathbin{;} \\mathit{po}^{-1} \\cap \\mathit{rb} \\mathbin{;} \
             [\\mathsf{aCW}]"
        );
        assert_eq!(formula("irreflexive lin as lin"), "\\text{irreflexive } & \\mathit{lin}");
        assert_eq!(formula("let lin = (rf | mo)+"), "\\mathit{lin} &\\triangleq (\\mathit{rf} \\cup \\mathit{mo})^{+}");
        assert_eq!(
            formula("let call = [_ \\ (aMF)]"),
            "\\mathit{call} &\\triangleq [\\top \\setminus (\\mathsf{aMF})]"
        );
        assert_eq!(name_of("same-wid"), "\\mathit{same\\text{-}wid}");
    }

    #[test]
    fn code_is_escaped() {
        let page = page("a_b", &[Section::Code("Body `x`".to_owned(), "if x { y \\ z }".to_owned())]);
        let expected = "\\subsection*{a\\_b}\n\\paragraph{Body 'x'}\n\\begin{alltt}\nif x \\{ y \\textbackslash{} z \\}\n\\end{alltt}\n";
        assert_eq!(page, expected);
    }
}
