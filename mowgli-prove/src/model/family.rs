//! The subevents of implementations, or the promises: formulas about their roles and patterns.

use std::collections::BTreeMap;

use itertools::Itertools;

use crate::error::{Refusal, refusal};
use crate::smt::term::{Term, and, app, choose, equal, or, symbol, truth};
use crate::template::kind::{Kind, Role};
use crate::template::pattern::{Leaf, Pattern};

use super::symbols::{ROUND, place_sort, sort_of};
use super::values::leaf_of;

/// The subevents of implementations, or the promises.
pub(super) struct TypedSubs<'a> {
    pub(super) sort: &'static str,
    pub(super) shared: &'static str,
    pub(super) roles: Vec<(&'a Kind, &'a Role)>,
}

/// A role of a kind of call, with one of its patterns.
type Having<'a> = (&'a Kind, &'a Role, Pattern);

impl TypedSubs<'_> {
    pub(super) fn common<T: Into<Term>>(&self, name: &str, to: impl IntoIterator<Item = T>) -> Term {
        app(&format!("{}{name}", self.shared), to)
    }

    pub(super) fn call(&self, s: &Term) -> Term {
        self.common("call", [s])
    }

    /// Returns the index of a subevent of a role.
    pub(super) fn place(&self, role: &Role, s: &Term) -> Term {
        let of = match place_sort(role.each) {
            "Thread" => "member",
            ROUND => "round",
            _ => "at",
        };
        self.common(of, [s])
    }

    pub(super) fn is(&self, role: &Role, s: &Term) -> Term {
        equal(self.common("role", [s]), symbol(&role.name))
    }

    /// Returns the term that a leaf of a pattern names, for a subevent.
    pub(super) fn leaf(&self, kind: &Kind, role: &Role, leaf: Leaf, s: &Term) -> Result<Term, Refusal> {
        if leaf == Leaf::Count {
            return Ok(self.common("nth", [s]));
        }
        leaf_of(kind, role, leaf, &self.call(s), &self.place(role, s))
    }

    /// Returns the formula "the subevent has one of the roles for which `holds` is true".
    pub(super) fn has_role(&self, s: &Term, holds: impl Fn(&Role) -> Result<bool, Refusal>) -> Result<Term, Refusal> {
        let mut roles = Vec::new();
        for (_, role) in &self.roles {
            if holds(role)? {
                roles.push(self.is(role, s));
            }
        }
        Ok(if roles.len() == self.roles.len() { truth(true) } else { or(roles) })
    }

    /// Returns a term that has, for each of these roles, the value given for it.
    pub(super) fn by_role(&self, s: &Term, given: Vec<(&Role, Term)>) -> Term {
        let mut groups: Vec<(Term, Vec<Term>)> = Vec::new();
        for (role, term) in given {
            let is = self.is(role, s);
            match groups.iter_mut().find(|(known, _)| *known == term) {
                Some((_, roles)) => roles.push(is),
                None => groups.push((term, vec![is])),
            }
        }
        let mut rest = groups.into_iter().rev();
        let (last, _) = rest.next().expect("some role");
        rest.fold(last, |otherwise, (term, roles)| choose(or(roles), term, otherwise))
    }

    /// Returns the formula "both subevents have a pattern, and these patterns have equal values".
    pub(super) fn same(
        &self,
        of: impl Fn(&Role) -> Result<Option<Pattern>, Refusal>,
        a: &Term,
        b: &Term,
    ) -> Result<Term, Refusal> {
        let mut classes: BTreeMap<String, Vec<Having<'_>>> = BTreeMap::new();
        for (kind, role) in &self.roles {
            if let Some(pattern) = of(role)? {
                classes.entry(pattern.text.clone()).or_default().push((kind, role, pattern));
            }
        }
        no_confusion(classes.keys())?;
        let mut ways = Vec::new();
        for class in classes.values() {
            let is_in = |s: &Term| or(class.iter().map(|(_, role, _)| self.is(role, s)));
            let mut same = vec![is_in(a), is_in(b)];
            for slot in 0..class[0].2.leaves.len() {
                if class.iter().any(|(_, _, p)| sort_of(p.leaves[slot]) != sort_of(class[0].2.leaves[slot])) {
                    return Err(refusal!("a number in {} is now a node and now a thread", class[0].2.text));
                }
                let mut sides = Vec::new();
                for s in [a, b] {
                    let leaves = class.iter().map(|(k, r, p)| Ok((*r, self.leaf(k, r, p.leaves[slot], s)?)));
                    sides.push(self.by_role(s, leaves.collect::<Result<_, Refusal>>()?));
                }
                let b = sides.remove(1);
                same.push(equal(sides.remove(0), b));
            }
            ways.push(and(same));
        }
        Ok(or(ways))
    }
}

/// Checks that two different texts cannot become equal, whatever fills their slots.
fn no_confusion<'a>(texts: impl Iterator<Item = &'a String>) -> Result<(), Refusal> {
    // A constant number or owner looks like a slot, because a slot may have the same value.
    let taken = |text: &'a String| (text, text.split(['(', ',']).flat_map(pieces).collect::<Vec<String>>());
    let texts: Vec<(&String, Vec<String>)> = texts.map(taken).collect();
    let may_be = |(a, b): (&String, &String)| {
        a == b || [a, b].iter().all(|piece| varies(piece)) && (a.contains('#') || b.contains('#'))
    };
    for ((one, a), (other, b)) in texts.iter().tuple_combinations() {
        if a.len() == b.len() && a.iter().zip(b).all(may_be) {
            return Err(refusal!("{one} and {other} may name one thing"));
        }
    }
    Ok(())
}

/// True if a piece of a text is a number or a slot for one.
fn varies(piece: &str) -> bool {
    piece.chars().all(|c| c.is_ascii_digit() || c == '#')
}

/// Splits a text into numbers, slots and the pieces between them.
fn pieces(text: &str) -> Vec<String> {
    let text = match text.split_once(':').and_then(|(sort, name)| Some((sort, name.split_once('.')?))) {
        Some((sort, (_, role))) => format!("{sort}:#.{role}"),
        None => text.to_owned(),
    };
    let groups = text.chars().chunk_by(|c| c.is_ascii_digit() || *c == '#');
    groups.into_iter().map(|(_, group)| group.collect()).collect()
}
