//! Ground instances of a theory: of every axiom those that speak of things that are named.
//!
//! What follows from instances follows from the theory, so an answer `unsat` is a proof. They are simplified with what is
//! known of the things that are named, their roles above all, which leaves a solver little to do. A formula with a quantifier inside an
//! axiom becomes an atom, of which one direction is said: what is so for all holds of what is named, and what holds of something
//! that is named is so for some.

use std::collections::BTreeMap;
use std::sync::Arc;

use itertools::Itertools;
use rustc_hash::{FxHashMap, FxHashSet};
use typed_arena::Arena;

use crate::term::{Statement, Term, Theory, Variable, symbol};

/// A term of the arena.
type Id = usize;

const TRUE: Id = 0;
const FALSE: Id = 1;

/// What tells members of a sort apart: the function of their role, that of their call, and that of their node.
const APART: [[&str; 3]; 2] = [["role", "call", "at"], ["abs.role", "abs.call", "abs.at"]];

/// A formula with a quantifier, with what its variables are.
type Place = (usize, Vec<Id>);

/// A quantified formula for which an atom stands.
struct Invented<'a> {
    atom: Id,
    is_some: bool,
    of: &'a [Variable],
    body: &'a Term,
    bound: Vec<(String, Id)>,
    /// What it says of any thing at all: those that say the same are one.
    says: Id,
}

/// Instances of a theory.
pub struct Ground<'a> {
    theory: &'a Theory,
    /// Terms that are given; they are known by where they are.
    terms: &'a Arena<Term>,
    definitions: FxHashMap<&'a str, (&'a [Variable], &'a Term)>,
    /// For predicates of pairs what holds of each of their pairs, for variables `a` and `b`.
    typed: &'a BTreeMap<String, Term>,
    nodes: Vec<(Arc<str>, Vec<Id>)>,
    sizes: Vec<usize>,
    known: FxHashMap<(Arc<str>, Vec<Id>), Id>,
    /// What is known to be equal to something simpler.
    facts: FxHashMap<Id, Id>,
    elements: FxHashSet<Id>,
    named: BTreeMap<String, Vec<Id>>,
    valued: FxHashMap<(usize, Vec<Id>), Id>,
    atoms: FxHashMap<Place, Id>,
    settled: FxHashMap<Place, Id>,
    /// The atoms by what they say of any thing at all.
    alike: FxHashMap<(bool, Id), Id>,
    /// The formulas for which atoms `some.n` stand: whether they say that there is something, their variables, what they
    /// say, and what is bound in them.
    invented: Vec<Invented<'a>>,
    /// How many of them are parts of what is given.
    given: usize,
    /// In how many such variables.
    nesting: usize,
    clauses: Vec<Id>,
    is_false: bool,
}

impl<'a> Ground<'a> {
    /// Nothing named yet. For each predicate in `typed` there is what holds of all of its pairs, by the axioms of the theory.
    #[must_use]
    pub fn new(theory: &'a Theory, typed: &'a BTreeMap<String, Term>, terms: &'a Arena<Term>) -> Self {
        let defined = theory.0.iter().filter_map(|s| match s {
            Statement::Definition(name, of, _, body) => Some((name.as_str(), (&of[..], body))),
            _ => None,
        });
        let mut ground = Self {
            theory,
            terms,
            definitions: defined.collect(),
            typed,
            nodes: Vec::new(),
            sizes: Vec::new(),
            known: FxHashMap::default(),
            facts: FxHashMap::default(),
            elements: FxHashSet::default(),
            named: BTreeMap::new(),
            valued: FxHashMap::default(),
            atoms: FxHashMap::default(),
            settled: FxHashMap::default(),
            alike: FxHashMap::default(),
            invented: Vec::new(),
            given: 0,
            nesting: 0,
            clauses: Vec::new(),
            is_false: false,
        };
        assert_eq!([ground.cons("true", Vec::new()), ground.cons("false", Vec::new())], [TRUE, FALSE]);
        for statement in &theory.0 {
            if let Statement::Elements(_, names) = statement {
                for name in names {
                    let id = ground.cons(name, Vec::new());
                    ground.elements.insert(id);
                }
            }
        }
        ground
    }

