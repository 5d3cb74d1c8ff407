//! Specifications as first-order theories: each operator of the algebra is translated once.
//!
//! Subevents are elements of a sort, and relations are predicates on them. A transitive closure is not first-order: it
//! becomes a predicate that is transitive and contains the relation under the closure. The real closure is such a
//! predicate, so every consequence of these laws holds of it. Counting is not first-order either: a relation between
//! the i-th members of two sets becomes a predicate that pairs each member with at most one.

use std::collections::{BTreeMap, BTreeSet};

use mowgli_judge::algebra::{Choice, Demand, Key, Rel, RelExpr, Set, Spec};

use crate::error::Refusal;
use crate::smt::term::{Obligation, Term, Theory, and, any, app, equal, not, or, symbol, truth};

/// The names of one side: the sort of its subevents, and the prefixes of its symbols.
#[derive(Clone, Debug)]
pub struct SideNames {
    /// The sort of subevents.
    pub sort: &'static str,
    /// Prefix of the names of this library.
    pub prefix: String,
    /// Prefix of the names that all libraries share.
    pub shared: &'static str,
    /// The predicate of the subevents of this library, if the sort has others too.
    pub own: Option<String>,
}

impl SideNames {
    /// Returns a name of this library.
    #[must_use]
    pub fn name(&self, of: &str) -> String {
        format!("{}{of}", self.prefix)
    }

    /// Applies a symbol that libraries share.
    #[must_use]
    pub fn common<T: Into<Term>>(&self, of: &str, to: impl IntoIterator<Item = T>) -> Term {
        app(&format!("{}{of}", self.shared), to)
    }
}

/// The demand that every subevent of a set has a partner: `[set] - rel; rel^-1` is empty, or `[set] - rel^-1; rel`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partner {
    /// The predicate of the set.
    pub of: String,
    /// The predicate of the relation.
    pub relation: String,
    /// True if the partner is the second one of the pair, false if it is the first.
    pub is_second: bool,
}

impl Partner {
    /// Returns the formula "a member of the set has this subevent as its partner".
    #[must_use]
    pub fn is(&self, a: &Term, partner: &Term) -> Term {
        let pair = if self.is_second { [a.clone(), partner.clone()] } else { [partner.clone(), a.clone()] };
        app(&self.relation, &pair)
    }
}

