//! The theory of all executions of an implementation, and of the promises of its specification.
//!
//! **Computes**: from the kinds of calls (the templates) and the specifications below, a first-order theory. Given g,
//! the map from promises to subevents, also the obligations of LOCO Def. 3.13, conditions 1 to 3.
//!
//! **Invariant**: every axiom holds in every consistent execution of every client. The execution is read as a structure
//! of the client's calls, the subevents of their implementations, and happens-before. So every statement that a solver derives
//! holds in all of these executions. No axiom bounds the number of calls.
//!
//! **Example**: for `slock`, each call is an acquire or a release. An axiom for each role says in which calls its
//! subevent is; another says that each such call has the subevent. `po` is defined: by `po.call` between two calls, and
//! by the positions of the template inside one call.
//!
//! **Correct because**: see `docs/prove.md`, "Why this implies Def. 3.13". The prover reads executions of small clients
//! as structures (`witness.rs`) and evaluates every axiom in each. The test `the_encoding_agrees_with_the_judge`
//! compares the translation of the algebra with the judge.
//!
//! **Cost**: two axioms for each role, and one definition for each of `po`, `to` and each set and key. The definition
//! of `po` has one disjunct for each pair of roles of one kind. The number of calls, threads and nodes does not matter.

pub(crate) mod aliases;
mod clients;
mod family;
pub(crate) mod lemmas;
pub(crate) mod no_template;
pub mod numbers;
mod obligations;
mod pairs;
mod promises;
mod stamps;
mod subevents;
mod symbols;
mod values;
pub mod witness;

use std::collections::{BTreeMap, BTreeSet};

use mowgli_core::ids::Name;
use mowgli_core::value::Val;
use mowgli_judge::algebra::Spec;

use crate::error::{Refusal, refusal};
use crate::smt::encode::{Encoding, SideNames, encode};
use crate::smt::term::{Term, Theory, all, and, app, equal, implies, symbol, truth};
use crate::template::kind::{Kind, Role};
use crate::template::pattern::Each;
use crate::template::source::ProofSource;

use self::family::TypedSubs;
use self::pairs::has_subevents;
pub use self::stamps::Stamps;
pub use self::symbols::{
    ABS, EARLIER, EARLIER_OTHER, EARLIER_ROUND, FIRST_AT, HAS_MEMBER, HAS_OTHER, IS_ROUND, LAST, MEMBER_AT, NO_ROUND,
    OTHER, RETURNED, ROUND, SUB, TAKES_PART, constant, ended_at, number_in, passed_to, plus, result_of, way_of,
};
pub(crate) use self::symbols::{ended, ends_of, location, of_library, own, the, thread};
use self::symbols::{happens_in, in_range, place_sort};
use self::values::constants;
pub(crate) use self::values::{data_of, datum_of, guards_of};

/// Prefix of the names of assumptions: conditions that clients owe to libraries.
const ASSUMED: &str = "assumed.";

/// Returns the name of the library that an encoding belongs to.
fn library(encoding: &Encoding) -> &str {
    let prefix = encoding.side.prefix.as_str();
    prefix.strip_prefix(ASSUMED).unwrap_or(prefix).trim_end_matches('/')
}

/// The error for specifications with pairs that come in turn.
const COUNTED: &str = "pairs that come in turn are counted, which is not first-order";

/// A subevent or promise that a call may have.
pub struct Thing {
    /// The sort of its term.
    pub sort: &'static str,
    /// The term for it.
    pub thing: Term,
    /// The condition under which the call has it.
    pub given: Term,
    /// The facts about it under this condition.
    pub facts: Term,
    /// The choice that gives it a source, if it is a subevent that reads.
    pub source: Option<String>,
    /// True if it is a subevent that writes.
    pub writes: bool,
}

/// The map g: for each kind and position of a promise, the role of the subevent that stands for the promise.
pub type Concretisation = BTreeMap<(usize, usize), usize>;

/// The theory, except for the part that depends on g.
pub struct LibraryTheory<'a> {
    /// The implementation and its libraries.
    pub source: &'a ProofSource<'a>,
    /// The kinds of calls.
    pub kinds: &'a [Kind],
    stamps: Stamps,
    /// The theory of executions of the implementation.
    pub below: Theory,
    /// The specifications below.
    pub lower: Vec<Encoding>,
    upper: Encoding,
    /// The assumptions of the libraries below and of the implemented library, encoded.
    pub assumption: Vec<Encoding>,
    /// The constant values in templates.
    pub constants: BTreeSet<Val>,
}

