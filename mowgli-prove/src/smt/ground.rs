//! Ground instances of a theory for the terms that a case names.
//!
//! **Computes**: a theory without quantifiers, from the axioms of a [`PreparedTheory`] theory, the named terms and the given
//! formulas. It leaves to the solver only the axioms in [`PreparedTheory::left`].
//!
//! **Invariant**: every clause and fact follows from the theory and the given formulas. A quantified formula inside an
//! axiom becomes an atom p, of which only one direction is said. If p stands for "for all x, f(x)", then p implies f(t)
//! for each named t. If p stands for "some x has f(x)", then f(t) implies p.
//!
//! **Example**: from "every call with p has q" and the given p(c), the instance for c yields the fact q(c). No instance
//! is about a call d without a name, so q(d) does not follow (test `an_axiom_is_instantiated_for_what_is_named`).
//!
//! **Correct because**: instances follow from the theory, so `unsat` is a proof; `sat` means nothing. The test
//! `instances_hold_in_every_execution` evaluates the instances in executions that the judge accepts.
//!
//! **Cost**: an axiom over n variables has one instance for each n-tuple of named terms of its sorts. Known roles keep
//! them small: they decide equalities and most disjuncts at once. Instances are made again only while the number of
//! facts grows by more than 1/16.

use std::collections::BTreeMap;
use std::sync::Arc;

use itertools::Itertools;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::smt::prepared::{
    AND, ByCase, EQUAL, FALSE as NO, IMPLIES, ITE, NOT, OR, PreparedTheory, Quantified, Symbol, SymbolNames,
    TRUE as YES, TermCode,
};
use crate::smt::term::{BoundVariable, TUPLE, Term, Theory, TheoryStatement, app, equal, not, symbol, truth};

/// A term without variables.
type TermId = usize;

/// The arguments of a symbol. Most symbols take at most two.
type Ids = SmallVec<[TermId; 3]>;

// The first two terms, because their symbols are the first two.
const TRUE: TermId = YES;
const FALSE: TermId = NO;

/// The functions that identify an element of a sort: its role, and then its call and its indices. A theory may lack
/// some.
const APART: [(&str, [&str; 4]); 2] =
    [("role", ["call", "at", "member", "round"]), ("abs.role", ["abs.call", "abs.at", "abs.member", "abs.round"])];

/// The growth below which another pass does not pay: this fraction of the known facts.
const LITTLE: usize = 16;

/// A quantified formula for which an atom stands.
#[derive(Clone)]
struct Atom {
    atom: TermId,
    formula: Arc<Quantified>,
    around: Ids,
    /// The arbitrary elements for its variables. The formula says nothing else about them.
    own: Ids,
    /// The body of the formula for these elements. Formulas with equal bodies for the same elements share an atom.
    says: TermId,
    /// True if the formula is a part of a given one.
    is_given: bool,
}

/// Returns the value of a formula whose body has this value for arbitrary elements. The other value for one tuple of elements
/// settles the formula.
fn unless_settled(formula: &Quantified) -> TermId {
    if formula.is_some { FALSE } else { TRUE }
}

/// Instances of a theory. After more terms are named or formulas given, only the new instances are made.
#[derive(Clone)]
pub struct Ground<'a> {
    ready: &'a PreparedTheory,
    names: SymbolNames,
    places: usize,
    apart: Vec<(Symbol, Vec<Symbol>)>,
    kind: Symbol,
    /// The functions that make tuples.
    tuples: FxHashSet<Symbol>,
    nodes: Vec<(Symbol, Ids)>,
    sizes: Vec<usize>,
    /// One more than the largest number of an arbitrary element in each term; 0 if there is none.
    levels: Vec<usize>,
    known: FxHashMap<(Symbol, Ids), TermId>,
    /// The terms with one argument.
    of_one: FxHashMap<(Symbol, TermId), TermId>,
    /// Rewrite rules: from a term to a simpler one that is equal to it.
    facts: FxHashMap<TermId, TermId>,
    elements: FxHashSet<TermId>,
    named: BTreeMap<String, Vec<TermId>>,
    /// The named terms that have their instances.
    instantiated: FxHashSet<TermId>,
    /// The values of definitions, by their arguments.
    defined: FxHashMap<(usize, Ids), TermId>,
    /// The values of quantified formulas, by their places and the terms bound around them.
    settled: FxHashMap<(usize, Ids), TermId>,
    atoms: Vec<Atom>,
    /// The positions of the atoms of formulas, by their places and the terms bound around them.
    at_place: FxHashMap<(usize, Ids), usize>,
    /// The first atom of each quantifier, arbitrary elements and body.
    alike: FxHashMap<(bool, Ids, TermId), TermId>,
    /// True while a given formula is being read.
    is_giving: bool,
    /// The arbitrary elements, with their sorts. Nothing is known of them.
    anything: Vec<(TermId, String)>,
    clauses: Vec<TermId>,
    is_false: bool,
    /// The instances that were made, as text, if they are recorded.
    made: Option<Vec<String>>,
}

