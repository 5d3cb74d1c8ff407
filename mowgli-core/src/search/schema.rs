//! Compilation of specifications to a network of relations to which subevents can be added: see [`super::prefix`].
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
//! may still grow, so its pairs are left out: a lower bound is still right. A fixed relation may be a difference, since two
//! subevents decide it for ever. The tests in `tests/tests/flow.rs`
//! compare with a plain fixed point.
//!
//! **Cost.** Linear in the size of the specifications, once for each set of libraries whose specifications apply.

use std::collections::BTreeMap;

use super::network::{Check, Derivation, RelationId, RelationNetwork};
use crate::algebra::{Choice, Demand, Key, Rel, RelExpr, Set, Spec};
use crate::ids::Name;
use crate::library::Libraries;
use crate::search::relation::Matrix;

/// A position among the fixed relations of a [`Schema`].
pub(crate) type FixedId = usize;

/// A relation in which two subevents alone determine the pairs. Numbers are positions among the sets, keys, turns and fixed
/// relations of the [`Schema`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fixed {
    /// No pair.
    Nothing,
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
pub(crate) enum SchemaChoice {
    /// For each read the write that it reads from: see [`super::compile::UnfilledChoice`].
    ReadsFrom { reads: usize, writes: usize, chosen: RelationId, before: RelationId, excluded: RelationId },
    /// The direction of each of these pairs.
    Order { raw: RelationId, closed: RelationId, pairs: FixedId },
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
    pub choices: Vec<(usize, SchemaChoice)>,
    /// Whether each relation depends on a choice.
    pub is_open: Vec<bool>,
}

#[derive(Clone, Copy)]
enum SchemaTerm {
    Fixed(FixedId),
    Derived(RelationId),
}

struct SchemaBuilder {
    schema: Schema,
    empty: Matrix,
    seen_hb: Option<RelationId>,
    library: usize,
    first_choice: usize,
    terms: BTreeMap<(usize, usize), SchemaTerm>,
}

impl Schema {
    /// The relations of these libraries, for up to so many subevents.
    pub fn new(libraries: &Libraries, names: &[Name], capacity: usize) -> Self {
        let mut net = RelationNetwork::new(capacity);
        net.set_live(0);
        let schema = Self {
            names: names.to_vec(),
            net,
            sets: Vec::new(),
            keys: Vec::new(),
            turns: Vec::new(),
            fixed: Vec::new(),
            bases: Vec::new(),
            choices: Vec::new(),
            is_open: Vec::new(),
        };
        let empty = Matrix::empty(capacity);
        let terms = BTreeMap::new();
        let mut builder = SchemaBuilder { schema, empty, seen_hb: None, library: 0, first_choice: 0, terms };
        builder.libraries(libraries, names);
        let mut schema = builder.schema;
        schema.is_open = is_open(&schema);
        schema
    }
}

fn is_open(schema: &Schema) -> Vec<bool> {
    let net = &schema.net;
    let mut open = vec![false; net.relations()];
    for (_, choice) in &schema.choices {
        match choice {
            SchemaChoice::ReadsFrom { chosen, before, .. } => (open[*chosen], open[*before]) = (true, true),
            SchemaChoice::Order { raw, .. } => open[*raw] = true,
        }
    }
    super::compile::spread_open(net, &mut open);
    open
}

