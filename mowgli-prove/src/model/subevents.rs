//! Subevents: which there are, their program order, and the relations that all specifications share.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_judge::algebra::Set;

use crate::error::Refusal;
use crate::smt::encode::Encoding;
use crate::smt::term::{Term, Theory, all, all_at, and, app, equal, implies, not, or, symbol, truth};
use crate::template::kind::{Kind, Read, Role, Write};
use crate::template::pattern::{Datum, Each, Members};

use super::family::TypedSubs;
use super::symbols::{
    EARLIER, EARLIER_OTHER, EARLIER_ROUND, ROUND, SUB, location, own, place_sort, role_sort, the, tuple,
};
use super::values::{data_of, datum_of, guards_of};
use super::{LibraryTheory, library};

impl<'a> LibraryTheory<'a> {
    /// Declares the subevents: each call has those of its template, each once.
    pub(super) fn subevents(&self, theory: &mut Theory, family: &TypedSubs<'_>) {
        let sort = family.sort;
        theory.elements(role_sort(sort), family.roles.iter().map(|(_, r)| r.name.clone()));
        let shared = |name: &str| format!("{}{name}", family.shared);
        theory.function(&shared("call"), &[sort], "Call");
        theory.function(&shared("role"), &[sort], role_sort(sort));
        theory.function(&shared("at"), &[sort], "Node");
        if self.has_members() && sort == SUB {
            theory.function("member", &[SUB], "Thread");
        }
        if self.has_rounds() && sort == SUB {
            theory.function("round", &[SUB], ROUND);
        }
        theory.function(&shared("read"), &[sort], "Value");
        theory.function(&shared("wrote"), &[sort], "Value");
        theory.function(&shared("nth"), &[sort], self.count_sort());
        let [s, c, n] = ["s", "c", "n"].map(symbol);
        for (kind, role) in &family.roles {
            let place = family.place(role, &s);
            let valid = self.valid(kind, role, &family.call(&s), &place);
            theory.function(&format!("the.{}", role.name), &["Call", place_sort(role.each)], sort);
            let words = format!("{} in calls of {}: where it is, and that there is no other", role.words, kind.name);
            let only = equal(&s, the(role, &family.call(&s), &place));
            theory.axiom(&words, all(&[("s", sort)], implies(family.is(role, &s), and([valid, only]))));
            let body = self.there_is(kind, role, sort, &c, &n);
            let of = [("c", "Call"), ("n", place_sort(role.each))];
            theory.axiom("there is one", all_at(&of, body, the(role, &c, &n)));
        }
    }

    /// Defines program order on the subevents of implementations.
    pub(super) fn program_order(&self, theory: &mut Theory, family: &TypedSubs<'_>) {
        let [a, b] = ["a", "b"].map(symbol);
        let is_for_nodes = |r: &Role| place_sort(r.each) == "Node";
        if family.roles.iter().any(|(_, r)| r.each_event && is_for_nodes(r)) {
            theory.comment("Sets of nodes are gone through in one order.");
            theory.function("below", &["Node", "Node"], "Bool");
            theory.total_order("below", "below", "Node");
        }
        let mut inside = Vec::new();
        for (kind, from) in &family.roles {
            let later = |to: &Role| {
                let (p, q) = (from.position.0, to.position.0);
                if from.each_event && to.each_event && kind.go_round_together(p, q) {
                    let places = [family.place(from, &a), family.place(to, &b)];
                    let same = and([equal(places[0].clone(), places[1].clone()), truth(p < q)]);
                    let [one, other] = places;
                    let is_earlier = match from.each {
                        Some(Each::Members(Members { of, but_first })) => {
                            let earlier = if but_first { EARLIER_OTHER } else { EARLIER };
                            app(earlier, [location(of, &family.call(&a)), one, other])
                        }
                        Some(Each::Rounds) => app(EARLIER_ROUND, [one, other]),
                        _ => app("below", [one, other]),
                    };
                    or([is_earlier, same])
                } else {
                    truth(p < q)
                }
            };
            let ways = kind.concrete.iter().map(|to| and([family.is(to, &b), later(to)]));
            inside.push(and([family.is(from, &a), or(ways)]));
        }
        let of_calls = app("po.call", [family.call(&a), family.call(&b)]);
        let of_call = and([equal(family.call(&a), family.call(&b)), or(inside)]);
        theory.define("po", &[("a", SUB), ("b", SUB)], "Bool", or([of_calls, of_call]));
        let mut events: Vec<Term> = Vec::new();
        for kind in self.kinds {
            let positions: BTreeSet<usize> = kind.concrete.iter().map(|r| r.position.0).collect();
            for position in positions {
                let roles: Vec<&Role> = kind.concrete.iter().filter(|r| r.position.0 == position).collect();
                let is_in = |s: &Term| or(roles.iter().map(|r| family.is(r, s)));
                let place = |s: &Term| family.place(roles[0], s);
                let together = if roles[0].each_event { equal(place(&a), place(&b)) } else { truth(true) };
                events.push(and([is_in(&a), is_in(&b), together]));
            }
        }
        let same_call = equal(family.call(&a), family.call(&b));
        theory.define("same.event", &[("a", SUB), ("b", SUB)], "Bool", and([same_call, or(events)]));
    }