impl<'a> Ground<'a> {
    /// Returns the instances for an empty set of named terms.
    #[must_use]
    pub fn new(ready: &'a PreparedTheory) -> Self {
        let mut names = ready.names.clone();
        let mut symbols = |(role, of): (&str, [&str; 4])| {
            let there = of.into_iter().filter(|name| ready.has_function(name));
            (names.of(role), there.map(|name| names.of(name)).collect())
        };
        let apart = APART.map(&mut symbols).to_vec();
        let kind = names.of("kind");
        let tuples = names.beginning_with(TUPLE).collect();
        let mut ground = Self {
            ready,
            names,
            tuples,
            places: 0,
            apart,
            kind,
            nodes: Vec::new(),
            sizes: Vec::new(),
            levels: Vec::new(),
            known: FxHashMap::default(),
            of_one: FxHashMap::default(),
            facts: FxHashMap::default(),
            elements: FxHashSet::default(),
            named: BTreeMap::new(),
            instantiated: FxHashSet::default(),
            defined: FxHashMap::default(),
            settled: FxHashMap::default(),
            atoms: Vec::new(),
            at_place: FxHashMap::default(),
            alike: FxHashMap::default(),
            is_giving: false,
            anything: Vec::new(),
            clauses: Vec::new(),
            is_false: false,
            made: None,
        };
        assert_eq!([YES, NO].map(|truth| ground.cons(truth, Ids::new())), [TRUE, FALSE]);
        for element in ready.elements.iter().sorted() {
            let id = ground.cons(*element, Ids::new());
            ground.elements.insert(id);
        }
        ground
    }

    /// Returns the same, with a record of the instances if `is_recorded`. [`Self::theory`] prints it.
    #[must_use]
    pub fn recording(self, is_recorded: bool) -> Self {
        Self { made: is_recorded.then(Vec::new), ..self }
    }

    /// Records an instance: an axiom, or an atom for a quantified formula, with terms for its variables.
    fn record(&mut self, name: &str, of: &[BoundVariable], tuple: &[TermId]) {
        if self.made.is_some() {
            let terms = of.iter().zip(tuple).map(|((variable, _), id)| format!("{variable} = {}", self.term(*id)));
            let line = format!("{name}: {}", terms.format(", "));
            self.made.iter_mut().for_each(|made| made.push(line.clone()));
        }
    }

    /// Names a term of a sort.
    pub fn name(&mut self, sort: &str, thing: &Term) {
        let id = self.of(thing);
        self.named.entry(sort.to_owned()).or_default().push(id);
    }

    /// Assumes a formula.
    pub fn given(&mut self, formula: &Term) {
        self.is_giving = true;
        let id = self.of(formula);
        self.is_giving = false;
        self.assume(id);
    }

    /// True if a term of a sort has been named.
    pub fn is_named(&mut self, sort: &str, thing: &Term) -> bool {
        let id = self.of(thing);
        self.named.get(sort).is_some_and(|named| named.contains(&id))
    }

    /// Returns a copy for additions.
    #[must_use]
    pub fn continued(&self) -> Self {
        let mut ground = self.clone();
        ground.forget();
        ground
    }

    /// Forgets values that were computed when less was known.
    fn forget(&mut self) {
        self.defined.clear();
        self.settled.clear();
    }

    /// Returns the truth value of a formula, if it is known.
    pub fn is_known(&mut self, formula: &Term) -> Option<bool> {
        match self.of(formula) {
            TRUE => Some(true),
            FALSE => Some(false),
            _ => None,
        }
    }

    /// Returns a closed term, simplified.
    pub fn simplified(&mut self, term: &Term) -> Term {
        let id = self.of(term);
        self.term(id)
    }

    /// True if the given formulas contradict the theory.
    #[must_use]
    pub fn is_refuted(&self) -> bool {
        self.is_false
    }

    /// Returns the elements that exist, or may exist, by the given formulas. Each statement has its variables with their
    /// sorts, and true if such elements certainly exist.
    #[must_use]
    pub fn there(&self) -> Vec<(Vec<BoundVariable>, Term, bool)> {
        let reported = self.atoms.iter().filter(|a| a.is_given && a.formula.is_some);
        // A formula about an arbitrary element is skipped, because its witness is not a definite element.
        let open = reported.filter(|a| self.found(a.atom) != FALSE && a.around.iter().all(|id| self.levels[*id] == 0));
        let said = |a: &Atom| {
            let around = a.formula.around.iter().cloned().zip(a.around.iter().map(|id| self.term(*id))).collect();
            (a.formula.of.clone(), a.formula.written.with(&around), self.found(a.atom) == TRUE)
        };
        open.map(said).collect()
    }

    /// Makes the instances. Facts that follow from them at once simplify the other instances.
    pub fn instantiate(&mut self) {
        loop {
            let before = self.facts.len();
            self.pass();
            // Stop here, because a solver learns the rest faster than further passes.
            if self.is_false || self.facts.len() - before <= before / LITTLE {
                break;
            }
        }
    }

    fn of(&mut self, term: &Term) -> TermId {
        let code = self.ready.reader_with(&mut self.names, &mut self.places).read(term, &mut Vec::new());
        self.value(&code, &mut Ids::new())
    }

    /// Makes the missing instances once, after it has simplified the present ones.
    fn pass(&mut self) {
        self.forget();
        self.alike.clear();
        let mut seen = FxHashMap::default();
        // A rule for a larger term also holds for the term that it simplifies to.
        for (id, to) in self.facts.iter().map(|(id, to)| (*id, *to)).sorted().collect::<Vec<_>>() {
            let now = self.again(id, &mut seen);
            self.learn(now, to);
        }
        for id in std::mem::take(&mut self.clauses) {
            let id = self.again(id, &mut seen);
            self.assume(id);
        }
        for i in 0..self.atoms.len() {
            let says = self.again(self.atoms[i].says, &mut seen);
            let (formula, atom) = (Arc::clone(&self.atoms[i].formula), self.atoms[i].atom);
            if says == unless_settled(&formula) {
                self.learn(atom, says);
            }
            let key = (formula.is_some, self.atoms[i].own.clone(), says);
            let first = *self.alike.entry(key).or_insert(atom);
            self.learn(first, atom);
            let around: Ids = self.atoms[i].around.clone().into_iter().map(|id| self.again(id, &mut seen)).collect();
            self.at_place.insert((formula.place, around.clone()), i);
            self.atoms[i].around = around;
        }
        let mut named = std::mem::take(&mut self.named);
        for things in named.values_mut() {
            for thing in things.iter_mut() {
                *thing = self.again(*thing, &mut seen);
            }
            things.sort_unstable();
            things.dedup();
        }
        let is_first = self.instantiated.is_empty();
        let old = std::mem::take(&mut self.instantiated).into_iter();
        self.instantiated = old.map(|thing| self.again(thing, &mut seen)).collect();
        self.named = named;
        if is_first || self.named.values().flatten().any(|thing| !self.instantiated.contains(thing)) {
            self.instances(is_first);
            self.instantiated.extend(self.named.values().flatten());
        }
    }

