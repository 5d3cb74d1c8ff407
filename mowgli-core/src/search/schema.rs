//! Compilation of specifications to a network of relations to which subevents can be added: see [`super::store`].
//!
//! **Computes** a [`RelationNetwork`] for the demands, choices and orders of some specifications, without any subevent. Two
//! subevents alone determine the pairs of a [`Fixed`] relation. All other relations are derived from these and from choices.
//!
//! **Invariant.** Let a network have the subevents of a prefix. Each pair of a relation is in the relation of every execution
//! that extends the prefix. In other words, a relation of the network is a lower bound that only grows.
//!
//! **Example.** `ppo` and `rf` give `hb = (ppo | rf)+`. `ppo` is fixed, so a new subevent brings its pairs. `rf` is a choice,
//! so it gets a pair when a source is decided, and `hb` gets all pairs that follow. A demand that `hb` is irreflexive then
//! fails as soon as a pair closes a cycle.
//!
//! **Correct because** union, intersection, composition, inverse and closure are monotone. A difference `a - b` is not, if `b`
//! may still grow, so it begins without pairs: a lower bound is still right. The store adds a pair once `b` cannot get it
//! any more. A fixed relation may be a difference, since two subevents decide it for ever. The tests in `tests/tests/flow.rs`
//! compare with a plain fixed point, and `tests/tests/agreement.rs` with the judge.
//!
//! **Cost.** Linear in the size of the specifications, once for each set of libraries whose specifications apply.

use std::collections::BTreeMap;

use super::network::{Check, Derivation, RelationId, RelationNetwork};
use crate::algebra::{Choice, Demand, Key, Rel, RelExpr, Set, Spec};
use crate::ids::Name;
use crate::library::Libraries;

/// A position among the fixed relations of a [`Schema`].
pub(crate) type FixedId = usize;

/// A relation in which two subevents alone determine the pairs. NumberSet are positions among the sets, keys, turns and fixed
/// relations of the [`Schema`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fixed {
    /// All pairs.
    All,
    Po,
    Ppo,
    SameEvent,
    SameThread,
    Same(usize),
    InTurn(usize),
    On(usize),
    Cross(usize, usize),
    /// From this set.
    From(usize),
    /// Into this set.
    Into(usize),
    Union(FixedId, FixedId),
    Inter(FixedId, FixedId),
    Minus(FixedId, FixedId),
    Inverse(FixedId),
}

/// A choice of a specification.
#[derive(Clone, Copy)]
pub(crate) enum SchemaChoice {
    /// For each read the write that it reads from. Reads and writes are positions among the sets.
    ReadsFrom {
        reads: usize,
        writes: usize,
        /// The pairs `(w, r)`.
        chosen: RelationId,
        /// The pairs `(r, w)` such that r reads the initial value and w writes its cell.
        before: RelationId,
        /// The excluded pairs `(r, w)`; `(r, r)` excludes the initial value.
        excluded: RelationId,
    },
    /// The direction of each of these pairs.
    Order {
        /// The decided pairs.
        raw: RelationId,
        /// The consequences of `raw`: its closure for a total order, the same relation otherwise.
        closed: RelationId,
        pairs: FixedId,
    },
}

/// A choice with its library and its name.
pub(crate) struct NamedChoice {
    pub library: usize,
    pub name: &'static str,
    pub of: SchemaChoice,
}

impl NamedChoice {
    /// Returns the relation that specifications see: pairs of a write and a read, or an order.
    pub fn relation(&self) -> RelationId {
        match self.of {
            SchemaChoice::ReadsFrom { chosen, .. } => chosen,
            SchemaChoice::Order { closed, .. } => closed,
        }
    }
}

/// A difference whose subtrahend may still grow.
#[derive(Clone, Copy)]
pub(crate) struct Difference {
    pub relation: RelationId,
    pub minuend: RelationId,
    pub subtrahend: RelationId,
}

