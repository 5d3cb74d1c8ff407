//! Clients: calls, threads, nodes and objects, and the assumptions that clients satisfy.

use std::collections::BTreeSet;

use itertools::Itertools;

use crate::error::Refusal;
use crate::smt::encode::Partner;
use crate::smt::term::{INT, Obligation, TUPLE, Term, Theory, all, and, app, equal, implies, not, or, symbol};
use crate::template::kind::Kind;
use crate::template::pattern::{ArgumentForm, Each};

use super::symbols::{
    ABS, EARLIER_ROUND, IS_ROUND, NO_ROUND, RETURNED, ROUND, SUB, constant, ended_at, ends_of, happens_in, in_range,
    number_in, own, passed_to, place_sort, plus, result_of, the, way_of,
};
use super::values::guarded;
use super::{LibraryTheory, library};

impl LibraryTheory<'_> {
    /// Returns the theory of calls and their subevents with the assumptions of the implemented library. Also returns
    /// the obligations that the implementation satisfies the assumptions of the libraries below. The theory has no
    /// consistency predicate, because a library below guarantees it only if its assumptions hold.
    ///
    /// # Errors
    /// If an assumption or a template says something that first-order logic cannot express.
    pub fn assumed(&self) -> Result<(Theory, Vec<Obligation>), Refusal> {
        let mut theory = Theory::default();
        let concrete = self.concrete();
        self.clients(&mut theory);
        self.subevents(&mut theory, &concrete);
        self.program_order(&mut theory, &concrete);
        self.shared(&mut theory, &concrete)?;
        self.libraries(&mut theory, &concrete)?;
        self.promises_of(&mut theory)?;
        self.given_by_clients(&mut theory)?;
        let mut obligations = Vec::new();
        for encoding in self.assumption.iter().filter(|e| e.side.sort == SUB) {
            theory.comment(&format!("The assumption of {} about the calls of the bodies.", library(encoding)));
            self.vocabulary(&mut theory, &concrete, encoding)?;
            theory.0.extend(encoding.relations.0.iter().cloned());
            let said = encoding.demands.iter().map(|(name, ..)| *name);
            for ((law, partner), name) in encoding.demanded().into_iter().zip(&encoding.partners).zip(said) {
                if let Some(partner) = partner {
                    obligations.push(self.partnered(library(encoding), name, partner));
                } else {
                    let name = format!("{} requires: {}", library(encoding), law.name);
                    obligations.push(Obligation { name, ..law });
                }
            }
        }
        Ok((theory, obligations))
    }

    /// True if the theory of executions has the assumptions on clients. A loop that waits needs them: it waits for a
    /// matching call.
    pub(crate) fn has_assumptions(&self) -> bool {
        let has_loops = self.kinds.iter().flat_map(|k| &k.concrete).any(|r| r.in_loop);
        has_loops && self.assumption.iter().any(|e| e.side.sort == ABS)
    }

    /// Adds the assumptions of the implemented library as axioms.
    pub(super) fn given_by_clients(&self, theory: &mut Theory) -> Result<(), Refusal> {
        let promises = self.promises();
        for encoding in self.assumption.iter().filter(|e| e.side.sort == ABS) {
            theory.comment(&format!("The assumption of {} about its clients, which is given.", library(encoding)));
            self.vocabulary(theory, &promises, encoding)?;
            theory.0.extend(encoding.relations.0.iter().cloned());
            for (law, partner) in encoding.demanded().into_iter().zip(&encoding.partners) {
                if partner.is_none() {
                    theory.assume(&law);
                }
            }
            for (mate, partner) in self.matching() {
                theory.function(&mate, &[ABS], ABS);
                let a = symbol("a");
                let has = partner.is(&a, &app(&mate, [&a]));
                let given = app(&partner.of, [&a]);
                theory.axiom("each has its partner", all(&[("a", ABS)], implies(given, has)));
            }
        }
        Ok(())
    }

    /// Returns the formula "clients owe these two calls to each other", if clients owe any.
    pub(crate) fn partners(&self, (k, c): (&Kind, Term), (l, d): (&Kind, Term)) -> Option<Term> {
        let promises = |kind: &Kind, call: &Term| {
            kind.abstract_.iter().filter(|r| r.each.is_none()).map(|r| the(r, call, &own(call))).collect::<Vec<Term>>()
        };
        let pairs = promises(k, &c).into_iter().cartesian_product(promises(l, &d)).collect::<Vec<_>>();
        let matching = self.matching();
        let ways = matching
            .iter()
            .flat_map(|(_, partner)| pairs.iter().map(|(a, b)| and([app(&partner.of, [a]), partner.is(a, b)])));
        let ways: Vec<Term> = ways.collect();
        (self.has_assumptions() && !ways.is_empty()).then(|| or(ways))
    }

    /// Returns the functions from promises to the partners that clients owe them.
    #[must_use]
    pub fn matching(&self) -> Vec<(String, Partner)> {
        let given = self.assumption.iter().filter(|e| e.side.sort == ABS).flat_map(|e| e.partners.iter().flatten());
        given.enumerate().map(|(i, partner)| (format!("mate.{i}"), partner.clone())).collect()
    }

    /// Returns the obligation that each subevent has its partner: in the same call, or in the call of a partner of one
    /// of its promises.
    fn partnered(&self, of: &str, words: &str, partner: &Partner) -> Obligation {
        let (concrete, promises) = (self.concrete(), self.promises());
        let a = symbol("a");
        let call = concrete.call(&a);
        let promised = promises.roles.iter().map(|(_, r)| the(r, &call, &own(&call)));
        let matching = self.matching();
        let matching = promised.cartesian_product(&matching).map(|(promise, (mate, _))| app(mate, [promise]));
        let calls: Vec<Term> = matching.map(|mate| promises.call(&mate)).chain([call.clone()]).collect();
        let roles = concrete.roles.iter().filter(|(_, r)| r.library.text() == of && r.each.is_none());
        let there = roles
            .cartesian_product(&calls)
            .map(|((kind, role), call)| and([self.is_kind(kind, call), partner.is(&a, &the(role, call, &own(call)))]));
        Obligation::new(format!("{of} requires: {words}"), &[("a", SUB)], app(&partner.of, [&a]), or(there))
    }

    /// Declares calls, threads, nodes and arguments.
    pub(super) fn clients(&self, theory: &mut Theory) {
        theory.comment("Clients: calls of any number of threads on any number of nodes.");
        for sort in ["Call", "Thread", "Node", "Location", "Identifier", "Value", SUB, ABS] {
            theory.sort(sort);
        }
        if self.count_sort() != INT {
            theory.sort(self.count_sort());
        }
        if self.has_rounds() {
            Self::rounds_of_loops(theory);
        }
        theory.elements("Kind", self.kinds.iter().map(|k| format!("kind.{}", k.name)));
        theory.function("kind", &["Call"], "Kind");
        theory.function("thread", &["Call"], "Thread");
        theory.function("node", &["Thread"], "Node");
        theory.function("home", &["Location"], "Node");
        theory.function("init", &["Location"], "Value");
        let forms = || self.kinds.iter().flat_map(|k| &k.forms);
        let most = forms().map(|f| f.arguments.len()).max().unwrap_or(0);
        for i in 0..most {
            let has = |argument| forms().any(|f| f.arguments.get(i) == Some(&argument));
            for (argument, name, sort) in [
                (ArgumentForm::Location, "location", "Location"),
                (ArgumentForm::Identifier, "identifier", "Identifier"),
                (ArgumentForm::Node, "node", "Node"),
                (ArgumentForm::Data, "datum", "Value"),
            ] {
                if has(argument) {
                    theory.function(&format!("{name}.{i}"), &["Call"], sort);
                }
            }
            if has(ArgumentForm::Nodes) {
                theory.function(&format!("in.{i}"), &["Call", "Node"], "Bool");
            }
            let tuple = |argument: &ArgumentForm| if let ArgumentForm::Tuple(words) = argument { *words } else { 0 };
            let words = forms().filter_map(|f| f.arguments.get(i)).map(tuple).max().unwrap_or(0);
            for word in 0..words {
                theory.function(&format!("datum.{i}.{word}"), &["Call"], "Value");
            }
        }
        for kind in self.kinds {
            let sort = |event: usize| {
                let of_event = kind.concrete.iter().find(|r| r.position.0 == event && r.each_event);
                place_sort(of_event.and_then(|r| r.each))
            };
            let events: BTreeSet<usize> = kind.concrete.iter().map(|r| r.position.0).collect();
            for event in events {
                theory.function(&result_of(&kind.name, event), &["Call", sort(event)], "Value");
            }
            for (event, argument) in kind.passed() {
                theory.function(&passed_to(&kind.name, event, argument), &["Call", sort(event)], "Value");
            }
            for named in kind.named() {
                theory.function(&number_in(&kind.name, named), &["Call", sort(named.0)], "Value");
            }
        }
        self.ways_in_rounds(theory);
        for event in self.kinds.iter().flat_map(ends_of).collect::<BTreeSet<usize>>() {
            theory.function(&ended_at(event), &["Call"], "Thread");
        }
        if self.speaks_of_returned() {
            theory.function(RETURNED, &["Call"], "Value");
        }
        for value in &self.constants {
            theory.function(&constant(*value), &[], "Value");
        }
        for (one, other) in self.constants.iter().tuple_combinations() {
            let [a, b] = [one, other].map(|v| symbol(&constant(*v)));
            theory.axiom(&format!("{one} is not {other}"), not(equal(a, b)));
        }
        if self.sums() {
            theory.comment("Sums, and which values have one.");
            theory.function("plus", &["Value", "Value"], "Value");
            theory.function("have.sum", &["Value", "Value"], "Bool");
        }
        for n in self.sizes() {
            theory.function(&format!("{TUPLE}{n}"), &vec!["Value"; n], "Value");
        }
        for k in self.added() {
            theory.function(&plus(k), &["Value"], "Value");
        }
        let c = symbol("c");
        for kind in self.kinds.iter().filter(|k| !k.given().is_empty()) {
            let given = and(kind.given().iter().map(|guard| guarded(kind, *guard, &c)));
            let words = format!("what the data of {} are like", kind.words());
            theory.axiom(&words, all(&[("c", "Call")], implies(self.is_kind(kind, &c), given)));
        }
        theory.function("nth.call", &["Call"], self.count_sort());
        theory.function("po.call", &["Call", "Call"], "Bool");
        let [a, b] = ["a", "b"].map(symbol);
        let po = |a: &Term, b: &Term| app("po.call", [a, b]);
        let thread = |a: &Term| app("thread", [a]);
        let same = equal(thread(&a), thread(&b));
        let two = [("a", "Call"), ("b", "Call")];
        theory.irreflexive("po", "po.call", "Call");
        theory.transitive("po", "po.call", "Call");
        theory.axiom("po is inside threads", all(&two, implies(po(&a, &b), same.clone())));
        let differ = not(equal(&a, &b));
        theory
            .axiom("po is total on each thread", all(&two, implies(and([same, differ]), or([po(&a, &b), po(&b, &a)]))));
        self.objects(theory);
        self.numbers(theory);
    }

    /// Declares the ways of the events that have a way of their own in each iteration.
    fn ways_in_rounds(&self, theory: &mut Theory) {
        let most = self.kinds.iter().flat_map(Kind::ways_in_rounds);
        for (event, way) in most.flat_map(|(event, ways)| (0..ways).map(move |way| (event, way))).sorted().dedup() {
            theory.function(&way_of(event, way), &["Call", ROUND], "Bool");
        }
        let [c, n] = ["c", "n"].map(symbol);
        for kind in self.kinds {
            for (event, ways) in kind.ways_in_rounds() {
                let given = and([self.is_kind(kind, &c), in_range(Each::Rounds, &c, &n)]);
                let way = |way: usize| happens_in(event, way, &c, &n);
                let two = (0..ways).tuple_combinations().map(|(one, other)| not(and([way(one), way(other)])));
                let one = and(two.chain([or((0..ways).map(way))]));
                let words = format!("{} of {} happens in one way", kind.made[event].1, kind.name);
                theory.axiom(&words, all(&[("c", "Call"), ("n", ROUND)], implies(given, one)));
            }
        }
    }

    /// Declares the iterations of loops with effects, and their total order.
    fn rounds_of_loops(theory: &mut Theory) {
        theory.comment("Rounds of loops, one after the other.");
        theory.sort(ROUND);
        theory.function(IS_ROUND, &["Call", ROUND], "Bool");
        theory.function(EARLIER_ROUND, &[ROUND, ROUND], "Bool");
        theory.function(NO_ROUND, &[], ROUND);
        theory.total_order("the order of rounds", EARLIER_ROUND, ROUND);
    }
}
