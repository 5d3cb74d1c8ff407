//! Terms of first-order logic: printed as SMT-LIB, and evaluated over finite structures.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::execution::Pairs;
use rustc_hash::FxHashMap;

use crate::error::{Contradiction, contradiction};

/// Prefix of the names of the functions that make tuples.
pub const TUPLE: &str = "tuple.";

/// The integers.
pub const INT: &str = "Int";

/// A bound variable with its sort.
pub type BoundVariable = (String, String);

/// A term; formulas are terms of sort `Bool`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Term {
    /// A symbol, applied to terms or alone.
    App(Arc<str>, Vec<Term>),
    /// A universal formula.
    All(Vec<BoundVariable>, Arc<Term>),
    /// An existential formula.
    Any(Vec<BoundVariable>, Arc<Term>),
    /// A universal formula, to be instantiated where the solver sees the second term.
    AllAt(Vec<BoundVariable>, Arc<Term>, Arc<Term>),
}

/// Makes a symbol.
#[must_use]
pub fn symbol(name: &str) -> Term {
    Term::App(name.into(), Vec::new())
}

impl From<&Term> for Term {
    fn from(term: &Term) -> Self {
        term.clone()
    }
}

/// Applies a symbol.
#[must_use]
pub fn app<T: Into<Term>>(name: &str, to: impl IntoIterator<Item = T>) -> Term {
    Term::App(name.into(), to.into_iter().map(Into::into).collect())
}

/// Makes a truth value.
#[must_use]
pub fn truth(value: bool) -> Term {
    symbol(if value { "true" } else { "false" })
}

fn gathered(name: &str, neutral: bool, parts: impl IntoIterator<Item = Term>) -> Term {
    let mut all: Vec<Term> = Vec::new();
    for part in parts {
        if part == truth(!neutral) {
            return part;
        }
        if part != truth(neutral) && !all.contains(&part) {
            all.push(part);
        }
    }
    match all.len() {
        0 => truth(neutral),
        1 => all.remove(0),
        _ => Term::App(name.into(), all),
    }
}

/// Makes a conjunction.
#[must_use]
pub fn and(parts: impl IntoIterator<Item = Term>) -> Term {
    gathered("and", true, parts)
}

/// Makes a disjunction.
#[must_use]
pub fn or(parts: impl IntoIterator<Item = Term>) -> Term {
    gathered("or", false, parts)
}

/// Makes a negation.
#[must_use]
pub fn not(of: impl Into<Term>) -> Term {
    let of = of.into();
    if of == truth(true) {
        truth(false)
    } else if of == truth(false) {
        truth(true)
    } else {
        app("not", [of])
    }
}

/// Makes an implication.
#[must_use]
pub fn implies(from: Term, to: Term) -> Term {
    if from == truth(true) { to } else { app("=>", [from, to]) }
}

/// Makes an equality.
#[must_use]
pub fn equal(a: impl Into<Term>, b: impl Into<Term>) -> Term {
    let (a, b) = (a.into(), b.into());
    if a == b { truth(true) } else { app("=", [a, b]) }
}

/// Makes the formula "`a` is less than `b`", for integers.
#[must_use]
pub fn less(a: Term, b: Term) -> Term {
    app("<", [a, b])
}

/// Adds a constant to an integer.
#[must_use]
pub fn add(a: Term, k: i64) -> Term {
    let by = symbol(&k.unsigned_abs().to_string());
    match k {
        0 => a,
        1.. => app("+", [a, by]),
        _ => app("-", [a, by]),
    }
}

/// Makes a conditional term: the first term if the condition holds, else the second.
#[must_use]
pub fn choose(condition: Term, then: Term, otherwise: Term) -> Term {
    if then == otherwise { then } else { app("ite", [condition, then, otherwise]) }
}

fn variables(of: &[(&str, &str)]) -> Vec<BoundVariable> {
    of.iter().map(|(name, sort)| ((*name).to_owned(), (*sort).to_owned())).collect()
}

/// Makes a universal formula.
#[must_use]
pub fn all(of: &[(&str, &str)], body: Term) -> Term {
    Term::All(variables(of), Arc::new(body))
}