    /// Adds axioms for the count of a subevent: the number of earlier events of its thread that are like it. If its
    /// event is the only one with its method, once in each call of one kind, this is the count of the call.
    pub(super) fn counts(&self, theory: &mut Theory, family: &TypedSubs<'_>) {
        let s = symbol("s");
        let kinds = self.kinds;
        // A loop may have had earlier iterations, so a count in a loop is not that of the call.
        for (kind, role) in family.roles.iter().filter(|(_, role)| !role.in_loop) {
            let (library, method, _) = kind.made[role.position.0];
            let made = kinds.iter().flat_map(|k| &k.made).filter(|(l, m, _)| (*l, *m) == (library, method)).count();
            let is_looked = kinds.iter().any(|k| k.looked.contains(&(library, method)));
            let method = kind.method();
            let is_alone = method.is_some_and(|method| {
                kinds.iter().filter(|k| k.forms.iter().any(|form| form.method == method)).count() == 1
            });
            if made == 1 && !is_looked && is_alone && kind.is_counted_by(role.position.0) {
                let same = equal(family.common("nth", [&s]), app("nth.call", [family.call(&s)]));
                let words = format!("the n-th {} is of the n-th {}", role.words, kind.name);
                theory.axiom(&words, all(&[("s", SUB)], implies(family.is(role, &s), same)));
            }
            if let Some(first) = self.counted_with(kind, role) {
                let at = if first.each.is_some() { family.place(role, &s) } else { own(&family.call(&s)) };
                let other = the(first, &family.call(&s), &at);
                let same = equal(family.common("nth", [&s]), family.common("nth", [other]));
                let words = format!("the n-th {} is with the n-th {} in {}", role.words, first.words, kind.name);
                theory.axiom(&words, all(&[("s", SUB)], implies(family.is(role, &s), same)));
            }
        }
    }

