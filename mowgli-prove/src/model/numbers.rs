//! Numbers in proofs: counts of calls, values of counters, and threads that take part in an object.
//!
//! Values are elements of an uninterpreted sort. Some of them are numbers, and the theory reads, adds and compares
//! these in integer arithmetic. So in a theory numbers have no largest one.

use mowgli_core::value::Val;
use std::collections::BTreeSet;

use crate::error::{Refusal, refusal};
use crate::model::{
    EARLIER, EARLIER_OTHER, FIRST_AT, HAS_MEMBER, HAS_OTHER, LAST, LibraryTheory, MEMBER_AT, OTHER, TAKES_PART,
    constant, data_of, datum_of, guards_of, location, plus, thread,
};
use crate::smt::term::{INT, Obligation, Term, Theory, add, all, and, any, app, equal, implies, less, not, or, symbol};
use crate::template::kind::{Kind, Role};
use crate::template::pattern::{ArgumentForm, Datum, Each, Members, Nodes, Whole};

/// The relation of calls that are counted together: they are of one thread, and their arguments have the same names.
pub const ALIKE: &str = "alike";

/// Returns the formula "the value is a number".
#[must_use]
pub fn number(of: &Term) -> Term {
    app("number", [of])
}

/// Returns the number that a value is.
#[must_use]
pub fn int(of: &Term) -> Term {
    app("int", [of])
}

/// Returns the count of a call: the number of earlier calls of its thread that are like it.
#[must_use]
pub fn index(call: &Term) -> Term {
    app("nth.call", [call])
}

/// Returns the arguments of a kind of calls that are objects whose members, or their nodes, index a part of it.
fn objects_of(kind: &Kind) -> BTreeSet<usize> {
    let of_role = |r: &Role| match r.each {
        Some(Each::Members(Members { of: i, but_first: false }) | Each::Nodes(Nodes { of: Whole::Members(i), .. })) => {
            Some(i)
        }
        _ => None,
    };
    kind.concrete.iter().chain(&kind.abstract_).filter_map(of_role).collect()
}