/// Makes an existential formula.
#[must_use]
pub fn any(of: &[(&str, &str)], body: Term) -> Term {
    Term::Any(variables(of), Arc::new(body))
}

/// Makes a universal formula that a solver instantiates where it sees `pattern`.
#[must_use]
pub fn all_at(of: &[(&str, &str)], body: Term, pattern: Term) -> Term {
    Term::AllAt(variables(of), Arc::new(body), Arc::new(pattern))
}

impl Term {
    /// True if one of these symbols is in it.
    pub(crate) fn mentions(&self, names: &BTreeSet<&str>) -> bool {
        match self {
            Self::App(name, to) => names.contains(&**name) || to.iter().any(|term| term.mentions(names)),
            Self::All(_, body) | Self::Any(_, body) => body.mentions(names),
            Self::AllAt(_, body, pattern) => body.mentions(names) || pattern.mentions(names),
        }
    }

    /// Returns the term with other terms in the place of symbols.
    #[must_use]
    pub fn with(&self, by: &BTreeMap<String, Term>) -> Term {
        match self {
            Self::App(name, to) if to.is_empty() => by.get(&**name).unwrap_or(self).clone(),
            Self::App(name, to) => Self::App(Arc::clone(name), to.iter().map(|t| t.with(by)).collect()),
            Self::All(of, body) => Self::All(of.clone(), body.with(by).into()),
            Self::Any(of, body) => Self::Any(of.clone(), body.with(by).into()),
            Self::AllAt(of, body, at) => Self::AllAt(of.clone(), body.with(by).into(), at.with(by).into()),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |of: &[BoundVariable]| of.iter().map(|(name, sort)| format!("({name} {sort})")).collect::<String>();
        match self {
            Self::App(name, to) if to.is_empty() => f.write_str(name),
            Self::App(name, to) => {
                write!(f, "({name}")?;
                to.iter().try_for_each(|t| write!(f, " {t}"))?;
                f.write_str(")")
            }
            Self::All(of, body) => write!(f, "(forall ({}) {body})", bound(of)),
            Self::Any(of, body) => write!(f, "(exists ({}) {body})", bound(of)),
            Self::AllAt(of, body, at) => write!(f, "(forall ({}) (! {body} :pattern ({at})))", bound(of)),
        }
    }
}

/// A statement: for all elements of some sorts, `from` implies `to`. A known one is an axiom, such as a law of a library
/// below. It is an obligation if a solver has to show it.
#[derive(Clone, Debug)]
pub struct Obligation {
    /// A description in the words of the paper.
    pub name: String,
    /// The variables, with their sorts.
    pub of: Vec<(String, &'static str)>,
    /// Instances of axioms for these variables: they help a solver, and follow from the theory.
    pub hints: Vec<Term>,
    /// The hypothesis, beside the theory.
    pub from: Term,
    /// The goal.
    pub to: Term,
}

impl Obligation {
    /// Makes an obligation without hints.
    #[must_use]
    pub fn new(name: impl Into<String>, of: &[(&str, &'static str)], from: Term, to: Term) -> Self {
        let of = of.iter().map(|(variable, sort)| ((*variable).to_owned(), *sort)).collect();
        Self { name: name.into(), of, hints: Vec::new(), from, to }
    }

    /// Returns the obligation as one closed formula.
    #[must_use]
    pub fn closed(&self) -> Term {
        all(&self.variables(), implies(self.from.clone(), self.to.clone()))
    }

    /// Returns the formula "some elements satisfy this formula about the variables", such as the hypothesis.
    #[must_use]
    pub fn some(&self, formula: &Term) -> Term {
        any(&self.variables(), formula.clone())
    }

    fn variables(&self) -> Vec<(&str, &str)> {
        self.of.iter().map(|(name, sort)| (name.as_str(), *sort)).collect()
    }
}

/// One statement of a theory.
#[derive(Clone, Debug)]
pub enum TheoryStatement {
    /// A heading for the following statements.
    Comment(String),
    /// An uninterpreted sort.
    Sort(String),
    /// A sort with just these elements.
    Elements(String, Vec<String>),
    /// A function that only axioms describe: name, arguments, result.
    Function(String, Vec<String>, String),
    /// A function that is defined: name, arguments, result.
    Definition(String, Vec<BoundVariable>, String, Term),
    /// An axiom, with a description.
    Axiom(String, Term),
}

/// Statements, each of which mentions only earlier ones.
#[derive(Clone, Debug, Default)]
pub struct Theory(pub Vec<TheoryStatement>);

impl Theory {
    /// Adds a heading.
    pub fn comment(&mut self, text: &str) {
        self.0.push(TheoryStatement::Comment(text.to_owned()));
    }

    /// Adds an uninterpreted sort.
    pub fn sort(&mut self, name: &str) {
        self.0.push(TheoryStatement::Sort(name.to_owned()));
    }

    /// Adds a sort with just these elements.
    pub fn elements(&mut self, sort: &str, names: impl IntoIterator<Item = String>) {
        self.0.push(TheoryStatement::Elements(sort.to_owned(), names.into_iter().collect()));
    }

    /// Adds a function or, without arguments, a constant.
    pub fn function(&mut self, name: &str, from: &[&str], to: &str) {
        let from = from.iter().map(|s| (*s).to_owned()).collect();
        self.0.push(TheoryStatement::Function(name.to_owned(), from, to.to_owned()));
    }

    /// Adds a definition.
    pub fn define(&mut self, name: &str, of: &[(&str, &str)], to: &str, body: Term) {
        self.0.push(TheoryStatement::Definition(name.to_owned(), variables(of), to.to_owned(), body));
    }

    /// Adds an axiom.
    pub fn axiom(&mut self, words: &str, body: Term) {
        self.0.push(TheoryStatement::Axiom(words.to_owned(), body));
    }

    /// Adds the axiom that a relation on a sort is irreflexive.
    pub fn irreflexive(&mut self, name: &str, relation: &str, sort: &str) {
        let itself = app(relation, [symbol("a"), symbol("a")]);
        self.axiom(&format!("{name} is irreflexive"), all(&[("a", sort)], not(itself)));
    }

    /// Adds the axiom that a relation on a sort is transitive.
    pub fn transitive(&mut self, name: &str, relation: &str, sort: &str) {
        let related = |a: &str, b: &str| app(relation, [symbol(a), symbol(b)]);
        let path = implies(and([related("a", "b"), related("b", "c")]), related("a", "c"));
        self.axiom(&format!("{name} is transitive"), all(&[("a", sort), ("b", sort), ("c", sort)], path));
    }

    /// Adds the axioms that a relation on a sort is a strict total order.
    pub fn total_order(&mut self, name: &str, relation: &str, sort: &str) {
        self.irreflexive(name, relation, sort);
        self.transitive(name, relation, sort);
        let [a, b] = ["a", "b"].map(symbol);
        let total = or([equal(&a, &b), app(relation, [&a, &b]), app(relation, [&b, &a])]);
        self.axiom(&format!("{name} is total"), all(&[("a", sort), ("b", sort)], total));
    }

    /// Adds a statement as an axiom.
    pub fn assume(&mut self, known: &Obligation) {
        self.axiom(&known.name, known.closed());
    }

    /// Returns the axioms.
    pub fn axioms(&self) -> impl Iterator<Item = (&str, &Term)> {
        self.0
            .iter()
            .filter_map(|s| if let TheoryStatement::Axiom(words, body) = s { Some((&**words, body)) } else { None })
    }
}

/// Returns a text as one comment of SMT-LIB.
fn commented(text: &str) -> String {
    text.lines().map(|line| format!("; {line}\n")).collect()
}

impl fmt::Display for TheoryStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Comment(text) => write!(f, "\n{}", commented(text).trim_end()),
            Self::Sort(name) => write!(f, "(declare-sort {name} 0)"),
            Self::Elements(sort, names) => {
                let names: String = names.iter().map(|name| format!("({name})")).collect();
                write!(f, "(declare-datatypes (({sort} 0)) (({names})))")
            }
            Self::Function(name, from, to) => write!(f, "(declare-fun {name} ({}) {to})", from.join(" ")),
            Self::Definition(name, of, to, body) => {
                let of: String = of.iter().map(|(name, sort)| format!("({name} {sort})")).collect();
                write!(f, "(define-fun {name} ({of}) {to} {body})")
            }
            Self::Axiom(words, body) => write!(f, "{}(assert {body})", commented(words)),
        }
    }
}

impl fmt::Display for Theory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|statement| writeln!(f, "{statement}"))
    }
}