    /// Names a thing of a sort.
    pub fn name(&mut self, sort: &str, thing: Term) {
        let id = self.of(thing);
        self.named.entry(sort.to_owned()).or_default().push(id);
    }

    /// Says what holds.
    pub fn given(&mut self, formula: Term) {
        let id = self.of(formula);
        self.assume(id);
    }

    /// Whether a formula is known to hold, or not to hold, without an instance of an axiom.
    pub fn is_known(&mut self, formula: Term) -> Option<bool> {
        match self.of(formula) {
            TRUE => Some(true),
            FALSE => Some(false),
            _ => None,
        }
    }

    /// A closed term, simplified.
    pub fn simplified(&mut self, term: Term) -> Term {
        let id = self.of(term);
        self.term(id)
    }

    /// Whether what is given cannot be.
    #[must_use]
    pub fn is_refuted(&self) -> bool {
        self.is_false
    }

    fn of(&mut self, term: Term) -> Id {
        let term = self.terms.alloc(term);
        self.value(term, &mut Vec::new())
    }

    /// What is there by what is given, or may be: its variable with its sort, what is said of it, and whether it is there for
    /// certain.
    #[must_use]
    pub fn there(&self) -> Vec<(Variable, Term, bool)> {
        let told = self.invented[..self.given].iter().filter(|i| i.is_some && i.of.len() == 1);
        let open = told.filter(|i| self.found(i.atom) != FALSE);
        let said = |i: &Invented<'_>| {
            let bound = i.bound.iter().map(|(name, id)| (name.clone(), self.term(*id))).collect();
            (i.of[0].clone(), i.body.with(&bound), self.found(i.atom) == TRUE)
        };
        open.map(said).collect()
    }

    /// Makes the instances; what follows from them at once is used to simplify the others.
    pub fn instantiate(&mut self) {
        self.given = self.invented.len();
        loop {
            let before = self.facts.len();
            self.pass();
            if self.is_false || self.facts.len() == before {
                break;
            }
        }
    }

    /// Whether a solver is to make the instances of an axiom: there are too many of one about three things.
    fn is_left(&self, axiom: &Term) -> bool {
        matches!(axiom, Term::All(of, body) if of.len() > 2 && !self.mentions_defined(body))
    }

    fn mentions_defined(&self, term: &Term) -> bool {
        match term {
            Term::App(name, to) => self.definitions.contains_key(&**name) || to.iter().any(|t| self.mentions_defined(t)),
            Term::All(..) | Term::Any(..) | Term::AllAt(..) => true,
        }
    }

    /// Makes the instances once.
    fn pass(&mut self) {
        self.valued.clear();
        self.settled.clear();
        let mut seen = FxHashMap::default();
        for id in std::mem::take(&mut self.clauses) {
            let id = self.again(id, &mut seen);
            self.assume(id);
        }
        self.alike.clear();
        for i in 0..self.invented.len() {
            let says = self.again(self.invented[i].says, &mut seen);
            let (is_some, atom) = (self.invented[i].is_some, self.invented[i].atom);
            let first = *self.alike.entry((is_some, says)).or_insert(atom);
            self.learn(first, atom);
        }
        let mut named = std::mem::take(&mut self.named);
        for things in named.values_mut() {
            for thing in things.iter_mut() {
                *thing = self.again(*thing, &mut seen);
            }
            things.sort_unstable();
            things.dedup();
        }
        self.named.clone_from(&named);
        let theory = self.theory;
        for (_, axiom) in theory.axioms() {
            let (of, body): (&[Variable], &Term) = match axiom {
                Term::All(of, body) | Term::AllAt(of, body, _) => (of, body),
                other => (&[], other),
            };
            if self.is_left(axiom) {
                continue;
            }
            let none = Vec::new();
            let things = of.iter().map(|(_, sort)| named.get(sort).unwrap_or(&none).iter().copied());
            let tuples: Vec<Vec<Id>> =
                if of.is_empty() { vec![Vec::new()] } else { things.multi_cartesian_product().collect() };
            for tuple in tuples {
                let mut bound = of.iter().map(|(name, _)| name.as_str()).zip(tuple).collect();
                let id = self.value(body, &mut bound);
                self.assume(id);
                if self.is_false {
                    return;
                }
            }
        }
    }

    /// A term with what has become known since.
    fn again(&mut self, id: Id, seen: &mut FxHashMap<Id, Id>) -> Id {
        if let Some(known) = seen.get(&id) {
            return *known;
        }
        let (name, to) = self.nodes[id].clone();
        let to: Vec<Id> = to.into_iter().map(|t| self.again(t, seen)).collect();
        let now = self.make(&name, to);
        seen.insert(id, now);
        now
    }

    fn assume(&mut self, id: Id) {
        let (name, to) = self.nodes[id].clone();
        match (&*name, &to[..]) {
            ("true", _) => {}
            ("false", _) => self.is_false = true,
            ("and", parts) => parts.iter().for_each(|part| self.assume(*part)),
            ("not", [of]) => match &*self.nodes[*of].0 {
                "or" => {
                    for part in self.nodes[*of].1.clone() {
                        let opposite = self.make("not", vec![part]);
                        self.assume(opposite);
                    }
                }
                _ => self.learn(*of, FALSE),
            },
            ("=", [a, b]) => self.learn(*a, *b),
            ("or", _) | ("ite", _) => self.clauses.push(id),
            _ => self.learn(id, TRUE),
        }
    }

    fn learn(&mut self, a: Id, b: Id) {
        let (a, b) = (self.found(a), self.found(b));
        if a == b {
            return;
        }
        let is_fixed = |of: Id| of <= FALSE || self.elements.contains(&of);
        let key = |of: Id| (!is_fixed(of), self.sizes[of], of);
        let (small, large) = if key(a) < key(b) { (a, b) } else { (b, a) };
        if is_fixed(large) {
            self.is_false = true;
        } else {
            self.facts.insert(large, small);
        }
    }

    fn cons(&mut self, name: &str, to: Vec<Id>) -> Id {
        let key = (Arc::from(name), to);
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.nodes.len();
        self.sizes.push(1 + key.1.iter().map(|t| self.sizes[*t]).sum::<usize>());
        self.nodes.push(key.clone());
        self.known.insert(key, id);
        id
    }

    /// What is known of a term instead.
    fn found(&self, mut id: Id) -> Id {
        while let Some(next) = self.facts.get(&id) {
            id = *next;
        }
        id
    }

    fn make(&mut self, name: &str, to: Vec<Id>) -> Id {
        match (name, &to[..]) {
            ("and", parts) => self.gathered("and", TRUE, FALSE, parts),
            ("or", parts) => self.gathered("or", FALSE, TRUE, parts),
            ("not", [TRUE]) => FALSE,
            ("not", [FALSE]) => TRUE,
            ("not", [of]) => {
                let (inner, parts) = self.nodes[*of].clone();
                match &*inner {
                    "not" => parts[0],
                    "and" => {
                        let parts: Vec<Id> = parts.into_iter().map(|p| self.make("not", vec![p])).collect();
                        self.make("or", parts)
                    }
                    _ => self.cons("not", to),
                }
            }
            ("=>", [from, then]) => {
                let not = self.make("not", vec![*from]);
                self.make("or", vec![not, *then])
            }
            ("=", [a, b]) => self.equal(*a, *b),
            ("ite", [TRUE, then, _]) => *then,
            ("ite", [FALSE, _, other]) => *other,
            ("ite", [_, then, other]) if then == other => *then,
            _ => {
                if let (Some(may), [a, b]) = (self.typed.get(name), &to[..]) {
                    let mut bound = vec![("a", *a), ("b", *b)];
                    if self.value(may, &mut bound) == FALSE {
                        return FALSE;
                    }
                }
                let id = self.cons(name, to);
                self.found(id)
            }
        }
    }

    fn gathered(&mut self, name: &str, neutral: Id, absorbing: Id, parts: &[Id]) -> Id {
        let mut all: Vec<Id> = Vec::new();
        for part in parts {
            match *part {
                id if id == neutral => {}
                id if id == absorbing => return absorbing,
                id if *self.nodes[id].0 == *name => all.extend(&self.nodes[id].1),
                id => all.push(id),
            }
        }
        all.sort_unstable();
        all.dedup();
        let opposite = |id: &Id| matches!(&self.nodes[*id], (n, of) if &**n == "not" && all.binary_search(&of[0]).is_ok());
        match all.len() {
            0 => neutral,
            1 => all[0],
            _ if all.iter().any(opposite) => absorbing,
            _ => self.cons(name, all),
        }
    }

    fn equal(&mut self, a: Id, b: Id) -> Id {
        if a == b {
            return TRUE;
        }
        if a <= FALSE || b <= FALSE {
            let other = a.max(b);
            return match a.min(b) {
                // One of them is a formula.
                TRUE => other,
                _ => self.make("not", vec![other]),
            };
        }
        if self.elements.contains(&a) && self.elements.contains(&b) {
            return FALSE;
        }
        let kinds = [a, b].map(|s| self.told("kind", s));
        if let [Some(x), Some(y)] = kinds
            && x != y
        {
            return FALSE;
        }
        for [role, call, at] in APART {
            let [Some(x), Some(y)] = [a, b].map(|s| self.told(role, s)) else { continue };
            if x != y {
                return FALSE;
            }
            let calls = [a, b].map(|s| self.make(call, vec![s]));
            let places = [a, b].map(|s| self.make(at, vec![s]));
            let (calls, places) = (self.equal(calls[0], calls[1]), self.equal(places[0], places[1]));
            return if calls == TRUE && places == TRUE { TRUE } else { self.gathered("and", TRUE, FALSE, &[calls, places]) };
        }
        let id = self.cons("=", vec![a.min(b), a.max(b)]);
        self.found(id)
    }

    /// The element that a function is known to have.
    fn told(&self, function: &str, of: Id) -> Option<Id> {
        let id = *self.known.get(&(Arc::from(function), vec![of]))?;
        let found = self.found(id);
        self.elements.contains(&found).then_some(found)
    }

    fn value(&mut self, term: &'a Term, bound: &mut Vec<(&'a str, Id)>) -> Id {
        match term {
            Term::App(name, to) if to.is_empty() => match bound.iter().rev().find(|(known, _)| **known == **name) {
                Some((_, id)) => self.found(*id),
                None => self.make(name, Vec::new()),
            },
            Term::App(name, to) => self.applied(name, to, bound),
            Term::All(of, body) | Term::AllAt(of, body, _) => self.quantified(term, of, body, FALSE, bound),
            Term::Any(of, body) => self.quantified(term, of, body, TRUE, bound),
        }
    }

    fn applied(&mut self, name: &'a str, to: &'a [Term], bound: &mut Vec<(&'a str, Id)>) -> Id {
        let stop = match name {
            "and" => FALSE,
            "or" => TRUE,
            _ => usize::MAX,
        };
        let mut parts = Vec::with_capacity(to.len());
        for (position, part) in to.iter().enumerate() {
            let id = self.value(part, bound);
            if id == stop || (name == "=>" && position == 0 && id == FALSE) {
                return if name == "=>" { TRUE } else { stop };
            }
            parts.push(id);
        }
        let Some(&(of, body)) = self.definitions.get(name) else { return self.make(name, parts) };
        let key = (std::ptr::from_ref(body) as usize, parts);
        if let Some(known) = self.valued.get(&key) {
            return *known;
        }
        let mut inner = of.iter().map(|(name, _)| name.as_str()).zip(key.1.iter().copied()).collect();
        let id = self.value(body, &mut inner);
        self.valued.insert(key, id);
        id
    }

    /// A formula with a quantifier: settled by one instance, or else an atom with its instances.
    fn quantified(
        &mut self,
        term: &'a Term,
        of: &'a [Variable],
        body: &'a Term,
        settles: Id,
        bound: &mut Vec<(&'a str, Id)>,
    ) -> Id {
        let place: Place = (std::ptr::from_ref(term) as usize, bound.iter().map(|(_, id)| *id).collect());
        if let Some(known) = self.settled.get(&place) {
            return *known;
        }
        let none = Vec::new();
        let things: Vec<Vec<Id>> =
            of.iter().map(|(_, sort)| self.named.get(sort).unwrap_or(&none).clone()).collect();
        let mut instances = Vec::new();
        for tuple in things.into_iter().multi_cartesian_product() {
            let before = bound.len();
            bound.extend(of.iter().map(|(name, _)| name.as_str()).zip(tuple));
            let id = self.value(body, bound);
            bound.truncate(before);
            if id == settles {
                self.settled.insert(place, settles);
                return settles;
            }
            instances.push(id);
        }
        let atom = match self.atoms.get(&place) {
            Some(atom) => *atom,
            None => {
                let atom = self.invent(of, body, settles == TRUE, bound);
                self.atoms.insert(place.clone(), atom);
                atom
            }
        };
        let known = self.found(atom);
        self.settled.insert(place, known);
        for instance in instances {
            let clause = if settles == TRUE {
                self.make("=>", vec![instance, known])
            } else {
                self.make("=>", vec![known, instance])
            };
            self.assume(clause);
        }
        known
    }

    /// The atom for a formula: one that is there already if it says the same.
    fn invent(&mut self, of: &'a [Variable], body: &'a Term, is_some: bool, bound: &mut Vec<(&'a str, Id)>) -> Id {
        let before = bound.len();
        for (position, (name, sort)) in of.iter().enumerate() {
            let any = self.cons(&format!("any.{sort}.{}", self.nesting + position), Vec::new());
            bound.push((name, any));
        }
        self.nesting += of.len();
        let says = self.value(body, bound);
        self.nesting -= of.len();
        bound.truncate(before);
        if let Some(atom) = self.alike.get(&(is_some, says)) {
            return *atom;
        }
        let atom = self.cons(&format!("some.{}", self.invented.len()), Vec::new());
        let bound = bound.iter().map(|(name, id)| ((*name).to_owned(), *id)).collect();
        self.invented.push(Invented { atom, is_some, of, body, bound, says });
        self.alike.insert((is_some, says), atom);
        atom
    }

    fn term(&self, id: Id) -> Term {
        let (name, to) = &self.nodes[id];
        Term::App(Arc::clone(name), to.iter().map(|t| self.term(*t)).collect())
    }

    /// The instances as a theory without quantifiers. `constants` are those that are named beside the functions of the theory.
    #[must_use]
    pub fn theory(&self, constants: &[(String, String)]) -> Theory {
        let mut theory = Theory::default();
        let of_sorts = self.theory.0.iter().filter(|s| matches!(s, Statement::Sort(_) | Statement::Elements(..)));
        theory.0.extend(of_sorts.cloned());
        theory.0.extend(self.theory.0.iter().filter(|s| matches!(s, Statement::Function(..))).cloned());
        for (name, sort) in constants {
            theory.function(name, &[], sort);
        }
        for n in 0..self.invented.len() {
            theory.function(&format!("some.{n}"), &[], "Bool");
        }
        // Nothing is said of them.
        let any = self.nodes.iter().filter_map(|(name, _)| Some((name, name.strip_prefix("any.")?.split_once('.')?.0)));
        any.for_each(|(name, sort)| theory.function(name, &[], sort));
        if self.is_false {
            theory.axiom("what is given cannot be", symbol("false"));
            return theory;
        }
        for (from, to) in self.facts.iter().sorted() {
            let axiom = match *to {
                TRUE => self.term(*from),
                FALSE => crate::term::not(self.term(*from)),
                to => crate::term::equal(self.term(*from), self.term(to)),
            };
            theory.0.push(Statement::Axiom(String::new(), axiom));
        }
        theory.0.extend(self.theory.axioms().filter(|(_, axiom)| self.is_left(axiom)).map(|(words, axiom)| {
            Statement::Axiom(words.to_owned(), axiom.clone())
        }));
        for clause in self.clauses.iter().sorted().dedup() {
            theory.0.push(Statement::Axiom(String::new(), self.term(*clause)));
        }
        theory
    }
}