    /// Makes the missing instances of the formulas with atoms, and of the axioms.
    fn instances(&mut self, is_first: bool) {
        for i in 0..self.atoms.len() {
            let (formula, mut around) = (Arc::clone(&self.atoms[i].formula), self.atoms[i].around.clone());
            let tuples = self.new_tuples(formula.of.iter().map(|(_, sort)| sort));
            self.quantified_over(&formula, &mut around, tuples);
        }
        let ready = self.ready;
        for axiom in &ready.axioms {
            let sorts = axiom.of.iter().map(|(_, sort)| sort);
            let tuples = if axiom.of.is_empty() && is_first { vec![Ids::new()] } else { self.new_tuples(sorts) };
            for mut tuple in tuples {
                if axiom.case.is_some_and(|(function, element)| self.is_other(function, tuple[0], element)) {
                    continue;
                }
                let id = self.value(&axiom.body, &mut tuple);
                if id != TRUE {
                    self.record(&axiom.name, &axiom.of, &tuple);
                }
                self.assume(id);
                if self.is_false {
                    return;
                }
            }
        }
    }

    /// Returns the tuples of named terms of these sorts with at least one term that has no instances yet.
    fn new_tuples<'s>(&self, sorts: impl IntoIterator<Item = &'s String>) -> Vec<Ids> {
        let is_new = |tuple: &Ids| tuple.iter().any(|thing| !self.instantiated.contains(thing));
        self.tuples(sorts).into_iter().filter(is_new).collect()
    }

    /// Returns the tuples of named terms of these sorts.
    fn tuples<'s>(&self, sorts: impl IntoIterator<Item = &'s String>) -> Vec<Ids> {
        let none = Vec::new();
        let things = sorts.into_iter().map(|sort| self.named.get(sort).unwrap_or(&none).iter().copied());
        things.multi_cartesian_product().map(Ids::from_vec).collect()
    }

    /// Returns a term, simplified by the facts learned since it was made.
    fn again(&mut self, id: TermId, seen: &mut FxHashMap<TermId, TermId>) -> TermId {
        if let Some(known) = seen.get(&id) {
            return *known;
        }
        let (name, to) = self.nodes[id].clone();
        let to: Ids = to.into_iter().map(|t| self.again(t, seen)).collect();
        let now = self.make(name, to);
        seen.insert(id, now);
        now
    }

    fn assume(&mut self, id: TermId) {
        if [OR, ITE].contains(&self.nodes[id].0) {
            self.clauses.push(id);
            return;
        }
        let (name, to) = self.nodes[id].clone();
        match (name, &to[..]) {
            (YES, _) => {}
            (NO, _) => self.is_false = true,
            (AND, parts) => parts.iter().for_each(|part| self.assume(*part)),
            (NOT, &[of]) if self.nodes[of].0 == OR => {
                for part in self.nodes[of].1.clone() {
                    let opposite = self.make(NOT, smallvec![part]);
                    self.assume(opposite);
                }
            }
            (NOT, &[of]) => self.learn(of, FALSE),
            (EQUAL, &[a, b]) => self.learn(a, b),
            _ => self.learn(id, TRUE),
        }
    }

    /// Learns that two terms are equal: from now on the smaller one replaces the larger one.
    fn learn(&mut self, a: TermId, b: TermId) {
        let (a, b) = (self.found(a), self.found(b));
        if a == b {
            return;
        }
        let is_fixed = |of: TermId| of <= FALSE || self.elements.contains(&of);
        let is_tuple = |of: TermId| self.tuples.contains(&self.nodes[of].0);
        let key = |of: TermId| (!is_fixed(of), !is_tuple(of), self.sizes[of], of);
        let (small, large) = if key(a) < key(b) { (a, b) } else { (b, a) };
        if is_fixed(large) {
            self.is_false = true;
        } else if is_tuple(large) && self.nodes[large].0 == self.nodes[small].0 {
            let words = self.equal(a, b);
            self.assume(words);
        } else {
            self.facts.insert(large, small);
        }
    }

    fn cons(&mut self, name: Symbol, to: Ids) -> TermId {
        let key = (name, to);
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.nodes.len();
        self.sizes.push(1 + key.1.iter().map(|t| self.sizes[*t]).sum::<usize>());
        self.levels.push(key.1.iter().map(|t| self.levels[*t]).max().unwrap_or(0));
        if let [of] = key.1[..] {
            self.of_one.insert((name, of), id);
        }
        self.nodes.push(key.clone());
        self.known.insert(key, id);
        id
    }

    /// Returns the simplest term that is known to be equal to this one.
    fn found(&self, mut id: TermId) -> TermId {
        while let Some(next) = self.facts.get(&id) {
            id = *next;
        }
        id
    }

    fn make(&mut self, name: Symbol, to: Ids) -> TermId {
        match (name, &to[..]) {
            (AND, parts) => self.gathered(AND, parts),
            (OR, parts) => self.gathered(OR, parts),
            (NOT, &[of]) => self.opposite(of),
            (IMPLIES, &[from, then]) => {
                let not = self.opposite(from);
                self.gathered(OR, &[not, then])
            }
            (EQUAL, &[a, b]) => self.equal(a, b),
            (ITE, &[TRUE, then, _]) => then,
            (ITE, &[FALSE, _, other]) => other,
            (ITE, &[_, then, other]) if then == other => then,
            _ => {
                let may = self.ready.typed.get(&name);
                let cannot = may.is_some_and(|may| self.value(may, &mut to.clone()) == FALSE);
                let id = self.cons(name, to);
                let known = self.found(id);
                // The term may have been given as true before this was known.
                self.is_false |= cannot && known == TRUE;
                if cannot { FALSE } else { known }
            }
        }
    }

    fn opposite(&mut self, of: TermId) -> TermId {
        let (name, parts) = self.nodes[of].clone();
        match name {
            YES => FALSE,
            NO => TRUE,
            NOT => parts[0],
            AND => {
                let parts: Ids = parts.into_iter().map(|part| self.opposite(part)).collect();
                self.gathered(OR, &parts)
            }
            _ => self.cons(NOT, smallvec![of]),
        }
    }

    /// Makes a conjunction or disjunction.
    fn gathered(&mut self, name: Symbol, parts: &[TermId]) -> TermId {
        let (neutral, absorbing) = if name == AND { (TRUE, FALSE) } else { (FALSE, TRUE) };
        let mut all = Ids::new();
        for part in parts {
            match *part {
                id if id == neutral => {}
                id if id == absorbing => return absorbing,
                id if self.nodes[id].0 == name => all.extend_from_slice(&self.nodes[id].1),
                id => all.push(id),
            }
        }
        all.sort_unstable();
        all.dedup();
        let is_denied = |id: &TermId| self.nodes[*id].0 == NOT && all.binary_search(&self.nodes[*id].1[0]).is_ok();
        match all.len() {
            0 => neutral,
            1 => all[0],
            _ if all.iter().any(is_denied) => absorbing,
            _ => self.cons(name, all),
        }
    }

    fn equal(&mut self, a: TermId, b: TermId) -> TermId {
        match (a.min(b), a.max(b)) {
            (x, y) if x == y => TRUE,
            // One of them is a formula.
            (TRUE, formula) => formula,
            (FALSE, formula) => self.opposite(formula),
            (x, y) if self.elements.contains(&x) && self.elements.contains(&y) => FALSE,
            // Compare the words, because tuples are equal if all of their words are.
            (x, y) if self.tuples.contains(&self.nodes[x].0) && self.nodes[x].0 == self.nodes[y].0 => {
                let words: Vec<(TermId, TermId)> =
                    self.nodes[x].1.iter().copied().zip(self.nodes[y].1.clone()).collect();
                let words: Vec<TermId> = words.into_iter().map(|(one, other)| self.equal(one, other)).collect();
                self.gathered(AND, &words)
            }
            (x, y) => self.distinguished(x, y).unwrap_or_else(|| {
                let id = self.cons(EQUAL, smallvec![x, y]);
                self.found(id)
            }),
        }
    }

    /// Decides, if possible, whether two calls, subevents or promises are equal.
    ///
    /// Calls of different kinds differ, and so do subevents of different roles. Two of one role are equal if their
    /// calls and their indices are, because a call has one subevent of a role for each index.
    fn distinguished(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        if let [Some(x), Some(y)] = [a, b].map(|s| self.reported(self.kind, s))
            && x != y
        {
            return Some(FALSE);
        }
        for position in 0..self.apart.len() {
            let role = self.apart[position].0;
            let [Some(x), Some(y)] = [a, b].map(|s| self.reported(role, s)) else { continue };
            if x != y {
                return Some(FALSE);
            }
            let same = self.apart[position].1.clone().into_iter().map(|function| {
                let [x, y] = [a, b].map(|s| self.make(function, smallvec![s]));
                self.equal(x, y)
            });
            let same: Vec<TermId> = same.collect();
            return Some(self.gathered(AND, &same));
        }
        None
    }

    /// Returns the known value of a function, if it is an element of a sort with known elements.
    fn reported(&self, function: Symbol, of: TermId) -> Option<TermId> {
        let id = *self.of_one.get(&(function, of))?;
        let found = self.found(id);
        self.elements.contains(&found).then_some(found)
    }

    /// True if a function is known to have another element as its value.
    fn is_other(&self, function: Symbol, of: TermId, element: Symbol) -> bool {
        self.reported(function, of).is_some_and(|known| self.nodes[known].0 != element)
    }

    fn value(&mut self, code: &TermCode, bound: &mut Ids) -> TermId {
        match code {
            TermCode::Bound(position) => self.found(bound[*position]),
            TermCode::Apply(name, to) => match self.values(*name, to, bound) {
                Ok(values) => self.make(*name, values),
                Err(settled) => settled,
            },
            TermCode::Defined(definition, to) => {
                let values: Ids = to.iter().map(|part| self.value(part, bound)).collect();
                let key = (*definition, values);
                if let Some(known) = self.defined.get(&key) {
                    return *known;
                }
                let ready = self.ready;
                let id = self.value(&ready.definitions[*definition], &mut key.1.clone());
                self.defined.insert(key, id);
                id
            }
            TermCode::Quantified(formula) => self.quantified(formula, bound),
            TermCode::ByCase(cases) => self.by_case(cases, bound),
        }
    }

    fn by_case(&mut self, cases: &ByCase, bound: &mut Ids) -> TermId {
        let of = self.value(&cases.of, bound);
        let mut values = Ids::new();
        let left =
            self.elements.contains(&of).then(|| cases.parts.get(&self.nodes[of].0).map_or(&[][..], Vec::as_slice));
        for position in 0..left.map_or(cases.all.len(), <[usize]>::len) {
            let part = left.map_or(position, |left| left[position]);
            match self.value(&cases.all[part], bound) {
                TRUE => return TRUE,
                id => values.push(id),
            }
        }
        self.make(OR, values)
    }

    /// Returns the values of the arguments of a symbol, or the value of the whole term if one argument decides it.
    fn values(&mut self, name: Symbol, to: &[TermCode], bound: &mut Ids) -> Result<Ids, TermId> {
        let mut values = Ids::with_capacity(to.len());
        for part in to {
            let id = self.value(part, bound);
            match (name, id) {
                (AND, FALSE) => return Err(FALSE),
                (OR, TRUE) => return Err(TRUE),
                (IMPLIES, FALSE) if values.is_empty() => return Err(TRUE),
                _ => values.push(id),
            }
        }
        Ok(values)
    }

    /// Returns the value of a quantified formula: one instance may decide it, or else it is an atom.
    fn quantified(&mut self, formula: &Arc<Quantified>, bound: &mut Ids) -> TermId {
        let place = (formula.place, std::mem::take(bound));
        let position = self.at_place.get(&place);
        if let (true, Some(position)) = (self.is_giving, position) {
            self.atoms[*position].is_given = true;
        }
        let known = self.settled.get(&place).copied();
        *bound = place.1;
        known.unwrap_or_else(|| {
            let tuples = self.tuples(formula.of.iter().map(|(_, sort)| sort));
            self.quantified_over(formula, bound, tuples)
        })
    }

    /// Returns the value of a quantified formula, from the instances for these tuples.
    fn quantified_over(&mut self, formula: &Arc<Quantified>, bound: &mut Ids, tuples: Vec<Ids>) -> TermId {
        let place = (formula.place, bound.clone());
        let settles = if unless_settled(formula) == FALSE { TRUE } else { FALSE };
        let mut instances = Vec::new();
        for tuple in tuples {
            let before = bound.len();
            bound.extend(tuple.iter().copied());
            let id = self.value(&formula.body, bound);
            bound.truncate(before);
            if id == settles {
                if let Some(position) = self.at_place.get(&place).copied() {
                    self.learn(self.atoms[position].atom, settles);
                    // No case split needs to name the witness, because it has a name.
                    self.atoms[position].is_given = false;
                }
                self.settled.insert(place, settles);
                return settles;
            }
            instances.push((tuple, id));
        }
        let atom = self.atom(formula, bound, &place);
        let known = self.found(atom);
        self.settled.insert(place, known);
        for (tuple, instance) in instances {
            let [from, to] = if formula.is_some { [instance, known] } else { [known, instance] };
            let clause = self.make(IMPLIES, smallvec![from, to]);
            if clause != TRUE {
                let name = self.names.name(self.nodes[atom].0).to_owned();
                self.record(&name, &formula.of, &tuple);
            }
            self.assume(clause);
        }
        known
    }

    /// Returns the atom for a formula, or its truth value if the body has it for arbitrary elements. Formulas that say the same
    /// share an atom.
    fn atom(&mut self, formula: &Arc<Quantified>, bound: &mut Ids, place: &(usize, Ids)) -> TermId {
        if let Some(position) = self.at_place.get(place) {
            return self.atoms[*position].atom;
        }
        let own = self.arbitrary(&formula.of, bound);
        let before = bound.len();
        bound.extend(own.iter().copied());
        let says = self.value(&formula.body, bound);
        bound.truncate(before);
        if says == unless_settled(formula) {
            return says;
        }
        let key = (formula.is_some, own.clone(), says);
        let atom = match self.alike.get(&key) {
            Some(atom) => *atom,
            None => {
                let name = self.names.of(&format!("some.{}", self.atoms.len()));
                let atom = self.cons(name, Ids::new());
                self.alike.insert(key, atom);
                atom
            }
        };
        let (formula, around, is_given) = (Arc::clone(formula), bound.clone(), self.is_giving);
        self.at_place.insert(place.clone(), self.atoms.len());
        self.atoms.push(Atom { atom, formula, around, own, says, is_given });
        atom
    }

    /// Returns arbitrary elements for the variables of a formula. They differ from those in the terms bound around it.
    /// The inner of two nested quantifiers is about any element, and not about that of the outer one.
    fn arbitrary(&mut self, of: &[BoundVariable], around: &Ids) -> Ids {
        let level = around.iter().map(|id| self.levels[*id]).max().unwrap_or(0);
        let element = |(position, (_, sort)): (usize, &BoundVariable)| {
            let name = self.names.of(&format!("any.{sort}.{}", level + position));
            let any = self.cons(name, Ids::new());
            if self.levels[any] == 0 {
                self.levels[any] = level + position + 1;
                self.anything.push((any, sort.clone()));
            }
            any
        };
        of.iter().enumerate().map(element).collect()
    }

    fn term(&self, id: TermId) -> Term {
        let (name, to) = &self.nodes[id];
        app(self.names.name(*name), to.iter().map(|t| self.term(*t)))
    }

    /// Returns the formulas for which atoms stand, by their names.
    #[cfg(test)]
    fn meanings(&self) -> Vec<(String, Term)> {
        let meaning = |a: &Atom| {
            let around = a.formula.around.iter().cloned().zip(a.around.iter().map(|id| self.term(*id))).collect();
            let body: Arc<Term> = a.formula.written.with(&around).into();
            let of = a.formula.of.clone();
            let whole = if a.formula.is_some { Term::Any(of, body) } else { Term::All(of, body) };
            (self.names.name(self.nodes[a.atom].0).to_owned(), whole)
        };
        self.atoms.iter().map(meaning).collect()
    }

    /// Returns the instances as a theory. Only the axioms that are left to the solver have quantifiers. `constants` are
    /// the named symbols that the theory does not declare.
    #[must_use]
    pub fn theory(&self, constants: &[(String, String)]) -> Theory {
        let mut theory = Theory::default();
        let is_axiom = |s: &&TheoryStatement| matches!(s, TheoryStatement::Axiom(..));
        theory.0.extend(self.ready.left.0.iter().filter(|s| !is_axiom(s)).cloned());
        constants.iter().for_each(|(name, sort)| theory.function(name, &[], sort));
        for atom in self.atoms.iter().map(|a| a.atom).sorted().dedup() {
            theory.function(self.names.name(self.nodes[atom].0), &[], "Bool");
        }
        for (any, sort) in &self.anything {
            theory.function(self.names.name(self.nodes[*any].0), &[], sort);
        }
        if self.is_false {
            theory.axiom("what is given cannot be", truth(false));
            return theory;
        }
        theory.comment("What a solver makes the instances of.");
        theory.0.extend(self.ready.left.0.iter().filter(is_axiom).cloned());
        self.describe_instances(&mut theory);
        theory.comment("What is given, and instances of the axioms.");
        let mut short = FxHashSet::default();
        for (from, to) in self.facts.iter().sorted() {
            let from = self.shortened(*from, &mut theory, &mut short);
            let axiom = match *to {
                TRUE => from,
                FALSE => not(from),
                to => equal(from, self.shortened(to, &mut theory, &mut short)),
            };
            theory.axiom("", axiom);
        }
        for clause in self.clauses.iter().sorted().dedup() {
            let clause = self.shortened(*clause, &mut theory, &mut short);
            theory.axiom("", clause);
        }
        theory
    }

    /// Prints the record of the instances, and the formulas for which atoms stand.
    fn describe_instances(&self, theory: &mut Theory) {
        let Some(made) = &self.made else { return };
        let formulas = self.atoms.iter().unique_by(|a| a.atom).map(|a| self.described(a));
        theory.comment(&format!("Each atom with the formula for which it stands:\n{}", formulas.format("\n")));
        let made = made.iter().unique().format("\n");
        theory.comment(&format!("The instances: each axiom or atom with the terms for its variables.\n{made}"));
    }

    fn described(&self, atom: &Atom) -> String {
        let formula = &atom.formula;
        let around = formula.around.iter().cloned().zip(atom.around.iter().map(|id| self.term(*id))).collect();
        let quantifier = if formula.is_some { "some" } else { "all" };
        let of = formula.of.iter().map(|(name, sort)| format!("{name} of {sort}")).format(", ");
        let name = self.names.name(self.nodes[atom.atom].0);
        format!("{name}: {quantifier} {of}: {}", formula.written.with(&around))
    }

    /// Returns a term with short names for its subterms, because most of a question is about the same few.
    fn shortened(&self, id: TermId, theory: &mut Theory, short: &mut FxHashSet<TermId>) -> Term {
        let (name, to) = &self.nodes[id];
        let sort = self.ready.sorts.get(name).filter(|sort| *sort != "Bool" && !to.is_empty());
        let as_short = sort.map(|sort| (format!("t.{id}"), sort));
        if let Some((known, _)) = as_short.as_ref().filter(|_| short.contains(&id)) {
            return symbol(known);
        }
        let to: Vec<Term> = to.iter().map(|part| self.shortened(*part, theory, short)).collect();
        let whole = app(self.names.name(*name), to);
        let Some((name, sort)) = as_short else { return whole };
        short.insert(id);
        theory.define(&name, &[], sort, whole);
        symbol(&name)
    }
}

