//! Values: the data of calls, the values that subevents read and write, and sums.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_core::value::Val;

use crate::kind::{Guard, Kind, Read, Role, Write};
use crate::pattern::{Datum, Leaf};
use crate::term::{Term, Theory, all, and, app, equal, implies, not, symbol, truth};

use super::Model;
use super::family::Family;
use super::symbols::{RETURNED, SUB, number_in, own, passed_to, plus, result_of, the, tuple, value};

/// Returns the term that a leaf of a pattern names, for a call and the index of a subevent.
pub(super) fn leaf_of(kind: &Kind, role: &Role, leaf: Leaf, call: &Term, at: &Term) -> Result<Term, String> {
    let of_call = |name: String| app(&name, std::slice::from_ref(call));
    Ok(match leaf {
        Leaf::Thread => app("thread", std::slice::from_ref(call)),
        Leaf::Own => own(call),
        Leaf::At | Leaf::Member => at.clone(),
        Leaf::Home(i) => app("home", &[of_call(format!("location.{i}"))]),
        Leaf::Node(i) => of_call(format!("node.{i}")),
        Leaf::Location(i) => of_call(format!("location.{i}")),
        Leaf::Identifier(i) => of_call(format!("identifier.{i}")),
        Leaf::Count => return Err(format!("{} is counted where it cannot be", role.words)),
        Leaf::Named(of) => {
            let place = place_of_event(kind, role, of.0, call, at)?;
            app(&number_in(&kind.name, of), &[call.clone(), place])
        }
        Leaf::Datum(datum) => datum_of(kind, role, datum, call, at)?,
    })
}

/// Returns the index of an event: the call's own node, or the index of the subevent that speaks of the event.
fn place_of_event(kind: &Kind, role: &Role, event: usize, call: &Term, at: &Term) -> Result<Term, String> {
    let several = kind.concrete.iter().any(|r| r.position.0 == event && r.each_event);
    let is_own = role.each_event && role.position.0 == event;
    match (several, is_own) {
        (false, _) => Ok(own(call)),
        (true, true) => Ok(at.clone()),
        (true, false) => Err(format!("{} uses one of several results", role.words)),
    }
}

pub(crate) fn datum_of(kind: &Kind, role: &Role, datum: Datum, call: &Term, at: &Term) -> Result<Term, String> {
    let of_call = |name: String| app(&name, std::slice::from_ref(call));
    Ok(match datum {
        Datum::Argument(i) => of_call(format!("datum.{i}")),
        Datum::Word(i, word) => of_call(format!("datum.{i}.{word}")),
        Datum::Initial(i) => app("init", &[of_call(format!("location.{i}"))]),
        Datum::Constant(of) => value(of),
        Datum::Returned => of_call(RETURNED.to_owned()),
        Datum::Results(first, words) => {
            let words = (first..first + words).map(|event| datum_of(kind, role, Datum::Result(event), call, at));
            tuple(words.collect::<Result<Vec<_>, _>>()?)
        }
        Datum::Result(event) | Datum::Sum(event, _) | Datum::Passed(event, _) => {
            let place = place_of_event(kind, role, event, call, at)?;
            let name = match datum {
                Datum::Passed(_, argument) => passed_to(&kind.name, event, argument),
                _ => result_of(&kind.name, event),
            };
            let result = app(&name, &[call.clone(), place]);
            if let Datum::Sum(_, k) = datum { app(&plus(k), &[result]) } else { result }
        }
    })
}

/// Returns the formula "the data of the call satisfy the guard".
pub(super) fn guarded(kind: &Kind, guard: Guard, call: &Term) -> Term {
    let of_call = |name: String| app(&name, std::slice::from_ref(call));
    let result = |event| app(&result_of(&kind.name, event), &[call.clone(), own(call)]);
    let term = |datum| match datum {
        Datum::Argument(i) => of_call(format!("datum.{i}")),
        Datum::Word(i, word) => of_call(format!("datum.{i}.{word}")),
        Datum::Result(event) => result(event),
        Datum::Results(first, words) => tuple((first..first + words).map(result)),
        Datum::Sum(event, k) => app(&plus(k), &[result(event)]),
        Datum::Passed(event, argument) => app(&passed_to(&kind.name, event, argument), &[call.clone(), own(call)]),
        Datum::Initial(i) => app("init", &[of_call(format!("location.{i}"))]),
        Datum::Constant(of) => value(of),
        Datum::Returned => of_call(RETURNED.to_owned()),
    };
    let same = equal(term(guard.one), term(guard.other));
    if guard.are_equal { same } else { not(same) }
}

/// Returns the data of a role.
pub(crate) fn data_of(role: &Role) -> impl Iterator<Item = Datum> + '_ {
    let read = match &role.reads {
        Some(Read::Is(d) | Read::IsNot(d)) => std::slice::from_ref(d),
        Some(Read::Words(all)) => all,
        Some(Read::Any) | None => &[],
    };
    let write = match &role.writes {
        Some(Write::Is(d) | Write::Plus(_, d)) => std::slice::from_ref(d),
        Some(Write::Words(all)) => all,
        Some(Write::Copy(_)) | None => &[],
    };
    read.iter().chain(write).copied().chain(role.initial)
}

/// Returns the data of the guards of a kind.
pub(crate) fn guards_of(kind: &Kind) -> impl Iterator<Item = Datum> + '_ {
    kind.given().iter().flat_map(|g| [g.one, g.other])
}

/// Returns the constants among data; for tuples, their words.
pub(super) fn constants(data: impl Iterator<Item = Datum>) -> impl Iterator<Item = Val> {
    data.flat_map(|datum| match datum {
        Datum::Constant(Val::Tuple(words)) => words.parts().to_vec(),
        Datum::Constant(value) => vec![value],
        _ => Vec::new(),
    })
}

impl Model<'_> {
    /// Returns the subevent of the same event on which the written value depends, and the term for it.
    pub(super) fn source<'k>(
        &self,
        kind: &'k Kind,
        role: &Role,
        from: usize,
        family: &Family<'_>,
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
        family: &Family<'_>,
    ) -> Result<(), String> {
        let s = symbol("s");
        let from = role.writes.as_ref().and_then(Write::source).expect("it depends on another");
        let (source, term) = self.source(kind, role, from, family, &s);
        let read = family.common("read", &[term]);
        let wrote = family.common("wrote", std::slice::from_ref(&s));
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
        let roles = self.parts.kinds.iter().flat_map(|k| k.concrete.iter().chain(&k.abstract_));
        let mut data = roles.flat_map(data_of).chain(self.parts.kinds.iter().flat_map(guards_of));
        data.contains(&Datum::Returned)
    }

    /// Returns the lengths of the tuples in templates.
    pub(super) fn sizes(&self) -> BTreeSet<usize> {
        let of_guard = |datum| if let Datum::Results(_, words) = datum { Some(words) } else { None };
        let guards = self.parts.kinds.iter().flat_map(guards_of).filter_map(of_guard);
        let roles = self.parts.kinds.iter().flat_map(|k| k.concrete.iter().chain(&k.abstract_));
        roles.flat_map(|role| [role.words_read(), role.words_written()]).flatten().chain(guards).collect()
    }

    /// True if a role writes a sum.
    pub(super) fn sums(&self) -> bool {
        let roles = self.parts.kinds.iter().flat_map(|k| k.concrete.iter().chain(&k.abstract_));
        roles.into_iter().any(|r| matches!(r.writes, Some(Write::Plus(..))))
    }
}
