//! A theory prepared for instantiation: names are numbers, variables are positions, and definitions are resolved.

use std::collections::BTreeMap;
use std::sync::Arc;

use itertools::Itertools;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::smt::term::{BoundVariable, TUPLE, Term, Theory, TheoryStatement};

/// The number of a name.
pub type Symbol = usize;

/// The names that are known from the beginning.
pub const NAMES: [&str; 8] = ["true", "false", "and", "or", "not", "=>", "=", "ite"];
pub const TRUE: Symbol = 0;
pub const FALSE: Symbol = 1;
pub const AND: Symbol = 2;
pub const OR: Symbol = 3;
pub const NOT: Symbol = 4;
pub const IMPLIES: Symbol = 5;
pub const EQUAL: Symbol = 6;
pub const ITE: Symbol = 7;

/// Names and their numbers.
#[derive(Clone)]
pub struct SymbolNames {
    names: Vec<String>,
    numbers: FxHashMap<String, Symbol>,
}

impl SymbolNames {
    /// Returns the number of a name.
    pub fn of(&mut self, name: &str) -> Symbol {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }

    /// Returns the numbers of the names with this prefix.
    pub fn beginning_with(&self, text: &str) -> impl Iterator<Item = Symbol> {
        self.names.iter().positions(move |name| name.starts_with(text))
    }

    /// Returns the name with a number.
    #[must_use]
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.names[symbol]
    }
}

/// A term.
pub enum TermCode {
    /// The variable that was bound at this place, counted from the outermost.
    Bound(usize),
    /// A symbol, applied.
    Apply(Symbol, Vec<TermCode>),
    /// A definition, applied.
    Defined(usize, Vec<TermCode>),
    /// A formula with a quantifier.
    Quantified(Arc<Quantified>),
    /// A disjunction, indexed by the element that one term is.
    ByCase(Box<ByCase>),
}

/// A disjunction in which each part says which element, such as a role, one term is.
pub struct ByCase {
    /// The term.
    pub of: TermCode,
    /// The positions of the parts that remain if the term is this element.
    pub parts: FxHashMap<Symbol, Vec<usize>>,
    /// The parts.
    pub all: Vec<TermCode>,
}

impl TermCode {
    /// Makes a disjunction, indexed by an element if possible.
    fn any(all: Vec<Self>, elements: &FxHashSet<Symbol>) -> Self {
        let cases: Option<Vec<(&Self, Symbol)>> = all.iter().map(|part| part.case(elements)).collect();
        let Some(cases) = cases.filter(|cases| cases.len() > 1 && cases.iter().all(|(of, _)| of.is(cases[0].0))) else {
            return Self::Apply(OR, all);
        };
        let mut parts: FxHashMap<Symbol, Vec<usize>> = FxHashMap::default();
        for (position, (_, element)) in cases.iter().enumerate() {
            parts.entry(*element).or_default().push(position);
        }
        let of = cases[0].0.again();
        Self::ByCase(Box::new(ByCase { of, parts, all }))
    }

    /// Returns the term that is an element by this formula, and the element.
    fn case(&self, elements: &FxHashSet<Symbol>) -> Option<(&Self, Symbol)> {
        match self {
            Self::Apply(EQUAL, to) => match &to[..] {
                [of, Self::Apply(element, none)] if none.is_empty() && elements.contains(element) => {
                    Some((of, *element))
                }
                _ => None,
            },
            Self::Apply(AND, to) => to.iter().find_map(|part| part.case(elements)),
            _ => None,
        }
    }

    /// True if both are the same variable, or the same function of it.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bound(one), Self::Bound(other)) => one == other,
            (Self::Apply(one, of), Self::Apply(other, to)) => {
                one == other && of.len() == to.len() && of.iter().zip(to).all(|(a, b)| a.is(b))
            }
            _ => false,
        }
    }

    /// Copies a variable, or a function of one.
    fn again(&self) -> Self {
        match self {
            Self::Apply(of, to) => Self::Apply(*of, to.iter().map(Self::again).collect()),
            Self::Bound(position) => Self::Bound(*position),
            _ => unreachable!("a case is of a function of variables"),
        }
    }
}