impl<'a> LibraryTheory<'a> {
    /// Builds the theory of the executions of an implementation.
    ///
    /// # Errors
    /// If a specification or a template says something that first-order logic cannot express.
    pub fn new(source: &'a ProofSource<'a>, kinds: &'a [Kind]) -> Result<Self, Refusal> {
        let stamps = Stamps::of(source.below)?;
        let several = source.below.names().count() > 1;
        let side = |name: Name| SideNames {
            sort: SUB,
            prefix: of_library(name),
            shared: "",
            own: several.then(|| format!("of.{name}")),
        };
        let encoded = |name: Name| {
            let spec = source.below.spec(name).expect("a name of the set");
            let encoding = encode(spec, side(name)).map_err(|refusal| refusal.about(name))?;
            if encoding.turns.is_empty() { Ok(encoding) } else { Err(Refusal::new(COUNTED).about(name)) }
        };
        let lower = source.below.names().map(encoded).collect::<Result<Vec<_>, _>>()?;
        if kinds.iter().flat_map(|k| &k.concrete).any(|r| r.in_loop) {
            let negative = source.below.names().find(|name| source.below.spec(*name).is_some_and(Spec::denies_a_path));
            if let Some(name) = negative {
                return Err(refusal!("{name} says that there is no path, and what a loop has read might be on one"));
            }
        }
        let spec = source.specification.spec(source.library).ok_or_else(|| refusal!("there is no specification"))?;
        let side = SideNames { sort: ABS, prefix: of_library(source.library), shared: "abs.", own: None };
        let upper = encode(spec, side).map_err(|refusal| refusal.about(source.library))?;
        if !upper.turns.is_empty() {
            return Err(Refusal::new(COUNTED).about(source.library));
        }
        let roles = kinds.iter().flat_map(Kind::roles);
        let guards = kinds.iter().flat_map(guards_of);
        let constants = constants(roles.flat_map(data_of).chain(guards)).collect();
        let below = source.below.names().map(|name| (name, source.below, SUB, ""));
        let assumption = below.chain([(source.library, source.specification, ABS, "abs.")]);
        let assumption = assumption.filter_map(|(name, libraries, sort, shared)| {
            let own = (several && sort == SUB).then(|| format!("of.{name}"));
            let side = SideNames { sort, prefix: format!("{ASSUMED}{}", of_library(name)), shared, own };
            let pairs = libraries.get(name)?.covered().pairs()?;
            let encoded = has_subevents(kinds, (name, pairs), sort).and_then(|()| encode(&pairs.algebra(), side));
            Some(encoded.map_err(|refusal| refusal.about(format!("the assumptions of {name}"))))
        });
        let assumption = assumption.collect::<Result<Vec<_>, _>>()?;
        let mut model = Self { source, kinds, stamps, below: Theory::default(), lower, upper, assumption, constants };
        model.below = model.executions()?;
        Ok(model)
    }