/// True if two subevents alone determine whether the relation has the pair of them.
fn is_fixed(rel: &Rel) -> bool {
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
        let mut so = Vec::new();
        let mut beyond_so = Vec::new();
        for (library, &name) in names.iter().enumerate() {
            let spec = libraries.spec(name).expect("a name of the set");
            (self.library, self.first_choice) = (library, self.schema.choices.len());
            so.extend(self.library(spec));
            if spec.mentions_hb() {
                beyond_so.push((library, spec, self.first_choice));
            }
        }
        let ppo = self.base();
        self.schema.bases.push((ppo, self.schema.fixed.len()));
        self.schema.fixed.push((None, Fixed::Ppo));
        so.push(ppo);
        let edges = self.schema.net.derive(Derivation::Union(so));
        let hb = self.schema.net.derive(Derivation::Plus(edges));
        self.schema.net.check(hb, Check::Irreflexive);
        self.seen_hb = Some(hb);
        for (library, spec, first_choice) in beyond_so {
            (self.library, self.first_choice) = (library, first_choice);
            self.demands(spec, true);
        }
    }

    /// Compiles the choices, demands and so of the current library. Relations that mention hb follow later, because hb
    /// depends on so.
    fn library(&mut self, spec: &Spec) -> Vec<RelationId> {
        for (_, choice) in &spec.choices {
            let open = self.choice(choice);
            self.schema.choices.push((self.library, open));
        }
        self.demands(spec, false);
        spec.so.iter().map(|(_, rel)| self.relation(rel)).collect()
    }

    fn demands(&mut self, spec: &Spec, of_hb: bool) {
        for (_, demand, rel) in spec.demands.iter().filter(|(_, _, rel)| rel.mentions_hb() == of_hb) {
            let id = self.relation(rel);
            let check = match demand {
                Demand::Irreflexive => Check::Irreflexive,
                Demand::Empty => Check::Empty,
            };
            self.schema.net.check(id, check);
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
        self.schema.net.base(&self.empty)
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
            SchemaTerm::Derived(_) => panic!("pairs to orient depend on a choice"),
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
                let id = self.base();
                self.schema.bases.push((id, fixed));
                id
            }
        }
    }

    fn term(&mut self, rel: &Rel) -> SchemaTerm {
        let key = (self.library, rel.address());
        if let Some(term) = self.terms.get(&key) {
            return *term;
        }
        let term = if is_fixed(rel) {
            let fixed = self.expression_of_two(rel.expr());
            SchemaTerm::Fixed(self.keep(fixed))
        } else {
            self.expression(rel.expr())
        };
        self.terms.insert(key, term);
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
            RelExpr::Chosen(choice) => SchemaTerm::Derived(match &self.schema.choices[self.first_choice + choice].1 {
                SchemaChoice::ReadsFrom { chosen, .. } => *chosen,
                SchemaChoice::Order { closed, .. } => *closed,
            }),
            RelExpr::BeforeAny(choice) => match &self.schema.choices[self.first_choice + choice].1 {
                SchemaChoice::ReadsFrom { before, .. } => SchemaTerm::Derived(*before),
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
            // The subtrahend may have more pairs later.
            RelExpr::Minus(..) => SchemaTerm::Fixed(self.keep(Fixed::Nothing)),
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

    /// A pair of `po - rf` may go when rf grows. It is left out, because pairs must stay.
    #[test]
    fn a_difference_from_what_may_grow_is_left_out() {
        let schema = schema(|c| {
            let (rf, _) = c.reads_from("rf", reads(), writes());
            c.empty("po without rf", &(po() - rf));
        });
        let bases: Vec<Fixed> = schema.bases.iter().map(|(_, fixed)| schema.fixed[*fixed].1).collect();
        assert_eq!(bases, [Fixed::Nothing, Fixed::Ppo]);
    }

    /// The relations rf, mo and rb depend on choices, and so does hb, which contains them. ppo alone does not.
    #[test]
    fn what_contains_a_choice_is_open() {
        let schema = schema(consistent);
        let [(_, SchemaChoice::ReadsFrom { chosen, before, .. }), (_, SchemaChoice::Order { raw, closed, .. })] =
            &schema.choices[..]
        else {
            panic!("rf and mo")
        };
        for relation in [chosen, before, raw, closed] {
            assert!(schema.is_open[*relation]);
        }
        let (ppo, ..) = schema.bases.last().expect("ppo");
        assert!(!schema.is_open[*ppo]);
        assert_eq!(schema.is_open.last(), Some(&true), "hb");
    }
}
