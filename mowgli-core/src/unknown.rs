//! The error for a name that nothing has, for example that of a network or of a variant.

use itertools::Itertools;

/// A name that no thing of its kind has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no {kind} {name}; there are {}", known.iter().join(", "))]
pub struct Unknown {
    /// The kind of the thing, for example `network`.
    pub kind: &'static str,
    /// The name that was looked up.
    pub name: String,
    /// The names that exist.
    pub known: Vec<String>,
}

impl Unknown {
    /// Makes the error for a name, with the names that exist.
    pub fn new(kind: &'static str, name: &str, known: impl IntoIterator<Item: ToString>) -> Self {
        Self { kind, name: name.to_owned(), known: known.into_iter().map(|name| name.to_string()).collect() }
    }

    /// Returns the known name that is most like this one, if they differ by at most two characters.
    ///
    /// ```
    /// use mowgli_core::unknown::Unknown;
    /// assert_eq!(Unknown::new("library", "bla", ["sv", "bal"]).nearest(), Some("bal"));
    /// assert_eq!(Unknown::new("library", "stack", ["sv", "bal"]).nearest(), None);
    /// ```
    #[must_use]
    pub fn nearest(&self) -> Option<&str> {
        nearest(&self.name, self.known.iter().map(String::as_str))
    }

    /// Returns the remedy: the nearest name, or else all names.
    #[must_use]
    pub fn help(&self) -> String {
        let near = did_you_mean(&self.name, self.known.iter().map(String::as_str));
        near.into_iter().chain([format!("there are {}", self.known.iter().join(", "))]).join(" ")
    }
}

/// Returns the name that differs from `name` by the fewest characters: at most two, and fewer than its length.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = 2.min(name.chars().count().saturating_sub(1));
    let near = known.into_iter().map(|known| (distance(name, known), known)).filter(|(far, _)| *far <= most);
    near.min_by_key(|(far, _)| *far).map(|(_, known)| known)
}

/// Returns a question that proposes the nearest name, if there is one.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, known).map(|near| format!("did you mean {near}?"))
}

/// Computes Levenshtein's distance of two names, with an exchange of neighbours as one change instead of two.
fn distance(a: &str, b: &str) -> usize {
    let [a, b] = [a, b].map(|text| text.chars().collect_vec());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = rows[i][j] + usize::from(a[i] != b[j]);
            let changed = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            let is_exchange = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
            row.push(if is_exchange { changed.min(rows[i - 1][j - 1] + 1) } else { changed });
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_nearly_right_are_found() {
        let known = ["rc", "rc-relaxed", "efa-direct", "cxi"];
        for (name, near) in [
            ("rc_relaxed", Some("rc-relaxed")),
            ("efa-driect", Some("efa-direct")),
            ("cix", Some("cxi")),
            ("r", None),
            ("fast", None),
        ] {
            assert_eq!(nearest(name, known), near, "{name}");
        }
    }

    #[test]
    fn the_message_lists_the_names() {
        let unknown = Unknown::new("network", "fast", ["rc", "cxi"]);
        assert_eq!(unknown.to_string(), "no network fast; there are rc, cxi");
    }
}