    fn concrete(&self) -> TypedSubs<'a> {
        let roles = self.kinds.iter().flat_map(|k| k.concrete.iter().map(move |r| (k, r))).collect();
        TypedSubs { sort: SUB, shared: "", roles }
    }

    fn promises(&self) -> TypedSubs<'a> {
        let roles = self.kinds.iter().flat_map(|k| k.abstract_.iter().map(move |r| (k, r))).collect();
        TypedSubs { sort: ABS, shared: "abs.", roles }
    }

    /// Returns the formula "the call is of this kind".
    #[must_use]
    pub fn is_kind(&self, kind: &Kind, call: &Term) -> Term {
        if self.kinds.len() == 1 {
            return truth(true);
        }
        equal(app("kind", [call]), symbol(&format!("kind.{}", kind.name)))
    }

    /// Returns for each choice below a formula that holds of each of its pairs: the goal of its first law.
    #[must_use]
    pub fn typed(&self) -> BTreeMap<String, Term> {
        let laws = self.lower.iter().flat_map(|e| e.choices.iter().zip(&e.laws));
        laws.map(|((name, _), laws)| (name.clone(), laws[0].to.clone())).collect()
    }

    /// Returns the promises of a call of a kind, and its subevents whose roles satisfy `is_named`, for the given nodes,
    /// threads and iterations.
    #[must_use]
    pub fn things(
        &self,
        call: &Term,
        k: usize,
        places: [&[Term]; 3],
        with_promises: bool,
        is_named: &dyn Fn(&Role) -> bool,
    ) -> Vec<Thing> {
        let [nodes, threads, rounds] = places;
        let kind = &self.kinds[k];
        let here = [own(call)];
        let mut things = Vec::new();
        for (family, roles) in [(self.concrete(), &kind.concrete), (self.promises(), &kind.abstract_)] {
            for role in roles.iter().filter(|r| if family.sort == SUB { is_named(r) } else { with_promises }) {
                let places = match role.each {
                    Some(Each::Nodes(_)) => nodes,
                    Some(Each::Members(_)) => threads,
                    Some(Each::Ended(event)) => &[ended(event, call)],
                    Some(Each::Rounds) => rounds,
                    None => &here,
                };
                for at in places {
                    let thing = the(role, call, at);
                    let facts = and(self.made_of(&family, role, &thing, call, at));
                    let is_read = role.reads.is_some() && family.sort == SUB;
                    things.push(Thing {
                        sort: family.sort,
                        thing,
                        given: self.valid(kind, role, call, at),
                        facts,
                        source: is_read.then(|| self.reads_from(role.library)).flatten(),
                        writes: role.writes.is_some() && family.sort == SUB,
                    });
                }
            }
        }
        things
    }

    /// Returns the facts "this subevent has this role, belongs to this call and has this index".
    fn made_of(&self, family: &TypedSubs<'_>, role: &Role, it: &Term, call: &Term, at: &Term) -> Vec<Term> {
        let mut facts = vec![family.is(role, it), equal(family.call(it), call)];
        facts.push(equal(family.place(role, it), at));
        // A sort of index that the role does not use gets a fixed value of the call, so that the subevent is
        // determined.
        if family.sort == SUB {
            let sort = place_sort(role.each);
            let is = |of: &str, what: Term| equal(family.common(of, [it]), what);
            facts.extend((sort != "Node").then(|| is("at", own(call))));
            facts.extend((sort != "Thread" && self.has_members()).then(|| is("member", thread(call))));
            facts.extend((sort != ROUND && self.has_rounds()).then(|| is("round", symbol(NO_ROUND))));
        }
        facts
    }

    /// True if a role is indexed by the threads that take part in an object.
    #[must_use]
    pub fn has_members(&self) -> bool {
        let is_of_threads = |r: &Role| place_sort(r.each) == "Thread";
        self.kinds.iter().flat_map(|k| &k.concrete).any(is_of_threads)
    }

    /// True if a role is indexed by the iterations of a loop.
    #[must_use]
    pub fn has_rounds(&self) -> bool {
        self.kinds.iter().any(Kind::has_rounds)
    }

    /// Returns the formula "the call has a subevent of this role with this index".
    #[must_use]
    pub fn valid(&self, kind: &Kind, role: &Role, call: &Term, place: &Term) -> Term {
        let at = match role.each {
            Some(each) => in_range(each, call, place),
            None => equal(place, own(call)),
        };
        let way = role.way.map(|way| happens_in(role.position.0, way, call, place));
        and([self.is_kind(kind, call), at].into_iter().chain(way))
    }

    fn executions(&self) -> Result<Theory, Refusal> {
        let mut theory = Theory::default();
        self.clients(&mut theory);
        theory.comment("The subevents of the implementations of the calls.");
        let concrete = self.concrete();
        self.subevents(&mut theory, &concrete);
        self.program_order(&mut theory, &concrete);
        self.counts(&mut theory, &concrete);
        self.shared(&mut theory, &concrete)?;
        self.libraries(&mut theory, &concrete)?;
        for encoding in &self.lower {
            theory.comment(&format!("The consistency predicate of {}.", library(encoding)));
            self.vocabulary(&mut theory, &concrete, encoding)?;
            for (name, _) in &encoding.choices {
                theory.function(name, &[SUB, SUB], "Bool");
            }
            theory.0.extend(encoding.relations.0.iter().cloned());
            let laws = encoding.of_closures().into_iter().chain(encoding.laws.iter().flatten().cloned());
            for law in laws.chain(encoding.demanded()) {
                theory.assume(&law);
            }
        }
        if self.has_assumptions() {
            self.promises_of(&mut theory)?;
            self.given_by_clients(&mut theory)?;
        }
        theory.comment("Happens-before: any transitive, irreflexive relation above ppo and so.");
        let parts = self.lower.iter().flat_map(|e| &e.so).map(|(_, predicate)| predicate.as_str());
        happens_before(&mut theory, ("hb", "hb", SUB), ["ppo"].into_iter().chain(parts));
        theory.irreflexive("hb", "hb", SUB);
        Ok(theory)
    }

    /// Defines the predicate of the subevents of each library below, where there are others.
    fn libraries(&self, theory: &mut Theory, concrete: &TypedSubs<'_>) -> Result<(), Refusal> {
        for encoding in &self.lower {
            if let Some(own) = &encoding.side.own {
                let of = concrete.has_role(&symbol("s"), |r| Ok(r.library.text() == library(encoding)))?;
                theory.define(own, &[("s", SUB)], "Bool", of);
            }
        }
        Ok(())
    }
}

/// Adds the axioms of a happens-before order: it is transitive and has each of these parts. The triple is its
/// name, its predicate and the sort of its members.
pub(crate) fn happens_before<'p>(
    theory: &mut Theory,
    (name, predicate, sort): (&str, &str, &str),
    parts: impl Iterator<Item = &'p str>,
) {
    let [a, b] = ["a", "b"].map(symbol);
    for part in parts {
        let edge = implies(app(part, [&a, &b]), app(predicate, [&a, &b]));
        theory.axiom(&format!("{name} has {part}"), all(&[("a", sort), ("b", sort)], edge));
    }
    theory.transitive(name, predicate, sort);
}