/// A formula with a quantifier.
pub struct Quantified {
    /// A number that is unique to the formula.
    pub place: usize,
    /// True if the quantifier is existential, false if it is universal.
    pub is_some: bool,
    /// The variables that it binds.
    pub of: Vec<BoundVariable>,
    /// The variables that are bound around it.
    pub around: Vec<String>,
    /// The formula under the quantifier.
    pub body: TermCode,
    /// The formula under the quantifier, as it was written.
    pub written: Arc<Term>,
}

/// An axiom.
pub struct Axiom {
    /// Its name.
    pub name: String,
    /// Its variables.
    pub of: Vec<BoundVariable>,
    /// A function of its only variable and the element that the function must yield, if the axiom says nothing of other
    /// values.
    pub case: Option<(Symbol, Symbol)>,
    /// The formula.
    pub body: TermCode,
}

/// A theory prepared for instantiation.
pub struct PreparedTheory {
    /// The names in the theory.
    pub names: SymbolNames,
    /// The elements of sorts with known elements.
    pub elements: FxHashSet<Symbol>,
    /// The bodies of definitions.
    pub definitions: Vec<TermCode>,
    /// For predicates of pairs a formula that holds of each pair.
    pub typed: FxHashMap<Symbol, TermCode>,
    /// The axioms that this crate instantiates.
    pub axioms: Vec<Axiom>,
    /// Sorts, functions, and the axioms that the solver instantiates.
    pub left: Theory,
    /// The sorts of functions.
    pub sorts: FxHashMap<Symbol, String>,
    /// True if the solver instantiates some axioms.
    leaves: bool,
    defined: FxHashMap<String, usize>,
    places: usize,
}

/// A reader of terms.
pub struct TermReader<'a> {
    /// The names, to which new ones are added.
    pub names: &'a mut SymbolNames,
    defined: &'a FxHashMap<String, usize>,
    elements: &'a FxHashSet<Symbol>,
    places: &'a mut usize,
}

impl TermReader<'_> {
    /// Reads a term in which these variables are bound.
    pub fn read(&mut self, term: &Term, bound: &mut Vec<String>) -> TermCode {
        match term {
            Term::App(name, to) if to.is_empty() => match bound.iter().rposition(|known| **known == **name) {
                Some(position) => TermCode::Bound(position),
                None => TermCode::Apply(self.names.of(name), Vec::new()),
            },
            Term::App(name, to) => {
                let to: Vec<TermCode> = to.iter().map(|t| self.read(t, bound)).collect();
                if &**name == "or" {
                    return TermCode::any(to, self.elements);
                }
                match self.defined.get(&**name) {
                    Some(definition) => TermCode::Defined(*definition, to),
                    None => TermCode::Apply(self.names.of(name), to),
                }
            }
            Term::All(of, body) | Term::AllAt(of, body, _) => self.quantified(false, of, body, bound),
            Term::Any(of, body) => self.quantified(true, of, body, bound),
        }
    }

    fn quantified(
        &mut self,
        is_some: bool,
        of: &[BoundVariable],
        body: &Arc<Term>,
        bound: &mut Vec<String>,
    ) -> TermCode {
        let around = bound.clone();
        bound.extend(of.iter().map(|(name, _)| name.clone()));
        let read = self.read(body, bound);
        bound.truncate(around.len());
        *self.places += 1;
        let written = Arc::clone(body);
        TermCode::Quantified(Arc::new(Quantified {
            place: *self.places,
            is_some,
            of: of.to_vec(),
            around,
            body: read,
            written,
        }))
    }
}

impl PreparedTheory {
    /// Prepares a theory of which the solver instantiates nothing.
    #[must_use]
    pub fn whole(theory: &Theory) -> Self {
        Self::of(theory, false)
    }

    /// Prepares a theory. `typed` has for some predicates a formula that holds of all of their pairs `a` and `b`, by
    /// the axioms.
    #[must_use]
    pub fn new(theory: &Theory, typed: &BTreeMap<String, Term>) -> Self {
        let mut ready = Self::of(theory, true);
        let pair = || vec!["a".to_owned(), "b".to_owned()];
        for (name, term) in typed {
            let code = ready.reader().read(term, &mut pair());
            let symbol = ready.names.of(name);
            ready.typed.insert(symbol, code);
        }
        ready
    }

