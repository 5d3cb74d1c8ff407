//! Promises: the subevents of the specification, with the choices pulled back along g.

use std::collections::{BTreeMap, BTreeSet};

use mowgli_core::ids::Name;
use mowgli_core::library::Libraries;
use mowgli_judge::algebra::{Choice, Rel, RelExpr, Set, Spec};

use crate::error::{Refusal, refusal};
use crate::smt::term::{Term, Theory, TheoryStatement, all, and, any, app, equal, implies, not, symbol};
use crate::template::kind::{Read, Role};

use super::obligations::last_of;
use super::symbols::{ABS, SUB, image, of_library, place_of, the};
use super::{Concretisation, LibraryTheory, happens_before, library};

impl LibraryTheory<'_> {
    /// Declares the promises and their values.
    pub(super) fn promises_of(&self, theory: &mut Theory) -> Result<(), Refusal> {
        let family = self.promises();
        theory.comment(&format!("What {} promises of each call.", self.source.library));
        self.subevents(theory, &family);
        let [a, b, s] = ["a", "b", "s"].map(symbol);
        let pair = [("a", ABS), ("b", ABS)];
        theory.define("abs.po", &pair, "Bool", app("po.call", [family.call(&a), family.call(&b)]));
        theory.define("abs.same.event", &pair, "Bool", equal(family.call(&a), family.call(&b)));
        let nth = [family.common("nth", [&s]), app("nth.call", [family.call(&s)])];
        theory.axiom("the n-th promise is of the n-th call", all(&[("s", ABS)], app("=", &nth)));
        self.shared(theory, &family)
    }

    /// Returns the theory with the promises and g.
    ///
    /// # Errors
    /// If the specification says something that first-order logic cannot express.
    pub fn promised(&self, g: &Concretisation) -> Result<Theory, Refusal> {
        let mut theory = self.below.clone();
        let family = self.promises();
        if !self.has_assumptions() {
            self.promises_of(&mut theory)?;
        }
        let [a, b, s] = ["a", "b", "s"].map(symbol);
        let pair = [("a", ABS), ("b", ABS)];
        theory.comment("g: which subevent of its implementation stands for each of them.");
        theory.function("g", &[ABS], SUB);
        for (k, kind) in self.kinds.iter().enumerate() {
            for (p, promise) in kind.abstract_.iter().enumerate() {
                let Some(role) = g.get(&(k, p)).map(|r| &kind.concrete[*r]) else { continue };
                let call = family.call(&s);
                let it = the(role, &call, &place_of(role, &call, &family.place(promise, &s), &last_of(role, &call)));
                let mut facts = vec![equal(image(&s), &it)];
                // v_R of the specification is that of the implementation wherever it is free.
                if matches!(promise.reads, Some(Read::Any | Read::IsNot(_))) {
                    facts.push(equal(app("abs.read", [&s]), app("read", [it])));
                }
                let words = format!("for {} stands {}", promise.words, role.words);
                theory.axiom(&words, all(&[("s", ABS)], implies(family.is(promise, &s), and(facts))));
            }
        }
        self.inverse(&mut theory, g);
        theory.comment(&format!(
            "The consistency predicate of {}, its choices pulled back along g.",
            self.source.library
        ));
        self.vocabulary(&mut theory, &family, &self.upper)?;
        // Split the relations: those defined without choices come first, because choices may be between their members.
        let mut of_choices: BTreeSet<&str> = self.upper.choices.iter().map(|(name, _)| name.as_str()).collect();
        let (before, after): (Vec<&TheoryStatement>, Vec<&TheoryStatement>) =
            self.upper.relations.0.iter().partition(|statement| match statement {
                TheoryStatement::Definition(_, _, _, body) if !body.mentions(&of_choices) => true,
                TheoryStatement::Definition(name, ..) | TheoryStatement::Function(name, ..) => {
                    of_choices.insert(name);
                    false
                }
                _ => false,
            });
        theory.0.extend(before.into_iter().cloned());
        let order = self.order_below(g);
        for (position, (name, choice)) in self.upper.choices.iter().enumerate() {
            let may = self.upper.laws[position][0].to.clone();
            let along = |from: &str| app(from, [image(&a), image(&b)]);
            match (&order, choice) {
                (Some(order), Choice::ReadsFrom { .. }) => Self::last_source(&mut theory, name, along(order), may),
                (Some(order), _) => theory.define(name, &pair, "Bool", and([along(order), may])),
                (None, _) => theory.define(name, &pair, "Bool", and([along(&self.pulled_back(name, choice, g)?), may])),
            }
        }
        for statement in after {
            match statement {
                // Among the relations, only closures have no definition.
                TheoryStatement::Function(name, ..) => {
                    theory.define(name, &pair, "Bool", self.closure_below(name, &a, &b)?)
                }
                other => theory.0.push(other.clone()),
            }
        }
        Ok(theory)
    }

    /// True if the specification speaks of hb.
    #[must_use]
    pub fn mentions_hb(&self) -> bool {
        self.source.specification.spec(self.source.library).is_some_and(Spec::mentions_hb)
    }

    /// True if a promise ends no edge of so', and no choice determines so'. Then the earlier its stand-in is, the more happens
    /// after it.
    #[must_use]
    pub fn only_begins(&self, promise: &Role) -> bool {
        let is_no_end = |rel: &Rel| last_set(rel).is_some_and(|set| promise.is_in(set).is_ok_and(|is_in| !is_in));
        let spec = self.source.specification.spec(self.source.library);
        spec.is_some_and(|spec| spec.choices.is_empty() && spec.so.iter().all(|(_, rel)| is_no_end(rel)))
    }

    /// Returns the theory with the promises and with the hb' of condition 3: any transitive relation above ppo' and so'
    /// that g carries into hb. Condition 2, that g carries so' into hb, is not shown in this theory, because it assumes
    /// such an hb'.
    #[must_use]
    pub fn with_larger_hb(&self, promised: &Theory) -> Theory {
        let mut theory = promised.clone();
        let [a, b] = ["a", "b"].map(symbol);
        let pair = [("a", ABS), ("b", ABS)];
        theory.comment("hb': any transitive relation above ppo' and so' that g carries into hb.");
        let carried = app("hb", [image(&a), image(&b)]);
        theory.axiom("g(hb') is inside hb", all(&pair, implies(app("abs.hb", [a, b]), carried)));
        let parts = self.upper.so.iter().map(|(_, predicate)| predicate.as_str());
        happens_before(&mut theory, ("hb'", "abs.hb", ABS), ["abs.ppo"].into_iter().chain(parts));
        theory
    }

    /// Returns an order below that has the images of all promises with a cell, if some image lacks the read or write of
    /// its promise. Then mo' is that order, and the source of each read is the last write before it.
    fn order_below(&self, g: &Concretisation) -> Option<String> {
        let images = g.iter().map(|(&(k, p), &r)| (&self.kinds[k].abstract_[p], &self.kinds[k].concrete[r]));
        let of_cells: Vec<(&Role, &Role)> = images.filter(|(promise, _)| promise.cell.is_some()).collect();
        let does = |(promise, image): &(&Role, &Role)| {
            (promise.reads.is_none() || image.reads.is_some()) && (promise.writes.is_none() || image.writes.is_some())
        };
        if of_cells.iter().all(does) {
            return None;
        }
        let choices = self.lower.iter().flat_map(|e| e.choices.iter().map(move |choice| (library(e), choice)));
        let is_order = |(of, (_, choice)): &(&str, &(String, Choice))| {
            let Choice::Order { members, .. } = choice else { return false };
            of_cells.iter().all(|(_, image)| image.library.text() == *of && image.is_in(members) == Ok(true))
        };
        choices.into_iter().find(is_order).map(|(_, (name, _))| name.clone())
    }

    /// Returns the reads-from choices for which the source of a read is the last write before it.
    pub fn in_order(&self, g: &Concretisation) -> Vec<String> {
        let choices = self.upper.choices.iter().filter(|(_, choice)| matches!(choice, Choice::ReadsFrom { .. }));
        let names = choices.map(|(name, _)| name.clone());
        if self.order_below(g).is_some() { names.collect() } else { Vec::new() }
    }

    /// Defines reads-from by an order: the source of a read is the last write of its cell before it, if there is one. Such a write has a last one, because executions are finite.
    fn last_source(theory: &mut Theory, name: &str, order: Term, may: Term) {
        let [a, b] = ["a", "b"].map(symbol);
        let pair = [("a", ABS), ("b", ABS)];
        let [ordered, allowed, last] = ["order", "may", "last"].map(|part| format!("{name}.{part}"));
        theory.define(&ordered, &pair, "Bool", order);
        let before = app(&ordered, [&a, &b]);
        theory.define(&allowed, &pair, "Bool", and([before, may]));
        theory.function(&last, &[ABS], ABS);
        let may = |a: &Term| app(&allowed, [a, &b]);
        let it = app(&last, [&b]);
        let is_last = not(app(&ordered, [&it, &a]));
        let is_source = and([may(&it), is_last]);
        theory.axiom("of the writes before a read one is the last", all(&pair, implies(may(&a), is_source)));
        theory.define(name, &pair, "Bool", and([may(&a), equal(&a, it)]));
        let source = any(&[("c", ABS)], app(name, [symbol("c"), b.clone()]));
        theory.axiom("so a read after a write has a source", all(&pair, implies(may(&a), source)));
    }

    /// Returns for each role, by kind and position, a promise for which it stands alone.
    #[must_use]
    pub fn promise_of(&self, g: &Concretisation) -> BTreeMap<(usize, usize), usize> {
        let mut inverse = BTreeMap::new();
        for (&(k, p), &r) in g {
            let kind = &self.kinds[k];
            if kind.abstract_[p].each == kind.concrete[r].each {
                inverse.entry((k, r)).or_insert(p);
            }
        }
        inverse
    }

    /// Declares the inverse of g, where it has one: the promise for which a subevent stands.
    fn inverse(&self, theory: &mut Theory, g: &Concretisation) {
        let (family, s) = (self.concrete(), symbol("s"));
        theory.function("promise", &[SUB], ABS);
        for ((k, r), p) in self.promise_of(g) {
            let kind = &self.kinds[k];
            let (promise, role) = (&kind.abstract_[p], &kind.concrete[r]);
            let it = the(promise, &family.call(&s), &family.place(role, &s));
            let is_it = equal(app("promise", [&s]), it);
            let words = format!("{} stands for {}", role.words, promise.words);
            theory.axiom(&words, all(&[("s", SUB)], implies(family.is(role, &s), is_it)));
        }
    }

    /// Returns the relation below to which g pulls back a choice of the specification: a choice of the same sort,
    /// preferably with the same name. For an order the fallback is hb, if no order below has the images of all its
    /// members.
    fn pulled_back(&self, name: &str, choice: &Choice, g: &Concretisation) -> Result<String, Refusal> {
        let spec = |library: Name, libraries: &Libraries| libraries.spec(library).cloned();
        let short = name.strip_prefix(&self.upper.side.prefix).unwrap_or(name);
        let role = spec(self.source.library, self.source.specification).and_then(|s| s.role(short));
        let mut found = Vec::new();
        for library in self.source.below.names() {
            let spec = spec(library, self.source.below).expect("a name of the set");
            let alike = spec.choices.iter().filter(|(other, _)| spec.role(other) == role);
            let fitting = alike.filter(|(_, below)| self.relates_images(library, below, choice, g));
            found.extend(fitting.map(|(other, _)| (*other != short, format!("{}{other}", of_library(library)))));
        }
        found.sort();
        let found = found.into_iter().next().map(|(_, name)| name);
        let is_order = matches!(choice, Choice::Order { .. });
        let hb = is_order.then(|| "hb".to_owned());
        found.or(hb).ok_or_else(|| refusal!("nothing below is like the choice {short}"))
    }

    /// True if the images of all members of the upper choice are of this library and, in an order, members of the lower choice.
    fn relates_images(&self, library: Name, below: &Choice, above: &Choice, g: &Concretisation) -> bool {
        let roles = |(&(k, p), &r): (&(usize, usize), &usize)| {
            let kind = &self.kinds[k];
            (&kind.abstract_[p], &kind.concrete[r])
        };
        let is_in = |r: &Role, set: &Set| r.is_in(set) == Ok(true);
        let images = |set: &Set| g.iter().map(roles).filter(|(promise, _)| is_in(promise, set)).collect::<Vec<_>>();
        match (below, above) {
            (Choice::Order { members: below, .. }, Choice::Order { members: above, .. }) => {
                images(above).iter().all(|(_, image)| image.library == library && is_in(image, below))
            }
            (_, Choice::ReadsFrom { reads, writes }) => {
                [reads, writes].into_iter().flat_map(images).all(|(_, image)| image.library == library)
            }
            _ => true,
        }
    }

    /// Returns the stand-in for a closure of the specification in question: a closure below, pulled back along g.
    ///
    /// Obligations say that it is transitive and contains the relation under the closure, so it contains the closure.
    /// If it is empty, irreflexive or inside hb, so is the closure. A specification that denies a path does not allow
    /// this step.
    fn closure_below(&self, closure: &str, a: &Term, b: &Term) -> Result<Term, Refusal> {
        let spec = self.source.specification.spec(self.source.library);
        if spec.is_some_and(Spec::denies_a_path) {
            return Err(refusal!(
                "{closure} is a closure in the promised relation, and the specification denies a path"
            ));
        }
        let (below, _) = self.lower.iter().flat_map(|encoding| &encoding.closures).next().ok_or_else(|| {
            refusal!("{closure} is a closure in the promised relation, and no closure below could be inside it")
        })?;
        Ok(app(below, [image(a), image(b)]))
    }
}

/// Returns a set in which all edges of a relation end, if it is of the form `[A]; r; [B]`.
fn last_set(rel: &Rel) -> Option<&Set> {
    match rel.expr() {
        RelExpr::On(set) | RelExpr::Cross(_, set) => Some(set),
        RelExpr::Seq(_, last) => last_set(last),
        RelExpr::Inter(one, other) => last_set(one).or_else(|| last_set(other)),
        _ => None,
    }
}