/// A specification in first-order logic.
pub struct Encoding {
    /// The names of its side.
    pub side: SideNames,
    /// The sets, by the names of their predicates.
    pub sets: Vec<(String, Set)>,
    /// The keys, by the names of the predicates of pairs on which they are defined and equal.
    pub keys: Vec<(String, Key)>,
    /// The choices, by the names of their predicates.
    pub choices: Vec<(String, Choice)>,
    /// The laws of each choice. The goal of the first one says which pairs it may have.
    pub laws: Vec<Vec<Obligation>>,
    /// The closures: the predicate, and the relation under the closure.
    pub closures: Vec<(String, String)>,
    /// The relations in turn, which count: the predicate, and the relation.
    pub turns: Vec<(String, Rel)>,
    /// The definitions of the relations, and the declarations of the closures.
    pub relations: Theory,
    /// The parts of so, with the names of their predicates.
    pub so: Vec<(&'static str, String)>,
    /// For each demand for partners its parts.
    pub partners: Vec<Option<Partner>>,
    /// The demands, with the names of their predicates.
    pub demands: Vec<(&'static str, Demand, String)>,
    /// The laws of the relations in turn.
    pub of_turns: Vec<Obligation>,
    /// The predicates of translated expressions, by address.
    known: BTreeMap<usize, String>,
    taken: BTreeSet<String>,
    variables: usize,
}

/// Encodes a specification.
///
/// # Errors
/// Names the operator that is not first-order.
pub fn encode(spec: &Spec, side: SideNames) -> Result<Encoding, Refusal> {
    let mut encoding = Encoding {
        choices: spec.choices.iter().map(|(name, choice)| (side.name(name), choice.clone())).collect(),
        side,
        sets: Vec::new(),
        keys: Vec::new(),
        closures: Vec::new(),
        turns: Vec::new(),
        of_turns: Vec::new(),
        relations: Theory::default(),
        so: Vec::new(),
        partners: Vec::new(),
        demands: Vec::new(),
        known: BTreeMap::new(),
        taken: BTreeSet::new(),
        variables: 0,
        laws: Vec::new(),
    };
    encoding.taken = encoding.choices.iter().map(|(name, _)| name.clone()).collect();
    for (name, choice) in encoding.choices.clone() {
        encoding.choice(&name, &choice)?;
    }
    for (name, rel) in &spec.so {
        let predicate = encoding.predicate(rel)?;
        encoding.so.push((name, predicate));
    }
    for (name, demand, rel) in &spec.demands {
        let predicate = encoding.predicate(rel)?;
        encoding.demands.push((name, *demand, predicate));
        let partner = if *demand == Demand::Empty { encoding.partner(rel)? } else { None };
        encoding.partners.push(partner);
    }
    Ok(encoding)
}

fn pair() -> [Term; 2] {
    ["a", "b"].map(symbol)
}

/// Makes a law about subevents of a sort: an axiom of a library below, or an obligation of the implemented one.
fn law(sort: &'static str, words: String, of: &[&str], from: Term, to: Term) -> Obligation {
    let of: Vec<(&str, &'static str)> = of.iter().map(|variable| (*variable, sort)).collect();
    Obligation::new(words, &of, from, to)
}

impl Encoding {
    /// Returns a name that is not used yet.
    fn fresh(&mut self, wish: &str) -> String {
        let names = std::iter::once(String::new()).chain((2..).map(|n| format!(".{n}")));
        let wish = self.side.name(wish);
        let name = names.map(|end| format!("{wish}{end}")).find(|name| !self.taken.contains(name));
        let name = name.expect("there is always another number");
        self.taken.insert(name.clone());
        name
    }

    fn set(&mut self, set: &Set) -> String {
        let name = self.fresh("set");
        self.sets.push((name.clone(), set.clone()));
        name
    }

    fn key(&mut self, key: &Key) -> String {
        let name = self.fresh(&format!("same.{}", key.name.replace(|c: char| !c.is_alphanumeric(), "")));
        self.keys.push((name.clone(), key.clone()));
        name
    }

    fn own(&self, of: &Term) -> Term {
        self.side.own.as_ref().map_or(truth(true), |own| app(own, [of]))
    }

    /// Applies a relation that libraries share to subevents of this one.
    fn shared(&self, name: &str, a: &Term, b: &Term) -> Term {
        and([self.own(a), self.own(b), self.side.common(name, [a, b])])
    }

    /// Returns the name of the predicate of a relation of the specification. Defines the predicate when it is new.
    ///
    /// # Errors
    /// Names the operator that is not first-order.
    pub fn predicate(&mut self, rel: &Rel) -> Result<String, Refusal> {
        if let RelExpr::Chosen(choice) = rel.expr() {
            return Ok(self.choices[*choice].0.clone());
        }
        if let Some(known) = self.known.get(&rel.address()) {
            return Ok(known.clone());
        }
        let sort = self.side.sort;
        let wish = rel.said().map_or("relation", |said| said.name);
        let name = if let RelExpr::Plus(inner) = rel.expr() {
            let inner = self.predicate(inner)?;
            let name = self.fresh(&format!("{}+", wish));
            self.relations.function(&name, &[sort, sort], "Bool");
            self.closures.push((name.clone(), inner));
            name
        } else if let RelExpr::InTurn(from, to, key) = rel.expr() {
            self.in_turn(rel, wish, (from, to, key))
        } else {
            let [a, b] = pair();
            let body = self.body(rel, &a, &b)?;
            let name = self.fresh(wish);
            self.relations.define(&name, &[("a", sort), ("b", sort)], "Bool", body);
            name
        };
        self.known.insert(rel.address(), name.clone());
        Ok(name)
    }

    /// Returns the parts of a demand for partners, if the emptiness of this relation is one.
    fn partner(&mut self, rel: &Rel) -> Result<Option<Partner>, Refusal> {
        let RelExpr::Minus(members, pairs) = rel.expr() else { return Ok(None) };
        let (RelExpr::On(set), RelExpr::Seq(one, other)) = (members.expr(), pairs.expr()) else { return Ok(None) };
        let (relation, is_second) = match (one.expr(), other.expr()) {
            (_, RelExpr::Inverse(back)) if back.address() == one.address() => (one, true),
            (RelExpr::Inverse(back), _) if back.address() == other.address() => (other, false),
            _ => return Ok(None),
        };
        Ok(Some(Partner { of: self.set(set), relation: self.predicate(relation)?, is_second }))
    }

    /// Returns the formula "the relation has this pair": by its name if it has one, else written out.
    fn has(&mut self, rel: &Rel, a: &Term, b: &Term) -> Result<Term, Refusal> {
        if rel.said().is_some() || matches!(rel.expr(), RelExpr::Plus(_)) {
            return Ok(app(&self.predicate(rel)?, [a, b]));
        }
        self.body(rel, a, b)
    }

    fn body(&mut self, rel: &Rel, a: &Term, b: &Term) -> Result<Term, Refusal> {
        let both = [a.clone(), b.clone()];
        Ok(match rel.expr() {
            RelExpr::Po => self.shared("po", a, b),
            RelExpr::Ppo => self.shared("ppo", a, b),
            RelExpr::Hb => self.shared("hb", a, b),
            RelExpr::SameEvent => self.shared("same.event", a, b),
            RelExpr::SameThread => self.shared("same.thread", a, b),
            RelExpr::Same(key) => app(&self.key(key), &both),
            RelExpr::InTurn(..) => app(&self.predicate(rel)?, &both),
            RelExpr::On(set) => and([self.member(set, a), equal(a, b)]),
            RelExpr::Cross(from, to) => and([self.member(from, a), self.member(to, b)]),
            RelExpr::Chosen(choice) => app(&self.choices[*choice].0, &both),
            RelExpr::BeforeAny(choice) => self.before_any(*choice, a, b),
            RelExpr::Union(x, y) => or([self.has(x, a, b)?, self.has(y, a, b)?]),
            RelExpr::Inter(x, y) => and([self.has(x, a, b)?, self.has(y, a, b)?]),
            RelExpr::Minus(x, y) => and([self.has(x, a, b)?, not(self.has(y, a, b)?)]),
            RelExpr::Seq(x, y) => self.sequence(x, y, a, b)?,
            RelExpr::Inverse(x) => self.has(x, b, a)?,
            RelExpr::Plus(_) => app(&self.predicate(rel)?, &both),
        })
    }

    /// Declares a relation in turn with its laws: it pairs the i-th members of two sets.
    fn in_turn(&mut self, rel: &Rel, wish: &str, (from, to, key): (&Set, &Set, &Key)) -> String {
        let sort = self.side.sort;
        let name = self.fresh(if wish == "relation" { "turn" } else { wish });
        let (from, to, key) = (self.set(from), self.set(to), self.key(key));
        self.relations.function(&name, &[sort, sort], "Bool");
        self.turns.push((name.clone(), rel.clone()));
        let [a, b, c] = ["a", "b", "c"].map(symbol);
        let paired = |a: &Term, b: &Term| app(&name, [a, b]);
        let is = |set: &str, s: &Term| app(set, [s]);
        let alike = app(&key, [&a, &b]);
        let thread = self.side.common("same.thread", [&a, &b]);
        let event = format!("{}same.event", self.side.shared);
        let one_event = |a: &Term, b: &Term| app(&event, [a, b]);
        let short = name.strip_prefix(&self.side.prefix).unwrap_or(&name).to_owned();
        let law = |words: &str, of: &[&str], from, to| law(sort, format!("{short}: {words}"), of, from, to);
        let pair = and([is(&from, &a), is(&to, &b), thread, alike]);
        self.of_turns.extend([
            law("pairs are of one thread and alike", &["a", "b"], paired(&a, &b), pair),
            law("one is with one", &["a", "b", "c"], and([paired(&a, &b), paired(&a, &c)]), one_event(&b, &c)),
            law("one has one", &["a", "b", "c"], and([paired(&a, &c), paired(&b, &c)]), one_event(&a, &b)),
        ]);
        name
    }

    fn member(&mut self, set: &Set, a: &Term) -> Term {
        app(&self.set(set), [a])
    }

    fn sequence(&mut self, x: &Rel, y: &Rel, a: &Term, b: &Term) -> Result<Term, Refusal> {
        if let RelExpr::On(set) = x.expr() {
            return Ok(and([self.member(set, a), self.has(y, a, b)?]));
        }
        if let RelExpr::On(set) = y.expr() {
            return Ok(and([self.has(x, a, b)?, self.member(set, b)]));
        }
        self.variables += 1;
        let between = format!("u{}", self.variables);
        let u = symbol(&between);
        let body = and([self.has(x, a, &u)?, self.has(y, &u, b)?]);
        Ok(any(&[(&between, self.side.sort)], body))
    }

    /// Returns the formula "no write is the source of this read".
    fn is_initial(&mut self, rf: &str, read: &Term) -> Term {
        self.variables += 1;
        let source = format!("u{}", self.variables);
        not(any(&[(&source, self.side.sort)], app(rf, [symbol(&source), read.clone()])))
    }

    fn before_any(&mut self, choice: usize, a: &Term, b: &Term) -> Term {
        let (rf, of) = self.choices[choice].clone();
        let Choice::ReadsFrom { reads, writes } = of else { unreachable!("made by reads_from only") };
        let same = self.side.common("same.cell", [a, b]);
        let differ = not(equal(a, b));
        and([self.member(&reads, a), self.member(&writes, b), differ, same, self.is_initial(&rf, a)])
    }

    /// Adds the laws of a choice.
    fn choice(&mut self, name: &str, choice: &Choice) -> Result<(), Refusal> {
        let [a, b] = pair();
        let c = symbol("c");
        let short = name.strip_prefix(&self.side.prefix).unwrap_or(name).to_owned();
        let chosen = |a: &Term, b: &Term| app(name, [a, b]);
        let sort = self.side.sort;
        let law = |words: &str, of: &[&str], from, to| law(sort, format!("{short}{words}"), of, from, to);
        let laws = match choice {
            Choice::ReadsFrom { reads, writes } => {
                let (reads, writes) = (self.set(reads), self.set(writes));
                let [is_read, is_write] = [&reads, &writes].map(|set| move |s: &Term| app(set, [s]));
                let initial = self.is_initial(name, &a);
                let value = |what: &str, of: &Term| self.side.common(what, [of]);
                let same = self.side.common("same.cell", [&a, &b]);
                vec![
                    law(
                        " relates a write and a read of one cell",
                        &["a", "b"],
                        chosen(&a, &b),
                        and([is_write(&a), is_read(&b), same]),
                    ),
                    law(
                        ": what is read was written",
                        &["a", "b"],
                        chosen(&a, &b),
                        equal(value("wrote", &a), value("read", &b)),
                    ),
                    law(
                        ": a read has one source",
                        &["a", "b", "c"],
                        and([chosen(&a, &c), chosen(&b, &c)]),
                        equal(&a, &b),
                    ),
                    law(
                        ": a read without a source reads the initial value",
                        &["a"],
                        and([is_read(&a), initial]),
                        equal(value("read", &a), value("initial", &a)),
                    ),
                ]
            }
            Choice::Order { members, key } => {
                let (members, same) = (self.set(members), self.key(key));
                let is_member = |s: &Term| app(&members, [s]);
                let class = and([is_member(&a), is_member(&b), app(&same, pair()), not(equal(&a, &b))]);
                vec![
                    law(" relates different members of one class", &["a", "b"], chosen(&a, &b), class.clone()),
                    law(" is transitive", &["a", "b", "c"], and([chosen(&a, &b), chosen(&b, &c)]), chosen(&a, &c)),
                    law(" is total", &["a", "b"], class, or([chosen(&a, &b), chosen(&b, &a)])),
                ]
            }
            Choice::Orient { pairs } => {
                let pairs = self.predicate(pairs)?;
                let wanted = |a: &Term, b: &Term| and([app(&pairs, [a, b]), not(equal(a, b))]);
                let one = or([chosen(&a, &b), chosen(&b, &a)]);
                vec![
                    law(" relates no other pairs", &["a", "b"], chosen(&a, &b), or([wanted(&a, &b), wanted(&b, &a)])),
                    law(" has every pair one way", &["a", "b"], wanted(&a, &b), one),
                    law(
                        " has no pair both ways",
                        &["a", "b"],
                        and([wanted(&a, &b), chosen(&a, &b)]),
                        not(chosen(&b, &a)),
                    ),
                ]
            }
        };
        self.laws.push(laws);
        Ok(())
    }

    /// Returns the laws of the demands.
    #[must_use]
    pub fn demanded(&self) -> Vec<Obligation> {
        let [a, b] = pair();
        let law = |(name, demand, predicate): &(&'static str, Demand, String)| match demand {
            Demand::Irreflexive => {
                let words = format!("{name} is irreflexive");
                law(self.side.sort, words, &["a"], truth(true), not(app(predicate, [&a, &a])))
            }
            Demand::Empty => {
                let words = format!("{name} is empty");
                law(self.side.sort, words, &["a", "b"], truth(true), not(app(predicate, [&a, &b])))
            }
        };
        self.demands.iter().map(law).collect()
    }

    /// Returns the laws of the closures: each is transitive and contains the relation under it.
    #[must_use]
    pub fn of_closures(&self) -> Vec<Obligation> {
        let [a, b] = pair();
        let c = symbol("c");
        let laws = self.closures.iter().flat_map(|(closure, inner)| {
            let has = |a: &Term, b: &Term| app(closure, [a, b]);
            [
                law(self.side.sort, format!("{closure} has {inner}"), &["a", "b"], app(inner, [&a, &b]), has(&a, &b)),
                law(
                    self.side.sort,
                    format!("{closure} is transitive"),
                    &["a", "b", "c"],
                    and([has(&a, &b), has(&b, &c)]),
                    has(&a, &c),
                ),
            ]
        });
        laws.collect()
    }
}

#[cfg(test)]
mod tests {
    use mowgli_judge::algebra::{po, reads, writes};

    use super::*;
    use crate::smt::term::Structure;

    fn encoded(specify: impl FnOnce(&mut Spec)) -> Encoding {
        let mut spec = Spec::default();
        specify(&mut spec);
        let side = SideNames { sort: "Sub", prefix: "m.".to_owned(), shared: "", own: None };
        encode(&spec, side).unwrap()
    }

    /// Returns a structure with so many subevents, in which these pairs are in these relations.
    fn structure<'a>(subs: usize, relations: &'a [(&str, &[[usize; 2]])]) -> Structure<'a> {
        let mut structure = Structure::default();
        structure.size("Sub", subs);
        for (name, pairs) in relations {
            structure.table(name, |p| usize::from(pairs.contains(&[p[0], p[1]])));
        }
        structure
    }

    /// rf goes from 0 to 1 and po from 1 to 2, so `rf; po` goes from 0 to 2 and nowhere else.
    #[test]
    fn a_composition_has_the_pairs_with_something_in_between() {
        let encoding = encoded(|c| {
            let (rf, _) = c.reads_from("rf", reads(), writes());
            c.empty("rf; po", &rf.then(&po()));
        });
        let mut structure = structure(3, &[("m.rf", &[[0, 1]]), ("po", &[[1, 2]])]);
        structure.define(&encoding.relations);
        let predicate = &encoding.demands[0].2;
        for (a, b) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
            assert_eq!(structure.apply(predicate, &[a, b]), Ok(usize::from((a, b) == (0, 2))), "{a} {b}");
        }
    }

