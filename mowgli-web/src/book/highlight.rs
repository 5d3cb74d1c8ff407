//! Litmus tests as HTML, with a class for each kind of word: comments, numbers, keywords, threads and calls.

use crate::markup::escaped;
use mowgli_check::litmus::notation::WORDS;

/// Returns the text of a test as HTML.
///
/// ```
/// let html = mowgli_web::book::highlight::highlighted("RDMA_TSO t { x@1 = 0; }");
/// assert!(html.starts_with("<span class=\"m\">RDMA_TSO</span> t { x@"));
/// ```
#[must_use]
pub fn highlighted(test: &str) -> String {
    let (model, rest) = test.split_at(word(test, |c| !c.is_whitespace()));
    let space = word(rest, char::is_whitespace);
    let (name, mut rest) = rest.split_at(space + word(&rest[space..], |c| !c.is_whitespace() && !"{\"".contains(c)));
    let mut html = marked(Some("m"), model) + &marked(None, name);
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let (length, class) = match first {
            '/' if rest.starts_with("//") => (word(rest, |c| c != '\n'), Some("c")),
            '(' if rest.starts_with("(*") => (rest.find("*)").map_or(rest.len(), |at| at + 2), Some("c")),
            '"' => (rest[1..].find('"').map_or(rest.len(), |at| at + 2), Some("c")),
            '0'..='9' => (word(rest, |c| c.is_ascii_digit()), Some("n")),
            _ if is_letter(first) => {
                let length = word(rest, is_letter);
                (length, class(&rest[..length], before, rest[length..].chars().next()))
            }
            _ => (first.len_utf8(), None),
        };
        let (text, after) = rest.split_at(length);
        html += &marked(class, text);
        before = text.chars().last().unwrap_or(before);
        rest = after;
    }
    html
}

/// Returns a text as HTML, in an element with this class.
fn marked(class: Option<&str>, text: &str) -> String {
    let escaped = escaped(text);
    class.map_or(escaped.clone(), |class| format!("<span class=\"{class}\">{escaped}</span>"))
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '\''
}

/// Returns the number of bytes up to the first character that does not fit.
fn word(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

/// Returns the class of a word between two characters.
fn class(word: &str, before: char, after: Option<char>) -> Option<&'static str> {
    let is_thread = word.strip_prefix('P').is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()));
    match () {
        () if WORDS.contains(&word) => Some("k"),
        () if is_thread => Some("t"),
        () if before == '.' || after == Some('(') => Some("f"),
        () => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Removes the elements and the references again.
    pub(in crate::book) fn plain(html: &str) -> String {
        let text: String = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
    }

    #[test]
    fn nothing_of_a_test_is_lost() {
        let test = "RDMA_WAIT+relaxed-ordering if-2 \"a <b> & c\"\n{ svar s = 0; (* two\nlines *) }\n P1@1 | P2@2 ;\n \
                    if a <= 1 { | a := s.read ; // é\n } | *a := &x ;\nforall (~a=1 /\\ b=\"";
        let html = highlighted(test);
        assert_eq!(plain(&html), test);
        assert!(html.contains("</span> if-2 <span class=\"c\">&quot;a &lt;b&gt; &amp; c&quot;</span>"), "{html}");
        for marked in [
            "<span class=\"c\">(* two\nlines *)</span>",
            "<span class=\"f\">read</span>",
            "<span class=\"t\">P2</span>",
        ] {
            assert!(html.contains(marked), "{marked}: {html}");
        }
    }

    #[test]
    fn editors_colour_the_same_words() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../editors/vscode/syntaxes/litmus.tmLanguage.json");
        let grammar = std::fs::read_to_string(file).unwrap();
        let words: Vec<&str> = grammar.split(|c: char| !is_letter(c)).collect();
        let missing: Vec<&str> = WORDS.into_iter().filter(|word| !words.contains(word)).collect();
        assert_eq!(missing, [""; 0]);
    }
}