impl LibraryTheory<'_> {
    /// Returns the numbers that templates add to results.
    #[must_use]
    pub fn added(&self) -> BTreeSet<i64> {
        let roles = self.kinds.iter().flat_map(Kind::roles);
        let data = roles.flat_map(data_of).chain(self.kinds.iter().flat_map(guards_of));
        data.filter_map(|datum| if let Datum::Sum(_, k) = datum { Some(k) } else { None }).collect()
    }

    /// True if the theory speaks of numbers: a template adds or compares some, or there are lemmas, which may count calls.
    fn has_numbers(&self) -> bool {
        let ends_loop = |r: &Role| !r.above.is_empty();
        let has_lemmas = !self.source.implementation.lemmas().is_empty();
        has_lemmas
            || self.has_assumptions()
            || self.counts_rounds()
            || !self.added().is_empty()
            || self.kinds.iter().flat_map(|k| &k.concrete).any(ends_loop)
    }

    /// Returns the sort of counts.
    pub(crate) fn count_sort(&self) -> &'static str {
        if self.has_numbers() { INT } else { "Count" }
    }

    /// Declares the objects in which threads take part.
    pub(crate) fn objects(&self, theory: &mut Theory) {
        if self.has_roles() {
            theory.comment("Objects in which the first thread that takes part has a role of its own.");
            theory.function(OTHER, &["Location", "Thread"], "Bool");
            theory.function(EARLIER_OTHER, &["Location", "Thread", "Thread"], "Bool");
            theory.function(HAS_OTHER, &["Location", "Node"], "Bool");
            theory.function(FIRST_AT, &["Location"], "Node");
        }
        if !self.has_objects() {
            return;
        }
        theory.comment("Objects: which threads take part in them, and the order in which these are gone through.");
        theory.function(TAKES_PART, &["Location", "Thread"], "Bool");
        theory.function(HAS_MEMBER, &["Location", "Node"], "Bool");
        theory.function(MEMBER_AT, &["Location", "Node"], "Thread");
        theory.function(LAST, &["Location"], "Thread");
        theory.function(EARLIER, &["Location", "Thread", "Thread"], "Bool");
        let [c, t, u, n] = ["c", "t", "u", "n"].map(symbol);
        for kind in self.kinds {
            for i in objects_of(kind) {
                let x = location(i, &c);
                let takes_part = |t: &Term| app(TAKES_PART, [&x, t]);
                let given = |of: Term| and([self.is_kind(kind, &c), of]);
                let node = app("node", [&t]);
                theory.axiom(
                    "there is a member where a member is",
                    all(
                        &[("c", "Call"), ("t", "Thread")],
                        implies(given(takes_part(&t)), app(HAS_MEMBER, [x.clone(), node])),
                    ),
                );
                let at = app(MEMBER_AT, [&x, &n]);
                let is_there = and([takes_part(&at), equal(app("node", [&at]), &n)]);
                let has_member = app(HAS_MEMBER, [&x, &n]);
                theory.axiom(
                    "a node of members has one",
                    all(&[("c", "Call"), ("n", "Node")], implies(given(has_member), is_there)),
                );
                let last = app(LAST, [&x]);
                let is_last = or([equal(&t, &last), app(EARLIER, [&x, &t, &last])]);
                theory.axiom(
                    "the last member",
                    all(
                        &[("c", "Call"), ("t", "Thread")],
                        implies(given(takes_part(&t)), and([takes_part(&last), is_last])),
                    ),
                );
                let earlier = |t: &Term, u: &Term| app(EARLIER, [&x, t, u]);
                theory.axiom(
                    "members come one after the other",
                    all(
                        &[("c", "Call"), ("t", "Thread"), ("u", "Thread")],
                        implies(
                            given(and([takes_part(&t), takes_part(&u)])),
                            and([
                                or([equal(&t, &u), earlier(&t, &u), earlier(&u, &t)]),
                                not(and([earlier(&t, &u), earlier(&u, &t)])),
                                not(earlier(&t, &t)),
                            ]),
                        ),
                    ),
                );
            }
            let own = implies(self.is_kind(kind, &c), self.takes_part(kind, &c));
            theory.axiom("who calls takes part", all(&[("c", "Call")], own));
        }
    }

    /// True if it matters which thread is the first to take part in an object.
    fn has_roles(&self) -> bool {
        let roles = self.kinds.iter().flat_map(Kind::roles);
        roles.into_iter().any(|r| match r.each {
            Some(Each::Members(members)) => members.but_first,
            Some(Each::Nodes(nodes)) => matches!(nodes.of, Whole::First(_) | Whole::Others(_)),
            _ => false,
        })
    }

    /// True if it matters which threads take part in objects.
    fn has_objects(&self) -> bool {
        self.counts_rounds() || !self.kinds.iter().all(|kind| objects_of(kind).is_empty())
    }

    /// Returns the formula "the thread of the call, and some last thread, take part in its objects", if that matters.
    pub(crate) fn takes_part(&self, kind: &Kind, call: &Term) -> Term {
        if !self.has_objects() {
            return and([]);
        }
        and(kind.takes_part.iter().flat_map(|i| {
            let x = location(*i, call);
            let last = app(LAST, [&x]);
            [thread(call), last].map(|t| app(TAKES_PART, [x.clone(), t]))
        }))
    }

    /// Declares numbers, and the counts of calls.
    pub(crate) fn numbers(&self, theory: &mut Theory) {
        if !self.has_numbers() {
            return;
        }
        theory.comment("Numbers, and how often a thread has made a call.");
        theory.function("number", &["Value"], "Bool");
        theory.function("int", &["Value"], INT);
        for of in &self.constants {
            let it = symbol(&constant(*of));
            let known = match of {
                Val::Int(k) => and([number(&it), equal(int(&it), add(symbol("0"), *k))]),
                _ => not(number(&it)),
            };
            theory.axiom(&format!("the number {of}"), known);
        }
        let [a, b] = ["a", "b"].map(symbol);
        let two = [("a", "Call"), ("b", "Call")];
        theory.define(ALIKE, &two, "Bool", and([equal(thread(&a), thread(&b)), self.same_object(&a, &b)]));
        let alike = |a: &Term, b: &Term| app(ALIKE, [a, b]);
        let po = |a: &Term, b: &Term| app("po.call", [a, b]);
        theory.axiom("no count is negative", all(&[("a", "Call")], not(less(index(&a), symbol("0")))));
        let later = implies(and([alike(&a, &b), po(&a, &b)]), less(index(&a), index(&b)));
        theory.axiom("counts grow along po", all(&two, later));
        let is_before = and([alike(&b, &a), po(&b, &a), equal(add(index(&b), 1), index(&a))]);
        let given = and([alike(&a, &a), less(symbol("0"), index(&a))]);
        theory.axiom(
            "before each call but the first there is one",
            all(&[("a", "Call")], implies(given, any(&[("b", "Call")], is_before))),
        );
    }

    /// Returns the formula "the two calls are of one method and have the same names as arguments", where templates can
    /// say so.
    pub(crate) fn same_object(&self, a: &Term, b: &Term) -> Term {
        let kinds = self.kinds;
        let pairs = kinds.iter().flat_map(|one| kinds.iter().map(move |other| (one, other)));
        or(pairs.filter_map(|(one, other)| {
            let ([f], [g]) = (&one.forms[..], &other.forms[..]) else { return None };
            let is_said =
                (f.method, &f.arguments) == (g.method, &g.arguments) && !f.arguments.contains(&ArgumentForm::Nodes);
            let same = f.arguments.iter().enumerate().filter_map(|(i, argument)| {
                let name = match argument {
                    ArgumentForm::Location => "location",
                    ArgumentForm::Identifier => "identifier",
                    ArgumentForm::Node => "node",
                    ArgumentForm::NoIdentifier | ArgumentForm::Data | ArgumentForm::Tuple(_) | ArgumentForm::Nodes => {
                        return None;
                    }
                };
                let [x, y] = [a, b].map(|c| app(&format!("{name}.{i}"), [c]));
                Some(equal(x, y))
            });
            is_said.then(|| and([self.is_kind(one, a), self.is_kind(other, b)].into_iter().chain(same)))
        }))
    }

    /// Returns the facts about the numbers of a subevent.
    pub(crate) fn of_numbers(&self, kind: &Kind, role: &Role, call: &Term, place: &Term) -> Result<Vec<Term>, Refusal> {
        let mut facts = Vec::new();
        for datum in data_of(role) {
            let Datum::Sum(event, k) = datum else { continue };
            let of = datum_of(kind, role, Datum::Result(event), call, place)?;
            let sum = app(&plus(k), [&of]);
            let is_sum = and([number(&sum), equal(int(&sum), add(int(&of), k))]);
            facts.push(implies(number(&of), is_sum));
            facts.push(implies(not(number(&of)), equal(sum, of)));
        }
        for low in &role.above {
            let high = datum_of(kind, role, Datum::Result(role.position.0), call, place)?;
            let low = datum_of(kind, role, *low, call, place)?;
            facts.push(implies(and([number(&low), number(&high)]), less(int(&low), int(&high))));
        }
        Ok(facts)
    }

    /// Returns the formula "the written value is the sum of the read one and a constant, and all are numbers".
    pub(crate) fn is_sum(&self, wrote: &Term, read: &Term, with: Datum) -> Term {
        match with {
            Datum::Constant(Val::Int(k)) if self.has_numbers() => {
                and([number(read), number(wrote), equal(int(wrote), add(int(read), k))])
            }
            _ => and([]),
        }
    }

    /// Returns the last threads that take part in the objects of a call, if those threads index a part of it.
    pub(crate) fn last_members(&self, kind: usize, call: &Term) -> Vec<Term> {
        let of_role = |r: &Role| match r.each {
            Some(Each::Members(Members { of, but_first: false })) => Some(of),
            _ => None,
        };
        let objects: BTreeSet<usize> = self.kinds[kind].concrete.iter().filter_map(of_role).collect();
        objects.into_iter().map(|i| app(LAST, [location(i, call)])).collect()
    }

    /// Returns a thread on this node for each object of a call: one that takes part in it. There are such threads only if their
    /// nodes index a part of the call.
    pub(crate) fn members_at(&self, kind: usize, call: &Term, node: &Term) -> Vec<Term> {
        let of_role = |r: &Role| match r.each {
            Some(Each::Nodes(Nodes { of: Whole::Members(i), .. })) => Some(i),
            _ => None,
        };
        let objects: BTreeSet<usize> = self.kinds[kind].concrete.iter().filter_map(of_role).collect();
        objects.into_iter().map(|i| app(MEMBER_AT, [location(i, call), node.clone()])).collect()
    }

    /// True if the library admits executions in rounds only.
    fn counts_rounds(&self) -> bool {
        self.source.specification.get(self.source.library).is_some_and(|library| library.has_rounds())
    }

    /// Returns the obligations that every thread that takes part in the object of a call reaches the round of the call.
    /// There are none if the library also has other executions.
    ///
    /// # Errors
    /// If it is unknown which threads take part.
    pub(crate) fn rounds(&self) -> Result<Vec<Obligation>, Refusal> {
        if !self.counts_rounds() {
            return Ok(Vec::new());
        }
        let [c, t, d] = ["c", "t", "d"].map(symbol);
        let of_kind = |kind: &Kind| {
            let [i] = kind.takes_part[..] else {
                return Err(refusal!("it is not known which threads take part in {}", kind.name));
            };
            let takes_part = app(TAKES_PART, [location(i, &c), t.clone()]);
            let is_theirs = and([equal(thread(&d), &t), self.same_object(&c, &d), not(less(index(&d), index(&c)))]);
            let name = format!("each round of {} has a call of every thread that takes part", kind.name);
            let (from, to) = (and([self.is_kind(kind, &c), takes_part]), any(&[("d", "Call")], is_theirs));
            Ok(Obligation::new(name, &[("c", "Call"), ("t", "Thread")], from, to))
        };
        self.kinds.iter().map(of_kind).collect()
    }
}