    fn of(theory: &Theory, leaves: bool) -> Self {
        let mut names = SymbolNames { names: Vec::new(), numbers: FxHashMap::default() };
        NAMES.iter().for_each(|name| {
            names.of(name);
        });
        let mut ready = Self {
            names,
            elements: FxHashSet::default(),
            definitions: Vec::new(),
            typed: FxHashMap::default(),
            axioms: Vec::new(),
            leaves,
            left: Theory::default(),
            sorts: FxHashMap::default(),
            defined: FxHashMap::default(),
            places: 0,
        };
        for statement in &theory.0 {
            ready.add(statement);
        }
        ready
    }

    fn reader(&mut self) -> TermReader<'_> {
        TermReader {
            names: &mut self.names,
            defined: &self.defined,
            elements: &self.elements,
            places: &mut self.places,
        }
    }

    /// True if the theory has a function with this name.
    pub fn has_function(&self, name: &str) -> bool {
        self.names.numbers.get(name).is_some_and(|symbol| self.sorts.contains_key(symbol))
    }

    /// True if the theory speaks of tuples.
    pub fn has_tuples(&self) -> bool {
        self.names.beginning_with(TUPLE).next().is_some()
    }

    /// Returns a reader of further terms, with names and places of their own.
    pub fn reader_with<'r>(&'r self, names: &'r mut SymbolNames, places: &'r mut usize) -> TermReader<'r> {
        *places = (*places).max(self.places);
        TermReader { names, defined: &self.defined, elements: &self.elements, places }
    }

    fn add(&mut self, statement: &TheoryStatement) {
        match statement {
            TheoryStatement::Comment(_) => {}
            TheoryStatement::Sort(_) => self.left.0.push(statement.clone()),
            TheoryStatement::Function(name, _, sort) => {
                self.left.0.push(statement.clone());
                let symbol = self.names.of(name);
                self.sorts.insert(symbol, sort.clone());
            }
            TheoryStatement::Elements(_, names) => {
                self.left.0.push(statement.clone());
                for name in names {
                    let symbol = self.names.of(name);
                    self.elements.insert(symbol);
                }
            }
            TheoryStatement::Definition(name, of, _, body) => {
                let mut bound = of.iter().map(|(name, _)| name.clone()).collect();
                let code = self.reader().read(body, &mut bound);
                self.defined.insert(name.clone(), self.definitions.len());
                self.definitions.push(code);
            }
            TheoryStatement::Axiom(_, axiom) if self.is_left(axiom) => self.left.0.push(statement.clone()),
            TheoryStatement::Axiom(name, axiom) => {
                let (of, body): (&[BoundVariable], &Term) = match axiom {
                    Term::All(of, body) | Term::AllAt(of, body, _) => (of, body),
                    other => (&[], other),
                };
                let mut bound = of.iter().map(|(name, _)| name.clone()).collect();
                let body = self.reader().read(body, &mut bound);
                let case = match &body {
                    TermCode::Apply(IMPLIES, parts) if of.len() == 1 => match parts[0].case(&self.elements) {
                        Some((TermCode::Apply(function, to), element)) if matches!(to[..], [TermCode::Bound(0)]) => {
                            Some((*function, element))
                        }
                        _ => None,
                    },
                    _ => None,
                };
                self.axioms.push(Axiom { name: name.clone(), of: of.to_vec(), case, body });
            }
        }
    }

    /// True if the solver instantiates an axiom. There are too many instances of an axiom about three things of a sort.
    fn is_left(&self, axiom: &Term) -> bool {
        self.leaves
            && matches!(axiom, Term::All(of, body) if of.len() > 2 && of.iter().map(|v| &v.1).all_equal() && self.is_plain(body))
    }

    fn is_plain(&self, term: &Term) -> bool {
        match term {
            Term::App(name, to) => !self.defined.contains_key(&**name) && to.iter().all(|t| self.is_plain(t)),
            Term::All(..) | Term::Any(..) | Term::AllAt(..) => false,
        }
    }
}