    /// Returns the first subevent of a kind of calls that always has the same count as this one. Every kind with one of
    /// the two methods, which are of one library, calls both once, with equal arguments.
    fn counted_with(&self, kind: &'a Kind, role: &Role) -> Option<&'a Role> {
        let (library, method, _) = kind.made[role.position.0];
        let is_with = |first: &&Role| {
            let (of, other, _) = kind.made[first.position.0];
            let pair = [(library, method), (of, other)];
            let is_there = (first.each.is_none() || first.each == role.each) && !first.in_loop;
            of == library && first.name != role.name && is_there && self.kinds.iter().all(|k| k.makes_together(pair))
        };
        kind.concrete.iter().take_while(|r| r.name != role.name).find(is_with)
    }

    /// Declares what the specifications of one side share: threads, stamps, cells and values.
    pub(super) fn shared(&self, theory: &mut Theory, family: &TypedSubs<'_>) -> Result<(), Refusal> {
        let (sort, [a, b]) = (family.sort, ["a", "b"].map(symbol));
        let pair = [("a", sort), ("b", sort)];
        let name = |of: &str| format!("{}{of}", family.shared);
        let thread = |s: &Term| app("thread", [family.call(s)]);
        theory.define(&name("same.thread"), &pair, "Bool", equal(thread(&a), thread(&b)));
        theory.define(&name("to"), &pair, "Bool", self.to(family, &a, &b)?);
        let both = [a.clone(), b.clone()];
        theory.define(&name("ppo"), &pair, "Bool", and([family.common("po", &both), family.common("to", &both)]));
        theory.function(&name("hb"), &[sort, sort], "Bool");
        theory.define(&name("same.cell"), &pair, "Bool", family.same(|r| Ok(r.cell.clone()), &a, &b)?);
        theory.function(&name("initial"), &[sort], "Value");
        let s = symbol("s");
        for (kind, role) in &family.roles {
            let term = |datum| datum_of(kind, role, datum, &family.call(&s), &family.place(role, &s));
            let value = |of: &str| family.common(of, [&s]);
            let mut facts = Vec::new();
            if let Some(initial) = role.initial {
                facts.push(equal(value("initial"), term(initial)?));
            }
            let words =
                |all: &[Datum]| Ok::<_, Refusal>(tuple(all.iter().map(|d| term(*d)).collect::<Result<Vec<_>, _>>()?));
            match &role.reads {
                Some(Read::Is(datum)) => facts.push(equal(value("read"), term(*datum)?)),
                Some(Read::Words(all)) => facts.push(equal(value("read"), words(all)?)),
                Some(Read::IsNot(datum)) if sort == SUB => facts.push(not(equal(value("read"), term(*datum)?))),
                _ => {}
            }
            match &role.writes {
                Some(Write::Is(datum)) => facts.push(equal(value("wrote"), term(*datum)?)),
                Some(Write::Words(all)) => facts.push(equal(value("wrote"), words(all)?)),
                Some(Write::Copy(_) | Write::Plus(..)) => self.derived(theory, (kind, role), family)?,
                None => {}
            }
            facts.extend(self.of_numbers(kind, role, &family.call(&s), &family.place(role, &s))?);
            if facts != Vec::new() {
                let words = format!("the values of {} in {}", role.words, kind.name);
                theory.axiom(&words, all(&[("s", sort)], implies(family.is(role, &s), and(facts))));
            }
        }
        Ok(())
    }

    /// Defines the sets and keys of a specification.
    pub(super) fn vocabulary(
        &self,
        theory: &mut Theory,
        family: &TypedSubs<'_>,
        encoding: &Encoding,
    ) -> Result<(), Refusal> {
        let own = |r: &Role| r.library.text() == library(encoding);
        for (name, set) in &encoding.sets {
            let members = self.members(family, set, &own)?;
            theory.define(name, &[("s", family.sort)], "Bool", members);
        }
        let [a, b] = ["a", "b"].map(symbol);
        for (name, key) in &encoding.keys {
            let same = family.same(|r| if own(r) { r.key(key) } else { Ok(None) }, &a, &b)?;
            theory.define(name, &[("a", family.sort), ("b", family.sort)], "Bool", same);
        }
        Ok(())
    }

    pub(super) fn members(
        &self,
        family: &TypedSubs<'_>,
        set: &Set,
        own: &dyn Fn(&Role) -> bool,
    ) -> Result<Term, Refusal> {
        family.has_role(&symbol("s"), |r| Ok(own(r) && r.is_in(set)?))
    }

    /// Returns the formula "the stamp of the first subevent is before that of the second".
    pub(super) fn to(&self, family: &TypedSubs<'_>, a: &Term, b: &Term) -> Result<Term, Refusal> {
        let nodes = |s: &Term| -> Result<Term, Refusal> {
            let with = family.roles.iter().filter_map(|(k, r)| Some((k, r, r.stamp_node?)));
            let given = with.map(|(k, r, leaf)| Ok((*r, family.leaf(k, r, leaf, s)?)));
            let given: Vec<(&Role, Term)> = given.collect::<Result<_, Refusal>>()?;
            Ok(if given.is_empty() { truth(true) } else { family.by_role(s, given) })
        };
        let same = equal(nodes(a)?, nodes(b)?);
        let families: BTreeSet<&str> = family.roles.iter().map(|(_, r)| r.family.as_str()).collect();
        let is_in = |of: &str, s: &Term| family.has_role(s, |r| Ok(r.family == of));
        let mut ways = Vec::new();
        for from in &families {
            let mut later = Vec::new();
            for to in &families {
                let is_before = self.stamps.ordered(from, to, &same);
                if is_before != truth(false) {
                    later.push(and([is_in(to, b)?, is_before]));
                }
            }
            ways.push(and([is_in(from, a)?, or(later)]));
        }
        Ok(or(ways))
    }

    /// Returns the subevent of the same event on which the written value depends, and the term for it.
    pub(super) fn source<'k>(
        &self,
        kind: &'k Kind,
        role: &Role,
        from: usize,
        family: &TypedSubs<'_>,
        of: &Term,
    ) -> (&'k Role, Term) {
        let roles = if family.sort == SUB { &kind.concrete } else { &kind.abstract_ };
        let source = roles.iter().find(|r| r.position == (role.position.0, from)).expect("a position of the event");
        let at = if source.each.is_some() { family.place(source, of) } else { own(&family.call(of)) };
        (source, the(source, &family.call(of), &at))
    }