/// The relations of some libraries, without any subevent. A library is its position among the names.
pub(crate) struct Schema {
    pub names: Vec<Name>,
    pub net: RelationNetwork,
    /// The sets in the relations, each with its library.
    pub sets: Vec<(usize, Set)>,
    /// The keys.
    pub keys: Vec<(usize, Key)>,
    /// Two sets and a key: see [`RelExpr::InTurn`].
    pub turns: Vec<[usize; 3]>,
    /// The fixed relations, each after its operands; of one library, or of all.
    pub fixed: Vec<(Option<usize>, Fixed)>,
    /// The relations of the network whose pairs come with the subevents, each with the fixed relation that has them.
    pub bases: Vec<(RelationId, FixedId)>,
    pub choices: Vec<NamedChoice>,
    pub differences: Vec<Difference>,
    /// Whether each relation depends on a choice.
    pub is_open: Vec<bool>,
    /// `(ppo u so u extra)+`.
    pub hb: RelationId,
    /// The edges of hb that a caller demands.
    pub extra: RelationId,
    /// The additional edges of hb as the specifications see it: the promises of an execution below (LOCO Def. 3.13, 3).
    pub given: RelationId,
    /// The pairs that must not be in so.
    pub outside: RelationId,
    /// The parts of hb by library and name; `None` for ppo, which all libraries share.
    pub parts: Vec<(Option<usize>, &'static str, RelationId)>,
    /// The demands by library and name.
    pub demands: Vec<(usize, &'static str, RelationId)>,
    /// The relation of each expression, by library and address.
    pub terms: BTreeMap<(usize, usize), SchemaTerm>,
}

/// The relation of an expression.
#[derive(Clone, Copy)]
pub(crate) enum SchemaTerm {
    /// Two subevents alone determine its pairs.
    Fixed(FixedId),
    /// A relation of the network.
    Derived(RelationId),
}

struct SchemaBuilder {
    schema: Schema,
    seen_hb: Option<RelationId>,
    library: usize,
    first_choice: usize,
}

impl Schema {
    /// The relations of these libraries, for up to so many subevents.
    pub fn new(libraries: &Libraries, names: &[Name], capacity: usize) -> Self {
        let mut net = RelationNetwork::new(capacity);
        let [extra, given, outside] = [(); 3].map(|()| net.base());
        let schema = Self {
            names: names.to_vec(),
            net,
            sets: Vec::new(),
            keys: Vec::new(),
            turns: Vec::new(),
            fixed: Vec::new(),
            bases: Vec::new(),
            choices: Vec::new(),
            differences: Vec::new(),
            is_open: Vec::new(),
            hb: extra,
            extra,
            given,
            outside,
            parts: Vec::new(),
            demands: Vec::new(),
            terms: BTreeMap::new(),
        };
        let mut builder = SchemaBuilder { schema, seen_hb: None, library: 0, first_choice: 0 };
        builder.libraries(libraries, names);
        let mut schema = builder.schema;
        schema.is_open = is_open(&schema);
        schema
    }
}

/// Returns for each relation whether it depends on a choice.
fn is_open(schema: &Schema) -> Vec<bool> {
    let net = &schema.net;
    let mut open = vec![false; net.relations()];
    for choice in &schema.choices {
        match choice.of {
            SchemaChoice::ReadsFrom { chosen, before, .. } => (open[chosen], open[before]) = (true, true),
            SchemaChoice::Order { raw, .. } => open[raw] = true,
        }
    }
    schema.differences.iter().for_each(|difference| open[difference.relation] = true);
    for r in 0..net.relations() {
        open[r] |= match net.derivation(r) {
            Derivation::Base => false,
            Derivation::Union(of) => of.iter().any(|&o| open[o]),
            Derivation::Inter(a, b) | Derivation::Seq(a, b) => open[*a] || open[*b],
            Derivation::Inverse(a) | Derivation::Plus(a) => open[*a],
        };
    }
    open
}

/// True if two subevents alone determine whether the relation has the pair of them.
pub(crate) fn is_fixed(rel: &Rel) -> bool {
    match rel.expr() {
        RelExpr::Po | RelExpr::Ppo | RelExpr::SameEvent | RelExpr::SameThread => true,
        RelExpr::Same(_) | RelExpr::InTurn(..) | RelExpr::On(_) | RelExpr::Cross(..) => true,
        RelExpr::Union(a, b) | RelExpr::Inter(a, b) | RelExpr::Minus(a, b) => is_fixed(a) && is_fixed(b),
        RelExpr::Inverse(a) => is_fixed(a),
        // If one side is `[S]`, the subevent in the middle is one of the two.
        RelExpr::Seq(a, b) => {
            is_fixed(a) && is_fixed(b) && [a, b].iter().any(|side| matches!(side.expr(), RelExpr::On(_)))
        }
        RelExpr::Hb | RelExpr::Chosen(_) | RelExpr::BeforeAny(_) | RelExpr::Plus(_) => false,
    }
}

impl SchemaBuilder {
    fn libraries(&mut self, libraries: &Libraries, names: &[Name]) {
        let mut beyond_so = Vec::new();
        for (library, &name) in names.iter().enumerate() {
            let spec = libraries.spec(name).expect("a name of the set");
            (self.library, self.first_choice) = (library, self.schema.choices.len());
            self.library(spec);
            if spec.mentions_hb() {
                beyond_so.push((library, spec, self.first_choice));
            }
        }
        let so = self.schema.parts.iter().map(|(.., part)| *part).collect();
        let so = self.schema.net.derive(Derivation::Union(so));
        let strays = self.schema.net.derive(Derivation::Inter(so, self.schema.outside));
        self.schema.net.check(strays, Check::Empty);
        let ppo = self.base();
        self.schema.bases.push((ppo, self.schema.fixed.len()));
        self.schema.fixed.push((None, Fixed::Ppo));
        self.schema.parts.push((None, "ppo", ppo));
        let edges = self.schema.net.derive(Derivation::Union(vec![so, ppo, self.schema.extra]));
        self.schema.hb = self.schema.net.derive(Derivation::Plus(edges));
        self.schema.net.check(self.schema.hb, Check::Irreflexive);
        if !beyond_so.is_empty() {
            let seen = vec![self.schema.hb, self.schema.given];
            self.seen_hb = Some(self.schema.net.derive(Derivation::Union(seen)));
        }
        for (library, spec, first_choice) in beyond_so {
            (self.library, self.first_choice) = (library, first_choice);
            self.demands(spec, true);
        }
    }

    /// Compiles the choices, demands and so of the current library. Relations that mention hb follow later, because hb
    /// depends on so.
    fn library(&mut self, spec: &Spec) {
        for (name, choice) in &spec.choices {
            let of = self.choice(choice);
            self.schema.choices.push(NamedChoice { library: self.library, name, of });
        }
        self.demands(spec, false);
        for (name, rel) in &spec.so {
            let part = self.relation(rel);
            self.schema.parts.push((Some(self.library), name, part));
        }
    }

    fn demands(&mut self, spec: &Spec, of_hb: bool) {
        for (name, demand, rel) in spec.demands.iter().filter(|(_, _, rel)| rel.mentions_hb() == of_hb) {
            let id = self.relation(rel);
            let check = match demand {
                Demand::Irreflexive => Check::Irreflexive,
                Demand::Empty => Check::Empty,
            };
            self.schema.net.check(id, check);
            self.schema.demands.push((self.library, name, id));
        }
    }

    fn choice(&mut self, choice: &Choice) -> SchemaChoice {
        match choice {
            Choice::ReadsFrom { reads, writes } => {
                let (reads, writes) = (self.set(reads), self.set(writes));
                let [chosen, before, excluded] = [0; 3].map(|_| self.base());
                SchemaChoice::ReadsFrom { reads, writes, chosen, before, excluded }
            }
            Choice::Order { members, key } => {
                let (members, key) = (self.set(members), self.key(key));
                let [same, members] = [Fixed::Same(key), Fixed::Cross(members, members)].map(|of| self.keep(of));
                let pairs = self.keep(Fixed::Inter(same, members));
                let raw = self.base();
                let closed = self.schema.net.derive(Derivation::Plus(raw));
                self.schema.net.check(closed, Check::Irreflexive);
                SchemaChoice::Order { raw, closed, pairs }
            }
            Choice::Orient { pairs } => {
                let pairs = self.fixed(pairs);
                let inverse = self.keep(Fixed::Inverse(pairs));
                let raw = self.base();
                SchemaChoice::Order { raw, closed: raw, pairs: self.keep(Fixed::Union(pairs, inverse)) }
            }
        }
    }

    /// A relation without a pair so far.
    fn base(&mut self) -> RelationId {
        self.schema.net.base()
    }

    fn set(&mut self, set: &Set) -> usize {
        self.schema.sets.push((self.library, set.clone()));
        self.schema.sets.len() - 1
    }

    fn key(&mut self, key: &Key) -> usize {
        self.schema.keys.push((self.library, key.clone()));
        self.schema.keys.len() - 1
    }

    /// Returns the position of a fixed relation of the current library.
    fn keep(&mut self, fixed: Fixed) -> FixedId {
        let (all, entry) = (&mut self.schema.fixed, (Some(self.library), fixed));
        all.iter().position(|known| *known == entry).unwrap_or_else(|| {
            all.push(entry);
            all.len() - 1
        })
    }

    /// A relation that [`is_fixed`].
    fn fixed(&mut self, rel: &Rel) -> FixedId {
        match self.term(rel) {
            SchemaTerm::Fixed(fixed) => fixed,
            SchemaTerm::Derived(_) => panic!("`form::wrong_form` refuses such pairs"),
        }
    }

    fn relation(&mut self, rel: &Rel) -> RelationId {
        let term = self.term(rel);
        self.derived(term)
    }

    fn derived(&mut self, term: SchemaTerm) -> RelationId {
        match term {
            SchemaTerm::Derived(id) => id,
            SchemaTerm::Fixed(fixed) => {
                let known = self.schema.bases.iter().find(|(_, of)| *of == fixed);
                known.map(|(id, _)| *id).unwrap_or_else(|| {
                    let id = self.base();
                    self.schema.bases.push((id, fixed));
                    id
                })
            }
        }
    }

    fn term(&mut self, rel: &Rel) -> SchemaTerm {
        let key = (self.library, rel.address());
        if let Some(term) = self.schema.terms.get(&key) {
            return *term;
        }
        let term = if is_fixed(rel) {
            let fixed = self.expression_of_two(rel.expr());
            SchemaTerm::Fixed(self.keep(fixed))
        } else {
            self.expression(rel.expr())
        };
        self.schema.terms.insert(key, term);
        term
    }

    fn expression_of_two(&mut self, expr: &RelExpr) -> Fixed {
        match expr {
            RelExpr::Po => Fixed::Po,
            RelExpr::Ppo => Fixed::Ppo,
            RelExpr::SameEvent => Fixed::SameEvent,
            RelExpr::SameThread => Fixed::SameThread,
            RelExpr::Same(key) => Fixed::Same(self.key(key)),
            RelExpr::InTurn(from, to, key) => {
                let turn = [self.set(from), self.set(to), self.key(key)];
                self.schema.turns.push(turn);
                Fixed::InTurn(self.schema.turns.len() - 1)
            }
            RelExpr::On(set) => Fixed::On(self.set(set)),
            RelExpr::Cross(a, b) => Fixed::Cross(self.set(a), self.set(b)),
            RelExpr::Union(a, b) => Fixed::Union(self.fixed(a), self.fixed(b)),
            RelExpr::Inter(a, b) => Fixed::Inter(self.fixed(a), self.fixed(b)),
            RelExpr::Minus(a, b) => Fixed::Minus(self.fixed(a), self.fixed(b)),
            RelExpr::Inverse(a) => Fixed::Inverse(self.fixed(a)),
            RelExpr::Seq(a, b) => match (self.side(a), self.side(b)) {
                (Some(set), _) => Fixed::Inter(self.fixed(b), self.keep(Fixed::From(set))),
                (_, Some(set)) => Fixed::Inter(self.fixed(a), self.keep(Fixed::Into(set))),
                (None, None) => unreachable!("one side is a set"),
            },
            RelExpr::Hb | RelExpr::Chosen(_) | RelExpr::BeforeAny(_) | RelExpr::Plus(_) => unreachable!("not fixed"),
        }
    }

    /// The set of `[S]`.
    fn side(&mut self, rel: &Rel) -> Option<usize> {
        if let RelExpr::On(set) = rel.expr() { Some(self.set(set)) } else { None }
    }

    fn expression(&mut self, expr: &RelExpr) -> SchemaTerm {
        match expr {
            RelExpr::Hb => {
                let hb = self.seen_hb.expect("only demands that are compiled after so mention hb");
                self.restrict(hb, Fixed::All)
            }
            RelExpr::Chosen(choice) => SchemaTerm::Derived(self.schema.choices[self.first_choice + choice].relation()),
            RelExpr::BeforeAny(choice) => match self.schema.choices[self.first_choice + choice].of {
                SchemaChoice::ReadsFrom { before, .. } => SchemaTerm::Derived(before),
                SchemaChoice::Order { .. } => unreachable!("made by reads_from only"),
            },
            RelExpr::Union(..) => {
                let mut parts = Vec::new();
                self.flatten(expr, &mut parts);
                SchemaTerm::Derived(self.schema.net.derive(Derivation::Union(parts)))
            }
            RelExpr::Inter(a, b) => match (self.term(a), self.term(b)) {
                (SchemaTerm::Derived(id), SchemaTerm::Fixed(to)) | (SchemaTerm::Fixed(to), SchemaTerm::Derived(id)) => {
                    self.restrict_to(id, to)
                }
                (a, b) => {
                    let (a, b) = (self.derived(a), self.derived(b));
                    SchemaTerm::Derived(self.schema.net.derive(Derivation::Inter(a, b)))
                }
            },
            RelExpr::Minus(a, b) if is_fixed(b) => {
                let (a, all, b) = (self.relation(a), self.keep(Fixed::All), self.fixed(b));
                self.restrict(a, Fixed::Minus(all, b))
            }
            RelExpr::Minus(a, b) => {
                let (minuend, subtrahend, relation) = (self.relation(a), self.relation(b), self.base());
                self.schema.differences.push(Difference { relation, minuend, subtrahend });
                SchemaTerm::Derived(relation)
            }
            RelExpr::Seq(a, b) => match (self.side(a), self.side(b)) {
                (Some(set), _) => {
                    let id = self.relation(b);
                    self.restrict(id, Fixed::From(set))
                }
                (_, Some(set)) => {
                    let id = self.relation(a);
                    self.restrict(id, Fixed::Into(set))
                }
                (None, None) => {
                    let (a, b) = (self.relation(a), self.relation(b));
                    SchemaTerm::Derived(self.schema.net.derive(Derivation::Seq(a, b)))
                }
            },
            RelExpr::Inverse(a) => {
                let a = self.relation(a);
                SchemaTerm::Derived(self.schema.net.derive(Derivation::Inverse(a)))
            }
            RelExpr::Plus(a) => {
                let a = self.relation(a);
                SchemaTerm::Derived(self.schema.net.derive(Derivation::Plus(a)))
            }
            _ => unreachable!("fixed"),
        }
    }

    fn restrict(&mut self, id: RelationId, to: Fixed) -> SchemaTerm {
        let to = self.keep(to);
        self.restrict_to(id, to)
    }

    /// The part of a relation within a fixed one. The pairs of a new subevent come to the fixed one first.
    fn restrict_to(&mut self, id: RelationId, to: FixedId) -> SchemaTerm {
        let to = self.derived(SchemaTerm::Fixed(to));
        SchemaTerm::Derived(self.schema.net.restrict(id, to))
    }

    fn flatten(&mut self, expr: &RelExpr, parts: &mut Vec<RelationId>) {
        let RelExpr::Union(a, b) = expr else { return };
        for side in [a, b] {
            if matches!(side.expr(), RelExpr::Union(..)) && !is_fixed(side) {
                self.flatten(side.expr(), parts);
            } else {
                parts.push(self.relation(side));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{po, reads, same_event, writes};
    use crate::search::memory::{MEMORY, consistent, libraries};

    fn schema(specification: fn(&mut Spec)) -> Schema {
        Schema::new(&libraries(specification), &[MEMORY], 4)
    }

    /// Two subevents determine whether `po - same_event` has a pair, so it is one base. The first set and key belong to
    /// the choice.
    #[test]
    fn a_relation_of_two_subevents_is_a_base() {
        let schema = schema(|c| {
            let pairs = (po() - same_event()).between(&reads(), &writes());
            c.empty("no write follows a read", &pairs);
        });
        assert!(schema.choices.is_empty());
        let all: Vec<Fixed> = schema.fixed.iter().map(|(_, fixed)| *fixed).collect();
        assert_eq!(all[..3], [Fixed::Po, Fixed::SameEvent, Fixed::Minus(0, 1)]);
        let [(_, of_demand), _] = schema.bases[..] else { panic!("the demand and ppo") };
        assert!(matches!(all[of_demand], Fixed::Inter(..)));
        assert!(schema.is_open.iter().all(|open| !open), "no relation depends on a choice");
    }

    /// A pair of `po - rf` may go when rf grows. So no pair comes with the subevents, because pairs must stay.
    #[test]
    fn a_difference_from_what_may_grow_has_no_pair_at_first() {
        let schema = schema(|c| {
            let (rf, _) = c.reads_from("rf", reads(), writes());
            c.empty("po without rf", &(po() - rf));
        });
        let bases: Vec<Fixed> = schema.bases.iter().map(|(_, fixed)| schema.fixed[*fixed].1).collect();
        assert_eq!(bases, [Fixed::Po, Fixed::Ppo]);
        let [Difference { relation, .. }] = schema.differences[..] else { panic!("one difference") };
        assert_eq!(*schema.net.derivation(relation), Derivation::Base);
        assert!(schema.is_open[relation]);
    }

    /// The relations rf, mo and rb depend on choices, and so does hb, which contains them. ppo alone does not.
    #[test]
    fn what_contains_a_choice_is_open() {
        let schema = schema(consistent);
        let choices: Vec<SchemaChoice> = schema.choices.iter().map(|choice| choice.of).collect();
        let [SchemaChoice::ReadsFrom { chosen, before, .. }, SchemaChoice::Order { raw, closed, .. }] = choices[..]
        else {
            panic!("rf and mo")
        };
        for relation in [chosen, before, raw, closed] {
            assert!(schema.is_open[relation]);
        }
        let (ppo, _) = schema.bases.last().expect("ppo");
        assert!(!schema.is_open[*ppo]);
        assert!(schema.is_open[schema.hb]);
    }
}