    /// Returns the laws of rf that fail if subevent 1 reads this value from these writes. Write 0 writes 1, and write 2
    /// writes 7. Words are initially 0.
    fn broken_laws(read: usize, sources: &[[usize; 2]]) -> Vec<String> {
        let encoding = encoded(|c| _ = c.reads_from("rf", reads(), writes()));
        let relations = [("m.rf", sources)];
        let mut structure = structure(3, &relations);
        let [is_read, is_write] = [0, 1].map(|n: usize| encoding.sets[n].0.clone());
        structure.table(&is_read, |p| usize::from(p[0] == 1));
        structure.table(&is_write, |p| usize::from(p[0] != 1));
        structure.table("same.cell", |_| 1);
        structure.table("read", move |_| read);
        structure.table("wrote", |p| if p[0] == 0 { 1 } else { 7 });
        structure.table("initial", |_| 0);
        let fails = |law: &&Obligation| !structure.holds(&law.closed()).unwrap();
        encoding.laws[0].iter().filter(fails).map(|law| law.name.clone()).collect()
    }

    #[test]
    fn the_laws_of_a_choice_hold_of_what_it_may_be_only() {
        assert_eq!(broken_laws(1, &[[0, 1]]), [""; 0]);
        assert_eq!(broken_laws(0, &[]), [""; 0]);
        assert_eq!(broken_laws(7, &[[0, 1]]), ["rf: what is read was written"]);
        assert_eq!(broken_laws(1, &[]), ["rf: a read without a source reads the initial value"]);
        assert_eq!(broken_laws(1, &[[0, 1], [2, 1]]), ["rf: what is read was written", "rf: a read has one source"]);
        assert_eq!(broken_laws(1, &[[0, 1], [0, 2]])[0], "rf relates a write and a read of one cell");
    }