#[cfg(test)]
mod tests {
    use mowgli_libraries::catalogue::{catalogue, named};

    use super::*;
    use crate::model::witness::structure;
    use crate::model::{Concretisation, LibraryTheory, ROUND};
    use crate::prove::{EXECUTIONS, executions};
    use crate::smt::term::{Structure, all, and, any, implies};
    use crate::template::source::ProofSource;

    /// The axiom "every call with p has q" and p(c) yield q(c), but not q(d) for a call without a name. Assuming not
    /// q(c) is refuted.
    #[test]
    fn an_axiom_is_instantiated_for_what_is_named() {
        let mut theory = Theory::default();
        theory.sort("Call");
        ["p", "q"].iter().for_each(|name| theory.function(name, &["Call"], "Bool"));
        let of = |name: &str, thing: &str| app(name, [symbol(thing)]);
        theory.axiom("p implies q", all(&[("a", "Call")], implies(of("p", "a"), of("q", "a"))));
        let ready = PreparedTheory::new(&theory, &BTreeMap::new());
        let mut ground = Ground::new(&ready).recording(true);
        ground.name("Call", &symbol("c"));
        ground.given(&of("p", "c"));
        assert_eq!(ground.is_known(&of("q", "c")), None);
        ground.instantiate();
        let printed: String = ground.theory(&[]).0.iter().map(|statement| format!("{statement}\n")).collect();
        assert!(printed.contains("; p implies q: a = c\n"), "{printed}");
        assert_eq!(ground.is_known(&of("q", "c")), Some(true));
        assert_eq!(ground.is_known(&of("q", "d")), None);
        assert!(!ground.is_refuted());
        ground.given(&not(of("q", "c")));
        assert!(ground.is_refuted());
    }

