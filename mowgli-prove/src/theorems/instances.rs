//! Instances of a theory for one question: without quantifiers, a solver decides what remains.
//!
//! The pool has the constants of the question, witnesses of its existential hypotheses, terms from its author, and what
//! functions make of these. A universal statement is instantiated for the whole pool. An existential one is dropped
//! unless the question makes it. So each instance follows from the theory, and if the instances contradict one another,
//! the theory is inconsistent with the negated question.

use std::collections::BTreeMap;

use crate::smt::term::{
    BoundVariable, Obligation, Term, Theory, TheoryStatement, and, app, implies, not, or, symbol, truth,
};

/// A rule for the pool: from each term of the first sort the function makes a term of the second.
pub type Derived = (&'static str, &'static str, &'static str);

struct Instances {
    definitions: BTreeMap<String, (Vec<BoundVariable>, Term)>,
    pool: BTreeMap<String, Vec<Term>>,
    fresh: Vec<(String, String)>,
    opened: usize,
}

fn has_quantifier(term: &Term, known: &BTreeMap<String, (Vec<BoundVariable>, Term)>) -> bool {
    match term {
        Term::App(name, to) => known.contains_key(&**name) || to.iter().any(|t| has_quantifier(t, known)),
        _ => true,
    }
}

impl Instances {
    fn add(&mut self, term: Term, sort: &str) {
        let pool = self.pool.entry(sort.to_owned()).or_default();
        if !pool.contains(&term) {
            pool.push(term);
        }
    }

    /// Returns all assignments of members of the pool to these variables.
    fn chosen(&self, of: &[BoundVariable]) -> Vec<BTreeMap<String, Term>> {
        let mut all = vec![BTreeMap::new()];
        for (name, sort) in of {
            let pool = self.pool.get(sort).map_or(&[][..], Vec::as_slice);
            let with = |known: &BTreeMap<String, Term>| {
                let known = known.clone();
                pool.iter().map(move |t| {
                    let mut known = known.clone();
                    known.insert(name.clone(), t.clone());
                    known
                })
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    }

    /// Makes constants for the witnesses of an existential statement.
    fn named(&mut self, of: &[BoundVariable]) -> BTreeMap<String, Term> {
        let mut all = BTreeMap::new();
        for (name, sort) in of {
            self.opened += 1;
            let constant = format!("there.{}", self.opened);
            if !self.fresh.iter().any(|(known, _)| *known == constant) {
                self.fresh.push((constant.clone(), sort.clone()));
            }
            self.add(symbol(&constant), sort);
            all.insert(name.clone(), symbol(&constant));
        }
        all
    }

    /// Returns the instances of a statement: a consequence of it if it is `positive`, and otherwise a formula that
    /// implies it. If `open`, its existential statements get constants as witnesses.
    fn of(&mut self, term: &Term, positive: bool, open: bool) -> Term {
        match term {
            Term::App(name, to) => match (&**name, to.as_slice()) {
                ("and", all) => and(all.iter().map(|t| self.of(t, positive, open)).collect::<Vec<_>>()),
                ("or", all) => or(all.iter().map(|t| self.of(t, positive, open)).collect::<Vec<_>>()),
                ("not", [of]) => not(self.of(of, !positive, open)),
                ("=>", [from, to]) => implies(self.of(from, !positive, open), self.of(to, positive, open)),
                (name, to) => match self.definitions.get(name).cloned() {
                    Some((of, body)) if positive && open => {
                        let by = of.into_iter().map(|(name, _)| name).zip(to.iter().cloned()).collect();
                        and([term.clone(), self.of(&body.with(&by), positive, open)])
                    }
                    _ => term.clone(),
                },
            },
            Term::All(of, body) | Term::AllAt(of, body, _) => self.quantified(of, body, true, (positive, open)),
            Term::Any(of, body) => self.quantified(of, body, false, (positive, open)),
        }
    }

    fn quantified(&mut self, of: &[BoundVariable], body: &Term, for_all: bool, (positive, open): (bool, bool)) -> Term {
        if for_all == positive {
            let all: Vec<Term> = self.chosen(of).iter().map(|by| self.of(&body.with(by), positive, open)).collect();
            return if for_all { and(all) } else { or(all) };
        }
        if open {
            let by = self.named(of);
            return self.of(&body.with(&by), positive, open);
        }
        truth(positive)
    }
}

/// Returns the theory without quantifiers, and the question. The pool has `with` beside the terms of the question, and
/// is closed under `derived`.
#[must_use]
pub fn instances(
    theory: &Theory,
    question: &Obligation,
    with: &[(Term, &'static str)],
    derived: &[Derived],
) -> (Theory, Obligation) {
    let mut definitions = BTreeMap::new();
    for statement in &theory.0 {
        if let TheoryStatement::Definition(name, of, _, body) = statement
            && has_quantifier(body, &definitions)
        {
            definitions.insert(name.clone(), (of.clone(), body.clone()));
        }
    }
    let mut made = Instances { definitions, pool: BTreeMap::new(), fresh: Vec::new(), opened: 0 };
    question.of.iter().for_each(|(name, sort)| made.add(symbol(name), sort));
    with.iter().for_each(|(term, sort)| made.add(term.clone(), sort));
    let derive = |made: &mut Instances| {
        for (from, function, to) in derived {
            let all = made.pool.get(*from).cloned().unwrap_or_default();
            all.iter().for_each(|t| made.add(app(function, [t]), to));
        }
    };
    // The first pass collects the witnesses; the second one uses all of them.
    made.of(&question.from, true, true);
    made.of(&question.to, false, true);
    derive(&mut made);
    made.opened = 0;
    let from = made.of(&question.from, true, true);
    let to = made.of(&question.to, false, true);
    let mut ground = Theory::default();
    let mut halves = Vec::new();
    for statement in &theory.0 {
        match statement {
            TheoryStatement::Axiom(words, body) => match made.of(body, true, false) {
                body if body == truth(true) => {}
                Term::App(name, parts) if &*name == "and" => {
                    parts.into_iter().for_each(|part| ground.axiom(words, part));
                }
                body => ground.axiom(words, body),
            },
            // A definition with quantifiers becomes a predicate with two axioms, one for each direction.
            TheoryStatement::Definition(name, of, to, body) if made.definitions.contains_key(name) => {
                let sorts: Vec<&str> = of.iter().map(|(_, sort)| sort.as_str()).collect();
                ground.function(name, &sorts, to);
                let is = Term::App(name.as_str().into(), of.iter().map(|(name, _)| symbol(name)).collect());
                halves.extend(
                    [implies(is.clone(), body.clone()), implies(body.clone(), is)]
                        .map(|half| (name.clone(), Term::All(of.clone(), half.into()))),
                );
            }
            other => ground.0.push(other.clone()),
        }
    }
    for (name, half) in halves {
        let half = made.of(&half, true, false);
        if half != truth(true) {
            ground.axiom(&format!("what {name} is"), half);
        }
    }
    // Sort declarations to the front, because solvers read a symbol only after its declaration.
    let constants = question.of.iter().map(|(name, sort)| (name.clone(), (*sort).to_owned())).chain(made.fresh);
    let constants: Vec<TheoryStatement> =
        constants.map(|(name, sort)| TheoryStatement::Function(name, Vec::new(), sort)).collect();
    let (said, declared): (Vec<TheoryStatement>, Vec<TheoryStatement>) =
        ground.0.into_iter().partition(|s| matches!(s, TheoryStatement::Axiom(..)));
    let ground = Theory(declared.into_iter().chain(constants).chain(said).collect());
    (ground, Obligation::new(&*question.name, &[], from, to))
}