/// The table of a function of a finite structure. Elements are numbers, false is 0 and true is 1.
pub type TableFn<'a> = Box<dyn Fn(&[usize]) -> usize + 'a>;

/// A function with its arguments.
type Applied = (Arc<str>, Vec<usize>);

/// A finite structure: the number of elements of each sort, and the tables of the functions.
#[derive(Default)]
pub struct Structure<'a> {
    sizes: FxHashMap<String, usize>,
    tables: FxHashMap<String, TableFn<'a>>,
    definitions: FxHashMap<String, (Vec<BoundVariable>, Term)>,
    known: RefCell<FxHashMap<Applied, usize>>,
}

impl<'a> Structure<'a> {
    /// Sets the number of elements of a sort.
    pub fn size(&mut self, sort: &str, size: usize) {
        self.sizes.insert(sort.to_owned(), size);
    }

    /// Returns the number of elements of a sort.
    #[cfg(test)]
    pub(crate) fn size_of(&self, sort: &str) -> usize {
        self.sizes.get(sort).copied().unwrap_or(0)
    }

    /// Sets the table of a function.
    pub fn table(&mut self, name: &str, of: impl Fn(&[usize]) -> usize + 'a) {
        self.tables.insert(name.to_owned(), Box::new(of));
    }

    /// Sets the values of a function of one argument.
    pub fn function(&mut self, name: &str, values: Vec<usize>) {
        self.table(name, move |p| values[p[0]]);
    }