    /// Two pairs are equal if their words are. A pair and a triple have no words to compare.
    #[test]
    fn tuples_are_compared_word_by_word() {
        let mut theory = Theory::default();
        theory.sort("Value");
        for n in [2, 3] {
            theory.function(&format!("{TUPLE}{n}"), &vec!["Value"; n], "Value");
        }
        let of = |words: &[&str]| app(&format!("{TUPLE}{}", words.len()), words.iter().map(|word| symbol(word)));
        let ready = PreparedTheory::new(&theory, &BTreeMap::new());
        let mut ground = Ground::new(&ready);
        ground.given(&equal(of(&["a", "b"]), of(&["a", "c"])));
        ground.given(&equal(of(&["a", "b"]), of(&["d", "e", "f"])));
        ground.instantiate();
        let known = [("b", "c"), ("a", "d")].map(|(x, y)| ground.is_known(&equal(symbol(x), symbol(y))));
        assert_eq!(known, [Some(true), None]);
        assert_eq!(ground.is_known(&equal(of(&["d", "e", "f"]), of(&["a", "c"]))), Some(true));
    }

    /// A formula is decided if its body is, for arbitrary elements: nothing is r if r relates nothing. An example is `atomic` of
    /// `msw`, which goes through the empty `rao`.
    #[test]
    fn quantifiers_over_what_never_holds_are_decided() {
        let mut theory = Theory::default();
        theory.sort("S");
        theory.function("r", &["S", "S"], "Bool");
        theory.function("p", &["S"], "Bool");
        let ready = PreparedTheory::new(&theory, &BTreeMap::from([("r".to_owned(), truth(false))]));
        let mut ground = Ground::new(&ready);
        let [x, c] = ["x", "c"].map(symbol);
        let step = and([app("p", [&x]), app("r", [&x, &c])]);
        assert_eq!(ground.is_known(&any(&[("x", "S")], step.clone())), Some(false));
        assert_eq!(ground.is_known(&all(&[("x", "S")], not(step))), Some(true));
        assert_eq!(ground.is_known(&any(&[("x", "S")], app("p", [&x]))), None);
    }