    /// Adds the axiom that a subevent writes the value that another subevent of its event reads, or a sum with it.
    pub(super) fn derived(
        &self,
        theory: &mut Theory,
        (kind, role): (&Kind, &Role),
        family: &TypedSubs<'_>,
    ) -> Result<(), Refusal> {
        let s = symbol("s");
        let from = role.writes.as_ref().and_then(Write::source).expect("it depends on another");
        let (source, term) = self.source(kind, role, from, family, &s);
        let read = family.common("read", [term]);
        let wrote = family.common("wrote", [&s]);
        let (facts, how) = match role.writes {
            Some(Write::Plus(_, datum)) => {
                let with = [read, datum_of(kind, role, datum, &family.call(&s), &family.place(role, &s))?];
                let has_sum = if family.sort == SUB { app("have.sum", &with) } else { truth(true) };
                let numbers = if family.sort == SUB { self.is_sum(&wrote, &with[0], datum) } else { truth(true) };
                (and([equal(wrote, app("plus", &with)), has_sum, numbers]), "a sum with ")
            }
            _ => (equal(wrote, read), ""),
        };
        let words = format!("{} writes {how}what {} reads in {}", role.words, source.words, kind.name);
        theory.axiom(&words, all(&[("s", family.sort)], implies(family.is(role, &s), facts)));
        Ok(())
    }

    /// True if a template uses the result of its call.
    pub(super) fn speaks_of_returned(&self) -> bool {
        let roles = self.kinds.iter().flat_map(Kind::roles);
        let mut data = roles.flat_map(data_of).chain(self.kinds.iter().flat_map(guards_of));
        data.contains(&Datum::Returned)
    }

    /// Returns the lengths of the tuples in templates.
    pub(super) fn sizes(&self) -> BTreeSet<usize> {
        let of_guard = |datum| if let Datum::Results(_, words) = datum { Some(words) } else { None };
        let guards = self.kinds.iter().flat_map(guards_of).filter_map(of_guard);
        let roles = self.kinds.iter().flat_map(Kind::roles);
        roles.flat_map(|role| [role.words_read(), role.words_written()]).flatten().chain(guards).collect()
    }

    /// True if a role writes a sum.
    pub(super) fn sums(&self) -> bool {
        let roles = self.kinds.iter().flat_map(Kind::roles);
        roles.into_iter().any(|r| matches!(r.writes, Some(Write::Plus(..))))
    }
}