    /// Sets the pairs of a relation.
    pub fn relation(&mut self, name: &str, pairs: Pairs) {
        self.table(name, move |p| usize::from(pairs.contains(&(p[0], p[1]))));
    }

    /// Takes the definitions of a theory, and the sorts with known elements.
    pub fn define(&mut self, theory: &Theory) {
        for statement in &theory.0 {
            match statement {
                TheoryStatement::Definition(name, of, _, body) => {
                    self.definitions.insert(name.clone(), (of.clone(), body.clone()));
                }
                TheoryStatement::Elements(sort, names) => {
                    self.size(sort, names.len());
                    for (position, name) in names.iter().enumerate() {
                        self.table(name, move |_| position);
                    }
                }
                _ => {}
            }
        }
    }

    /// True if a function has a table or a definition.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.tables.contains_key(name) || self.definitions.contains_key(name)
    }

    /// Returns whether a closed formula holds.
    ///
    /// # Errors
    /// Names the symbol that the structure does not have.
    pub fn holds(&self, formula: &Term) -> Result<bool, Contradiction> {
        Ok(self.value(formula, &mut Vec::new())? == 1)
    }

    /// Returns the value of a function for these arguments.
    ///
    /// # Errors
    /// Names the symbol that the structure does not have.
    pub fn apply(&self, name: &str, to: &[usize]) -> Result<usize, Contradiction> {
        self.call(&name.into(), to.to_vec())
    }

    /// Returns the pairs of a relation among the first `n` elements.
    ///
    /// # Errors
    /// Names the symbol that the structure does not have.
    pub fn pairs(&self, name: &str, n: usize) -> Result<Pairs, Contradiction> {
        let mut found = Pairs::new();
        for (a, b) in (0..n).cartesian_product(0..n) {
            if self.apply(name, &[a, b])? == 1 {
                found.insert((a, b));
            }
        }
        Ok(found)
    }

    fn call(&self, name: &Arc<str>, to: Vec<usize>) -> Result<usize, Contradiction> {
        if let Some(table) = self.tables.get(&**name) {
            return Ok(table(&to));
        }
        let (of, body) = self.definitions.get(&**name).ok_or_else(|| contradiction!("nothing is known of {name}"))?;
        let key = (Arc::clone(name), to);
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(*known);
        }
        let mut bound = of.iter().map(|(name, _)| name.clone()).zip(key.1.iter().copied()).collect();
        let value = self.value(body, &mut bound)?;
        self.known.borrow_mut().insert(key, value);
        Ok(value)
    }

    fn value(&self, term: &Term, bound: &mut Vec<(String, usize)>) -> Result<usize, Contradiction> {
        match term {
            Term::App(name, to) if to.is_empty() => match &**name {
                "true" => Ok(1),
                "false" => Ok(0),
                _ => match bound.iter().rev().find(|(known, _)| **known == **name) {
                    Some((_, element)) => Ok(*element),
                    None => name.parse::<usize>().or_else(|_| self.call(name, Vec::new())),
                },
            },
            Term::App(name, to) => self.applied(name, to, bound),
            Term::All(of, body) | Term::AllAt(of, body, _) => Ok(1 - self.search(of, body, 0, bound)?),
            Term::Any(of, body) => self.search(of, body, 1, bound),
        }
    }

    fn applied(&self, name: &Arc<str>, to: &[Term], bound: &mut Vec<(String, usize)>) -> Result<usize, Contradiction> {
        match &**name {
            "and" | "or" => {
                let absorbing = usize::from(&**name == "or");
                for part in to {
                    if self.value(part, bound)? == absorbing {
                        return Ok(absorbing);
                    }
                }
                Ok(1 - absorbing)
            }
            "not" => Ok(1 - self.value(&to[0], bound)?),
            "=>" => Ok(if self.value(&to[0], bound)? == 0 { 1 } else { self.value(&to[1], bound)? }),
            "=" => Ok(usize::from(self.value(&to[0], bound)? == self.value(&to[1], bound)?)),
            // Integers are elements of their own, negative ones as large numbers.
            "<" => Ok(usize::from((self.value(&to[0], bound)? as isize) < self.value(&to[1], bound)? as isize)),
            "+" => Ok(self.value(&to[0], bound)?.wrapping_add(self.value(&to[1], bound)?)),
            "-" => Ok(self.value(&to[0], bound)?.wrapping_sub(self.value(&to[1], bound)?)),
            "ite" => {
                let position = if self.value(&to[0], bound)? == 1 { 1 } else { 2 };
                self.value(&to[position], bound)
            }
            _ => {
                let elements: Result<Vec<usize>, Contradiction> = to.iter().map(|t| self.value(t, bound)).collect();
                self.call(name, elements?)
            }
        }
    }

    /// Returns 1 if some elements make the body `wanted`.
    fn search(
        &self,
        of: &[BoundVariable],
        body: &Term,
        wanted: usize,
        bound: &mut Vec<(String, usize)>,
    ) -> Result<usize, Contradiction> {
        let Some(((name, sort), rest)) = of.split_first() else {
            return Ok(usize::from(self.value(body, bound)? == wanted));
        };
        let size = *self.sizes.get(sort).ok_or_else(|| contradiction!("nothing is known of the sort {sort}"))?;
        let place = bound.len();
        bound.push((name.clone(), 0));
        let mut found = Ok(0);
        for element in 0..size {
            bound[place].1 = element;
            found = self.search(rest, body, wanted, bound);
            if found != Ok(0) {
                break;
            }
        }
        bound.truncate(place);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_evaluated_and_printed() {
        let mut theory = Theory::default();
        theory.define(
            "next",
            &[("a", "Sub"), ("b", "Sub")],
            "Bool",
            and([
                app("before", [symbol("a"), symbol("b")]),
                not(any(
                    &[("c", "Sub")],
                    and([app("before", [symbol("a"), symbol("c")]), app("before", [symbol("c"), symbol("b")])]),
                )),
            ]),
        );
        let mut three = Structure::default();
        three.size("Sub", 3);
        three.table("before", |p| usize::from(p[0] < p[1]));
        three.define(&theory);
        assert_eq!(three.apply("next", &[0, 1]), Ok(1));
        assert_eq!(three.apply("next", &[0, 2]), Ok(0));
        let total = all(
            &[("a", "Sub"), ("b", "Sub")],
            or([
                equal(symbol("a"), symbol("b")),
                app("before", [symbol("a"), symbol("b")]),
                app("before", [symbol("b"), symbol("a")]),
            ]),
        );
        assert_eq!(three.holds(&total), Ok(true));
        assert_eq!(total.to_string(), "(forall ((a Sub)(b Sub)) (or (= a b) (before a b) (before b a)))");
        assert!(three.holds(&app("after", &[])).is_err());
    }
}