    /// Returns a formula about `r`, `p` and the bound variables, of which there is at least one. Quantifiers inside may bind
    /// the same variables again.
    fn nest(rng: &mut fastrand::Rng, depth: usize, bound: &mut Vec<String>) -> Term {
        let thing = |rng: &mut fastrand::Rng| symbol(rng.choice(bound.iter()).expect("some variable is bound"));
        match if depth == 0 { rng.usize(..3) } else { rng.usize(..8) } {
            0 => app("p", [thing(rng)]),
            1 => app("r", [thing(rng), thing(rng)]),
            2 => equal(thing(rng), thing(rng)),
            3 => not(nest(rng, depth - 1, bound)),
            4 => and([nest(rng, depth - 1, bound), nest(rng, depth - 1, bound)]),
            5 => implies(nest(rng, depth - 1, bound), nest(rng, depth - 1, bound)),
            _ => quantified(rng, depth, bound),
        }
    }

    fn quantified(rng: &mut fastrand::Rng, depth: usize, bound: &mut Vec<String>) -> Term {
        let names: Vec<String> = (0..rng.usize(1..3)).map(|n| format!("x{}", rng.usize(..2) * 2 + n)).collect();
        let before = bound.len();
        bound.extend(names.iter().cloned());
        let body = nest(rng, depth - 1, bound);
        bound.truncate(before);
        let of: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "S")).collect();
        if rng.bool() { all(&of, body) } else { any(&of, body) }
    }

    /// Formulas that hold in a structure together are not refuted, and none of them is known to be false. Some elements
    /// have names, with all that holds of them. A definition takes an element that may be arbitrary.
    #[test]
    fn nested_quantifiers_are_about_different_elements() {
        let mut rng = fastrand::Rng::with_seed(70);
        let mut known = 0;
        for case in 0..4000 {
            let size = rng.usize(1..4);
            let (r, p): (Vec<bool>, Vec<bool>) =
                ((0..size * size).map(|_| rng.bool()).collect(), (0..size).map(|_| rng.bool()).collect());
            let mut theory = Theory::default();
            theory.sort("S");
            theory.function("r", &["S", "S"], "Bool");
            theory.function("p", &["S"], "Bool");
            let defined = quantified(&mut rng, 2, &mut vec!["a".to_owned(), "b".to_owned()]);
            theory.define("d", &[("a", "S"), ("b", "S")], "Bool", defined);
            let mut structure = Structure::default();
            structure.size("S", size);
            let pairs = r.clone();
            structure.table("r", move |of| usize::from(pairs[of[0] * size + of[1]]));
            let members = p.clone();
            structure.table("p", move |of| usize::from(members[of[0]]));
            structure.define(&theory);
            let ready = PreparedTheory::new(&theory, &BTreeMap::new());
            let mut ground = Ground::new(&ready);
            let named = rng.usize(..=size);
            for element in 0..named {
                structure.table(&format!("e{element}"), move |_| element);
                ground.name("S", &symbol(&format!("e{element}")));
            }
            let mut formulas: Vec<Term> = (0..3).map(|_| quantified(&mut rng, 3, &mut Vec::new())).collect();
            let [a, b] = ["x0", "x1"].map(symbol);
            let both = app("d", if rng.bool() { [&a, &b] } else { [&b, &b] });
            formulas.push(any(&[("x0", "S"), ("x1", "S")], both));
            for (i, j) in (0..named).cartesian_product(0..named) {
                let [a, b] = [i, j].map(|element| symbol(&format!("e{element}")));
                formulas.extend([app("r", [&a, &b]), app("p", [&a]), equal(a, b)]);
            }
            rng.shuffle(&mut formulas);
            let holds = |formula: &Term| structure.holds(formula).unwrap();
            let given: Vec<Term> = formulas.into_iter().map(|f| if holds(&f) { f } else { not(f) }).collect();
            for formula in &given {
                ground.given(formula);
                if rng.bool() {
                    ground.instantiate();
                }
            }
            ground.instantiate();
            let text = || given.iter().join("\n");
            assert!(!ground.is_refuted(), "case {case}, {size} elements, {r:?}, {p:?}:\n{}", text());
            for formula in &given {
                let found = ground.is_known(formula);
                known += usize::from(found == Some(true));
                assert_ne!(found, Some(false), "case {case}, {size} elements, {r:?}, {p:?}: {formula} in\n{}", text());
            }
        }
        assert!(known > 1000, "{known}");
    }

    /// Names the calls of a structure one after the other, each with its subevents. The instances about a call extend
    /// those about the calls before it.
    fn all_named<'r>(
        model: &LibraryTheory<'_>,
        ready: &'r PreparedTheory,
        structure: &mut Structure<'_>,
        distinguished: &dyn Fn(&str) -> bool,
    ) -> (Ground<'r>, Vec<(String, String)>, Vec<Term>) {
        let mut ground = Ground::new(ready);
        let mut things = Vec::new();
        let names = ground.names.clone();
        ground.apart.iter_mut().for_each(|(_, of)| of.retain(|function| distinguished(names.name(*function))));
        let mut constants = Vec::new();
        let mut named = |sort: &str| {
            let n = structure.size_of(sort);
            let name = |i: usize| {
                let name = format!("{sort}.{i}");
                structure.table(&name, move |_| i);
                constants.push((name.clone(), sort.to_owned()));
                ground.name(sort, &symbol(&name));
                symbol(&name)
            };
            (0..n).map(name).collect::<Vec<Term>>()
        };
        let [nodes, threads, rounds] = ["Node", "Thread", ROUND].map(&mut named);
        for call in 0..structure.size_of("Call") {
            let (name, k) = (format!("c.{call}"), structure.apply("kind", &[call]).unwrap());
            structure.table(&name, move |_| call);
            constants.push((name.clone(), "Call".to_owned()));
            let it = symbol(&name);
            ground.given(&model.is_kind(&model.kinds[k], &it));
            ground.name("Call", &it);
            for thing in model.things(&it, k, [&nodes, &threads, &rounds], false, &|_| true) {
                if !structure.holds(&thing.given).unwrap() {
                    continue;
                }
                ground.given(&thing.given);
                ground.given(&thing.facts);
                ground.name(thing.sort, &thing.thing);
                things.push(thing.thing);
            }
            ground.instantiate();
            ground = ground.continued();
        }
        (ground, constants, things)
    }

    /// True if two of these terms are known to be equal, but differ in the structure.
    fn takes_for_one(ground: &mut Ground<'_>, structure: &Structure<'_>, things: &[Term]) -> bool {
        let mut pairs = things.iter().tuple_combinations().map(|(a, b)| equal(a, b));
        pairs.any(|same| ground.is_known(&same) == Some(true) && !structure.holds(&same).unwrap())
    }

    /// Counts the executions of a library in which some instance is false, and those in which all are true.
    /// `distinguished` selects the functions that distinguish the elements of a sort.
    fn judged(
        library: &str,
        typed: impl Fn(&mut BTreeMap<String, Term>),
        distinguished: impl Fn(&str) -> bool,
    ) -> [usize; 2] {
        let all = catalogue();
        let entry = named(&all, library).unwrap();
        let source = ProofSource::published(entry);
        let kinds = source.kinds().unwrap();
        let model = LibraryTheory::new(&source, &kinds).unwrap();
        let mut of_pairs = model.typed();
        typed(&mut of_pairs);
        let ready = PreparedTheory::new(&model.below, &of_pairs);
        let mut found = [0, 0];
        executions(&source, model.has_rounds(), EXECUTIONS, &mut |execution| {
            let mut structure = structure(&model, &Concretisation::new(), &model.below, execution).unwrap();
            let (mut ground, constants, things) = all_named(&model, &ready, &mut structure, &distinguished);
            for (name, meaning) in ground.meanings() {
                let holds = structure.holds(&meaning).unwrap();
                structure.table(&name, move |_| usize::from(holds));
            }
            for (any, _) in &ground.anything {
                structure.table(ground.names.name(ground.nodes[*any].0), |_| 0);
            }
            let theory = ground.theory(&constants);
            structure.define(&theory);
            let wrong = theory.axioms().any(|(_, axiom)| !structure.holds(axiom).unwrap())
                || takes_for_one(&mut ground, &structure, &things);
            found[usize::from(!wrong)] += 1;
            found[0] + found[1] < 60
        })
        .unwrap();
        found
    }

    #[test]
    fn instances_hold_in_every_execution() {
        hold_in_every_execution(&["sc-rmw", "bal"]);
    }

    #[test]
    #[ignore = "takes ten seconds"]
    fn instances_hold_in_every_execution_of_more_libraries() {
        hold_in_every_execution(&["slock", "sc-rmw", "bal", "nlock", "rbl"]);
    }

    fn hold_in_every_execution(libraries: &[&str]) {
        for library in libraries {
            let [wrong, right] = judged(library, |_| {}, |_| true);
            assert!(wrong == 0 && right > 20, "{library}: {wrong}, {right}");
        }
    }

    #[test]
    fn a_wrong_simplification_is_found() {
        let nothing = |typed: &mut BTreeMap<String, Term>| {
            typed.values_mut().for_each(|may| *may = truth(false));
        };
        let [wrong, _] = judged("sc-rmw", nothing, |_| true);
        assert!(wrong > 10, "{wrong}");
    }

    /// Each function that distinguishes subevents of one role is needed: their calls, nodes, threads or iterations may
    /// differ.
    #[test]
    fn what_differs_is_not_taken_for_one() {
        each_distinguishes(&[("bal", "member"), ("nlock", "round")]);
    }

    #[test]
    #[ignore = "takes ten seconds"]
    fn what_differs_is_not_taken_for_one_by_any_function() {
        each_distinguishes(&[("slock", "call"), ("slock", "at"), ("bal", "member"), ("nlock", "round")]);
    }

    fn each_distinguishes(functions: &[(&str, &str)]) {
        for &(library, function) in functions {
            let [wrong, _] = judged(library, |_| {}, |name| name != function);
            assert!(wrong > 0, "{library} without {function}");
        }
    }
}