    /// A closure is a predicate with two laws: it contains po, and it is transitive.
    #[test]
    fn a_closure_has_its_relation_and_is_transitive() {
        let encoding = encoded(|c| c.irreflexive("po+", &(po() | po().inv()).plus()));
        let [(closure, inner)] = &encoding.closures[..] else { panic!("one closure") };
        let holds = |pairs: &[[usize; 2]]| {
            let relations = [(&**closure, pairs), (&**inner, &[[0, 1], [1, 2]][..])];
            let structure = structure(3, &relations);
            encoding.of_closures().iter().map(|law| structure.holds(&law.closed()).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(holds(&[[0, 1], [1, 2], [0, 2]]), [true, true]);
        assert_eq!(holds(&[[0, 1], [1, 2]]), [true, false]);
        assert_eq!(holds(&[[0, 1], [0, 2]]), [false, true]);
    }

    /// Every read has a source: `[reads] - rf^-1; rf` is empty, and the source is the first of its pair.
    #[test]
    fn a_demand_for_partners_is_recognised() {
        let encoding = encoded(|c| {
            let (rf, _) = c.reads_from("rf", reads(), writes());
            c.empty("reads have sources", &(reads().on() - rf.inv().then(&rf)));
            c.empty("no partner", &(reads().on() - rf.inv().then(&po())));
        });
        let [Some(partner), None] = &encoding.partners[..] else { panic!("{:?}", encoding.partners) };
        assert_eq!((&*partner.relation, partner.is_second), ("m.rf", false));
        assert_eq!(partner.is(&symbol("r"), &symbol("w")).to_string(), "(m.rf w r)");
    }
}
