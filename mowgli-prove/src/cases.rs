//! Case splits: an obligation about promises becomes one case for each choice of their roles that the hypothesis
//! allows.

use std::collections::BTreeMap;

use itertools::Itertools;

use crate::model::{ABS, image};
use crate::term::{BoundVariable, Obligation, Term, Theory, TheoryStatement, and, app, equal, symbol};

/// The definitions of a theory, which decide some formulas without a solver.
struct Definitions<'a>(BTreeMap<&'a str, (&'a [BoundVariable], &'a Term)>);

/// The known roles, by the terms that have them.
type Roles = BTreeMap<Term, String>;

/// The maximal number of promises of an obligation whose roles are split, because the number of cases is a product.
const DISTINGUISHED: usize = 2;

/// Returns the cases of an obligation. Together they are equivalent to it, because a promise has one of the roles. A
/// case is left out only if the hypothesis is false, or the goal true, by definition. `stands` maps the role of a
/// promise to that of its image.
#[must_use]
pub fn cases(theory: &Theory, question: &Obligation, stands: &BTreeMap<String, String>) -> Vec<Obligation> {
    let definitions = Definitions::of(theory);
    let promises: Vec<&str> = question
        .of
        .iter()
        .filter(|(_, sort)| *sort == ABS)
        .map(|(name, _)| name.as_str())
        .take(DISTINGUISHED)
        .collect();
    if promises.is_empty() {
        return vec![question.clone()];
    }
    let choices = promises.iter().map(|_| stands.keys()).multi_cartesian_product();
    let case = |chosen: Vec<&String>| {
        let mut roles = Roles::new();
        let mut given = Vec::new();
        for (name, role) in promises.iter().zip(chosen) {
            let promise = symbol(name);
            given.push(equal(app("abs.role", [&promise]), symbol(role)));
            roles.insert(image(&promise), stands[role].clone());
            roles.insert(promise, role.clone());
        }
        let known = |term| definitions.value(term, &BTreeMap::new(), &roles);
        if known(&question.from) == Some(false) || known(&question.to) == Some(true) {
            return None;
        }
        let from = and(given.into_iter().chain([question.from.clone()]));
        Some(Obligation { from, ..question.clone() })
    };
    choices.filter_map(case).collect()
}

impl<'a> Definitions<'a> {
    fn of(theory: &'a Theory) -> Self {
        let defined = theory.0.iter().filter_map(|s| match s {
            TheoryStatement::Definition(name, of, _, body) => Some((name.as_str(), (&of[..], body))),
            _ => None,
        });
        Self(defined.collect())
    }

    /// Returns the known thing that a term names, under a substitution of variables, or `None`.
    fn thing(term: &Term, bound: &BTreeMap<&str, Option<Term>>) -> Option<Term> {
        match term {
            Term::App(name, to) if to.is_empty() => bound.get(&**name).cloned().unwrap_or_else(|| Some(term.clone())),
            Term::App(name, to) => {
                let to: Option<Vec<Term>> = to.iter().map(|t| Self::thing(t, bound)).collect();
                Some(app(name, &to?))
            }
            _ => None,
        }
    }

    /// Returns the truth value of a formula, if the roles alone decide it.
    fn value(&self, term: &Term, bound: &BTreeMap<&str, Option<Term>>, roles: &Roles) -> Option<bool> {
        match term {
            Term::All(of, body) | Term::AllAt(of, body, _) | Term::Any(of, body) => {
                let mut bound = bound.clone();
                bound.extend(of.iter().map(|(name, _)| (name.as_str(), None)));
                self.value(body, &bound, roles)
            }
            Term::App(name, to) => match (&**name, &to[..]) {
                ("true", []) => Some(true),
                ("false", []) => Some(false),
                ("and", parts) => self.all(parts, bound, roles, true),
                ("or", parts) => self.all(parts, bound, roles, false),
                ("not", [of]) => self.value(of, bound, roles).map(|v| !v),
                ("=>", [from, to]) => match (self.value(from, bound, roles), self.value(to, bound, roles)) {
                    (Some(false), _) | (_, Some(true)) => Some(true),
                    (Some(true), Some(false)) => Some(false),
                    _ => None,
                },
                ("=", [Term::App(of, about), Term::App(role, none)])
                    if (&**of == "role" || &**of == "abs.role") && none.is_empty() =>
                {
                    let known = roles.get(&Self::thing(&about[0], bound)?)?;
                    Some(known.as_str() == &**role)
                }
                (name, to) => {
                    let (of, body) = self.0.get(name)?;
                    let given = of.iter().zip(to).map(|((name, _), t)| (name.as_str(), Self::thing(t, bound)));
                    self.value(body, &given.collect(), roles)
                }
            },
        }
    }

    fn all(&self, parts: &[Term], bound: &BTreeMap<&str, Option<Term>>, roles: &Roles, neutral: bool) -> Option<bool> {
        let values: Vec<Option<bool>> = parts.iter().map(|part| self.value(part, bound, roles)).collect();
        if values.contains(&Some(!neutral)) {
            return Some(!neutral);
        }
        values.iter().all(|v| *v == Some(neutral)).then_some(neutral)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::{or, truth};

    #[test]
    fn cases_that_are_false_by_definition_are_left_out() {
        let mut theory = Theory::default();
        let is = |s: &str, role: &str| equal(app("abs.role", [symbol(s)]), symbol(role));
        theory.define("reads", &[("s", ABS)], "Bool", or([is("s", "read"), is("s", "update")]));
        let from = and([app("reads", [symbol("a")]), app("rf", [symbol("b"), symbol("a")])]);
        let question = Obligation::new("", &[("a", ABS), ("b", ABS)], from, truth(false));
        let stands = ["read", "write", "update"].map(|role| (role.to_owned(), format!("the {role}")));
        let all = cases(&theory, &question, &stands.into_iter().collect());
        // The case split has two roles for a and any role for b.
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|case| !case.from.to_string().contains("(abs.role a) write")));
    }
}
